#include "../mercer/planes.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using MaybeRows = std::optional<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>;

PlaneSet make(std::size_t features, Vector<double> cost) {
  std::vector<double> costs(cost.data(), cost.data() + cost.shape(0));
  for (const double c : costs) {
    if (!(c > 0.0) || !std::isfinite(c)) throw nb::value_error("costs must be > 0 and finite");
  }
  return {features, std::move(costs)};
}

// Planes of some blocks, one after the other: each is added, if planes are given, and its block improved.
auto visit(PlaneSet& set, Vector<std::int64_t> blocks, MaybeRows rows, std::optional<Vector<double>> losses) {
  const std::size_t n = blocks.shape(0);
  if (rows.has_value() != losses.has_value()) throw nb::value_error("planes must have losses");
  if (rows) {
    const auto& [data, columns, starts] = *rows;
    if (starts.shape(0) != n + 1 || losses->shape(0) != n) throw nb::value_error("every block must have a plane");
    const auto entries = static_cast<std::int64_t>(data.shape(0));
    if (starts.data()[0] != 0 || starts.data()[n] != entries || columns.shape(0) != data.shape(0)) {
      throw nb::value_error("CSR data, indices and indptr do not fit together");
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (starts.data()[k] > starts.data()[k + 1]) throw nb::value_error("CSR indptr must ascend");
      if (!std::isfinite(losses->data()[k])) throw nb::value_error("losses must be finite");
    }
    for (std::size_t e = 0; e < columns.shape(0); ++e) {
      if (columns.data()[e] < 0 || static_cast<std::size_t>(columns.data()[e]) >= set.features()) {
        throw nb::value_error("feature out of range");
      }
      if (!std::isfinite(data.data()[e])) throw nb::value_error("planes must be finite");
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (blocks.data()[k] < 0 || static_cast<std::size_t>(blocks.data()[k]) >= set.size()) {
      throw nb::value_error("block out of range");
    }
  }
  std::vector<double> gaps(n);
  double gain = 0.0;
  {
    nb::gil_scoped_release unlocked;
    SignalPoll poll;
    for (std::size_t k = 0; k < n; ++k) {
      const auto i = static_cast<std::size_t>(blocks.data()[k]);
      std::pair<double, double> found;
      if (rows) {
        const auto& [data, columns, starts] = *rows;
        const std::int64_t first = starts.data()[k], last = starts.data()[k + 1];
        const SparseRow row{columns.data() + first, data.data() + first, static_cast<std::size_t>(last - first)};
        found = set.visit(i, row, losses->data()[k]);
      } else {
        found = set.improve(i);
      }
      gaps[k] = found.first;
      gain += found.second;
      poll();
    }
  }
  return std::make_pair(own(gaps), gain);
}

}  // namespace

void bind_planes(nb::module_& m) {
  nb::class_<PlaneSet>(m, "PlaneSet", "Planes below the losses of samples, with multipliers; see mercer/planes.hpp.")
      .def(
          "__init__",
          [](PlaneSet* set, std::size_t features, Vector<double> cost) { new (set) PlaneSet(make(features, cost)); },
          nb::arg("features"), nb::arg("cost").noconvert())
      .def("visit", &visit, nb::arg("blocks").noconvert(), nb::arg("planes").none() = nb::none(),
           nb::arg("losses").noconvert().none() = nb::none(),
           "Planes as (data, indices, indptr) of sorted rows, one for each block; None: those that are known.\n"
           "Returns the gap of every block before its step, and what the dual objective gained.")
      .def(
          "solve",
          [](PlaneSet& set, double bound, std::size_t passes) {
            nb::gil_scoped_release unlocked;
            return set.solve(bound, passes, SignalPoll());
          },
          nb::arg("bound"), nb::arg("passes"),
          "Passes over all blocks until the gap over the known planes is at most `bound`; returns that gap.")
      .def("refresh", &PlaneSet::refresh, "w and loss from the multipliers, without the rounding of steps.")
      .def(
          "averaged",
          [](const PlaneSet& set) {
            auto [w, loss] = set.averaged();
            return std::make_pair(own(w), loss);
          },
          "The weighted mean of all w so far, and of their losses.")
      .def_prop_ro(
          "w",
          [](const PlaneSet& set) {
            return nb::ndarray<nb::numpy, const double, nb::ndim<1>>(set.w().data(), {set.features()}, nb::handle());
          },
          "The sum of a psi: what is there now, without a copy.")
      .def(
          "owned",
          [](const PlaneSet& set) {
            std::vector<double> owned(set.size());
            for (std::size_t i = 0; i < owned.size(); ++i) owned[i] = set.owned(i);
            return own(owned);
          },
          "Per block, the sum of a (l - w psi).")
      .def_prop_ro("loss", &PlaneSet::loss, "The sum of a l.")
      .def_prop_ro("planes", &PlaneSet::planes, "How many are known.");
}

}  // namespace mercer::bind

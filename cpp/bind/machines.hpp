// Sparse rows of coefficients, as SciPy has them.
#pragma once

#include "../mercer/machines.hpp"
#include "arrays.hpp"

namespace mercer::bind {

// Sparse rows with what keeps them alive: the tuple (data, indices, indptr).
struct MachinesIn {
  Machines view;
  Vector<double> values;
  Vector<std::int32_t> columns;
  Vector<std::int64_t> starts;
};

inline MachinesIn machines_in(const nb::tuple& source, std::size_t n_support) {
  MachinesIn in;
  if (nb::len(source) != 3 || !nb::try_cast(source[0], in.values, false) ||
      !nb::try_cast(source[1], in.columns, false) || !nb::try_cast(source[2], in.starts, false)) {
    throw nb::type_error("rows must be a tuple of float64 data, int32 indices and int64 indptr");
  }
  const std::size_t entries = in.values.shape(0);
  if (in.starts.shape(0) == 0) throw nb::value_error("indptr must have at least one entry");
  in.view = {in.values.data(), in.columns.data(), in.starts.data(), in.starts.shape(0) - 1};
  bool fits = in.columns.shape(0) == entries && in.starts.data()[0] == 0 && in.view.begin(in.view.count) == entries;
  for (std::size_t k = 0; fits && k < in.view.count; ++k) fits = in.view.starts[k] <= in.view.starts[k + 1];
  for (std::size_t k = 0; fits && k < in.view.count; ++k) {
    std::int64_t before = -1;
    for (std::size_t e = in.view.begin(k); fits && e < in.view.begin(k + 1); before = in.view.columns[e++]) {
      fits = in.view.columns[e] > before && static_cast<std::size_t>(in.view.columns[e]) < n_support;
    }
  }
  if (!fits) throw nb::value_error("data, indices (ascending) and indptr do not fit together");
  return in;
}

}  // namespace mercer::bind

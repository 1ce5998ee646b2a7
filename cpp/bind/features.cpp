#include "../mercer/features.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// Samples as the tuple (keys, values, starts), with what keeps them alive.
struct FeaturesIn {
  Vector<std::uint64_t> keys;
  Vector<double> values;
  Vector<std::int64_t> starts;
  SparseFeatures view;
};

FeaturesIn features_in(nb::handle source) {
  FeaturesIn in;
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 3) {
    throw nb::type_error("sparse features are a tuple (keys, values, starts)");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  if (!nb::try_cast(parts[0], in.keys, false)) throw nb::type_error("keys must be uint64");
  if (!nb::try_cast(parts[1], in.values, false)) throw nb::type_error("values must be float64");
  if (!nb::try_cast(parts[2], in.starts, false)) throw nb::type_error("starts must be int64");
  if (in.starts.shape(0) == 0) throw nb::value_error("starts must have at least one entry");
  const std::size_t rows = in.starts.shape(0) - 1;
  const std::int64_t entries = static_cast<std::int64_t>(in.keys.shape(0));
  bool fits = in.values.shape(0) == in.keys.shape(0) && in.starts.data()[0] >= 0;
  for (std::size_t i = 0; i < rows; ++i) fits = fits && in.starts.data()[i] <= in.starts.data()[i + 1];
  if (!fits || in.starts.data()[rows] > entries || entries >= (std::int64_t{1} << 32)) {
    throw nb::value_error("keys, values and starts do not fit together");
  }
  in.view = {in.keys.data(), in.values.data(), in.starts.data(), rows};
  return in;
}

// Run `body` with the way in which values are joined.
template <class Body>
void by_name(const std::string& join, Body body) {
  if (join == "dot") {
    body(ByProduct{});
  } else if (join == "min") {
    body(ByMinimum{});
  } else {
    throw nb::value_error(("unknown way to join values '" + join + "'").c_str());
  }
}

nb::object collect(nb::handle occurrences, std::size_t n_threads) {
  const FeaturesIn in = features_in(occurrences);
  const std::size_t rows = in.view.rows, base = in.view.first(0), n = in.view.entries();
  auto keys = std::make_unique_for_overwrite<std::uint64_t[]>(n);
  auto values = std::make_unique_for_overwrite<double[]>(n);
  auto starts = std::make_unique_for_overwrite<std::int64_t[]>(rows + 1);
  std::size_t kept = 0;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    std::copy_n(in.view.keys + base, n, keys.get());
    std::copy_n(in.view.values + base, n, values.get());
    std::vector<std::int64_t> places(rows + 1), sizes(rows);
    for (std::size_t i = 0; i <= rows; ++i) places[i] = in.view.starts[i] - static_cast<std::int64_t>(base);
    collect_features(keys.get(), values.get(), places.data(), rows, team, sizes.data());
    starts[0] = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(keys.get() + places[i], sizes[i], keys.get() + kept);
      std::copy_n(values.get() + places[i], sizes[i], values.get() + kept);
      kept += static_cast<std::size_t>(sizes[i]);
      starts[i + 1] = static_cast<std::int64_t>(kept);
    }
  }
  return nb::make_tuple(own(std::move(keys), {kept}), own(std::move(values), {kept}),
                        own(std::move(starts), {rows + 1}));
}

nb::object matrix(const std::string& join, nb::handle x, nb::handle y, std::size_t n_threads) {
  const FeaturesIn xs = features_in(x), ys = features_in(y);
  auto out = room_for<double>(xs.view.rows * ys.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    const bool same = xs.view.keys == ys.view.keys && xs.view.values == ys.view.values &&
                      xs.view.starts == ys.view.starts && xs.view.rows == ys.view.rows;
    by_name(join, [&](auto by) { features_matrix<decltype(by)>(xs.view, ys.view, same, team, out.get()); });
  }
  return nb::cast(own(std::move(out), {xs.view.rows, ys.view.rows}));
}

nb::object diagonal(const std::string& join, nb::handle x) {
  const FeaturesIn xs = features_in(x);
  auto out = std::make_unique_for_overwrite<double[]>(xs.view.rows);
  by_name(join, [&](auto by) { features_diagonal<decltype(by)>(xs.view, out.get()); });
  return nb::cast(own(std::move(out), {xs.view.rows}));
}

}  // namespace

void bind_features(nb::module_& m) {
  using namespace nb::literals;
  m.def("features_collect", &collect, "occurrences"_a, "n_threads"_a,
        "Features (keys, values, starts) from occurrences in any order: sorted by key within each sample, values of "
        "equal\n"
        "keys added up in the order in which they stand.");
  m.def("features_matrix", &matrix, "join"_a, "X"_a, "Y"_a, "n_threads"_a,
        "Sums of joined values (\"dot\": products, \"min\": minima) over common features, shape (n, m).\n"
        "Samples are tuples (keys, values, starts), with the keys of every sample ascending.");
  m.def("features_diag", &diagonal, "join"_a, "X"_a, "The diagonal of features_matrix(join, X, X, ...), shape (n,).");
}

}  // namespace mercer::bind

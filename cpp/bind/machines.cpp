#include "machines.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using Parameters = std::vector<double>;
using MaybeVector = std::optional<Vector<double>>;

void check_pairs(const Machines& machines, const Vector<double>& offsets, std::size_t n_classes) {
  if (n_classes < 2 || machines.count != n_classes * (n_classes - 1) / 2) {
    throw nb::value_error("there must be a row for every pair of classes");
  }
  if (offsets.shape(0) != machines.count) throw nb::value_error("there must be an offset for every pair of classes");
}

nb::object dot_rows(const std::string& measure, const std::string& transform, const Parameters& parameters,
                    MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, const nb::tuple& rows,
                    std::size_t n_threads, const std::string& level) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  const MachinesIn machines = machines_in(rows, ys.view.rows);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(machines.view.count * xs.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    kernel_dot_rows(spec.view, loops, xs.view, ys.view, machines.view, team, out.get());
  }
  return nb::cast(own(std::move(out), {machines.view.count, xs.view.rows}));
}

nb::object dot_rows_of_matrix(nb::handle matrix, Vector<std::int64_t> at, const nb::tuple& rows, std::size_t n_threads,
                              const std::string& level) {
  Matrix<double> full;
  Matrix<float> single;
  const bool is_full = nb::try_cast(matrix, full, false);
  if (!is_full && !nb::try_cast(matrix, single, false)) throw nb::type_error("K must be C-contiguous float32/float64");
  const std::size_t n = is_full ? full.shape(0) : single.shape(0), m = at.shape(0);
  if ((is_full ? full.shape(1) : single.shape(1)) != n) throw nb::value_error("K must be square");
  for (std::size_t c = 0; c < m; ++c) {
    if (at.data()[c] < 0 || static_cast<std::size_t>(at.data()[c]) >= n) throw nb::value_error("sample out of range");
  }
  const MachinesIn machines = machines_in(rows, n);
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(machines.view.count * m);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    if (is_full) {
      matrix_dot_rows(loops, full.data(), n, at.data(), m, machines.view, team, out.get());
    } else {
      matrix_dot_rows(loops, single.data(), n, at.data(), m, machines.view, team, out.get());
    }
  }
  return nb::cast(own(std::move(out), {machines.view.count, m}));
}

nb::tuple vote_by_kernel(const std::string& measure, const std::string& transform, const Parameters& parameters,
                         MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, const nb::tuple& rows,
                         Vector<double> offsets, std::size_t n_classes, std::size_t n_threads,
                         const std::string& level) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  const MachinesIn machines = machines_in(rows, ys.view.rows);
  check_pairs(machines.view, offsets, n_classes);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  auto votes = std::make_unique_for_overwrite<double[]>(xs.view.rows * n_classes);
  auto sums = std::make_unique_for_overwrite<double[]>(xs.view.rows * n_classes);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    vote(spec.view, loops, xs.view, ys.view, machines.view, offsets.data(), n_classes, team, votes.get(), sums.get());
  }
  return nb::make_tuple(own(std::move(votes), {xs.view.rows, n_classes}),
                        own(std::move(sums), {xs.view.rows, n_classes}));
}

nb::tuple walk_by_kernel(const std::string& measure, const std::string& transform, const Parameters& parameters,
                         MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, const nb::tuple& rows,
                         Vector<double> offsets, std::size_t n_classes, bool machine_by_machine, std::size_t n_threads,
                         const std::string& level) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  const MachinesIn machines = machines_in(rows, ys.view.rows);
  check_pairs(machines.view, offsets, n_classes);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  auto scores = std::make_unique_for_overwrite<double[]>(xs.view.rows * n_classes);
  std::size_t asked = 0;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    const auto lead = machine_by_machine ? walk_over_machines : walk_over_rows;
    asked = lead(spec.view, loops, xs.view, ys.view, machines.view, offsets.data(), n_classes, team, scores.get());
  }
  return nb::make_tuple(own(std::move(scores), {xs.view.rows, n_classes}), asked);
}

nb::tuple walk_by_matrix(Matrix<double> matrix, const nb::tuple& rows, Vector<double> offsets, std::size_t n_classes,
                         std::size_t n_threads, const std::string& level) {
  const std::size_t n = matrix.shape(0), n_support = matrix.shape(1);
  const MachinesIn machines = machines_in(rows, n_support);
  check_pairs(machines.view, offsets, n_classes);
  const Level& loops = find_level(level);
  auto scores = std::make_unique_for_overwrite<double[]>(n * n_classes);
  std::size_t asked = 0;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    asked = mercer::walk_over_matrix(matrix.data(), n, n_support, loops, machines.view, offsets.data(), n_classes, team,
                                     scores.get());
  }
  return nb::make_tuple(own(std::move(scores), {n, n_classes}), asked);
}

}  // namespace

void bind_machines(nb::module_& m) {
  using namespace nb::literals;
  m.def("kernel_dot_rows", &dot_rows, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(),
        "X"_a, "Y"_a, "rows"_a, "n_threads"_a, "level"_a = "",
        "rows @ K(Y, X), shape (k, n), in float64, for sparse rows (data, indices, indptr) over the samples Y.");
  m.def("matrix_dot_rows", &dot_rows_of_matrix, "K"_a, "at"_a.noconvert(), "rows"_a, "n_threads"_a, "level"_a = "",
        "rows @ K[:, at], shape (k, m), in float64, for sparse rows (data, indices, indptr) over the samples of K.");
  m.def("kernel_vote", &vote_by_kernel, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(),
        "weights"_a.none(), "X"_a, "Y"_a, "rows"_a, "offsets"_a.noconvert(), "n_classes"_a, "n_threads"_a,
        "level"_a = "",
        "The votes of all pairs of classes and the sums of their decision values, both of shape (n, n_classes).");
  m.def(
      "kernel_walk", &walk_by_kernel, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(),
      "X"_a, "Y"_a, "rows"_a, "offsets"_a.noconvert(), "n_classes"_a, "machine_by_machine"_a, "n_threads"_a,
      "level"_a = "",
      "Lead samples through the graph of pairs of classes, computing the kernel values of the machines on the way, or\n"
      "those of all support vectors once for every sample.\n\n"
      "Returns when each class went out, shape (n, n_classes), and the number of decision values computed.");
  m.def("walk", &walk_by_matrix, "K"_a.noconvert(), "rows"_a, "offsets"_a.noconvert(), "n_classes"_a, "n_threads"_a,
        "level"_a = "", "The same from kernel values, shape (n, n_support).");
}

}  // namespace mercer::bind

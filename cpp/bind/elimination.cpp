#include "../mercer/elimination.hpp"

#include <limits>

#include "arrays.hpp"
#include "batch.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

std::vector<std::size_t> numbers_in(const Vector<std::int64_t>& values, std::size_t limit, const char* what) {
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < values.shape(0); ++k) {
    if (values.data()[k] < 0 || static_cast<std::size_t>(values.data()[k]) >= limit) throw nb::value_error(what);
    numbers.push_back(static_cast<std::size_t>(values.data()[k]));
  }
  return numbers;
}

nb::tuple eliminate(const nb::tuple& spec_source, Matrix<double> columns, const nb::tuple& problem_source,
                    Vector<double> start, Vector<std::int64_t> batch_sizes, Vector<std::int64_t> test_samples,
                    double tol, double gap_tol, std::size_t max_iter, double max_seconds, double unbounded_ratio,
                    std::size_t n_threads, const std::string& level_name) {
  const std::size_t d = columns.shape(0), n = columns.shape(1);
  const SpecIn spec = spec_in(nb::cast<std::string>(spec_source[0]), nb::cast<std::string>(spec_source[1]),
                              nb::cast<std::vector<double>>(spec_source[2]), std::nullopt, std::nullopt, Samples{});
  if (spec.view.needs_norms()) throw nb::value_error("the kernel must be a transform of its measure alone");
  const BatchIn problems(problem_source, start, n);
  const Level& level = find_level(level_name);
  const std::vector<std::size_t> batches = numbers_in(batch_sizes, d + 1, "a batch is larger than what is left");
  const std::vector<std::size_t> tests = numbers_in(test_samples, n, "a test sample is out of range");
  std::size_t n_gone = 0;
  for (const std::size_t batch : batches) {
    if (batch > d - n_gone) throw nb::value_error("a batch is larger than what is left");
    n_gone += batch;
  }
  bool free_offset = true;
  for (std::size_t k = 0; k < problems.size(); ++k) {
    const bool no_sum = problems.equality(k) == Equality::total && problems.totals(k).plus == 0.0;
    free_offset = free_offset && no_sum;
  }
  elimination::Options options;
  options.smo.tol = tol;
  options.smo.max_iter = max_iter;
  options.smo.unbounded_ratio = unbounded_ratio;
  options.gap_tol = gap_tol;
  options.max_seconds = max_seconds;
  std::vector<elimination::Machine> machines(problems.size());
  for (std::size_t k = 0; k < machines.size(); ++k) {
    elimination::Machine& machine = machines[k];
    machine.samples = problems.points(k);
    machine.places = problems.places(k, machine.samples);
    machine.view = problems.view(k, machine.samples.size(), machine.places.data());
    machine.totals = problems.totals(k);
    machine.a.assign(machine.view.start, machine.view.start + machine.view.n_variables);
  }
  elimination::Eliminated result;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    elimination::Features features(spec.view, level, columns.data(), d, n, elimination::samples_of(machines, n),
                                   free_offset, team);
    result = elimination::Elimination(features, machines, options, team).run(batches, tests);
  }
  const std::size_t n_fits = result.fits.size();
  auto a = std::make_unique_for_overwrite<double[]>(problems.n_variables());
  for (std::size_t k = 0; k < machines.size(); ++k) {
    std::copy(machines[k].a.begin(), machines[k].a.end(), a.get() + problems.begin(k));
  }
  auto numbers = std::make_unique_for_overwrite<double[]>(3 * n_fits);
  auto counts = std::make_unique_for_overwrite<std::int64_t[]>(2 * n_fits);
  for (std::size_t k = 0; k < n_fits; ++k) {
    const elimination::Fit& fit = result.fits[k];
    numbers[3 * k] = fit.objective;
    numbers[3 * k + 1] = fit.gap;
    numbers[3 * k + 2] = fit.violation;
    counts[2 * k] = static_cast<std::int64_t>(fit.n_iter);
    counts[2 * k + 1] = static_cast<std::int64_t>(fit.status);
  }
  return nb::make_tuple(own(result.order), own(result.losses), own(std::move(a), {problems.n_variables()}),
                        own(std::move(numbers), {n_fits, 3}), own(std::move(counts), {n_fits, 2}),
                        own(result.decisions));
}

}  // namespace

void bind_elimination(nb::module_& m) {
  using namespace nb::literals;
  m.def("eliminate", &eliminate, "spec"_a, "columns"_a.noconvert(), "problems"_a, "start"_a.noconvert(),
        "batches"_a.noconvert(), "tests"_a.noconvert(), "tol"_a, "gap_tol"_a, "max_iter"_a, "max_seconds"_a,
        "unbounded_ratio"_a, "n_threads"_a, "level"_a = "",
        "Take features away, batch by batch, those without which the dual objectives change least.\n\n"
        "spec: (measure, transform, parameters). columns: (n_features, n_samples). problems: as those of solve_many,\n"
        "of at most one equality each; start: feasible values of their variables. For every batch the problems are\n"
        "solved, the test samples looked at, and so many features taken away; a batch may be 0. Ends early after a\n"
        "problem that is unbounded. Returns the features in the order in which they went, their losses, the last\n"
        "values of the variables, (objective, gap, violation) and (n_iter, status) of every problem in every step,\n"
        "and flat decision values (n_steps, n_tests, n_problems).");
}

}  // namespace mercer::bind

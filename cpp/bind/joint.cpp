#include "../mercer/joint.hpp"

#include "arrays.hpp"
#include "gram.hpp"
#include "outcome.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

nb::tuple solve_joint(const nb::tuple& gram_source, Vector<std::int64_t> index, Vector<std::int64_t> label,
                      Vector<double> cost, Matrix<double> start, const std::string& margin, const std::string& errors,
                      double target, bool bias, double tol, std::size_t max_iter, double max_seconds, bool shrinking,
                      bool full_precision, std::size_t memory, std::size_t n_threads, const std::string& level_name,
                      nb::object callback) {
  const GramIn gram = gram_in(gram_source);
  const std::size_t n = index.shape(0), n_classes = start.shape(1);
  if (label.shape(0) != n || cost.shape(0) != n || start.shape(0) != n) {
    throw nb::value_error("the parts of a problem must have the same length");
  }
  if (margin != "relative" && margin != "absolute") throw nb::value_error("unknown margin");
  if (errors != "sum" && errors != "largest") throw nb::value_error("unknown errors");
  std::vector<std::size_t> points(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t sample = index.data()[i], own = label.data()[i];
    if (sample < 0 || static_cast<std::size_t>(sample) >= gram.n) throw nb::value_error("index out of range");
    if (own < 0 || static_cast<std::size_t>(own) >= n_classes) throw nb::value_error("label out of range");
    points[i] = static_cast<std::size_t>(sample);
  }
  const JointView view{n,
                       n_classes,
                       label.data(),
                       cost.data(),
                       start.data(),
                       margin == "relative" ? Margin::relative : Margin::absolute,
                       errors == "sum" ? Errors::sum : Errors::largest,
                       target,
                       bias};
  const Level& level = find_level(level_name);
  JointOptions options;
  options.tol = tol;
  options.max_iter = max_iter;
  options.shrinking = shrinking;
  options.full_precision = full_precision;
  const auto report = [&](const Progress& progress) {
    nb::gil_scoped_acquire locked;
    return nb::cast<bool>(
        nb::bool_(callback(progress.n_iter, progress.objective, progress.violation, progress.seconds)));
  };
  JointResult result;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    Watch watch(max_seconds, SignalPoll(), callback.is_none() ? std::function<bool(const Progress&)>() : report);
    const std::size_t bytes = memory / 2;  // half for each precision
    std::unique_ptr<Rows<float>> single;   // small problems are solved in double
    if (n > options.exact) single = make_rows<float>(gram, points, level, bytes, options.block, team);
    const auto full = n <= options.exact && gram.kind == GramIn::Kind::vectors
                          ? whole_matrix(gram, points, level, {}, team)
                          : make_rows<double>(gram, points, level, bytes, options.block, team);
    result = joint::Solver(view, options, level, single.get(), *full, watch).solve();
  }
  const auto table = [&](const std::vector<double>& values) {
    auto copy = std::make_unique_for_overwrite<double[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    return own(std::move(copy), {n, n_classes});
  };
  return nb::make_tuple(table(result.a), table(result.f), own(result.offsets), result.violation, result.n_iter,
                        result.evaluations, status_name(result.status), result.full_precision, result.seconds,
                        history_out(result.history));
}

}  // namespace

void bind_joint(nb::module_& m) {
  using namespace nb::literals;
  m.def("solve_joint", &solve_joint, "gram"_a, "index"_a.noconvert(), "label"_a.noconvert(), "cost"_a.noconvert(),
        "start"_a.noconvert(), "margin"_a, "errors"_a, "target"_a, "bias"_a, "tol"_a, "max_iter"_a, "max_seconds"_a,
        "shrinking"_a, "full_precision"_a, "memory"_a, "n_threads"_a, "level"_a = "", "callback"_a.none() = nb::none(),
        "Solve a problem of several classes at once (mercer.problems.JointProblem).\n\n"
        "gram as for solve_many; start is (n, n_classes), feasible but for the sums of the classes. Returns (a, f,\n"
        "offsets, violation, n_iter, evaluations, status, full_precision, seconds, history) with a and f of shape\n"
        "(n, n_classes).");
}

}  // namespace mercer::bind

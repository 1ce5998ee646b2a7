#include "../mercer/joint_linear.hpp"

#include "arrays.hpp"
#include "outcome.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

nb::tuple solve_joint_linear(nb::handle x, Vector<std::int64_t> index, Vector<std::int64_t> label, Vector<double> cost,
                             Matrix<double> start, std::optional<Vector<double>> offsets, const std::string& margin,
                             const std::string& errors, double target, double constant, double tol,
                             std::size_t max_epochs, double max_seconds, bool shrinking, std::size_t n_threads,
                             const std::string& level_name, nb::object callback) {
  const SamplesIn in = samples_in(x);
  const std::size_t n = index.shape(0), n_classes = start.shape(1);
  if (label.shape(0) != n || cost.shape(0) != n || start.shape(0) != n) {
    throw nb::value_error("the parts of a problem must have the same length");
  }
  if (n_classes < 2) throw nb::value_error("a problem has two classes at least");
  if (offsets && offsets->shape(0) != n_classes) throw nb::value_error("offsets must have one entry per class");
  if (margin != "relative" && margin != "absolute") throw nb::value_error("unknown margin");
  if (errors != "sum" && errors != "largest") throw nb::value_error("unknown errors");
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t sample = index.data()[i], own = label.data()[i];
    if (sample < 0 || std::size_t(sample) >= in.view.rows) throw nb::value_error("index out of range");
    if (own < 0 || std::size_t(own) >= n_classes) throw nb::value_error("label out of range");
  }
  const JointLinearView view{n,
                             n_classes,
                             index.data(),
                             label.data(),
                             cost.data(),
                             start.data(),
                             offsets ? offsets->data() : nullptr,
                             margin == "relative" ? Margin::relative : Margin::absolute,
                             errors == "sum" ? Errors::sum : Errors::largest,
                             target,
                             constant};
  const JointLinearOptions options{tol, max_epochs, shrinking};
  const Level& level = find_level(level_name);
  const auto report = [&](const Progress& progress) {
    nb::gil_scoped_acquire locked;
    return nb::cast<bool>(
        nb::bool_(callback(progress.n_iter, progress.objective, progress.violation, progress.seconds)));
  };
  JointLinearResult result;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    Watch watch(max_seconds, SignalPoll(), callback.is_none() ? std::function<bool(const Progress&)>() : report);
    WideSamples samples(level, in.view);
    result = JointLinearSolver(view, options, samples, team, watch).solve();
  }
  const auto table = [&](const std::vector<double>& values) {
    auto copy = std::make_unique_for_overwrite<double[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    return own(std::move(copy), {n, n_classes});
  };
  return nb::make_tuple(table(result.a), table(result.f), own(result.offsets), result.violation, result.epochs,
                        status_name(result.status), result.seconds, history_out(result.history));
}

}  // namespace

void bind_joint_linear(nb::module_& m) {
  using namespace nb::literals;
  m.def("solve_joint_linear", &solve_joint_linear, "X"_a, "index"_a.noconvert(), "label"_a.noconvert(),
        "cost"_a.noconvert(), "start"_a.noconvert(), "offsets"_a.noconvert().none(), "margin"_a, "errors"_a, "target"_a,
        "constant"_a, "tol"_a, "max_epochs"_a, "max_seconds"_a, "shrinking"_a, "n_threads"_a, "level"_a = "",
        "callback"_a.none() = nb::none(),
        "Solve a problem of several classes at once (mercer.problems.JointProblem) over K = X X' + constant.\n\n"
        "start is (n, n_classes), feasible but for the sums of the classes; offsets=None: there are none. Returns (a,\n"
        "f, offsets, violation, epochs, status, seconds, history) with a and f of shape (n, n_classes).");
}

}  // namespace mercer::bind

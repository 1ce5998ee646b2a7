#include <memory>

#include "../mercer/weights_smo.hpp"
#include "arrays.hpp"
#include "batch.hpp"
#include "outcome.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// (kind, number, groups): ("norm", p, -), ("elastic", mix, -) or ("groups", p within a group, the group of each kernel)
std::unique_ptr<WeightSet> weight_set_in(const nb::tuple& source, std::size_t n_kernels) {
  const auto kind = nb::cast<std::string>(source[0]);
  const double number = nb::cast<double>(source[1]);
  if (kind == "norm") return std::make_unique<NormBall>(number);
  if (kind == "elastic") return std::make_unique<Elastic>(number);
  if (kind != "groups") throw nb::value_error("unknown set of weights");
  const auto labels = nb::cast<Vector<std::int64_t>>(source[2], false);
  if (labels.shape(0) != n_kernels) throw nb::value_error("every kernel has a group");
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t k = 0; k < n_kernels; ++k) {
    const std::int64_t label = labels.data()[k];
    if (label < 0 || static_cast<std::size_t>(label) >= n_kernels) throw nb::value_error("unknown group");
    members.resize(std::max(members.size(), static_cast<std::size_t>(label) + 1));
    members[static_cast<std::size_t>(label)].push_back(k);
  }
  for (const auto& group : members) {
    if (group.empty()) throw nb::value_error("a group is empty");
  }
  return std::make_unique<Groups>(std::move(members), number);
}

nb::tuple learn_weights(const nb::list& matrix_sources, const nb::tuple& problem_source, Vector<double> start,
                        const nb::tuple& set_source, double gap_tol, double roundness, double max_seconds,
                        std::size_t n_threads, const std::string& level_name) {
  std::vector<Matrix<float>> sources;
  weights::Matrices matrices;
  for (const nb::handle source : matrix_sources) {
    sources.push_back(nb::cast<Matrix<float>>(source, false));
    matrices.values.push_back(sources.back().data());
    matrices.n = sources.back().shape(0);
  }
  if (sources.empty()) throw nb::value_error("there must be a kernel matrix");
  for (const Matrix<float>& source : sources) {
    if (source.shape(0) != matrices.n || source.shape(1) != matrices.n) {
      throw nb::value_error("kernel matrices must be square and of the same size");
    }
  }
  const BatchIn problems(problem_source, std::move(start), matrices.n);
  const std::unique_ptr<WeightSet> set = weight_set_in(set_source, matrices.size());
  set->set_roundness(roundness);
  const Level& level = find_level(level_name);
  weights::Options options;
  options.gap = gap_tol;
  const std::vector<std::size_t> samples = all_positions(matrices.n);
  std::vector<std::vector<std::int64_t>> places;
  std::vector<weights::Machine> machines(problems.size());
  for (std::size_t t = 0; t < machines.size(); ++t) places.push_back(problems.places(t, samples));
  for (std::size_t t = 0; t < machines.size(); ++t) {
    machines[t].view = problems.view(t, matrices.n, places[t].data());
    machines[t].totals = problems.totals(t);
    machines[t].scaled = problems.scaled(t);
    machines[t].a.assign(machines[t].view.start, machines[t].view.start + machines[t].view.n_variables);
  }
  weights::Learnt learnt;
  {
    nb::gil_scoped_release unlocked;
    const Watch watch(max_seconds, SignalPoll(), {});
    Team team(n_threads, SignalPoll());
    learnt = weights::Solver(matrices, machines, *set, options, level, watch, team).solve();
  }
  auto a = std::make_unique_for_overwrite<double[]>(problems.n_variables());
  for (std::size_t t = 0; t < machines.size(); ++t) {
    std::copy(machines[t].a.begin(), machines[t].a.end(), a.get() + problems.begin(t));
  }
  return nb::make_tuple(own(std::move(a), {problems.n_variables()}), own(learnt.weights), set->roundness(),
                        learnt.n_steps, status_name(learnt.status));
}

}  // namespace

void bind_kernel_weights(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "learn_weights", &learn_weights, "matrices"_a, "problems"_a, "start"_a.noconvert(), "weight_set"_a, "gap_tol"_a,
      "roundness"_a, "max_seconds"_a, "n_threads"_a, "level"_a = "",
      "Weights of kernels and machines on their sum, by sequential minimal optimisation.\n\n"
      "matrices: one of float32 for every kernel. problems: as those of solve_many; start: feasible values of their\n"
      "variables. weight_set: (kind, number, groups) with the kinds 'norm', 'elastic' and 'groups'. roundness: of the\n"
      "corners of groups, at first. Returns the variables, the weights, how round the corners were at the end, the\n"
      "number of steps, and a status.");
}

}  // namespace mercer::bind

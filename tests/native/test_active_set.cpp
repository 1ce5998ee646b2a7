// Newton steps on the free variables, by themselves and inside the solver.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "mercer/active_set.hpp"
#include "mercer/dual.hpp"
#include "mercer/level.hpp"
#include "mercer/smo.hpp"
#include "problems.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// The whole problem as one block, in layers like those of the solver: a point has one variable in each, and with one
// equality per sign a layer has one sign.
struct WholeBlock {
  const Problem& problem;
  std::vector<smo::Layer> layers;
  std::vector<std::size_t> groups;
  std::vector<double> f;

  explicit WholeBlock(const Problem& whole) : problem(whole) {
    const bool separate = problem.equality == Equality::per_sign;
    for (std::size_t k = 0; k < problem.point.size(); ++k) {
      const std::size_t at = separate ? (problem.sign[k] > 0 ? 0 : 1) : k / problem.n_points;
      const std::size_t i = static_cast<std::size_t>(problem.point[k]);
      while (layers.size() <= at) {
        groups.push_back(separate ? layers.size() : 0);
        layers.emplace_back().resize(problem.n_points);
      }
      smo::Layer& layer = layers[at];
      layer.variable[i] = static_cast<std::int64_t>(k);
      layer.a[i] = problem.start[k];
      layer.sign[i] = problem.sign[k];
      layer.linear[i] = problem.linear[k];
      layer.upper[i] = problem.upper[k];
      layer.ridge[i] = problem.ridge[k];
      layer.classify(i);
    }
    f = exact_f();
  }

  smo::ActiveSet active_set(const Level& level) {
    const std::size_t n_groups = problem.equality == Equality::none ? 0 : (problem.equality == Equality::total ? 1 : 2);
    return smo::ActiveSet(level, problem.matrix.data(), problem.n_points, layers, f, groups, n_groups);
  }

  std::vector<double> a() const {
    std::vector<double> values(problem.point.size());
    for (const smo::Layer& layer : layers) {
      for (std::size_t i = 0; i < layer.a.size(); ++i) {
        if (layer.variable[i] >= 0) values[static_cast<std::size_t>(layer.variable[i])] = layer.a[i];
      }
    }
    return values;
  }

  bool has_two_at_a_point() const {
    for (std::size_t i = 0; i < problem.n_points && layers.size() == 2; ++i) {
      if (layers[0].a[i] > 0.0 && layers[1].a[i] > 0.0) return true;
    }
    return false;
  }

  // K (s a)
  std::vector<double> exact_f() const {
    std::vector<double> sums(problem.n_points, 0.0);
    for (const smo::Layer& layer : layers) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t j = 0; j < sums.size(); ++j) {
          sums[i] += problem.matrix[i * sums.size() + j] * layer.sign[j] * layer.a[j];
        }
      }
    }
    return sums;
  }

  bool f_is_exact() const {
    const std::vector<double> exact = exact_f();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (!close(f[i], exact[i], 1e-9)) return false;
    }
    return true;
  }

  // In the box, with the sums of the start, and marked as what they are.
  bool is_feasible() const {
    const std::vector<double> now = a();
    double of_sign[2] = {}, size = 1.0;
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (!(now[k] >= 0.0 && now[k] <= problem.upper[k])) return false;
      of_sign[problem.sign[k] > 0] += now[k] - problem.start[k];
      size += now[k];
    }
    for (smo::Layer layer : layers) {
      const smo::Layer before = layer;
      for (std::size_t i = 0; i < layer.a.size(); ++i) layer.classify(i);
      if (layer.up != before.up || layer.low != before.low) return false;
    }
    if (problem.equality == Equality::none) return true;
    if (problem.equality == Equality::total) return std::abs(of_sign[1] - of_sign[0]) <= 1e-9 * size;
    return std::abs(of_sign[0]) <= 1e-9 * size && std::abs(of_sign[1]) <= 1e-9 * size;
  }
};

// Steps until nothing can enter any more, with what each of them owes; false where the steps did not come to an end.
// Bringing f up to date more often than needed (`often`) changes nothing.
bool run_active_set(WholeBlock& block, const Level& level, double eps, std::string_view what, bool often = false) {
  const Problem& problem = block.problem;
  const auto slope_of = [&](const std::vector<double>& a) {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += problem.linear[k] * a[k];
    return sum;
  };
  smo::ActiveSet set = block.active_set(level);
  double objective = problem.objective(problem.start), slope = slope_of(problem.start);
  bool descends = true, counts = true, feasible = true, exact = true, ended = false;
  for (std::size_t steps = 0; steps < 50 * problem.point.size() && !ended; ++steps) {
    const smo::ActiveSet::Step step = set.step();
    if (!step.made) break;
    objective += step.objective;
    slope += step.slope;
    const std::vector<double> a = block.a();
    descends = descends && step.objective <= 1e-12 * (1.0 + std::abs(objective));
    counts = counts && close(objective, problem.objective(a), 1e-9) && close(slope, slope_of(a), 1e-9);
    feasible = feasible && block.is_feasible();
    if (often) set.update_f();
    if (step.whole || often) exact = exact && block.f_is_exact();
    ended = step.whole && !set.enter_violating(eps);
  }
  set.update_f();
  check(descends, std::string(what) + ": never up");
  check(counts, std::string(what) + ": objective and slope of the steps add up");
  check(feasible, std::string(what) + ": feasible");
  check(exact && block.f_is_exact(), std::string(what) + ": f = K (s a)");
  return ended;
}

// Starts of a problem: its own, every variable at a bound, and values inside the box. Of the two variables of a point,
// one is zero, as in every solution; so are most where their sum is fixed, or no solution would be like that.
std::vector<Problem> with_starts(const Problem& problem, unsigned seed) {
  std::vector<Problem> problems(3, problem);
  std::mt19937 random(seed);
  const bool twice = problem.point.size() > problem.n_points, few = twice && problem.equality == Equality::per_sign;
  for (std::size_t k = 0; k < problem.point.size(); ++k) {
    const std::size_t i = static_cast<std::size_t>(problem.point[k]);
    const bool zero = (twice && (i % 2 == 0) == (k < problem.n_points)) || (few && i % 20 > 1);
    const double upper = zero ? 0.0 : std::min(problem.upper[k], 1.5);
    if (few) problems[0].start[k] = 0.5 * upper;
    problems[1].start[k] = upper;
    problems[2].start[k] = upper * double(random() % 5) / 4.0;
  }
  return problems;
}

void test_active_set(const Level& level) {
  constexpr double eps = 1e-8;
  unsigned seed = 110;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const double ridge : {0.0, 0.3, 0.01}) {
        Problem given = random_problem(40, equality, twice, ridge > 0.0, ++seed);
        if (ridge == 0.01) {  // a ridge inside a box
          for (double& upper : given.upper) upper = 0.7;
          for (double& r : given.ridge) r = ridge;
          for (double& a : given.start) a = std::min(a, 0.7);
        }
        for (const Problem& problem : with_starts(given, seed)) {
          const std::string what = std::string(level.name) + " equality " + std::to_string(static_cast<int>(equality)) +
                                   (twice ? " twice" : "") + " ridge " + std::to_string(ridge);
          WholeBlock block(problem), other(problem);
          check(run_active_set(block, level, eps, what), what + ": ends");
          check(run_active_set(other, level, eps, what, true), what + ": ends");
          const std::vector<double> a = block.a();
          // Two positive variables of a point, of different equalities, do not come apart here; see below.
          if (equality == Equality::per_sign && twice && (block.has_two_at_a_point() || other.has_two_at_a_point()))
            continue;
          check(problem.violation(a) <= eps, what + ": optimal");
          check(problem.violation(other.a()) <= eps, what + ": optimal");
          SmoOptions options;
          options.tol = eps;
          const SmoResult result = solve(problem, options, level, 1, false);
          check(close(problem.objective(a), result.objective, 1e-9), what + ": the optimum of the solver");
        }
      }
    }
  }
}

// Two variables enter, and the step would push the one at its upper bound beyond it: nothing moves, and it must still
// be there when it has left.
void test_active_set_steps_of_length_zero(const Level& level) {
  for (const double sign : {1.0, -1.0}) {
    Problem problem;
    problem.n_points = 2;
    problem.equality = Equality::none;
    problem.point = {0, 1};
    problem.sign = {sign, sign};
    problem.matrix = {1.0, -0.9, -0.9, 1.0};
    problem.upper = {1.0, 10.0};
    problem.start = {1.0, 0.0};
    problem.ridge = {0.0, 0.0};
    problem.linear = {-0.9, -0.1};  // the first would shrink by itself, the second grows and takes the first along
    WholeBlock block(problem);
    smo::ActiveSet set = block.active_set(level);
    check(set.step().whole && set.enter_violating(1e-6), "all at bounds: a step of nothing, and both enter");
    smo::ActiveSet::Step step = set.step();
    check(step.made && !step.whole && step.objective == 0.0 && step.slope == 0.0, "no room");
    check(block.a() == std::vector<double>({1.0, 0.0}), "nothing has moved");
    step = set.step();
    check(step.whole && close(step.objective, -0.5, 1e-12) && close(step.slope, -0.1, 1e-12), "the second alone");
    check(!set.enter_violating(1e-6) && block.a()[0] == 1.0 && close(block.a()[1], 1.0, 1e-12), "the optimum");
    check(block.f_is_exact() && problem.violation(block.a()) <= 1e-12);
  }
}

// Copies of points make K singular, and two positive variables of one point do not fit into F together: the steps may
// then end early, but do no harm, and the solver goes on from there.
void test_active_set_without_a_unique_solution(const Level& level) {
  constexpr std::size_t n = 40;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      Problem problem = random_problem(n, equality, twice, false, 131);
      const std::vector<double> before = problem.matrix;
      const auto original = [](std::size_t i) { return i % 3 == 0 ? i : i - i % 3; };
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) problem.matrix[i * n + j] = before[original(i) * n + original(j)];
      }
      problem.start = problem.upper;
      for (double& a : problem.start) a *= 0.5;
      WholeBlock block(problem);
      check(run_active_set(block, level, 1e-8, "copies"), "ends");
      SmoOptions options;
      options.tol = 1e-6;
      const SmoResult cold = solve(problem, options, level, 1, false);
      check_solution(problem, cold, options.tol, "copies");
      Problem from_there = problem;
      from_there.start = block.a();
      const SmoResult result = solve(from_there, options, level, 1, false);
      check(close(result.objective, cold.objective, 1e-6), "the same optimum from there");
    }
  }
}

// As many free variables as equalities: these leave nothing to choose, and a step of rounding errors is one that has
// been made. The others enter then.
void test_active_set_with_nothing_to_choose(const Level& level) {
  std::size_t solved = 0;
  for (unsigned seed = 150; seed < 170; ++seed) {
    for (const Equality equality : {Equality::total, Equality::per_sign}) {
      Problem problem = random_problem(10, equality, false, false, seed);
      std::fill(problem.start.begin(), problem.start.end(), 0.0);
      for (std::size_t k = 0; k < 10; ++k) problem.sign[k] = k % 2 == 0 ? 1.0 : -1.0;
      problem.start[0] = problem.start[1] = 0.3;
      if (equality == Equality::total) problem.start[1] = 0.0;
      WholeBlock block(problem);
      solved += run_active_set(block, level, 1e-8, "nothing to choose") && problem.violation(block.a()) <= 1e-8;
    }
  }
  check(solved == 40, std::to_string(solved) + " of 40 solved");
}

void test_active_set_of_nothing(const Level& level) {
  Problem problem;
  WholeBlock block(problem);
  smo::ActiveSet set = block.active_set(level);
  check(set.step().whole && !set.enter_violating(1e-6));
}

// Wide kernels and large bounds, where pairs crawl: the free variables are many and nearly dependent.
Problem wide_problem(std::size_t n, Equality equality, bool twice, unsigned seed) {
  constexpr std::size_t d = 5;
  Problem problem = random_problem(n, equality, twice, false, seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n * d);
  for (double& value : x) value = normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double squared = 0.0;
      for (std::size_t f = 0; f < d; ++f) squared += (x[i * d + f] - x[j * d + f]) * (x[i * d + f] - x[j * d + f]);
      problem.matrix[i * n + j] = std::exp(-0.05 * squared);
    }
    const double label = x[i * d] * x[i * d + 1] + 0.3 * normal(random) > 0.0 ? 1.0 : -1.0;
    if (!twice) problem.sign[i] = label;
  }
  std::fill(problem.upper.begin(), problem.upper.end(), 1e4);
  for (double& a : problem.start) a = 1e4 * std::min(a, 1.0);
  return problem;
}

// Pairs alone take some ten times as many steps or more here; those of the solver are counted, Newton's among them.
void test_newton_steps_in_the_solver(const Level& level) {
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      for (const std::size_t n : {200, 700}) {
        const Problem problem = wide_problem(n, equality, twice, 141);
        SmoOptions options;
        options.max_iter = 1000 * n;
        const SmoResult result = solve(problem, options, level);
        check_solution(problem, result, options.tol, "wide kernel");
        // From a start with two positive variables at many a point, pairs have to do most of the work.
        if (equality != Equality::per_sign || !twice) check(result.n_iter <= 200 * n, "few steps");
        const SmoResult threaded = solve(problem, options, level, 2);
        check(threaded.a == result.a && threaded.n_iter == result.n_iter, "any number of threads, to the last bit");
      }
    }
  }
}

}  // namespace

void run_active_set_tests() {
  for (const Level* level : supported_levels()) {
    test_active_set(*level);
    test_active_set_steps_of_length_zero(*level);
    test_active_set_without_a_unique_solution(*level);
    test_active_set_with_nothing_to_choose(*level);
    test_active_set_of_nothing(*level);
  }
  for (const std::string_view name : {"", "baseline"}) test_newton_steps_in_the_solver(find_level(name));
}

}  // namespace mercer::tests

// Sets of weights of kernels, and weights and machines learnt together, where the answers are known.
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/stop.hpp"
#include "mercer/weight_sets.hpp"
#include "mercer/weights_smo.hpp"
#include "problems.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

std::vector<double> best(const WeightSet& set, const std::vector<double>& energies) {
  std::vector<double> weights(energies.size());
  set.best(energies.data(), energies.size(), weights.data());
  return weights;
}

double inner(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

bool near(const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
  if (x.size() != y.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!close(x[k], y[k], tolerance)) return false;
  }
  return true;
}

Groups simplex(std::size_t n, double roundness) {
  std::vector<std::vector<std::size_t>> alone;
  for (std::size_t k = 0; k < n; ++k) alone.push_back({k});
  Groups set(std::move(alone), infinity);
  set.set_roundness(roundness);
  return set;
}

void test_weight_sets() {
  check(near(best(NormBall(2.0), {3.0, 4.0}), {0.6, 0.8}, 1e-15));
  check(near(best(NormBall(infinity), {3.0, 0.0}), {1.0, 1.0}, 0.0));
  check(near(best(NormBall(2.0), {0.0, 0.0}), {std::sqrt(0.5), std::sqrt(0.5)}, 1e-15), "nothing to choose by");
  check(near(best(Elastic(1.0), {3.0, 4.0}), {0.6, 0.8}, 1e-15), "the ball");
  check(near(best(Elastic(1e-9), {3.0, 4.0}), {0.0, 1.0}, 1e-6), "nearly the simplex");
  check(near(best(simplex(3, 1e-6), {1.0, 3.0, 2.0}), {0.0, 1.0, 0.0}, 2e-6), "sharp corners");
  check(near(best(simplex(2, 0.5), {2.0, 2.0}), {0.4, 0.4}, 1e-15), "l / (1 + eps l) of l = 1 / 2");
  Groups pairs({{0, 1}, {2}}, 2.0);
  pairs.set_roundness(1e-6);
  check(near(best(pairs, {3.0, 4.0, 4.5}), {0.6, 0.8, 0.0}, 2e-6), "the pair takes 5");
  const std::vector<double> energies{3.0, 4.0, 4.5};
  check(close(pairs.largest(energies.data(), 3), 5.0, 1e-15));
  std::vector<double> sharp(3);
  pairs.set_roundness(0.3);
  pairs.sharp(energies.data(), 3, sharp.data());
  check(close(std::hypot(sharp[0], sharp[1]) + sharp[2], 1.0, 1e-14), "of the set itself");
}

// The largest d'S is a convex function of S with the gradient d, and as large as S in whatever unit.
void test_best_weights_are_gradients() {
  std::mt19937 random(1);
  std::gamma_distribution<double> gamma(1.0);
  std::vector<std::unique_ptr<WeightSet>> sets;
  for (const double p : {1.1, 2.0, 7.0}) sets.push_back(std::make_unique<NormBall>(p));
  for (const double mix : {0.1, 0.7}) sets.push_back(std::make_unique<Elastic>(mix));
  sets.push_back(std::make_unique<Groups>(simplex(6, 0.2)));
  sets.push_back(std::make_unique<Groups>(std::vector<std::vector<std::size_t>>{{0, 3}, {1, 2, 5}, {4}}, 1.5));
  for (const auto& set : sets) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> energies(6), other(6), scaled;
      for (double& value : energies) value = gamma(random);
      for (double& value : other) value = gamma(random);
      const std::vector<double> weights = best(*set, energies);
      check(inner(best(*set, other), other) >= inner(weights, other) * (1 - 1e-12), "none is better");
      for (const double value : energies) scaled.push_back(1e100 * value);
      check(near(best(*set, scaled), weights, 1e-12), "in any unit");
      constexpr double h = 1e-5;
      for (std::size_t k = 0; k < 6; ++k) {
        std::vector<double> up = energies, down = energies;
        up[k] += h * energies[k];
        down[k] -= h * energies[k];
        const double slope = (inner(best(*set, up), up) - inner(best(*set, down), down)) / (2 * h * energies[k]);
        check(close(slope, weights[k], 1e-4), "the gradient");
      }
    }
  }
}

struct Stack {
  std::vector<std::vector<float>> values;
  weights::Matrices matrices;

  void add(std::vector<float> matrix, std::size_t n) {
    values.push_back(std::move(matrix));
    matrices.values.clear();
    for (const auto& own : values) matrices.values.push_back(own.data());
    matrices.n = n;
  }
};

weights::Machine machine_of(const Problem& problem) {
  weights::Machine machine;
  machine.view = problem.view();
  machine.a = problem.start;
  if (problem.equality == Equality::per_sign) {
    for (std::size_t k = 0; k < problem.start.size(); ++k) {
      (problem.sign[k] > 0 ? machine.totals.plus : machine.totals.minus) += problem.start[k];
    }
  }
  return machine;
}

weights::Learnt learn(const Stack& stack, std::vector<weights::Machine>& machines, WeightSet& set, double gap,
                      std::size_t n_threads, const Level& level) {
  weights::Options options;
  options.gap = gap;
  options.rounds_per_variable = 1000;  // to the end, also where pairs crawl
  const Watch watch(infinity, {}, {});
  Team team(n_threads);
  return weights::Solver(stack.matrices, machines, set, options, level, watch, team).solve();
}

// The kernel of the problem and powers of it, which are kernels too.
Stack powers(const Problem& problem, std::size_t n_kernels) {
  Stack stack;
  for (std::size_t k = 0; k < n_kernels; ++k) {
    std::vector<float> matrix;
    for (const double value : problem.matrix) matrix.push_back(float(std::pow(value, std::pow(3.0, double(k)))));
    stack.add(std::move(matrix), problem.n_points);
  }
  return stack;
}

void test_one_kernel(const Level& level) {
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool ridge : {false, true}) {
      const Problem problem = random_problem(150, equality, false, ridge, 3);
      const SmoResult plain = solve(problem, {}, level);
      const Stack stack = powers(problem, 1);
      std::vector<weights::Machine> machines{machine_of(problem)};
      NormBall ball(2.0);
      const weights::Learnt learnt = learn(stack, machines, ball, 1e-6, 1, level);
      check(learnt.status == Status::solved && learnt.weights == std::vector<double>{1.0});
      check(close(problem.objective(machines[0].a), plain.objective, 1e-5), "as the machine alone");
    }
  }
}

void test_random_problems(const Level& level) {
  unsigned seed = 5;
  for (const Equality equality : {Equality::none, Equality::total, Equality::per_sign}) {
    for (const bool twice : {false, true}) {
      Problem problem = random_problem(120, equality, twice, false, ++seed);
      if (equality == Equality::per_sign) {  // the width of the tube is free
        for (double& linear : problem.linear) linear -= twice ? 0.1 : 0.0;
      }
      const Stack stack = powers(problem, 5);
      std::vector<std::unique_ptr<WeightSet>> sets;
      sets.push_back(std::make_unique<NormBall>(1.3));
      sets.push_back(std::make_unique<NormBall>(infinity));
      sets.push_back(std::make_unique<Elastic>(0.4));
      sets.push_back(std::make_unique<Groups>(simplex(5, 0.1)));
      for (const auto& set : sets) {
        std::vector<weights::Machine> machines{machine_of(problem)};
        const weights::Learnt learnt = learn(stack, machines, *set, 1e-4, 1, level);
        check(learnt.status == Status::solved);
        // The machine on the sum of the kernels with these weights has nothing left to gain.
        std::vector<double>& sum = problem.matrix;
        const std::vector<double> before = sum;
        for (std::size_t e = 0; e < sum.size(); ++e) {
          sum[e] = 0.0;
          for (std::size_t k = 0; k < 5; ++k) sum[e] += learnt.weights[k] * double(stack.values[k][e]);
        }
        const double gained = problem.objective(machines[0].a) - solve(problem, {}, level).objective;
        check(gained <= 2e-4 * std::abs(problem.objective(machines[0].a)), "its optimum");
        sum = before;
      }
    }
  }
}

void test_threads(const Level& level) {
  const Problem first = random_problem(150, Equality::total, false, false, 8);
  Problem second = random_problem(150, Equality::total, true, false, 9);
  const Stack stack = powers(first, 40);
  for (const bool round : {true, false}) {
    std::vector<std::vector<double>> found;
    for (const std::size_t n_threads : {1, 3}) {
      std::vector<weights::Machine> machines{machine_of(first), machine_of(second)};
      NormBall ball(1.5);
      Groups corners = simplex(40, 0.1);
      WeightSet& set = round ? static_cast<WeightSet&>(ball) : corners;
      found.push_back(learn(stack, machines, set, 1e-3, n_threads, level).weights);
      for (const weights::Machine& machine : machines)
        found.back().insert(found.back().end(), machine.a.begin(), machine.a.end());
    }
    check(found[0] == found[1]);
  }
}

void test_kernels_without_effect(const Level& level) {
  const Problem problem = random_problem(60, Equality::total, false, false, 10);
  Stack stack = powers(problem, 1);
  stack.add(std::vector<float>(3600, 0.0f), 60);
  stack.add(std::vector<float>(3600, 1.0f), 60);  // a constant, which the offset is already
  std::vector<weights::Machine> machines{machine_of(problem)};
  NormBall ball(2.0);
  const weights::Learnt learnt = learn(stack, machines, ball, 1e-8, 1, level);
  check(learnt.status == Status::solved && near(learnt.weights, {1.0, 0.0, 0.0}, 1e-6));
}

}  // namespace

void run_kernel_weights_tests() {
  test_weight_sets();
  test_best_weights_are_gradients();
  for (const Level* level : supported_levels()) {
    test_one_kernel(*level);
    test_random_problems(*level);
    test_threads(*level);
    test_kernels_without_effect(*level);
  }
}

}  // namespace mercer::tests

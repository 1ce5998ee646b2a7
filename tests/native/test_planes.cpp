// Planes with multipliers: optima that are known, bounds that hold, and what is at the edge.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "mercer/planes.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// All planes of all blocks, dense.
struct Planes {
  std::size_t features = 0;
  std::vector<double> cost;
  struct One {
    std::size_t block;
    std::vector<double> psi;
    double loss;
  };
  std::vector<One> all;

  void give(PlaneSet& set, const One& one) const {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    for (std::size_t f = 0; f < features; ++f) {
      if (one.psi[f] == 0.0) continue;
      columns.push_back(static_cast<std::int32_t>(f));
      values.push_back(one.psi[f]);
    }
    set.visit(one.block, {columns.data(), values.data(), values.size()}, one.loss);
  }

  // |w|^2 / 2 + sum of costs times the largest plane.
  double primal(const std::vector<double>& w) const {
    std::vector<double> worst(cost.size(), 0.0);
    for (const One& one : all) {
      const double value = one.loss - std::inner_product(w.begin(), w.end(), one.psi.begin(), 0.0);
      worst[one.block] = std::max(worst[one.block], value);
    }
    return 0.5 * std::inner_product(w.begin(), w.end(), w.begin(), 0.0) +
           std::inner_product(cost.begin(), cost.end(), worst.begin(), 0.0);
  }
};

double dual(const PlaneSet& set) {
  return set.loss() - 0.5 * std::inner_product(set.w().begin(), set.w().end(), set.w().begin(), 0.0);
}

Planes random_planes(std::size_t blocks, std::size_t planes, std::size_t features, double cost, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> between(0.5, 2.0);
  Planes made{features, {}, {}};
  for (std::size_t i = 0; i < blocks; ++i) {
    made.cost.push_back(cost * between(rng));
    for (std::size_t j = 0; j < planes; ++j) {
      std::vector<double> psi(features);
      for (double& x : psi) x = 0.3 + normal(rng);
      made.all.push_back({i, psi, between(rng)});
    }
  }
  return made;
}

void nothing() {}

// Both sides meet, at any price and in blocks of any size; the dual never falls on the way.
void test_optimum() {
  for (const auto& [blocks, planes] : {std::pair<std::size_t, std::size_t>{1, 80}, {30, 4}, {1, 1}, {7, 1}}) {
    for (const double cost : {1e-3, 1.0, 1e3}) {
      const Planes problem = random_planes(blocks, planes, 5, cost, 3);
      PlaneSet set(problem.features, problem.cost);
      double last = 0.0;
      for (const Planes::One& one : problem.all) {
        problem.give(set, one);
        check(dual(set) >= last - 1e-9 * std::abs(last));
        last = dual(set);
      }
      set.refresh();
      check(close(dual(set), last, 1e-9));
      const double bound = 1e-8 * dual(set), gap = set.solve(bound, 20000, nothing);
      set.refresh();
      check(gap <= bound && gap >= 0.0, "solve reaches its bound");
      const double between = problem.primal(set.w()) - dual(set);
      check(between <= 2.0 * bound && between >= -1e-9 * dual(set), "primal and dual objective meet");
      double owned = 0.0;
      for (std::size_t i = 0; i < set.size(); ++i) owned += set.owned(i);
      const double square = std::inner_product(set.w().begin(), set.w().end(), set.w().begin(), 0.0);
      check(close(owned, set.loss() - square, 1e-9), "owned is a.(l - w psi)");
    }
  }
}

// Exchanges crawl in a block of many planes at a high price, Newton steps do not.
void test_high_price() {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Planes problem = random_planes(1, 80, 5, 1e6, seed);
    PlaneSet set(problem.features, problem.cost);
    for (const Planes::One& one : problem.all) problem.give(set, one);
    const double bound = 1e-8 * dual(set);
    check(set.solve(bound, 5, nothing) <= bound);
  }
}

// One plane: a = min(c, l / |psi|^2).
void test_one_plane() {
  for (const double cost : {0.1, 10.0}) {
    const Planes problem{2, {cost}, {{0, {1.0, 2.0}, 3.0}}};
    PlaneSet set(2, problem.cost);
    problem.give(set, problem.all[0]);
    const double a = std::min(cost, 3.0 / 5.0);
    check(close(set.w()[0], a, 1e-15) && close(set.w()[1], 2.0 * a, 1e-15) && close(set.loss(), 3.0 * a, 1e-15));
    check(set.gap(0) <= 1e-15);
  }
}

// A loss that no w can help: all of the multiplier goes there, and w stays; without features, too.
void test_losses_without_features() {
  for (const std::size_t features : {std::size_t{0}, std::size_t{3}}) {
    const Planes problem{
        features, {2.0, 1.0}, {{0, std::vector<double>(features), 1.0}, {0, std::vector<double>(features), 4.0}}};
    PlaneSet set(features, problem.cost);
    for (const Planes::One& one : problem.all) problem.give(set, one);
    check(set.solve(1e-12, 10, nothing) == 0.0);
    check(set.loss() == 8.0 && std::all_of(set.w().begin(), set.w().end(), [](double x) { return x == 0.0; }));
  }
}

// A plane that is known is not there twice; one that differs in its loss or an entry is another.
void test_planes_are_told_apart() {
  const Planes problem{
      2, {1.0}, {{0, {1.0, 0.0}, 1.0}, {0, {1.0, 0.0}, 2.0}, {0, {1.0, 1.0}, 1.0}, {0, {0.0, 1.0}, 1.0}}};
  PlaneSet set(2, problem.cost);
  for (int round = 0; round < 3; ++round) {
    for (const Planes::One& one : problem.all) problem.give(set, one);
  }
  check(set.planes() == 4);
}

// What has no multiplier for twenty visits with planes is forgotten, passes over known planes do not count.
void test_idle_planes_are_forgotten() {
  const Planes problem{1, {1.0}, {{0, {1.0}, -5.0}, {0, {1.0}, 0.5}}};
  PlaneSet set(1, problem.cost);
  problem.give(set, problem.all[0]);
  for (int k = 0; k < 100; ++k) set.improve(0);
  check(set.planes() == 1);
  for (int k = 0; k < 18; ++k) problem.give(set, problem.all[1]);
  check(set.planes() == 2);
  problem.give(set, problem.all[1]);
  check(set.planes() == 1);
  check(close(set.w()[0], 0.5, 1e-15), "those with a multiplier stay");
  for (int k = 0; k < 100; ++k) problem.give(set, problem.all[k % 10 == 0 ? 0 : 1]);
  check(set.planes() == 2, "those that are found again stay");
}

// The mean of points counts that after visit t with the weight t.
void test_averages() {
  const Planes problem = random_planes(4, 3, 3, 2.0, 5);
  PlaneSet set(3, problem.cost);
  std::vector<double> mean(3, 0.0);
  double loss = 0.0, t = 0.0;
  check(set.averaged().first == mean && set.averaged().second == 0.0);
  for (const Planes::One& one : problem.all) {
    problem.give(set, one);
    t += 1.0;
    for (std::size_t f = 0; f < 3; ++f) mean[f] += t * set.w()[f];
    loss += t * set.loss();
  }
  const double weights = 0.5 * t * (t + 1.0);
  const auto [w, l] = set.averaged();
  for (std::size_t f = 0; f < 3; ++f) check(close(w[f], mean[f] / weights, 1e-12));
  check(close(l, loss / weights, 1e-12));
}

// Whoever interrupts a solution finds the set as it should be.
void test_interrupted() {
  const Planes problem = random_planes(30, 4, 5, 1e3, 3);
  PlaneSet set(problem.features, problem.cost);
  for (const Planes::One& one : problem.all) problem.give(set, one);
  for (const int patience : {1, 50, 400}) {
    int calls = 0;
    const auto poll = [&] {
      if (++calls > patience) throw std::runtime_error("enough");
    };
    check(throws<std::runtime_error>([&] { set.solve(0.0, 1000, poll); }));
    const double before = dual(set);
    set.refresh();
    check(close(before, dual(set), 1e-9));
    for (const Planes::One& one : problem.all) problem.give(set, one);
  }
  set.solve(1e-8 * dual(set), 20000, nothing);
  set.refresh();
  check(problem.primal(set.w()) - dual(set) <= 2e-8 * dual(set));
}

}  // namespace

void run_planes_tests() {
  test_optimum();
  test_high_price();
  test_one_plane();
  test_losses_without_features();
  test_planes_are_told_apart();
  test_idle_planes_are_forgotten();
  test_averages();
  test_interrupted();
}

}  // namespace mercer::tests

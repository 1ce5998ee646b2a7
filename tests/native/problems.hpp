// Dual problems over a matrix, with what a solution owes by definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "mercer/dual.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rows.hpp"
#include "mercer/smo.hpp"
#include "mercer/stop.hpp"

namespace mercer::tests {

struct Problem {
  std::vector<std::int64_t> point;
  std::vector<double> sign, linear, upper, ridge, start, matrix;
  std::size_t n_points = 0;
  Equality equality = Equality::total;

  DualView view() const {
    return {point.size(), n_points,     point.data(), sign.data(), linear.data(),
            upper.data(), ridge.data(), start.data(), equality};
  }
  std::vector<double> gradient(const std::vector<double>& a) const {
    std::vector<double> g(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      g[i] = linear[i] + ridge[i] * a[i];
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (a[j] != 0.0) g[i] += sign[i] * sign[j] * matrix[point[i] * n_points + point[j]] * a[j];
      }
    }
    return g;
  }
  double objective(const std::vector<double>& a) const {
    const std::vector<double> g = gradient(a);
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += 0.5 * a[i] * (g[i] + linear[i]);
    return sum;
  }
  // [CY eq 1.61], by its definition.
  double violation(const std::vector<double>& a) const {
    const std::vector<double> g = gradient(a);
    double worst = 0.0;
    for (const double side : {1.0, -1.0}) {
      double largest = -infinity, smallest = infinity;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (equality == Equality::per_sign && sign[i] != side) continue;
        const bool below = a[i] < upper[i], above = a[i] > 0.0;
        if (sign[i] > 0 ? below : above) largest = std::max(largest, -sign[i] * g[i]);
        if (sign[i] > 0 ? above : below) smallest = std::min(smallest, -sign[i] * g[i]);
      }
      if (equality == Equality::none) {
        worst = std::max({worst, largest, -smallest});
      } else if (largest > -infinity && smallest < infinity) {
        worst = std::max(worst, largest - smallest);
      }
    }
    return worst;
  }
};

inline SmoResult solve(const Problem& problem, const SmoOptions& options, const Level& level, std::size_t n_threads = 1,
                       bool with_single = true, Watch watch = Watch(infinity, {}, {})) {
  Team team(n_threads);
  const auto points = all_positions(problem.n_points);
  MatrixRows<float, double> single(level, problem.matrix.data(), problem.n_points, points, team);
  MatrixRows<double, double> full(level, problem.matrix.data(), problem.n_points, points, team);
  const DualView view = problem.view();
  return smo::Solver(view, options, level, with_single ? &single : nullptr, full, watch).solve();
}

// Two points at -1 and 1 with the linear kernel: a = 1/2 each, w = 1.
inline Problem two_points(double upper) {
  Problem problem;
  problem.n_points = 2;
  problem.point = {0, 1};
  problem.sign = {-1.0, 1.0};
  problem.linear = {-1.0, -1.0};
  problem.upper = {upper, upper};
  problem.ridge = problem.start = {0.0, 0.0};
  problem.matrix = {1.0, -1.0, -1.0, 1.0};
  return problem;
}

// A random problem with the kernel exp(-|x - y|) on a line; `twice` gives every point two variables (regression).
inline Problem random_problem(std::size_t n, Equality equality, bool twice, bool ridge, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& value : x) value = 3.0 * normal(random);
  Problem problem;
  problem.n_points = n;
  problem.equality = equality;
  problem.matrix.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) problem.matrix[i * n + j] = std::exp(-std::abs(x[i] - x[j]));
  }
  for (std::size_t k = 0; k < (twice ? 2 * n : n); ++k) {
    const std::size_t i = k % n;
    problem.point.push_back(static_cast<std::int64_t>(i));
    const double label = x[i] + normal(random) > 0.0 ? 1.0 : -1.0;
    problem.sign.push_back(twice ? (k < n ? 1.0 : -1.0) : label);
    const double target = std::sin(x[i]) + 0.1 * label;
    problem.linear.push_back(twice ? (k < n ? 0.1 - target : 0.2 - problem.linear[i])
                                   : (equality == Equality::per_sign ? 0.0 : -1.0));
    problem.ridge.push_back(ridge ? 0.3 : 0.0);
    problem.upper.push_back(ridge ? infinity : 0.5 + 0.5 * double(i % 3));
    problem.start.push_back(0.0);
  }
  if (equality == Equality::per_sign) {  // both sums are n / 10
    for (const double side : {1.0, -1.0}) {
      double left = double(n) / 10.0;
      for (std::size_t k = 0; k < problem.sign.size(); ++k) {
        if (problem.sign[k] != side) continue;
        problem.start[k] = std::min(left, problem.upper[k]);
        left -= problem.start[k];
      }
    }
  }
  return problem;
}

inline void check_solution(const Problem& problem, const SmoResult& result, double tol, std::string_view what) {
  bool feasible = true;
  double total = 0.0, wanted = 0.0, plus = 0.0, wanted_plus = 0.0, size = 0.0;
  for (std::size_t k = 0; k < result.a.size(); ++k) {
    feasible = feasible && result.a[k] >= 0.0 && result.a[k] <= problem.upper[k];
    size += result.a[k];
    total += problem.sign[k] * result.a[k];
    wanted += problem.sign[k] * problem.start[k];
    if (problem.sign[k] > 0) {
      plus += result.a[k];
      wanted_plus += problem.start[k];
    }
  }
  check(feasible, what);
  const double rounding = 1e-9 + 1e-13 * size;
  if (problem.equality != Equality::none) check(std::abs(total - wanted) <= rounding, what);
  if (problem.equality == Equality::per_sign) check(std::abs(plus - wanted_plus) <= rounding, what);
  check(result.status == Status::solved, what);
  const double violation = problem.violation(result.a);
  check(violation <= tol * (1 + 1e-9), what);
  check(std::abs(violation - result.violation) <= rounding, what);
  check(close(problem.objective(result.a), result.objective, 1e-9), what);
  check(!result.history.empty() && result.history.back().n_iter == result.n_iter, what);
  check(result.objective <= problem.objective(problem.start) + 1e-12, what);
}

}  // namespace mercer::tests

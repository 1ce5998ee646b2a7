// All classes in one problem: the best block of one sample, and the solver.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "mercer/blocks.hpp"
#include "mercer/joint.hpp"
#include "mercer/joint/features.hpp"
#include "mercer/joint/proximal_newton.hpp"
#include "mercer/level.hpp"
#include "mercer/matrix.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rows.hpp"
#include "mercer/stop.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// a is optimal where no multiplier, nor the sum of all, can move against the slope of the objective.
bool is_best_block(const std::vector<double>& v, double rho, double upper, double total, const std::vector<double>& a) {
  double sum = 0.0;
  for (const double value : a) sum += value;
  if (sum > total * (1.0 + 1e-12)) return false;
  const bool full = sum > total * (1.0 - 1e-12);
  // The slope, minus which the multiplier of the total is the largest of the multipliers between their bounds.
  double price = 0.0;
  for (std::size_t k = 0; k < v.size() && full; ++k) {
    if (a[k] > 0.0) price = std::max(price, v[k] - a[k] - rho * sum);
  }
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double slope = a[k] + rho * sum - v[k] + price;
    if (a[k] < 0.0 || a[k] > upper) return false;
    if (a[k] > 0.0 && slope > 1e-10) return false;
    if (a[k] < upper && slope < -1e-10) return false;
  }
  return true;
}

void test_best_blocks() {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t n = 2 + random() % 12;
    const double scale = std::pow(10.0, static_cast<double>(random() % 7) - 3.0),
                 cost = 0.1 + double(random() % 100) / 20;
    std::vector<double> v(n), a(n);
    for (double& value : v) value = random() % 5 == 0 ? scale : scale * normal(random);
    const double rho = trial % 2 == 0 ? 1.0 : -1.0 / static_cast<double>(n + 1);
    const bool summed = trial % 3 != 0;
    constexpr double unlimited = std::numeric_limits<double>::max();
    const double upper = summed ? cost : unlimited, total = summed ? unlimited : cost;
    const double guess = trial % 5 == 0 ? 0.0 : scale * std::abs(normal(random));
    const double sum = optimise_block(v.data(), n, rho, upper, total, guess, a.data());
    check(is_best_block(v, rho, upper, total, a), "the best block");
    check(close(sum, std::accumulate(a.begin(), a.end(), 0.0), 1e-12));
    if (a[0] > 0.0) {
      a[0] *= 0.9;
      check(!is_best_block(v, rho, upper, total, a), "another one is not");
    }
    v[0] = -infinity;
    optimise_block(v.data(), n, rho, upper, total, guess, a.data());
    check(a[0] == 0.0, "a class that takes no part");
  }
  // The projection onto a simplex: (2, 1, -1) goes to (1, 0, 0), (1, 1, -1) to (1/2, 1/2, 0).
  double a[3];
  const double one[] = {2.0, 1.0, -1.0}, two[] = {1.0, 1.0, -1.0};
  optimise_block(one, 3, 0.0, 1e300, 1.0, 0.0, a);
  check(a[0] == 1.0 && a[1] == 0.0 && a[2] == 0.0);
  optimise_block(two, 3, 0.0, 1e300, 1.0, 0.0, a);
  check(a[0] == 0.5 && a[1] == 0.5 && a[2] == 0.0);
}

void test_block_views() {
  const std::vector<double> a{0.0, 0.5, 2.0}, slope{9.0, 0.25, -0.5};
  const BlockView box{a.data(), slope.data(), 3, 0, 2.0, Errors::sum};
  check(box.violation() == 0.25, "0.5 could go down");
  check(close(box.gap(), 0.5 * 0.25 - 2.0 * 0.5 + 2.0 * 0.5, 1e-15));
  check(!box.settled(0.0));
  const BlockView simplex{a.data(), slope.data(), 3, 0, 2.5, Errors::largest};
  check(simplex.spare() == 0.0 && simplex.violation() == 0.75, "0.5 could go to the other");
  check(close(simplex.gap(), 0.5 * 0.25 - 2.0 * 0.5 + 2.5 * 0.5, 1e-15));
  const std::vector<double> none(3, 0.0), far{0.0, 1.0, 2.0};
  for (const Errors errors : {Errors::sum, Errors::largest}) {
    const BlockView quiet{none.data(), far.data(), 3, 0, 2.0, errors};
    check(quiet.violation() == 0.0 && quiet.gap() == 0.0 && quiet.settled(0.4) && !quiet.settled(1.0));
  }
  const std::vector<double> all{0.0, 2.0, 0.0}, wrong{0.0, -3.0, 1.0};
  const BlockView stuck{all.data(), wrong.data(), 3, 0, 2.0, Errors::largest};
  check(stuck.violation() == 0.0 && stuck.settled(1.0) && !stuck.settled(2.0));
}

struct JointProblem {
  std::size_t n_classes;
  std::vector<std::int64_t> label;
  std::vector<double> cost, start, matrix;

  JointView view(Margin margin, Errors errors, bool bias) const {
    const double target = margin == Margin::relative ? 1.0 : 1.0 / (static_cast<double>(n_classes) - 1.0);
    return {label.size(), n_classes, label.data(), cost.data(), start.data(), margin, errors, target, bias};
  }
};

JointResult solve(const JointProblem& problem, const JointView& view, const JointOptions& options, const Level& level,
                  std::size_t n_threads, Watch watch = Watch(infinity, {}, {})) {
  Team team(n_threads);
  const auto points = all_positions(problem.label.size());
  MatrixRows<float, double> single(level, problem.matrix.data(), points.size(), points, team);
  MatrixRows<double, double> full(level, problem.matrix.data(), points.size(), points, team);
  return joint::Solver(view, options, level, &single, full, watch).solve();
}

JointProblem random_classes(std::size_t n, std::size_t n_classes, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  JointProblem problem{n_classes, {}, {}, std::vector<double>(n * n_classes, 0.0), std::vector<double>(n * n)};
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    problem.label.push_back(static_cast<std::int64_t>(i % n_classes));
    problem.cost.push_back(0.5 + static_cast<double>(random() % 4));
    x.push_back(normal(random) + static_cast<double>(i % n_classes));
    x.push_back(normal(random));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double dx = x[2 * i] - x[2 * j], dy = x[2 * i + 1] - x[2 * j + 1];
      problem.matrix[i * n + j] = std::exp(-0.5 * (dx * dx + dy * dy));
    }
  }
  return problem;
}

void test_joint_machines(const Level& level) {
  for (const std::size_t n : {12, 200}) {
    const JointProblem problem = random_classes(n, 4, 3);
    for (const Margin margin : {Margin::relative, Margin::absolute}) {
      for (const Errors errors : {Errors::sum, Errors::largest}) {
        for (const bool bias : {false, true}) {
          const JointView view = problem.view(margin, errors, bias);
          for (const bool blocks : {false, true}) {
            JointOptions options;
            options.tol = 1e-4;
            if (blocks) options.block = options.largest_block = 32, options.whole = 32, options.exact = 1;
            const JointResult result = solve(problem, view, options, level, 1);
            check(result.status == Status::solved && result.violation <= 1e-4, "solved");
            check(result.a == solve(problem, view, options, level, 3).a, "whatever the number of threads");
            double excess = 0.0, sum = 0.0;
            for (std::size_t k = 0; k < 4 && bias; ++k) {
              double z = 0.0;
              for (std::size_t i = 0; i < n; ++i) {
                double all = 0.0;
                for (std::size_t l = 0; l < 4; ++l) all += result.a[i * 4 + l];
                sum += all;
                if (margin == Margin::relative) z += std::size_t(problem.label[i]) == k ? all : -result.a[i * 4 + k];
                if (margin == Margin::absolute) z += all / 4.0 - result.a[i * 4 + k];
              }
              excess = std::max(excess, std::abs(z));
            }
            check(excess <= 1e-12 * std::max(1.0, sum), "balanced");
          }
        }
      }
    }
  }
}

// Two points at -1 and 1, two classes: w_1 - w_0 = 1, so that the multipliers add up to 1/2 with relative margins, to 2
// with absolute ones; offsets make them equal.
void test_two_classes(const Level& level) {
  const JointProblem problem{2, {0, 1}, {10.0, 10.0}, std::vector<double>(4, 0.0), {1.0, -1.0, -1.0, 1.0}};
  JointOptions options;
  options.tol = 1e-10;
  for (const bool bias : {false, true}) {
    for (const Errors errors : {Errors::sum, Errors::largest}) {
      for (const Margin margin : {Margin::relative, Margin::absolute}) {
        const JointResult result = solve(problem, problem.view(margin, errors, bias), options, level, 1);
        check(close(result.a[1] + result.a[2], margin == Margin::relative ? 0.5 : 2.0, 1e-9));
        check(!bias || close(result.a[1], result.a[2], 1e-12));
        check(result.a[0] == 0.0 && result.a[3] == 0.0);
      }
    }
  }
}

void test_joint_limits(const Level& level) {
  const JointProblem problem = random_classes(150, 3, 4);
  const JointView view = problem.view(Margin::relative, Errors::sum, true);
  JointOptions options;
  options.max_iter = 5;
  check(solve(problem, view, options, level, 1).status == Status::max_iter);
  options.max_iter = JointOptions().max_iter;
  check(solve(problem, view, options, level, 1, Watch(0.0, {}, {})).status == Status::max_seconds);
  check(solve(problem, view, options, level, 1, Watch(infinity, {}, [](const Progress&) { return true; })).status ==
        Status::stopped);
  check(throws<std::runtime_error>(
      [&] { solve(problem, view, options, level, 1, Watch(infinity, [] { throw std::runtime_error(""); }, {})); }));
}

// Samples whose kernel functions make up those of all, and features with that kernel matrix.
void test_features_of_a_matrix(const Level& level) {
  constexpr std::size_t n = 40, d = 3;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> points(n * d), matrix(n * n), x(n * d, 0.0);
  for (double& value : points) value = 5.0 + normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i * n + j] =
          std::inner_product(points.data() + i * d, points.data() + (i + 1) * d, points.data() + j * d, 0.0);
    }
  }
  check(joint::find_basis(level.algebra, matrix.data(), n, d - 1).empty(), "too many");
  const std::vector<std::size_t> basis = joint::find_basis(level.algebra, matrix.data(), n, n);
  check(basis.size() == d, "the rank");
  for (std::size_t r = 0; r < basis.size(); ++r) {
    const std::vector<double> row(matrix.begin() + std::ptrdiff_t(basis[r] * n),
                                  matrix.begin() + std::ptrdiff_t((basis[r] + 1) * n));
    joint::extend_features(level.algebra, row, basis[r], r, d, x);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double product = std::inner_product(x.data() + i * d, x.data() + (i + 1) * d, x.data() + j * d, 0.0);
      check(close(product, matrix[i * n + j], 1e-11), "the kernel matrix");
    }
  }
}

// The multipliers are optimal for the weights that belong to them, in all four forms, with offsets that have no price
// and add up to zero.
void test_proximal_newton(const Level& level, Margin margin, Errors errors) {
  constexpr std::size_t n = 90, classes = 4, d = 3;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x(n * d, 1.0), cost(n);
  std::vector<std::size_t> label(n);
  for (std::size_t i = 0; i < n; ++i) {
    label[i] = i % classes;
    cost[i] = 0.5 + double(i % 3);
    for (std::size_t j = 0; j + 1 < d; ++j) x[i * d + j] = normal(random) + (label[i] == j ? 1.5 : 0.0);
  }
  joint::FewFeatures problem{n,
                             classes,
                             d,
                             x.data(),
                             label.data(),
                             cost.data(),
                             margin,
                             errors,
                             1.0,
                             std::vector<double>(d, 1.0),
                             std::vector<double>(classes * d, 0.0),
                             true};
  Watch watch(infinity, {}, {});
  joint::ProximalNewton newton(level, problem, std::vector<double>(n * classes, 0.0), watch);
  check(newton.solve(1e-9), "it works");
  check(newton.n_steps() < 200, "in some steps");
  const std::vector<double>& a = newton.multipliers();
  const std::vector<double> offsets = newton.offsets();
  std::vector<double> w(classes * d, 0.0), slope(classes), f(classes);
  for (std::size_t i = 0; i < n; ++i) {
    const double sum =
        std::accumulate(a.begin() + std::ptrdiff_t(i * classes), a.begin() + std::ptrdiff_t((i + 1) * classes), 0.0);
    for (std::size_t k = 0; k < classes; ++k) {
      const double own = margin == Margin::relative ? (k == label[i] ? sum : 0.0) : sum / classes;
      for (std::size_t j = 0; j < d; ++j) w[k * d + j] += (own - a[i * classes + k]) * x[i * d + j];
    }
  }
  for (std::size_t k = 0; k < classes; ++k)
    check(std::abs(w[k * d + d - 1]) <= 1e-8, "the multipliers of a class balance");
  double worst = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    double mean = 0.0;
    for (std::size_t k = 0; k < classes; ++k) {
      f[k] = w[k * d] * x[i * d] + w[k * d + 1] * x[i * d + 1] + offsets[k];
      mean += f[k] / classes;
    }
    for (std::size_t k = 0; k < classes; ++k) slope[k] = (margin == Margin::relative ? f[label[i]] : mean) - f[k] - 1.0;
    const BlockView view{a.data() + i * classes, slope.data(), classes, label[i], cost[i], errors};
    worst = std::max(worst, view.violation());
  }
  check(worst < 1e-8, "the optimum");
}

}  // namespace

void run_joint_tests() {
  test_best_blocks();
  test_block_views();
  for (const Level* level : supported_levels()) {
    test_two_classes(*level);
    test_features_of_a_matrix(*level);
    for (const Margin margin : {Margin::relative, Margin::absolute}) {
      for (const Errors errors : {Errors::sum, Errors::largest}) test_proximal_newton(*level, margin, errors);
    }
  }
  for (const std::string_view name : {"", "baseline"}) {
    test_joint_machines(find_level(name));
    test_joint_limits(find_level(name));
  }
}

}  // namespace mercer::tests

// Linear algebra: the loops of every level, and the factor that rows enter and leave.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "mercer/factor.hpp"
#include "mercer/level.hpp"
#include "mercer/matrix.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rows.hpp"
#include "mercer/symmetric.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

void test_algebra(const Level& level) {
  std::mt19937 random(61);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::size_t> sizes = all_positions(41);
  sizes.insert(sizes.end(), {63, 64, 65, 200, 257});
  for (const std::size_t n : sizes) {
    std::vector<double> x(n), y(n);
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      x[k] = uniform(random);
      y[k] = uniform(random);
      sum += x[k] * y[k];
    }
    check(close(level.algebra.inner(x.data(), y.data(), n), sum, 1e-13), "inner " + std::to_string(n));

    std::vector<double> difference = y;
    level.algebra.subtract(0.75, x.data(), n, difference.data());
    bool good = true;
    for (std::size_t k = 0; k < n; ++k) good = good && close(difference[k], y[k] - 0.75 * x[k], 1e-15);
    check(good, "subtract " + std::to_string(n));

    // Rows of their own length: a sanitizer sees what is read behind the diagonal.
    std::vector<std::vector<double>> L(n);
    std::vector<const double*> rows(n);
    std::vector<double> solution(n * solve_group), b(n * solve_group);
    for (double& value : solution) value = uniform(random);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) L[i].push_back(uniform(random) / std::sqrt(double(n)));
      L[i].push_back(1.5 + 0.5 * uniform(random));
      rows[i] = L[i].data();
      for (std::size_t j = 0; j <= i; ++j) {
        for (std::size_t g = 0; g < solve_group; ++g) b[i * solve_group + g] += L[i][j] * solution[j * solve_group + g];
      }
    }
    level.algebra.forward_solve(rows.data(), n, b.data());
    good = true;
    for (std::size_t k = 0; k < b.size(); ++k) good = good && close(b[k], solution[k], 1e-11);
    check(good, "forward_solve " + std::to_string(n));
  }
}

// A factor beside what it is the factor of: the inner products of the points `kept`. A combination of points is then a
// row that depends on others. Points in many dimensions are nearly orthogonal, the matrix well conditioned.
struct WatchedFactor {
  static constexpr std::size_t dimension = 256;
  std::vector<std::vector<double>> points;
  std::vector<std::size_t> kept;
  Factor factor;
  std::mt19937 random{62};

  WatchedFactor(const Level& level, std::size_t n) : factor(level) {
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < n; ++i) {
      points.emplace_back(dimension);
      for (double& x : points.back()) x = normal(random) / 16.0;
    }
  }

  // A further point, x times one plus y times another; returns its number.
  std::size_t combine(double x, std::size_t i, double y, std::size_t j) {
    std::vector<double> point(dimension);
    for (std::size_t f = 0; f < dimension; ++f) point[f] = x * points[i][f] + y * points[j][f];
    points.push_back(point);
    return points.size() - 1;
  }

  double value(std::size_t i, std::size_t j) const {
    double sum = 0.0;
    for (std::size_t f = 0; f < dimension; ++f) sum += points[i][f] * points[j][f];
    return sum;
  }

  std::vector<char> append(const std::vector<std::size_t>& which) {
    std::vector<double> with_kept(kept.size() * Factor::group, 0.0);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      for (std::size_t g = 0; g < which.size(); ++g) with_kept[k * Factor::group + g] = value(kept[k], which[g]);
    }
    const std::vector<char> taken = factor.append(
        std::move(with_kept), which.size(), [&](std::size_t g, std::size_t h) { return value(which[g], which[h]); });
    for (std::size_t g = 0; g < which.size(); ++g) {
      if (taken[g]) kept.push_back(which[g]);
    }
    return taken;
  }

  void remove(std::size_t place) {
    factor.remove(place);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // A^-1 (A x) = x, x at random: where A is well conditioned, L L' = A to the same accuracy.
  bool solves() {
    if (factor.size() != kept.size()) return false;
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> x(kept.size()), b(kept.size());
    for (double& entry : x) entry = uniform(random);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      for (std::size_t j = 0; j < kept.size(); ++j) b[i] += value(kept[i], kept[j]) * x[j];
    }
    factor.solve(b.data());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!close(b[i], x[i], 1e-10)) return false;
    }
    return true;
  }
};

void test_factor(const Level& level) {
  WatchedFactor watched(level, 30);
  check(watched.solves(), "nothing");
  check(watched.append({}).empty() && watched.solves(), "nothing new");
  check(watched.append({0}) == std::vector<char>{1} && watched.solves(), "one");
  check(watched.append({1, 2, 3, 4, 5, 6, 7, 8}) == std::vector<char>(8, 1) && watched.solves(), "a whole group");
  check(watched.append({9, 10, 11}) == std::vector<char>(3, 1) && watched.solves(), "a part of one");
  watched.remove(0);
  check(watched.solves(), "without the first");
  watched.remove(5);
  check(watched.solves(), "without one in the middle");
  watched.remove(watched.kept.size() - 1);
  check(watched.solves(), "without the last");
  check(watched.append({0, 11}) == std::vector<char>(2, 1) && watched.solves(), "again");
  while (!watched.kept.empty()) watched.remove(watched.kept.size() / 2);
  check(watched.solves(), "without any");
  check(watched.append({3}) == std::vector<char>{1} && watched.solves(), "one after none");
}

// Rows that depend on others would have a pivot of rounding errors, and the solution be made of them.
void test_factor_leaves_dependent_rows_out(const Level& level) {
  WatchedFactor watched(level, 12);
  const std::size_t zero = watched.combine(0.0, 0, 0.0, 0), copy = watched.combine(1.0, 1, 0.0, 1);
  const std::size_t copy_within = watched.combine(1.0, 4, 0.0, 4), sum = watched.combine(2.0, 0, -1.0, 4);
  check(watched.append({0, 1, 2}) == std::vector<char>({1, 1, 1}));
  check(watched.append({zero, 3, copy, 4, copy_within, sum, 5}) == std::vector<char>({0, 1, 0, 1, 0, 0, 1}),
        "of those before and of the same group");
  check(watched.kept == std::vector<std::size_t>({0, 1, 2, 3, 4, 5}) && watched.solves());
  watched.remove(1);
  check(watched.append({copy}) == std::vector<char>{1} && watched.solves(), "the copy in place of what has left");
  // Squared distances from the span of the others, over the squared norm: far above rounding, and within it.
  const std::size_t near = watched.combine(1.0, 2, 1e-3, 6), too_near = watched.combine(1.0, 3, 1e-6, 7);
  check(watched.append({near, too_near}) == std::vector<char>({1, 0}), "nearly dependent");
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  Factor factor(level);
  const auto only = [&](double diagonal) {
    return factor.append({}, 1, [=](std::size_t, std::size_t) { return diagonal; })[0];
  };
  check(!only(-1.0) && !only(not_a_number) && factor.size() == 0, "no square root of these");
}

void test_factor_after_many_changes(const Level& level) {
  WatchedFactor watched(level, 50);
  std::vector<std::size_t> which;
  bool good = true;
  for (int change = 0; change < 2000; ++change) {
    if (watched.random() % 5 == 0) {
      which.clear();
      for (std::size_t tries = watched.random() % (2 * Factor::group); tries > 0; --tries) {
        const std::size_t i = watched.random() % watched.points.size();
        const auto is_in = [i](const std::vector<std::size_t>& list) {
          return std::find(list.begin(), list.end(), i) != list.end();
        };
        if (which.size() < Factor::group && !is_in(which) && !is_in(watched.kept)) which.push_back(i);
      }
      good = good && watched.append(which) == std::vector<char>(which.size(), 1);
    } else if (!watched.kept.empty()) {
      watched.remove(watched.random() % watched.kept.size());
    }
    if (change % 20 == 0) good = good && watched.solves();
  }
  check(good && watched.solves(), "rounding does not add up");
}

// Sizes around those of strips, and more than a stretch of columns. Below the diagonal there is what must not be read.
void test_symmetric_product(const Level& level) {
  std::mt19937 random(71);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const std::size_t n : {0, 1, 3, 7, 8, 9, 15, 16, 17, 40, 257, 2100}) {
    std::vector<double> K(n * n, std::numeric_limits<double>::quiet_NaN());
    std::vector<BlockRow> v(n), product(n), again(n), expected(n);
    for (BlockRow& row : v) {
      for (double& value : row.values) value = uniform(random);
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) {
        K[i * n + j] = uniform(random);
        for (std::size_t k = 0; k < block_width; ++k) {
          expected[i].values[k] += K[i * n + j] * v[j].values[k];
          if (j > i) expected[j].values[k] += K[i * n + j] * v[i].values[k];
        }
      }
    }
    Team alone(1), three(3);
    symmetric_product(level, K.data(), n, v.data(), alone, product.data());
    symmetric_product(level, K.data(), n, v.data(), three, again.data());
    bool good = true, same = true;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < block_width; ++k) {
        good = good && std::abs(product[i].values[k] - expected[i].values[k]) < 1e-13 * double(n);
        same = same && product[i].values[k] == again[i].values[k];
      }
    }
    check(good, std::string(level.name) + " symmetric product " + std::to_string(n));
    check(same, "the same for any number of threads " + std::to_string(n));
  }
}

}  // namespace

void run_algebra_tests() {
  for (const Level* level : supported_levels()) {
    test_algebra(*level);
    test_symmetric_product(*level);
    test_factor(*level);
    test_factor_leaves_dependent_rows_out(*level);
    test_factor_after_many_changes(*level);
  }
}

}  // namespace mercer::tests

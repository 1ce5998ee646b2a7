// Linear machines: products with rows, Newton's step, and descent in the dual.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "mercer/dual.hpp"
#include "mercer/level.hpp"
#include "mercer/linear.hpp"
#include "mercer/linear_dual.hpp"
#include "mercer/matrix.hpp"
#include "mercer/parallel.hpp"
#include "mercer/stop.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// The same random rows, dense or sparse, in T.
template <class T>
struct LinearData {
  std::vector<double> full;
  std::vector<T> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};
  Samples samples;

  LinearData(std::size_t n, std::size_t d, bool sparse) : full(n * d, 0.0) {
    std::mt19937 random(static_cast<unsigned>(n + d));
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        if (sparse && random() % 3 != 0) continue;
        full[i * d + j] = normal(random);
        if (!sparse) continue;
        values.push_back(T(full[i * d + j]));
        columns.push_back(static_cast<std::int32_t>(j));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    if (!sparse) values.assign(full.begin(), full.end());
    const Precision precision = sizeof(T) == sizeof(double) ? Precision::full : Precision::single;
    samples = {values.data(), columns.data(), starts.data(), n, d, precision, sparse};
  }
};

template <class T>
void test_linear_map(const Level& level, bool sparse) {
  for (const auto& [n, d] : {std::pair<std::size_t, std::size_t>{1, 1}, {7, 3}, {70, 33}, {300, 17}}) {
    const LinearData<T> data(n, d, sparse);
    const LinearMap map(level, data.samples);
    std::vector<std::int64_t> some;
    for (std::size_t i = 0; i < n; i += 2) some.push_back(static_cast<std::int64_t>(i));
    for (const bool all : {true, false}) {
      const RowChoice rows{data.samples, all ? nullptr : some.data(), all ? n : some.size()};
      std::vector<double> w(d), c(rows.n), products(rows.n), sums(d), moments(d * d), squares(d);
      for (std::size_t j = 0; j < d; ++j) w[j] = std::sin(static_cast<double>(j));
      for (std::size_t k = 0; k < rows.n; ++k) c[k] = std::cos(static_cast<double>(k));
      for (const std::size_t threads : {1, 3}) {
        Team team(threads);
        map.products(rows, w.data(), team, products.data());
        map.sums(rows, c.data(), team, sums.data());
        map.moments(rows, c.data(), team, moments.data());
        map.squares(rows, c.data(), squares.data());
        std::vector<double> expected_sums(d, 0.0), expected_moments(d * d, 0.0);
        for (std::size_t k = 0; k < rows.n; ++k) {
          const double* x = data.full.data() + rows[k] * d;
          double product = 0.0;
          for (std::size_t i = 0; i < d; ++i) {
            product += x[i] * w[i];
            expected_sums[i] += c[k] * x[i];
            for (std::size_t j = 0; j < d; ++j) expected_moments[i * d + j] += c[k] * x[i] * x[j];
          }
          check(close(products[k], product, 1e-12), "x . w");
        }
        for (std::size_t i = 0; i < d; ++i) {
          check(close(sums[i], expected_sums[i], 1e-12), "X' c");
          check(close(squares[i], expected_moments[i * d + i], 1e-12), "diagonal of X' C X");
          for (std::size_t j = 0; j < d; ++j) {
            check(close(moments[i * d + j], expected_moments[i * d + j], 1e-12), "X' C X");
          }
        }
      }
    }
  }
}

void test_newton_step(const Level& level) {
  // (I + 0.5 u u', u; u', 4) for u = (1, 2): by hand.
  const std::vector<double> moments{0.5, 1.0, 1.0, 2.0}, border{1.0, 2.0}, right{1.0, 0.0, 2.0};
  const std::vector<double> x = newton_step(level.algebra, moments.data(), border.data(), 4.0, right.data(), 2);
  check(close(1.5 * x[0] + 1.0 * x[1] + 1.0 * x[2], 1.0, 1e-12), "first row");
  check(close(1.0 * x[0] + 3.0 * x[1] + 2.0 * x[2], 0.0, 1e-12), "second row");
  check(close(1.0 * x[0] + 2.0 * x[1] + 4.0 * x[2], 2.0, 1e-12), "border");
}

// Descent on the plane between -1 and 1 (twice each): w = 1, b = 0, and a sums to w.
void test_dual_descent(const Level& level) {
  const std::vector<double> values{-1.0, 1.0, -1.0, 1.0}, sign{-1.0, 1.0, -1.0, 1.0}, linear(4, -1.0), upper(4, 10.0);
  const std::vector<double> zeros(4, 0.0);
  const std::vector<std::int64_t> index{0, 1, 2, 3};
  const Samples samples{values.data(), nullptr, nullptr, 4, 1, Precision::full, false};
  const LinearMap map(level, samples);
  const DualView view{
      4, 4, index.data(), sign.data(), linear.data(), upper.data(), zeros.data(), zeros.data(), Equality::total};
  DescentOptions options;
  options.tol = 1e-9;
  options.equality = true;
  const Watch watch(infinity, {}, {});
  const DescentResult result = DualDescent(map, view, options, 1).run(watch);
  double w = 0.0, total = 0.0;
  for (std::size_t i = 0; i < 4; ++i) {
    w += sign[i] * result.a[i] * values[i];
    total += sign[i] * result.a[i];
  }
  check(result.settled && close(w, 1.0, 1e-7) && std::abs(total) < 1e-7 && std::abs(result.offset) < 1e-6,
        "the plane between -1 and 1");
  options.max_epochs = 1;
  check(DualDescent(map, view, options, 1).run(watch).epochs == 1, "one epoch");
}

}  // namespace

void run_linear_tests() {
  for (const Level* level : supported_levels()) {
    for (const bool sparse : {false, true}) {
      test_linear_map<float>(*level, sparse);
      test_linear_map<double>(*level, sparse);
    }
    test_newton_step(*level);
    test_dual_descent(*level);
  }
}

}  // namespace mercer::tests

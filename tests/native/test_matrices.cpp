// Symmetric matrices that are given: their sums and their energies.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/level.hpp"
#include "mercer/matrices.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// What is above the diagonal is no number: nobody may read it.
template <class T>
std::vector<std::vector<T>> some_matrices(std::size_t n, std::size_t count) {
  std::vector<std::vector<T>> matrices(count, std::vector<T>(n * n, std::numeric_limits<T>::quiet_NaN()));
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) matrices[k][i * n + j] = T(std::cos(double((k + 2) * i + 3 * j)));
    }
  }
  return matrices;
}

template <class T>
void test_matrices(const Level& level, std::size_t n, std::size_t count) {
  const auto matrices = some_matrices<T>(n, count);
  std::vector<const T*> pointers;
  std::vector<double> weights;
  for (std::size_t k = 0; k < count; ++k) {
    pointers.push_back(matrices[k].data());
    weights.push_back(0.5 + double(k));
  }
  Team one(1), three(3);
  std::vector<double> sum(n * n, -1.0);
  std::vector<float> single(n * n, -1.0f);
  sum_matrices(level, pointers, weights.data(), n, one, sum.data());
  sum_matrices(level, pointers, weights.data(), n, three, single.data());
  bool good = true;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double wanted = 0.0;
      for (std::size_t k = 0; k < count; ++k) wanted += weights[k] * double(matrices[k][i * n + j]);
      good = good && close(sum[i * n + j], wanted, 1e-13) && sum[j * n + i] == sum[i * n + j];
      good = good && single[i * n + j] == float(sum[i * n + j]) && single[j * n + i] == single[i * n + j];
    }
  }
  check(good, "sums of matrices of " + std::to_string(n));

  std::vector<double> coefficients(2 * n);
  for (std::size_t e = 0; e < 2 * n; ++e) coefficients[e] = std::sin(double(e));
  const std::vector<double> energies = matrix_energies(level, pointers, coefficients.data(), 2, n, one);
  check(energies == matrix_energies(level, pointers, coefficients.data(), 2, n, three), "energies by threads");
  for (std::size_t k = 0; k < count; ++k) {
    double wanted = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double product = coefficients[i] * coefficients[j] + coefficients[n + i] * coefficients[n + j];
        wanted += (i == j ? 0.5 : 1.0) * product * double(matrices[k][i * n + j]);
      }
    }
    check(close(energies[k], wanted, 1e-10 * std::sqrt(double(n))), "energies of matrices of " + std::to_string(n));
  }
}

}  // namespace

void run_matrices_tests() {
  for (const Level* level : supported_levels()) {
    for (const std::size_t n : {1, 16, 45, 100}) {
      test_matrices<float>(*level, n, 5);
      test_matrices<double>(*level, n, 3);
    }
    test_matrices<float>(*level, 2100, 2);  // more columns than a tile has
  }
}

}  // namespace mercer::tests

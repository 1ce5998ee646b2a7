// A pass over the kernel values of samples with landmarks, against sums over a matrix that is written down.
#include <cstddef>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/landmarks.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

struct Passed {
  std::vector<double> values, sums;
};

template <class T>
Passed pass(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& z, std::size_t k,
            const std::vector<double>& v, const double* scale, const double* shift, std::size_t n_threads) {
  Passed found{std::vector<double>(x.rows * k), std::vector<double>(k * z.rows)};
  Team team(n_threads);
  landmark_pass<T>(spec, level, x, z, team,
                   LandmarkPass{k, v.data(), scale, shift, found.values.data(), found.sums.data()});
  return found;
}

// f = K v and K' (scale f + shift), for sizes around those of strips, tiles and groups of rows.
template <class T>
void test_sums(const Level& level, double tolerance) {
  for (const auto [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {33, 64}, {95, 130}, {700, 3}, {0, 5}, {5, 0}}) {
    const std::size_t k = 2;
    const Table<double> x(n, 4, 21), z(m, 4, 22), numbers(n + m + 1, k, 23);
    std::vector<double> v(k * m), scale(n), shift(n * k);
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t c = 0; c < k; ++c) v[c * m + j] = numbers.dense[j * k + c] + 0.25;
    }
    for (std::size_t i = 0; i < n; ++i) {
      scale[i] = numbers.dense[i * k] - 0.5;
      for (std::size_t c = 0; c < k; ++c) shift[i * k + c] = numbers.dense[i * k + c] + 1.0;
    }
    const KernelSpec spec = gaussian(0.3);
    for (const bool sparse : {false, true}) {
      for (const bool plain : {false, true}) {
        const Passed found = pass<T>(spec, level, x.view(sparse), z.view(sparse), k, v, plain ? nullptr : scale.data(),
                                     plain ? nullptr : shift.data(), 2);
        bool good = true;
        std::vector<double> sums(k * m, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t c = 0; c < k; ++c) {
            double f = 0.0;
            for (std::size_t j = 0; j < m; ++j) f += scalar_kernel(spec, x, i, z, j) * v[c * m + j];
            good = good && close(found.values[i * k + c], f, tolerance);
            const double back = plain ? f : scale[i] * f + shift[i * k + c];
            for (std::size_t j = 0; j < m; ++j) sums[c * m + j] += back * scalar_kernel(spec, x, i, z, j);
          }
        }
        for (std::size_t at = 0; at < sums.size(); ++at) good = good && close(found.sums[at], sums[at], tolerance);
        check(good, std::string(level.name) + (sparse ? " sparse " : " dense ") + std::to_string(n) + " x " +
                        std::to_string(m) + (plain ? " plain" : ""));
      }
    }
  }
}

// Sums over the samples are kept by groups of fixed rows.
template <class T>
void test_any_threads(const Level& level) {
  const Table<double> x(5000, 3, 24), z(20, 3, 25);
  const std::vector<double> v(20, 0.1);
  const Passed one = pass<T>(gaussian(0.7), level, x.view(false), z.view(false), 1, v, nullptr, nullptr, 1);
  for (const std::size_t n_threads : {2, 3}) {
    const Passed more = pass<T>(gaussian(0.7), level, x.view(false), z.view(false), 1, v, nullptr, nullptr, n_threads);
    check(one.values == more.values && one.sums == more.sums, "threads");
  }
}

}  // namespace

void run_landmarks_tests() {
  for (const Level* level : supported_levels()) {
    test_sums<double>(*level, 1e-10);
    test_sums<float>(*level, 1e-4);
    test_any_threads<double>(*level);
    test_any_threads<float>(*level);
  }
}

}  // namespace mercer::tests

// Sparse features: sorted and added up, and matrices of what samples have in common.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/features.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

struct Owned {
  std::vector<std::uint64_t> keys;
  std::vector<double> values;
  std::vector<std::int64_t> starts{0};

  SparseFeatures view() const { return {keys.data(), values.data(), starts.data(), starts.size() - 1}; }
};

// Samples with about `size` features out of `different` ones, their values multiples of `unit`; some have none.
// Features come in runs of `run`, which a sample has all of, or nearly all.
Owned random_features(std::size_t rows, std::size_t size, std::uint64_t different, double unit, std::uint64_t run,
                      unsigned seed) {
  std::mt19937_64 rng(seed);
  Owned samples;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::uint64_t> keys;
    for (std::size_t e = 0; e < (i % 7 == 3 ? 0 : size); ++e) {
      const std::uint64_t first = (rng() % different * run) << (rng() % 2 * 40);
      for (std::uint64_t key = first; key < first + run; ++key) {
        if (run == 1 || rng() % 200 > 0) keys.push_back(key);
      }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const std::uint64_t key : keys) {
      samples.keys.push_back(key);
      samples.values.push_back(unit * static_cast<double>(1 + rng() % 9));
    }
    samples.starts.push_back(static_cast<std::int64_t>(samples.keys.size()));
  }
  return samples;
}

template <class Join>
double naive(const SparseFeatures& x, std::size_t i, const SparseFeatures& y, std::size_t j) {
  double sum = 0.0;
  for (std::size_t a = x.first(i); a < x.first(i + 1); ++a) {
    for (std::size_t b = y.first(j); b < y.first(j + 1); ++b) {
      if (x.keys[a] == y.keys[b]) sum += Join::join(x.values[a], y.values[b]);
    }
  }
  return sum;
}

template <class Join>
void test_matrix(std::size_t n, std::size_t m, std::size_t size, std::uint64_t different, double unit = 0.25,
                 std::uint64_t run = 1) {
  const Owned xs = random_features(n, size, different, unit, run, 1);
  const Owned ys = random_features(m, size, different, unit, run, 2);
  const SparseFeatures x = xs.view(), y = ys.view();
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    std::vector<double> cross(n * m), square(n * n), diagonal(n);
    features_matrix<Join>(x, y, false, team, cross.data());
    features_matrix<Join>(x, x, true, team, square.data());
    features_diagonal<Join>(x, diagonal.data());
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) right = right && cross[i * m + j] == naive<Join>(x, i, y, j);
      for (std::size_t j = 0; j < n; ++j) right = right && square[i * n + j] == naive<Join>(x, i, x, j);
      right = right && diagonal[i] == square[i * n + i];
    }
    check(right);
  }
}

void test_collect() {
  Owned samples;
  samples.keys = {7, 3, 7, 1, 9, 9, 9};
  samples.values = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::int64_t> starts{0, 4, 4, 7};
  std::vector<std::int64_t> sizes(3);
  Team team(2);
  collect_features(samples.keys.data(), samples.values.data(), starts.data(), 3, team, sizes.data());
  check(sizes == std::vector<std::int64_t>{3, 0, 1});
  check(samples.keys[0] == 1 && samples.keys[1] == 3 && samples.keys[2] == 7 && samples.keys[4] == 9);
  check(samples.values[0] == 4 && samples.values[1] == 2 && samples.values[2] == 4 && samples.values[4] == 18);
}

}  // namespace

void run_features_tests() {
  test_collect();
  for (const double unit : {0.25, 1.0, -1.0, 1000.0, 1001.0, 3e7}) {  // sums in double, in float, beyond float
    test_matrix<ByProduct>(150, 210, 20, 50, unit);                   // many in common
    test_matrix<ByMinimum>(90, 65, 30, 1u << 20, unit);               // hardly any in common
  }
  test_matrix<ByProduct>(70, 300, 900, 1500);    // several chunks of ranks
  test_matrix<ByProduct>(70, 4500, 5, 40, 1.0);  // several blocks of samples
  test_matrix<ByMinimum>(4300, 33, 2, 9, 0.25);
  test_matrix<ByProduct>(60, 75, 6, 8, 0.25, 9);  // many that the same samples have
  test_matrix<ByMinimum>(75, 60, 6, 8, 0.25, 9);
  test_matrix<ByProduct>(1, 1, 3, 2);
  test_matrix<ByProduct>(0, 5, 3, 2);
}

}  // namespace mercer::tests

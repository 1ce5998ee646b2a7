// The inner loops of every level against scalar ones, and the choice of a level.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/kernels.hpp"
#include "mercer/level.hpp"
#include "mercer/matrix.hpp"
#include "mercer/rows.hpp"
#include "samples.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

void test_levels() {
  const auto levels = supported_levels();
  check(!levels.empty() && levels.front()->name == "baseline");
  check(&find_level("") == levels.back());
  for (const Level* level : levels) check(&find_level(level->name) == level);
  check(throws<std::invalid_argument>([] { find_level("avx1024"); }));
}

template <class T>
void test_solver_loops(const Level& level) {
  std::mt19937 random(13);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 16, 31, 64, 100}) {
    std::vector<T> first(n), second(n);
    std::vector<double> up(n), low(n), f(n), curvature(n), sum(n, 0.5);
    for (std::size_t c = 0; c < n; ++c) {
      first[c] = T(uniform(random));
      second[c] = T(uniform(random));
      f[c] = uniform(random);
      curvature[c] = 2.0 + uniform(random);
      up[c] = c % 3 == 0 ? -infinity : uniform(random);
      low[c] = c % 4 == 1 ? infinity : uniform(random);
    }
    std::vector<double> expected = f;
    for (std::size_t c = 0; c < n; ++c) expected[c] += 0.75 * (double(first[c]) - double(second[c]));
    Candidate largest, smallest;
    level.loops<T>().update_and_extremes(0.75, first.data(), second.data(), up.data(), low.data(), n, f.data(),
                                         &largest, &smallest);
    Candidate most{-infinity, SIZE_MAX}, least{infinity, SIZE_MAX};
    bool moved = true;
    for (std::size_t c = 0; c < n; ++c) {
      moved = moved && close(f[c], expected[c], 1e-15);
      if (up[c] - f[c] > most.value) most = {up[c] - f[c], c};
      if (low[c] - f[c] < least.value) least = {low[c] - f[c], c};
    }
    check(moved, "step");
    check(largest.position == most.position && largest.value == most.value, "largest");
    check(smallest.position == least.position && smallest.value == least.value, "smallest");

    const double v = 0.5;
    Candidate partner{0.0, SIZE_MAX};
    for (std::size_t c = 0; c < n; ++c) {
      const double difference = v - (low[c] - f[c]), eta = 1.5 + curvature[c] - 2.0 * double(first[c]);
      if (difference > 0.0 && difference * difference / eta > partner.value * (1 + 1e-12))
        partner = {difference * difference / eta, c};
    }
    const Candidate found =
        level.loops<T>().best_partner(v, 1.5, first.data(), curvature.data(), low.data(), f.data(), n);
    check(found.position == partner.position && close(found.value, partner.value, 1e-12), "partner");

    const double weights[] = {-2.0, 0.25, 0.0, 1.0};
    const T* const rows[] = {first.data(), second.data(), first.data(), second.data()};
    level.loops<T>().accumulate(weights, rows, n, sum.data());
    bool added = true;
    for (std::size_t c = 0; c < n; ++c) {
      const double expected_sum = 0.5 - 2.0 * double(first[c]) + 1.25 * double(second[c]);
      added = added && close(sum[c], expected_sum, sizeof(T) == sizeof(double) ? 1e-14 : 1e-5);
    }
    check(added, "accumulate");
  }
  // Ties go to the first position, so that all levels take the same steps.
  std::vector<T> zeros(40, T(0));
  std::vector<double> same(40, 1.0), f(40, 0.0), none(40, -infinity), never(40, infinity);
  Candidate largest, smallest;
  const auto extremes = level.loops<T>().update_and_extremes;
  extremes(0.0, zeros.data(), zeros.data(), same.data(), same.data(), 40, f.data(), &largest, &smallest);
  check(largest.position == 0 && smallest.position == 0, "ties");
  extremes(0.0, zeros.data(), zeros.data(), none.data(), never.data(), 40, f.data(), &largest, &smallest);
  check(largest.value == -infinity && smallest.value == infinity, "nobody");
  extremes(0.0, zeros.data(), zeros.data(), none.data(), never.data(), 0, f.data(), &largest, &smallest);
  check(largest.value == -infinity && smallest.value == infinity, "nothing");
}

// Four rows and one panel, with everything a tile may ask for. Values are not negative: they suit every measure.
template <class T>
struct TileInput {
  static constexpr std::size_t width = panel_width<T>;
  std::vector<T> values, panel, norms = std::vector<T>(width), row_norms = std::vector<T>(tile_rows);
  const T* rows[tile_rows];
  std::size_t features;

  TileInput(std::size_t d, unsigned seed) : values(tile_rows * d), panel(width * d), features(d) {
    std::mt19937 random(seed);
    for (T& value : values) value = T(random() % 17) / T(8);
    for (T& value : panel) value = T(random() % 17) / T(8);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      rows[r] = values.data() + r * d;
      for (std::size_t f = 0; f < d; ++f) row_norms[r] += rows[r][f] * rows[r][f];
    }
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t f = 0; f < d; ++f) norms[c] += panel[f * width + c] * panel[f * width + c];
    }
  }
};

// A tile that is used up at once gives the sums of one that was stored, to the last bit: rows that are kept and rows
// that are made again can take each other's place.
template <class T>
void test_tiles_used_up_at_once(const Level& level) {
  constexpr std::size_t width = panel_width<T>;
  const Loops<T>& loops = level.loops<T>();
  const double coefficients[] = {-2.0, 0.3, 0.0, 1e3};
  std::vector<double> weights(width);
  for (std::size_t c = 0; c < width; ++c) weights[c] = std::sin(double(c)) / 3.0;
  const auto at_once = [&](const KernelSpec& spec, const std::string& what) {
    const TileInput<T> in(11, 71);
    std::vector<T> tile(tile_rows * width);
    loops.dense_tile(spec, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(), in.features, tile.data());
    const T* const stored[] = {tile.data(), tile.data() + width, tile.data() + 2 * width, tile.data() + 3 * width};
    bool same = true;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, width - 1, width}) {
      std::vector<double> expected(n, 0.1), sum(n, 0.1);
      loops.accumulate(coefficients, stored, n, expected.data());
      loops.add_dense_tile(spec, coefficients, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(),
                           in.features, n, sum.data());
      same = same && sum == expected;
    }
    check(same, "sums " + what);
    std::vector<double> expected(width, 0.1), sum(width, 0.1), row_sums(tile_rows * row_sum_width, 0.2);
    std::vector<double> expected_rows = row_sums;
    loops.accumulate(coefficients, stored, width, expected.data());
    for (std::size_t r = 0; r < tile_rows; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        expected_rows[r * row_sum_width + c % row_sum_width] += weights[c] * double(stored[r][c]);
      }
    }
    loops.add_dense_tile_both_ways(spec, coefficients, in.rows, in.row_norms.data(), in.panel.data(), in.norms.data(),
                                   in.features, weights.data(), sum.data(), row_sums.data());
    check(sum == expected, "both ways, down the columns " + what);
    bool good = true;
    for (std::size_t k = 0; k < row_sums.size(); ++k) good = good && close(row_sums[k], expected_rows[k], 1e-13);
    check(good, "both ways, along the rows " + what);
  };
  for (const Measure measure : measures) {
    for (const Transform transform : transforms) {
      const std::string what = std::string(level.name) + " " + std::to_string(static_cast<int>(measure)) + " " +
                               std::to_string(static_cast<int>(transform));
      KernelSpec spec = kernel(measure, transform);
      at_once(spec, what);
      if (transform != Transform::power) continue;
      for (const double degree : {1.0, 2.0, 5.0}) {
        spec.p2 = degree;
        at_once(spec, what + " degree " + std::to_string(degree));
      }
    }
  }
}

// Sums in the order of j, rounded like those of `accumulate` in double: one sample and many have the same values.
template <class T>
void test_dot(const Level& level) {
  std::mt19937 random(72);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (std::size_t n = 0; n <= 40; ++n) {
    for (const std::size_t stride : {1, 3}) {
      std::vector<T> values(n);
      std::vector<double> weights(n * stride);
      for (T& value : values) value = T(uniform(random));
      for (double& weight : weights) weight = uniform(random);
      double naive = 0.0, one_by_one = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        const double value = double(values[j]), zero = 0.0;
        const double four[] = {weights[j * stride], 0.0, 0.0, 0.0};
        const double* const rows[] = {&value, &zero, &zero, &zero};
        level.full.accumulate(four, rows, 1, &one_by_one);
        naive += weights[j * stride] * value;
      }
      const double sum = level.loops<T>().dot(values.data(), weights.data(), stride, n);
      check(close(sum, naive, 1e-14), "the sum");
      check(sum == one_by_one, "to the last bit");
    }
  }
}

template <class T>
void test_sparse_tile(const Level& level) {
  constexpr std::size_t width = panel_width<T>;
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 1e-6;
  std::mt19937 random(73);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const std::size_t d : {1, 2, 3, 16, 17, 50}) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, width - 1, width}) {
      // Row 0 is column 0, so that its distance is known: zero, however the products are rounded.
      std::vector<double> spread(d * spread_rows), columns(d * n), row_norms(spread_rows), norms(n), values;
      std::vector<std::int32_t> features;
      std::vector<std::int64_t> starts{0};
      for (double& x : spread) x = random() % 3 == 0 ? 0.0 : uniform(random);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t f = 0; f < d; ++f) {
          if (j % 3 == 1 || random() % 2 == 0) continue;  // every third column has no entries
          columns[j * d + f] = uniform(random);
          values.push_back(columns[j * d + f]);
          features.push_back(static_cast<std::int32_t>(f));
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
        const double* entries = values.data() + starts[j];
        norms[j] = level.full.dot(entries, entries, 1, static_cast<std::size_t>(starts[j + 1] - starts[j]));
      }
      for (std::size_t f = 0; f < d && n > 0; ++f) spread[f * spread_rows] = columns[f];
      for (std::size_t r = 0; r < spread_rows; ++r) {
        for (std::size_t f = 0; f < d; ++f) row_norms[r] += spread[f * spread_rows + r] * spread[f * spread_rows + r];
      }
      if (n > 0) row_norms[0] = norms[0];
      for (const bool distances : {false, true}) {
        std::vector<T> tile(spread_rows * width, T(-1));
        level.loops<T>().sparse_tile(
            {features.data(), values.data(), starts.data(), distances ? norms.data() : nullptr}, spread.data(),
            row_norms.data(), n, tile.data());
        bool good = true;
        for (std::size_t r = 0; r < spread_rows; ++r) {
          for (std::size_t j = 0; j < n; ++j) {
            double product = 0.0, squared = 0.0;
            for (std::size_t f = 0; f < d; ++f) {
              const double x = spread[f * spread_rows + r], y = columns[j * d + f];
              product += x * y;
              squared += (x - y) * (x - y);
            }
            good = good && close(tile[r * width + j], distances ? squared : product, tolerance);
            good = good && (!distances || tile[r * width + j] >= T(0));
          }
        }
        check(good, std::to_string(d) + " features, " + std::to_string(n) + " columns");
        if (distances && n > 0) check(tile[0] == T(0), "a vector and itself");
      }
    }
  }
}

// The same searches with a state in float32: the same choices, up to its rounding.
void test_quick_search(const Level& level) {
  constexpr float never = std::numeric_limits<float>::infinity();
  std::mt19937 random(74);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<std::size_t> sizes = all_positions(41);
  sizes.push_back(1000);
  for (const std::size_t n : sizes) {
    std::vector<float> first(n), second(n), up(n), low(n), f(n), curvature(n);
    for (std::size_t c = 0; c < n; ++c) {
      first[c] = uniform(random);
      second[c] = uniform(random);
      f[c] = uniform(random);
      curvature[c] = 2.0f + uniform(random);
      up[c] = c % 3 == 0 ? -never : uniform(random);
      low[c] = c % 4 == 1 ? never : uniform(random);
    }
    const std::vector<float> before = f;
    Candidate largest, smallest;
    level.quick.update_and_extremes(0.75, first.data(), second.data(), up.data(), low.data(), n, f.data(), &largest,
                                    &smallest);
    Candidate most{-infinity, SIZE_MAX}, least{infinity, SIZE_MAX};
    bool moved = true;
    for (std::size_t c = 0; c < n; ++c) {
      moved = moved && close(f[c], double(before[c]) + 0.75 * (double(first[c]) - double(second[c])), 1e-6);
      if (up[c] - f[c] > most.value) most = {double(up[c] - f[c]), c};
      if (low[c] - f[c] < least.value) least = {double(low[c] - f[c]), c};
    }
    check(moved, "step");
    check(largest.position == most.position && largest.value == most.value, "largest");
    check(smallest.position == least.position && smallest.value == least.value, "smallest");

    const auto gain = [&](std::size_t c) {
      const double difference = std::max(0.0, 0.5 - (double(low[c]) - double(f[c])));
      return difference * difference / (1.5 + double(curvature[c]) - 2.0 * double(first[c]));
    };
    double best = 0.0;
    for (std::size_t c = 0; c < n; ++c) best = std::max(best, gain(c));
    const Candidate found = level.quick.best_partner(0.5, 1.5, first.data(), curvature.data(), low.data(), f.data(), n);
    check(best > 0.0
              ? found.position < n && gain(found.position) >= (1.0 - 1e-5) * best && close(found.value, best, 1e-5)
              : found.position == SIZE_MAX,
          "partner");
  }
  const std::vector<float> same(40, 1.0f), zeros(40, 0.0f);
  std::vector<float> f(40, 0.0f);
  Candidate largest, smallest;
  level.quick.update_and_extremes(0.0, zeros.data(), zeros.data(), same.data(), same.data(), 40, f.data(), &largest,
                                  &smallest);
  check(largest.position == 0 && smallest.position == 0, "ties");
}

}  // namespace

void run_loops_tests() {
  test_levels();
  for (const Level* level : supported_levels()) {
    test_solver_loops<float>(*level);
    test_solver_loops<double>(*level);
    test_tiles_used_up_at_once<float>(*level);
    test_tiles_used_up_at_once<double>(*level);
    test_dot<float>(*level);
    test_dot<double>(*level);
    test_sparse_tile<float>(*level);
    test_sparse_tile<double>(*level);
    test_quick_search(*level);
  }
}

}  // namespace mercer::tests

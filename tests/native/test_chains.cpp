// Chains of labels: every search against all labellings one by one, features against their sums.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "mercer/chains.hpp"
#include "mercer/level.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// Loops of a level against scalar ones, for all widths around those of vectors.
void test_loops(const Level& level) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> numbers(-8, 8);
  for (std::size_t n = 1; n < 140; ++n) {
    for (const std::size_t rows : {0, 1, 3, 30}) {
      std::vector<double> matrix(rows * n), weights(rows), added(n), sums(n), best(n);
      std::vector<std::int32_t> places(rows);
      for (double& value : matrix) value = numbers(random);
      for (double& value : weights) value = numbers(random);
      for (double& value : added) value = numbers(random);
      for (std::size_t r = 0; r < rows; ++r) places[r] = static_cast<std::int32_t>((7 * r) % rows);
      level.chains.sum_of_rows(weights.data(), places.data(), rows, matrix.data(), n, sums.data());
      level.chains.best_of_rows(weights.data(), rows, matrix.data(), n, added.data(), best.data());
      bool good = true;
      for (std::size_t c = 0; c < n; ++c) {
        double sum = 0.0, largest = -infinity;
        for (std::size_t r = 0; r < rows; ++r) {
          sum += weights[r] * matrix[static_cast<std::size_t>(places[r]) * n + c];
          largest = std::max(largest, weights[r] + matrix[r * n + c]);
        }
        good = good && sums[c] == sum && best[c] == added[c] + largest;
      }
      check(good, level.name);
    }
    if (n % chain_pad != 0) continue;
    std::vector<double> x(n), y(n);
    for (double& value : x) value = numbers(random);
    for (double& value : y) value = numbers(random);
    Candidate best{x[0] + y[0], 0};
    for (std::size_t k = 1; k < n; ++k) {
      if (x[k] + y[k] > best.value) best = {x[k] + y[k], k};
    }
    const Candidate found = level.chains.best_sum(x.data(), y.data(), n);
    check(found.value == best.value && found.position == best.position, level.name);
    std::fill(x.begin(), x.end(), std::numeric_limits<double>::quiet_NaN());
    check(level.chains.best_sum(x.data(), y.data(), n).position < n, level.name);
  }
}

struct Problem {
  ChainLayout layout;
  std::vector<double> rows, w;
  std::vector<std::int32_t> right;

  Problem(std::size_t length, std::size_t labels, unsigned seed)
      : layout{2, labels}, rows(length * 2), w(layout.size()), right(length) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> numbers(-6, 6);  // sums are exact, and ties are frequent
    for (double& value : rows) value = numbers(random);
    for (double& value : w) value = numbers(random) / 4.0;
    for (std::int32_t& label : right) {
      label = static_cast<std::int32_t>(static_cast<std::size_t>(numbers(random) + 6) % labels);
    }
  }

  Samples samples() const { return {rows.data(), nullptr, nullptr, right.size(), 2, Precision::full, false}; }

  double score(const std::vector<std::int32_t>& y) const {
    const std::size_t n = layout.labels;
    const auto label = [&](std::size_t t) { return static_cast<std::size_t>(y[t]); };
    double sum = w[layout.first() + label(0)] + w[layout.last() + label(y.size() - 1)];
    for (std::size_t t = 0; t < y.size(); ++t) {
      sum += rows[2 * t] * w[label(t)] + rows[2 * t + 1] * w[n + label(t)];
      if (t > 0) sum += w[layout.transition() + label(t - 1) * n + label(t)];
    }
    return sum;
  }

  double worth(const std::vector<std::int32_t>& y, ChainSearch search) const {
    double errors = 0.0;
    for (std::size_t t = 0; t < y.size(); ++t) errors += y[t] != right[t] ? 1.0 : 0.0;
    switch (search) {
      case ChainSearch::best:
        return score(y);
      case ChainSearch::margin:
        return score(y) + errors;
      case ChainSearch::slack:
        return errors * (1.0 + score(y) - score(right));
      default:
        return score(y) + std::min(errors, 1.0);
    }
  }
};

// The next labelling as a number with a digit for every place; false after the last one.
bool next(std::vector<std::int32_t>& y, std::size_t labels) {
  for (std::int32_t& digit : y) {
    if (static_cast<std::size_t>(++digit) < labels) return true;
    digit = 0;
  }
  return false;
}

void test_searches() {
  const std::vector<std::int64_t> starts{0};
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::size_t length = 1 + seed % 5, labels = 1 + seed % 4;
    const Problem problem(length, labels, seed);
    const std::vector<std::int64_t> lengths{static_cast<std::int64_t>(length)};
    for (const ChainSearch search :
         {ChainSearch::best, ChainSearch::margin, ChainSearch::slack, ChainSearch::another}) {
      std::vector<std::int32_t> y(length, 0), found(length, -1);
      double best = -infinity;
      do best = std::max(best, problem.worth(y, search));
      while (next(y, labels));
      Team team(1);
      chain_paths(find_level(""), problem.samples(), problem.layout, problem.w.data(),
                  {starts.data(), lengths.data(), 1}, search,
                  search == ChainSearch::best ? nullptr : problem.right.data(), team, found.data());
      check(problem.worth(found, search) == best, "seed " + std::to_string(seed));
    }
  }
}

void test_features() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::size_t length = 1 + seed % 6, labels = 1 + seed % 3;
    const Problem problem(length, labels, seed), other(length, labels, seed + 100);
    ChainFeatures features(problem.samples(), problem.layout);
    features.add(0, length, problem.right.data(), other.right.data());
    double product = 0.0;
    for (std::size_t e = 0; e < features.values.size(); ++e) {
      check(features.values[e] != 0.0 && (e == 0 || features.columns[e - 1] < features.columns[e]));
      product += features.values[e] * problem.w[static_cast<std::size_t>(features.columns[e])];
    }
    check(product == problem.score(problem.right) - problem.score(other.right));

    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};
    for (std::size_t t = 0; t < length; ++t) {
      columns.insert(columns.end(), {0, 1});
      starts.push_back(starts.back() + 2);
    }
    const Samples sparse{problem.rows.data(), columns.data(), starts.data(), length, 2, Precision::full, true};
    ChainFeatures same(sparse, problem.layout);
    same.add(0, length, problem.right.data(), other.right.data());
    check(same.values == features.values && same.columns == features.columns && same.ends == features.ends);
  }
}

}  // namespace

void run_chains_tests() {
  for (const Level* level : supported_levels()) test_loops(*level);
  test_searches();
  test_features();
}

}  // namespace mercer::tests

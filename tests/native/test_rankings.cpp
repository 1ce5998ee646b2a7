// Rankings: pairs of items in different order, against all pairs one by one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/parallel.hpp"
#include "mercer/rankings.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

std::vector<std::int64_t> random_rankings(std::size_t rows, std::size_t items, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::int64_t> ranks(rows * items);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(i * items);
    std::iota(first, first + static_cast<std::ptrdiff_t>(items), 0);
    std::shuffle(first, first + static_cast<std::ptrdiff_t>(items), rng);
  }
  return ranks;
}

double by_all_pairs(const std::int64_t* a, const std::int64_t* b, std::size_t items) {
  double count = 0.0;
  for (std::size_t k = 0; k < items; ++k) {
    for (std::size_t l = 0; l < k; ++l) count += (a[k] < a[l]) != (b[k] < b[l]) ? 1.0 : 0.0;
  }
  return count;
}

void test_discordant_pairs() {
  for (const std::size_t items : {0, 1, 2, 63, 64, 65, 130, 200}) {
    const std::vector<std::int64_t> of_x = random_rankings(5, items, 1), of_y = random_rankings(3, items, 2);
    const Rankings x{of_x.data(), 5, items}, y{of_y.data(), 3, items};
    Team team(2);
    std::vector<double> both(15), own(25);
    discordant_pairs(x, y, false, team, both.data());
    discordant_pairs(x, x, true, team, own.data());
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 3; ++j) check(both[i * 3 + j] == by_all_pairs(x.row(i), y.row(j), items));
      for (std::size_t j = 0; j < 5; ++j) check(own[i * 5 + j] == by_all_pairs(x.row(i), x.row(j), items));
    }
  }
}

void test_wrong_pairs() {
  std::mt19937_64 rng(3);
  WrongPairs pairs;
  for (const std::size_t items : {0, 1, 2, 7, 40}) {
    for (const double margin : {0.0, 0.5, 1.0}) {
      for (const bool closed : {false, true}) {
        std::vector<double> scores(items);
        std::vector<std::int64_t> levels(items), net(items), by_one(items, 0);
        for (std::size_t k = 0; k < items; ++k) {
          scores[k] = 0.25 * static_cast<double>(rng() % 9);  // with ties
          levels[k] = static_cast<std::int64_t>(rng() % std::min<std::size_t>(items, 4));
        }
        std::int64_t total = 0;
        for (std::size_t i = 0; i < items; ++i) {
          for (std::size_t j = 0; j < items; ++j) {
            const double ahead = scores[i] - scores[j];
            if (levels[i] <= levels[j] || !(ahead < margin || (closed && ahead == margin))) continue;
            ++total, ++by_one[i], --by_one[j];
          }
        }
        check(pairs.count(scores.data(), levels.data(), items, margin, closed, net.data()) == total);
        check(net == by_one);
      }
    }
  }
}

}  // namespace

void run_rankings_tests() {
  test_discordant_pairs();
  test_wrong_pairs();
}

}  // namespace mercer::tests

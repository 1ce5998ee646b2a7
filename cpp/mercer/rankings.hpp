// Rankings: pairs of items that two of them put in different order, or that scores put in the wrong one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// Row i has the ranks 0 ... items - 1 of all items.
struct Rankings {
  const std::int64_t* ranks = nullptr;
  std::size_t rows = 0, items = 0;

  const std::int64_t* row(std::size_t i) const { return ranks + i * items; }
};

// Numbers below a limit that were added, each once, and how many of them are smaller than another one: bits, and a
// Fenwick tree over the numbers of bits of their words.
class RankSet {
 public:
  explicit RankSet(std::size_t limit) : words_(limit / 64 + 1), counts_(words_.size() + 1) {}

  void clear() {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(counts_.begin(), counts_.end(), 0);
  }
  std::size_t smaller(std::size_t rank) const {
    const std::size_t word = rank / 64;
    std::size_t count = static_cast<std::size_t>(std::popcount(words_[word] & ((std::uint64_t{1} << rank % 64) - 1)));
    for (std::size_t k = word; k > 0; k &= k - 1) count += counts_[k];
    return count;
  }
  void add(std::size_t rank) {
    words_[rank / 64] |= std::uint64_t{1} << rank % 64;
    for (std::size_t k = rank / 64 + 1; k < counts_.size(); k += k & -k) ++counts_[k];
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> counts_;  // counts_[k]: of the words from k - (lowest bit of k) to k - 1
};

// out[i * y.rows + j] = pairs of items in different order, in time O(items log(items)) each: met in the order of the
// one, these are the items that come behind one that the other ranks higher. With `symmetric`, y must be x.
inline void discordant_pairs(const Rankings& x, const Rankings& y, bool symmetric, Team& team, double* out) {
  const std::size_t items = x.items, m = y.rows;
  struct Room {
    RankSet before;
    std::vector<std::size_t> order;  // the items by their rank
  };
  std::vector<Room> rooms(team.size(), Room{RankSet(items), std::vector<std::size_t>(items)});
  team.for_each(x.rows, [&](std::size_t i, std::size_t worker) {
    Room& room = rooms[worker];
    for (std::size_t item = 0; item < items; ++item) room.order[static_cast<std::size_t>(x.row(i)[item])] = item;
    for (std::size_t j = 0; j < (symmetric ? i : m); ++j) {
      room.before.clear();
      std::size_t total = 0;
      for (std::size_t k = 0; k < items; ++k) {
        const std::size_t rank = static_cast<std::size_t>(y.row(j)[room.order[k]]);
        total += k - room.before.smaller(rank);
        room.before.add(rank);
      }
      out[i * m + j] = static_cast<double>(total);
      if (symmetric) out[j * m + i] = out[i * m + j];
    }
    if (symmetric) out[i * m + i] = 0.0;
  });
}

// Levels below a limit that were added, as often as they were, and how many of them are below another one: a Fenwick
// tree.
class LevelCounts {
 public:
  void clear(std::size_t limit) {
    counts_.assign(limit + 1, 0);
    total_ = 0;
  }
  void add(std::size_t level) {
    for (std::size_t k = level + 1; k < counts_.size(); k += k & -k) ++counts_[k];
    ++total_;
  }
  std::int64_t below(std::size_t level) const {
    std::int64_t count = 0;
    for (std::size_t k = level; k > 0; k &= k - 1) count += counts_[k];
    return count;
  }
  std::int64_t above(std::size_t level) const { return total_ - below(level + 1); }

 private:
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

// The pairs of items that scores do not put in the order of their levels by a margin >= 0.
class WrongPairs {
 public:
  // Pairs (i, j) of a level above another with scores s_i - s_j < margin, or <= where it is `closed`. For every item,
  // net is the number of such pairs in which it is i minus those in which it is j; returns how many pairs there are.
  // Levels are below `items`. Time O(items log(items)): in the order of scores, partners of the next item are those of
  // the last one and some more. The difference is rounded in the same way from both sides, so that both count the same.
  std::int64_t count(const double* scores, const std::int64_t* levels, std::size_t items, double margin, bool closed,
                     std::int64_t* net) {
    order_.resize(items);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
    const auto wrong = [&](std::size_t i, std::size_t j) {
      const double ahead = scores[i] - scores[j];
      return ahead < margin || (closed && ahead == margin);
    };
    const auto level = [&](std::size_t item) { return static_cast<std::size_t>(levels[item]); };
    std::int64_t total = 0;
    met_.clear(items);
    for (std::size_t k = 0, next = 0; k < items; ++k) {
      const std::size_t j = order_[k];
      for (; next < items && wrong(order_[next], j); ++next) met_.add(level(order_[next]));
      const std::int64_t pairs = met_.above(level(j));
      net[j] = -pairs;
      total += pairs;
    }
    met_.clear(items);
    for (std::size_t k = items, next = items; k-- > 0;) {
      const std::size_t i = order_[k];
      for (; next > 0 && wrong(i, order_[next - 1]); --next) met_.add(level(order_[next - 1]));
      net[i] += met_.below(level(i));
    }
    return total;
  }

 private:
  LevelCounts met_;
  std::vector<std::size_t> order_;
};

}  // namespace mercer

// Rankings of the same items: how many pairs of items two of them put in different order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
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

}  // namespace mercer

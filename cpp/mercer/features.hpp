// Samples as sparse features: kernels that count things (substrings, subtrees of a graph, ...) are inner products, or
// sums of minima, of such counts.
//
// A feature is known by a 64-bit key that depends on its content alone, so that samples need no common dictionary.
// The sum of a pair runs over the common keys in ascending order: its value is that of the two samples, whatever
// samples are around them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// Sample i has the features starts[i] to starts[i + 1], with ascending keys, each once.
struct SparseFeatures {
  const std::uint64_t* keys = nullptr;
  const double* values = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t rows = 0;

  std::size_t first(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t entries() const { return rows == 0 ? 0 : first(rows) - first(0); }
};

// Occurrences in any order, in `keys` and `values`, become features: sorted within each sample, repeated ones added up
// in the order in which they stand. Sample i has the first sizes[i] of its old places.
inline void collect_features(std::uint64_t* keys, double* values, const std::int64_t* starts, std::size_t rows,
                             Team& team, std::int64_t* sizes) {
  struct Entry {
    std::uint64_t key;
    double value;
  };
  std::vector<std::vector<Entry>> room(team.size());
  constexpr std::size_t step = 64;
  team.for_each((rows + step - 1) / step, [&](std::size_t tile, std::size_t worker) {
    for (std::size_t i = tile * step; i < std::min(rows, (tile + 1) * step); ++i) {
      const std::size_t first = static_cast<std::size_t>(starts[i]);
      std::vector<Entry>& entries = room[worker];
      entries.resize(static_cast<std::size_t>(starts[i + 1]) - first);
      for (std::size_t e = 0; e < entries.size(); ++e) entries[e] = {keys[first + e], values[first + e]};
      std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
      std::size_t n = 0;
      for (const Entry& entry : entries) {
        if (n > 0 && keys[first + n - 1] == entry.key) {
          values[first + n - 1] += entry.value;
        } else {
          keys[first + n] = entry.key;
          values[first + n++] = entry.value;
        }
      }
      sizes[i] = static_cast<std::int64_t>(n);
    }
  });
}

inline std::uint64_t scrambled(std::uint64_t key) {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

// Numbers for keys, in order of appearance.
class KeyNumbers {
 public:
  static constexpr std::uint32_t absent = 0xffffffffu;

  explicit KeyNumbers(const SparseFeatures& samples) {
    resize(1024);
    for (std::size_t e = samples.first(0); e < samples.first(0) + samples.entries(); ++e) insert(samples.keys[e]);
  }

  std::size_t size() const { return size_; }

  std::uint32_t find(std::uint64_t key) const { return slots_[slot_of(key)].number; }

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t number;
  };

  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = scrambled(key) & mask;
    while (slots_[slot].number != absent && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  void insert(std::uint64_t key) {
    Slot& slot = slots_[slot_of(key)];
    if (slot.number != absent) return;
    slot = {key, static_cast<std::uint32_t>(size_++)};
    if (2 * size_ > slots_.size()) resize(4 * slots_.size());
  }

  void resize(std::size_t n) {
    std::vector<Slot> before(n, Slot{0, absent});
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number != absent) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

// How the values of a common feature are joined before they are summed.
struct ByProduct {
  static double join(double v, double w) { return v * w; }
};
struct ByMinimum {
  static double join(double v, double w) { return v < w ? v : w; }
};

// Who has a feature, and how much of it, among some samples: a column of the table of features, or nothing.
class FeatureColumns {
 public:
  FeatureColumns(const SparseFeatures& samples, const std::vector<std::uint32_t>& numbers, std::size_t n_numbers,
                 std::size_t begin, std::size_t end)
      : starts_(n_numbers + 1, 0), rows_(samples.first(end) - samples.first(begin)), values_(rows_.size()) {
    const std::size_t base = samples.first(0);
    for (std::size_t e = samples.first(begin); e < samples.first(end); ++e) ++starts_[numbers[e - base] + 1];
    for (std::size_t c = 0; c < n_numbers; ++c) starts_[c + 1] += starts_[c];
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t e = samples.first(i); e < samples.first(i + 1); ++e) {
        const std::uint32_t place = next[numbers[e - base]]++;
        rows_[place] = static_cast<std::uint32_t>(i - begin);
        values_[place] = samples.values[e];
      }
    }
  }

  // sum[j] += join(value, value of j) for the samples j that have the feature, of those before `limit`
  template <class Join>
  void add(std::uint32_t number, double value, double* sum) const {
    const std::uint32_t end = starts_[number + 1];
    for (std::uint32_t e = starts_[number]; e < end; ++e) sum[rows_[e]] += Join::join(value, values_[e]);
  }

 private:
  std::vector<std::uint32_t> starts_, rows_;
  std::vector<double> values_;
};

// out[i * y.rows + j] = sum over common features of the joined values. With `symmetric`, y must be x.
template <class Join>
void features_matrix(const SparseFeatures& x, const SparseFeatures& y, bool symmetric, Team& team, double* out) {
  // Columns of a block of samples are to stay in the second-level cache, and a block must be worth its table of starts.
  constexpr std::size_t block_entries = 64 * 1024, tile_rows = 128;
  const std::size_t n = x.rows, m = y.rows;
  if (n == 0 || m == 0) return;
  const KeyNumbers numbers(y);
  const auto numbered = [&](const SparseFeatures& samples) {
    std::vector<std::uint32_t> found(samples.entries());
    const std::size_t step = std::size_t{1} << 16, base = samples.first(0);
    team.for_each((found.size() + step - 1) / step, [&](std::size_t tile, std::size_t) {
      const std::size_t end = std::min(found.size(), (tile + 1) * step);
      for (std::size_t e = tile * step; e < end; ++e) found[e] = numbers.find(samples.keys[base + e]);
    });
    return found;
  };
  const std::vector<std::uint32_t> of_y = numbered(y);
  const std::vector<std::uint32_t> of_x = symmetric ? std::vector<std::uint32_t>() : numbered(x);
  const std::uint32_t* number = symmetric ? of_y.data() : of_x.data();

  const std::size_t wanted = std::min(of_y.size() / block_entries, of_y.size() / (numbers.size() + 1)) + 1;
  const std::size_t block = std::max<std::size_t>(64, (m + wanted - 1) / wanted);
  const std::size_t n_blocks = (m + block - 1) / block, n_tiles = (n + tile_rows - 1) / tile_rows;
  const std::size_t at_once = std::max<std::size_t>(1, team.size());
  std::vector<FeatureColumns> columns;
  for (std::size_t first = 0; first < n_blocks; first += at_once) {
    // One block per thread is held at a time.
    const std::size_t some = std::min(at_once, n_blocks - first);
    columns.assign(some, FeatureColumns(y, of_y, 0, 0, 0));
    team.for_each(some, [&](std::size_t b, std::size_t) {
      const std::size_t begin = (first + b) * block;
      columns[b] = FeatureColumns(y, of_y, numbers.size(), begin, std::min(m, begin + block));
    });
    team.for_each(some * n_tiles, [&](std::size_t work, std::size_t) {
      const std::size_t b = work / n_tiles, tile = work % n_tiles;
      const std::size_t begin = (first + b) * block, end = std::min(m, begin + block);
      const std::size_t last = std::min(n, (tile + 1) * tile_rows), base = x.first(0);
      if (symmetric && begin >= last) return;  // the upper triangle is the mirror image of the lower one
      for (std::size_t i = tile * tile_rows; i < last; ++i) {
        double* sums = out + i * m + begin;
        std::fill(sums, sums + (end - begin), 0.0);
        for (std::size_t e = x.first(i); e < x.first(i + 1); ++e) {
          const std::uint32_t c = number[e - base];
          if (c != KeyNumbers::absent) columns[b].template add<Join>(c, x.values[e], sums);
        }
      }
    });
  }
  if (!symmetric) return;
  constexpr std::size_t side = 64;
  const std::size_t sides = (n + side - 1) / side;
  team.for_each(sides, [&](std::size_t tile, std::size_t) {
    for (std::size_t other = 0; other <= tile; ++other) {
      for (std::size_t i = tile * side; i < std::min(n, (tile + 1) * side); ++i) {
        for (std::size_t j = other * side; j < std::min(i, (other + 1) * side); ++j) out[j * n + i] = out[i * n + j];
      }
    }
  });
}

// out[i] = the joined values of all features of sample i with themselves
template <class Join>
void features_diagonal(const SparseFeatures& x, double* out) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    double sum = 0.0;
    for (std::size_t e = x.first(i); e < x.first(i + 1); ++e) sum += Join::join(x.values[e], x.values[e]);
    out[i] = sum;
  }
}

}  // namespace mercer

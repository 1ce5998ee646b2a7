// Samples as sparse features: kernels that count things (substrings, subtrees of a graph, ...) are inner products, or
// sums of minima, of such counts.
//
// A feature is known by a 64-bit key that depends on its content alone, so that samples need no common dictionary.
// The sum of a pair runs over the common keys in ascending order: its value is that of the two samples, whatever
// samples are around them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
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

  // The place of every key, by its number, among all keys in ascending order.
  std::vector<std::uint32_t> ranks() const {
    std::vector<Slot> sorted;
    for (const Slot& slot : slots_) {
      if (slot.number != absent) sorted.push_back(slot);
    }
    std::sort(sorted.begin(), sorted.end(), [](const Slot& a, const Slot& b) { return a.key < b.key; });
    std::vector<std::uint32_t> places(size_);
    for (std::size_t k = 0; k < sorted.size(); ++k) places[sorted[k].number] = static_cast<std::uint32_t>(k);
    return places;
  }

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

// How the values of a common feature are joined before they are summed: numbers, or vectors of them.
struct ByProduct {
  template <class Value>
  static Value join(Value v, Value w) {
    return v * w;
  }
};
struct ByMinimum {
  template <class Value>
  static Value join(Value v, Value w) {
    return v < w ? v : w;
  }
};

// Features by the ranks of their keys, ascending within a sample; those whose keys have no rank are left out.
struct RankedFeatures {
  std::vector<std::uint32_t> ranks;
  std::vector<double> values;
  std::vector<std::size_t> starts{0};

  RankedFeatures() = default;
  RankedFeatures(const SparseFeatures& samples, const KeyNumbers& numbers, const std::vector<std::uint32_t>& rank,
                 Team& team)
      : ranks(samples.entries()), values(samples.entries()) {
    constexpr std::size_t step = std::size_t{1} << 14;
    const std::size_t base = samples.first(0);
    team.for_each((ranks.size() + step - 1) / step, [&](std::size_t tile, std::size_t) {
      for (std::size_t e = tile * step; e < std::min(ranks.size(), (tile + 1) * step); ++e) {
        const std::uint32_t number = numbers.find(samples.keys[base + e]);
        ranks[e] = number == KeyNumbers::absent ? number : rank[number];
      }
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < samples.rows; ++i) {
      for (std::size_t e = samples.first(i); e < samples.first(i + 1); ++e) {
        if (ranks[e - base] == KeyNumbers::absent) continue;
        ranks[kept] = ranks[e - base];
        values[kept++] = samples.values[e];
      }
      starts.push_back(kept);
    }
    ranks.resize(kept);
    values.resize(kept);
  }

  // The place of the first feature of sample i that has at least this rank.
  std::size_t place(std::size_t i, std::uint32_t rank) const {
    const auto begin = ranks.begin();
    const auto from = begin + static_cast<std::ptrdiff_t>(starts[i]),
               to = begin + static_cast<std::ptrdiff_t>(starts[i + 1]);
    return static_cast<std::size_t>(std::lower_bound(from, to, rank) - begin);
  }
};

// Who has a feature, and how much of it, among some samples (at most 65536): columns of the table of features, those of
// some ranks.
template <class Value>
class FeatureColumns {
 public:
  FeatureColumns(const RankedFeatures& samples, std::size_t begin, std::size_t end, std::uint32_t first,
                 std::uint32_t last)
      : first_(first), starts_(last - first + 1, 0) {
    std::vector<std::size_t> from(end - begin), to(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      from[i - begin] = samples.place(i, first);
      to[i - begin] = samples.place(i, last);
      for (std::size_t e = from[i - begin]; e < to[i - begin]; ++e) ++starts_[samples.ranks[e] - first + 1];
    }
    for (std::size_t c = 0; c + 1 < starts_.size(); ++c) starts_[c + 1] += starts_[c];
    rows_.resize(starts_.back());
    values_.resize(starts_.back());
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t e = from[i - begin]; e < to[i - begin]; ++e) {
        const std::uint32_t place = next[samples.ranks[e] - first]++;
        rows_[place] = static_cast<std::uint16_t>(i - begin);
        values_[place] = static_cast<Value>(samples.values[e]);
      }
    }
    if constexpr (finds_runs) find_runs();
  }

  // Whether features are added in runs that the same samples have. Whole numbers count single things: few such runs.
  static constexpr bool finds_runs = std::is_same_v<Value, double>;

  std::uint32_t first() const { return first_; }
  std::uint32_t last() const { return first_ + static_cast<std::uint32_t>(starts_.size() - 1); }

  // sum[j] += join(value, value of j) for the samples j that have the feature
  template <class Join>
  void add(std::uint32_t rank, Value value, Value* sum) const {
    const std::uint32_t end = starts_[rank - first_ + 1];
    for (std::uint32_t e = starts_[rank - first_]; e < end; ++e) sum[rows_[e]] += Join::join(value, values_[e]);
  }

  // One past the last of the features that the same samples have as this one.
  std::uint32_t run_end(std::uint32_t rank) const { return run_ends_[rank - first_]; }

  // The same for several features of one run, some sums at a time: these stay in registers, feature after feature.
  template <class Join>
  void add_run(const std::uint32_t* ranks, const double* values, std::size_t size, double* sum) const {
    const std::uint32_t begin = starts_[ranks[0] - first_], samples = starts_[ranks[0] - first_ + 1] - begin;
    const std::uint16_t* rows = rows_.data() + begin;
    std::uint32_t k = 0;
    for (; k + at_once <= samples; k += at_once) {
      Pair sums[at_once / 2];
      for (std::uint32_t p = 0; p < at_once; ++p) sums[p / 2][p % 2] = sum[rows[k + p]];
      for (std::size_t f = 0; f < size; ++f) {
        const double* column = values_.data() + starts_[ranks[f] - first_] + k;
        const Pair value = {values[f], values[f]};
        for (std::uint32_t p = 0; p < at_once / 2; ++p) {
          Pair other;
          std::memcpy(&other, column + 2 * p, sizeof(Pair));
          sums[p] += Join::join(value, other);
        }
      }
      for (std::uint32_t p = 0; p < at_once; ++p) sum[rows[k + p]] = sums[p / 2][p % 2];
    }
    for (std::size_t f = 0; f < size; ++f) {
      const double* column = values_.data() + starts_[ranks[f] - first_];
      for (std::uint32_t last = k; last < samples; ++last) sum[rows[last]] += Join::join(values[f], column[last]);
    }
  }

 private:
  typedef double Pair __attribute__((vector_size(16)));
  static constexpr std::uint32_t at_once = 16;

  void find_runs() {
    run_ends_.resize(starts_.size() - 1);
    const auto rows_of = [&](std::size_t c) { return rows_.begin() + starts_[c]; };
    for (std::size_t c = run_ends_.size(); c-- > 0;) {
      const bool shared =
          c + 1 < run_ends_.size() && std::equal(rows_of(c), rows_of(c + 1), rows_of(c + 1), rows_of(c + 2));
      run_ends_[c] = shared ? run_ends_[c + 1] : first_ + static_cast<std::uint32_t>(c + 1);
    }
  }

  std::uint32_t first_;
  std::vector<std::uint32_t> starts_, run_ends_;
  std::vector<std::uint16_t> rows_;
  std::vector<Value> values_;
};

// Are all sums of joined values whole numbers that a float holds? A product or minimum of whole numbers v and w is no
// larger than v^2 + w^2, so that no sum, and none on the way to it, exceeds two sums of squares.
inline bool sums_fit_float(const RankedFeatures& samples) {
  constexpr double largest = 1 << 23;
  for (std::size_t i = 0; i + 1 < samples.starts.size(); ++i) {
    double squares = 0.0;
    for (std::size_t e = samples.starts[i]; e < samples.starts[i + 1]; ++e) {
      const double value = samples.values[e];
      if (!(std::abs(value) < largest) || value != std::trunc(value)) return false;
      squares += value * value;
    }
    if (squares > largest) return false;
  }
  return true;
}

// features_matrix with the sums, and what is summed, in numbers of type Value.
template <class Join, class Value>
void joined_sums(const RankedFeatures& of_x, const RankedFeatures& of_y, std::size_t n_ranks, bool symmetric,
                 Team& team, double* out) {
  // Sums of a row over a block of samples stay in the first-level cache, those of a tile of rows and columns of some
  // ranks in the second-level cache; there should be several samples in a column.
  constexpr std::size_t block = 16 * 1024 / sizeof(Value), chunk_entries = 64 * 1024, tile_rows = 32;
  const std::size_t n = of_x.starts.size() - 1, m = of_y.starts.size() - 1;
  std::vector<std::uint32_t> sizes(n_ranks, 0);
  for (const std::uint32_t r : of_y.ranks) ++sizes[r];

  const std::size_t n_tiles = (n + tile_rows - 1) / tile_rows;
  std::vector<std::vector<Value>> room(team.size());
  for (std::size_t begin = 0; begin < m; begin += block) {
    const std::size_t end = std::min(m, begin + block);
    // Ranks in chunks, by how much of all samples the block is expected to have.
    std::vector<std::uint32_t> bounds{0};
    const std::size_t enough = chunk_entries * m / (end - begin);
    std::size_t entries = 0;
    for (std::uint32_t r = 0; r < sizes.size(); ++r) {
      entries += sizes[r];
      if (entries < enough && r + 1 < sizes.size()) continue;
      bounds.push_back(r + 1);
      entries = 0;
    }
    using Columns = FeatureColumns<Value>;
    std::vector<Columns> columns(bounds.size() - 1, Columns(of_y, 0, 0, 0, 0));
    team.for_each(columns.size(), [&](std::size_t c, std::size_t) {
      columns[c] = Columns(of_y, begin, end, bounds[c], bounds[c + 1]);
    });
    team.for_each(n_tiles, [&](std::size_t tile, std::size_t worker) {
      const std::size_t first = tile * tile_rows, last = std::min(n, first + tile_rows);
      if (symmetric && begin >= last) return;  // the upper triangle is the mirror image of the lower one
      std::vector<Value>& sums = room[worker];
      sums.assign((last - first) * block, Value{0});
      std::size_t place[tile_rows];
      for (std::size_t i = first; i < last; ++i) place[i - first] = of_x.starts[i];
      for (const Columns& some : columns) {
        for (std::size_t i = first; i < last; ++i) {
          Value* row = sums.data() + (i - first) * block;
          std::size_t& e = place[i - first];
          for (; e < of_x.starts[i + 1] && of_x.ranks[e] < some.last(); ++e) {
            if constexpr (Columns::finds_runs) {
              const std::uint32_t run_end = some.run_end(of_x.ranks[e]);
              std::size_t next = e + 1;
              while (next < of_x.starts[i + 1] && of_x.ranks[next] < run_end) ++next;
              if (next > e + 1) {
                some.template add_run<Join>(&of_x.ranks[e], &of_x.values[e], next - e, row);
                e = next - 1;
                continue;
              }
            }
            some.template add<Join>(of_x.ranks[e], static_cast<Value>(of_x.values[e]), row);
          }
        }
      }
      for (std::size_t i = first; i < last; ++i) {
        const Value* row = sums.data() + (i - first) * block;
        std::copy(row, row + (symmetric ? std::min(end, i + 1) : end) - begin, out + i * m + begin);
      }
      if (!symmetric) return;
      for (std::size_t j = begin; j < std::min(end, last); ++j) {
        for (std::size_t i = std::max(first, j + 1); i < last; ++i) {
          out[j * n + i] = sums[(i - first) * block + j - begin];
        }
      }
    });
  }
}

// out[i * y.rows + j] = sum over common features of the joined values. With `symmetric`, y must be x.
template <class Join>
void features_matrix(const SparseFeatures& x, const SparseFeatures& y, bool symmetric, Team& team, double* out) {
  if (x.rows == 0 || y.rows == 0) return;
  const KeyNumbers numbers(y);
  const std::vector<std::uint32_t> rank = numbers.ranks();
  const RankedFeatures of_y(y, numbers, rank, team);
  const RankedFeatures other = symmetric ? RankedFeatures() : RankedFeatures(x, numbers, rank, team);
  const RankedFeatures& of_x = symmetric ? of_y : other;
  if (sums_fit_float(of_x) && sums_fit_float(of_y)) {
    joined_sums<Join, float>(of_x, of_y, numbers.size(), symmetric, team, out);
  } else {
    joined_sums<Join, double>(of_x, of_y, numbers.size(), symmetric, team, out);
  }
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

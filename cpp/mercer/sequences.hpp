// Sequences of symbols, and the traversal of pairs of them by dynamic programmes.
//
// A symbol is known by a 64-bit key that depends on its content alone. Programmes only ask whether symbols are equal,
// so keys become small codes first. Several pairs run side by side, one in each lane of a vector; what a lane computes
// depends on its pair alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features.hpp"
#include "level.hpp"
#include "parallel.hpp"

namespace mercer {

// Sample i has the symbols starts[i] to starts[i + 1].
struct Sequences {
  const std::uint64_t* keys = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t rows = 0;

  const std::uint64_t* begin(std::size_t i) const { return keys + starts[i]; }
  const std::uint64_t* end(std::size_t i) const { return keys + starts[i + 1]; }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1] - starts[i]); }
};

// An order of sequences by their content: shorter ones first. k(s, t) and k(t, s) are one number to the last bit
// because the smaller of the two always plays the same part.
inline int compare(const Sequences& x, std::size_t i, const Sequences& y, std::size_t j) {
  if (x.length(i) != y.length(j)) return x.length(i) < y.length(j) ? -1 : 1;
  const auto [a, b] = std::mismatch(x.begin(i), x.end(i), y.begin(j));
  return a == x.end(i) ? 0 : *a < *b ? -1 : 1;
}

// What a code says of its symbol: whether it equals another one, or its number in a table.
enum class Coding { equality, table };

// Codes of the symbols of x and y. Symbols that only y has share the code -1: no symbol of x equals them.
struct Codes {
  std::vector<std::int64_t> x, y;  // from the first symbol of the first sample on

  Codes(const Sequences& xs, const Sequences& ys, bool symmetric, Coding coding) {
    const std::size_t numbered = coding == Coding::equality ? xs.rows : 0;
    const KeyNumbers numbers(SparseFeatures{xs.keys, nullptr, xs.starts, numbered});
    const auto coded = [&](const Sequences& samples) {
      std::vector<std::int64_t> codes;
      if (samples.rows == 0) return codes;
      codes.reserve(static_cast<std::size_t>(samples.starts[samples.rows] - samples.starts[0]));
      for (const std::uint64_t* key = samples.begin(0); key != samples.end(samples.rows - 1); ++key) {
        if (coding == Coding::table) {
          codes.push_back(static_cast<std::int64_t>(*key));
        } else {
          const std::uint32_t number = numbers.find(*key);
          codes.push_back(number == KeyNumbers::absent ? -1 : static_cast<std::int64_t>(number));
        }
      }
      return codes;
    };
    x = coded(xs);
    if (!symmetric) y = coded(ys);
  }
};

// One side of a matrix: samples with the codes of their symbols, in the order of `compare`.
struct Side {
  Sequences samples;
  const std::int64_t* codes;
  std::vector<std::uint32_t> order;

  Side(const Sequences& given, const std::vector<std::int64_t>& of_symbols)
      : samples(given), codes(of_symbols.data()), order(given.rows) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t i, std::uint32_t j) { return compare(samples, i, samples, j) < 0; });
  }

  const std::int64_t* begin(std::size_t i) const { return codes + (samples.starts[i] - samples.starts[0]); }

  // Place of the first sample that is not before (with `after`: that is behind) sample i of another side.
  std::size_t place_of(const Side& other, std::size_t i, bool after) const {
    const auto before = [&](std::uint32_t j) { return compare(samples, j, other.samples, i) < (after ? 1 : 0); };
    return static_cast<std::size_t>(std::partition_point(order.begin(), order.end(), before) - order.begin());
  }
};

// Every pair once, by its smaller sample: body(outer, i, inner, place, transposed, part, worker) for all samples i,
// where the samples of `inner` from `place` on, in its order, are the partners of sample i of `outer`. `transposed`:
// sample i is a column of the matrix. With `symmetric`, y must be x, and the partners are those from i itself on. Each
// is called `n_parts` times, so that no call takes long.
template <class Body>
void for_each_sequence(const Side& x, const Side& y, bool symmetric, std::size_t n_parts, Team& team, Body body) {
  const std::size_t n = x.order.size(), both = n + (symmetric ? 0 : y.order.size());
  team.for_each(both * n_parts, [&](std::size_t tile, std::size_t worker) {
    const std::size_t at = tile / n_parts;
    const bool transposed = at >= n;
    const Side &outer = transposed ? y : x, &inner = transposed ? x : y;
    const std::size_t rank = transposed ? at - n : at, i = outer.order[rank];
    const std::size_t place = symmetric ? rank : inner.place_of(outer, i, transposed);
    body(outer, i, inner, place, transposed, tile % n_parts, worker);
  });
}

// out[i * m + j] for the pair of sample i of one side and sample j of the other.
struct PairMatrix {
  double* out;
  std::size_t m;
  bool symmetric;

  void set(bool transposed, std::size_t i, std::size_t j, double value) const {
    out[transposed ? j * m + i : i * m + j] = value;
    if (symmetric) out[j * m + i] = value;
  }
};

// Samples next to each other in order, `sequence_lanes` at a time: symbol j of sample l at codes[j * lanes + l].
class Lanes {
 public:
  explicit Lanes(const Side& side) {
    const std::size_t n = side.order.size();
    for (std::size_t first = 0; first < n; first += sequence_lanes) {
      const std::size_t last = std::min(n, first + sequence_lanes);
      const std::size_t length = side.samples.length(side.order[last - 1]);
      starts_.push_back(codes_.size());
      lengths_.push_back(length);
      codes_.resize(codes_.size() + length * sequence_lanes, no_symbol);
      for (std::size_t l = 0; first + l < last; ++l)
        fill(side, side.order[first + l], codes_.data() + starts_.back(), l);
    }
  }

  std::size_t size() const { return starts_.size(); }
  std::size_t length(std::size_t block) const { return lengths_[block]; }
  const std::int64_t* codes(std::size_t block) const { return codes_.data() + starts_[block]; }
  std::size_t longest() const { return lengths_.empty() ? 0 : lengths_.back(); }

  static void fill(const Side& side, std::size_t i, std::int64_t* codes, std::size_t lane) {
    const std::int64_t* from = side.begin(i);
    for (std::size_t j = 0; j < side.samples.length(i); ++j) codes[j * sequence_lanes + lane] = from[j];
  }

 private:
  std::vector<std::size_t> starts_, lengths_;
  std::vector<std::int64_t> codes_;
};

// A programme on one sequence against several: programme(s, n, lanes, m, worker, values) with the codes s[0 .. n) and
// lanes[0 .. m * sequence_lanes), m the longest of them.
//
// All pairs of x and y: out[i * y.rows + j]. With `symmetric`, y must be x.
template <class Programme>
void sequence_matrix(const Sequences& xs, const Sequences& ys, bool symmetric, Coding coding, Team& team,
                     Programme programme, double* out) {
  if (xs.rows == 0 || ys.rows == 0) return;
  const Codes codes(xs, ys, symmetric, coding);
  const Side x(xs, codes.x);
  const Side other = symmetric ? Side(Sequences{}, codes.y) : Side(ys, codes.y);
  const Side& y = symmetric ? x : other;
  const Lanes of_y(y), of_x(symmetric ? other : x);
  const PairMatrix matrix{out, ys.rows, symmetric};
  constexpr std::size_t blocks_of_part = 16;
  const std::size_t n_parts = (std::max(of_x.size(), of_y.size()) + blocks_of_part - 1) / blocks_of_part;
  for_each_sequence(x, y, symmetric, n_parts, team,
                    [&](const Side& outer, std::size_t i, const Side& inner, std::size_t place, bool transposed,
                        std::size_t part, std::size_t worker) {
                      const Lanes& lanes = transposed ? of_x : of_y;
                      const std::size_t last = std::min(lanes.size(), (part + 1) * blocks_of_part);
                      double values[sequence_lanes];
                      for (std::size_t b = std::max(place / sequence_lanes, part * blocks_of_part); b < last; ++b) {
                        programme(outer.begin(i), outer.samples.length(i), lanes.codes(b), lanes.length(b), worker,
                                  values);
                        const std::size_t first = b * sequence_lanes;
                        for (std::size_t l = 0; l < sequence_lanes && first + l < inner.order.size(); ++l) {
                          if (first + l >= place) matrix.set(transposed, i, inner.order[first + l], values[l]);
                        }
                      }
                    });
}

// The pairs of every sample with itself, with the numbers of `sequence_matrix`.
template <class Programme>
void sequence_diagonal(const Sequences& xs, Coding coding, Team& team, Programme programme, double* out) {
  if (xs.rows == 0) return;
  const Codes codes(xs, xs, true, coding);
  const Side x(xs, codes.x);
  std::vector<std::vector<std::int64_t>> room(team.size());
  team.for_each(xs.rows, [&](std::size_t i, std::size_t worker) {
    const std::size_t length = xs.length(i);
    room[worker].assign(length * sequence_lanes, no_symbol);
    Lanes::fill(x, i, room[worker].data(), 0);
    double values[sequence_lanes];
    programme(x.begin(i), length, room[worker].data(), length, worker, values);
    out[i] = values[0];
  });
}

}  // namespace mercer

// Kernels on subsequences: gap-weighted, and all of them; also those on equal places.
//
// Values may leave the range of double. Such pairs, and only they, are computed again with numbers of any size.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "level.hpp"
#include "sequences.hpp"

namespace mercer {

// A number >= 0 of any size, value * 2^exponent with 1/2 <= value < 1, or zero.
struct WideNumber {
  double value = 0.0;
  std::int64_t exponent = 0;

  static WideNumber of(double x) {
    int exponent = 0;
    const double value = std::frexp(x, &exponent);
    return {value, exponent};
  }
  double log() const { return std::log(value) + static_cast<double>(exponent) * 0.693147180559945309417; }

  WideNumber times(double factor) const {
    const WideNumber product = of(value * factor);
    return {product.value, product.value == 0.0 ? 0 : product.exponent + exponent};
  }
  WideNumber operator+(const WideNumber& other) const {
    if (value == 0.0) return other;
    if (other.value == 0.0) return *this;
    const WideNumber &large = exponent < other.exponent ? other : *this,
                     &small = exponent < other.exponent ? *this : other;
    const std::int64_t apart = large.exponent - small.exponent;
    if (apart > 60) return large;
    const double sum = large.value + std::ldexp(small.value, -static_cast<int>(apart));
    return sum < 1.0 ? WideNumber{sum, large.exponent} : WideNumber{0.5 * sum, large.exponent + 1};
  }
};

// The recursion of gap_row (sequence_loops.hpp) for one pair, and lane `lane` of t; the logarithm of the sum.
inline double wide_gap_weighted(const GapSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* lanes,
                                std::size_t m, std::size_t lane) {
  const std::size_t levels = spec.length;
  std::vector<WideNumber> tails(levels * m), sums(levels);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<WideNumber> across(levels), before(levels);
    for (std::size_t j = 0; j < m; ++j) {
      const bool match = lanes[j * sequence_lanes + lane] == s[i];
      WideNumber matches = match ? WideNumber::of(1.0) : WideNumber();
      for (std::size_t l = 0; l < levels; ++l) {
        sums[l] = sums[l] + matches;
        WideNumber& tail = tails[j * levels + l];
        const WideNumber next = match ? before[l] : WideNumber();
        before[l] = tail;
        across[l] = across[l].times(spec.decay) + matches;
        tail = tail.times(spec.decay) + across[l];
        matches = next;
      }
    }
  }
  WideNumber total = sums[levels - 1];
  if (spec.blended) {
    for (std::size_t l = levels - 1; l-- > 0;) total = sums[l] + total.times(spec.decay).times(spec.decay);
  }
  return total.log();
}

// The recursion of all_subsequences (sequence_loops.hpp).
inline double wide_all_subsequences(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m,
                                    std::size_t lane) {
  std::vector<WideNumber> row(m + 1, WideNumber::of(1.0));
  for (std::size_t i = 0; i < n; ++i) {
    WideNumber before = row[0], added;
    for (std::size_t j = 0; j < m; ++j) {
      if (lanes[j * sequence_lanes + lane] == s[i]) added = added + before;
      before = row[j + 1];
      row[j + 1] = before + added;
    }
  }
  return row[m].log();
}

enum class Answer { value, log, slope, log_slope };

inline bool needs_slope(Answer answer) { return answer == Answer::slope || answer == Answer::log_slope; }

// The derivative of the logarithm: not a number where the value is zero, infinite where it is too large.
inline double log_slope(double value, double slope) {
  if (value == 0.0) return std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(value) ? slope / value : std::numeric_limits<double>::infinity();
}

// Values, or their logarithms: those that are not finite are computed again by wide(lane).
template <class Wide>
void in_logarithms(double* values, Wide wide) {
  for (std::size_t l = 0; l < sequence_lanes; ++l) {
    values[l] = std::isfinite(values[l]) ? std::log(values[l]) : wide(l);
  }
}

// sum over subsequences u of length `spec.length` of phi_u(s) phi_u(t), phi_u(s) = sum over its places of decay^gaps;
// with `spec.blended`, sum over lengths l up to this one, times decay^(2 (l - 1)). For sequence_matrix and
// sequence_diagonal.
class GapWeighted {
 public:
  GapWeighted(const GapSpec& spec, Answer answer, const Level& level, std::size_t n_workers)
      : spec_(spec), answer_(answer), loops_(level.sequences), room_(n_workers) {}

  void operator()(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m, std::size_t worker,
                  double* values) {
    std::vector<double>& room = room_[worker];
    const std::size_t needed = SequenceLoops::gap_room(spec_, m);
    if (room.size() < needed) room.resize(needed);
    if (needs_slope(answer_)) {
      double plain[sequence_lanes];
      loops_.gap_weighted_slope(spec_, s, n, lanes, m, room.data(), plain, values);
      if (answer_ == Answer::slope) return;
      for (std::size_t l = 0; l < sequence_lanes; ++l) values[l] = log_slope(plain[l], values[l]);
      return;
    }
    loops_.gap_weighted(spec_, s, n, lanes, m, room.data(), values);
    if (answer_ == Answer::log) {
      in_logarithms(values, [&](std::size_t lane) { return wide_gap_weighted(spec_, s, n, lanes, m, lane); });
    }
  }

 private:
  GapSpec spec_;
  Answer answer_;
  const SequenceLoops& loops_;
  std::vector<std::vector<double>> room_;
};

class AllSubsequences {
 public:
  AllSubsequences(Answer answer, const Level& level, std::size_t n_workers)
      : answer_(answer), loops_(level.sequences), room_(n_workers) {}

  void operator()(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m, std::size_t worker,
                  double* values) {
    std::vector<double>& room = room_[worker];
    if (room.size() < SequenceLoops::room(m)) room.resize(SequenceLoops::room(m));
    loops_.all_subsequences(s, n, lanes, m, room.data(), values);
    if (answer_ == Answer::log) {
      in_logarithms(values, [&](std::size_t lane) { return wide_all_subsequences(s, n, lanes, m, lane); });
    }
  }

 private:
  Answer answer_;
  const SequenceLoops& loops_;
  std::vector<std::vector<double>> room_;
};

// Equal pieces of up to `degree` symbols at equal places, and at places up to `shift` apart:
//   sum over |u| <= shift of a_u sum_i sum over p <= degree of (degree - p + 1) [pieces of length p at i and i + u
//   equal],
// a_0 = 1, a_u = 1 / (2 (|u| + 1)). All samples have the same length.
class WeightedDegree {
 public:
  WeightedDegree(std::size_t degree, std::size_t shift, const Level& level)
      : degree_(static_cast<double>(degree)), shift_(shift), loops_(level.sequences) {}

  void operator()(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t, std::size_t,
                  double* values) {
    loops_.weighted_degree(degree_, s, lanes, n, values);
    double ahead[sequence_lanes], behind[sequence_lanes];
    for (std::size_t u = 1; u <= shift_ && u < n; ++u) {
      loops_.weighted_degree(degree_, s + u, lanes, n - u, ahead);
      loops_.weighted_degree(degree_, s, lanes + u * sequence_lanes, n - u, behind);
      const double weight = 0.5 / (static_cast<double>(u) + 1.0);
      for (std::size_t l = 0; l < sequence_lanes; ++l) values[l] += weight * (ahead[l] + behind[l]);
    }
  }

 private:
  double degree_;
  std::size_t shift_;
  const SequenceLoops& loops_;
};

}  // namespace mercer

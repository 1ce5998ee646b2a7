// Kernels on alignments: the best local one, the sum over all local ones, and the sum over all global ones of series.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "level.hpp"
#include "sequences.hpp"
#include "subsequences.hpp"

namespace mercer {

// Numbers with scales as what is asked for.
inline void answer_scaled(const ScaledValues& scaled, Answer answer, double* values) {
  constexpr double log_step = scale_step * 0.693147180559945309417;
  for (std::size_t l = 0; l < sequence_lanes; ++l) {
    if (answer == Answer::log_slope) {
      values[l] = log_slope(scaled.values[l], scaled.slopes[l]);  // both have the same scale
    } else if (answer == Answer::log) {
      values[l] = std::log(scaled.values[l]) + log_step * scaled.scales[l];
      if (scaled.values[l] == 0.0) values[l] = -std::numeric_limits<double>::infinity();
    } else {
      const double scale = scaled.scales[l], mantissa = answer == Answer::slope ? scaled.slopes[l] : scaled.values[l];
      values[l] = std::ldexp(mantissa, scale_step * static_cast<int>(std::clamp(scale, -16.0, 16.0)));
    }
  }
}

class LocalAlignment {
 public:
  LocalAlignment(const AlignmentSpec& spec, const Level& level, std::size_t n_workers)
      : spec_(spec), loops_(level.sequences), room_(n_workers) {}

  void operator()(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m, std::size_t worker,
                  double* values) {
    std::vector<double>& room = room_[worker];
    if (room.size() < SequenceLoops::room(m)) room.resize(SequenceLoops::room(m));
    loops_.local_alignment(spec_, s, n, lanes, m, room.data(), values);
  }

 private:
  AlignmentSpec spec_;
  const SequenceLoops& loops_;
  std::vector<std::vector<double>> room_;
};

// `Spec` is AlignmentSpec (all local alignments of sequences) or SeriesSpec (all global alignments of series).
template <class Spec>
class SumOverAlignments {
 public:
  using Loop = void (*)(const Spec&, bool, const std::int64_t*, std::size_t, const std::int64_t*, std::size_t, double*,
                        ScaledValues*);

  SumOverAlignments(const Spec& spec, Answer answer, Loop loop, std::size_t n_workers)
      : spec_(spec), answer_(answer), loop_(loop), room_(n_workers) {}

  void operator()(const std::int64_t* s, std::size_t n, const std::int64_t* lanes, std::size_t m, std::size_t worker,
                  double* values) {
    std::vector<double>& room = room_[worker];
    if (room.size() < SequenceLoops::room(m)) room.resize(SequenceLoops::room(m));
    ScaledValues scaled;
    loop_(spec_, needs_slope(answer_), s, n, lanes, m, room.data(), &scaled);
    answer_scaled(scaled, answer_, values);
  }

 private:
  Spec spec_;
  Answer answer_;
  Loop loop_;
  std::vector<std::vector<double>> room_;
};

}  // namespace mercer

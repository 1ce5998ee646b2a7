// The working set: which points the next block is made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "../dual.hpp"
#include "../level.hpp"
#include "state.hpp"

namespace mercer::smo {

class Selection {
 public:
  explicit Selection(const State& state) : state_(state) {}

  // Up to `size` points: half of them new ones with the largest violation on either side, the rest from the block
  // before.
  void select(std::size_t size, const std::vector<Extremes>& groups, std::vector<std::size_t>& points) {
    if (arrangement_ != state_.arrangement) previous_.clear();
    arrangement_ = state_.arrangement;
    chosen_.assign(state_.n_active, 0);
    points.clear();
    const std::size_t wanted = previous_.empty() ? size : size / 2;
    const std::size_t share = std::max<std::size_t>(1, wanted / (2 * state_.n_groups()));
    for (std::size_t g = 0; g < state_.n_groups(); ++g) {
      Extremes limits = groups[g];
      if (state_.problem.equality == Equality::none) limits = {0.0, 0.0};
      take_most_violating(g, true, limits.smallest, share, points);
      take_most_violating(g, false, limits.largest, share, points);
    }
    for (const std::size_t i : previous_) {
      if (points.size() >= size) break;
      if (!chosen_[i]) {
        chosen_[i] = 1;
        points.push_back(i);
      }
    }
    previous_ = points;
  }

 private:
  // Points of group g that may move up (down) and lie above (below) the limit; ties go to the smaller number.
  void take_most_violating(std::size_t g, bool upwards, double limit, std::size_t share,
                           std::vector<std::size_t>& points) {
    double enough = std::numeric_limits<double>::denorm_min();  // what a violation must be to count
    const auto keep_the_best = [&] {
      if (candidates_.size() < share) return;
      const auto last = candidates_.begin() + std::ptrdiff_t(share - 1);
      std::nth_element(candidates_.begin(), last, candidates_.end(), comes_before);
      enough = last->value;
      candidates_.resize(share);
    };
    candidates_.clear();
    for (std::size_t l = 0; l < state_.layers.size(); ++l) {
      if (state_.group_of(l) != g) continue;
      const double* const bound = upwards ? state_.layers[l].up.data() : state_.layers[l].low.data();
      const double* const f = state_.f.data();
      const double sign = upwards ? 1.0 : -1.0;
      const auto urgency = [&](std::size_t i) { return sign * (bound[i] - f[i] - limit); };
      // Few points count once some have been seen: most chunks are passed by at a glance.
      constexpr std::size_t chunk = 32;
      for (std::size_t begin = 0; begin < state_.n_active; begin += chunk) {
        const std::size_t end = std::min(state_.n_active, begin + chunk);
        int any = 0;
        for (std::size_t i = begin; i < end; ++i) any |= urgency(i) >= enough;
        for (std::size_t i = begin; any && i < end; ++i) {
          if (!(urgency(i) >= enough) || chosen_[i]) continue;
          candidates_.push_back({urgency(i), i});
          if (candidates_.size() >= 4 * share) keep_the_best();
        }
      }
    }
    keep_the_best();
    std::sort(candidates_.begin(), candidates_.end(), comes_before);
    for (const Candidate& candidate : candidates_) {
      if (chosen_[candidate.position]) continue;
      chosen_[candidate.position] = 1;
      points.push_back(candidate.position);
    }
  }

  static bool comes_before(const Candidate& x, const Candidate& y) {
    return x.value != y.value ? x.value > y.value : x.position < y.position;
  }

  const State& state_;
  std::size_t arrangement_ = 0;
  std::vector<std::size_t> previous_;
  std::vector<char> chosen_;
  std::vector<Candidate> candidates_;
};

}  // namespace mercer::smo

// A run of the solver from outside: its steps are counted, its history kept, and it ends where a limit is reached.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../stop.hpp"
#include "options.hpp"
#include "state.hpp"

namespace mercer::smo {

struct Run {
  const SmoOptions& options;
  const Watch& watch;
  std::size_t n_iter = 0;
  std::vector<Record> history;

  Run(const SmoOptions& chosen, const Watch& limits, std::size_t n_points)
      : options(chosen), watch(limits), stride_(std::max<std::size_t>(8, n_points / 16)) {}

  bool wants_record() const { return n_iter >= next_record_; }

  // Keep the history short: when full, every second record goes and the stride doubles.
  void record(State& state, double violation) {
    constexpr std::size_t most = 256;
    if (history.size() == most) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < most; k += 2) history[kept++] = history[k];
      history.resize(kept);
      stride_ *= 2;
    }
    history.push_back({n_iter, state.objective, state.gap(), violation});
    next_record_ = n_iter + stride_;
  }

  // solved (so far) or the reason to stop; `drift` is how far f may be astray.
  Status check_limits(const State& state, double violation, double drift) const {
    watch.poll();
    if (n_iter >= options.max_iter) return Status::max_iter;
    if (watch.out_of_time()) return Status::max_seconds;
    if (watch.asks_to_stop({n_iter, state.objective, violation, watch.seconds()})) return Status::stopped;
    if (runs_away(state)) return Status::unbounded;
    if (drift > 0.25 * violation) return Status::coarse;
    if (state.unlimited && state.objective < 1.000001 * state.lowest) return Status::indefinite;
    return Status::solved;
  }

 private:
  // Is this a hard margin whose coefficients run away? a'Qa = 2 (objective - p'a) without ridge.
  bool runs_away(const State& state) const {
    if (!state.hard || state.slope >= 0.0) return false;
    const double limit = options.unbounded_ratio * state.slope;
    return 2.0 * (state.objective - state.slope) <= limit * limit * state.largest_diagonal;
  }

  std::size_t stride_, next_record_ = 0;
};

}  // namespace mercer::smo

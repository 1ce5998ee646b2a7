// A run of sequential minimal optimisation: what it records, and what ends it besides the limits of its caller.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../run.hpp"
#include "../stop.hpp"
#include "options.hpp"
#include "state.hpp"

namespace mercer::smo {

struct Run : mercer::Run {
  const SmoOptions& options;

  Run(const SmoOptions& chosen, const Watch& limits, std::size_t n_points)
      : mercer::Run(limits, chosen.max_iter, std::max<std::size_t>(8, n_points / 16)), options(chosen) {}

  void record(State& state, double violation) { mercer::Run::record(state.objective, state.gap(), violation); }

  // solved (so far) or the reason to stop; `drift` is how far f may be astray.
  Status check_limits(const State& state, double violation, double drift) const {
    const Status limit = mercer::Run::check_limits(state.objective, violation);
    if (limit != Status::solved) return limit;
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
};

}  // namespace mercer::smo

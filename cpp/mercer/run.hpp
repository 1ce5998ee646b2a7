// A run of a solver from outside: its steps are counted, its history kept, and it ends where a limit is reached.
#pragma once

#include <cstddef>
#include <vector>

#include "stop.hpp"

namespace mercer {

struct Run {
  const Watch& watch;
  const std::size_t max_iter;
  std::size_t n_iter = 0;
  std::vector<Record> history;

  // `stride` is the number of steps between two records, at first.
  Run(const Watch& limits, std::size_t most_steps, std::size_t stride)
      : watch(limits), max_iter(most_steps), stride_(stride) {}

  bool wants_record() const { return n_iter >= next_record_; }

  // Keep the history short: when full, every second record goes and the stride doubles.
  void record(double objective, double gap, double violation) {
    constexpr std::size_t most = 256;
    if (history.size() == most) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < most; k += 2) history[kept++] = history[k];
      history.resize(kept);
      stride_ *= 2;
    }
    history.push_back({n_iter, objective, gap, violation});
    next_record_ = n_iter + stride_;
  }

  // solved (so far) or the reason to stop.
  Status check_limits(double objective, double violation) const {
    watch.poll();
    if (n_iter >= max_iter) return Status::max_iter;
    if (watch.out_of_time()) return Status::max_seconds;
    if (watch.asks_to_stop({n_iter, objective, violation, watch.seconds()})) return Status::stopped;
    return Status::solved;
  }

 private:
  std::size_t stride_, next_record_ = 0;
};

}  // namespace mercer

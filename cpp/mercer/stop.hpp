// What a long loop tells its caller, how the caller stops it, and how it ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace mercer {

// `coarse` stays inside a solver: the rounding of the working rows has come near the violation.
enum class Status { solved, max_iter, max_seconds, stopped, unbounded, indefinite, stalled, coarse };

// A sample of a run, for its history.
struct Record {
  std::size_t n_iter;
  double objective, gap, violation;
};

struct Progress {
  std::size_t n_iter;
  double objective;
  double violation;
  double seconds;
};

// Both functions are called on the calling thread only, between steps, and may throw (Ctrl-C).
class Watch {
 public:
  Watch(double max_seconds, std::function<void()> poll, std::function<bool(const Progress&)> report)
      : start_(Clock::now()), max_seconds_(max_seconds), poll_(std::move(poll)), report_(std::move(report)) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool out_of_time() const { return seconds() > max_seconds_; }
  bool asks_to_stop(const Progress& progress) const { return report_ && report_(progress); }

  void poll() const {
    if (poll_) poll_();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  double max_seconds_;
  std::function<void()> poll_;
  std::function<bool(const Progress&)> report_;
};

}  // namespace mercer

// Ctrl-C in native loops.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace mercer::bind {

// Lets Python look at its signals, some twenty times a second however often it is called; throws when one raised an
// exception. For the calling thread only, without the GIL.
class SignalPoll {
 public:
  void operator()() {
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(50);
};

}  // namespace mercer::bind

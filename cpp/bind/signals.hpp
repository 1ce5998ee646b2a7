// Ctrl-C in native loops.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace mercer::bind {

// Python gives signals to its main thread alone. Another thread has a function to ask whether its work is not wanted
// any more, borrowed from whoever set it; null if nobody did. Read and written with the GIL.
inline thread_local PyObject* unwanted = nullptr;

// Lets Python look at its signals, some twenty times a second however often it is called; throws when one raised an
// exception, or when the work of this thread is not wanted any more. For the calling thread only, without the GIL.
class SignalPoll {
 public:
  void operator()() {
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (unwanted == nullptr) return;
    if (nanobind::cast<bool>(nanobind::handle(unwanted)())) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw nanobind::python_error();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(50);
};

}  // namespace mercer::bind

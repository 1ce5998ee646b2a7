// How a native run ended, as Python reads it.
#pragma once

#include <memory>
#include <vector>

#include "../mercer/stop.hpp"
#include "arrays.hpp"

namespace mercer::bind {

inline const char* status_name(Status status) {
  switch (status) {
    case Status::solved:
      return "solved";
    case Status::max_iter:
      return "max_iter";
    case Status::max_seconds:
      return "max_seconds";
    case Status::stopped:
      return "stopped";
    case Status::unbounded:
      return "unbounded";
    case Status::indefinite:
      return "indefinite";
    case Status::stalled:
    case Status::coarse:
      return "stalled";
  }
  return "";
}

// Rows of (iteration, objective, gap, violation).
inline nb::object history_out(const std::vector<Record>& records) {
  const std::size_t n = records.size();
  auto history = std::make_unique_for_overwrite<double[]>(4 * n);
  for (std::size_t k = 0; k < n; ++k) {
    history[4 * k] = static_cast<double>(records[k].n_iter);
    history[4 * k + 1] = records[k].objective;
    history[4 * k + 2] = records[k].gap;
    history[4 * k + 3] = records[k].violation;
  }
  return nb::cast(own(std::move(history), {n, 4}));
}

}  // namespace mercer::bind

// What the caller of the solver for several classes in one go may choose, and what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../blocks.hpp"
#include "../stop.hpp"

namespace mercer {

struct JointView {
  std::size_t n_points, n_classes;
  const std::int64_t* label;
  const double* cost;
  const double* start;  // a, (n_points, n_classes), in the sets of the samples
  Margin margin;
  Errors errors;
  double target;  // t
  bool bias;
};

struct JointOptions {
  double tol = 1e-3;
  std::size_t max_iter = std::numeric_limits<std::size_t>::max();
  std::size_t block = 512;           // most samples in a working set, at first
  std::size_t largest_block = 1536;  // where the run is long
  std::size_t whole = 1024;          // up to so many samples there is one working set
  std::size_t exact = 512;           // up to so many it is in double
  bool shrinking = true;
  bool full_precision = false;
};

struct JointResult {
  std::vector<double> a, f;  // (n_points, n_classes): multipliers, and sum_j B_jk K_ij
  std::vector<double> offsets;
  double violation = 0.0, seconds = 0.0;
  std::size_t n_iter = 0, evaluations = 0;
  Status status = Status::solved;
  bool full_precision = false;
  std::vector<Record> history;
};

}  // namespace mercer

// What the caller of sequential minimal optimisation may choose, and what it gets.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "../stop.hpp"

namespace mercer {

enum class PairRule { gain, violation };

struct SmoOptions {
  double tol = 1e-3;
  PairRule rule = PairRule::gain;
  std::size_t max_iter = std::numeric_limits<std::size_t>::max();
  std::size_t smallest_block = 128;  // points in a block of a small problem
  std::size_t block = 512;           // most points in a block, at first
  std::size_t largest_block = 1536;  // where the run is long: more would not stay in a cache
  std::size_t whole = 1024;          // up to so many points there is one block
  std::size_t exact = 512;           // up to so many points it is in double
  std::size_t polish = 256;          // up to so many points, the solution is exact up to rounding
  bool shrinking = true;
  bool full_precision = false;
  // Where the rounding of float32 rows is far below tol, leave f and the certificate at that.
  bool rough = false;
  // Whether the solution will be divided by its margin, half the difference of the two offsets: `tol` then counts in
  // units of it (two equalities only).
  bool scaled = false;
  // Report `unbounded` when |w| / |p'a| falls below this fraction of the largest feature norm (hard margins
  // only).
  double unbounded_ratio = 0.0;

  // Let every block have `size` points. The last digits are for problems that are one block.
  void fix_block(std::size_t size) {
    smallest_block = block = largest_block = whole = size;
    polish = 0;
  }
};

struct SmoResult {
  std::vector<double> a, gradient;
  double objective = 0.0, violation = 0.0, seconds = 0.0;
  std::size_t n_iter = 0, evaluations = 0;
  Status status = Status::solved;
  bool full_precision = false;
  std::vector<Record> history;
};

}  // namespace mercer

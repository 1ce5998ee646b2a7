// The offsets, by the method of multipliers: b'z + sigma/2 |z|^2 joins the objective, where z_k = sum_i B_ik has to
// vanish. To the samples this is an offset b + sigma z that follows every step, and sigma more on the diagonal of the
// kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace mercer::joint {

struct Offsets {
  std::vector<double> multiplier, excess, value;  // b, z, b + sigma z
  double penalty = 0.0;                           // sigma; without offsets it stays zero

  explicit Offsets(std::size_t n_classes) : multiplier(n_classes, 0.0), excess(n_classes, 0.0), value(n_classes, 0.0) {}

  // sigma is of the size of the kernel values: it then neither dominates a step nor lags behind.
  void choose_penalty(double scale) {
    penalty = scale;
    largest_penalty_ = 1e3 * scale;
  }

  double largest_excess() const {
    double worst = 0.0;
    for (const double z : excess) worst = std::max(worst, std::abs(z));
    return worst;
  }

  // After a change of b, z or sigma.
  void follow() {
    for (std::size_t k = 0; k < value.size(); ++k) value[k] = multiplier[k] + penalty * excess[k];
  }

  // b += sigma z; a larger sigma where the last one did too little.
  void update_multipliers() {
    const double now = largest_excess();
    for (std::size_t k = 0; k < value.size(); ++k) multiplier[k] += penalty * excess[k];
    if (now > 0.3 * last_excess_) penalty = std::min(2.0 * penalty, largest_penalty_);
    last_excess_ = now;
    follow();
  }

 private:
  double largest_penalty_ = 0.0, last_excess_ = std::numeric_limits<double>::infinity();
};

}  // namespace mercer::joint

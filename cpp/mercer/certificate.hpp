// What a point of a dual problem is worth (the problem and its notation: dual.hpp): the formulas of
// mercer.problems.DualProblem, for the many problems of one call.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dual.hpp"

namespace mercer {

// The right-hand sides of the equalities: of s'a, or of the sums of a over the variables of each sign.
struct Totals {
  double plus = 0.0, minus = 0.0;
};

struct Certificate {
  double objective = 0.0, gap = 0.0, violation = 0.0, imbalance = 0.0;
  double plus = 0.0, minus = 0.0;  // the offsets that variables of sign + and of sign - see
};

namespace smo {

// A sum that keeps what rounding would lose of every term (A. Neumaier, 1974).
class Sum {
 public:
  void operator+=(double x) {
    const double sum = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  operator double() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0.0, lost_ = 0.0;
};

// `scaled`: as in SmoOptions.
class Certifier {
 public:
  Certifier(const DualView& problem, const Totals& totals, bool scaled, const double* a, const double* gradient)
      : p_(problem), totals_(totals), scaled_(scaled), a_(a), gradient_(gradient) {}

  Certificate certify() {
    Certificate c;
    look();
    c.objective = objective_;
    c.violation = violation();
    c.imbalance = imbalance();
    find_offsets(c);
    c.gap = hard_ ? hard_gap(c) : gap(c);
    return c;
  }

 private:
  // The variables that share an equality.
  struct Group {
    Extremes extremes;
    Sum total, of_free;  // s a; v of the variables between their bounds
    std::size_t n_free = 0;
  };

  std::size_t n_groups() const { return p_.equality == Equality::per_sign ? 2 : 1; }
  std::size_t group_of(std::size_t k) const { return n_groups() == 2 && p_.sign[k] < 0.0 ? 1 : 0; }

  void look() {
    Sum twice;
    for (std::size_t k = 0; k < p_.n_variables; ++k) {
      const bool plus = p_.sign[k] > 0.0, below = a_[k] < p_.upper[k], above = a_[k] > 0.0;
      const double v = -p_.sign[k] * gradient_[k];
      Group& group = groups_[group_of(k)];
      if (plus ? below : above) group.extremes.largest = std::max(group.extremes.largest, v);
      if (plus ? above : below) group.extremes.smallest = std::min(group.extremes.smallest, v);
      if (below && above) {
        group.of_free += v;
        ++group.n_free;
      }
      group.total += p_.sign[k] * a_[k];
      twice += a_[k] * (gradient_[k] + p_.linear[k]);
      // Only a hard margin looks at these: the edges of the classes.
      if (plus) edge_plus_ = std::max(edge_plus_, v);
      if (!plus) edge_minus_ = std::min(edge_minus_, v);
      hard_ = hard_ && p_.upper[k] == infinity && p_.ridge[k] == 0.0;
      linear_ = linear_ || p_.linear[k] != 0.0;
    }
    objective_ = 0.5 * twice;
  }

  double violation() const {
    double worst = 0.0;
    for (std::size_t g = 0; g < n_groups(); ++g) {
      worst = std::max(worst, groups_[g].extremes.violation(p_.equality));
    }
    return worst;
  }

  double imbalance() const {
    switch (p_.equality) {
      case Equality::none:
        return 0.0;
      case Equality::total:
        return std::abs(groups_[0].total - totals_.plus);
      case Equality::per_sign:
        return std::max(std::abs(groups_[0].total - totals_.plus), std::abs(groups_[1].total + totals_.minus));
    }
    return 0.0;
  }

  // Variables between their bounds know b [CY eqs 1.27, 1.50]; without one it is the middle of what the conditions
  // allow, for a hard margin that between the classes [CY eq 1.14].
  void find_offsets(Certificate& c) const {
    if (p_.equality == Equality::none) return;
    if (hard_ && p_.equality == Equality::total) {
      const double middle = 0.5 * (edge_plus_ + edge_minus_);
      c.plus = c.minus = std::isfinite(edge_plus_) && std::isfinite(edge_minus_) ? middle : 0.0;
      return;
    }
    double found[2] = {};
    for (std::size_t g = 0; g < n_groups(); ++g) {
      const Group& group = groups_[g];
      found[g] = group.n_free > 0 ? group.of_free / double(group.n_free) : group.extremes.middle(p_.equality);
    }
    c.plus = found[0];
    c.minus = found[n_groups() - 1];
    // Neither a margin nor a tube has a negative width, also before the optimum.
    if (scaled_ ? c.plus > c.minus : c.plus < c.minus && linear_) c.plus = c.minus = 0.5 * (c.plus + c.minus);
  }

  // G + s b - r a, the slope of variable k
  double slope(std::size_t k, const Certificate& c) const {
    return gradient_[k] + p_.sign[k] * (p_.sign[k] > 0.0 ? c.plus : c.minus) - p_.ridge[k] * a_[k];
  }

  double gap(const Certificate& c) const {
    Sum sum;
    for (std::size_t k = 0; k < p_.n_variables; ++k) sum += gap_term(a_[k], slope(k, c), p_.upper[k], p_.ridge[k]);
    return sum;
  }

  // w and b are scaled by the t for which every constraint t s f >= -p holds.
  double hard_gap(const Certificate& c) const {
    double scale = 0.0;
    Sum squared_norm;
    for (std::size_t k = 0; k < p_.n_variables; ++k) {
      squared_norm += a_[k] * (gradient_[k] - p_.linear[k]);
      const double margin = slope(k, c) - p_.linear[k];
      if (p_.linear[k] < 0.0) scale = std::max(scale, margin > 0.0 ? -p_.linear[k] / margin : infinity);
    }
    if (scale == infinity) return infinity;
    return std::max(0.0, 0.5 * scale * scale * std::max(0.0, double(squared_norm)) + c.objective);
  }

  const DualView& p_;
  Totals totals_;
  bool scaled_;
  const double *a_, *gradient_;
  Group groups_[2];
  double objective_ = 0.0, edge_plus_ = -infinity, edge_minus_ = infinity;
  bool hard_ = true, linear_ = false;
};

}  // namespace smo
}  // namespace mercer

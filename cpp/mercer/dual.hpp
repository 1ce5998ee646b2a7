// The dual problem of a support vector machine as the solver sees it, and the terms of its certificate.
//
//   min 1/2 a'Qa + p'a,  0 <= a <= u,  Q_ij = s_i s_j K[point_i, point_j] + ridge_i [i = j],
//
// with s'a fixed, with the sums of both signs fixed, or with no equality at all.
//
// Notation. f = K (s a) lives on the points. v_i = -s_i G_i = -s_i (p_i + ridge_i a_i) - f, G the gradient, is what the
// offset b would be if variable i were free. `up` are the variables for which s_i a_i may grow, `low` those for which
// it may shrink; the largest v of `up` minus the smallest v of `low` is the violation of the optimality conditions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mercer {

enum class Equality { none, total, per_sign };

struct DualView {
  std::size_t n_variables = 0;
  std::size_t n_points = 0;
  const std::int64_t* point = nullptr;  // variable -> point
  const double *sign = nullptr, *linear = nullptr, *upper = nullptr, *ridge = nullptr, *start = nullptr;
  Equality equality = Equality::total;
};

namespace smo {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double smallest_curvature = 1e-12, rounding_of_a_step = 1e-14;

// At most one variable per point: `size` of them side by side, with gaps (variable -1, in neither `up` nor
// `low`).
struct Layer {
  std::vector<std::int64_t> variable;
  std::vector<double> a, sign, linear, upper, ridge;
  std::vector<double> up, low;  // v + f where the variable may grow / shrink, else -inf / +inf

  void resize(std::size_t n) {
    variable.assign(n, -1);
    for (auto* values : {&a, &sign, &linear, &upper, &ridge}) values->assign(n, 0.0);
    up.assign(n, -infinity);
    low.assign(n, infinity);
  }

  void copy_from(const Layer& other, std::size_t from, std::size_t to) {
    variable[to] = other.variable[from];
    a[to] = other.a[from];
    sign[to] = other.sign[from];
    linear[to] = other.linear[from];
    upper[to] = other.upper[from];
    ridge[to] = other.ridge[from];
    up[to] = other.up[from];
    low[to] = other.low[from];
  }

  // What a step changes, of a copy of the same variable.
  void copy_state_from(const Layer& other, std::size_t from, std::size_t to) {
    a[to] = other.a[from];
    up[to] = other.up[from];
    low[to] = other.low[from];
  }

  // Position k receives what was at from[k].
  void reorder(const std::vector<std::size_t>& from) {
    const Layer before = *this;
    for (std::size_t k = 0; k < from.size(); ++k) copy_from(before, from[k], k);
  }

  double gradient(std::size_t i, double f) const { return sign[i] * f + ridge[i] * a[i] + linear[i]; }

  void classify(std::size_t i) {
    if (variable[i] < 0) return;
    const double offset = -sign[i] * (linear[i] + ridge[i] * a[i]);
    const bool below = a[i] < upper[i], above = a[i] > 0.0;
    up[i] = (sign[i] > 0 ? below : above) ? offset : -infinity;
    low[i] = (sign[i] > 0 ? above : below) ? offset : infinity;
  }

  // How far s a may move up (or down).
  double room(std::size_t i, bool upwards) const { return (sign[i] > 0) == upwards ? upper[i] - a[i] : a[i]; }

  // s a += step; a step as long as the room, up to the rounding of what the variable may be, ends exactly on the bound:
  // what is left of the room would make the variable a free one, with a say in the offset.
  void move(std::size_t i, double step, bool to_the_bound) {
    if (step == 0.0) return;
    const bool grows = sign[i] * step > 0;
    const double space = room(i, step > 0.0), scale = grows && upper[i] < infinity ? upper[i] : std::abs(step);
    to_the_bound = to_the_bound || space - std::abs(step) <= rounding_of_a_step * scale;
    a[i] = to_the_bound ? (grows ? upper[i] : 0.0) : a[i] + sign[i] * step;
    classify(i);
  }
};

// The optimality conditions of one group of variables that share an equality.
struct Extremes {
  double largest = -infinity, smallest = infinity;  // v over `up`, v over `low`

  double violation(Equality equality) const {
    if (equality == Equality::none) return std::max({largest, -smallest, 0.0});
    return largest > -infinity && smallest < infinity ? std::max(0.0, largest - smallest) : 0.0;
  }

  // The offset in the middle of what the conditions allow.
  double middle(Equality equality) const {
    if (equality == Equality::none) return 0.0;
    if (largest == -infinity) return smallest == infinity ? 0.0 : smallest;
    return smallest == infinity ? largest : 0.5 * (largest + smallest);
  }
};

// What a variable lacks to the best response t to its slope c: a c + r a^2/2 - min_{0 <= t <= u} (c t + r t^2/2), the
// terms of the duality gap. Written as (c + r t)(a - t) + r (a - t)^2/2, of which neither part can be negative.
inline double gap_term(double a, double c, double upper, double ridge) {
  const double t = c >= 0.0 ? 0.0 : (ridge > 0.0 ? std::min(upper, -c / ridge) : upper);
  if (t == infinity) return infinity;
  return (c + ridge * t) * (a - t) + 0.5 * ridge * (a - t) * (a - t);
}

}  // namespace smo
}  // namespace mercer

// From one problem of a path to the next: the same points, variables and signs, with other bounds, linear terms, ridges
// or sums. A multiple of the last solution is a first point of the next problem, and f is the same multiple of f.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../dual.hpp"
#include "state.hpp"

namespace mercer::smo {

// Sums are equal up to rounding.
inline constexpr double rounding_of_sums = 1e-10;

// Bounds that have risen by more than this factor are others.
inline constexpr double far_apart = 16.0;

class Successor {
 public:
  // `now` is at a feasible point of its own; all points of both are active and in their own order.
  Successor(const State& before, const State& now) : before_(before), now_(now) {
    double slope = 0.0, curvature = 0.0;  // of the objective along a_before
    double limit = infinity;
    std::size_t at_bounds = 0;
    for (std::size_t l = 0; l < now.layers.size(); ++l) {
      const Layer &old = before.layers[l], &layer = now.layers[l];
      const std::size_t g = now.group_of(l);
      for (std::size_t i = 0; i < now.size(); ++i) {
        sums_[g] += layer.sign[i] * layer.a[i];
        sums_before_[g] += layer.sign[i] * old.a[i];
        mass_ += layer.a[i] + old.a[i];
        if (old.a[i] == 0.0) continue;
        slope += layer.linear[i] * old.a[i];
        curvature += old.a[i] * (layer.sign[i] * before.f[i] + layer.ridge[i] * old.a[i]);
        limit = std::min(limit, layer.upper[i] / old.a[i]);
        at_bounds += old.a[i] >= old.upper[i];
      }
    }
    // Beyond this, most of what was at its bound will not stay there: to take it back takes longer than to begin
    // afresh.
    constexpr double far = 16.0, few = 0.01;
    if (limit > far && double(at_bounds) > few * double(now.size())) return;
    free_of_sums_ = now.problem.equality == Equality::none || (is_nothing(sums_[0]) && is_nothing(sums_[1]));
    if (free_of_sums_) {
      factor_ = curvature > 0.0 ? std::clamp(-slope / curvature, 0.0, limit) : std::min(1.0, limit);
      objective_ = factor_ * (slope + 0.5 * factor_ * curvature);
      at_the_limit_ = factor_ == limit;
      return;
    }
    // The sums leave one multiple.
    const std::size_t g = std::abs(sums_before_[0]) > std::abs(sums_before_[1]) ? 0 : 1;
    if (sums_before_[g] == 0.0) return;
    factor_ = sums_[g] / sums_before_[g];
    const bool sums =
        is_nothing(sums_[0] - factor_ * sums_before_[0]) && is_nothing(sums_[1] - factor_ * sums_before_[1]);
    if (!sums || factor_ > limit * (1.0 + rounding_of_sums) || !(factor_ > 0.0)) factor_ = 0.0;
    at_the_limit_ = true;
  }

  // The best multiple of the last solution; 0: there is none, or it is no use.
  double factor() const { return factor_; }
  double objective() const { return objective_; }

  // a = factor a_before; what reaches its bound, up to rounding, is put there.
  std::vector<std::vector<double>> multiple() const {
    return map([&](const Layer& old, const Layer& layer, std::size_t i) {
      const double a = factor_ * old.a[i];
      return a >= layer.upper[i] * (1.0 - rounding_of_a_step) ? layer.upper[i] : a;
    });
  }

  // Another first point, for when many bounds have risen and the multiple does not reach them: what was at its bound
  // goes to the new one, the others stay, and all are shifted until the equality holds. Empty where the multiple is
  // the better one for sure.
  std::vector<std::vector<double>> at_new_bounds() const {
    if (at_the_limit_ || !free_of_sums_ || now_.n_groups() > 1) return {};
    bool any = false;
    auto a = map([&](const Layer& old, const Layer& layer, std::size_t i) {
      const bool bound = old.a[i] > 0.0 && old.a[i] >= old.upper[i];
      any = any || bound;
      return bound ? layer.upper[i] : std::min(old.a[i], layer.upper[i]);
    });
    if (!any) return {};
    if (now_.problem.equality == Equality::total) balance(a);
    return a;
  }

 private:
  bool is_nothing(double sum) const { return std::abs(sum) <= rounding_of_sums * mass_; }

  template <class Value>
  std::vector<std::vector<double>> map(Value value) const {
    std::vector<std::vector<double>> a(now_.layers.size());
    for (std::size_t l = 0; l < a.size(); ++l) {
      for (std::size_t i = 0; i < now_.size(); ++i) a[l].push_back(value(before_.layers[l], now_.layers[l], i));
    }
    return a;
  }

  // The nearest point of the box with s'a = 0: clip(a - shift s), by bisection.
  void balance(std::vector<std::vector<double>>& a) const {
    const auto shifted = [&](std::size_t l, std::size_t i, double shift) {
      const Layer& layer = now_.layers[l];
      return std::clamp(a[l][i] - shift * layer.sign[i], 0.0, layer.upper[i]);
    };
    const auto excess = [&](double shift) {
      double sum = 0.0;
      for (std::size_t l = 0; l < a.size(); ++l) {
        for (std::size_t i = 0; i < a[l].size(); ++i) sum += now_.layers[l].sign[i] * shifted(l, i, shift);
      }
      return sum;
    };
    double high = 0.0;
    for (const auto& values : a) high = std::max(high, *std::max_element(values.begin(), values.end()));
    double low = -high;
    for (int step = 0; step < 60; ++step) {
      const double middle = 0.5 * (low + high);
      (excess(middle) > 0.0 ? low : high) = middle;
    }
    for (std::size_t l = 0; l < a.size(); ++l) {
      for (std::size_t i = 0; i < a[l].size(); ++i) a[l][i] = shifted(l, i, high);
    }
  }

  const State &before_, &now_;
  double sums_[2] = {}, sums_before_[2] = {}, mass_ = 0.0;
  double factor_ = 0.0, objective_ = 0.0;
  bool free_of_sums_ = false, at_the_limit_ = false;
};

}  // namespace mercer::smo

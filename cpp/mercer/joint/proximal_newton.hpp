// Machines for several classes, learnt in one go, over few features: the proximal Newton method.
//
// For samples with features x_i, weights W_k of the classes with prices p_j and centres c_kj, and the multipliers a_i
// in their sets (blocks.hpp; m are the margins of a sample, t their target, C its cost),
//
//   min_W  1/2 sum_kj p_j (W_kj - c_kj)^2 + sum_i max_u [u'(t - m_i(W)) - delta / (2 C_i) |u - a_i|^2],  u in set i,
//
// is piecewise quadratic with a continuous slope: Newton's method with an exact line search solves it in a few steps,
// each of O(K^2 d^2) per undecided sample and O(K^3 d^3) at most (O(K d^2) and O(K d^3) for absolute margins that are
// summed up). Then a moves to u and the band of undecided samples,
// of width delta, shrinks: the proximal point method on the dual, min_a 1/2 sum_kj G_kj^2 / p_j + c'G - t sum a with
// G_k = sum_i B_ik x_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../definite.hpp"
#include "../level.hpp"
#include "../stop.hpp"

namespace mercer::joint {

struct FewFeatures {
  std::size_t n_points, n_classes, n_features;
  const double* x;  // (n_points, n_features)
  const std::size_t* label;
  const double* cost;
  Margin margin;
  Errors errors;
  double target;
  std::vector<double> price;   // (n_features)
  std::vector<double> centre;  // (n_classes, n_features)
  bool moving_offsets;         // the last feature is one; its centres follow its weights
};

class ProximalNewton {
 public:
  // a (n_points, n_classes) is where to begin, and then where it ended.
  ProximalNewton(const Level& level, FewFeatures problem, std::vector<double> a, const Watch& watch)
      : algebra_(level.algebra),
        p_(std::move(problem)),
        n_(p_.n_points),
        classes_(p_.n_classes),
        d_(p_.n_features),
        watch_(watch),
        a_(std::move(a)),
        u_(n_ * classes_),
        f_(n_ * classes_),
        df_(n_ * classes_),
        v_(classes_),
        lack_(classes_),
        state_(n_ * classes_),
        tied_(n_) {}

  // For how many features a step takes so many multiplications, about; by far not all samples are undecided.
  static double most_features(Margin margin, Errors errors, double points, double classes, double work) {
    constexpr double undecided = 0.2;
    if (margin == Margin::relative || errors == Errors::largest) return std::cbrt(3.0 * work) / classes;
    return std::min(std::sqrt(work / (undecided * classes * points)), std::cbrt(work / classes));
  }

  const std::vector<double>& multipliers() const { return a_; }
  // Weights of the last feature.
  std::vector<double> offsets() const {
    std::vector<double> offsets(classes_);
    for (std::size_t k = 0; k < classes_; ++k) offsets[k] = weights_[k * d_ + d_ - 1];
    return offsets;
  }
  std::size_t n_steps() const { return n_steps_; }

  // Until the violation is at most eps or does not fall any more; a is the best that was seen. Returns whether the
  // method got anywhere.
  bool solve(double eps) {
    constexpr std::size_t most_stages = 100, patience = 5;
    constexpr double shrink = 0.2, narrow = 1e-2;
    place(a_);
    double best = largest_violation(), now = best, width = std::max(2.0 * best, 1e-12 * p_.target);
    const double first = width;
    std::vector<double> best_a = a_, best_weights = weights_;
    std::size_t worse = 0;
    for (std::size_t stage = 0; stage < most_stages && worse < patience && best > eps; ++stage) {
      const std::size_t steps = minimise(width);
      if (watch_.out_of_time()) break;
      const bool whole = approach();
      place(a_);
      const double violation = largest_violation(), last = std::exchange(now, violation);
      const bool late = width < narrow * first;  // a wide band says little
      worse = violation < 0.5 * best || !late ? 0 : worse + 1;
      if (violation < best) {
        best = violation;
        best_a = a_;
        best_weights = weights_;
      }
      for (std::size_t k = 0; k < classes_ && p_.moving_offsets; ++k) {
        p_.centre[k * d_ + d_ - 1] = weights_[k * d_ + d_ - 1];
      }
      // A band that is too narrow takes many steps, or leaves the decision to rounding.
      if (!whole || steps > 20 || (late && violation > last)) {
        width /= shrink;
      } else if (steps <= 8) {
        width *= shrink;
      }
    }
    a_ = std::move(best_a);
    weights_ = std::move(best_weights);
    return best <= eps || best < narrow * first;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  enum State : char { lower, between, upper };

  bool relative() const { return p_.margin == Margin::relative; }

  // The point that belongs to multipliers.
  void place(const std::vector<double>& a) {
    weights_ = answer(a);
    multiply(weights_, f_);
  }

  // W = c + G / p
  std::vector<double> answer(const std::vector<double>& a) const {
    std::vector<double> w = sums(a);
    for (std::size_t k = 0; k < classes_; ++k) {
      for (std::size_t j = 0; j < d_; ++j) w[k * d_ + j] = p_.centre[k * d_ + j] + w[k * d_ + j] / p_.price[j];
    }
    return w;
  }

  // G
  std::vector<double> sums(const std::vector<double>& a) const {
    std::vector<double> g(classes_ * d_, 0.0), all(d_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      const double* x = p_.x + i * d_;
      double sum = 0.0;
      for (std::size_t k = 0; k < classes_; ++k) {
        const double u = a[i * classes_ + k];
        if (u == 0.0 || k == p_.label[i]) continue;
        sum += u;
        algebra_.subtract(u, x, d_, g.data() + k * d_);
      }
      if (sum != 0.0) algebra_.subtract(-sum, x, d_, relative() ? g.data() + p_.label[i] * d_ : all.data());
    }
    if (!relative()) {
      for (std::size_t p = 0; p < g.size(); ++p) g[p] += all[p % d_] / static_cast<double>(classes_);
    }
    return g;
  }

  // f_ik = W_k . x_i
  void multiply(const std::vector<double>& w, std::vector<double>& f) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < classes_; ++k) {
        f[i * classes_ + k] = algebra_.inner(w.data() + k * d_, p_.x + i * d_, d_);
      }
    }
  }

  double reference(std::size_t i, const double* f) const {
    if (relative()) return f[p_.label[i]];
    double sum = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) sum += f[k];
    return sum / static_cast<double>(classes_);
  }

  // The best u of sample i for the values f + length df, into v_. `tied`: the cost is used up, where the largest error
  // counts.
  void respond(std::size_t i, double length, bool& tied) {
    const double *f = f_.data() + i * classes_, *df = df_.data() + i * classes_, *a = a_.data() + i * classes_;
    const double cost = p_.cost[i], stiffness = cost / width_;
    const double level = reference(i, f) + length * reference(i, df);
    const std::size_t own = p_.label[i];
    double sum = 0.0, most = -infinite;
    for (std::size_t k = 0; k < classes_; ++k) {
      lack_[k] = p_.target - (level - (f[k] + length * df[k]));
      v_[k] = a[k] + stiffness * lack_[k];
      if (k == own) continue;
      sum += std::max(0.0, v_[k]);
      most = std::max(most, lack_[k]);
    }
    tied = p_.errors == Errors::largest && sum > cost;
    if (tied) {
      // A constant does not matter to the projection but to its rounding; with this one the cost is still used up.
      for (std::size_t k = 0; k < classes_; ++k) v_[k] = cost + a[k] + stiffness * (lack_[k] - most);
      v_[own] = -infinite;
      constexpr double unlimited = std::numeric_limits<double>::max();
      optimise_block(v_.data(), classes_, 0.0, unlimited, cost, cost, v_.data());
    } else {
      for (double& v : v_) v = p_.errors == Errors::sum ? std::clamp(v, 0.0, cost) : std::max(0.0, v);
    }
    v_[own] = 0.0;
  }

  // u for all samples, and which of them are between bounds. False if none of that has changed.
  bool respond_all() {
    bool changed = false;
    for (std::size_t i = 0; i < n_; ++i) {
      bool tied;
      respond(i, 0.0, tied);
      changed = changed || tied != bool(tied_[i]);
      tied_[i] = tied;
      for (std::size_t k = 0; k < classes_; ++k) {
        const bool high = p_.errors == Errors::sum && v_[k] >= p_.cost[i];
        const char state = v_[k] <= 0.0 ? lower : high ? upper : between;
        changed = changed || state != state_[i * classes_ + k];
        state_[i * classes_ + k] = state;
        u_[i * classes_ + k] = v_[k];
      }
    }
    return changed;
  }

  // Newton's method for a width; returns the number of steps.
  std::size_t minimise(double width) {
    constexpr std::size_t most_steps = 50;
    width_ = width;
    std::fill(df_.begin(), df_.end(), 0.0);
    respond_all();
    for (std::size_t step = 1; step <= most_steps; ++step) {
      watch_.poll();
      if (watch_.out_of_time()) return step;
      ++n_steps_;
      std::vector<double> slope = sums(u_);
      for (std::size_t k = 0; k < classes_; ++k) {
        for (std::size_t j = 0; j < d_; ++j) {
          const std::size_t p = k * d_ + j;
          slope[p] -= p_.price[j] * (weights_[p] - p_.centre[p]);
        }
      }
      const std::vector<double> direction = by_class() ? step_by_class(slope) : step_of_all(slope);
      multiply(direction, df_);
      const double length = search(direction);
      for (std::size_t p = 0; p < weights_.size(); ++p) weights_[p] += length * direction[p];
      for (std::size_t p = 0; p < f_.size(); ++p) f_[p] += length * df_[p];
      std::fill(df_.begin(), df_.end(), 0.0);
      // Where nobody changed sides on a whole step, the equations were those of the optimum.
      if (!respond_all() && length == 1.0) return step;
      if (length == 0.0) return step;
    }
    return most_steps;
  }

  // Absolute margins that are summed up couple the classes by their mean alone.
  bool by_class() const { return !relative() && p_.errors == Errors::sum; }

  std::vector<double> step_of_all(std::vector<double> slope) const {
    Definite(algebra_, curvature().data(), slope.size()).solve(slope.data());
    return slope;
  }

  // W adds up to zero, and so must the step. Without that, the curvature of a class is H = p + sum_i C_i/delta x_i x_i'
  // over those between their bounds: the step is H_k^-1 (slope_k - l) with l so that they add up to zero.
  std::vector<double> step_by_class(const std::vector<double>& slope) const {
    std::vector<Definite> factors;
    std::vector<double> total(d_ * d_, 0.0), common(d_, 0.0), h(d_ * d_), x(d_);
    std::vector<double> step = slope;
    for (std::size_t k = 0; k < classes_; ++k) {
      std::fill(h.begin(), h.end(), 0.0);
      for (std::size_t j = 0; j < d_; ++j) h[j * d_ + j] = p_.price[j];
      for (std::size_t i = 0; i < n_; ++i) {
        if (k == p_.label[i] || state_[i * classes_ + k] != between) continue;
        const double *features = p_.x + i * d_, stiffness = p_.cost[i] / width_;
        for (std::size_t j = 0; j < d_; ++j) {
          algebra_.subtract(-stiffness * features[j], features, j + 1, h.data() + j * d_);
        }
      }
      const Definite& factor = factors.emplace_back(algebra_, h.data(), d_);
      factor.solve(step.data() + k * d_);
      algebra_.subtract(-1.0, step.data() + k * d_, d_, common.data());
      for (std::size_t j = 0; j < d_; ++j) {
        std::fill(x.begin(), x.end(), 0.0);
        x[j] = 1.0;
        factor.solve(x.data());
        algebra_.subtract(-1.0, x.data(), d_, total.data() + j * d_);
      }
    }
    Definite(algebra_, total.data(), d_).solve(common.data());
    for (std::size_t k = 0; k < classes_; ++k) {
      x = common;
      factors[k].solve(x.data());
      algebra_.subtract(1.0, x.data(), d_, step.data() + k * d_);
    }
    return step;
  }

  // p + sum_i J_i (x) x_i x_i' with J_i = C_i/delta M_i' P_i M_i, where P_i takes a change of t - m to that of u.
  std::vector<double> curvature() const {
    const std::size_t size = classes_ * d_;
    std::vector<double> h(size * size, 0.0), mean;
    for (std::size_t k = 0; k < classes_; ++k) {
      for (std::size_t j = 0; j < d_; ++j) h[(k * d_ + j) * (size + 1)] = p_.price[j];
    }
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < n_; ++i) {
      free.clear();
      for (std::size_t k = 0; k < classes_; ++k) {
        if (k != p_.label[i] && state_[i * classes_ + k] == between) free.push_back(k);
      }
      if (free.empty()) continue;
      const double stiffness = p_.cost[i] / width_, count = static_cast<double>(free.size());
      const double* x = p_.x + i * d_;
      for (const std::size_t k : free) {
        add(h, k, k, stiffness, x);
        if (tied_[i]) {
          for (const std::size_t l : free) {
            if (l <= k) add(h, k, l, -stiffness / count, x);
          }
        } else if (relative()) {
          add(h, std::max(k, p_.label[i]), std::min(k, p_.label[i]), -stiffness, x);
        }
      }
      if (tied_[i]) continue;
      if (relative()) {
        add(h, p_.label[i], p_.label[i], stiffness * count, x);
        continue;
      }
      // Every margin has the mean of f in it: -(q 1' + 1 q')/K + q'1/K^2 with q = 1 for the free ones.
      const double share = 1.0 / static_cast<double>(classes_);
      mean.assign(classes_, 0.0);
      for (const std::size_t k : free) mean[k] = share;
      for (std::size_t k = 0; k < classes_; ++k) {
        for (std::size_t l = 0; l <= k; ++l) {
          add(h, k, l, stiffness * (count * share * share - mean[k] - mean[l]), x);
        }
      }
    }
    return h;
  }

  // Block (k, l) of h, k >= l, plus value x x'; of blocks on the diagonal the lower triangle counts.
  void add(std::vector<double>& h, std::size_t k, std::size_t l, double value, const double* x) const {
    const std::size_t size = classes_ * d_;
    for (std::size_t j = 0; j < d_; ++j) {
      algebra_.subtract(-value * x[j], x, k == l ? j + 1 : d_, h.data() + (k * d_ + j) * size + l * d_);
    }
  }

  // Where along the direction the slope vanishes, nearly; it rises and is piecewise linear. At most 1.
  double search(const std::vector<double>& direction) {
    constexpr double enough = 0.1;
    double linear = 0.0, quadratic = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) {
      for (std::size_t j = 0; j < d_; ++j) {
        const std::size_t p = k * d_ + j;
        linear += p_.price[j] * (weights_[p] - p_.centre[p]) * direction[p];
        quadratic += p_.price[j] * direction[p] * direction[p];
      }
    }
    const auto slope_at = [&](double length) {
      double slope = linear + length * quadratic;
      for (std::size_t i = 0; i < n_; ++i) {
        bool tied;
        respond(i, length, tied);
        const double* df = df_.data() + i * classes_;
        const double level = reference(i, df);
        for (std::size_t k = 0; k < classes_; ++k) {
          if (v_[k] != 0.0) slope -= v_[k] * (level - df[k]);
        }
      }
      return slope;
    };
    const double first = slope_at(0.0);
    if (!(first < 0.0)) return 0.0;
    double low = 0.0, high = 1.0, at_low = first, at_high = slope_at(1.0);
    if (at_high <= -enough * first) return 1.0;
    for (int step = 0; step < 40; ++step) {
      const double guess = low + (high - low) * at_low / (at_low - at_high);
      const double length = std::clamp(guess, low + 0.1 * (high - low), high - 0.1 * (high - low));
      const double slope = slope_at(length);
      if (std::abs(slope) <= -enough * first) return length;
      (slope < 0.0 ? low : high) = length;
      (slope < 0.0 ? at_low : at_high) = slope;
    }
    return low;
  }

  // a moves to u, or as far as the dual falls. Returns whether it went all the way.
  bool approach() {
    std::vector<double> change(a_.size());
    double linear = 0.0, quadratic = 0.0;
    for (std::size_t p = 0; p < a_.size(); ++p) {
      change[p] = u_[p] - a_[p];
      linear -= p_.target * change[p];
    }
    const std::vector<double> now = answer(a_), g = sums(change);
    for (std::size_t p = 0; p < g.size(); ++p) {
      linear += now[p] * g[p];
      quadratic += g[p] * g[p] / p_.price[p % d_];
    }
    const double length = !(linear < 0.0) ? 0.0 : quadratic > 0.0 ? std::min(1.0, -linear / quadratic) : 1.0;
    for (std::size_t p = 0; p < a_.size(); ++p) a_[p] = length == 1.0 ? u_[p] : a_[p] + length * change[p];
    return length == 1.0;
  }

  BlockView view(std::size_t i, std::vector<double>& slope) const {
    const double* f = f_.data() + i * classes_;
    const double level = reference(i, f);
    for (std::size_t k = 0; k < classes_; ++k) slope[k] = level - f[k] - p_.target;
    return {a_.data() + i * classes_, slope.data(), classes_, p_.label[i], p_.cost[i], p_.errors};
  }

  // Of the optimality conditions: of the samples, and of offsets that still move, which is how the sums of a class
  // show.
  double largest_violation() const {
    std::vector<double> slope(classes_);
    double worst = 0.0;
    for (std::size_t i = 0; i < n_; ++i) worst = std::max(worst, view(i, slope).violation());
    for (std::size_t p = d_ - 1; p < weights_.size() && p_.moving_offsets; p += d_) {
      worst = std::max(worst, std::abs(weights_[p] - p_.centre[p]));
    }
    return worst;
  }

  const Algebra& algebra_;
  FewFeatures p_;
  const std::size_t n_, classes_, d_;
  const Watch& watch_;
  std::vector<double> a_, u_, weights_;  // (n_points, n_classes), and (n_classes, n_features)
  std::vector<double> f_, df_;           // (n_points, n_classes): values at the weights, and along a step
  std::vector<double> v_, lack_;         // of one sample: multipliers, t - m
  std::vector<char> state_, tied_;
  double width_ = 0.0;
  std::size_t n_steps_ = 0;
};

}  // namespace mercer::joint

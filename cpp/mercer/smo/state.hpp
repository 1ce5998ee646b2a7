// The point where the solver stands (notation: dual.hpp): the variables in layers, f = K (s a) on the points, and what
// follows from the two: extremes and violation, objective and duality gap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../dual.hpp"
#include "../level.hpp"
#include "../rows.hpp"

namespace mercer::smo {

struct State {
  const DualView& problem;
  const Level& level;
  std::vector<Layer> layers;
  std::vector<double> group_sign;  // by layer
  std::vector<double> f;
  // Points stand in this order: the active ones first, then those left out, the last to go in front.
  std::vector<std::size_t> order;
  std::size_t n_active;
  std::size_t arrangement = 0;          // changes with the order: positions from another one mean other points
  double objective = 0.0, slope = 0.0;  // slope is p'a
  double largest_diagonal = 0.0;        // of K, at the points seen so far
  double lowest = 0.0;                  // weak duality at w = 0: below this, no positive semi-definite kernel can get
  bool hard = true;                     // a hard margin: neither upper bounds nor ridges
  bool unlimited = false;

  State(const DualView& view, const Level& loops)
      : problem(view),
        level(loops),
        f(view.n_points, 0.0),
        order(all_positions(view.n_points)),
        n_active(view.n_points) {
    make_layers();
  }

  std::size_t size() const { return f.size(); }
  bool separate() const { return problem.equality == Equality::per_sign; }

  // Variables that share an equality form a group.
  std::size_t n_groups() const { return separate() ? 2 : 1; }
  std::size_t group_of(std::size_t layer) const { return separate() && group_sign[layer] < 0 ? 1 : 0; }

  bool is_in_group(std::size_t i, std::size_t g) const {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (group_of(l) == g && layers[l].variable[i] >= 0) return true;
    }
    return false;
  }

  // s a of a point.
  double coefficient(std::size_t i) const {
    double sum = 0.0;
    for (const Layer& layer : layers) sum += layer.sign[i] * layer.a[i];
    return sum;
  }

  std::vector<double> coefficients() const {
    std::vector<double> by_point(size());
    for (std::size_t i = 0; i < size(); ++i) by_point[order[i]] = coefficient(i);
    return by_point;
  }

  // Where s a differs from what it was, by point: `before` is in the order of the points.
  void changes_since(const std::vector<double>& before, std::vector<std::size_t>& changed,
                     std::vector<double>& change) const {
    const std::vector<double> now = coefficients();
    changed.clear();
    change.clear();
    for (std::size_t point = 0; point < size(); ++point) {
      if (now[point] == before[point]) continue;
      changed.push_back(point);
      change.push_back(now[point] - before[point]);
    }
  }

  // Other values of the variables, layer by layer, and the f that belongs to them.
  void put(const std::vector<std::vector<double>>& a, std::vector<double> new_f) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      layers[l].a = a[l];
      for (std::size_t i = 0; i < size(); ++i) layers[l].classify(i);
    }
    f = std::move(new_f);
    take_stock();
  }

  // Position k receives what was at from[k].
  void reorder(const std::vector<std::size_t>& from) {
    for (Layer& layer : layers) layer.reorder(from);
    const std::vector<double> f_before = f;
    const std::vector<std::size_t> order_before = order;
    for (std::size_t k = 0; k < from.size(); ++k) {
      f[k] = f_before[from[k]];
      order[k] = order_before[from[k]];
    }
    ++arrangement;
  }

  // Of the active points.
  std::vector<Extremes> extremes() {
    std::vector<Extremes> groups(n_groups());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Extremes& group = groups[group_of(l)];
      Candidate largest, smallest;
      level.full.update_and_extremes(0.0, nullptr, nullptr, layers[l].up.data(), layers[l].low.data(), n_active,
                                     f.data(), &largest, &smallest);
      group.largest = std::max(group.largest, largest.value);
      group.smallest = std::min(group.smallest, smallest.value);
    }
    return groups;
  }

  double worst(const std::vector<Extremes>& groups) const {
    double worst = 0.0;
    for (const Extremes& group : groups) worst = std::max(worst, group.violation(problem.equality));
    return worst;
  }

  double violation() { return worst(extremes()); }

  double objective_from_gradient() const {
    double sum = 0.0;
    for (const Layer& layer : layers) {
      for (std::size_t i = 0; i < size(); ++i) {
        if (layer.a[i] != 0.0) sum += 0.5 * layer.a[i] * (layer.gradient(i, f[i]) + layer.linear[i]);
      }
    }
    return sum;
  }

  // Objective and p'a of the coefficients at hand: what the steps have added up is rounded.
  void take_stock() {
    objective = objective_from_gradient();
    slope = 0.0;
    for (const Layer& layer : layers) {
      for (std::size_t i = 0; i < size(); ++i) slope += layer.linear[i] * layer.a[i];
    }
  }

  double gap() {
    if (hard) return hard_gap();
    const std::vector<Extremes> groups = extremes();
    double sum = 0.0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Layer& layer = layers[l];
      const double b = groups[group_of(l)].middle(problem.equality);
      for (std::size_t i = 0; i < n_active; ++i) {
        if (layer.variable[i] < 0) continue;
        const double rate = layer.sign[i] * (f[i] + b) + layer.linear[i];
        sum += gap_term(layer.a[i], rate, layer.upper[i], layer.ridge[i]);
      }
    }
    return sum;
  }

 private:
  // Each variable goes to the first layer where its point is free; with one equality per sign, each sign has
  // layers of its own, so that a pair never leaves its layer's group.
  void make_layers() {
    for (std::size_t k = 0; k < problem.n_variables; ++k) {
      const std::size_t point = static_cast<std::size_t>(problem.point[k]);
      std::size_t at = 0;
      for (; at < layers.size(); ++at) {
        if (layers[at].variable[point] >= 0) continue;
        if (!separate() || group_sign[at] == problem.sign[k]) break;
      }
      if (at == layers.size()) {
        layers.emplace_back().resize(problem.n_points);
        group_sign.push_back(problem.sign[k]);
      }
      Layer& layer = layers[at];
      layer.variable[point] = static_cast<std::int64_t>(k);
      layer.a[point] = problem.start[k];
      layer.sign[point] = problem.sign[k];
      layer.linear[point] = problem.linear[k];
      layer.upper[point] = problem.upper[k];
      layer.ridge[point] = problem.ridge[k];
      layer.classify(point);
      unlimited = unlimited || problem.upper[k] == infinity;
      hard = hard && problem.upper[k] == infinity && problem.ridge[k] == 0.0;
      lowest -= gap_term(0.0, problem.linear[k], problem.upper[k], problem.ridge[k]);
    }
  }

  // A hard margin: b is the middle between the classes [CY eq 1.14], and w and b are scaled by the t for which every
  // constraint t s (f + b) >= -p holds.
  double hard_gap() const {
    double lower = -infinity, upper = infinity, scale = 0.0;
    for_each_variable([&](const Layer& layer, std::size_t i) {
      const double v = -layer.sign[i] * layer.linear[i] - f[i];
      if (layer.sign[i] > 0) {
        lower = std::max(lower, v);
      } else {
        upper = std::min(upper, v);
      }
    });
    const double b = problem.equality == Equality::none ? 0.0 : 0.5 * (lower + upper);
    for_each_variable([&](const Layer& layer, std::size_t i) {
      if (layer.linear[i] >= 0.0) return;
      const double margin = layer.sign[i] * (f[i] + b);
      scale = std::max(scale, margin > 0.0 ? -layer.linear[i] / margin : infinity);
    });
    return scale < infinity ? std::max(0.0, scale * scale * (objective - slope) + objective) : infinity;
  }

  template <class Use>
  void for_each_variable(Use use) const {
    for (const Layer& layer : layers) {
      for (std::size_t i = 0; i < size(); ++i) {
        if (layer.variable[i] >= 0) use(layer, i);
      }
    }
  }
};

}  // namespace mercer::smo

// A primal active-set method on a block: Newton steps on the free variables, which come and go one by one.
//
// Pairs of variables crawl where the kernel matrix of the free variables is badly conditioned: large C, wide kernels.
// With F the free variables, E the equalities and v as in dual.hpp, the step d solves
//
//   K_FF d + E lambda = v_F,  E'd = 0,
//
// and leaves v_F = lambda behind: the optimum, if nothing leaves the box. Where something does, the step ends there,
// the variable leaves F and the factor of K_FF, and the next step begins. When a whole step has been made, the
// variables that violate the optimality conditions most enter F. (K. Scheinberg, An efficient implementation of an
// active set method for SVMs, JMLR 7, 2006.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "dual.hpp"
#include "factor.hpp"
#include "level.hpp"

namespace mercer::smo {

class ActiveSet {
 public:
  // K is (n, n); `layers` and `f` are those of the block and are kept up to date. `group_of[l]` numbers the equality of
  // layer l; without equalities n_groups is 0.
  ActiveSet(const Level& level, const double* K, std::size_t n, std::vector<Layer>& layers, std::vector<double>& f,
            std::vector<std::size_t> group_of, std::size_t n_groups)
      : level_(level),
        K_(K),
        n_(n),
        layers_(layers),
        f_(f),
        known_f_(f),
        group_of_(std::move(group_of)),
        offsets_(std::max<std::size_t>(1, n_groups), 0.0),
        n_groups_(n_groups),
        factor_(level),
        moved_(n, 0.0),
        inside_(n, 0) {
    std::vector<Variable> candidates;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t c = 0; c < n_; ++c) {
        if (between_bounds({l, c})) candidates.push_back({l, c});
      }
    }
    enter(candidates, candidates.size());
  }

  struct Step {
    double objective = 0.0, slope = 0.0;  // by how much they have changed
    bool made = false;                    // false: the equations are too badly conditioned
    bool whole = false;                   // nothing left the box: `enter_violating` is next
  };

  Step step() {
    const std::size_t m = free_.size();
    std::vector<double> v(m);
    for (std::size_t k = 0; k < m; ++k) v[k] = value(free_[k]);
    std::vector<double> d = v;
    std::vector<std::vector<double>> y = members();
    std::vector<double*> sides{d.data()};
    for (std::vector<double>& of_group : y) sides.push_back(of_group.data());
    factor_.solve(sides);
    if (!meet_equalities(d, y)) return {};
    double t = 1.0;
    std::size_t blocking = m;
    for (std::size_t k = 0; k < m; ++k) {
      const double room = layers_[free_[k].layer].room(free_[k].position, d[k] > 0.0);
      if (std::abs(d[k]) * t > room) {
        t = room / std::abs(d[k]);
        blocking = k;
      }
    }
    Step done;
    done.made = true;
    for (std::size_t k = 0; k < m && t > 0.0; ++k) {
      Layer& layer = layers_[free_[k].layer];
      const std::size_t c = free_[k].position;
      layer.move(c, t * d[k], k == blocking);
      moved_[c] += t * d[k];
      f_[c] +=
          t * (v[k] - offsets_[group_of(free_[k])] - layer.ridge[c] * d[k]);  // K_FF d, by the equation of the step
      done.objective -= t * (1.0 - 0.5 * t) * v[k] * d[k];
      done.slope += t * d[k] * layer.sign[c] * layer.linear[c];
    }
    if (blocking < m) {
      leave(blocking);
      return done;
    }
    done.whole = true;
    update_f();
    return done;
  }

  // f of all points, of which a step has brought that of F up to date only.
  void update_f() {
    std::vector<double> change(n_, 0.0);
    for (std::size_t c = 0; c < n_; c += tile_rows) {
      double weights[tile_rows] = {};
      const double* rows[tile_rows];
      for (std::size_t r = 0; r < tile_rows; ++r) {
        rows[r] = K_ + std::min(c + r, n_ - 1) * n_;
        if (c + r < n_) weights[r] = moved_[c + r];
      }
      const bool still = std::all_of(weights, weights + tile_rows, [](double w) { return w == 0.0; });
      if (!still) level_.full.accumulate(weights, rows, n_, change.data());
    }
    for (std::size_t c = 0; c < n_; ++c) f_[c] = known_f_[c] += change[c];
    std::fill(moved_.begin(), moved_.end(), 0.0);
  }

  // The variables that violate the conditions most, by more than eps, enter F; false if none can.
  bool enter_violating(double eps) {
    struct Violating {
      double by;
      Variable variable;
    };
    std::vector<Violating> violating;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t c = 0; c < n_; ++c) {
        if (inside_[c]) continue;
        const double b = offsets_[group_of({l, c})];
        const double by = std::max(layers_[l].up[c] - f_[c] - b, b - (layers_[l].low[c] - f_[c]));
        if (by > 0.5 * eps) violating.push_back({by, {l, c}});
      }
    }
    std::sort(violating.begin(), violating.end(), [](const Violating& x, const Violating& y) {
      return x.by != y.by ? x.by > y.by : x.variable.position < y.variable.position;
    });
    std::vector<Variable> candidates;
    for (const Violating& one : violating) candidates.push_back(one.variable);
    constexpr std::size_t most = 16;
    return enter(candidates, most) > 0;
  }

 private:
  struct Variable {
    std::size_t layer, position;
  };

  std::size_t group_of(const Variable& x) const { return n_groups_ == 0 ? 0 : group_of_[x.layer]; }

  bool between_bounds(const Variable& x) const {
    return layers_[x.layer].up[x.position] > -infinity && layers_[x.layer].low[x.position] < infinity;
  }

  // v
  double value(const Variable& x) const {
    const Layer& layer = layers_[x.layer];
    return -layer.sign[x.position] * (layer.linear[x.position] + layer.ridge[x.position] * layer.a[x.position]) -
           f_[x.position];
  }

  // E, a row for every group.
  std::vector<std::vector<double>> members() const {
    std::vector<std::vector<double>> rows(n_groups_, std::vector<double>(free_.size(), 0.0));
    for (std::size_t k = 0; k < free_.size() && n_groups_ > 0; ++k) rows[group_of(free_[k])][k] = 1.0;
    return rows;
  }

  // d -= K_FF^-1 E lambda, so that E'd = 0; the multipliers are the offsets. One equality per group, which share
  // nothing but K: for two groups a system of two equations. y is K_FF^-1 E. False where rounding leaves nothing of
  // them.
  bool meet_equalities(std::vector<double>& d, const std::vector<std::vector<double>>& y) {
    const std::size_t m = free_.size();
    double S[2][2] = {{1.0, 0.0}, {0.0, 1.0}};
    for (std::size_t g = 0; g < n_groups_; ++g) {
      offsets_[g] = 0.0;
      const bool any = std::any_of(free_.begin(), free_.end(), [&](const Variable& x) { return group_of(x) == g; });
      if (!any) {
        offsets_[g] = middle(g);
        continue;
      }
      for (std::size_t h = 0; h < n_groups_; ++h) S[h][g] = 0.0;
      for (std::size_t k = 0; k < m; ++k) S[group_of(free_[k])][g] += y[g][k];
      if (!(S[g][g] > 0.0)) return false;
    }
    const double determinant = S[0][0] * S[1][1] - S[0][1] * S[1][0];
    if (!(determinant > 0.0)) return false;
    // Twice: the second time for what rounding has left of the first.
    for (int round = 0; round < 2; ++round) {
      double sums[2] = {};
      for (std::size_t k = 0; k < m && n_groups_ > 0; ++k) sums[group_of(free_[k])] += d[k];
      const double lambda[2] = {(S[1][1] * sums[0] - S[0][1] * sums[1]) / determinant,
                                (S[0][0] * sums[1] - S[1][0] * sums[0]) / determinant};
      for (std::size_t g = 0; g < n_groups_; ++g) {
        if (sums[g] == 0.0) continue;
        offsets_[g] += lambda[g];
        for (std::size_t k = 0; k < m; ++k) d[k] -= lambda[g] * y[g][k];
      }
    }
    double size = 0.0, sums[2] = {};
    for (std::size_t k = 0; k < m && n_groups_ > 0; ++k) {
      size += std::abs(d[k]) + layers_[free_[k].layer].a[free_[k].position];
      sums[group_of(free_[k])] += d[k];
    }
    return std::abs(sums[0]) + std::abs(sums[1]) <= 1e-12 * size;
  }

  double middle(std::size_t g) const {
    Extremes extremes;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (group_of_[l] != g) continue;
      for (std::size_t c = 0; c < n_; ++c) {
        extremes.largest = std::max(extremes.largest, layers_[l].up[c] - f_[c]);
        extremes.smallest = std::min(extremes.smallest, layers_[l].low[c] - f_[c]);
      }
    }
    return extremes.middle(Equality::total);
  }

  // Up to `most` of the candidates enter F, in their order; those that depend on it, up to rounding, do not. Returns
  // how many did.
  std::size_t enter(const std::vector<Variable>& candidates, std::size_t most) {
    std::size_t entered = 0;
    std::vector<Variable> group;
    for (std::size_t k = 0; k < candidates.size() && entered < most; ++k) {
      const bool doubled = inside_[candidates[k].position] ||
                           std::any_of(group.begin(), group.end(),
                                       [&](const Variable& other) { return other.position == candidates[k].position; });
      if (!doubled) group.push_back(candidates[k]);
      if (group.size() < std::min(Factor::group, most - entered) && k + 1 < candidates.size()) continue;
      entered += enter(group);
      group.clear();
    }
    return entered;
  }

  std::size_t enter(const std::vector<Variable>& group) {
    std::vector<double> with_free(free_.size() * Factor::group, 0.0);
    for (std::size_t k = 0; k < free_.size(); ++k) {
      for (std::size_t g = 0; g < group.size(); ++g) {
        with_free[k * Factor::group + g] = K_[group[g].position * n_ + free_[k].position];
      }
    }
    const std::vector<char> taken =
        factor_.append(std::move(with_free), group.size(), [&](std::size_t g, std::size_t h) {
          const Variable &x = group[g], &y = group[h];
          return K_[x.position * n_ + y.position] + (g == h ? layers_[x.layer].ridge[x.position] : 0.0);
        });
    std::size_t entered = 0;
    for (std::size_t g = 0; g < group.size(); ++g) {
      if (!taken[g]) continue;
      free_.push_back(group[g]);
      inside_[group[g].position] = 1;
      ++entered;
    }
    return entered;
  }

  void leave(std::size_t k) {
    inside_[free_[k].position] = 0;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(k));
    factor_.remove(k);
  }

  const Level& level_;
  const double* K_;
  std::size_t n_;
  std::vector<Layer>& layers_;
  std::vector<double>& f_;
  std::vector<double> known_f_;  // f when `moved_` was zero
  std::vector<std::size_t> group_of_;
  std::vector<double> offsets_;  // lambda
  std::size_t n_groups_;
  Factor factor_;
  std::vector<Variable> free_;
  std::vector<double> moved_;  // s a, by position
  std::vector<char> inside_;   // whether a variable of this position is in F
};

}  // namespace mercer::smo

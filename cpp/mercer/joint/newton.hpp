// Newton's method on the multipliers of a working set that are between their bounds, by conjugate gradients: where
// steps sample by sample crawl.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../blocks.hpp"
#include "../kernels.hpp"
#include "../run.hpp"
#include "offsets.hpp"
#include "options.hpp"
#include "state.hpp"
#include "working_set.hpp"

namespace mercer::joint {

// Multipliers between their bounds, sample by sample.
struct Free {
  struct Group {
    std::size_t place, begin;  // in the set, in `classes`
    bool used_up;              // their sum has to stay
  };
  std::vector<Group> groups;  // one more at the end
  std::vector<std::size_t> classes;

  template <class Use>
  void for_each(Use use) const {
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      for (std::size_t e = groups[g].begin; e < groups[g + 1].begin; ++e) use(groups[g].place, classes[e], e);
    }
  }

  void project(std::vector<double>& change) const { keep_sums(groups, change); }
};

// What a change of multipliers does: to f (n_classes, size), to z, and to the slopes.
struct Response {
  std::vector<double> coefficients, f, z, slope;
  std::size_t work = 0;
};

class Newton {
 public:
  Newton(State& state, Run& run) : state_(state), problem_(state.problem), offsets_(state.offsets), run_(run) {}

  // Steps until the bounds that they meet are those of the optimum over the multipliers between theirs, or so many rows
  // have been added.
  template <class T>
  void descend(WorkingSet<T>& set, std::size_t work_limit) {
    Response response;
    std::vector<double> slope;
    while (response.work < work_limit) {
      const Free free = find_free(set, slope);
      if (slope.empty()) break;
      bool flat = false;
      const std::vector<double> x = find_step(set, free, slope, response, flat);
      if (follow_path(set, free, slope, x, response) && !flat) break;
      if (run_.n_iter >= run_.max_iter || run_.watch.out_of_time()) break;
    }
  }

 private:
  template <class T>
  void respond(const WorkingSet<T>& set, const Free& free, const std::vector<double>& change, Response& response) {
    const std::size_t m = set.size(), n_classes = state_.n_classes;
    response.coefficients.assign(n_classes * m, 0.0);
    response.f.assign(n_classes * m, 0.0);
    response.z.assign(n_classes, 0.0);
    free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
      response.coefficients[k * m + c] -= change[e];
      if (state_.relative()) response.coefficients[state_.own(set.points[c]) * m + c] += change[e];
    });
    double mean = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      const double* coefficients = response.coefficients.data() + k * m;
      for (std::size_t c = 0; c < m; c += tile_rows) {
        double weights[tile_rows] = {};
        const T* rows[tile_rows];
        bool any = false;
        for (std::size_t r = 0; r < tile_rows; ++r) {
          rows[r] = set.row(std::min(c + r, m - 1));
          if (c + r < m) weights[r] = coefficients[c + r];
          any = any || weights[r] != 0.0;
          response.z[k] += weights[r];
        }
        if (!any) continue;
        state_.level.loops<T>().accumulate(weights, rows, m, response.f.data() + k * m);
        response.work += tile_rows / 2;
      }
      mean += response.z[k] / static_cast<double>(n_classes);
    }
    if (!state_.relative()) {
      for (double& z : response.z) z -= mean;
    }
    response.slope.resize(change.size());
    std::vector<double> reference(m, 0.0);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t y = state_.own(set.points[c]);
      if (state_.relative()) {
        reference[c] = response.f[y * m + c] + offsets_.penalty * response.z[y];
      } else {
        for (std::size_t k = 0; k < n_classes; ++k) reference[c] += response.f[k * m + c] / double(n_classes);
      }
    }
    free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
      response.slope[e] = reference[c] - (response.f[k * m + c] + offsets_.penalty * response.z[k]);
    });
  }

  template <class T>
  Free find_free(const WorkingSet<T>& set, std::vector<double>& slope) {
    Free free;
    slope.clear();
    for (std::size_t c = 0; c < set.size(); ++c) {
      const std::size_t i = set.points[c];
      state_.find_slopes(i, set.f.data() + c, set.size());
      const bool used_up = problem_.errors == Errors::largest && state_.view(i).spare() == 0.0;
      free.groups.push_back({c, free.classes.size(), used_up});
      for (std::size_t k = 0; k < state_.n_classes; ++k) {
        const double a = state_.a_of(i)[k];
        if (k == state_.own(i) || a <= 0.0 || (problem_.errors == Errors::sum && a >= problem_.cost[i])) continue;
        free.classes.push_back(k);
        slope.push_back(state_.slope[k]);
      }
    }
    free.groups.push_back({set.size(), free.classes.size(), false});
    return free;
  }

  // H x = -slope on the multipliers between their bounds. Where H is flat in a direction that leads down, x goes as far
  // as it is not, or all the way to the bounds.
  template <class T>
  std::vector<double> find_step(const WorkingSet<T>& set, const Free& free, const std::vector<double>& slope,
                                Response& response, bool& flat) {
    constexpr std::size_t most_steps = 100;
    const std::size_t n = slope.size();
    const auto inner = [&](const std::vector<double>& u, const std::vector<double>& v) {
      return state_.level.algebra.inner(u.data(), v.data(), n);
    };
    std::vector<double> x(n, 0.0), r(n), p;
    for (std::size_t e = 0; e < n; ++e) r[e] = -slope[e];
    free.project(r);
    p = r;
    double squared = inner(r, r);
    const double enough = 1e-12 * squared;
    for (std::size_t step = 0; step < most_steps && squared > enough; ++step) {
      run_.watch.poll();
      ++run_.n_iter;
      respond(set, free, p, response);
      const double curvature = inner(p, response.slope);
      flat = curvature <= 1e-13 * state_.scale * inner(p, p);
      if (flat && step == 0) {
        double longest = 0.0;
        free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
          const std::size_t i = set.points[c];
          const double a = state_.a_of(i)[k], room = p[e] < 0.0 ? a : problem_.cost[i] - a;
          if (p[e] != 0.0) longest = std::max(longest, room / std::abs(p[e]));
        });
        for (std::size_t e = 0; e < n; ++e) x[e] = longest * p[e];
      }
      if (flat) break;
      const double t = squared / curvature;
      for (std::size_t e = 0; e < n; ++e) x[e] += t * p[e];
      free.project(response.slope);
      for (std::size_t e = 0; e < n; ++e) r[e] -= t * response.slope[e];
      const double before = squared;
      squared = inner(r, r);
      for (std::size_t e = 0; e < n; ++e) p[e] = r[e] + squared / before * p[e];
    }
    free.project(x);  // what r and p have lost of it to rounding
    return x;
  }

  // Along x as far as the first bound, or to x projected onto the sets where that is better. Returns whether nothing
  // more is to be gained here.
  template <class T>
  bool follow_path(WorkingSet<T>& set, const Free& free, const std::vector<double>& slope, const std::vector<double>& x,
                   Response& response) {
    const auto gain = [&](const std::vector<double>& change, double length) {
      const double linear = state_.level.algebra.inner(slope.data(), change.data(), x.size());
      const double curvature = state_.level.algebra.inner(response.slope.data(), change.data(), x.size());
      return -length * linear - 0.5 * length * length * curvature;
    };
    respond(set, free, x, response);
    const double linear = state_.level.algebra.inner(slope.data(), x.data(), x.size());
    const double curvature = state_.level.algebra.inner(response.slope.data(), x.data(), x.size());
    if (!(linear < 0.0)) return true;
    const double best = curvature > 0.0 ? std::min(1.0, -linear / curvature) : 1.0;
    const double first = first_bound(set, free, x);
    if (first >= best) {
      take(set, free, x, best, response);
      return best == 1.0;
    }
    const double plain = gain(x, first);
    std::vector<double> projected(x.size()), wanted(state_.n_classes), inside(state_.n_classes);
    for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
      const std::size_t i = set.points[free.groups[g].place], begin = free.groups[g].begin;
      const std::size_t size = free.groups[g + 1].begin - begin;
      for (std::size_t e = 0; e < size; ++e) wanted[e] = state_.a_of(i)[free.classes[begin + e]] + best * x[begin + e];
      state_.constrain(i, wanted.data(), size, 0.0, 0.0, inside.data());
      for (std::size_t e = 0; e < size; ++e) projected[begin + e] = inside[e] - state_.a_of(i)[free.classes[begin + e]];
    }
    respond(set, free, projected, response);
    if (gain(projected, 1.0) > plain) {
      take(set, free, projected, 1.0, response);
    } else {
      respond(set, free, x, response);
      take(set, free, x, first, response);
    }
    return false;
  }

  // The length of x at which a multiplier, or the sum of a sample's, meets its bound.
  template <class T>
  double first_bound(const WorkingSet<T>& set, const Free& free, const std::vector<double>& x) {
    double first = infinite;
    for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
      const std::size_t i = set.points[free.groups[g].place];
      double rise = 0.0;
      for (std::size_t e = free.groups[g].begin; e < free.groups[g + 1].begin; ++e) {
        const double a = state_.a_of(i)[free.classes[e]];
        rise += x[e];
        if (x[e] < 0.0) first = std::min(first, -a / x[e]);
        if (x[e] > 0.0 && problem_.errors == Errors::sum) first = std::min(first, (problem_.cost[i] - a) / x[e]);
      }
      if (problem_.errors == Errors::largest && !free.groups[g].used_up && rise > 0.0) {
        first = std::min(first, state_.view(i).spare() / rise);
      }
    }
    return first;
  }

  // Make a step whose response is known; who comes within rounding of a bound is put there.
  template <class T>
  void take(WorkingSet<T>& set, const Free& free, const std::vector<double>& x, double length,
            const Response& response) {
    free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
      const std::size_t i = set.points[c];
      double& a = state_.a_of(i)[k];
      const double cost = problem_.cost[i], near = 1e-14 * cost;
      a += length * x[e];
      if (a < near) a = 0.0;
      if (problem_.errors == Errors::sum && a > cost - near) a = cost;
    });
    for (std::size_t p = 0; p < set.f.size(); ++p) set.f[p] += length * response.f[p];
    for (std::size_t k = 0; k < state_.n_classes; ++k) offsets_.excess[k] += length * response.z[k];
    if (problem_.bias) offsets_.follow();
  }

  State& state_;
  const JointView& problem_;
  Offsets& offsets_;
  Run& run_;
};

}  // namespace mercer::joint

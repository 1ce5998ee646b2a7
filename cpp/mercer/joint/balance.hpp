// The offsets' sums z = 0: which multipliers may move, and the smallest change of them that removes what is left of z.
// The same least squares guess the offsets of a start.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../stop.hpp"
#include "offsets.hpp"
#include "options.hpp"
#include "state.hpp"

namespace mercer::joint {

class Balance {
 public:
  Balance(State& state, const Watch& watch, double tol)
      : state_(state), problem_(state.problem), offsets_(state.offsets), watch_(watch), tol_(tol) {}

  // The offsets for which multipliers between their bounds have slopes of zero, or equal ones where the cost is used
  // up: by least squares, for a start that is near the optimum.
  void guess_offsets() {
    std::vector<double> side(state_.n_classes, 0.0);
    std::fill(offsets_.value.begin(), offsets_.value.end(), 0.0);
    Movable movable = find_movable(-1.0);
    for_each_direction(movable, [&](Movable::Entry& entry, const Direction& direction) {
      state_.find_slopes(entry.point);
      for (const auto& [p, value] : direction) side[p] -= value * state_.slope[entry.klass];
    });
    offsets_.multiplier = least_squares(movable, side);
    offsets_.follow();
  }

  // Remove what is left of z by the smallest change of multipliers: of those between their bounds; if that is not
  // enough, also of those at a bound that hardly matter there; of all that can move. Whatever happened before, in the
  // end all multipliers shrink a little towards a point that has -z.
  void remove_excess() {
    double total = 0.0;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      for (std::size_t k = 0; k < state_.n_classes; ++k) total += std::abs(state_.coefficient(i, k));
    }
    const double rounding = 64.0 * std::numeric_limits<double>::epsilon() * total;
    state_.find_excess();
    for (const double reach : {-1.0, tol_, infinite}) {
      if (offsets_.largest_excess() <= rounding) break;
      Movable movable = find_movable(reach);
      for (int step = 0; step < 30 && offsets_.largest_excess() > 0.1 * rounding && !watch_.out_of_time(); ++step) {
        watch_.poll();
        const double before = offsets_.largest_excess();
        const bool all = move(movable);
        state_.find_excess();
        if (all && offsets_.largest_excess() > 0.5 * before) break;
      }
    }
    if (offsets_.largest_excess() > rounding) mix();
    state_.find_excess();
    offsets_.follow();
  }

 private:
  // Multipliers that may move, by sample, and what holds for all of the sample's.
  struct Movable {
    struct Entry {
      std::size_t point, klass;
      bool blocked = false;  // has been seen to run against its bound
    };
    std::vector<Entry> entries;
    std::vector<char> fixed_sum;  // by point: the cost is used up, and gladly
  };

  // Classes and what is added to their z; a class may come twice.
  using Direction = std::vector<std::pair<std::size_t, double>>;

  // The smallest nu that adds up to zero with D'D nu = b, where the rows of D are the directions. Few of them are
  // multiplied with one by one; of many, the matrix is smaller.
  std::vector<double> least_squares(Movable& movable, const std::vector<double>& b) {
    const std::size_t n = state_.n_classes;
    if (8 * movable.entries.size() < n * n) {
      return conjugate_gradients(b, [&](const std::vector<double>& p, std::vector<double>& product) {
        std::fill(product.begin(), product.end(), 0.0);
        for_each_direction(movable, [&](Movable::Entry&, const Direction& direction) {
          double along = 0.0;
          for (const auto& [k, value] : direction) along += value * p[k];
          for (const auto& [k, value] : direction) product[k] += value * along;
        });
      });
    }
    std::vector<double> matrix(n * n, 0.0);
    for_each_direction(movable, [&](Movable::Entry&, const Direction& direction) {
      for (const auto& [k, left] : direction) {
        for (const auto& [l, right] : direction) matrix[k * n + l] += left * right;
      }
    });
    return conjugate_gradients(b, [&](const std::vector<double>& p, std::vector<double>& product) {
      for (std::size_t k = 0; k < n; ++k) {
        product[k] = 0.0;
        for (std::size_t l = 0; l < n; ++l) product[k] += matrix[k * n + l] * p[l];
      }
    });
  }

  // Those between their bounds, and those at a bound with slopes up to `reach`.
  Movable find_movable(double reach) {
    Movable movable;
    movable.fixed_sum.assign(state_.size(), 0);
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_.find_slopes(i);
      const double* a = state_.a_of(i);
      double level = 0.0;  // where the largest error counts: the slope of what is used
      if (problem_.errors == Errors::largest) {
        const bool used_up = state_.view(i).spare() == 0.0;
        for (std::size_t k = 0; k < state_.n_classes && used_up; ++k) {
          if (k != state_.own(i) && a[k] > 0.0) level = std::min(level, state_.slope[k]);
        }
        movable.fixed_sum[i] = used_up && !(-level <= reach);
      }
      for (std::size_t k = 0; k < state_.n_classes; ++k) {
        if (k == state_.own(i)) continue;
        const bool between = a[k] > 0.0 && (problem_.errors == Errors::largest || a[k] < problem_.cost[i]);
        if (between || std::abs(state_.slope[k] - level) <= reach) movable.entries.push_back({i, k});
      }
    }
    return movable;
  }

  // One step of least squares. False if bounds were in the way.
  bool move(Movable& movable) {
    const std::vector<double> nu = least_squares(movable, offsets_.excess);
    bool all = true;
    std::vector<double> change(movable.entries.size(), 0.0);
    for_each_direction(movable, [&](Movable::Entry& entry, const Direction& direction) {
      double& mine = change[std::size_t(&entry - movable.entries.data())];
      for (const auto& [p, value] : direction) mine -= value * nu[p];
    });
    for (std::size_t begin = 0, end = 0; begin < movable.entries.size(); begin = end) {
      const std::size_t i = movable.entries[begin].point;
      while (end < movable.entries.size() && movable.entries[end].point == i) ++end;
      // Entries at a bound that would leave it stay from now on; the others go as far as the sample's set allows.
      double room = 1.0, rise = 0.0;
      for (std::size_t e = begin; e < end; ++e) {
        Movable::Entry& entry = movable.entries[e];
        const double a = state_.a_of(i)[entry.klass];
        const double most = problem_.errors == Errors::sum ? problem_.cost[i] - a : state_.view(i).spare();
        const bool against = change[e] < 0.0 ? a == 0.0 : change[e] > 0.0 && most <= 0.0 && !movable.fixed_sum[i];
        if (against) {
          entry.blocked = true;
          change[e] = 0.0;
          all = false;
        }
        rise += change[e];
        if (change[e] < 0.0) room = std::min(room, -a / change[e]);
        if (problem_.errors == Errors::sum && change[e] > 0.0) room = std::min(room, most / change[e]);
      }
      const double spare = problem_.errors == Errors::largest ? state_.view(i).spare() : 0.0;
      // A sum that has to stay does so only if all of its entries move.
      if (movable.fixed_sum[i] && std::abs(rise) > 1e-12 * problem_.cost[i]) room = 0.0;
      if (!movable.fixed_sum[i] && problem_.errors == Errors::largest && rise > spare) {
        room = std::min(room, spare / rise);
      }
      all = all && room == 1.0;
      for (std::size_t e = begin; e < end; ++e) {
        double& a = state_.a_of(i)[movable.entries[e].klass];
        a = std::max(0.0, a + room * change[e]);
        if (problem_.errors == Errors::sum) a = std::min(a, problem_.cost[i]);
      }
    }
    return all;
  }

  // use(entry, direction) with the change of z with the entry's multiplier. With absolute margins all z also rise by
  // the same amount, which is left out: whatever z is compared with adds up to zero.
  template <class Use>
  void for_each_direction(Movable& movable, Use use) {
    Direction direction;
    for (std::size_t begin = 0, end = 0; begin < movable.entries.size(); begin = end) {
      const std::size_t i = movable.entries[begin].point;
      double count = 0.0;
      for (; end < movable.entries.size() && movable.entries[end].point == i; ++end) {
        count += movable.entries[end].blocked ? 0.0 : 1.0;
      }
      for (std::size_t e = begin; e < end; ++e) {
        if (movable.entries[e].blocked) continue;
        direction.assign(1, {movable.entries[e].klass, -1.0});
        if (movable.fixed_sum[i]) {
          for (std::size_t l = begin; l < end; ++l) {
            if (!movable.entries[l].blocked) direction.emplace_back(movable.entries[l].klass, 1.0 / count);
          }
        } else if (state_.relative()) {
          direction.emplace_back(state_.own(i), 1.0);
        }
        use(movable.entries[e], direction);
      }
    }
  }

  // a <- (1 - m) a + m a', where a' makes up for z: with relative margins, a_ip of samples of class q moves excess from
  // p to q; with absolute ones it takes from p and gives to all alike. The samples of a class share it by their costs.
  void mix() {
    const std::size_t n_classes = state_.n_classes;
    std::vector<double> room(n_classes, 0.0), flow(n_classes * n_classes, 0.0);  // flow[p, q]: a_p of class q
    for (std::size_t i = 0; i < state_.size(); ++i) room[state_.own(i)] += problem_.cost[i];
    std::vector<double> left = offsets_.excess;
    const std::size_t lowest = std::size_t(std::min_element(left.begin(), left.end()) - left.begin());
    for (std::size_t p = 0; p < n_classes; ++p) {
      if (!state_.relative()) {
        flow[p * n_classes + lowest] = offsets_.excess[p] - offsets_.excess[lowest];
        continue;
      }
      for (std::size_t q = 0; q < n_classes && left[p] > 0.0; ++q) {
        if (!(left[q] < 0.0)) continue;
        const double amount = std::min(left[p], -left[q]);
        flow[p * n_classes + q] = amount;
        left[p] -= amount;
        left[q] += amount;
      }
    }
    double use = 0.0;  // the largest share of a class's room that is wanted
    for (std::size_t q = 0; q < n_classes; ++q) {
      double wanted = 0.0;
      for (std::size_t p = 0; p < n_classes; ++p) wanted += flow[p * n_classes + q];
      if (wanted > 0.0) use = std::max(use, wanted / room[q]);
    }
    const double kept = 1.0 / (1.0 + use);  // 1 - m
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const std::size_t y = state_.own(i);
      for (std::size_t p = 0; p < n_classes; ++p) {
        if (p == y) continue;
        double& a = state_.a_of(i)[p];
        a = kept * (a + flow[p * n_classes + y] * problem_.cost[i] / room[y]);
        if (problem_.errors == Errors::sum) a = std::min(a, problem_.cost[i]);
      }
    }
  }

  // The smallest x that adds up to zero with matrix x = b but for a constant; the matrix is symmetric and positive
  // semi-definite, and b adds up to zero but for rounding.
  template <class Multiply>
  static std::vector<double> conjugate_gradients(const std::vector<double>& b, Multiply multiply) {
    const std::size_t n = b.size();
    std::vector<double> x(n, 0.0), r = b, product(n);
    const auto remove_mean = [&] {
      double mean = 0.0;
      for (const double value : r) mean += value / static_cast<double>(n);
      for (double& value : r) value -= mean;
    };
    remove_mean();
    std::vector<double> p = r;
    const auto inner = [&](const std::vector<double>& u, const std::vector<double>& v) {
      double sum = 0.0;
      for (std::size_t k = 0; k < n; ++k) sum += u[k] * v[k];
      return sum;
    };
    double squared = inner(r, r);
    const double enough = 1e-20 * squared;  // what is left is for the next time; more would be rounding
    const std::size_t most_steps = std::min<std::size_t>(4 * n, 256);
    for (std::size_t step = 0; step < most_steps && squared > enough; ++step) {
      multiply(p, product);
      const double curvature = inner(p, product);
      if (!(curvature > 0.0)) break;
      const double t = squared / curvature;
      for (std::size_t k = 0; k < n; ++k) {
        x[k] += t * p[k];
        r[k] -= t * product[k];
      }
      remove_mean();
      const double next = inner(r, r);
      for (std::size_t k = 0; k < n; ++k) p[k] = r[k] + next / squared * p[k];
      squared = next;
    }
    return x;
  }

  State& state_;
  const JointView& problem_;
  Offsets& offsets_;
  const Watch& watch_;
  const double tol_;
};

}  // namespace mercer::joint

// The multipliers of one sample in a machine for several classes at once, and what can be done with them exactly.
//
// Sample i of class y has one multiplier a_k >= 0 for every other class k. Its errors are summed up, 0 <= a_k <= c, or
// the largest counts, sum_k a_k <= c. Margins are relative, f_y - f_k, or absolute, -f_k with f summing up to zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace mercer {

enum class Margin { relative, absolute };
enum class Errors { sum, largest };

// a minimises 1/2 |a|^2 + 1/2 rho (sum a)^2 - v'a over 0 <= a_k <= upper, sum a <= total, for rho > -1/n. Returns sum
// a.
//
// For a given sum s, a_k = clip(v_k - rho s, 0, upper). What this adds up to, minus s, falls with s and is linear
// between the points where an a_k meets a bound: Newton's method inside a bracket finds its root. Where the root
// exceeds the total, a is the projection of v onto the simplex. `guess` is a first s; v_k = -infinity means a_k = 0.
inline double optimise_block(const double* v, std::size_t n, double rho, double upper, double total, double guess,
                             double* a) {
  struct Piece {
    double sum = 0.0;    // of v over the a_k between their bounds
    double free = 0.0;   // how many they are
    double upper = 0.0;  // sum of those at the upper bound
  };
  const auto piece_at = [&](double s) {
    Piece piece;
    for (std::size_t k = 0; k < n; ++k) {
      const double x = v[k] - rho * s;
      if (x >= upper) {
        piece.upper += upper;
      } else if (x > 0.0) {
        piece.sum += v[k];
        piece.free += 1.0;
      }
    }
    return piece;
  };
  double low = 0.0, high = std::min(total, static_cast<double>(n) * upper);
  const Piece last = piece_at(high);
  double shift = rho * high;
  if (last.sum - rho * high * last.free + last.upper >= high && high == total) {
    // On the simplex: a_k = max(0, v_k - shift) adds up to the total. The shift rises until it has shed all that do not
    // belong.
    shift = -std::numeric_limits<double>::infinity();
    for (double before = 0.0; before != shift;) {
      before = shift;
      double sum = 0.0, count = 0.0;
      for (std::size_t k = 0; k < n; ++k) {
        if (!(v[k] > shift)) continue;
        sum += v[k];
        count += 1.0;
      }
      shift = std::max(shift, (sum - total) / count);
    }
  } else {
    double s = std::clamp(guess, low, high);
    for (int step = 0; step < 200; ++step) {
      const Piece piece = piece_at(s);
      const double next = (piece.sum + piece.upper) / (1.0 + rho * piece.free);
      if (next == s) break;
      (next > s ? low : high) = s;
      if (high - low <= 1e-16 * high) break;
      const bool inside = next > low && next < high;
      const double before = s;
      s = inside && step % 8 != 7 ? next : 0.5 * (low + high);
      if (s == before) break;
    }
    shift = rho * s;
  }
  double sum = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    a[k] = std::clamp(v[k] - shift, 0.0, upper);
    sum += a[k];
  }
  return sum;
}

// How a sample stands: its multipliers, their cost c and the slopes g_k of the objective; entry `own` of both is
// nobody's.
struct BlockView {
  const double* a;
  const double* slope;
  std::size_t n_classes, own;
  double cost;
  Errors errors;

  // Where the largest error counts, the cost that is not used up is a multiplier too, of slope zero. Sums carry
  // rounding.
  double spare() const {
    double sum = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) sum += k == own ? 0.0 : a[k];
    return sum < cost * (1.0 - 1e-12) ? cost - sum : 0.0;
  }

  // How far from optimal: the steepest feasible descent along one multiplier, or from one to another.
  double violation() const {
    double down = -std::numeric_limits<double>::infinity(), up = 0.0;
    if (errors == Errors::sum) {
      for (std::size_t k = 0; k < n_classes; ++k) {
        if (k == own) continue;
        if (a[k] > 0.0) down = std::max(down, slope[k]);
        if (a[k] < cost) up = std::min(up, slope[k]);
      }
      return std::max(down, -up);
    }
    if (spare() > 0.0) down = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (k == own) continue;
      if (a[k] > 0.0) down = std::max(down, slope[k]);
      up = std::min(up, slope[k]);
    }
    return down - up;
  }

  // a'g minus the smallest t'g of all feasible t: the sample's part of the duality gap.
  double gap() const {
    double used = 0.0, lost = 0.0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (k == own) continue;
      used += a[k] * slope[k];
      lost = errors == Errors::sum ? lost + std::min(0.0, slope[k]) : std::min(lost, slope[k]);
    }
    return used - cost * lost;
  }

  // Whether every multiplier stays at its bound while no slope moves by more than `change`.
  bool settled(double change) const {
    if (errors == Errors::sum) {
      for (std::size_t k = 0; k < n_classes; ++k) {
        if (k == own) continue;
        if (a[k] == 0.0 ? slope[k] <= change : !(a[k] == cost && slope[k] < -change)) return false;
      }
      return true;
    }
    // All the cost is in one place.
    double held = 0.0;
    std::size_t place = own;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (k == own || a[k] == 0.0) continue;
      if (place != own || spare() > 0.0) return false;
      place = k;
      held = slope[k];
    }
    if (place != own && held >= -2.0 * change) return false;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (k != own && k != place && slope[k] - held <= 2.0 * change) return false;
    }
    return true;
  }
};

// The nearest change of multipliers, sample by sample, that keeps the sums of those groups whose cost is used up. A
// group begins at `begin`; one more at the end tells where the last one ends.
template <class Group>
void keep_sums(const std::vector<Group>& groups, std::vector<double>& change) {
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    if (!groups[g].used_up) continue;
    const std::size_t begin = groups[g].begin, end = groups[g + 1].begin;
    double mean = 0.0;
    for (std::size_t e = begin; e < end; ++e) mean += change[e] / static_cast<double>(end - begin);
    for (std::size_t e = begin; e < end; ++e) change[e] -= mean;
  }
}

}  // namespace mercer

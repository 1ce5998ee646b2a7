// Weights of kernels and the machines on their sum, learnt together by sequential minimal optimisation.
//
//   min_a  -L(a) + max_{d in D} d'S(a),  S_k(a) = 1/2 sum_t c_t' K_k c_t,  c_t = s a of machine t by samples,
//
// with the constraints of the machines (dual.hpp): a convex function of a alone, smooth where D is round
// (weight_sets.hpp), whose gradient is that of the machines on the sum of the kernels with the weights d that are best
// for S(a). All products F_k = K_k c are kept: a pair of variables knows S along its line, and where the slope
// vanishes. S. V. N. Vishwanathan, Z. Sun, N. Ampornpunt, M. Varma, Multiple kernel learning and the SMO algorithm,
// NIPS 2010.
//
// As for one kernel (smo.hpp) the most violating variables form a block whose kernel values lie side by side, and the
// products of all samples follow in one pass over the rows of the samples that moved.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "certificate.hpp"
#include "dual.hpp"
#include "level.hpp"
#include "parallel.hpp"
#include "stop.hpp"
#include "weight_sets.hpp"

namespace mercer::weights {

// Kernel matrices of the same n samples in float32, each row by row.
struct Matrices {
  std::vector<const float*> values;
  std::size_t n = 0;

  std::size_t size() const { return values.size(); }
  const float* row(std::size_t k, std::size_t i) const { return values[k] + i * n; }
};

struct Machine {
  DualView view;  // its points are the samples
  Totals totals;
  bool scaled = false;
  std::vector<double> a;
};

struct Options {
  double gap = 1e-4;                                        // wanted, relative to the objective
  std::size_t max_rounds = 1000, rounds_per_variable = 10;  // the larger of both: pairs can crawl
  std::size_t block = 16;                                   // variables
};

struct Learnt {
  std::vector<double> weights;  // of the set with its corners
  std::size_t n_steps = 0;
  Status status = Status::solved;
};

// A block is optimised to this part of the violation outside, a line to this part of its first slope.
inline constexpr double inner_accuracy = 0.5, line_accuracy = 0.1;
// Corners become sharper by this factor once the gap of the rounded problem is below this part of what the corners
// cost.
inline constexpr double sharper = 0.3, settled = 0.3;
// They stay as round as this times the number of kernels: what they cost then is near rounding.
inline constexpr double sharpest = 1e-13;
// Kernels that are done together, and samples: fixed, so that results do not depend on threads.
inline constexpr std::size_t kernel_tile = 16, sample_tile = 2048;

class Solver {
 public:
  Solver(const Matrices& matrices, std::vector<Machine>& machines, WeightSet& set, const Options& options,
         const Level& level, const Watch& watch, Team& team)
      : matrices_(matrices),
        machines_(machines),
        set_(set),
        options_(options),
        level_(level),
        watch_(watch),
        team_(team),
        n_(matrices.n),
        p_(matrices.size()),
        products_(machines.size() * p_ * n_, 0.0),
        f_(machines.size() * n_),
        energies_(p_),
        weights_(p_),
        trial_energies_(p_),
        slopes_(p_),
        bends_(p_) {
    for (std::size_t t = 0; t < machines_.size(); ++t) {
      std::vector<double> c = coefficients(t);
      std::vector<std::size_t> moved;
      std::vector<double> change;
      for (std::size_t i = 0; i < n_; ++i) {
        if (c[i] == 0.0) continue;
        moved.push_back(i);
        change.push_back(c[i]);
      }
      add_rows(t, moved, change);
    }
  }

  Learnt solve() {
    Learnt result;
    std::vector<Certificate> certificates(machines_.size());
    std::size_t most_rounds = 0, n_rounds = 0;
    for (const Machine& machine : machines_) most_rounds += options_.rounds_per_variable * machine.a.size();
    most_rounds = std::max(most_rounds, options_.max_rounds);
    while (true) {
      watch_.poll();
      find_energies();
      set_.best(energies_.data(), p_, weights_.data());
      const double gap = certify(certificates);
      double objective = 0.0;
      std::size_t worst = 0;
      for (std::size_t t = 0; t < machines_.size(); ++t) {
        objective += certificates[t].objective;
        if (certificates[t].gap > certificates[worst].gap) worst = t;
      }
      if (!set_.rounded() && gap <= options_.gap * std::abs(objective)) break;
      if (set_.rounded()) {
        const double cost = corner_cost();
        if (gap <= settled * std::max(cost, options_.gap * std::abs(objective))) {
          double sharp_objective = 0.0;
          if (sharp_gap(certificates, sharp_objective) <= options_.gap * std::abs(sharp_objective)) break;
          if (gap <= settled * cost && set_.roundness() > sharpest * double(p_)) {
            set_.set_roundness(sharper * set_.roundness());
            continue;
          }
        }
      }
      if (n_rounds >= most_rounds) result.status = Status::max_iter;
      if (watch_.out_of_time()) result.status = Status::max_seconds;
      if (result.status == Status::solved && !round(worst, result.n_steps)) result.status = Status::stalled;
      if (result.status != Status::solved) break;
      ++n_rounds;
    }
    result.weights.resize(p_);
    set_.sharp(energies_.data(), p_, result.weights.data());
    return result;
  }

 private:
  std::vector<double> coefficients(std::size_t t) const {
    const Machine& machine = machines_[t];
    std::vector<double> c(n_, 0.0);
    for (std::size_t v = 0; v < machine.a.size(); ++v) {
      c[std::size_t(machine.view.point[v])] += machine.view.sign[v] * machine.a[v];
    }
    return c;
  }

  double* products(std::size_t t, std::size_t k) { return products_.data() + (t * p_ + k) * n_; }

  // F_k += sum of change_i K_k[moved_i] for all kernels.
  void add_rows(std::size_t t, const std::vector<std::size_t>& moved, const std::vector<double>& change) {
    if (moved.empty()) return;
    team_.for_each(p_, [&](std::size_t k, std::size_t) {
      for (std::size_t first = 0; first < moved.size(); first += row_group) {
        double scale[row_group] = {};
        const float* rows[row_group];
        for (std::size_t r = 0; r < row_group; ++r) {
          const std::size_t at = std::min(first + r, moved.size() - 1);
          rows[r] = matrices_.row(k, moved[at]);
          scale[r] = first + r < moved.size() ? change[first + r] : 0.0;
        }
        level_.linear.add_single(scale, rows, n_, products(t, k));
      }
    });
  }

  void find_energies() {
    std::fill(energies_.begin(), energies_.end(), 0.0);
    for (std::size_t t = 0; t < machines_.size(); ++t) {
      const std::vector<double> c = coefficients(t);
      team_.for_each((p_ + kernel_tile - 1) / kernel_tile, [&](std::size_t tile, std::size_t) {
        for (std::size_t k = tile * kernel_tile; k < std::min(p_, (tile + 1) * kernel_tile); ++k) {
          energies_[k] += 0.5 * level_.algebra.inner(c.data(), products(t, k), n_);
        }
      });
    }
    for (double& energy : energies_) energy = std::max(energy, 0.0);
  }

  // f of all machines on the sum of the kernels with some weights.
  void combine(const std::vector<double>& weights) {
    const std::size_t n_tiles = (n_ + sample_tile - 1) / sample_tile;
    team_.for_each(machines_.size() * n_tiles, [&](std::size_t tile, std::size_t) {
      const std::size_t t = tile / n_tiles, first = tile % n_tiles * sample_tile;
      const std::size_t size = std::min(sample_tile, n_ - first);
      double* const f = f_.data() + t * n_ + first;
      std::fill_n(f, size, 0.0);
      for (std::size_t k = 0; k < p_; ++k) {
        if (weights[k] != 0.0) level_.full.add_row(weights[k], products(t, k) + first, size, f);
      }
    });
  }

  // The sum of the gaps of the machines on the sum of the kernels with the weights at hand.
  double certify(std::vector<Certificate>& certificates) {
    combine(weights_);
    double gap = 0.0;
    std::vector<double> gradient;
    for (std::size_t t = 0; t < machines_.size(); ++t) {
      const Machine& machine = machines_[t];
      const DualView& view = machine.view;
      gradient.resize(view.n_variables);
      for (std::size_t v = 0; v < view.n_variables; ++v) {
        gradient[v] =
            view.sign[v] * f_[t * n_ + std::size_t(view.point[v])] + view.ridge[v] * machine.a[v] + view.linear[v];
      }
      certificates[t] =
          smo::Certifier(view, machine.totals, machine.scaled, machine.a.data(), gradient.data()).certify();
      gap += certificates[t].gap;
    }
    return gap;
  }

  double taken(const std::vector<double>& weights) const {
    return level_.algebra.inner(weights.data(), energies_.data(), p_);
  }

  // By how much the set with its corners takes more of the energies than the rounded one.
  double corner_cost() const { return std::max(0.0, set_.largest(energies_.data(), p_) - taken(weights_)); }

  // The gap of the set with its corners.
  double sharp_gap(std::vector<Certificate>& certificates, double& objective) {
    std::vector<double> round_weights(p_);
    set_.sharp(energies_.data(), p_, round_weights.data());
    std::swap(weights_, round_weights);
    const double missed = std::max(0.0, set_.largest(energies_.data(), p_) - taken(weights_));
    const double gap = certify(certificates) + missed;
    objective = missed;
    for (const Certificate& certificate : certificates) objective += certificate.objective;
    std::swap(weights_, round_weights);
    combine(weights_);
    return gap;
  }

  // --- a block ------------------------------------------------------------------------------------------

  // What is known of the variables of a block.
  struct Member {
    std::size_t variable, sample, group;
    double sign, linear, upper, ridge, a;

    double v(double f) const { return -sign * (linear + ridge * a) - f; }
    double room(bool upwards) const { return (sign > 0) == upwards ? upper - a : a; }
    // s a += step, exactly to the bound where that is as long as the room.
    void move(double step, bool to_the_bound) {
      const bool grows = sign * step > 0;
      a = to_the_bound ? (grows ? upper : 0.0) : std::clamp(a + sign * step, 0.0, upper);
    }
  };

  // Variables of machine t: those with the largest v that may grow and those with the smallest that may shrink.
  void select(std::size_t t) {
    const Machine& machine = machines_[t];
    const DualView& view = machine.view;
    const std::size_t n_groups = view.equality == Equality::per_sign ? 2 : 1;
    const std::size_t each = std::max<std::size_t>(1, options_.block / (2 * n_groups));
    std::vector<char> chosen(view.n_variables, 0);
    std::vector<std::pair<double, std::size_t>> up, low;
    block_.clear();
    for (std::size_t g = 0; g < n_groups; ++g) {
      up.clear();
      low.clear();
      for (std::size_t i = 0; i < view.n_variables; ++i) {
        const std::size_t group = n_groups == 2 && view.sign[i] < 0.0 ? 1 : 0;
        if (group != g) continue;
        const Member member = member_of(view, machine.a, i, group);
        const double v = member.v(f_[t * n_ + member.sample]);
        const bool alone = view.equality == Equality::none;
        if (member.room(true) > 0.0 && (!alone || v > 0.0)) up.emplace_back(-v, i);
        if (member.room(false) > 0.0 && (!alone || v < 0.0)) low.emplace_back(v, i);
      }
      for (auto* side : {&up, &low}) {
        const std::size_t wanted = std::min(side->size(), 2 * each);
        std::partial_sort(side->begin(), side->begin() + std::ptrdiff_t(wanted), side->end());
        std::size_t taken = 0;
        for (std::size_t r = 0; r < wanted && taken < each; ++r) {
          const std::size_t i = (*side)[r].second;
          if (chosen[i]) continue;
          chosen[i] = 1;
          ++taken;
          block_.push_back(member_of(view, machine.a, i, g));
        }
      }
    }
  }

  static Member member_of(const DualView& view, const std::vector<double>& a, std::size_t i, std::size_t group) {
    return {i, std::size_t(view.point[i]), group, view.sign[i], view.linear[i], view.upper[i], view.ridge[i], a[i]};
  }

  // Kernel values of the block, those of all kernels side by side, its products, and its matrix with the weights at
  // hand, by which partners are chosen.
  void load(std::size_t t) {
    const std::size_t b = block_.size();
    values_.resize(b * b * p_);
    block_products_.resize(b * p_);
    block_f_.resize(b);
    team_.for_each((p_ + kernel_tile - 1) / kernel_tile, [&](std::size_t tile, std::size_t) {
      const std::size_t first = tile * kernel_tile, last = std::min(p_, first + kernel_tile);
      for (std::size_t i = 0; i < b; ++i) {
        const float* rows[kernel_tile];
        for (std::size_t k = first; k < last; ++k) rows[k - first] = matrices_.row(k, block_[i].sample);
        for (std::size_t j = 0; j < b; ++j) {
          float* const out = values_.data() + (i * b + j) * p_;
          for (std::size_t k = first; k < last; ++k) out[k] = rows[k - first][block_[j].sample];
        }
        for (std::size_t k = first; k < last; ++k) block_products_[i * p_ + k] = products(t, k)[block_[i].sample];
      }
    });
    matrix_.resize(b * b);
    team_.for_each(b, [&](std::size_t i, std::size_t) {
      block_f_[i] = level_.algebra.inner(weights_.data(), block_products_.data() + i * p_, p_);
      for (std::size_t j = 0; j < b; ++j) {
        matrix_[i * b + j] = level_.linear.product_single(values_.data() + (i * b + j) * p_, weights_.data(), p_);
      }
    });
  }

  const float* values(std::size_t i, std::size_t j) const { return values_.data() + (i * block_.size() + j) * p_; }

  // Steps in a block of machine t; whether there was one.
  bool round(std::size_t t, std::size_t& n_steps) {
    select(t);
    if (block_.empty()) return false;
    load(t);
    const std::size_t b = block_.size(), first_step = n_steps;
    std::vector<double> before(b);
    for (std::size_t i = 0; i < b; ++i) before[i] = block_[i].sign * block_[i].a;
    const bool alone = machines_[t].view.equality == Equality::none;
    double outer = 0.0;
    for (std::size_t steps = 0; steps < 16 * b; ++steps) {
      const Pair pair = alone ? find_single() : find_pair();
      if (steps == 0) outer = pair.violation;
      if (!(pair.violation > (steps == 0 ? rounding() : inner_accuracy * outer))) break;
      if (!step(pair, alone)) break;
      ++n_steps;
    }
    std::vector<std::size_t> moved;
    std::vector<double> change;
    for (std::size_t i = 0; i < b; ++i) {
      machines_[t].a[block_[i].variable] = block_[i].a;
      const double difference = block_[i].sign * block_[i].a - before[i];
      if (difference == 0.0) continue;
      moved.push_back(block_[i].sample);
      change.push_back(difference);
    }
    add_rows(t, moved, change);
    return n_steps > first_step && !moved.empty();
  }

  // A violation that may be none.
  double rounding() const {
    double largest = 0.0;
    for (std::size_t i = 0; i < block_.size(); ++i) {
      largest = std::max({largest, std::abs(block_f_[i]), std::abs(block_[i].linear)});
    }
    return 1e-13 * largest;
  }

  // s a of the first grows and that of the second shrinks; of one variable alone, in the direction of the slope.
  struct Pair {
    std::size_t first = 0, second = 0;
    double slope = 0.0, violation = 0.0;
  };

  double curvature(std::size_t i, std::size_t j) const {
    const std::size_t b = block_.size();
    const double of_kernel = matrix_[i * b + i] + matrix_[j * b + j] - 2.0 * matrix_[i * b + j];
    return std::max(of_kernel + block_[i].ridge + block_[j].ridge, smo::smallest_curvature);
  }

  // The most violating variable that may grow, and the partner with which the gain is largest. [CY eqs 1.58-1.60]
  Pair find_pair() const {
    Pair best;
    for (std::size_t g = 0; g < 2; ++g) {
      double top = -smo::infinity, bottom = smo::infinity, gain = 0.0;
      Pair pair;
      for (std::size_t i = 0; i < block_.size(); ++i) {
        if (block_[i].group != g) continue;
        const double v = block_[i].v(block_f_[i]);
        if (block_[i].room(true) > 0.0 && v > top) {
          top = v;
          pair.first = i;
        }
        if (block_[i].room(false) > 0.0) bottom = std::min(bottom, v);
      }
      if (!(top - bottom > best.violation) || top == -smo::infinity || bottom == smo::infinity) continue;
      pair.violation = top - bottom;
      for (std::size_t j = 0; j < block_.size(); ++j) {
        if (block_[j].group != g || !(block_[j].room(false) > 0.0)) continue;
        const double slope = top - block_[j].v(block_f_[j]);
        if (!(slope > 0.0)) continue;
        const double own = slope * slope / curvature(pair.first, j);
        if (own > gain) {
          gain = own;
          pair.second = j;
          pair.slope = slope;
        }
      }
      best = pair;
    }
    return best;
  }

  Pair find_single() const {
    Pair best;
    double gain = 0.0;
    for (std::size_t i = 0; i < block_.size(); ++i) {
      const double v = block_[i].v(block_f_[i]);
      if (v == 0.0 || !(block_[i].room(v > 0.0) > 0.0)) continue;
      best.violation = std::max(best.violation, std::abs(v));
      const double flat = matrix_[i * block_.size() + i] + block_[i].ridge;
      const double own = v * v / std::max(flat, smo::smallest_curvature);
      if (own <= gain) continue;
      gain = own;
      best.first = best.second = i;
      best.slope = v;
    }
    return best;
  }

  // To where the slope along the line of a pair has nearly vanished, or to the end of its room; whether it has moved.
  bool step(const Pair& pair, bool alone) {
    Member &i = block_[pair.first], &j = block_[pair.second];
    const bool upwards = pair.slope > 0.0;
    const double direction = upwards ? 1.0 : -1.0, slope = std::abs(pair.slope);
    const double room = alone ? i.room(upwards) : std::min(i.room(true), j.room(false));
    const double ridge = alone ? i.ridge : i.ridge + j.ridge;
    // S_k(t) = S_k + t slopes_k + t^2 bends_k / 2
    const float *kii = values(pair.first, pair.first), *kjj = values(pair.second, pair.second);
    const float* kij = values(pair.first, pair.second);
    const double *fi = block_products_.data() + pair.first * p_, *fj = block_products_.data() + pair.second * p_;
    double eta = ridge;
    for (std::size_t k = 0; k < p_; ++k) {
      slopes_[k] = direction * (alone ? fi[k] : fi[k] - fj[k]);
      bends_[k] = std::max(0.0, alone ? double(kii[k]) : (double(kii[k]) + double(kjj[k])) - 2.0 * double(kij[k]));
      eta += weights_[k] * bends_[k];
    }
    // What of the slope does not come from the energies.
    const double rest = -slope - level_.algebra.inner(weights_.data(), slopes_.data(), p_);
    // The curvature of the weights alone is left out: this is as far as the zero, or beyond it.
    double high = std::min(slope / std::max(eta, smo::smallest_curvature), room), low = 0.0;
    if (!(high > 0.0) || high == smo::infinity) return false;
    double t = high, at_low = -slope, at_high = 0.0;
    constexpr int most = 60;
    int last_side = 0;
    for (int trial = 0;; ++trial) {
      const double here = rest + ridge * t + slope_at(t);
      if (trial == most || std::abs(here) <= line_accuracy * slope || (here < 0.0 && t == high)) break;
      // The zero of the chord; an end that stays is given half its weight (Illinois).
      (here < 0.0 ? low : high) = t;
      (here < 0.0 ? at_low : at_high) = here;
      const int side = here < 0.0 ? -1 : 1;
      if (side == last_side) (side < 0 ? at_high : at_low) *= 0.5;
      last_side = side;
      const double next = low + (high - low) * (-at_low / (at_high - at_low));
      if (!(next > low && next < high)) break;
      t = next;
    }
    std::swap(energies_, trial_energies_);
    const double moved = direction * t;
    if (alone) {
      i.move(moved, t == room);
    } else {
      i.move(t, t == i.room(true));
      j.move(-t, t == j.room(false));
    }
    update(pair, moved, alone);
    return t > 0.0;
  }

  // The slope of the largest d'S at step t; leaves energies and weights of that point.
  double slope_at(double t) {
    for (std::size_t k = 0; k < p_; ++k) {
      trial_energies_[k] = std::max(0.0, energies_[k] + t * (slopes_[k] + 0.5 * t * bends_[k]));
    }
    set_.best(trial_energies_.data(), p_, weights_.data());
    double sum = 0.0;
    for (std::size_t k = 0; k < p_; ++k) sum += weights_[k] * (slopes_[k] + t * bends_[k]);
    return sum;
  }

  // Products and f of the block after a step.
  void update(const Pair& pair, double moved, bool alone) {
    for (std::size_t c = 0; c < block_.size(); ++c) {
      double* const own = block_products_.data() + c * p_;
      level_.single.add_row(moved, values(pair.first, c), p_, own);
      if (!alone) level_.single.add_row(-moved, values(pair.second, c), p_, own);
      block_f_[c] = level_.algebra.inner(weights_.data(), own, p_);
    }
  }

  const Matrices& matrices_;
  std::vector<Machine>& machines_;
  WeightSet& set_;
  const Options& options_;
  const Level& level_;
  const Watch& watch_;
  Team& team_;
  const std::size_t n_, p_;
  std::vector<double> products_;  // K_k c_t: (machines, kernels, samples)
  std::vector<double> f_;         // on the sum of the kernels: (machines, samples)
  std::vector<double> energies_, weights_, trial_energies_, slopes_, bends_;
  std::vector<Member> block_;
  std::vector<float> values_;                              // (block, block, kernels)
  std::vector<double> block_products_, block_f_, matrix_;  // (block, kernels), (block), (block, block)
};

}  // namespace mercer::weights

// Planes below the losses of samples, with multipliers: the dual of machines for structured outputs, block by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace mercer {

// A sparse vector, its columns ascending.
struct SparseRow {
  const std::int32_t* columns = nullptr;
  const double* values = nullptr;
  std::size_t entries = 0;
};

// Block i has planes l_ij - w.psi_ij, below the loss of sample i, and multipliers a_ij >= 0 of sum c_i at most; what is
// left of c_i is the multiplier of the plane zero, that of the right output, which every block has. With w = sum of
// a psi and the loss l.a, the dual is l.a - |w|^2 / 2, which is to be large.
class PlaneSet {
 public:
  PlaneSet(std::size_t features, std::vector<double> cost)
      : cost_(std::move(cost)), blocks_(cost_.size()), w_(features), behind_(features), scratch_(features) {
    for (std::size_t i = 0; i < cost_.size(); ++i) blocks_[i].push_back({{}, {}, 0.0, cost_[i], {0.0}, 0});
  }

  std::size_t size() const { return blocks_.size(); }
  std::size_t features() const { return w_.size(); }
  const std::vector<double>& w() const { return w_; }
  double loss() const { return loss_; }
  double cost(std::size_t i) const { return cost_[i]; }

  // So many planes, without those that are zero.
  std::size_t planes() const {
    std::size_t n = 0;
    for (const auto& block : blocks_) n += block.size() - 1;
    return n;
  }

  // The mean of all w so far, that after visit t with the weight t, and its loss: of feasible multipliers, too.
  std::pair<std::vector<double>, double> averaged() const {
    std::vector<double> mean = w_;
    const double total = weights_until(visits_);
    if (total == 0.0) return {mean, loss_};
    for (std::size_t f = 0; f < mean.size(); ++f) mean[f] -= behind_[f] / total;
    return {mean, loss_ - loss_behind_ / total};
  }

  // What the multipliers of a block make of the slopes of its planes at w; the loss of its sample, times its cost, is
  // never below that.
  double owned(std::size_t i) const {
    double own = 0.0;
    for (const Plane& plane : blocks_[i]) {
      if (plane.a != 0.0) own += plane.a * (plane.loss - product(plane, w_));
    }
    return own;
  }

  // By how much the best multipliers of a block for w differ from its own, over the planes that are known.
  double gap(std::size_t i) const {
    double best = 0.0;
    for (const Plane& plane : blocks_[i]) best = std::max(best, plane.loss - product(plane, w_));
    return std::max(0.0, cost_[i] * best - owned(i));
  }

  // A plane that may be new, then the best multipliers of its block: the gap before, and what the dual has gained.
  // Planes that have long been without multiplier are forgotten.
  std::pair<double, double> visit(std::size_t i, const SparseRow& row, double loss) {
    add(i, row, loss);
    const auto found = improve(i);
    drop_idle(blocks_[i]);
    return found;
  }

  // The best multipliers of a block, all others as they are: the gap before over its planes, and the gain of the dual.
  std::pair<double, double> improve(std::size_t i) {
    auto& block = blocks_[i];
    const std::size_t n = block.size();
    slopes_.resize(n);
    moved_.assign(n, 0.0);
    double best = 0.0, own = 0.0, terms = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double score = product(block[j], w_);
      slopes_[j] = block[j].loss - score;
      terms = std::max(terms, std::abs(block[j].loss) + std::abs(score));
      best = std::max(best, slopes_[j]);
      own += block[j].a * slopes_[j];
    }
    const double gap = std::max(0.0, cost_[i] * best - own);
    const double noise = rounding * cost_[i] * terms, gain = settle(block, std::max(share_of_gap * gap, noise), noise);
    for (std::size_t j = 0; j < n; ++j) {
      if (moved_[j] != 0.0) move(block[j], moved_[j]);
    }
    ++visits_;
    return {gap, gain};
  }

  // Passes over all blocks until the gap over all known planes is below a bound, or the passes are used up: that gap.
  // Where they no longer halve it, Newton steps on all blocks at once go between, with as much work as the passes.
  double solve(double bound, std::size_t passes, const std::function<void()>& poll) {
    double gap = std::numeric_limits<double>::infinity(), last = gap;
    // Blocks whose gap was below this could not keep the whole above half of the bound; most passes leave them out.
    const double small = 0.5 * bound / static_cast<double>(blocks_.size());
    std::vector<double> gaps(blocks_.size());
    for (std::size_t pass = 0; pass < passes && gap > bound; ++pass) {
      double before = 0.0;
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (pass % full_passes == 0 || gaps[i] > small) {
          gaps[i] = improve(i).first;
          for (const Plane& plane : blocks_[i]) saved_ += plane.columns.size();
          poll();
        }
        before += gaps[i];
      }
      if (2.0 * before > last && blocks_.size() > 1 && saved_ >= enough_) {
        enough_ = leap(saved_, poll);
        saved_ = 0;
      }
      last = before;
      if (before > bound && pass + 1 < passes && blocks_.size() > 1) continue;  // it has not fallen below by much
      gap = 0.0;
      for (std::size_t i = 0; i < blocks_.size(); ++i) gap += this->gap(i);
    }
    return gap;
  }

  // w and the loss from the multipliers, without the rounding of all steps.
  void refresh() {
    std::fill(w_.begin(), w_.end(), 0.0);
    loss_ = 0.0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      meet_cost(blocks_[i], cost_[i]);
      for (const Plane& plane : blocks_[i]) {
        if (plane.a == 0.0) continue;
        for (std::size_t e = 0; e < plane.columns.size(); ++e) w_[plane.columns[e]] += plane.a * plane.values[e];
        loss_ += plane.a * plane.loss;
      }
    }
  }

 private:
  // Of the gap of a block, what may be left; of its terms, what cannot be told from zero. Exchanges for each of its
  // planes before a Newton step, and rounds of both.
  static constexpr double share_of_gap = 1e-2, rounding = 1e-15;
  static constexpr std::size_t exchanges = 5, rounds = 10;
  // One pass of so many is over all blocks, whatever their gaps were.
  static constexpr std::size_t full_passes = 10;
  // Visits after which a plane without multiplier is forgotten.
  static constexpr std::size_t patience = 20;
  // Conjugate gradients end with this share of the squared residual. Curvature below rounding, relative to that of the
  // planes, is none.
  static constexpr double residual = 1e-4, flat = 1e-13;

  struct Plane {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    double loss, a;
    std::vector<double> products;  // with all planes of its block up to itself
    std::size_t idle;
  };
  using Block = std::vector<Plane>;

  static double product(const Plane& plane, const std::vector<double>& v) {
    // Four sums: each addition waits for the last one of its own sum alone.
    const std::int32_t* columns = plane.columns.data();
    const double *values = plane.values.data(), *at = v.data();
    const std::size_t entries = plane.columns.size();
    double sums[4] = {};
    std::size_t e = 0;
    for (; e + 4 <= entries; e += 4) {
      for (std::size_t k = 0; k < 4; ++k) sums[k] += values[e + k] * at[columns[e + k]];
    }
    for (; e < entries; ++e) sums[0] += values[e] * at[columns[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  static double between(const Block& block, std::size_t j, std::size_t k) {
    return j >= k ? block[j].products[k] : block[k].products[j];
  }

  static double weights_until(std::size_t t) { return 0.5 * static_cast<double>(t) * static_cast<double>(t + 1); }

  void add(std::size_t i, const SparseRow& row, double loss) {
    auto& block = blocks_[i];
    for (Plane& plane : block) {
      if (plane.loss == loss && plane.columns.size() == row.entries &&
          std::equal(plane.columns.begin(), plane.columns.end(), row.columns) &&
          std::equal(plane.values.begin(), plane.values.end(), row.values)) {
        plane.idle = 0;
        return;
      }
    }
    Plane plane{{row.columns, row.columns + row.entries}, {row.values, row.values + row.entries}, loss, 0.0, {}, 0};
    for (std::size_t e = 0; e < row.entries; ++e) scratch_[row.columns[e]] = row.values[e];
    for (const Plane& other : block) plane.products.push_back(product(other, scratch_));
    plane.products.push_back(product(plane, scratch_));
    for (std::size_t e = 0; e < row.entries; ++e) scratch_[row.columns[e]] = 0.0;
    block.push_back(std::move(plane));
  }

  // The best multipliers of a block until its gap is small: exchanges and, where they crawl, Newton steps. What the
  // dual gains; slopes_ and moved_ are those of the block.
  double settle(Block& block, double small, double noise) {
    double gain = 0.0;
    for (std::size_t round = 0; round < rounds && exchange(block, small, gain) > small; ++round) {
      if (!newton(block, noise, gain)) break;
    }
    return gain;
  }

  // Multiplier goes from one plane to another, the pair that gains most, until the gap of the block is small: that gap.
  double exchange(Block& block, double small, double& gain) {
    const std::size_t n = block.size();
    double total = 0.0, gap = 0.0;
    for (const Plane& plane : block) total += plane.a;
    for (std::size_t step = 0; step < exchanges * n; ++step) {
      const auto up = static_cast<std::size_t>(std::max_element(slopes_.begin(), slopes_.end()) - slopes_.begin());
      double best = 0.0, amount = 0.0;
      std::size_t down = up;
      gap = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        const double excess = slopes_[up] - slopes_[j];
        if (block[j].a <= 0.0 || !(excess > 0.0)) continue;
        gap += block[j].a * excess;
        const double curvature = between(block, up, up) + between(block, j, j) - 2.0 * between(block, up, j);
        const double most = curvature * block[j].a > excess ? excess / curvature : block[j].a;
        const double gained = most * (excess - 0.5 * most * curvature);
        if (gained > best) {
          best = gained;
          down = j;
          amount = most;
        }
      }
      if (down == up || gap <= small) break;
      amount = std::min(amount, block[down].a);
      block[down].a -= amount;
      block[up].a = std::min(block[up].a + amount, total);
      moved_[down] -= amount;
      moved_[up] += amount;
      gain += best;
      for (std::size_t j = 0; j < n; ++j) slopes_[j] -= amount * (between(block, j, up) - between(block, j, down));
    }
    return gap;
  }

  // Newton steps on the multipliers of a block that are not zero, as long as one of them vanishes and the dual gains
  // more than noise: whether there was such a step.
  bool newton(Block& block, double noise, double& gain) {
    const std::size_t n = block.size();
    bool any = false;
    for (std::size_t step = 0; step < n; ++step) {
      std::vector<std::size_t> free;
      for (std::size_t j = 0; j < n; ++j) {
        if (block[j].a > 0.0) free.push_back(j);
      }
      const std::size_t m = free.size();
      if (m < 2) break;
      std::vector<double> slopes(m), multipliers(m), amounts(m);
      double curvature = 0.0;
      for (std::size_t k = 0; k < m; ++k) {
        slopes[k] = slopes_[free[k]];
        multipliers[k] = block[free[k]].a;
        curvature = std::max(curvature, between(block, free[k], free[k]));
      }
      const auto product = [&](const std::vector<double>& v, std::vector<double>& out) {
        for (std::size_t k = 0; k < m; ++k) {
          out[k] = 0.0;
          for (std::size_t l = 0; l < m; ++l) out[k] += between(block, free[k], free[l]) * v[l];
        }
      };
      const Step made = newton_step(slopes, multipliers, {0, m}, curvature, 2 * m, product, amounts);
      if (!(made.gain > noise)) break;
      any = true;
      gain += made.gain;
      for (std::size_t k = 0; k < m; ++k) {
        block[free[k]].a = std::max(0.0, multipliers[k] + amounts[k]);
        moved_[free[k]] += block[free[k]].a - multipliers[k];
      }
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < m; ++k) {
          slopes_[j] -= (block[free[k]].a - multipliers[k]) * between(block, j, free[k]);
        }
      }
      if (!made.vanished) break;
    }
    return any;
  }

  // Newton steps on all multipliers that are not zero, of all blocks at once, in which not many more entries of planes
  // are read than allowed: so many were read or, where these were too few, twice as many as allowed.
  std::size_t leap(std::size_t allowed, const std::function<void()>& poll) {
    std::size_t work = 0;
    std::vector<double> sum(features());
    while (true) {
      std::vector<Plane*> free;
      std::vector<std::size_t> starts{0};
      for (Block& block : blocks_) {
        for (Plane& plane : block) {
          if (plane.a > 0.0) free.push_back(&plane);
        }
        if (free.size() < starts.back() + 2) {
          free.resize(starts.back());  // it keeps its one multiplier
        } else {
          starts.push_back(free.size());
        }
      }
      const std::size_t m = free.size();
      std::vector<double> slopes(m), multipliers(m), amounts(m);
      double curvature = 0.0, terms = 0.0;
      std::size_t entries = 0;
      for (std::size_t k = 0; k < m; ++k) {
        entries += 2 * free[k]->columns.size();
        const double score = product(*free[k], w_);
        slopes[k] = free[k]->loss - score;
        multipliers[k] = free[k]->a;
        terms += multipliers[k] * (std::abs(free[k]->loss) + std::abs(score));
        curvature = std::max(curvature, free[k]->products.back());
      }
      const auto through_features = [&](const std::vector<double>& v, std::vector<double>& out) {
        poll();
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t k = 0; k < m; ++k) {
          for (std::size_t e = 0; e < free[k]->columns.size(); ++e) {
            sum[free[k]->columns[e]] += v[k] * free[k]->values[e];
          }
        }
        for (std::size_t k = 0; k < m; ++k) out[k] = product(*free[k], sum);
        work += entries;
      };
      const std::size_t steps = (allowed - std::min(allowed, work)) / std::max<std::size_t>(1, entries);
      if (steps < 2) return 2 * allowed;  // the last is for a look at what is gained
      const Step made = newton_step(slopes, multipliers, starts, curvature, steps - 1, through_features, amounts);
      if (!(made.gain > rounding * terms)) return work;
      for (std::size_t k = 0; k < m; ++k) {
        free[k]->a = std::max(0.0, multipliers[k] + amounts[k]);
        move(*free[k], free[k]->a - multipliers[k]);
      }
      if (!made.vanished) return work;
    }
  }

  struct Step {
    double gain = 0.0;
    bool vanished = false;  // whether a multiplier has
  };

  // Amounts d by which multipliers change, their sums over groups of neighbours kept: those that maximise
  // slopes.d - d'Kd / 2, by conjugate gradients, or as much of them as leaves all multipliers >= 0.
  template <class Product>
  static Step newton_step(const std::vector<double>& slopes, const std::vector<double>& multipliers,
                          const std::vector<std::size_t>& starts, double curvature, std::size_t most,
                          const Product& product, std::vector<double>& d) {
    const std::size_t m = slopes.size();
    const auto keep_sums = [&](std::vector<double>& v) {
      for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
        const auto begin = v.begin() + static_cast<std::ptrdiff_t>(starts[g]);
        const auto end = v.begin() + static_cast<std::ptrdiff_t>(starts[g + 1]);
        const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
        for (auto x = begin; x != end; ++x) *x -= mean;
      }
    };
    std::vector<double> left = slopes, towards, product_of(m);
    keep_sums(left);
    towards = left;
    std::fill(d.begin(), d.end(), 0.0);
    double square = inner(left, left), length = 1.0;
    const double first = square;
    for (std::size_t step = 0; step < most && square > residual * first; ++step) {
      product(towards, product_of);
      keep_sums(product_of);
      const double along = inner(towards, product_of);
      if (!(along > flat * curvature * inner(towards, towards))) {  // as far as multipliers go
        d = towards;
        length = along > 0.0 ? square / along : std::numeric_limits<double>::infinity();
        break;
      }
      const double stride = square / along;
      for (std::size_t k = 0; k < m; ++k) {
        d[k] += stride * towards[k];
        left[k] -= stride * product_of[k];
      }
      const double before = square;
      square = inner(left, left);
      for (std::size_t k = 0; k < m; ++k) towards[k] = left[k] + square / before * towards[k];
    }
    return bounded(slopes, multipliers, starts, product, d, length);
  }

  // As much of a step d, at most `length` times it, as leaves all multipliers >= 0: up to the first that vanishes or,
  // where more is gained, beyond, with multipliers below zero set to zero and the others of their group shrunk for it.
  template <class Product>
  static Step bounded(const std::vector<double>& slopes, const std::vector<double>& multipliers,
                      const std::vector<std::size_t>& starts, const Product& product, std::vector<double>& d,
                      double length) {
    const std::size_t m = d.size();
    double first = length;
    std::size_t vanished = m;
    for (std::size_t k = 0; k < m; ++k) {
      if (multipliers[k] < -d[k] * first) {
        first = multipliers[k] / -d[k];
        vanished = k;
      }
    }
    if (first == std::numeric_limits<double>::infinity()) return {};
    std::vector<double> best(m), beyond(m), product_of(m);
    for (std::size_t k = 0; k < m; ++k) best[k] = k == vanished ? -multipliers[k] : first * d[k];
    const auto gain_of = [&](const std::vector<double>& amounts) {
      product(amounts, product_of);
      return inner(slopes, amounts) - 0.5 * inner(amounts, product_of);
    };
    double gain = gain_of(best);
    for (length = 4.0 * first; vanished < m; length *= 4.0) {  // as long as it pays
      for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
        double total = 0.0, clipped = 0.0;
        for (std::size_t k = starts[g]; k < starts[g + 1]; ++k) {
          beyond[k] = std::max(0.0, multipliers[k] + length * d[k]);
          total += multipliers[k];
          clipped += beyond[k];
        }
        for (std::size_t k = starts[g]; k < starts[g + 1]; ++k) {
          beyond[k] = beyond[k] * (total / clipped) - multipliers[k];
        }
      }
      const double farther = gain_of(beyond);
      if (!(farther > gain)) break;
      gain = farther;
      best = beyond;
    }
    d = best;
    return {gain, vanished < m};
  }

  static double inner(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }

  void move(const Plane& plane, double amount) {
    const double weight = weights_until(visits_);
    for (std::size_t e = 0; e < plane.columns.size(); ++e) {
      const double change = amount * plane.values[e];
      w_[plane.columns[e]] += change;
      behind_[plane.columns[e]] += weight * change;
    }
    loss_ += amount * plane.loss;
    loss_behind_ += weight * amount * plane.loss;
  }

  // Multipliers that add up to the cost of their block again, as they do but for rounding.
  static void meet_cost(Block& block, double cost) {
    double others = 0.0;
    for (std::size_t j = 1; j < block.size(); ++j) others += block[j].a;
    block[0].a = std::max(0.0, cost - others);
    if (!(others > cost)) return;
    for (std::size_t j = 1; j < block.size(); ++j) block[j].a *= cost / others;
  }

  static void drop_idle(Block& block) {
    for (std::size_t j = block.size(); j-- > 1;) {  // the plane zero stays
      block[j].idle = block[j].a > 0.0 ? 0 : block[j].idle + 1;
      if (block[j].idle < patience) continue;
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(j));
      for (std::size_t k = j; k < block.size(); ++k) {
        block[k].products.erase(block[k].products.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }

  std::vector<double> cost_;
  std::vector<Block> blocks_;
  std::vector<double> w_, behind_, scratch_, slopes_, moved_;
  double loss_ = 0.0, loss_behind_ = 0.0;
  std::size_t visits_ = 0;
  std::size_t saved_ = 0, enough_ = 0;  // entries of planes: read by passes since the last leap, and enough for one
};

}  // namespace mercer

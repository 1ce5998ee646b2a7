// Planes below the losses of samples, with multipliers: the dual of machines for structured outputs, block by block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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
  std::pair<double, double> visit(std::size_t i, const SparseRow& row, double loss) {
    add(i, row, loss);
    return improve(i);
  }

  // The best multipliers of a block, all others as they are: the gap before over its planes, and the gain of the dual.
  std::pair<double, double> improve(std::size_t i) {
    auto& block = blocks_[i];
    const std::size_t n = block.size();
    slopes_.resize(n);
    moved_.assign(n, 0.0);
    double best = 0.0, own = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      slopes_[j] = block[j].loss - product(block[j], w_);
      best = std::max(best, slopes_[j]);
      own += block[j].a * slopes_[j];
    }
    const double gap = std::max(0.0, cost_[i] * best - own);
    const double gain = exchange(block, share_of_gap * gap);
    ++visits_;
    const double weight = weights_until(visits_ - 1);
    for (std::size_t j = 0; j < n; ++j) {
      if (moved_[j] != 0.0) {
        move(block[j], moved_[j], weight);
        block[j].idle = 0;
      } else {
        block[j].idle = block[j].a > 0.0 ? 0 : block[j].idle + 1;
      }
    }
    drop_idle(block);
    return {gap, gain};
  }

  // Passes over all blocks until the gap over all known planes is below a bound, or the passes are used up: that gap.
  double solve(double bound, std::size_t passes, const std::function<void()>& poll) {
    double gap = std::numeric_limits<double>::infinity();
    for (std::size_t pass = 0; pass < passes && gap > bound; ++pass) {
      double before = 0.0;
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        before += improve(i).first;
        poll();
      }
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
    for (const auto& block : blocks_) {
      for (const Plane& plane : block) {
        if (plane.a == 0.0) continue;
        for (std::size_t e = 0; e < plane.columns.size(); ++e) w_[plane.columns[e]] += plane.a * plane.values[e];
        loss_ += plane.a * plane.loss;
      }
    }
  }

 private:
  // Of the gap of a block, what may be left; and most exchanges for each of its planes.
  static constexpr double share_of_gap = 1e-2;
  static constexpr std::size_t exchanges = 20;
  // Visits after which a plane without multiplier is forgotten.
  static constexpr std::size_t patience = 20;

  struct Plane {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    double loss, a;
    std::vector<double> products;  // with all planes of its block up to itself
    std::size_t idle;
  };
  using Block = std::vector<Plane>;

  static double product(const Plane& plane, const std::vector<double>& v) {
    double sum = 0.0;
    for (std::size_t e = 0; e < plane.columns.size(); ++e) sum += plane.values[e] * v[plane.columns[e]];
    return sum;
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

  // Multiplier goes from one plane to another, the pair that gains most, until the gap of the block is small.
  double exchange(Block& block, double small) {
    const std::size_t n = block.size();
    double total = 0.0, gain = 0.0;
    for (const Plane& plane : block) total += plane.a;
    for (std::size_t step = 0; step < exchanges * n; ++step) {
      const auto up = static_cast<std::size_t>(std::max_element(slopes_.begin(), slopes_.end()) - slopes_.begin());
      double gap = 0.0, best = 0.0, amount = 0.0;
      std::size_t down = up;
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
    return gain;
  }

  void move(const Plane& plane, double amount, double weight) {
    for (std::size_t e = 0; e < plane.columns.size(); ++e) {
      const double change = amount * plane.values[e];
      w_[plane.columns[e]] += change;
      behind_[plane.columns[e]] += weight * change;
    }
    loss_ += amount * plane.loss;
    loss_behind_ += weight * amount * plane.loss;
  }

  static void drop_idle(Block& block) {
    for (std::size_t j = block.size(); j-- > 1;) {  // the plane zero stays
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
};

}  // namespace mercer

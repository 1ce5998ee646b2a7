// Convex sets D of weights d >= 0 of kernels, as mercer.problems.WeightSet has them: the largest d'S for energies S >=
// 0 and the weights that take it. Their maximum is a convex function of S whose gradient they are. Sets with corners,
// where the gradient would jump, are rounded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace mercer {

class WeightSet {
 public:
  virtual ~WeightSet() = default;

  // The weights of the (rounded) set with the largest d'S.
  virtual void best(const double* energies, std::size_t n, double* weights) const = 0;
  // Those of the set with its corners that stand for them.
  virtual void sharp(const double* energies, std::size_t n, double* weights) const { best(energies, n, weights); }
  // The largest d'S over the set with its corners.
  virtual double largest(const double* energies, std::size_t n) const {
    std::vector<double> weights(n);
    best(energies, n, weights.data());
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += weights[k] * energies[k];
    return sum;
  }
  // Whether the set has corners: how round they are may be changed.
  virtual bool rounded() const { return false; }
  virtual double roundness() const { return 0.0; }
  virtual void set_roundness(double) {}
};

// A p-norm of at most one, p > 1.
class NormBall final : public WeightSet {
 public:
  explicit NormBall(double p) : p_(p) {}

  // Hölder's inequality is an equality for d ~ S^(1 / (p - 1)), whose p-th power is S d.
  void best(const double* energies, std::size_t n, double* weights) const override {
    const double top = *std::max_element(energies, energies + n);
    if (p_ == std::numeric_limits<double>::infinity() || !(top > 0.0)) {
      std::fill_n(weights, n, std::pow(double(n), -1.0 / p_));
      return;
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const double ratio = energies[k] / top;
      weights[k] = p_ == 2.0 ? ratio : std::pow(ratio, 1.0 / (p_ - 1.0));
      sum += weights[k] * ratio;
    }
    const double norm = std::pow(sum, 1.0 / p_);
    for (std::size_t k = 0; k < n; ++k) weights[k] /= norm;
  }

 private:
  double p_;
};

// (1 - mix) sum(d) + mix sum(d^2) <= 1.
class Elastic final : public WeightSet {
 public:
  explicit Elastic(double mix) : mix_(mix) {}

  // d_k = (S_k x - (1 - mix)) / (2 mix) where that is positive, and 4 mix = sum of (S_k x)^2 - (1 - mix)^2 over these.
  void best(const double* energies, std::size_t n, double* weights) const override {
    const double top = *std::max_element(energies, energies + n), price = 1.0 - mix_;
    double x = 0.0, bar = 0.0;
    // Without the kernels below the bar it rises: none comes back, other than by rounding.
    for (std::size_t before = n + 1; top > 0.0; bar = price / x) {
      double squares = 0.0;
      std::size_t used = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const double ratio = energies[k] / top;
        if (!(ratio > bar)) continue;
        squares += ratio * ratio;
        ++used;
      }
      if (used >= before) break;
      before = used;
      x = std::sqrt((4.0 * mix_ + double(used) * price * price) / squares);
    }
    for (std::size_t k = 0; k < n; ++k) weights[k] = top > 0.0 ? std::max(0.0, energies[k] / top * x - price) : 1.0;
    scale(weights, n);
  }

 private:
  // To size one: the sums of small differences carry rounding.
  void scale(double* weights, std::size_t n) const {
    double linear = 0.0, square = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      linear += (1.0 - mix_) * weights[k];
      square += mix_ * weights[k] * weights[k];
    }
    const double factor = 2.0 / (linear + std::sqrt(linear * linear + 4.0 * square));
    for (std::size_t k = 0; k < n; ++k) weights[k] *= factor;
  }

  double mix_;
};

// Groups of kernels whose norms, those of another set, add up to one at most; with groups of one kernel the simplex.
// Its corners are rounded as F. R. Bach, G. R. G. Lanckriet, M. I. Jordan, Multiple kernel learning, conic duality, and
// the SMO algorithm, ICML 2004, do it: by the penalty (sum_g |w_g|)^2 + eps sum_g |w_g|^2, which stands for the sizes
// l_g / (1 + eps l_g) with l on the simplex.
class Groups final : public WeightSet {
 public:
  // Kernels `members` of every group.
  Groups(std::vector<std::vector<std::size_t>> members, double p) : members_(std::move(members)), within_(p) {}

  bool rounded() const override { return members_.size() > 1; }
  double roundness() const override { return eps_; }
  void set_roundness(double eps) override { eps_ = eps; }

  // With r the root of what a group takes, S_g / (1 + eps l_g)^2 is equal for all groups in use: r_g = t (1 + eps l_g),
  // and t from the sum of the l.
  void best(const double* energies, std::size_t, double* weights) const override { spread(energies, weights, false); }
  void sharp(const double* energies, std::size_t, double* weights) const override { spread(energies, weights, true); }

  double largest(const double* energies, std::size_t n) const override {
    std::vector<double> weights(n), taken;
    inside(energies, weights.data(), taken);
    return *std::max_element(taken.begin(), taken.end());
  }

 private:
  void spread(const double* energies, double* weights, bool sharp) const {
    std::vector<double> taken;
    inside(energies, weights, taken);
    const std::size_t n_groups = members_.size();
    std::vector<double> size(n_groups, 1.0 / double(n_groups));
    double total = 0.0;
    for (double& value : taken) total += value = std::sqrt(value);
    if (n_groups == 1) {
      size[0] = 1.0;
    } else if (total > 0.0) {
      double t = 0.0;
      // Without the groups below t it rises: none comes back, other than by rounding.
      for (std::size_t before = n_groups + 1;;) {
        double sum = 0.0;
        std::size_t used = 0;
        for (const double r : taken) {
          if (!(r > t)) continue;
          sum += r;
          ++used;
        }
        if (used >= before) break;
        before = used;
        t = sum / (double(used) + eps_);
      }
      double sum = 0.0;
      for (std::size_t g = 0; g < n_groups; ++g) {
        size[g] = taken[g] > t ? (sharp ? taken[g] - t : (1.0 - t / taken[g]) / eps_) : 0.0;
        sum += size[g];
      }
      if (sharp) {
        for (double& value : size) value /= sum;
      }
    }
    for (std::size_t g = 0; g < n_groups; ++g) {
      for (const std::size_t k : members_[g]) weights[k] *= size[g];
    }
  }

  // The best weights within every group, and what it takes of the energies with them.
  void inside(const double* energies, double* weights, std::vector<double>& taken) const {
    taken.assign(members_.size(), 0.0);
    std::vector<double> own, share;
    for (std::size_t g = 0; g < members_.size(); ++g) {
      const std::vector<std::size_t>& members = members_[g];
      if (members.size() == 1) {
        weights[members[0]] = 1.0;
        taken[g] = energies[members[0]];
        continue;
      }
      own.resize(members.size());
      share.resize(members.size());
      for (std::size_t m = 0; m < members.size(); ++m) own[m] = energies[members[m]];
      within_.best(own.data(), own.size(), share.data());
      for (std::size_t m = 0; m < members.size(); ++m) {
        weights[members[m]] = share[m];
        taken[g] += share[m] * own[m];
      }
    }
  }

  std::vector<std::vector<std::size_t>> members_;
  NormBall within_;
  double eps_ = 0.1;
};

}  // namespace mercer

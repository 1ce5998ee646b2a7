// Recursive feature elimination around support vector machines [CY section 1.7; Guyon, Weston, Barnhill, Vapnik 2002].
//
// A kernel is a transform of a measure that is a sum over the features, K = g(sum_j t_j). With the coefficients c of a
// fitted machine held fixed, its dual objective loses with feature j
//
//   DJ(j) = 1/2 c'(K - g(T - t_j))c,  T = sum_j t_j,
//
// which is w_j^2/2 for the linear kernel; several machines add up. The features of the smallest loss go, T is
// down-dated, and the machines are fitted again, from where they are.
//
// Most losses need not be looked at. For the linear kernel |w_j| moves by at most |x_j| |dc| from one fit to the next;
// for exp(-p0 T), DJ(j) is linear in A = cc' o K, as t_j is fixed, and moves by at most |exp(p0 t_j) - 1| |dA|. The
// path that c, or A, has gone since a loss was computed so gives a lower bound of it, and only where that is below the
// smallest loss known is it computed again. What is chosen is what would have been chosen from all losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "certificate.hpp"
#include "dual.hpp"
#include "level.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "smo.hpp"

namespace mercer::elimination {

inline constexpr double eps = std::numeric_limits<double>::epsilon();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The features that are left, as rows over all samples, and the kernel matrix that they make: it has a row for every
// sample up to the last one that is taught, and a column for every sample.
class Features {
 public:
  // `columns` is (n_features, n_samples); `taught` are the samples that some machine sees, ascending. `free_offset`:
  // coefficients add up to zero, and see no constant in the kernel.
  Features(const KernelSpec& spec, const Level& level, const double* columns, std::size_t n_features,
           std::size_t n_samples, std::vector<std::size_t> taught, bool free_offset, Team& team)
      : spec_(spec),
        level_(level),
        columns_(columns),
        n_samples_(n_samples),
        taught_(std::move(taught)),
        n_rows_(taught_.empty() ? 0 : taught_.back() + 1),
        lifted_(linear() && free_offset),
        team_(team),
        left_(n_features, 1),
        n_left_(n_features),
        measures_(n_rows_ * n_samples),
        values_(plain() ? 0 : n_rows_ * n_samples) {
    compute();
  }

  const KernelSpec& spec() const { return spec_; }
  const Level& level() const { return level_; }
  std::size_t n_samples() const { return n_samples_; }
  std::size_t n_features() const { return left_.size(); }
  bool is_left(std::size_t j) const { return left_[j] != 0; }
  const double* column(std::size_t j) const { return columns_ + j * n_samples_; }
  const double* measures(std::size_t i) const { return measures_.data() + i * n_samples_; }
  const double* kernel() const { return plain() ? measures_.data() : values_.data(); }
  const double* kernel(std::size_t i) const { return kernel() + i * n_samples_; }

  const std::vector<std::size_t>& taught() const { return taught_; }
  bool linear() const { return spec_.measure == Measure::dot && is_identity(); }

  void remove(const std::vector<std::size_t>& some) {
    for (const std::size_t j : some) left_[j] = 0;
    n_left_ -= some.size();
    if (some.size() >= n_left_) return compute();
    for (const std::size_t j : some) {
      lost_ += eps * largest_;
      down_date(j);
    }
    // Every down-date rounds what it leaves like what was there before it.
    if (lost_ > acceptable * largest_) return compute();
    transform();
  }

 private:
  static constexpr double acceptable = 1e-11;
  static constexpr std::size_t rows_together = 16;
  static constexpr std::size_t little_work = std::size_t{1} << 16;  // in entries: not worth waking anybody

  bool is_identity() const { return spec_.transform == Transform::identity && spec_.p0 == 1.0; }
  bool plain() const { return is_identity() && !lifted_; }  // the kernel is the measure

  void compute() {
    std::fill(measures_.begin(), measures_.end(), 0.0);
    for_rows(n_left_, [&](std::size_t first, std::size_t last) {
      for (std::size_t j = 0; j < left_.size(); ++j) {
        if (left_[j]) add(1.0, j, first, last);
      }
    });
    lost_ = 0.0;
    find_largest();
    transform();
  }

  void down_date(std::size_t j) {
    for_rows(1, [&](std::size_t first, std::size_t last) { add(-1.0, j, first, last); });
    find_largest();
  }

  void add(double scale, std::size_t j, std::size_t first, std::size_t last) {
    const double* const x = column(j);
    for (std::size_t i = first; i < last; ++i) {
      level_.elimination.add_measure(spec_.measure, scale, x[i], x, n_samples_, measures_.data() + i * n_samples_);
    }
  }

  // Of the measures between samples that are taught; those of others may be anything.
  void find_largest() {
    largest_ = 0.0;
    for (const std::size_t i : taught_) {
      const double* const row = measures(i);
      if (linear()) {  // no inner product is larger than the largest square
        largest_ = std::max(largest_, std::abs(row[i]));
      } else {
        for (const std::size_t k : taught_) largest_ = std::max(largest_, std::abs(row[k]));
      }
    }
  }

  void transform() {
    if (plain()) return;
    // Inner products of centred vectors make a singular matrix, which Newton steps of the solver do not like.
    if (lifted_) {
      for (std::size_t k = 0; k < values_.size(); ++k) values_[k] = measures_[k] + largest_;
      return;
    }
    constexpr std::size_t width = panel_width<double>;
    for_rows(1, [&](std::size_t first, std::size_t last) {
      double panel[width] = {};
      for (std::size_t k = first * n_samples_; k < last * n_samples_; k += width) {
        const std::size_t n = std::min(width, last * n_samples_ - k);
        std::copy_n(measures_.data() + k, n, panel);
        level_.full.transform(spec_, 0.0, nullptr, panel);
        std::copy_n(panel, n, values_.data() + k);
      }
    });
  }

  // use(first, last) for groups of rows, of which every entry takes so much work.
  template <class Use>
  void for_rows(std::size_t work, const Use& use) {
    if (n_rows_ * n_samples_ * work < little_work) return use(0, n_rows_);
    team_.for_each((n_rows_ + rows_together - 1) / rows_together, [&](std::size_t group, std::size_t) {
      use(group * rows_together, std::min(n_rows_, (group + 1) * rows_together));
    });
  }

  KernelSpec spec_;
  const Level& level_;
  const double* columns_;
  std::size_t n_samples_;
  std::vector<std::size_t> taught_;
  std::size_t n_rows_;
  bool lifted_;  // whether the kernel has a constant added to it
  Team& team_;
  std::vector<char> left_;
  std::size_t n_left_;
  std::vector<double> measures_, values_;
  double largest_ = 0.0, lost_ = 0.0;  // the largest measure, and what rounding has done to it
};

// What the machines would lose with a feature.
class Losses {
 public:
  explicit Losses(const Features& features) : features_(features), taught_(features.taught()) {
    const Measure measure = features.spec().measure;
    const bool distance = measure == Measure::l2 || measure == Measure::l1 || measure == Measure::chi2;
    lazy_ = features.linear() || (distance && features.spec().transform == Transform::exp);
  }

  // Whether a loss can be bounded by what it was.
  bool lazy() const { return lazy_ && has_direction_; }

  // New coefficients, (n_machines, n_samples).
  void follow(const std::vector<double>& coefficients, std::size_t n_machines) {
    n_machines_ = n_machines;
    coefficients_ = coefficients;
    if (!features_.linear()) arrange_pairs();
    if (lazy_) move();
  }

  // Whether a loss takes so long that several threads should compute several of them.
  bool dear() const { return support_.size() * support_.size() > 10'000; }

  // How far rounding may take a value that does not depend on its reach: kernel values are subtracted.
  double rounding() const { return features_.linear() ? 0.0 : 8.0 * eps * double(taught_.size()); }

  // How far the state that losses depend on has gone so far.
  double path() const { return path_; }

  // The loss, or for the linear kernel a number that grows with it, |w_j| over all machines; in the scale of the state.
  double value(std::size_t j) const {
    const double* const x = features_.column(j);
    if (features_.linear()) {
      double sum = 0.0;
      for (std::size_t m = 0; m < n_machines_; ++m) {
        const double w =
            features_.level().algebra.inner(x, coefficients_.data() + m * features_.n_samples(), features_.n_samples());
        sum += w * w;
      }
      return scale_ * std::sqrt(sum);
    }
    std::vector<double> own(width_, 0.0);
    for (std::size_t i = 0; i < support_.size(); ++i) own[i] = x[support_[i]];
    double sum = 0.0;
    for (std::size_t i = 0; i < support_.size(); ++i) {
      const std::size_t n = (i + loss_pad) / loss_pad * loss_pad;  // pairs with those up to i
      sum += features_.level().elimination.loss(features_.spec(), own[i], own.data(), measures_.data() + i * width_,
                                                values_.data() + i * width_, weights_.data() + i * width_, n);
    }
    return scale_ * sum;
  }

  double loss(double value) const {
    return features_.linear() ? 0.5 * (value / scale_) * (value / scale_) : value / scale_;
  }

  // How far a value can move for a unit of the path.
  double reach(std::size_t j) const {
    const double* const x = features_.column(j);
    double mean = 0.0, smallest = infinity, largest = -infinity;
    for (const std::size_t i : taught_) {
      mean += x[i] / double(taught_.size());
      smallest = std::min(smallest, x[i]);
      largest = std::max(largest, x[i]);
    }
    double squares = 0.0, of_centred = 0.0, fourth = 0.0;
    for (const std::size_t i : taught_) {
      const double square = (x[i] - mean) * (x[i] - mean);
      squares += x[i] * x[i];
      of_centred += square;
      fourth += square * square;
    }
    if (features_.linear()) return std::sqrt(squares);
    // |exp(p0 t) - 1| over all pairs, at most |p0 t| times the steepest chord; t^2 summed up over pairs is a moment.
    // chi2 is at most l1.
    const double n = double(taught_.size()), width = largest - smallest;
    const bool squared = features_.spec().measure == Measure::l2;
    const double of_pairs = squared ? n * fourth + 3.0 * of_centred * of_centred : n * of_centred;
    const double longest = features_.spec().p0 * (squared ? width * width : width);
    const double chord = longest > 0.0 ? std::expm1(longest) / longest : 1.0;
    return features_.spec().p0 * std::sqrt(of_pairs) * chord;
  }

 private:
  // Measures, kernel values and weights of the pairs of support vectors, each pair once.
  void arrange_pairs() {
    const std::size_t n = features_.n_samples();
    support_.clear();
    for (const std::size_t i : taught_) {
      bool supports = false;
      for (std::size_t m = 0; m < n_machines_; ++m) supports = supports || coefficients_[m * n + i] != 0.0;
      if (supports) support_.push_back(i);
    }
    width_ = (support_.size() + loss_pad - 1) / loss_pad * loss_pad;
    for (auto* table : {&measures_, &values_, &weights_}) table->assign(support_.size() * width_, 0.0);
    for (std::size_t i = 0; i < support_.size(); ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        double weight = 0.0;
        for (std::size_t m = 0; m < n_machines_; ++m) {
          weight += coefficients_[m * n + support_[i]] * coefficients_[m * n + support_[k]];
        }
        measures_[i * width_ + k] = features_.measures(support_[i])[support_[k]];
        values_[i * width_ + k] = features_.kernel(support_[i])[support_[k]];
        weights_[i * width_ + k] = k == i ? 0.5 * weight : weight;
      }
    }
  }

  // The state is c, or the part of cc' o K below the diagonal, as a vector of length 1: as features go, all of it
  // grows.
  void move() {
    std::vector<double> now;
    if (features_.linear()) {
      now = coefficients_;
    } else {
      const std::size_t n = features_.n_samples();
      now.assign(n * (n + 1) / 2, 0.0);
      for (std::size_t i = 0; i < support_.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          now[support_[i] * (support_[i] + 1) / 2 + support_[k]] = weights_[i * width_ + k] * values_[i * width_ + k];
        }
      }
    }
    const double size = norm(now);
    has_direction_ = size > 1e-290;
    scale_ = has_direction_ ? 1.0 / size : 1.0;
    state_.resize(now.size());
    for (std::size_t k = 0; k < now.size(); ++k) {
      now[k] = has_direction_ ? now[k] / size : 0.0;
      state_[k] -= now[k];
    }
    path_ += norm(state_);
    state_ = std::move(now);
  }

  // Whatever its size.
  static double norm(const std::vector<double>& values) {
    double largest = 0.0, sum = 0.0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    if (largest == 0.0) return 0.0;
    for (const double value : values) sum += (value / largest) * (value / largest);
    return largest * std::sqrt(sum);
  }

  const Features& features_;
  const std::vector<std::size_t>& taught_;
  std::vector<std::size_t> support_;
  bool lazy_ = false, has_direction_ = false;
  std::size_t n_machines_ = 0, width_ = 0;
  std::vector<double> coefficients_, measures_, values_, weights_, state_;
  double path_ = 0.0, scale_ = 1.0;
};

// The features of the smallest losses; of equal ones those that come first.
class Smallest {
 public:
  struct Candidate {
    double value;
    std::size_t feature;
    bool operator<(const Candidate& other) const {
      return value < other.value || (value == other.value && feature < other.feature);
    }
  };

  Smallest(const Features& features, const Losses& losses, Team& team)
      : features_(features), losses_(losses), team_(team) {}

  // In ascending order; they are not asked for again.
  std::vector<Candidate> choose(std::size_t n) {
    const bool bounded = losses_.lazy() && !groups_.empty();
    std::vector<Candidate> chosen = bounded ? choose_by_bounds(n) : choose_from_all(n);
    std::sort(chosen.begin(), chosen.end());
    if (groups_.empty()) return chosen;
    for (const Candidate& candidate : chosen) {
      key_[place_[candidate.feature]] = infinity;
      reach_[place_[candidate.feature]] = 0.0;
    }
    return chosen;
  }

 private:
  static constexpr std::size_t group_size = 64;
  // Rounding of values and bounds, relative to what they are made of.
  static constexpr double rounding = 1e-12;

  struct Group {
    double path, low, reach;  // where the path was, the lowest bound then, and the largest reach
  };

  // The path, and what rounding may add to it.
  double path() const { return losses_.path() * (1.0 + rounding) + rounding; }

  std::vector<Candidate> choose_from_all(std::size_t n) {
    const std::size_t d = features_.n_features();
    std::vector<double> values(d);
    team_.for_each((d + group_size - 1) / group_size, [&](std::size_t g, std::size_t) {
      for (std::size_t j = g * group_size; j < std::min(d, (g + 1) * group_size); ++j) {
        if (features_.is_left(j)) values[j] = losses_.value(j);
      }
    });
    std::vector<Candidate> all;
    for (std::size_t j = 0; j < d; ++j) {
      if (features_.is_left(j)) all.push_back({values[j], j});
    }
    if (losses_.lazy()) arrange(all);
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n) - 1, all.end());
    all.resize(n);
    return all;
  }

  // Features that will be looked at again soon are neighbours: in the order of the path to the smallest value.
  void arrange(const std::vector<Candidate>& all) {
    const double smallest = std::min_element(all.begin(), all.end())->value;
    std::vector<double> reach(all.size());
    std::vector<Candidate> distances(all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      reach[k] = losses_.reach(all[k].feature);
      const double above = all[k].value - smallest;
      distances[k] = {above > 0.0 ? above / reach[k] : 0.0, k};
    }
    std::sort(distances.begin(), distances.end());
    member_.resize(all.size());
    key_.resize(all.size());
    reach_.resize(all.size());
    place_.resize(features_.n_features());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Candidate& candidate = all[distances[k].feature];
      member_[k] = candidate.feature;
      place_[candidate.feature] = k;
      reach_[k] = reach[distances[k].feature];
      key_[k] = candidate.value + losses_.path() * reach_[k];
      if (!(key_[k] < infinity)) {  // no bound will do
        key_[k] = -infinity;
        reach_[k] = 0.0;
      }
    }
    groups_.resize((all.size() + group_size - 1) / group_size);
    for (std::size_t g = 0; g < groups_.size(); ++g) renew(g);
  }

  std::size_t end_of(std::size_t group) const { return std::min(member_.size(), (group + 1) * group_size); }

  void renew(std::size_t g) {
    Group group{path(), infinity, 0.0};
    for (std::size_t k = g * group_size; k < end_of(g); ++k) {
      group.low = std::min(group.low, key_[k] - group.path * reach_[k]);
      group.reach = std::max(group.reach, reach_[k]);
    }
    groups_[g] = group;
  }

  // Groups in the order of their bounds, until no other can have one of the n smallest values.
  std::vector<Candidate> choose_by_bounds(std::size_t n) {
    const double now = path();
    std::vector<std::pair<double, std::size_t>> queue(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      queue[g] = {groups_[g].low - (now - groups_[g].path) * groups_[g].reach, g};
    }
    const std::greater<> nearest;
    std::make_heap(queue.begin(), queue.end(), nearest);
    std::vector<Candidate> found, inside;  // found is a heap, the largest in front
    std::vector<double> values;
    double limit = infinity;  // what has a larger bound is not among the n smallest
    while (!queue.empty() && queue.front().first <= limit && queue.front().first < infinity) {
      const std::size_t g = queue.front().second;
      std::pop_heap(queue.begin(), queue.end(), nearest);
      queue.pop_back();
      inside.clear();
      for (std::size_t k = g * group_size; k < end_of(g); ++k) {
        const double low = key_[k] - now * reach_[k];
        if (low <= limit && low < infinity) inside.push_back({low, k});
      }
      std::sort(inside.begin(), inside.end());
      const bool together = losses_.dear();
      if (together) {
        values.resize(inside.size());
        team_.for_each(inside.size(),
                       [&](std::size_t c, std::size_t) { values[c] = losses_.value(member_[inside[c].feature]); });
      }
      for (std::size_t c = 0; c < inside.size(); ++c) {
        const auto& [low, k] = inside[c];
        if (low > limit) break;
        const Candidate candidate{together ? values[c] : losses_.value(member_[k]), member_[k]};
        if (key_[k] > -infinity) key_[k] = candidate.value + losses_.path() * reach_[k];
        found.push_back(candidate);
        std::push_heap(found.begin(), found.end());
        if (found.size() > n) {
          std::pop_heap(found.begin(), found.end());
          found.pop_back();
        }
        if (found.size() == n) limit = found.front().value + losses_.rounding();
      }
      renew(g);
    }
    return found;
  }

  const Features& features_;
  const Losses& losses_;
  Team& team_;
  // The features in groups, and the place of each. A value is at least its key less the path times its reach.
  std::vector<std::size_t> member_, place_;
  std::vector<double> key_, reach_;
  std::vector<Group> groups_;  // empty: nothing is known yet, or bounds are of no use
};

// A problem of the machines: its samples, and where it stands.
struct Machine {
  DualView view;
  std::vector<std::size_t> samples;
  std::vector<std::int64_t> places;  // of the variables among the samples
  Totals totals;
  std::vector<double> a;
};

// The samples that some machine sees.
inline std::vector<std::size_t> samples_of(const std::vector<Machine>& machines, std::size_t n_samples) {
  std::vector<char> seen(n_samples, 0);
  for (const Machine& machine : machines) {
    for (const std::size_t sample : machine.samples) seen[sample] = 1;
  }
  std::vector<std::size_t> samples;
  for (std::size_t i = 0; i < n_samples; ++i) {
    if (seen[i]) samples.push_back(i);
  }
  return samples;
}

struct Fit {
  double objective, gap, violation;
  std::size_t n_iter;
  Status status;
};

struct Options {
  SmoOptions smo;
  double gap_tol = infinity;  // relative
  double max_seconds = infinity;
};

// What a run leaves; the fits and the decision values are those of all machines, step by step.
struct Eliminated {
  std::vector<std::int64_t> order;
  std::vector<double> losses;
  std::vector<Fit> fits;
  std::vector<double> decisions;  // (n_steps, n_tests, n_machines)
};

class Elimination {
 public:
  Elimination(Features& features, std::vector<Machine>& machines, const Options& options, Team& team)
      : features_(features),
        machines_(machines),
        options_(options),
        team_(team),
        losses_(features),
        smallest_(features, losses_, team),
        coefficients_(machines.size() * features.n_samples()),
        offsets_(machines.size()) {}

  // Fit, look at the test samples and take so many features away, once for every batch. Ends after a fit that has no
  // solution.
  Eliminated run(const std::vector<std::size_t>& batches, const std::vector<std::size_t>& tests) {
    Eliminated out;
    for (const std::size_t batch : batches) {
      if (!fit(out)) break;
      decide(tests, out);
      if (batch == 0) continue;
      losses_.follow(coefficients_, machines_.size());
      std::vector<std::size_t> gone;
      for (const auto& [value, feature] : smallest_.choose(batch)) {
        out.order.push_back(static_cast<std::int64_t>(feature));
        out.losses.push_back(losses_.loss(value));
        gone.push_back(feature);
      }
      features_.remove(gone);
    }
    return out;
  }

 private:
  // Whether all problems have a solution.
  bool fit(Eliminated& out) {
    const std::size_t first = out.fits.size(), n = machines_.size();
    out.fits.resize(first + n);
    if (n == 1) {
      out.fits[first] = fit(0, 0, team_);
    } else {
      team_.for_each(n, [&](std::size_t m, std::size_t worker) {
        Team alone(1);
        out.fits[first + m] = fit(m, worker, alone);
      });
    }
    return std::none_of(out.fits.begin() + static_cast<std::ptrdiff_t>(first), out.fits.end(),
                        [](const Fit& fit) { return fit.status == Status::unbounded; });
  }

  Fit fit(std::size_t m, std::size_t worker, Team& team) {
    // How often a smaller violation may be asked for, each time by this factor, until the gap is as wanted.
    constexpr int tightenings = 12;
    constexpr double tighter = 0.2;
    Machine& machine = machines_[m];
    SmoOptions options = options_.smo;
    Fit fit{0.0, 0.0, 0.0, 0, Status::solved};
    for (int round = 0; round <= tightenings; ++round, options.tol *= tighter) {
      const Watch watch(options_.max_seconds, [&] { team_.poll(worker); }, {});
      DualView view = machine.view;
      view.start = machine.a.data();
      MatrixRows<double, double> rows(features_.level(), features_.kernel(), features_.n_samples(), machine.samples,
                                      team);
      SmoResult result = smo::Solver(view, options, features_.level(), nullptr, rows, watch).solve();
      const Certificate proof =
          smo::Certifier(view, machine.totals, false, result.a.data(), result.gradient.data()).certify();
      machine.a = std::move(result.a);
      fit = {proof.objective, proof.gap, proof.violation, fit.n_iter + result.n_iter, result.status};
      offsets_[m] = proof.plus;
      if (fit.status != Status::solved || !(fit.gap > options_.gap_tol * std::abs(fit.objective))) break;
      if (round == tightenings) fit.status = Status::stalled;
    }
    double* const c = coefficients_.data() + m * features_.n_samples();
    std::fill_n(c, features_.n_samples(), 0.0);
    for (std::size_t k = 0; k < machine.a.size(); ++k) {
      c[machine.samples[static_cast<std::size_t>(machine.places[k])]] += machine.view.sign[k] * machine.a[k];
    }
    return fit;
  }

  void decide(const std::vector<std::size_t>& tests, Eliminated& out) const {
    const std::size_t n = features_.n_samples(), n_machines = machines_.size(), first = out.decisions.size();
    out.decisions.resize(first + tests.size() * n_machines);
    for (std::size_t m = 0; m < n_machines && !tests.empty(); ++m) {
      double* const values = out.decisions.data() + first + m;
      for (std::size_t t = 0; t < tests.size(); ++t) values[t * n_machines] = offsets_[m];
      for (const std::size_t i : machines_[m].samples) {
        const double c = coefficients_[m * n + i];
        if (c == 0.0) continue;
        const double* const row = features_.kernel(i);
        for (std::size_t t = 0; t < tests.size(); ++t) values[t * n_machines] += c * row[tests[t]];
      }
    }
  }

  Features& features_;
  std::vector<Machine>& machines_;
  const Options& options_;
  Team& team_;
  Losses losses_;
  Smallest smallest_;
  std::vector<double> coefficients_, offsets_;  // (n_machines, n_samples)
};

}  // namespace mercer::elimination

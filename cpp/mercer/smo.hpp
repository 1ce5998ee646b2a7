// Sequential minimal optimisation on blocks (the problem and its notation: dual.hpp): the most violating points form a
// block, pairs (or single variables, where there is no equality) are optimised inside it, and the rest of the gradient
// follows in one pass over the columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "active_set.hpp"
#include "dual.hpp"
#include "level.hpp"
#include "rows.hpp"
#include "stop.hpp"

namespace mercer {

// A block is optimised to this fraction of the violation outside: what is more would only fit the block to itself.
inline constexpr double inner_accuracy = 0.3;
// From this fraction of its first violation on, a small problem has most of its free variables found.
inline constexpr double nearly_settled = 0.05;

enum class PairRule { gain, violation };

struct SmoOptions {
  double tol = 1e-3;
  PairRule rule = PairRule::gain;
  std::size_t max_iter = std::numeric_limits<std::size_t>::max();
  std::size_t block = 512;           // most points in a block, at first
  std::size_t largest_block = 1536;  // where the run is long: more would not stay in a cache
  std::size_t whole = 1024;          // up to so many points there is one block
  std::size_t exact = 512;           // up to so many points it is in double
  std::size_t polish = 256;          // up to so many points, the solution is exact up to rounding
  bool shrinking = true;
  bool full_precision = false;
  // Whether the solution will be divided by its margin, half the difference of the two offsets: `tol` then counts in
  // units of it (two equalities only).
  bool scaled = false;
  // Report `unbounded` when |w| / |p'a| falls below this fraction of the largest feature norm (hard margins
  // only).
  double unbounded_ratio = 0.0;
};

struct SmoResult {
  std::vector<double> a, gradient;
  double objective = 0.0, violation = 0.0, seconds = 0.0;
  std::size_t n_iter = 0, evaluations = 0;
  Status status = Status::solved;
  bool full_precision = false;
  std::vector<Record> history;
};

namespace smo {

// The block: a small problem whose kernel matrix lies in memory. T is the type of the matrix, S that of the state which
// the search for pairs runs over: what has changed since the block was made, so that float32 keeps its digits for the
// violations.
template <class T, class S>
struct Block {
  std::vector<std::size_t> points;
  const T* matrix = nullptr;  // `own`, or where the rows have it
  std::vector<T> own, zeros;
  std::vector<Layer> layers;
  std::vector<double> start, coefficient;  // f and s a when the block was made
  std::vector<S> f;                        // minus `start`
  std::vector<S> curvature;                // K_ii + ridge_i
  double offset = 0.0;

  // The variables that share an equality: of each point the largest `up` and the smallest `low` of its layers, minus
  // start and offset. Points of other groups only lie outside [begin, end).
  struct Group {
    std::size_t begin = 0, end = 0;
    std::vector<S> up, low;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> group_of;  // by layer

  std::size_t size() const { return points.size(); }
  const T* row(std::size_t i) const { return matrix + i * size(); }
  double exact_f(std::size_t c) const { return start[c] + double(f[c]); }

  S up(std::size_t l, std::size_t c) const { return S(layers[l].up[c] - start[c] - offset); }
  S low(std::size_t l, std::size_t c) const { return S(layers[l].low[c] - start[c] - offset); }

  // Call after a variable of point c has changed.
  void merge(std::size_t c) {
    for (Group& group : groups) {
      group.up[c] = S(-infinity);
      group.low[c] = S(infinity);
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Group& group = groups[group_of[l]];
      group.up[c] = std::max(group.up[c], up(l, c));
      group.low[c] = std::min(group.low[c], low(l, c));
    }
  }

  // The layer that the group's `up` (or `low`) of point c comes from.
  std::size_t layer_of(std::size_t g, std::size_t c, bool upwards) const {
    std::size_t l = 0;
    while (group_of[l] != g || (upwards ? up(l, c) != groups[g].up[c] : low(l, c) != groups[g].low[c])) ++l;
    return l;
  }
};

class Solver {
 public:
  // `single` may be null: then everything is done in double.
  Solver(const DualView& problem, const SmoOptions& options, const Level& level, Rows<float>* single,
         Rows<double>& full, Watch& watch)
      : problem_(problem),
        options_(options),
        level_(level),
        single_(single),
        full_(full),
        watch_(watch),
        f_(problem.n_points, 0.0),
        exact_f_(problem.n_points, 0.0),
        base_(problem.n_points, 0.0),
        order_(all_positions(problem.n_points)),
        n_active_(problem.n_points),
        block_(
            std::clamp<std::size_t>(problem.n_points / 32, std::min<std::size_t>(128, options.block), options.block)) {
    make_layers();
    stride_ = std::max<std::size_t>(8, problem.n_points / 16);
  }

  SmoResult solve() {
    SmoResult result;
    bool full = options_.full_precision || single_ == nullptr || f_.size() <= options_.exact;
    if (!full) {
      start_in(*single_);
      full = !single_resolves();
    }
    if (full) refresh();
    double target = 0.9 * tol_, last = violation();
    std::size_t stalls = 0;
    while (true) {
      status_ = full ? rounds(full_, target) : rounds(*single_, target);
      // float32 cannot tell a flat direction from a small slope
      if ((status_ == Status::unbounded || status_ == Status::indefinite) && !full) {
        full = true;
        refresh();
        reactivate();
        continue;
      }
      if (status_ == Status::solved && !full) {
        catch_up(*single_);
        if (violation() > tol_) continue;
        if (confirm()) {
          record(violation());
          if (violation() <= tol_) {
            if (!tighten()) break;
            target = 0.9 * tol_;
            continue;
          }
        }
      }
      if (status_ == Status::coarse && rounding_is_small()) continue;
      refresh();
      const double inside = violation();
      if (status_ == Status::coarse) {
        full = full || inside > 0.5 * last;
        last = inside;
        continue;
      }
      reactivate();
      const double everywhere = violation();
      record(everywhere);
      if (status_ != Status::solved) break;
      if (everywhere <= tol_) {
        if (!tighten()) break;
        target = 0.9 * tol_;
        continue;
      }
      if (inside > tol_) {
        // The working rows are too coarse for this problem if going on from the exact gradient does not help.
        if (inside > 0.5 * last) {
          if (full && ++stalls == 3) {
            status_ = Status::stalled;
            break;
          }
          full = true;
        }
        last = inside;
        target = std::max(0.5 * target, 0.1 * tol_);
      }
    }
    reactivate();
    result.violation = violation();
    result.objective = objective();
    result.a.resize(problem_.n_variables);
    result.gradient.resize(problem_.n_variables);
    for (const Layer& layer : layers_) {
      for (std::size_t i = 0; i < f_.size(); ++i) {
        if (layer.variable[i] < 0) continue;
        result.a[layer.variable[i]] = layer.a[i];
        result.gradient[layer.variable[i]] = layer.gradient(i, f_[i]);
      }
    }
    result.status = status_ == Status::solved && negative_curvature_ ? Status::indefinite : status_;
    result.full_precision = full;
    result.n_iter = n_iter_;
    result.evaluations = full_.evaluations() + (single_ ? single_->evaluations() : 0);
    result.history = std::move(history_);
    result.seconds = watch_.seconds();
    return result;
  }

 private:
  bool separate() const { return problem_.equality == Equality::per_sign; }

  // Each variable goes to the first layer where its point is free; with one equality per sign, each sign has
  // layers of its own, so that a pair never leaves its layer's group.
  void make_layers() {
    for (std::size_t k = 0; k < problem_.n_variables; ++k) {
      const std::size_t point = static_cast<std::size_t>(problem_.point[k]);
      std::size_t at = 0;
      for (; at < layers_.size(); ++at) {
        if (layers_[at].variable[point] >= 0) continue;
        if (!separate() || group_sign_[at] == problem_.sign[k]) break;
      }
      if (at == layers_.size()) {
        layers_.emplace_back().resize(problem_.n_points);
        group_sign_.push_back(problem_.sign[k]);
      }
      Layer& layer = layers_[at];
      layer.variable[point] = static_cast<std::int64_t>(k);
      layer.a[point] = problem_.start[k];
      layer.sign[point] = problem_.sign[k];
      layer.linear[point] = problem_.linear[k];
      layer.upper[point] = problem_.upper[k];
      layer.ridge[point] = problem_.ridge[k];
      layer.classify(point);
      unlimited_ = unlimited_ || problem_.upper[k] == infinity;
      hard_ = hard_ && problem_.upper[k] == infinity && problem_.ridge[k] == 0.0;
      lowest_ -= gap_term(0.0, problem_.linear[k], problem_.upper[k], problem_.ridge[k]);
    }
  }

  std::size_t n_groups() const { return separate() ? 2 : 1; }
  std::size_t group_of(std::size_t layer) const { return separate() && group_sign_[layer] < 0 ? 1 : 0; }

  // s a of a point.
  double coefficient(std::size_t i) const {
    double sum = 0.0;
    for (const Layer& layer : layers_) sum += layer.sign[i] * layer.a[i];
    return sum;
  }

  // Where s a differs from what it was, by point: `before` is in the order of the points.
  void changes_since(const std::vector<double>& before, std::vector<std::size_t>& changed,
                     std::vector<double>& change) const {
    std::vector<double> now(f_.size());
    for (std::size_t i = 0; i < f_.size(); ++i) now[order_[i]] = coefficient(i);
    changed.clear();
    change.clear();
    for (std::size_t point = 0; point < f_.size(); ++point) {
      if (now[point] == before[point]) continue;
      changed.push_back(point);
      change.push_back(now[point] - before[point]);
    }
  }

  std::vector<double> coefficients() const {
    std::vector<double> by_point(f_.size());
    for (std::size_t i = 0; i < f_.size(); ++i) by_point[order_[i]] = coefficient(i);
    return by_point;
  }

  // f in double for all points: exact for the coefficients at hand, whatever the working precision was. Only what has
  // changed since the last time is computed.
  void refresh() {
    std::vector<std::size_t> changed;
    std::vector<double> change;
    changes_since(base_, changed, change);
    base_ = coefficients();
    full_.restrict_to(all_positions(f_.size()));
    full_.add(changed.data(), change.data(), changed.size(), exact_f_.data());
    for (std::size_t i = 0; i < f_.size(); ++i) f_[i] = exact_f_[order_[i]];
    for (Dropped& dropped : dropped_) dropped.coefficient = base_;
    squared_change_ = 0.0;
    take_stock();
  }

  // f of the start, in the working precision.
  template <class T>
  void start_in(Rows<T>& rows) {
    std::vector<std::size_t> changed;
    std::vector<double> change;
    changes_since(base_, changed, change);
    rows.add(changed.data(), change.data(), changed.size(), f_.data());
    for (const double c : change) squared_change_ += c * c;
    take_stock();
  }

  // Objective and p'a of the coefficients at hand.
  void take_stock() {
    objective_ = objective();
    slope_ = 0.0;
    for (const Layer& layer : layers_) {
      for (std::size_t i = 0; i < f_.size(); ++i) slope_ += layer.linear[i] * layer.a[i];
    }
  }

  // The rounding of float32 rows is estimated with care, and f computed afresh at some points shows how much of the
  // estimate is true.
  void measure_rounding() {
    constexpr std::size_t probes = 128;
    constexpr double care = 3.0;  // other points may be worse
    std::vector<std::size_t> positions, points, changed;
    std::vector<double> exact, change;
    for (std::size_t k = 0; k < probes; ++k) positions.push_back(k * n_active_ / probes);
    for (const std::size_t i : positions) {
      points.push_back(order_[i]);
      exact.push_back(exact_f_[order_[i]]);
    }
    changes_since(base_, changed, change);
    full_.add_at(points.data(), probes, changed.data(), change.data(), changed.size(), exact.data());
    double worst = 0.0;
    for (std::size_t k = 0; k < probes; ++k) worst = std::max(worst, std::abs(exact[k] - f_[positions[k]]));
    const double estimate = drift<float>(squared_change_);
    if (care * worst < estimate) rounding_units_ *= std::max(care * worst / estimate, 0.01);
  }

  // Whether the rounding, once measured, is small enough to go on.
  bool rounding_is_small() {
    measure_rounding();
    return drift<float>(squared_change_) <= 0.2 * violation();
  }

  // Bring f of the points that were left out up to date, in the working precision, and take them in again.
  template <class T>
  void catch_up(Rows<T>& rows) {
    std::vector<std::size_t> changed;
    std::vector<double> change, delta;
    std::size_t end = f_.size();
    for (const Dropped& dropped : dropped_) {
      changes_since(dropped.coefficient, changed, change);
      delta.assign(end - dropped.begin, 0.0);
      rows.restrict_to({order_.begin() + std::ptrdiff_t(dropped.begin), order_.begin() + std::ptrdiff_t(end)});
      rows.add(changed.data(), change.data(), changed.size(), delta.data());
      for (std::size_t c = 0; c < delta.size(); ++c) f_[dropped.begin + c] += delta[c];
      end = dropped.begin;
    }
    reactivate();
  }

  // All points take part again, in their own order; their f must be up to date.
  void reactivate() {
    n_active_ = f_.size();
    if (dropped_.empty()) return;
    dropped_.clear();
    std::vector<std::size_t> position(f_.size());
    for (std::size_t i = 0; i < f_.size(); ++i) position[order_[i]] = i;
    reorder(position);
  }

  // Position k receives what was at from[k].
  void reorder(const std::vector<std::size_t>& from) {
    for (Layer& layer : layers_) layer.reorder(from);
    const std::vector<double> f = f_;
    const std::vector<std::size_t> order = order_;
    for (std::size_t k = 0; k < from.size(); ++k) {
      f_[k] = f[from[k]];
      order_[k] = order[from[k]];
    }
    previous_.clear();
  }

  // Certify f kept in float32 rows: where its error, estimated, is far below the tolerance, objective, gap and
  // violation depend on the support vectors and on the points near the margin alone, and only their f is computed
  // afresh. Some more points test the estimate.
  bool confirm() {
    constexpr std::size_t probes = 128;
    if (drift<float>(squared_change_) > 0.25 * tol_) measure_rounding();
    const double error = drift<float>(squared_change_);
    if (error > 0.25 * tol_) return false;
    const std::vector<Extremes> groups = extremes();
    std::vector<std::size_t> changed, others;
    std::vector<double> change;
    changes_since(base_, changed, change);
    std::vector<char> moved(f_.size(), 0);
    for (const std::size_t i : changed) moved[i] = 1;
    for (std::size_t i = 0; i < f_.size(); ++i) {
      bool counts = i % std::max<std::size_t>(1, f_.size() / probes) == 0;
      for (std::size_t l = 0; l < layers_.size() && !counts; ++l) {
        // a > 0, or a slope that may be negative
        const Extremes& group = groups[group_of(l)];
        const double b = group.middle(problem_.equality);
        const double limit = 0.5 * group.violation(problem_.equality) + 2.0 * error;
        counts =
            layers_[l].a[i] > 0.0 || layers_[l].up[i] - f_[i] >= b - limit || layers_[l].low[i] - f_[i] <= b + limit;
      }
      if (counts && !moved[i]) others.push_back(i);
    }
    std::vector<double> among(changed.size(), 0.0), at(others.size(), 0.0);
    full_.add_among(changed.data(), change.data(), changed.size(), among.data());
    full_.add_at(others.data(), others.size(), changed.data(), change.data(), changed.size(), at.data());
    std::vector<double> exact = f_;
    for (std::size_t c = 0; c < changed.size(); ++c) exact[changed[c]] = exact_f_[changed[c]] + among[c];
    for (std::size_t c = 0; c < others.size(); ++c) exact[others[c]] = exact_f_[others[c]] + at[c];
    for (std::size_t i = 0; i < f_.size(); ++i) {
      if (std::abs(exact[i] - f_[i]) > error) return false;
    }
    f_ = std::move(exact);
    objective_ = objective();
    return true;
  }

  // Is float32 fine enough? Its rounding of kernel values, times the size of a usual solution (steps of violation over
  // squared distance in feature space, at most a bound, for every point), must be below the tolerance.
  bool single_resolves() {
    const std::size_t m = f_.size(), n = std::min<std::size_t>(m, 128);
    std::vector<std::size_t> which(n);
    for (std::size_t k = 0; k < n; ++k) which[k] = k * m / n;
    std::vector<double> matrix(n * n), distances;
    full_.square(which.data(), n, matrix.data());
    double largest = 0.0, bound = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t l = (k + n / 2) % n;
      largest = std::max(largest, std::abs(matrix[k * n + k]));
      distances.push_back(matrix[k * n + k] + matrix[l * n + l] - matrix[k * n + l] - matrix[l * n + k]);
    }
    for (const Layer& layer : layers_)
      bound = std::max(bound, *std::max_element(layer.upper.begin(), layer.upper.end()));
    std::nth_element(distances.begin(), distances.begin() + n / 2, distances.end());
    const double step = std::min(bound, violation() / std::max(distances[n / 2], smallest_curvature));
    const double rounding = double(std::numeric_limits<float>::epsilon()) * largest;
    return rounding * step * std::sqrt(double(m)) < 0.25 * tol_;
  }

  // Of the active points.
  std::vector<Extremes> extremes() {
    std::vector<Extremes> groups(n_groups());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      Extremes& group = groups[group_of(l)];
      Candidate largest, smallest;
      level_.full.update_and_extremes(0.0, nullptr, nullptr, layers_[l].up.data(), layers_[l].low.data(), n_active_,
                                      f_.data(), &largest, &smallest);
      group.largest = std::max(group.largest, largest.value);
      group.smallest = std::min(group.smallest, smallest.value);
    }
    return groups;
  }

  // Where tol counts in units of the margin: whether the violation is too large for the margin that was found. Margins
  // below a thousandth are left to the caller, who asks whether there is one at all.
  bool tighten() {
    if (!options_.scaled || !separate()) return false;
    const std::vector<Extremes> groups = extremes();
    const double margin = 0.5 * (groups[1].middle(problem_.equality) - groups[0].middle(problem_.equality));
    if (worst(groups) <= 0.9 * options_.tol * margin || margin < 1e-3) return false;
    tol_ = std::min(tol_, 0.8 * options_.tol * margin);
    return true;
  }

  double worst(const std::vector<Extremes>& groups) const {
    double worst = 0.0;
    for (const Extremes& group : groups) worst = std::max(worst, group.violation(problem_.equality));
    return worst;
  }

  double violation() { return worst(extremes()); }

  double objective() const {
    double sum = 0.0;
    for (const Layer& layer : layers_) {
      for (std::size_t i = 0; i < f_.size(); ++i) {
        if (layer.a[i] != 0.0) sum += 0.5 * layer.a[i] * (layer.gradient(i, f_[i]) + layer.linear[i]);
      }
    }
    return sum;
  }

  double gap() {
    if (hard_) return hard_gap();
    const std::vector<Extremes> groups = extremes();
    double sum = 0.0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      const double b = groups[group_of(l)].middle(problem_.equality);
      for (std::size_t i = 0; i < n_active_; ++i) {
        if (layer.variable[i] < 0) continue;
        const double slope = layer.sign[i] * (f_[i] + b) + layer.linear[i];
        sum += gap_term(layer.a[i], slope, layer.upper[i], layer.ridge[i]);
      }
    }
    return sum;
  }

  // A hard margin: b is the middle between the classes [CY eq 1.14], and w and b are scaled by the t for which every
  // constraint t s (f + b) >= -p holds.
  double hard_gap() const {
    double lower = -infinity, upper = infinity, scale = 0.0;
    for_each_variable([&](const Layer& layer, std::size_t i) {
      const double v = -layer.sign[i] * layer.linear[i] - f_[i];
      if (layer.sign[i] > 0) {
        lower = std::max(lower, v);
      } else {
        upper = std::min(upper, v);
      }
    });
    const double b = problem_.equality == Equality::none ? 0.0 : 0.5 * (lower + upper);
    for_each_variable([&](const Layer& layer, std::size_t i) {
      if (layer.linear[i] >= 0.0) return;
      const double margin = layer.sign[i] * (f_[i] + b);
      scale = std::max(scale, margin > 0.0 ? -layer.linear[i] / margin : infinity);
    });
    return scale < infinity ? std::max(0.0, scale * scale * (objective_ - slope_) + objective_) : infinity;
  }

  template <class Use>
  void for_each_variable(Use use) const {
    for (const Layer& layer : layers_) {
      for (std::size_t i = 0; i < f_.size(); ++i) {
        if (layer.variable[i] >= 0) use(layer, i);
      }
    }
  }

  // Keep the history short: when full, every second record goes and the stride doubles.
  void record(double violation) {
    constexpr std::size_t most = 256;
    if (history_.size() == most) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < most; k += 2) history_[kept++] = history_[k];
      history_.resize(kept);
      stride_ *= 2;
    }
    history_.push_back({n_iter_, objective_, gap(), violation});
    next_record_ = n_iter_ + stride_;
  }

  // Is this a hard margin whose coefficients run away? a'Qa = 2 (objective - p'a) without ridge.
  bool runs_away() const {
    if (!hard_ || slope_ >= 0.0) return false;
    const double limit = options_.unbounded_ratio * slope_;
    return 2.0 * (objective_ - slope_) <= limit * limit * largest_diagonal_;
  }

  // solved (so far) or the reason to stop.
  Status check_limits(double violation, double drift) {
    watch_.poll();
    if (n_iter_ >= options_.max_iter) return Status::max_iter;
    if (watch_.out_of_time()) return Status::max_seconds;
    if (watch_.asks_to_stop({n_iter_, objective_, violation, watch_.seconds()})) return Status::stopped;
    if (runs_away()) return Status::unbounded;
    if (drift > 0.25 * violation) return Status::coarse;
    if (unlimited_ && objective_ < 1.000001 * lowest_) return Status::indefinite;
    return Status::solved;
  }

  // Sum of (change of s a since the last refresh)^2 over the points of a block, whose coefficients are in `layers`.
  double squared_change(const std::vector<Layer>& layers, const std::vector<std::size_t>& points) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < points.size(); ++c) {
      double change = -base_[order_[points[c]]];
      for (const Layer& layer : layers) change += layer.sign[c] * layer.a[c];
      sum += change * change;
    }
    return sum;
  }

  // How far rows of precision T may have led f astray: independent roundings of the kernel values, of some units in the
  // last place each.
  template <class T>
  double drift(double squared_change) const {
    if constexpr (sizeof(T) == sizeof(double)) return 0.0;
    const double rounding = rounding_units_ * double(std::numeric_limits<T>::epsilon()) * largest_diagonal_;
    return rounding * std::sqrt(std::max(0.0, squared_change));
  }

  // Optimise the active points until their violation is at most `target`.
  template <class T>
  Status rounds(Rows<T>& rows, double target) {
    restrict(rows);
    Block<T, double> block;
    Block<T, float> quick;
    std::size_t used = 0;  // kernel values, whether they had to be computed or not
    for (std::size_t round = 0;; ++round) {
      const std::vector<Extremes> groups = extremes();
      const double outer = worst(groups);
      // Numbers that the rounding of the rows has spoilt are not for the history.
      const bool sound = drift<T>(squared_change_) <= 0.25 * std::max(outer, tol_);
      if (sound && (n_iter_ >= next_record_ || round == 0)) record(outer);
      const bool unpolished = round == 0 && n_active_ <= options_.polish && outer > 0.0;
      if (outer <= target && !unpolished) return Status::solved;
      const Status limit = check_limits(outer, drift<T>(squared_change_));
      if (limit != Status::solved) return limit;
      if (options_.shrinking && ++rounds_ % 8 == 0 && shrink(groups)) restrict(rows);
      // Where more than a whole matrix has been used up, small blocks undo each other's work.
      if (used > 2 * n_active_ * n_active_ && block_ < options_.largest_block) {
        block_ = std::min(2 * block_, options_.largest_block);
        used = 0;
      }
      const bool everything = n_active_ <= std::max(block_, options_.whole);
      const double inner = everything ? target : std::max(target, inner_accuracy * outer);
      const std::size_t steps_before = n_iter_;
      Status status;
      if constexpr (sizeof(T) == sizeof(float)) {
        // A problem that is one block tells its history step by step.
        const bool fine = inner <= 1e-5 || (everything && n_active_ == f_.size());
        status = fine ? one_round(rows, block, groups, inner, everything, used)
                      : one_round(rows, quick, groups, inner, everything, used);
      } else {
        status = one_round(rows, block, groups, inner, everything, used);
      }
      // No step: the block's own arithmetic sees no violation, and the rest is rounding.
      if (status != Status::solved || n_iter_ == steps_before) return status;
    }
  }

  // Choose a block, optimise it, and bring the state of all active points up to date.
  template <class T, class S>
  Status one_round(Rows<T>& rows, Block<T, S>& block, const std::vector<Extremes>& groups, double eps, bool everything,
                   std::size_t& used) {
    select(everything, groups, block.points);
    block.offset = groups[0].middle(problem_.equality);
    load(rows, block);
    change_elsewhere_ = squared_change_ - squared_change(block.layers, block.points);
    const double objective = objective_, slope = slope_, ridge = ridge_term(block.layers);
    const Status status = optimise(block, eps, everything);
    squared_change_ = std::max(0.0, change_elsewhere_) + squared_change(block.layers, block.points);
    std::vector<std::size_t> changed;
    std::vector<double> change;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const std::size_t i = block.points[c];
      for (std::size_t l = 0; l < layers_.size(); ++l) layers_[l].copy_state_from(block.layers[l], c, i);
      f_[i] = block.start[c];
      const double difference = coefficient(i) - block.coefficient[c];
      if (difference == 0.0) continue;
      changed.push_back(order_[i]);
      change.push_back(difference);
    }
    if (everything && sizeof(S) == sizeof(double)) {
      for (std::size_t c = 0; c < block.size(); ++c) f_[block.points[c]] = block.exact_f(c);
    } else {
      used += block.size() * block.size() + changed.size() * n_active_;
      delta_.assign(n_active_, 0.0);
      rows.add(changed.data(), change.data(), changed.size(), delta_.data());
      for (std::size_t c = 0; c < n_active_; ++c) f_[c] += delta_[c];
    }
    // The objective, by the two gradients: what the steps have added up is rounded like the block's state.
    objective_ = objective + (slope_ - slope) + ridge_term(block.layers) - ridge;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const std::size_t i = block.points[c];
      objective_ += 0.5 * (coefficient(i) - block.coefficient[c]) * (block.start[c] + f_[i]);
    }
    return status;
  }

  static double ridge_term(const std::vector<Layer>& layers) {
    double sum = 0.0;
    for (const Layer& layer : layers) {
      for (std::size_t c = 0; c < layer.a.size(); ++c) sum += 0.5 * layer.ridge[c] * layer.a[c] * layer.a[c];
    }
    return sum;
  }

  // Active sets only ever shrink or become everything again, so their size tells them apart.
  template <class T>
  void restrict(Rows<T>& rows) {
    if (rows.n_active() == n_active_) return;
    rows.restrict_to({order_.begin(), order_.begin() + std::ptrdiff_t(n_active_)});
  }

  // Leave out the points none of whose variables can be part of a violating pair while the extremes stay where they
  // are: they go behind the others.
  bool shrink(const std::vector<Extremes>& groups) {
    std::vector<std::size_t> kept, left_out;
    for (std::size_t i = 0; i < n_active_; ++i) {
      bool needed = false;
      for (std::size_t l = 0; l < layers_.size() && !needed; ++l) {
        Extremes group = groups[group_of(l)];
        if (problem_.equality == Equality::none) group = {0.0, 0.0};
        const double up = layers_[l].up[i] - f_[i], low = layers_[l].low[i] - f_[i];
        needed = up >= group.smallest || low <= group.largest;
      }
      (needed ? kept : left_out).push_back(i);
    }
    if (kept.size() > 0.8 * static_cast<double>(n_active_)) return false;
    dropped_.push_back({kept.size(), coefficients()});
    std::vector<std::size_t> from = std::move(kept);
    const std::size_t n_kept = from.size();
    from.insert(from.end(), left_out.begin(), left_out.end());
    for (std::size_t i = n_active_; i < f_.size(); ++i) from.push_back(i);
    reorder(from);
    n_active_ = n_kept;
    return true;
  }

  // The block: half of it new points with the largest violation on either side, the rest from the block
  // before.
  void select(bool everything, const std::vector<Extremes>& groups, std::vector<std::size_t>& points) {
    if (everything) {
      points = all_positions(n_active_);
      return;
    }
    chosen_.assign(n_active_, 0);
    points.clear();
    const std::size_t wanted = previous_.empty() ? block_ : block_ / 2;
    const std::size_t share = std::max<std::size_t>(1, wanted / (2 * n_groups()));
    for (std::size_t g = 0; g < n_groups(); ++g) {
      Extremes limits = groups[g];
      if (problem_.equality == Equality::none) limits = {0.0, 0.0};
      take_most_violating(g, true, limits.smallest, share, points);
      take_most_violating(g, false, limits.largest, share, points);
    }
    for (const std::size_t i : previous_) {
      if (points.size() >= block_) break;
      if (!chosen_[i]) {
        chosen_[i] = 1;
        points.push_back(i);
      }
    }
    previous_ = points;
  }

  // Points of group g that may move up (down) and lie above (below) the limit; ties go to the smaller number.
  void take_most_violating(std::size_t g, bool upwards, double limit, std::size_t share,
                           std::vector<std::size_t>& points) {
    double enough = std::numeric_limits<double>::denorm_min();  // what a violation must be to count
    const auto keep_the_best = [&] {
      if (candidates_.size() < share) return;
      const auto last = candidates_.begin() + std::ptrdiff_t(share - 1);
      std::nth_element(candidates_.begin(), last, candidates_.end(), comes_before);
      enough = last->value;
      candidates_.resize(share);
    };
    candidates_.clear();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (group_of(l) != g) continue;
      const double* const bound = upwards ? layers_[l].up.data() : layers_[l].low.data();
      const double* const f = f_.data();
      const double sign = upwards ? 1.0 : -1.0;
      const auto urgency = [&](std::size_t i) { return sign * (bound[i] - f[i] - limit); };
      // Few points count once some have been seen: most chunks are passed by at a glance.
      constexpr std::size_t chunk = 32;
      for (std::size_t begin = 0; begin < n_active_; begin += chunk) {
        const std::size_t end = std::min(n_active_, begin + chunk);
        int any = 0;
        for (std::size_t i = begin; i < end; ++i) any |= urgency(i) >= enough;
        for (std::size_t i = begin; any && i < end; ++i) {
          if (!(urgency(i) >= enough) || chosen_[i]) continue;
          candidates_.push_back({urgency(i), i});
          if (candidates_.size() >= 4 * share) keep_the_best();
        }
      }
    }
    keep_the_best();
    std::sort(candidates_.begin(), candidates_.end(), comes_before);
    for (const Candidate& candidate : candidates_) {
      if (chosen_[candidate.position]) continue;
      chosen_[candidate.position] = 1;
      points.push_back(candidate.position);
    }
  }

  static bool comes_before(const Candidate& x, const Candidate& y) {
    return x.value != y.value ? x.value > y.value : x.position < y.position;
  }

  template <class T, class S>
  void load(Rows<T>& rows, Block<T, S>& block) {
    const std::size_t n = block.size();
    // Each group's points side by side.
    if (n_groups() > 1) {
      std::stable_sort(block.points.begin(), block.points.end(),
                       [&](std::size_t x, std::size_t y) { return is_in_group(x, 0) && !is_in_group(y, 0); });
    }
    ids_.resize(n);
    for (std::size_t c = 0; c < n; ++c) ids_[c] = order_[block.points[c]];
    block.matrix = n == rows.n_points() && ids_ == all_positions(n) ? rows.whole() : nullptr;
    if (block.matrix == nullptr) {
      block.own.resize(n * n);
      rows.square(ids_.data(), n, block.own.data());
      block.matrix = block.own.data();
    }
    block.zeros.assign(n, T(0));
    block.f.assign(n, S(0));
    block.start.resize(n);
    block.coefficient.resize(n);
    block.curvature.resize(n);
    block.layers.resize(layers_.size());
    block.group_of.resize(layers_.size());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      block.group_of[l] = group_of(l);
      block.layers[l].resize(n);
      for (std::size_t c = 0; c < n; ++c) block.layers[l].copy_from(layers_[l], block.points[c], c);
    }
    for (std::size_t c = 0; c < n; ++c) {
      block.start[c] = f_[block.points[c]];
      block.coefficient[c] = coefficient(block.points[c]);
      const double diagonal = double(block.row(c)[c]);
      largest_diagonal_ = std::max(largest_diagonal_, diagonal);
      double ridge = infinity;  // the same in all layers but for gaps
      for (std::size_t l = 0; l < layers_.size(); ++l) {
        if (block.layers[l].variable[c] >= 0) ridge = std::min(ridge, block.layers[l].ridge[c]);
      }
      block.curvature[c] = S(diagonal + ridge);
    }
    block.groups.resize(n_groups());
    for (std::size_t g = 0; g < n_groups(); ++g) {
      auto& group = block.groups[g];
      group.up.resize(n);
      group.low.resize(n);
      group.begin = 0;
      group.end = n;
      while (group.begin < n && !is_in_group(block.points[group.begin], g)) ++group.begin;
      while (group.end > group.begin && !is_in_group(block.points[group.end - 1], g)) --group.end;
    }
    for (std::size_t c = 0; c < n; ++c) block.merge(c);
  }

  bool is_in_group(std::size_t i, std::size_t g) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (group_of(l) == g && layers_[l].variable[i] >= 0) return true;
    }
    return false;
  }

  // A point of the block and the v of its variable.
  struct Place {
    std::size_t position = 0;
    double v = 0.0;
  };

  // SMO inside the block, until its violation is at most eps. [CY eqs 1.51-1.61]
  template <class T, class S>
  Status optimise(Block<T, S>& block, double eps, bool everything) {
    const std::size_t n = block.size();
    double step = 0.0;
    const T *first = block.zeros.data(), *second = block.zeros.data();
    std::vector<Place> top(n_groups()), bottom(n_groups());
    // Groups that share no point are updated each on its own.
    const bool apart = n_groups() == 1 || block.groups[0].end <= block.groups[1].begin;
    const bool polishable = everything && sizeof(T) == sizeof(double) && n <= options_.polish;
    constexpr std::size_t polishing_steps = 50;  // per point
    double largest_f = 0.0, largest_linear = 0.0;
    for (const double f : block.start) largest_f = std::max(largest_f, std::abs(f));
    for (const Layer& layer : block.layers) {
      for (const double p : layer.linear) largest_linear = std::max(largest_linear, std::abs(p));
    }
    const bool recorded = everything && sizeof(S) == sizeof(double);  // float32 adds up too coarsely for the history
    const double polished = std::max(1e-12 * std::min(1.0, std::max(largest_f, largest_linear)), 1e-14 * largest_f);
    const double goal = polishable ? std::min(polished, eps) : eps;
    std::size_t settled = 0, last_newton = 0, leaps = 0;
    double first_violation = 0.0;
    for (std::size_t iteration = 0;; ++iteration) {
      // f after the last step, and the extremes of every group.
      for (std::size_t g = 0; g < n_groups(); ++g) {
        const auto& group = block.groups[g];
        const std::size_t begin = apart ? group.begin : 0, end = apart ? group.end : n;
        Candidate largest, smallest;
        search<T, S>().update_and_extremes(apart || g == 0 ? step : 0.0, first + begin, second + begin,
                                           group.up.data() + begin, group.low.data() + begin, end - begin,
                                           block.f.data() + begin, &largest, &smallest);
        top[g] = {begin + largest.position, largest.value};
        bottom[g] = {begin + smallest.position, smallest.value};
      }
      std::size_t g = 0;
      double violation = 0.0;
      for (std::size_t k = 0; k < n_groups(); ++k) {
        const double here = Extremes{top[k].v, bottom[k].v}.violation(problem_.equality);
        if (here > violation) {
          violation = here;
          g = k;
        }
      }
      if (violation <= eps) {
        // Small problems go on to the last digits: cheap, and then weights, copies and order of samples do
        // not show.
        if (settled == 0) settled = iteration + 1;
        if (violation <= goal || iteration > settled + polishing_steps * n) return Status::solved;
      }
      // The last digits of a small problem come by Newton steps: early, where few of them may do, and at the latest
      // when it has settled.
      first_violation = std::max(first_violation, violation);
      const bool early = leaps == 0 && violation <= nearly_settled * first_violation;
      const bool late = leaps < 2 && violation <= eps;
      if (polishable && (early || late)) {
        leaps = late ? 2 : 1;
        newton(block, goal, late ? 10 * n : 4);
        for (std::size_t c = 0; c < n; ++c) block.merge(c);
        step = 0.0;
        continue;
      }
      const bool due = recorded && n_iter_ >= next_record_;
      if (iteration % 1024 == 1023 || n_iter_ >= options_.max_iter || due) {
        if (due) {
          sync(block);
          record(violation);
        }
        const double change = change_elsewhere_ + squared_change(block.layers, block.points);
        const Status limit = check_limits(violation, drift<T>(change));
        if (limit != Status::solved) return violation <= eps ? Status::solved : limit;
        if (iteration >= 2 * last_newton + newton_pays(block)) {
          newton(block, goal, 10 * n);
          for (std::size_t c = 0; c < n; ++c) block.merge(c);
          last_newton = iteration;
          step = 0.0;
          continue;
        }
      }
      ++n_iter_;
      if (problem_.equality == Equality::none) {
        const Place i = single(block);
        step = step_one(block, i);
        first = block.row(i.position);
        second = block.zeros.data();
        block.merge(i.position);
      } else {
        const Place i = top[g];
        const Place j = partner(block, i, bottom[g], g);
        step = step_pair(block, i, j, g);
        first = block.row(i.position);
        second = block.row(j.position);
        block.merge(i.position);
        block.merge(j.position);
      }
      if (!(step < infinity)) return hard_ ? Status::unbounded : Status::indefinite;
    }
  }

  // Steps of pairs after which a factorisation of the free variables has become the cheaper way.
  template <class T, class S>
  std::size_t newton_pays(const Block<T, S>& block) const {
    double free = 0.0;
    for (const Layer& layer : block.layers) {
      for (std::size_t c = 0; c < block.size(); ++c) free += layer.up[c] > -infinity && layer.low[c] < infinity;
    }
    return 1024 + static_cast<std::size_t>(free * free * free / (24.0 * static_cast<double>(block.size())));
  }

  // Newton steps on the free variables of the block, in double, until it is optimal or they lead nowhere, but no more
  // than so many.
  template <class T, class S>
  void newton(Block<T, S>& block, double eps, std::size_t most_steps) {
    const std::size_t n = block.size();
    std::vector<double> matrix(n * n);
    ids_.resize(n);
    for (std::size_t c = 0; c < n; ++c) ids_[c] = order_[block.points[c]];
    full_.square(ids_.data(), n, matrix.data());
    std::vector<double> f(n);
    for (std::size_t c = 0; c < n; ++c) f[c] = block.exact_f(c);
    ActiveSet set(level_, matrix.data(), n, block.layers, f, block.group_of,
                  problem_.equality == Equality::none ? 0 : n_groups());
    const std::size_t most = n_iter_ + most_steps;
    while (n_iter_ < most && n_iter_ < options_.max_iter && !watch_.out_of_time()) {
      watch_.poll();
      ++n_iter_;
      const ActiveSet::Step step = set.step();
      if (!step.made) break;
      objective_ += step.objective;
      slope_ += step.slope;
      if (step.whole && !set.enter_violating(eps)) break;
    }
    set.update_f();
    for (std::size_t c = 0; c < n; ++c) block.f[c] = S(f[c] - block.start[c]);
  }

  // Bring layers and f of the whole problem up to the block's.
  template <class T, class S>
  void sync(const Block<T, S>& block) {
    for (std::size_t c = 0; c < block.size(); ++c) {
      f_[block.points[c]] = block.exact_f(c);
      for (std::size_t l = 0; l < layers_.size(); ++l) layers_[l].copy_state_from(block.layers[l], c, block.points[c]);
    }
  }

  // The loops that search a block.
  template <class T, class S>
  const auto& search() const {
    if constexpr (sizeof(S) == sizeof(float)) {
      return level_.quick;
    } else {
      return level_.loops<T>();
    }
  }

  // The partner of i: the most violating one [CY eq 1.58] or the one with the largest gain [CY eq 1.60].
  template <class T, class S>
  Place partner(const Block<T, S>& block, const Place& i, const Place& bottom, std::size_t g) const {
    if (options_.rule == PairRule::violation) return bottom;
    const auto& group = block.groups[g];
    const std::size_t begin = group.begin;
    const Candidate candidate = search<T, S>().best_partner(
        i.v, block.curvature[i.position], block.row(i.position) + begin, block.curvature.data() + begin,
        group.low.data() + begin, block.f.data() + begin, group.end - begin);
    if (candidate.position == std::numeric_limits<std::size_t>::max()) return bottom;
    const std::size_t position = begin + candidate.position;
    return {position, double(group.low[position]) - double(block.f[position])};
  }

  // The curvature of a step: of the kernel, which rounding alone can make slightly negative and an indefinite kernel
  // more than that, plus the ridge.
  template <class T>
  double curvature(double of_kernel, double ridge, double scale) {
    if (sizeof(T) == sizeof(double) && of_kernel < -1e-10 * scale) negative_curvature_ = true;
    return negative_curvature_ ? of_kernel + ridge : std::max(of_kernel, 0.0) + ridge;
  }

  // s_i a_i += t, s_j a_j -= t with t = (v_i - v_j) / eta, clipped to the box. [CY eqs 1.54-1.56]
  // Infinite where nothing ends the descent.
  template <class T, class S>
  double step_pair(Block<T, S>& block, const Place& i, const Place& j, std::size_t g) {
    const double kii = double(block.row(i.position)[i.position]), kjj = double(block.row(j.position)[j.position]);
    Layer& li = block.layers[block.layer_of(g, i.position, true)];
    Layer& lj = block.layers[block.layer_of(g, j.position, false)];
    const double eta = curvature<T>(kii + kjj - 2.0 * double(block.row(i.position)[j.position]),
                                    li.ridge[i.position] + lj.ridge[j.position], std::abs(kii) + std::abs(kjj));
    const double slope = i.v - j.v;
    const double room_i = li.room(i.position, true), room_j = lj.room(j.position, false);
    if (eta <= smallest_curvature && std::min(room_i, room_j) == infinity) return infinity;
    const double t = std::min({slope / std::max(eta, smallest_curvature), room_i, room_j});
    li.move(i.position, t, t == room_i);
    lj.move(j.position, -t, t == room_j);
    slope_ += t * (li.sign[i.position] * li.linear[i.position] - lj.sign[j.position] * lj.linear[j.position]);
    objective_ += t * (0.5 * eta * t - slope);
    return t;
  }

  // Without an equality: the point with the largest gain v^2 / Q_ii (or the largest |v|).
  template <class T, class S>
  Place single(const Block<T, S>& block) const {
    const auto& group = block.groups[0];
    Place best;
    double value = 0.0;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const double up = double(group.up[c]) - double(block.f[c]), low = double(group.low[c]) - double(block.f[c]);
      const double v = up > 0.0 ? up : (low < 0.0 ? low : 0.0);
      if (v == 0.0) continue;
      const double worth = options_.rule == PairRule::violation
                               ? std::abs(v)
                               : v * v / std::max(double(block.curvature[c]), smallest_curvature);
      if (worth > value) {
        value = worth;
        best = {c, v};
      }
    }
    return best;
  }

  template <class T, class S>
  double step_one(Block<T, S>& block, const Place& i) {
    Layer& layer = block.layers[block.layer_of(0, i.position, i.v > 0.0)];
    const double kii = double(block.row(i.position)[i.position]);
    const double eta = curvature<T>(kii, layer.ridge[i.position], std::abs(kii));
    const double room = layer.room(i.position, i.v > 0.0);
    if (eta <= smallest_curvature && room == infinity) return infinity;
    const double length = std::min(std::abs(i.v) / std::max(eta, smallest_curvature), room);
    const double t = i.v > 0.0 ? length : -length;
    layer.move(i.position, t, length == room);
    slope_ += t * layer.sign[i.position] * layer.linear[i.position];
    objective_ += t * (0.5 * eta * t - i.v);
    return t;
  }

  const DualView& problem_;
  const SmoOptions& options_;
  const Level& level_;
  Rows<float>* single_;
  Rows<double>& full_;
  Watch& watch_;

  std::vector<Layer> layers_;
  std::vector<double> group_sign_;
  std::vector<double> f_;
  std::vector<double> exact_f_, base_;  // by point: f in double and s a, at the last refresh
  // Points stand in the order of `order_`: the active ones first, then those left out, the last to go in front.
  std::vector<std::size_t> order_, previous_, ids_;
  std::size_t n_active_, block_;
  // Points from `begin` on that were left out together, and s a of all points then.
  struct Dropped {
    std::size_t begin;
    std::vector<double> coefficient;
  };
  std::vector<Dropped> dropped_;
  std::vector<char> chosen_;
  std::vector<double> delta_;
  std::vector<Candidate> candidates_;
  bool negative_curvature_ = false, hard_ = true, unlimited_ = false;
  // Of s a since the last refresh, squared and summed: of all points, and of those outside the block.
  double squared_change_ = 0.0, change_elsewhere_ = 0.0;
  double lowest_ = 0.0;  // weak duality at w = 0: below this, no positive semi-definite kernel can get
  double tol_ = options_.tol;
  double rounding_units_ = 8.0;  // of the last place, how much a float32 kernel value is taken to be off
  double objective_ = 0.0, slope_ = 0.0, largest_diagonal_ = 0.0;  // slope_ is p'a
  std::size_t n_iter_ = 0, rounds_ = 0, stride_ = 1, next_record_ = 0;
  std::vector<Record> history_;
  Status status_ = Status::solved;
};

}  // namespace smo
}  // namespace mercer

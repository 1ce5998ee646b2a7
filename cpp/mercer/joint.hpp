// Machines for several classes that are learnt in one go: block coordinate descent, one sample's multipliers at a time,
// on working sets of samples whose kernel matrix lies in memory.
//
//   min_a  1/2 sum_k |w_k|^2 - t sum_ik a_ik,   w_k = sum_i B_ik phi(x_i),   a_i in its set (blocks.hpp),
//   relative margins: B_ik = -a_ik for k != y_i, B_iy = sum_k a_ik;  absolute: B_ik = mean_l a_il - a_ik;
//   with offsets b_k, moreover, sum_i B_ik = 0 for every class k.
//
// The sums are dealt with by the method of multipliers: b'z + sigma/2 |z|^2 with z_k = sum_i B_ik joins the objective.
// To the samples this is an offset b + sigma z that follows every step, and sigma more on the diagonal of the kernel.
// What is left of z at the end is removed by the smallest change of the multipliers between their bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "joint_newton.hpp"
#include "level.hpp"
#include "rows.hpp"
#include "stop.hpp"

namespace mercer {

struct JointView {
  std::size_t n_points, n_classes;
  const std::int64_t* label;
  const double* cost;
  const double* start;  // a, (n_points, n_classes), in the sets of the samples
  Margin margin;
  Errors errors;
  double target;  // t
  bool bias;
};

struct JointOptions {
  double tol = 1e-3;
  std::size_t max_iter = std::numeric_limits<std::size_t>::max();
  std::size_t block = 512;           // most samples in a working set, at first
  std::size_t largest_block = 1536;  // where the run is long
  std::size_t whole = 1024;          // up to so many samples there is one working set
  std::size_t exact = 512;           // up to so many it is in double
  bool shrinking = true;
  bool full_precision = false;
};

struct JointResult {
  std::vector<double> a, f;  // (n_points, n_classes): multipliers, and sum_j B_jk K_ij
  std::vector<double> offsets;
  double violation = 0.0, seconds = 0.0;
  std::size_t n_iter = 0, evaluations = 0;
  Status status = Status::solved;
  bool full_precision = false;
  std::vector<Record> history;
};

namespace joint {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

// A working set: samples and their kernel matrix.
template <class T>
struct WorkingSet {
  std::vector<std::size_t> points;
  const T* matrix = nullptr;  // `own`, or where the rows have it
  std::vector<T> own;
  std::vector<double> f;       // (n_classes, size)
  std::vector<double> before;  // (size, n_classes): a when the set was made

  std::size_t size() const { return points.size(); }
  const T* row(std::size_t c) const { return matrix + c * size(); }
};

class Solver {
 public:
  // `single` may be null: then everything is done in double.
  Solver(const JointView& problem, const JointOptions& options, const Level& level, Rows<float>* single,
         Rows<double>& full, Watch& watch)
      : problem_(problem),
        options_(options),
        level_(level),
        single_(single),
        full_(full),
        watch_(watch),
        n_(problem.n_points),
        classes_(problem.n_classes),
        rho_(problem.margin == Margin::relative ? 1.0 : -1.0 / static_cast<double>(problem.n_classes)),
        a_(problem.start, problem.start + n_ * classes_),
        f_(n_ * classes_, 0.0),
        multiplier_(classes_, 0.0),
        excess_(classes_, 0.0),
        offset_(classes_, 0.0),
        z_(classes_),
        slope_(classes_),
        wanted_(classes_),
        new_(classes_),
        violation_(n_, 0.0),
        active_(all_positions(n_)),
        block_(std::clamp<std::size_t>(n_ / 32, std::min<std::size_t>(128, options.block), options.block)),
        stride_(std::max<std::size_t>(1, n_ / 16)) {}

  JointResult solve() {
    choose_penalty();
    bool full = options_.full_precision || single_ == nullptr || n_ <= options_.exact;
    if (full) {
      compute_f(full_, active_);
    } else {
      compute_f(*single_, active_);
    }
    if (problem_.bias && std::any_of(a_.begin(), a_.end(), [](double a) { return a != 0.0; })) guess_offsets();
    double target = 0.9 * options_.tol, last = std::numeric_limits<double>::infinity();
    std::size_t stalls = 0;
    Status status;
    while (true) {
      status = full ? rounds(full_, target) : rounds(*single_, target);
      // Small problems are solved as exactly as rounding allows, where that is cheap.
      const bool polished = newton_violation_ < infinite || n_iter_ < n_;
      if (status == Status::solved && n_ <= options_.exact && next_newton_ != never && !polished) {
        descend_over_features(full_, 0.0);
      }
      if (problem_.bias) balance();
      const bool trusted = full ? check_all(full_) : check_all(*single_);
      const double worst = largest_violation();
      record(worst);
      if (status != Status::solved) break;
      if (trusted && worst <= options_.tol) break;
      // The working rows are too coarse for this problem if going on from an exact state does not help.
      if (worst > 0.5 * last) {
        if (full && ++stalls == 3) {
          status = Status::stalled;
          break;
        }
        full = true;
      }
      last = worst;
      target = std::max(0.5 * target, 0.1 * options_.tol);
    }
    JointResult result;
    result.violation = largest_violation();
    centre();
    result.a = std::move(a_);
    result.f = std::move(f_);
    result.offsets = offset_;
    result.n_iter = n_iter_;
    result.evaluations = full_.evaluations() + (single_ ? single_->evaluations() : 0);
    result.status = status;
    result.full_precision = full;
    result.history = std::move(history_);
    result.seconds = watch_.seconds();
    return result;
  }

 private:
  std::size_t own(std::size_t i) const { return static_cast<std::size_t>(problem_.label[i]); }
  double* a_of(std::size_t i) { return a_.data() + i * classes_; }
  bool relative() const { return problem_.margin == Margin::relative; }

  // --- the state ------------------------------------------------------------------------------------------------

  // B of a sample as the sums f are made of it: for absolute margins without the mean, so that few classes change; f is
  // then centred where it is used.
  double coefficient(const double* a, std::size_t i, std::size_t k) const {
    if (k != own(i)) return -a[k];
    if (!relative()) return 0.0;
    double sum = 0.0;
    for (std::size_t l = 0; l < classes_; ++l) sum += l == k ? 0.0 : a[l];
    return sum;
  }

  // Slopes of the objective along the multipliers of a sample whose sums f_k lie `stride` apart, into slope_.
  void find_slopes(std::size_t i, const double* f, std::size_t stride) {
    double reference = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) {
      z_[k] = f[k * stride] + offset_[k];
      reference += z_[k];
    }
    reference = relative() ? z_[own(i)] : reference / static_cast<double>(classes_);
    for (std::size_t k = 0; k < classes_; ++k) slope_[k] = (reference - z_[k]) - problem_.target;
  }

  BlockView view(std::size_t i) const {
    return {a_.data() + i * classes_, slope_.data(), classes_, own(i), problem_.cost[i], problem_.errors};
  }

  // f of some samples from scratch, in the precision of the rows; the rows are left restricted to them.
  template <class T>
  void compute_f(Rows<T>& rows, const std::vector<std::size_t>& samples) {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < n_; ++i) {
      if (std::any_of(a_of(i), a_of(i) + classes_, [](double a) { return a != 0.0; })) moved.push_back(i);
    }
    std::vector<double> coefficients = gather_coefficients(
        moved, [&](std::size_t i, std::size_t, std::size_t k) { return coefficient(a_of(i), i, k); });
    rows.restrict_to(samples);
    delta_.assign(classes_ * samples.size(), 0.0);
    rows.add_many(moved.data(), coefficients.data(), moved.size(), classes_, delta_.data());
    for (std::size_t c = 0; c < samples.size(); ++c) {
      for (std::size_t k = 0; k < classes_; ++k) f_[samples[c] * classes_ + k] = delta_[k * samples.size() + c];
    }
  }

  // (n_classes, n moved), the samples first sorted by class: rows are added up in fours, and zeros of all four are
  // passed by.
  template <class Value>
  std::vector<double> gather_coefficients(std::vector<std::size_t>& moved, Value value) {
    std::vector<std::size_t> order = all_positions(moved.size());
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return own(moved[x]) < own(moved[y]); });
    std::vector<double> coefficients(classes_ * moved.size());
    std::vector<std::size_t> sorted(moved.size());
    for (std::size_t c = 0; c < moved.size(); ++c) {
      sorted[c] = moved[order[c]];
      for (std::size_t k = 0; k < classes_; ++k) {
        coefficients[k * moved.size() + c] = value(sorted[c], order[c], k);
      }
    }
    moved = std::move(sorted);
    return coefficients;
  }

  // f as it belongs to the true B.
  void centre() {
    if (relative()) return;
    for (std::size_t i = 0; i < n_; ++i) {
      double mean = 0.0;
      for (std::size_t k = 0; k < classes_; ++k) mean += f_[i * classes_ + k] / static_cast<double>(classes_);
      for (std::size_t k = 0; k < classes_; ++k) f_[i * classes_ + k] -= mean;
    }
  }

  void find_violations(const std::vector<std::size_t>& samples) {
    for (const std::size_t i : samples) {
      find_slopes(i, f_.data() + i * classes_, 1);
      violation_[i] = view(i).violation();
    }
  }

  double largest_violation() {
    double worst = 0.0;
    for (const std::size_t i : active_) worst = std::max(worst, violation_[i]);
    return worst;
  }

  double objective() {
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      double mean = 0.0;
      const double* f = f_.data() + i * classes_;
      if (!relative()) {
        for (std::size_t k = 0; k < classes_; ++k) mean += f[k] / static_cast<double>(classes_);
      }
      for (std::size_t k = 0; k < classes_; ++k) {
        const double a = k == own(i) ? 0.0 : a_of(i)[k];
        sum += 0.5 * coefficient(a_of(i), i, k) * (f[k] - mean) - problem_.target * a;
      }
    }
    return sum;
  }

  double gap() {
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      find_slopes(i, f_.data() + i * classes_, 1);
      sum += view(i).gap();
    }
    return sum;
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
    objective_ = objective();
    history_.push_back({n_iter_, objective_, gap(), violation});
    next_record_ = n_iter_ + stride_;
  }

  // solved (so far) or the reason to stop.
  Status check_limits(double violation) {
    watch_.poll();
    if (n_iter_ >= options_.max_iter) return Status::max_iter;
    if (watch_.out_of_time()) return Status::max_seconds;
    if (watch_.asks_to_stop({n_iter_, objective_, violation, watch_.seconds()})) return Status::stopped;
    return Status::solved;
  }

  // --- the offsets ----------------------------------------------------------------------------------------------

  // sigma is of the size of the kernel values: it then neither dominates a step nor lags behind.
  void choose_penalty() {
    const std::size_t n = std::min<std::size_t>(n_, 128);
    std::vector<std::size_t> which(n);
    for (std::size_t k = 0; k < n; ++k) which[k] = k * n_ / n;
    std::vector<double> matrix(n * n);
    full_.square(which.data(), n, matrix.data());
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += std::abs(matrix[k * n + k]) / static_cast<double>(n);
    scale_ = sum > 0.0 ? sum : 1.0;
    penalty_ = problem_.bias ? scale_ : 0.0;
    find_excess();
    follow();
    look_for_few_features(which, matrix);
  }

  // z from scratch.
  void find_excess() {
    std::fill(excess_.begin(), excess_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < classes_; ++k) excess_[k] += coefficient(a_of(i), i, k);
    }
    if (relative()) return;
    double mean = 0.0;
    for (const double z : excess_) mean += z / static_cast<double>(classes_);
    for (double& z : excess_) z -= mean;
  }

  double largest_excess() const {
    double worst = 0.0;
    for (const double z : excess_) worst = std::max(worst, std::abs(z));
    return worst;
  }

  void follow() {
    for (std::size_t k = 0; k < classes_; ++k) offset_[k] = multiplier_[k] + penalty_ * excess_[k];
  }

  // b += sigma z; a larger sigma where the last one did too little.
  void update_multipliers() {
    const double excess = largest_excess();
    for (std::size_t k = 0; k < classes_; ++k) multiplier_[k] += penalty_ * excess_[k];
    if (excess > 0.3 * last_excess_) penalty_ = std::min(2.0 * penalty_, 1e3 * scale_);
    last_excess_ = excess;
    follow();
  }

  // Multipliers that may move, by sample, and what holds for all of the sample's.
  struct Movable {
    struct Entry {
      std::size_t point, klass;
      bool blocked = false;  // has been seen to run against its bound
    };
    std::vector<Entry> entries;
    std::vector<char> fixed_sum;  // by point: the cost is used up, and gladly
  };

  // The offsets for which multipliers between their bounds have slopes of zero, or equal ones where the cost is used
  // up: by least squares, for a start that is near the optimum.
  void guess_offsets() {
    const std::size_t n = classes_;
    std::vector<double> side(n, 0.0);
    std::fill(offset_.begin(), offset_.end(), 0.0);
    Movable movable = find_movable(-1.0);
    for_each_direction(movable, [&](Movable::Entry& entry, const Direction& direction) {
      find_slopes(entry.point, f_.data() + entry.point * n, 1);
      for (const auto& [p, value] : direction) side[p] -= value * slope_[entry.klass];
    });
    multiplier_ = least_squares(movable, side);
    follow();
  }

  // Classes and what is added to their z; a class may come twice.
  using Direction = std::vector<std::pair<std::size_t, double>>;

  // The smallest nu that adds up to zero with D'D nu = b, where the rows of D are the directions. Few of them are
  // multiplied with one by one; of many, the matrix is smaller.
  std::vector<double> least_squares(Movable& movable, const std::vector<double>& b) {
    const std::size_t n = classes_;
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

  // Remove what is left of z by the smallest change of multipliers: of those between their bounds; if that is not
  // enough, also of those at a bound that hardly matter there; of all that can move. Whatever happened before, in the
  // end all multipliers shrink a little towards a point that has -z.
  void balance() {
    double total = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < classes_; ++k) total += std::abs(coefficient(a_of(i), i, k));
    }
    const double rounding = 64.0 * std::numeric_limits<double>::epsilon() * total;
    find_excess();
    for (const double reach : {-1.0, options_.tol, std::numeric_limits<double>::infinity()}) {
      if (largest_excess() <= rounding) break;
      Movable movable = find_movable(reach);
      for (int step = 0; step < 30 && largest_excess() > 0.1 * rounding && !watch_.out_of_time(); ++step) {
        watch_.poll();
        const double before = largest_excess();
        const bool all = move(movable);
        find_excess();
        if (all && largest_excess() > 0.5 * before) break;
      }
    }
    if (largest_excess() > rounding) mix();
    find_excess();
    follow();
  }

  // Those between their bounds, and those at a bound with slopes up to `reach`.
  Movable find_movable(double reach) {
    Movable movable;
    movable.fixed_sum.assign(n_, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      find_slopes(i, f_.data() + i * classes_, 1);
      const double* a = a_of(i);
      double level = 0.0;  // where the largest error counts: the slope of what is used
      if (problem_.errors == Errors::largest) {
        const bool used_up = view(i).spare() == 0.0;
        for (std::size_t k = 0; k < classes_ && used_up; ++k) {
          if (k != own(i) && a[k] > 0.0) level = std::min(level, slope_[k]);
        }
        movable.fixed_sum[i] = used_up && !(-level <= reach);
      }
      for (std::size_t k = 0; k < classes_; ++k) {
        if (k == own(i)) continue;
        const bool between = a[k] > 0.0 && (problem_.errors == Errors::largest || a[k] < problem_.cost[i]);
        if (between || std::abs(slope_[k] - level) <= reach) movable.entries.push_back({i, k});
      }
    }
    return movable;
  }

  // One step of least squares. False if bounds were in the way.
  bool move(Movable& movable) {
    const std::vector<double> nu = least_squares(movable, excess_);
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
        const double a = a_of(i)[entry.klass];
        const double most = problem_.errors == Errors::sum ? problem_.cost[i] - a : view(i).spare();
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
      const double spare = problem_.errors == Errors::largest ? view(i).spare() : 0.0;
      // A sum that has to stay does so only if all of its entries move.
      if (movable.fixed_sum[i] && std::abs(rise) > 1e-12 * problem_.cost[i]) room = 0.0;
      if (!movable.fixed_sum[i] && problem_.errors == Errors::largest && rise > spare)
        room = std::min(room, spare / rise);
      all = all && room == 1.0;
      for (std::size_t e = begin; e < end; ++e) {
        double& a = a_of(i)[movable.entries[e].klass];
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
        } else if (relative()) {
          direction.emplace_back(own(i), 1.0);
        }
        use(movable.entries[e], direction);
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

  // a <- (1 - m) a + m a', where a' makes up for z: with relative margins, a_ip of samples of class q moves excess from
  // p to q; with absolute ones it takes from p and gives to all alike. The samples of a class share it by their costs.
  void mix() {
    std::vector<double> room(classes_, 0.0), flow(classes_ * classes_, 0.0);  // flow[p, q]: a_p of class q
    for (std::size_t i = 0; i < n_; ++i) room[own(i)] += problem_.cost[i];
    std::vector<double> left = excess_;
    const std::size_t lowest = std::size_t(std::min_element(left.begin(), left.end()) - left.begin());
    for (std::size_t p = 0; p < classes_; ++p) {
      if (!relative()) {
        flow[p * classes_ + lowest] = excess_[p] - excess_[lowest];
        continue;
      }
      for (std::size_t q = 0; q < classes_ && left[p] > 0.0; ++q) {
        if (!(left[q] < 0.0)) continue;
        const double amount = std::min(left[p], -left[q]);
        flow[p * classes_ + q] = amount;
        left[p] -= amount;
        left[q] += amount;
      }
    }
    double use = 0.0;  // the largest share of a class's room that is wanted
    for (std::size_t q = 0; q < classes_; ++q) {
      double wanted = 0.0;
      for (std::size_t p = 0; p < classes_; ++p) wanted += flow[p * classes_ + q];
      if (wanted > 0.0) use = std::max(use, wanted / room[q]);
    }
    const double kept = 1.0 / (1.0 + use);  // 1 - m
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t p = 0; p < classes_; ++p) {
        if (p == own(i)) continue;
        double& a = a_of(i)[p];
        a = kept * (a + flow[p * classes_ + own(i)] * problem_.cost[i] / room[own(i)]);
        if (problem_.errors == Errors::sum) a = std::min(a, problem_.cost[i]);
      }
    }
  }

  // --- rounds ---------------------------------------------------------------------------------------------------

  // Optimise the active samples until their violation is at most `target` and z is negligible.
  template <class T>
  Status rounds(Rows<T>& rows, double target) {
    rows.restrict_to(active_);
    previous_.clear();
    WorkingSet<T> set;
    std::size_t used = 0;       // kernel values, whether they had to be computed or not
    std::size_t idle = 0;       // updates of the multipliers since the last step
    std::size_t fruitless = 0;  // turns of Newton's method over features
    const double smallest_excess = 0.04 * options_.tol / scale_;
    for (std::size_t round = 0;; ++round) {
      find_violations(active_);
      const double worst = largest_violation();
      if (n_iter_ >= next_record_ || round == 0) record(worst);
      const double excess = problem_.bias ? largest_excess() : 0.0;
      if (worst <= target && excess <= smallest_excess) {
        if (active_.size() == n_) return Status::solved;
        take_all_in(rows);
        continue;
      }
      const Status limit = check_limits(worst);
      if (limit != Status::solved) {
        if (active_.size() < n_) take_all_in(rows);
        return limit;
      }
      if (n_iter_ >= next_newton_) {
        const bool better = descend_over_features(rows, target);
        fruitless = better || next_newton_ == never ? 0 : fruitless + 1;
        // What Newton's method leaves is rounding, of the rows or of all there is.
        if (fruitless == 2) return sizeof(T) == sizeof(double) ? Status::stalled : Status::solved;
        continue;
      }
      if (problem_.bias && worst <= std::max(target, 0.3 * penalty_ * excess)) {
        if (++idle > 1000) return Status::stalled;  // z does not follow
        update_multipliers();
        continue;
      }
      if (options_.shrinking && ++rounds_ % 8 == 0) shrink(rows, worst + penalty_ * excess);
      // Where more than a whole matrix has been used up, small sets undo each other's work.
      if (used > 2 * active_.size() * active_.size() && block_ < options_.largest_block) {
        block_ = std::min(2 * block_, options_.largest_block);
        used = 0;
      }
      const bool everything = active_.size() <= std::max(block_, options_.whole);
      select(everything, set.points);
      load(rows, set);
      const double eps = everything ? target : std::max(target, 0.3 * worst);
      const std::size_t steps_before = n_iter_;
      optimise(set, eps, worst);
      if (n_iter_ > steps_before) idle = 0;
      used += unload(rows, set, everything);
      // No step: what is left is rounding, or for better multipliers.
      if (n_iter_ == steps_before && (!problem_.bias || ++idle > 1000)) return Status::solved;
    }
  }

  // --- few features ---------------------------------------------------------------------------------------------

  // Some samples, as many as there are features, whose kernel functions make up those of all others: looked for among a
  // few, and taken where a Newton step over features costs no more than some sweeps.
  void look_for_few_features(const std::vector<std::size_t>& which, const std::vector<double>& matrix) {
    const double n = static_cast<double>(n_), classes = static_cast<double>(classes_);
    const double work = std::max(1.5 * n * n * classes, 1e6);
    const double most = ProximalNewton::most_features(problem_.margin, problem_.errors, n, classes, work);
    // Where the few are not much more than the features, there may be more of these.
    const double seen = which.size() == n_ ? n : 0.75 * static_cast<double>(which.size());
    basis_ = find_basis(level_.algebra, matrix.data(), which.size(),
                        std::size_t(std::max(0.0, std::min(most - double(problem_.bias), seen))));
    for (std::size_t& c : basis_) c = which[c];
    if (!basis_.empty()) next_newton_ = sweeps_until_newton * n_;
  }

  // Newton's method over features for all samples, where that is better than what there is. Returns whether it is also
  // clearly better than the last time.
  template <class T>
  bool descend_over_features(Rows<T>& rows, double eps) {
    next_newton_ = 4 * n_iter_ + sweeps_until_newton * n_;
    if (active_.size() < n_) take_all_in(rows);
    const std::size_t rank = basis_.size(), d = rank + problem_.bias;
    std::vector<double> x(n_ * d, 1.0), row(n_);
    std::vector<std::size_t> label(n_);
    for (std::size_t i = 0; i < n_; ++i) label[i] = own(i);
    full_.restrict_to(active_);
    for (std::size_t r = 0; r < rank; ++r) {
      const double one = 1.0;
      std::fill(row.begin(), row.end(), 0.0);
      full_.add(&basis_[r], &one, 1, row.data());
      extend_features(level_.algebra, row, basis_[r], r, d, x);
    }
    FewFeatures problem{n_,
                        classes_,
                        d,
                        x.data(),
                        label.data(),
                        problem_.cost,
                        problem_.margin,
                        problem_.errors,
                        problem_.target,
                        std::vector<double>(d, 1.0),
                        std::vector<double>(classes_ * d, 0.0),
                        problem_.bias};
    if (problem_.bias) {
      problem.price[rank] = 1.0 / penalty_;
      for (std::size_t k = 0; k < classes_; ++k) problem.centre[k * d + rank] = multiplier_[k];
    }
    ProximalNewton newton(level_, std::move(problem), a_, watch_);
    const bool works = newton.solve(n_ <= options_.exact ? 0.0 : 0.1 * eps);
    if (!works && newton_violation_ == infinite) next_newton_ = never;
    n_iter_ += newton.n_steps();
    const double before = largest_violation();
    std::vector<double> a = newton.multipliers(), f = f_, multiplier = multiplier_, excess = excess_;
    a_.swap(a);
    find_excess();
    if (problem_.bias) {
      // A constant does not matter to the margins; they add up to zero, as z does.
      const std::vector<double> offsets = newton.offsets();
      const double mean = std::accumulate(offsets.begin(), offsets.end(), 0.0) / static_cast<double>(classes_);
      for (std::size_t k = 0; k < classes_; ++k) multiplier_[k] = offsets[k] - mean - penalty_ * excess_[k];
    }
    follow();
    compute_f(full_, active_);
    rows.restrict_to(active_);
    find_violations(active_);
    const double after = largest_violation(),
                 last = std::exchange(newton_violation_, std::min(after, newton_violation_));
    if (after < before) return after < 0.5 * last;
    a_.swap(a);
    f_.swap(f);
    multiplier_.swap(multiplier);
    excess_.swap(excess);
    follow();
    find_violations(active_);
    return false;
  }

  // Samples that were left out take part again, with their f made anew.
  template <class T>
  void take_all_in(Rows<T>& rows) {
    std::vector<char> in(n_, 0);
    for (const std::size_t i : active_) in[i] = 1;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < n_; ++i) {
      if (!in[i]) out.push_back(i);
    }
    compute_f(rows, out);
    active_ = all_positions(n_);
    rows.restrict_to(active_);
    previous_.clear();
    find_violations(active_);
  }

  template <class T>
  void shrink(Rows<T>& rows, double change) {
    std::vector<std::size_t> kept;
    for (const std::size_t i : active_) {
      find_slopes(i, f_.data() + i * classes_, 1);
      if (!view(i).settled(change)) kept.push_back(i);
    }
    if (kept.size() > 0.8 * static_cast<double>(active_.size())) return;
    active_ = std::move(kept);
    rows.restrict_to(active_);
    previous_.clear();
  }

  // Half of it new samples with the largest violation, the rest from the set before; ties go to the smaller number.
  void select(bool everything, std::vector<std::size_t>& points) {
    if (everything) {
      points = active_;
      return;
    }
    points.clear();
    for (const std::size_t i : active_) {
      if (violation_[i] > 0.0) points.push_back(i);
    }
    const std::size_t wanted = std::min(points.size(), previous_.empty() ? block_ : block_ / 2);
    const auto first = [&](std::size_t x, std::size_t y) {
      return violation_[x] != violation_[y] ? violation_[x] > violation_[y] : x < y;
    };
    std::partial_sort(points.begin(), points.begin() + std::ptrdiff_t(wanted), points.end(), first);
    points.resize(wanted);
    std::vector<char> chosen(n_, 0);
    for (const std::size_t i : points) chosen[i] = 1;
    for (const std::size_t i : previous_) {
      if (points.size() >= block_) break;
      if (!chosen[i]) points.push_back(i);
    }
    previous_ = points;
  }

  template <class T>
  void load(Rows<T>& rows, WorkingSet<T>& set) {
    const std::size_t m = set.size();
    set.matrix = m == n_ && set.points == all_positions(n_) ? rows.whole() : nullptr;
    if (set.matrix == nullptr) {
      set.own.resize(m * m);
      rows.square(set.points.data(), m, set.own.data());
      set.matrix = set.own.data();
    }
    set.f.resize(classes_ * m);
    set.before.resize(m * classes_);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t i = set.points[c];
      for (std::size_t k = 0; k < classes_; ++k) set.f[k * m + c] = f_[i * classes_ + k];
      std::copy_n(a_of(i), classes_, set.before.begin() + std::ptrdiff_t(c * classes_));
    }
  }

  // Sweeps over the set, until its violation is at most eps, or small enough for better multipliers of z. Samples far
  // below the worst wait, and those that stay at their bounds anyway are left out until the others have settled. Where
  // sweeps crawl, Newton's method takes turns with them, for longer and longer.
  template <class T>
  void optimise(WorkingSet<T>& set, double eps, double worst) {
    constexpr std::size_t patience = 100;  // steps per sample until Newton's method has its turn
    const std::size_t m = set.size();
    const std::vector<std::size_t> all = all_positions(m);
    std::vector<std::size_t> live = all, kept;
    std::size_t steps = 0, work = 0, allowed = 0;  // work in rows added
    while (true) {
      const double before = worst, enough = std::max(eps, 0.2 * worst);
      worst = 0.0;
      kept.clear();
      for (const std::size_t c : live) {
        const std::size_t i = set.points[c];
        find_slopes(i, set.f.data() + c, m);
        const double violation = view(i).violation();
        worst = std::max(worst, violation);
        if (violation > 0.0 || !view(i).settled(before)) kept.push_back(c);
        if (violation <= enough) continue;
        work += step(set, c);
        ++steps;
        if (++n_iter_ % 1024 == 0) watch_.poll();
        if (n_iter_ >= options_.max_iter) return;
      }
      if (watch_.out_of_time()) return;
      if (worst <= std::max(eps, 0.2 * penalty_ * largest_excess())) {
        if (live.size() == m) return;
        live = all;
        worst = before;
        continue;
      }
      if (n_iter_ >= next_newton_) return;
      live.swap(kept);
      if (steps < patience * m) continue;
      allowed = std::max(2 * allowed, work / 2);
      descend(set, allowed);
      live = all;
      steps = work = 0;
    }
  }

  // Multipliers between their bounds, sample by sample, and a change of them.
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

    // The nearest change that keeps the sums which have to stay.
    void project(std::vector<double>& change) const {
      for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
        if (!groups[g].used_up) continue;
        const std::size_t begin = groups[g].begin, end = groups[g + 1].begin;
        double mean = 0.0;
        for (std::size_t e = begin; e < end; ++e) mean += change[e] / static_cast<double>(end - begin);
        for (std::size_t e = begin; e < end; ++e) change[e] -= mean;
      }
    }
  };

  // What a change of multipliers does: to f (n_classes, size), to z, and to the slopes.
  struct Response {
    std::vector<double> coefficients, f, z, slope;
    std::size_t work = 0;
  };

  template <class T>
  void respond(const WorkingSet<T>& set, const Free& free, const std::vector<double>& change, Response& response) {
    const std::size_t m = set.size();
    response.coefficients.assign(classes_ * m, 0.0);
    response.f.assign(classes_ * m, 0.0);
    response.z.assign(classes_, 0.0);
    free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
      response.coefficients[k * m + c] -= change[e];
      if (relative()) response.coefficients[own(set.points[c]) * m + c] += change[e];
    });
    double mean = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) {
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
        level_.loops<T>().accumulate(weights, rows, m, response.f.data() + k * m);
        response.work += tile_rows / 2;
      }
      mean += response.z[k] / static_cast<double>(classes_);
    }
    if (!relative()) {
      for (double& z : response.z) z -= mean;
    }
    response.slope.resize(change.size());
    std::vector<double> reference(m, 0.0);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t y = own(set.points[c]);
      if (relative()) {
        reference[c] = response.f[y * m + c] + penalty_ * response.z[y];
      } else {
        for (std::size_t k = 0; k < classes_; ++k) reference[c] += response.f[k * m + c] / double(classes_);
      }
    }
    free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
      response.slope[e] = reference[c] - (response.f[k * m + c] + penalty_ * response.z[k]);
    });
  }

  template <class T>
  Free find_free(const WorkingSet<T>& set, std::vector<double>& slope) {
    Free free;
    slope.clear();
    for (std::size_t c = 0; c < set.size(); ++c) {
      const std::size_t i = set.points[c];
      find_slopes(i, set.f.data() + c, set.size());
      const bool used_up = problem_.errors == Errors::largest && view(i).spare() == 0.0;
      free.groups.push_back({c, free.classes.size(), used_up});
      for (std::size_t k = 0; k < classes_; ++k) {
        const double a = a_of(i)[k];
        if (k == own(i) || a <= 0.0 || (problem_.errors == Errors::sum && a >= problem_.cost[i])) continue;
        free.classes.push_back(k);
        slope.push_back(slope_[k]);
      }
    }
    free.groups.push_back({set.size(), free.classes.size(), false});
    return free;
  }

  // Newton's method on the multipliers between their bounds, by conjugate gradients, until the bounds that it meets are
  // those of the optimum over them, or so many rows have been added.
  template <class T>
  void descend(WorkingSet<T>& set, std::size_t work_limit) {
    Response response;
    std::vector<double> slope;
    while (response.work < work_limit) {
      const Free free = find_free(set, slope);
      if (slope.empty()) break;
      bool flat = false;
      const std::vector<double> x = newton_step(set, free, slope, response, flat);
      if (follow_path(set, free, slope, x, response) && !flat) break;
      if (n_iter_ >= options_.max_iter || watch_.out_of_time()) break;
    }
  }

  // H x = -slope on the multipliers between their bounds. Where H is flat in a direction that leads down, x goes as far
  // as it is not, or all the way to the bounds.
  template <class T>
  std::vector<double> newton_step(const WorkingSet<T>& set, const Free& free, const std::vector<double>& slope,
                                  Response& response, bool& flat) {
    constexpr std::size_t most_steps = 100;
    const std::size_t n = slope.size();
    const auto inner = [&](const std::vector<double>& u, const std::vector<double>& v) {
      return level_.algebra.inner(u.data(), v.data(), n);
    };
    std::vector<double> x(n, 0.0), r(n), p;
    for (std::size_t e = 0; e < n; ++e) r[e] = -slope[e];
    free.project(r);
    p = r;
    double squared = inner(r, r);
    const double enough = 1e-12 * squared;
    for (std::size_t step = 0; step < most_steps && squared > enough; ++step) {
      watch_.poll();
      ++n_iter_;
      respond(set, free, p, response);
      const double curvature = inner(p, response.slope);
      flat = curvature <= 1e-13 * scale_ * inner(p, p);
      if (flat && step == 0) {
        double longest = 0.0;
        free.for_each([&](std::size_t c, std::size_t k, std::size_t e) {
          const std::size_t i = set.points[c];
          const double a = a_of(i)[k], room = p[e] < 0.0 ? a : problem_.cost[i] - a;
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
      const double linear = level_.algebra.inner(slope.data(), change.data(), x.size());
      const double curvature = level_.algebra.inner(response.slope.data(), change.data(), x.size());
      return -length * linear - 0.5 * length * length * curvature;
    };
    respond(set, free, x, response);
    const double linear = level_.algebra.inner(slope.data(), x.data(), x.size());
    const double curvature = level_.algebra.inner(response.slope.data(), x.data(), x.size());
    if (!(linear < 0.0)) return true;
    const double best = curvature > 0.0 ? std::min(1.0, -linear / curvature) : 1.0;
    const double first = first_bound(set, free, x);
    if (first >= best) {
      take(set, free, x, best, response);
      return best == 1.0;
    }
    const double plain = gain(x, first);
    std::vector<double> projected(x.size()), wanted(classes_), inside(classes_);
    for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
      const std::size_t i = set.points[free.groups[g].place], begin = free.groups[g].begin;
      const std::size_t size = free.groups[g + 1].begin - begin;
      for (std::size_t e = 0; e < size; ++e) wanted[e] = a_of(i)[free.classes[begin + e]] + best * x[begin + e];
      constrain(i, wanted.data(), size, 0.0, 0.0, inside.data());
      for (std::size_t e = 0; e < size; ++e) projected[begin + e] = inside[e] - a_of(i)[free.classes[begin + e]];
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
        const double a = a_of(i)[free.classes[e]];
        rise += x[e];
        if (x[e] < 0.0) first = std::min(first, -a / x[e]);
        if (x[e] > 0.0 && problem_.errors == Errors::sum) first = std::min(first, (problem_.cost[i] - a) / x[e]);
      }
      if (problem_.errors == Errors::largest && !free.groups[g].used_up && rise > 0.0) {
        first = std::min(first, view(i).spare() / rise);
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
      double& a = a_of(i)[k];
      const double cost = problem_.cost[i], near = 1e-14 * cost;
      a += length * x[e];
      if (a < near) a = 0.0;
      if (problem_.errors == Errors::sum && a > cost - near) a = cost;
    });
    for (std::size_t p = 0; p < set.f.size(); ++p) set.f[p] += length * response.f[p];
    for (std::size_t k = 0; k < classes_; ++k) excess_[k] += length * response.z[k];
    if (problem_.bias) follow();
  }

  // The best of n multipliers of sample i: optimise_block for its set.
  double constrain(std::size_t i, const double* wanted, std::size_t n, double rho, double guess, double* a) const {
    constexpr double unlimited = std::numeric_limits<double>::max();
    const bool summed = problem_.errors == Errors::sum;
    return optimise_block(wanted, n, rho, summed ? problem_.cost[i] : unlimited, summed ? unlimited : problem_.cost[i],
                          guess, a);
  }

  // The best multipliers of sample c of the set, given all others; slope_ is that of now. Returns the rows added.
  template <class T>
  std::size_t step(WorkingSet<T>& set, std::size_t c) {
    const std::size_t m = set.size(), i = set.points[c], y = own(i);
    const T* row = set.row(c);
    double* a = a_of(i);
    const double curvature = std::max(double(row[c]) + penalty_, 1e-12 * scale_);
    double sum = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) sum += k == y ? 0.0 : a[k];
    for (std::size_t k = 0; k < classes_; ++k) wanted_[k] = a[k] + rho_ * sum - slope_[k] / curvature;
    wanted_[y] = -std::numeric_limits<double>::infinity();
    constrain(i, wanted_.data(), classes_, rho_, sum, new_.data());
    const auto& loops = level_.loops<T>();
    double own_change = 0.0;
    std::size_t work = 1;
    for (std::size_t k = 0; k < classes_; ++k) {
      if (k == y) continue;
      const double change = a[k] - new_[k];  // of B_ik
      if (change == 0.0) continue;
      a[k] = new_[k];
      own_change -= change;
      ++work;
      loops.add_row(change, row, m, set.f.data() + k * m);
      excess_[k] += change;
    }
    if (relative()) {
      loops.add_row(own_change, row, m, set.f.data() + y * m);
      excess_[y] += own_change;
    } else {
      for (double& z : excess_) z += own_change / static_cast<double>(classes_);
    }
    if (problem_.bias) follow();
    return work;
  }

  // Bring the state of all active samples up to date. Returns the kernel values used.
  template <class T>
  std::size_t unload(Rows<T>& rows, WorkingSet<T>& set, bool everything) {
    const std::size_t m = set.size();
    if (everything) {
      for (std::size_t c = 0; c < m; ++c) {
        for (std::size_t k = 0; k < classes_; ++k) f_[set.points[c] * classes_ + k] = set.f[k * m + c];
      }
      return 0;
    }
    std::vector<std::size_t> moved, place(n_, 0);
    for (std::size_t c = 0; c < m; ++c) {
      const std::size_t i = set.points[c];
      place[i] = c;
      if (!std::equal(a_of(i), a_of(i) + classes_, set.before.begin() + std::ptrdiff_t(c * classes_))) {
        moved.push_back(i);
      }
    }
    const std::vector<double> changes = gather_coefficients(moved, [&](std::size_t i, std::size_t, std::size_t k) {
      const double* before = set.before.data() + place[i] * classes_;
      return coefficient(a_of(i), i, k) - coefficient(before, i, k);
    });
    delta_.assign(classes_ * active_.size(), 0.0);
    rows.add_many(moved.data(), changes.data(), moved.size(), classes_, delta_.data());
    for (std::size_t k = 0; k < classes_; ++k) {
      const double* delta = delta_.data() + k * active_.size();
      for (std::size_t c = 0; c < active_.size(); ++c) f_[active_[c] * classes_ + k] += delta[c];
    }
    return m * m + moved.size() * active_.size();
  }

  // f in double wherever the certificate depends on it: at samples with multipliers, near a margin, and at some more
  // that test the working rows. False if those are not to be trusted; then all of f is made anew.
  template <class T>
  bool check_all(Rows<T>&) {
    constexpr std::size_t probes = 128;
    constexpr double near = 0.05, agreement = 0.01;
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < n_; ++i) {
      find_slopes(i, f_.data() + i * classes_, 1);
      bool needed = sizeof(T) == sizeof(double) || i % std::max<std::size_t>(1, n_ / probes) == 0;
      for (std::size_t k = 0; k < classes_ && !needed; ++k) {
        needed = k != own(i) && (a_of(i)[k] > 0.0 || slope_[k] < near);
      }
      if (needed) counts.push_back(i);
    }
    const std::vector<double> before = f_;
    compute_f(full_, counts);
    follow();
    bool agrees = true;
    for (std::size_t p = 0; p < f_.size(); ++p) agrees = agrees && std::abs(f_[p] - before[p]) <= agreement;
    if (!agrees && counts.size() < n_) compute_f(full_, active_);
    find_violations(active_);
    return agrees;
  }

  const JointView& problem_;
  const JointOptions& options_;
  const Level& level_;
  Rows<float>* single_;
  Rows<double>& full_;
  Watch& watch_;

  const std::size_t n_, classes_;
  const double rho_;  // B_i'B_i = |a_i|^2 + rho (sum a_i)^2
  std::vector<double> a_, f_;
  std::vector<double> multiplier_, excess_, offset_;  // b, z, b + sigma z
  double penalty_ = 0.0, scale_ = 1.0, last_excess_ = std::numeric_limits<double>::infinity();
  std::vector<double> z_, slope_, wanted_, new_;  // of one sample
  std::vector<double> violation_, delta_;
  std::vector<std::size_t> active_, previous_;
  std::vector<std::size_t> basis_;  // samples, see look_for_few_features
  static constexpr std::size_t sweeps_until_newton = 5;
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  std::size_t next_newton_ = never;
  double newton_violation_ = infinite;
  std::size_t block_, stride_, n_iter_ = 0, rounds_ = 0, next_record_ = 0;
  double objective_ = 0.0;
  std::vector<Record> history_;
};

}  // namespace joint
}  // namespace mercer

// Machines for several classes that are learnt in one go, over the weights of features in place of a kernel matrix:
// the problem of joint.hpp, one sample's multipliers at a time, w_k = sum_i B_ik x_i beside them.
//
// S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential dual method for large scale
// multi-class linear SVMs, KDD 2008. Where that crawls, Newton's method by conjugate gradients on the multipliers
// between their bounds takes turns with it.
//
// Every sample has a reference: the weights of its own class for relative margins, the mean over all classes, kept as
// one more row, for absolute ones. A change da of its multipliers takes da_k x from w_k and adds rho sum(da) x to the
// reference, and the slopes are g_k = f_reference - f_k - t, for both kinds of margin.
//
// Offsets: b'z + sigma/2 |z|^2 with z_k = sum_i B_ik joins the objective (the method of multipliers). This is as if all
// samples had one more feature, of square sigma; a constant feature, whose weight is a penalised offset, has another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "class_weights.hpp"
#include "linear.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "stop.hpp"

namespace mercer {

struct JointLinearView {
  std::size_t n_points, n_classes;
  const std::int64_t* point;  // rows of the samples
  const std::int64_t* label;
  const double* cost;
  const double* start;    // a, (n_points, n_classes), in the sets of the samples
  const double* offsets;  // to start from, (n_classes); null: there are none
  Margin margin;
  Errors errors;
  double target;    // t
  double constant;  // the square of a constant feature, 0: there is none
};

struct JointLinearOptions {
  double tol = 1e-3;
  std::size_t max_epochs = 10'000;
  bool shrinking = true;
};

struct JointLinearResult {
  std::vector<double> a, f;     // (n_points, n_classes): multipliers; sum_j B_jk (x_i . x_j + constant)
  std::vector<double> offsets;  // b + sigma z
  double violation = 0.0, seconds = 0.0;
  std::size_t epochs = 0;
  Status status = Status::solved;
  std::vector<Record> history;
};

class JointLinearSolver {
 public:
  JointLinearSolver(const JointLinearView& problem, const JointLinearOptions& options, WideSamples& samples, Team& team,
                    Watch& watch)
      : problem_(problem),
        options_(options),
        team_(team),
        watch_(watch),
        run_(watch, options.max_epochs, 1),
        n_(problem.n_points),
        classes_(problem.n_classes),
        features_(samples.samples.features),
        sparse_(samples.samples.sparse),
        bias_(problem.offsets != nullptr),
        rho_(problem.margin == Margin::relative ? 1.0 : -1.0 / double(problem.n_classes)),
        samples_(samples),
        w_(samples, classes_ + (problem.margin == Margin::absolute)),
        dw_(samples, classes_ + (problem.margin == Margin::absolute)),
        a_(problem.start, problem.start + n_ * classes_),
        f_(n_ * classes_, 0.0),
        multiplier_(classes_ + 1, 0.0),
        sum_(classes_ + 1, 0.0),
        curvature_(n_),
        list_(n_ * (classes_ - 1)),
        listed_(n_),
        rest_(n_, 0),
        pause_(n_, 0),
        row_cost_(samples.entries_per_row()) {
    const LinearMap map(samples.level, samples.samples);
    double scale = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      curvature_[i] = map.squared_norm(row(i));
      scale += curvature_[i] / double(n_);
    }
    scale_ = scale + problem.constant > 0.0 ? scale + problem.constant : 1.0;
    if (bias_) {
      penalty_ = penalty_share * scale_;
      std::copy_n(problem.offsets, classes_, multiplier_.begin());
    }
    for (double& c : curvature_) c = std::max(c + square(), 1e-12 * scale_);
  }

  JointLinearResult solve() {
    double milestone = infinite;  // the violation that counts as progress when it is halved
    std::size_t patient_until = 0, idle = 0;
    bool coarse = options_.tol >= smallest_coarse;  // rounded rows will do
    double before = infinite;
    for (std::size_t length = first_stage;; length = std::min(2 * length, longest_stage)) {
      samples_.round(false);
      check_all();
      // Where a long stage has not halved the violation, or the last one was in vain, rounding may be the reason.
      coarse = coarse && !(length > trusted_stage && worst_ > 0.5 * before) && !(before <= 1.25 * options_.tol);
      before = worst_;
      if (worst_ <= options_.tol && (!bias_ || pull() <= balance_share * options_.tol)) break;
      if (worst_ <= 0.5 * milestone) {
        milestone = worst_;
        patient_until = run_.n_iter + stalled_after;
      }
      if (run_.n_iter > patient_until) status_ = Status::stalled;
      told_ = 0;
      if (status_ != Status::solved || !may_go_on(worst_)) break;
      if (bias_ && active_.empty()) {  // nothing moves with these offsets: larger and larger steps to others
        update_multipliers(std::ldexp(1.0, int(idle)));
        if (++idle == most_idle) status_ = Status::stalled;
        continue;
      }
      idle = 0;
      samples_.round(coarse);
      stage(std::max(0.8 * options_.tol, stage_share * worst_), length);
    }
    JointLinearResult result;
    result.violation = worst_;
    result.offsets.assign(classes_, 0.0);
    if (bias_) {
      for (std::size_t k = 0; k < classes_; ++k) result.offsets[k] = multiplier_[k] + penalty_ * excess(k);
    }
    result.a = std::move(a_);
    result.f = std::move(f_);
    result.epochs = run_.n_iter;
    result.status = status_;
    result.history = std::move(run_.history);
    result.seconds = watch_.seconds();
    return result;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr double unlimited = std::numeric_limits<double>::max();
  // A stage ends at this part of the violation of all samples, or after so many epochs, which double: what was left out
  // too early comes back. So many epochs without progress are in vain.
  static constexpr double stage_share = 0.1;
  static constexpr std::size_t first_stage = 20, longest_stage = 1000, stalled_after = 4000;
  // Rounded rows are for tolerances from here on, and for stages up to this length whatever comes out.
  static constexpr double smallest_coarse = 1e-5;
  static constexpr std::size_t trusted_stage = 320;
  // Classes of a sample are left out when slopes would have to move by more than this part of the violation.
  static constexpr double far_share = 0.3;
  // A sample whose violation is this small a part of the worst rests for an epoch, then for two, and so on.
  static constexpr double calm_share = 0.2;
  static constexpr std::uint8_t longest_pause = 6;
  // Samples with this part of the violation that is aimed at stay as they are.
  static constexpr double enough_share = 0.1;
  // Newton's method has its turn when so many epochs have not halved the violation, and that is this part of the margin
  // at most (before, the multipliers between their bounds are not known well enough), or the stage is a long one.
  static constexpr std::size_t patience = 50;
  static constexpr double late_share = 0.1;
  // Conjugate gradients end at this part of the slope.
  static constexpr double accuracy = 0.1;
  static constexpr std::size_t most_steps = 200;
  // Offsets: sigma as a part of the mean squared norm, so that it does not dominate a step; the part of the tolerance
  // that sigma z may have in the end.
  static constexpr double penalty_share = 0.1;
  static constexpr std::size_t most_idle = 50;
  static constexpr double balance_share = 0.04;
  static constexpr std::size_t epochs_per_call = 100;

  std::size_t row(std::size_t i) const { return std::size_t(problem_.point[i]); }
  std::uint32_t own(std::size_t i) const { return std::uint32_t(problem_.label[i]); }
  bool relative() const { return problem_.margin == Margin::relative; }
  bool summed() const { return problem_.errors == Errors::sum; }
  std::uint32_t reference(std::size_t i) const { return relative() ? own(i) : std::uint32_t(classes_); }
  double* a_of(std::size_t i) { return a_.data() + i * classes_; }
  std::uint32_t* list_of(std::size_t i) { return list_.data() + i * (classes_ - 1); }
  // The square of the feature that all samples share.
  double square() const { return problem_.constant + penalty_; }
  double excess(std::size_t k) const { return relative() ? sum_[k] : sum_[k] - sum_[classes_]; }

  double largest_excess() const {
    double worst = 0.0;
    for (std::size_t k = 0; k < classes_; ++k) worst = std::max(worst, std::abs(excess(k)));
    return worst;
  }

  // What z adds to the slopes.
  double pull() const { return penalty_ * largest_excess(); }

  // Whether nobody and nothing ends the run.
  bool may_go_on(double violation) {
    watch_.poll();
    if (run_.n_iter >= options_.max_epochs) {
      status_ = Status::max_iter;
    } else if (watch_.out_of_time()) {
      status_ = Status::max_seconds;
    } else if (run_.n_iter >= told_) {
      told_ = run_.n_iter + epochs_per_call;
      if (watch_.asks_to_stop({run_.n_iter, run_.history.back().objective, violation, watch_.seconds()})) {
        status_ = Status::stopped;
      }
    }
    return status_ == Status::solved;
  }

  // --- all samples, all classes ---------------------------------------------------------------------------------

  // w and the sums from scratch.
  void find_weights() {
    w_.clear();
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::vector<std::uint32_t> which(classes_);
    std::vector<double> c(classes_);
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t count = 0;
      double total = 0.0;
      for (std::uint32_t k = 0; k < classes_; ++k) {
        if (a_of(i)[k] == 0.0) continue;
        which[count] = k;
        c[count++] = -a_of(i)[k];
        total += a_of(i)[k];
      }
      if (count == 0) continue;
      which[count] = reference(i);
      c[count++] = rho_ * total;
      move(i, which.data(), c.data(), count);
    }
  }

  void move(std::size_t i, const std::uint32_t* which, const double* c, std::size_t count) {
    w_.add(row(i), which, c, count);
    for (std::size_t p = 0; p < count; ++p) sum_[which[p]] += c[p];
  }

  // w, f, violation and gap of all samples, made anew; who is at play and with which classes.
  void check_all() {
    find_weights();
    std::vector<double> violation(n_), gap(n_), objective(n_);
    const std::size_t n_chunks = chunks_for(n_ * row_cost_ * classes_, 256);
    const auto for_all = [&](auto body) {
      for_chunks(team_, n_, n_chunks, [&](std::size_t first, std::size_t last, std::size_t) {
        std::vector<double> f(w_.padded() + 1), slope(classes_);
        for (std::size_t i = first; i < last; ++i) body(i, f.data(), slope.data());
      });
    };
    for_all([&](std::size_t i, double* f, double* slope) {
      w_.all_products(row(i), f);
      if (relative()) f[classes_] = 0.0;
      double* out = f_.data() + i * classes_;
      const double mean = relative() ? 0.0 : f[classes_] + problem_.constant * sum_[classes_];
      for (std::size_t k = 0; k < classes_; ++k) out[k] = f[k] + problem_.constant * sum_[k] - mean;
      full_slopes(i, slope);
      const BlockView view{a_of(i), slope, classes_, own(i), problem_.cost[i], problem_.errors};
      violation[i] = view.violation();
      gap[i] = view.gap();
      double total = 0.0, value = 0.0;
      for (std::size_t k = 0; k < classes_; ++k) {
        const double a = k == own(i) ? 0.0 : a_of(i)[k];
        total += a;
        value -= a * out[k];
      }
      if (relative()) value += total * out[own(i)];
      objective[i] = 0.5 * value - problem_.target * total;
    });
    double value = 0.0, distance = 0.0;
    worst_ = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      worst_ = std::max(worst_, violation[i]);
      value += objective[i];
      distance += gap[i];
    }
    run_.record(value, distance, worst_);
    const double far = options_.shrinking ? worst_ + pull() : infinite;
    for_all([&](std::size_t i, double*, double* slope) {
      full_slopes(i, slope);
      std::uint32_t* list = list_of(i);
      std::size_t count = 0;
      for (std::uint32_t k = 0; k < classes_; ++k) {
        if (k != own(i)) list[count++] = k;
      }
      std::vector<double> a(count), g(count);
      for (std::size_t p = 0; p < count; ++p) {
        a[p] = a_of(i)[list[p]];
        g[p] = slope[list[p]];
      }
      listed_[i] = std::uint32_t(thin_out(i, far, a.data(), g.data(), count));
    });
    active_.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      if (listed_[i] > 0) active_.push_back(std::uint32_t(i));
    }
    wake_all();
  }

  // Slopes of all classes from f.
  void full_slopes(std::size_t i, double* slope) const {
    const double* f = f_.data() + i * classes_;
    const std::size_t y = own(i);
    const double mine = relative() ? f[y] + multiplier_[y] + penalty_ * excess(y) : 0.0;
    for (std::size_t k = 0; k < classes_; ++k) {
      slope[k] = mine - (f[k] + multiplier_[k] + penalty_ * excess(k)) - problem_.target;
    }
  }

  // Strike out the classes of a sample that stay at their bounds while no slope moves by more than `far`; a and g are
  // theirs, in the order of the list. Returns how many are left, none if the sample has nothing to decide.
  std::size_t thin_out(std::size_t i, double far, double* a, double* g, std::size_t count) {
    if (far == infinite) return count;
    std::uint32_t* list = list_of(i);
    const double cost = problem_.cost[i];
    double level = infinite;  // where the largest error counts: the slope at which the cost is
    if (!summed()) {
      double total = 0.0;
      for (std::size_t p = 0; p < count; ++p) {
        total += a[p];
        if (a[p] > 0.0) level = std::min(level, g[p]);
      }
      if (total < cost * (1.0 - 1e-12)) level = std::min(level, 0.0);
    }
    std::size_t kept = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const bool out =
          summed() ? (a[p] == 0.0 && g[p] > far) || (a[p] == cost && g[p] < -far) : a[p] == 0.0 && g[p] > level + far;
      if (out) continue;
      list[kept] = list[p];
      a[kept] = a[p];
      g[kept++] = g[p];
    }
    const bool decided = !summed() && kept == 1 && a[0] >= cost * (1.0 - 1e-12) && g[0] < -far;
    return decided ? 0 : kept;
  }

  // --- one stage ------------------------------------------------------------------------------------------------

  // The samples at play, until their violation is below the target, or for about so many epochs.
  void stage(double target, std::size_t length) {
    const std::size_t until = run_.n_iter + length;
    const bool late = worst_ <= late_share * problem_.target || length == longest_stage;
    const double still = target <= options_.tol ? balance_share * options_.tol : 0.5 * target;
    std::size_t since = 0, allowed = 0;  // epochs since Newton's method, epochs that it may take
    double before = worst_;              // the violation after it
    for (double last = worst_; run_.n_iter < until && may_go_on(last) && !active_.empty();) {
      last = epoch(target, last);
      ++since;
      const double pulled = pull();
      if (bias_ && last <= std::max(target, 0.3 * pulled)) update_multipliers();
      if (last <= target && pulled <= still) {
        if (!rested_) return;
        wake_all();
        continue;
      }
      if (since < patience || run_.n_iter >= until) continue;
      if (late && last > 0.5 * before) {  // it crawls
        allowed = std::max(allowed + allowed / 2, since);
        newton(allowed);
        wake_all();
        if (may_go_on(last)) last = epoch(target, last);  // what Newton's method has put against bounds
      }
      since = 0;
      before = last;
    }
  }

  void wake_all() {
    std::fill(rest_.begin(), rest_.end(), 0);
    std::fill(pause_.begin(), pause_.end(), 0);
  }

  void update_multipliers(double step = 1.0) {
    for (std::size_t k = 0; k < classes_; ++k) multiplier_[k] += step * penalty_ * excess(k);
  }

  // A step for every sample at play. Returns the violation they had.
  double epoch(double target, double last) {
    ++run_.n_iter;
    shuffle(active_);
    const double far = options_.shrinking ? far_share * last + pull() : infinite;
    double worst = 0.0;
    std::size_t kept = 0;
    rested_ = false;
    for (std::size_t q = 0; q < active_.size(); ++q) {
      const std::uint32_t i = active_[q];
      if (rest_[i] > 0) {
        --rest_[i];
        rested_ = true;
        active_[kept++] = i;
        continue;
      }
      if (q + 1 < active_.size()) samples_.fetch(row(active_[q + 1]));
      const double violation = visit(i, far, enough_share * target);
      worst = std::max(worst, violation);
      if (listed_[i] == 0) continue;
      active_[kept++] = i;
      const bool calm = violation < calm_share * last;
      pause_[i] = calm ? std::min<std::uint8_t>(longest_pause, pause_[i] + 1) : 0;
      rest_[i] = pause_[i];
    }
    active_.resize(kept);
    return worst;
  }

  // The best multipliers of a sample, given all others. Returns the violation before.
  double visit(std::size_t i, double far, double enough) {
    find_slopes(i);
    std::size_t count = listed_[i];
    const BlockView view{here_.a.data(), here_.slope.data(), count, count, problem_.cost[i], problem_.errors};
    const double violation = std::max(0.0, view.violation());
    count = thin_out(i, far, here_.a.data(), here_.slope.data(), count);
    listed_[i] = std::uint32_t(count);
    if (violation <= enough) return violation;
    double sum = 0.0;
    for (std::size_t p = 0; p < count; ++p) sum += here_.a[p];
    for (std::size_t p = 0; p < count; ++p) {
      here_.wanted[p] = here_.a[p] + rho_ * sum - here_.slope[p] / curvature_[i];
    }
    constrain(i, here_.wanted.data(), count, rho_, sum, here_.next.data());
    std::size_t moved = 0;
    double total = 0.0;
    for (std::size_t p = 0; p < count; ++p) {
      const double change = here_.next[p] - here_.a[p];
      if (change == 0.0) continue;
      const std::uint32_t k = list_of(i)[p];
      a_of(i)[k] = here_.next[p];
      here_.which[moved] = k;
      here_.change[moved++] = -change;
      total += change;
    }
    if (moved == 0) return violation;
    here_.which[moved] = reference(i);
    here_.change[moved++] = rho_ * total;
    move(i, here_.which.data(), here_.change.data(), moved);
    return violation;
  }

  // Slopes and multipliers of the classes on a sample's list.
  void find_slopes(std::size_t i) {
    const std::size_t count = listed_[i];
    std::uint32_t* which = here_.which.data();
    double* f = here_.f.data();
    std::copy_n(list_of(i), count, which);
    which[count] = reference(i);
    if (sparse_ && 4 * (count + 1) > classes_) {
      w_.all_products(row(i), here_.all.data());
      for (std::size_t p = 0; p <= count; ++p) f[p] = here_.all[which[p]];
    } else {
      w_.products(row(i), which, count + 1, f);
    }
    for (std::size_t p = 0; p <= count; ++p) f[p] += square() * sum_[which[p]] + multiplier_[which[p]];
    for (std::size_t p = 0; p < count; ++p) {
      here_.slope[p] = f[count] - f[p] - problem_.target;
      here_.a[p] = a_of(i)[which[p]];
    }
  }

  double constrain(std::size_t i, const double* wanted, std::size_t n, double rho, double guess, double* a) const {
    const double cost = problem_.cost[i];
    if (n == 1) return a[0] = std::clamp(wanted[0] / (1.0 + rho), 0.0, cost);
    return optimise_block(wanted, n, rho, summed() ? cost : unlimited, summed() ? unlimited : cost, guess, a);
  }

  // --- Newton's method ------------------------------------------------------------------------------------------

  // Multipliers between their bounds, sample by sample.
  struct Free {
    struct Group {
      std::size_t sample, begin;
      bool used_up;  // their sum has to stay
    };
    std::vector<Group> groups;  // one more at the end
    std::vector<std::uint32_t> classes;
    std::vector<double> slope;

    std::size_t size() const { return classes.size(); }

    void project(std::vector<double>& change) const { keep_sums(groups, change); }
  };

  Free find_free() {
    Free free;
    for (const std::uint32_t i : active_) {
      find_slopes(i);
      const std::size_t begin = free.size();
      double total = 0.0;
      for (std::size_t p = 0; p < listed_[i]; ++p) {
        const double a = here_.a[p];
        total += a;
        if (a <= 0.0 || (summed() && a >= problem_.cost[i])) continue;
        free.classes.push_back(list_of(i)[p]);
        free.slope.push_back(here_.slope[p]);
      }
      const bool used_up = !summed() && total >= problem_.cost[i] * (1.0 - 1e-12);
      if (free.size() > begin) free.groups.push_back({i, begin, used_up});
    }
    free.groups.push_back({0, free.size(), false});
    return free;
  }

  // What a change of multipliers does: to w and the sums, and to the slopes.
  void respond(const Free& free, const std::vector<double>& change, std::vector<double>& response) {
    ++run_.n_iter;
    const std::size_t n_groups = free.groups.size() - 1;
    const std::size_t work = free.size() * 2 * row_cost_;
    const auto for_group = [&](std::size_t g, auto use) {  // use(sample, begin, size)
      use(free.groups[g].sample, free.groups[g].begin, free.groups[g + 1].begin - free.groups[g].begin);
    };
    dsum_.assign(classes_ + 1, 0.0);
    dw_.clear();
    const std::size_t n_strips = sparse_ ? 1 : std::min(chunks_for(work, 16), std::max<std::size_t>(1, features_ / 64));
    for_chunks(team_, features_, n_strips, [&](std::size_t first, std::size_t last, std::size_t strip) {
      std::vector<std::uint32_t> which(classes_ + 1);
      std::vector<double> c(classes_ + 1);
      for (std::size_t g = 0; g < n_groups; ++g) {
        for_group(g, [&](std::size_t i, std::size_t begin, std::size_t size) {
          double total = 0.0;
          for (std::size_t p = 0; p < size; ++p) {
            which[p] = free.classes[begin + p];
            c[p] = -change[begin + p];
            total += change[begin + p];
          }
          which[size] = reference(i);
          c[size] = rho_ * total;
          dw_.add(row(i), which.data(), c.data(), size + 1, first, last);
          if (strip > 0) return;
          for (std::size_t p = 0; p <= size; ++p) dsum_[which[p]] += c[p];
        });
      }
    });
    response.resize(change.size());
    for_chunks(team_, n_groups, std::min(n_groups, chunks_for(work, 64)),
               [&](std::size_t first, std::size_t last, std::size_t) {
                 std::vector<std::uint32_t> which(classes_ + 1);
                 std::vector<double> f(classes_ + 1);
                 for (std::size_t g = first; g < last; ++g) {
                   for_group(g, [&](std::size_t i, std::size_t begin, std::size_t size) {
                     std::copy_n(free.classes.data() + begin, size, which.data());
                     which[size] = reference(i);
                     dw_.products(row(i), which.data(), size + 1, f.data());
                     for (std::size_t p = 0; p <= size; ++p) f[p] += square() * dsum_[which[p]];
                     for (std::size_t p = 0; p < size; ++p) response[begin + p] = f[size] - f[p];
                   });
                 }
               });
  }

  // Newton's method on the multipliers between their bounds, for so many epochs at most.
  void newton(std::size_t allowed) {
    const std::size_t until = run_.n_iter + allowed;
    while (run_.n_iter < until && run_.n_iter < options_.max_epochs && !watch_.out_of_time()) {
      const Free free = find_free();
      if (free.size() == 0) return;
      if (!follow(free, newton_step(free, std::min(until, options_.max_epochs)))) return;
    }
  }

  // H x = -slope, up to a part of the slope.
  std::vector<double> newton_step(const Free& free, std::size_t until) {
    const std::size_t n = free.size();
    std::vector<double> x(n, 0.0), r(n), z(n), p, product, weight(n);
    for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
      for (std::size_t e = free.groups[g].begin; e < free.groups[g + 1].begin; ++e) {
        weight[e] = 1.0 / curvature_[free.groups[g].sample];
      }
    }
    for (std::size_t e = 0; e < n; ++e) r[e] = -free.slope[e];
    free.project(r);
    const auto precondition = [&] {
      for (std::size_t e = 0; e < n; ++e) z[e] = weight[e] * r[e];
    };
    precondition();
    p = z;
    double squared = inner(r, z);
    const double enough = accuracy * accuracy * squared;
    for (std::size_t step = 0; step < most_steps && squared > enough && run_.n_iter < until; ++step) {
      watch_.poll();
      respond(free, p, product);
      free.project(product);
      const double bend = inner(p, product);
      if (!(bend > 1e-13 * inner(p, r))) {  // flat: as far as the bounds allow
        if (step == 0) x = p;
        break;
      }
      const double t = squared / bend;
      for (std::size_t e = 0; e < n; ++e) x[e] += t * p[e];
      for (std::size_t e = 0; e < n; ++e) r[e] -= t * product[e];
      precondition();
      const double before = squared;
      squared = inner(r, z);
      for (std::size_t e = 0; e < n; ++e) p[e] = z[e] + squared / before * p[e];
    }
    free.project(x);  // what r and p have lost of it to rounding
    return x;
  }

  // As far along x, put back into the sets of the samples, as it leads down. False if it does not.
  bool follow(const Free& free, const std::vector<double>& x) {
    std::vector<double> change(x.size()), response;
    for (double t = 1.0; t > 1e-4; t *= 0.5) {
      bool bounded = false;
      for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
        const std::size_t i = free.groups[g].sample, begin = free.groups[g].begin;
        const std::size_t size = free.groups[g + 1].begin - begin;
        for (std::size_t p = 0; p < size; ++p) {
          here_.wanted[p] = a_of(i)[free.classes[begin + p]] + t * x[begin + p];
        }
        constrain(i, here_.wanted.data(), size, 0.0, 0.0, here_.next.data());  // sums that have to stay do so
        for (std::size_t p = 0; p < size; ++p) {
          bounded = bounded || std::abs(here_.next[p] - here_.wanted[p]) > 1e-12 * problem_.cost[i];
          change[begin + p] = here_.next[p] - a_of(i)[free.classes[begin + p]];
        }
      }
      respond(free, change, response);
      const double linear = inner(free.slope, change), bend = inner(change, response);
      if (!(linear + 0.5 * bend < 0.0)) continue;
      take(free, change);
      return bounded;
    }
    return false;
  }

  // Make a change whose dw is known.
  void take(const Free& free, const std::vector<double>& change) {
    for (std::size_t g = 0; g + 1 < free.groups.size(); ++g) {
      const std::size_t i = free.groups[g].sample;
      const double cost = problem_.cost[i], near = 1e-14 * cost;
      for (std::size_t e = free.groups[g].begin; e < free.groups[g + 1].begin; ++e) {
        double& a = a_of(i)[free.classes[e]];
        a += change[e];
        if (a < near) a = 0.0;
        if (summed() && a > cost - near) a = cost;
      }
    }
    w_.add(1.0, dw_);
    for (std::size_t k = 0; k <= classes_; ++k) sum_[k] += dsum_[k];
  }

  double inner(const std::vector<double>& u, const std::vector<double>& v) const {
    return samples_.level.algebra.inner(u.data(), v.data(), u.size());
  }

  void shuffle(std::vector<std::uint32_t>& values) {
    for (std::size_t k = values.size(); k > 1; --k) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      std::swap(values[k - 1], values[random_ % k]);
    }
  }

  // A sample under the hand: by place on its list, and one more place for its reference.
  struct Here {
    explicit Here(std::size_t n, std::size_t all)
        : which(n), f(n), all(all), a(n), slope(n), wanted(n), next(n), change(n) {}
    std::vector<std::uint32_t> which;
    std::vector<double> f, all, a, slope, wanted, next, change;
  };

  const JointLinearView& problem_;
  const JointLinearOptions& options_;
  Team& team_;
  Watch& watch_;
  Run run_;  // in epochs
  const std::size_t n_, classes_, features_;
  const bool sparse_, bias_;
  const double rho_;  // B_i'B_i = |a_i|^2 + rho (sum a_i)^2
  WideSamples& samples_;
  ClassWeights w_, dw_;
  std::vector<double> a_, f_;
  std::vector<double> multiplier_, sum_, dsum_;  // b, sum_i B_ik, and its change
  std::vector<double> curvature_;
  std::vector<std::uint32_t> list_, listed_, active_;  // classes at play of every sample, how many, samples at play
  std::vector<std::uint8_t> rest_, pause_;
  bool rested_ = false;  // somebody did in the last epoch
  const std::size_t row_cost_;
  double penalty_ = 0.0, scale_ = 1.0, worst_ = 0.0;  // sigma, size of a sample, violation of all
  std::size_t told_ = 0;                              // when the callback is next
  Status status_ = Status::solved;                    // or why the run has ended
  Here here_{classes_ + 1, w_.padded() + 1};
  std::uint64_t random_ = 0x9e3779b97f4a7c15;  // the same order on every run
};

}  // namespace mercer

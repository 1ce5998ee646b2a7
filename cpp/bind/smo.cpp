#include "../mercer/smo.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include "../mercer/triangle.hpp"
#include "arrays.hpp"
#include "batch.hpp"
#include "gram.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// How many kernel values the small problems look at, all of theirs, and the others, some of theirs.
struct Wanted {
  double small = 0.0, large = 0.0;

  Wanted(const BatchIn& problems, std::size_t largest_small) {
    for (std::size_t k = 0; k < problems.size(); ++k) {
      const std::size_t points = problems.points(k).size();
      (points <= largest_small ? small : large) += static_cast<double>(points) * static_cast<double>(points);
    }
  }
};

// Problems over the same vectors share what they would compute more than so many times, where it has room: the small
// ones a triangle in double, the others a matrix in float32.
struct Shared {
  Triangle triangle;
  std::vector<float> matrix;

  Shared(const GramIn& gram, const BatchIn& problems, std::size_t largest_small, const Level& level, std::size_t bytes,
         Team& team) {
    if (problems.size() < 2) return;
    const Wanted wanted(problems, largest_small);
    const double all = static_cast<double>(gram.n) * static_cast<double>(gram.n);
    if (gram.kind == GramIn::Kind::matrix && wanted.large >= 2.0 * all && all * sizeof(float) <= double(bytes)) {
      round_matrix(gram, team);
    }
    if (gram.kind != GramIn::Kind::vectors) return;
    // Values of cheap kernels are made as fast as they can be fetched, unless they are near.
    const bool dear = features_of_a_vector(gram.samples.view) > cheap_features;
    const bool near = all * sizeof(float) <= near_bytes;
    double left = static_cast<double>(bytes);
    if (dear && wanted.small >= all && Triangle::bytes(gram.n) <= left) {
      triangle = Triangle(gram.spec.view, level, gram.samples.view, team);
      left -= Triangle::bytes(gram.n);
    }
    if ((dear || near) && wanted.large >= 2.0 * all && all * sizeof(float) <= left) fill_matrix(gram, level, team);
  }

  std::size_t evaluations() const { return triangle.size() + made_; }

 private:
  void fill_matrix(const GramIn& gram, const Level& level, Team& team) {
    matrix.resize(gram.n * gram.n);
    made_ = matrix.size();
    const std::vector<std::size_t> all = all_positions(gram.n);
    VectorRows<float> rows(gram.spec.view, level, gram.samples.view, all, true, team);
    constexpr std::size_t group = 1024;
    std::vector<float*> out;
    for (std::size_t first = 0; first < gram.n; first += group) {
      out.clear();
      for (std::size_t i = first; i < std::min(gram.n, first + group); ++i) out.push_back(matrix.data() + i * gram.n);
      rows.rows(all.data() + first, out.size(), out.data());
    }
  }

  void round_matrix(const GramIn& gram, Team& team) {
    matrix.resize(gram.n * gram.n);
    const double* const values = gram.matrix.data();
    team.for_each(gram.n, [&](std::size_t i, std::size_t) {
      for (std::size_t k = i * gram.n; k < (i + 1) * gram.n; ++k) matrix[k] = float(values[k]);
    });
  }

  std::size_t made_ = 0;
};

// A problem of a path, with what its solver looks at while it lives: the next one begins where it has ended.
struct Step {
  DualView view;
  SmoOptions options;
  Watch watch;
  std::unique_ptr<smo::Solver> solver;
  SmoResult result;

  Step(const DualView& problem, const SmoOptions& chosen, bool scaled, Watch limits)
      : view(problem), options(chosen), watch(std::move(limits)) {
    options.scaled = scaled;
  }

  void make_solver(const Level& level, Rows<float>* single, Rows<double>& full, const Step* before, bool on_a_path) {
    solver = std::make_unique<smo::Solver>(view, options, level, single, full, watch,
                                           before == nullptr ? nullptr : before->solver.get(), on_a_path);
  }
};

// How exact a solution on the way is to be, in units of the tolerance.
inline constexpr double between_accuracy = 10.0;

// Upper bounds between those of two problems of a path, where prices are far apart and the first problem was so hard
// that the second one is better reached in small steps than from nothing.
std::vector<std::vector<double>> prices_between(const DualView& before, const DualView& now, std::size_t n_iter) {
  constexpr double small = 4.0;
  constexpr std::size_t hard = 2;  // steps per point
  if (before.upper == nullptr || n_iter < hard * now.n_points) return {};
  double ratio = 0.0;
  for (std::size_t i = 0; i < now.n_variables; ++i) {
    const double own = now.upper[i] / before.upper[i];
    const bool same = now.linear[i] == before.linear[i] && now.ridge[i] == before.ridge[i];
    // One factor for all, as prices have it.
    if (!same || !(own < 1e12) || (i > 0 && std::abs(own - ratio) > 1e-9 * ratio)) return {};
    ratio = own;
  }
  if (ratio <= smo::far_apart) return {};
  const double n_steps = std::ceil(std::log(ratio) / std::log(small));
  std::vector<std::vector<double>> prices;
  for (double step = 1.0; step < n_steps; ++step) {
    prices.emplace_back(before.upper, before.upper + now.n_variables);
    for (double& price : prices.back()) price *= std::pow(ratio, step / n_steps);
  }
  return prices;
}

// Thrown in a helper when the calling thread has been interrupted.
struct Cancelled {};

nb::tuple solve_many(const nb::tuple& gram_source, const nb::tuple& problem_source, Vector<double> start, double tol,
                     const std::string& rule, std::size_t max_iter, double max_seconds, bool shrinking,
                     bool full_precision, double unbounded_ratio, std::size_t memory, std::size_t n_threads,
                     const std::string& level_name, nb::object callback, std::size_t steps, std::size_t width,
                     bool rough, double seconds, nb::object finished, std::size_t block) {
  const GramIn gram = gram_in(gram_source);
  const BatchIn problems(problem_source, std::move(start), gram.n);
  const Level& level = find_level(level_name);
  if (steps == 0 || width == 0 || problems.size() % (steps * width) != 0) {
    throw nb::value_error("the problems do not make up whole paths");
  }
  for (std::size_t k = 0; k < problems.size(); ++k) {
    const bool first = k / width % steps == 0;
    if (!first && !problems.alike(k - width, k)) throw nb::value_error("the problems of a path must be alike");
  }
  const std::size_t n_paths = problems.size() / steps;
  SmoOptions options;
  options.tol = tol;
  if (rule != "gain" && rule != "violation") throw nb::value_error("unknown pair rule");
  options.rule = rule == "violation" ? PairRule::violation : PairRule::gain;
  options.max_iter = max_iter;
  options.shrinking = shrinking;
  options.full_precision = full_precision;
  options.rough = rough;
  options.unbounded_ratio = unbounded_ratio;
  if (block > 0) options.fix_block(block);

  // Python is called from the calling thread only: then the paths run one after the other, each on all threads.
  const bool one_by_one = n_paths == 1 || gram.kind == GramIn::Kind::function || !callback.is_none();
  const std::size_t outer_threads = one_by_one ? 1 : std::max<std::size_t>(1, std::min(n_threads, n_paths));
  const std::size_t inner_threads = one_by_one ? n_threads : 1;
  const std::size_t bytes = memory / outer_threads / 2;  // half for each precision
  BatchOut results(problems);
  std::atomic<bool> cancelled{false};
  std::atomic<std::size_t> n_finished{0};
  const Watch whole(seconds, {}, {});

  const auto poll_cancelled = [&] {
    if (cancelled.load()) throw Cancelled{};
  };
  const auto report = [&](const Progress& progress) {
    nb::gil_scoped_acquire locked;
    return nb::cast<bool>(
        nb::bool_(callback(progress.n_iter, progress.objective, progress.violation, progress.seconds)));
  };
  const std::function<bool(const Progress&)> told =
      callback.is_none() ? std::function<bool(const Progress&)>() : report;
  {
    nb::gil_scoped_release unlocked;
    Team outer(outer_threads, [&, signals = SignalPoll()]() mutable {
      try {
        signals();
      } catch (...) {
        cancelled.store(true);
        throw;
      }
    });
    const Shared shared(gram, problems, options.exact, level, memory / 2, outer);
    outer.for_each(n_paths, [&](std::size_t path, std::size_t worker) {
      if (cancelled.load()) return;
      // The calling thread listens to signals, the others to the calling thread.
      std::function<void()> poll = poll_cancelled;
      if (worker == 0) poll = SignalPoll();
      Team inner(inner_threads, poll);
      const std::size_t head = path / width * width * steps + path % width;
      const std::vector<std::size_t> points = problems.points(head);
      const std::vector<std::int64_t> places = problems.places(head, points);
      try {
        std::unique_ptr<Rows<float>> single;  // small problems are solved in double
        const bool small = points.size() <= options.exact;
        if (!small && shared.matrix.empty()) {
          single = make_rows<float>(gram, points, level, bytes, options.block, inner);
        } else if (!small) {
          single = std::make_unique<MatrixRows<float, float>>(level, shared.matrix.data(), gram.n, points, inner);
        }
        // Where all points are one block, their values lie side by side.
        if (!small && gram.stored_values() && points.size() <= options.whole) {
          single = side_by_side(*single, level, inner);
        }
        std::unique_ptr<Rows<double>> full;
        if (small && gram.kind == GramIn::Kind::vectors) {
          full = whole_matrix(gram, points, level, shared.triangle, inner);
        } else {
          full = make_rows<double>(gram, points, level, bytes, options.block, inner);
          if (small && gram.stored_values()) full = side_by_side(*full, level, inner);
        }
        std::unique_ptr<Step> before;
        const auto solve = [&](const DualView& view, bool scaled, double looser) {
          const double left = std::min(max_seconds, seconds - whole.seconds());
          auto step = std::make_unique<Step>(view, options, scaled, Watch(left, poll, told));
          step->options.tol *= looser;
          step->make_solver(level, single.get(), *full, before.get(), steps > 1 && gram.stored_values());
          step->result = step->solver->solve();
          before = std::move(step);
        };
        for (std::size_t k = head; k < head + steps * width; k += width) {
          const DualView view = problems.view(k, points.size(), places.data());
          std::size_t n_iter = 0;
          double spent = 0.0;
          if (before) {
            for (const std::vector<double>& upper : prices_between(before->view, view, before->result.n_iter)) {
              DualView between = view;
              between.upper = upper.data();
              const std::vector<double> zero(view.n_variables, 0.0);
              between.start = zero.data();
              solve(between, problems.scaled(k), between_accuracy);
              n_iter += before->result.n_iter;
              spent += before->result.seconds;
              before->view.upper = before->view.start = nullptr;  // they end here
            }
          }
          solve(view, problems.scaled(k), 1.0);
          SmoResult result = before->result;
          result.n_iter += n_iter;
          result.seconds += spent;
          results.put(k, view, std::move(result));
          ++n_finished;
          if (worker == 0 && !finished.is_none()) {
            nb::gil_scoped_acquire locked;
            finished(n_finished.load());
          }
        }
      } catch (const Cancelled&) {
        return;
      } catch (...) {
        cancelled.store(true);
        throw;
      }
    });
    results.add_evaluations(shared.evaluations());
  }
  return results.out();
}

}  // namespace

void bind_smo(nb::module_& m) {
  using namespace nb::literals;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  m.def("solve_many", &solve_many, "gram"_a, "problems"_a, "start"_a, "tol"_a, "rule"_a, "max_iter"_a, "max_seconds"_a,
        "shrinking"_a, "full_precision"_a, "unbounded_ratio"_a, "memory"_a, "n_threads"_a, "level"_a = "",
        "callback"_a.none() = nb::none(), "steps"_a = 1, "width"_a = 1, "rough"_a = false, "seconds"_a = infinity,
        "finished"_a.none() = nb::none(), "block"_a = 0,
        "Solve dual problems over one Gram matrix by SMO.\n\n"
        "gram: ('vectors', measure, transform, parameters, centre, weights, X), ('matrix', K) or\n"
        "('function', rows, n). problems: flat arrays (starts, index, sign, linear, upper, ridge) and, for every\n"
        "problem, (equality, totals, scaled); equality is 0 for none, 1 for one, 2 for one per sign. Paths of\n"
        "`steps` problems lie side by side, `width` of them: each problem but the first `width` begins where the one\n"
        "`width` before it has ended. Where float32 is fine, `rough` leaves the\n"
        "certificate at that. All together take so many `seconds`; `finished` is told, now and then, how many\n"
        "are done. `block`, if it is not 0, is how many points a block has. Returns flat\n"
        "(a, gradient), numbers with the columns (objective, gap, violation, imbalance, offset of sign +, of\n"
        "sign -, seconds), counts with (n_iter, evaluations, status, full_precision), and the histories, rows of\n"
        "(iteration, objective, gap, violation), with where that of each problem starts.");
  m.def(
      "status_names",
      [] {
        std::vector<std::string> names;
        for (int k = 0; k <= static_cast<int>(Status::coarse); ++k)
          names.push_back(status_name(static_cast<Status>(k)));
        return names;
      },
      "The names of the statuses that native solvers count.");
}

}  // namespace mercer::bind

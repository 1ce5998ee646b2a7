#include "../mercer/smo.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "arrays.hpp"
#include "gram.hpp"
#include "outcome.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

struct ProblemIn {
  Vector<std::int64_t> index;
  Vector<double> sign, linear, upper, ridge, start;
  Equality equality;
  bool scaled;
  std::vector<std::int64_t> local;  // variable -> point
  std::vector<std::size_t> points;  // point -> sample, ascending

  DualView view() const {
    return {local.size(), points.size(), local.data(), sign.data(), linear.data(),
            upper.data(), ridge.data(),  start.data(), equality};
  }
};

// `number` has a place for every sample, for the numbers of the points among them.
ProblemIn problem_in(const nb::tuple& source, std::vector<std::int64_t>& number) {
  const std::size_t n_samples = number.size();
  const auto vector = [&](std::size_t k) { return nb::cast<Vector<double>>(source[k]); };
  ProblemIn in{nb::cast<Vector<std::int64_t>>(source[0]),
               vector(1),
               vector(2),
               vector(3),
               vector(4),
               vector(5),
               Equality::none,
               nb::cast<bool>(source[7]),
               {},
               {}};
  const auto equality = nb::cast<std::string>(source[6]);
  if (equality == "total") {
    in.equality = Equality::total;
  } else if (equality == "per_sign") {
    in.equality = Equality::per_sign;
  } else if (equality != "none") {
    throw nb::value_error("unknown equality");
  }
  const std::size_t n = in.index.shape(0);
  for (const auto* values : {&in.sign, &in.linear, &in.upper, &in.ridge, &in.start}) {
    if (values->shape(0) != n) throw nb::value_error("the parts of a problem must have the same length");
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t sample = in.index.data()[k];
    if (sample < 0 || static_cast<std::size_t>(sample) >= n_samples) throw nb::value_error("index out of range");
    in.points.push_back(static_cast<std::size_t>(sample));
  }
  std::sort(in.points.begin(), in.points.end());
  in.points.erase(std::unique(in.points.begin(), in.points.end()), in.points.end());
  for (std::size_t p = 0; p < in.points.size(); ++p) number[in.points[p]] = static_cast<std::int64_t>(p);
  in.local.resize(n);
  for (std::size_t k = 0; k < n; ++k) in.local[k] = number[in.index.data()[k]];
  return in;
}

// Problems over the same vectors share a matrix where they would compute it more than `times` times, and it has room.
// It serves the small problems in double, or the others in float32.
template <class T>
std::vector<T> shared_matrix(const GramIn& gram, const std::vector<ProblemIn>& problems, std::size_t largest_small,
                             double times, const Level& level, std::size_t bytes, Team& team) {
  constexpr bool for_small = sizeof(T) == sizeof(double);
  if (gram.kind != GramIn::Kind::vectors || problems.size() < 2 || gram.n * gram.n > bytes / sizeof(T)) return {};
  double wanted = 0.0;
  for (const ProblemIn& problem : problems) {
    const double points = static_cast<double>(problem.points.size());
    if ((problem.points.size() <= largest_small) == for_small) wanted += points * points;
  }
  if (wanted < times * static_cast<double>(gram.n) * static_cast<double>(gram.n)) return {};
  std::vector<T> matrix(gram.n * gram.n);
  VectorRows<T> rows(gram.spec.view, level, gram.samples.view, all_positions(gram.n), true, team);
  constexpr std::size_t group = 1024;
  const std::vector<std::size_t> all = all_positions(gram.n);
  std::vector<T*> out;
  for (std::size_t first = 0; first < gram.n; first += group) {
    out.clear();
    for (std::size_t i = first; i < std::min(gram.n, first + group); ++i) out.push_back(matrix.data() + i * gram.n);
    rows.rows(all.data() + first, out.size(), out.data());
  }
  return matrix;
}

nb::tuple result_out(const SmoResult& result) {
  return nb::make_tuple(own(result.a), own(result.gradient), result.objective, result.violation, result.n_iter,
                        result.evaluations, status_name(result.status), result.full_precision, result.seconds,
                        history_out(result.history));
}

// Thrown in a helper when the calling thread has been interrupted.
struct Cancelled {};

nb::list solve_many(const nb::tuple& gram_source, const nb::list& problem_sources, double tol, const std::string& rule,
                    std::size_t max_iter, double max_seconds, bool shrinking, bool full_precision,
                    double unbounded_ratio, std::size_t memory, std::size_t n_threads, const std::string& level_name,
                    nb::object callback) {
  const GramIn gram = gram_in(gram_source);
  std::vector<ProblemIn> problems;
  std::vector<std::int64_t> number(gram.n);
  for (const nb::handle source : problem_sources) {
    problems.push_back(problem_in(nb::cast<nb::tuple>(source), number));
  }
  const Level& level = find_level(level_name);
  SmoOptions options;
  options.tol = tol;
  if (rule != "gain" && rule != "violation") throw nb::value_error("unknown pair rule");
  options.rule = rule == "violation" ? PairRule::violation : PairRule::gain;
  options.max_iter = max_iter;
  options.shrinking = shrinking;
  options.full_precision = full_precision;
  options.unbounded_ratio = unbounded_ratio;

  // Python is called from the calling thread only: then the problems run one after the other, each on all
  // threads.
  const bool one_by_one = problems.size() == 1 || gram.kind == GramIn::Kind::function || !callback.is_none();
  const std::size_t outer_threads = one_by_one ? 1 : std::max<std::size_t>(1, std::min(n_threads, problems.size()));
  const std::size_t inner_threads = one_by_one ? n_threads : 1;
  const std::size_t bytes = memory / outer_threads / 2;  // half for each precision
  std::vector<SmoResult> results(problems.size());
  std::atomic<bool> cancelled{false};

  const auto poll_cancelled = [&] {
    if (cancelled.load()) throw Cancelled{};
  };
  const auto report = [&](const Progress& progress) {
    nb::gil_scoped_acquire locked;
    return nb::cast<bool>(
        nb::bool_(callback(progress.n_iter, progress.objective, progress.violation, progress.seconds)));
  };
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
    // Values of cheap kernels are made as fast as they can be fetched, unless they are near. A small problem looks at
    // all of its values, the others at some.
    constexpr double never = std::numeric_limits<double>::infinity();
    const bool dear = gram.kind == GramIn::Kind::vectors && features_of_a_vector(gram.samples.view) > cheap_features;
    const bool near = gram.n * gram.n * sizeof(float) <= near_bytes;
    const std::vector<double> shared_full =
        shared_matrix<double>(gram, problems, options.exact, dear ? 1.0 : never, level, memory / 2, outer);
    const std::vector<float> shared =
        shared_matrix<float>(gram, problems, options.exact, dear || near ? 2.0 : never, level,
                             memory / 2 - shared_full.size() * sizeof(double), outer);
    outer.for_each(problems.size(), [&](std::size_t k, std::size_t worker) {
      if (cancelled.load()) return;
      // The calling thread listens to signals, the others to the calling thread.
      std::function<void()> poll = poll_cancelled;
      if (worker == 0) poll = SignalPoll();
      Team inner(inner_threads, poll);
      Watch watch(max_seconds, poll, callback.is_none() ? std::function<bool(const Progress&)>() : report);
      const DualView view = problems[k].view();
      SmoOptions own = options;
      own.scaled = problems[k].scaled;
      try {
        std::unique_ptr<Rows<float>> single;  // small problems are solved in double
        const bool small = problems[k].points.size() <= options.exact;
        if (!small && shared.empty()) {
          single = make_rows<float>(gram, problems[k].points, level, bytes, options.block, inner);
        } else if (!small) {
          single = std::make_unique<MatrixRows<float, float>>(level, shared.data(), gram.n, problems[k].points, inner);
        }
        const auto full = small && gram.kind == GramIn::Kind::vectors
                              ? whole_matrix(gram, problems[k].points, level, shared_full, inner)
                              : make_rows<double>(gram, problems[k].points, level, bytes, options.block, inner);
        results[k] = smo::Solver(view, own, level, single.get(), *full, watch).solve();
      } catch (const Cancelled&) {
        return;
      } catch (...) {
        cancelled.store(true);
        throw;
      }
    });
    if (!results.empty()) results[0].evaluations += shared_full.size() + shared.size();
  }
  nb::list out;
  for (const SmoResult& result : results) out.append(result_out(result));
  return out;
}

}  // namespace

void bind_smo(nb::module_& m) {
  using namespace nb::literals;
  m.def("solve_many", &solve_many, "gram"_a, "problems"_a, "tol"_a, "rule"_a, "max_iter"_a, "max_seconds"_a,
        "shrinking"_a, "full_precision"_a, "unbounded_ratio"_a, "memory"_a, "n_threads"_a, "level"_a = "",
        "callback"_a.none() = nb::none(),
        "Solve dual problems over one Gram matrix by SMO.\n\n"
        "gram: ('vectors', measure, transform, parameters, centre, weights, X), ('matrix', K) or\n"
        "('function', rows, n). Each problem: (index, sign, linear, upper, ridge, start, equality, scaled).\n"
        "Returns per problem (a, gradient, objective, violation, n_iter, evaluations, status, full_precision,\n"
        "seconds, history), history being rows of (iteration, objective, gap, violation).");
}

}  // namespace mercer::bind

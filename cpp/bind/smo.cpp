#include "../mercer/smo.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// Up to so many features a kernel value costs less to compute than to fetch, from memory or from a cache nearby.
constexpr std::size_t cheap_features = 64, trivial_features = 24;
constexpr std::size_t near_bytes = std::size_t{16} << 20;  // a matrix of this size is in a cache of the processor
constexpr std::size_t largest_batch = 256;                 // rows asked from Python at once

// Where kernel values come from: vectors and a kernel, a matrix, or a Python function of row numbers.
struct GramIn {
  enum class Kind { vectors, matrix, matrix_single, function } kind = Kind::matrix;
  std::size_t n = 0;
  SamplesIn samples;
  SpecIn spec;
  Matrix<double> matrix;
  Matrix<float> matrix_single;
  nb::object function;
};

GramIn gram_in(const nb::tuple& source) {
  GramIn gram;
  const auto kind = nb::cast<std::string>(source[0]);
  if (kind == "vectors") {
    gram.kind = GramIn::Kind::vectors;
    gram.samples = samples_in(source[6]);
    gram.n = gram.samples.view.rows;
    gram.spec = spec_in(nb::cast<std::string>(source[1]), nb::cast<std::string>(source[2]),
                        nb::cast<std::vector<double>>(source[3]), nb::cast<std::optional<Vector<double>>>(source[4]),
                        nb::cast<std::optional<Vector<double>>>(source[5]), gram.samples.view);
  } else if (kind == "matrix") {
    if (nb::try_cast(source[1], gram.matrix, false)) {
      gram.kind = GramIn::Kind::matrix;
      gram.n = gram.matrix.shape(0);
    } else if (nb::try_cast(source[1], gram.matrix_single, false)) {
      gram.kind = GramIn::Kind::matrix_single;
      gram.n = gram.matrix_single.shape(0);
    } else {
      throw nb::type_error("a matrix must be C-contiguous float32/float64");
    }
  } else if (kind == "function") {
    gram.kind = GramIn::Kind::function;
    gram.function = nb::borrow(source[1]);
    gram.n = nb::cast<std::size_t>(source[2]);
  } else {
    throw nb::value_error("unknown kind of Gram matrix");
  }
  return gram;
}

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

// What a kernel value costs: features, or the entries of a sparse vector, of which eight share their work.
std::size_t features_of_a_vector(const Samples& samples) {
  if (!samples.sparse) return samples.features;
  return static_cast<std::size_t>(samples.starts[samples.rows]) / std::max<std::size_t>(1, samples.rows);
}

template <class T>
std::unique_ptr<Rows<T>> make_rows(const GramIn& gram, const ProblemIn& problem, const Level& level, std::size_t bytes,
                                   std::size_t block, Team& team) {
  const std::size_t m = problem.points.size();
  switch (gram.kind) {
    case GramIn::Kind::matrix:
      return std::make_unique<MatrixRows<T, double>>(level, gram.matrix.data(), gram.matrix.shape(1), problem.points,
                                                     team);
    case GramIn::Kind::matrix_single:
      return std::make_unique<MatrixRows<T, float>>(level, gram.matrix_single.data(), gram.matrix_single.shape(1),
                                                    problem.points, team);
    case GramIn::Kind::function: {
      const std::size_t batch = std::clamp<std::size_t>(bytes / (4 * sizeof(double) * (gram.n + 1)), 1, largest_batch);
      return std::make_unique<CachedRows<T>>(
          level, m, bytes, batch,
          [&gram, &problem](const std::size_t* which, std::size_t n, T* const* out) {
            nb::gil_scoped_acquire locked;
            auto ids = std::make_unique_for_overwrite<std::int64_t[]>(n);
            for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(problem.points[which[i]]);
            const nb::object rows = gram.function(own(std::move(ids), {n}));
            const auto values = nb::cast<Matrix<double>>(rows);
            if (values.shape(0) != n || values.shape(1) != gram.n)
              throw nb::value_error("a row block has a wrong shape");
            for (std::size_t i = 0; i < n; ++i) {
              const double* row = values.data() + i * gram.n;
              for (std::size_t c = 0; c < problem.points.size(); ++c) out[i][c] = T(row[problem.points[c]]);
            }
          },
          team);
    }
    case GramIn::Kind::vectors:
      break;
  }
  const bool packed = sizeof(T) == sizeof(float);  // double is mostly for checking: one panel at a time
  auto rows = std::make_unique<VectorRows<T>>(gram.spec.view, level, gram.samples.view, problem.points, packed, team);
  const std::size_t features = features_of_a_vector(gram.samples.view);
  const bool cheap = features <= cheap_features;
  const bool near = features > trivial_features && m * m * sizeof(T) <= near_bytes;
  const std::size_t batch = std::min(block, m);
  if (!near && (cheap || bytes / sizeof(T) < batch * m)) return rows;
  std::shared_ptr<VectorRows<T>> maker = std::move(rows);
  return std::make_unique<CachedRows<T>>(
      level, m, near ? near_bytes : bytes, batch,
      [maker](const std::size_t* which, std::size_t n, T* const* out) { maker->rows(which, n, out); }, team, maker);
}

// All kernel values of a small problem, taken from those of all samples where these are there.
std::unique_ptr<Rows<double>> whole_matrix(const GramIn& gram, const ProblemIn& problem, const Level& level,
                                           const std::vector<double>& shared, Team& team) {
  const std::size_t m = problem.points.size();
  std::vector<double> matrix(m * m);
  std::size_t evaluations = 0;
  if (shared.empty()) {
    VectorRows<double> rows(gram.spec.view, level, gram.samples.view, problem.points, true, team);
    rows.square(all_positions(m).data(), m, matrix.data());
    evaluations = rows.evaluations();
  } else {
    for (std::size_t i = 0; i < m; ++i) {
      const double* row = shared.data() + problem.points[i] * gram.n;
      for (std::size_t j = 0; j < m; ++j) matrix[i * m + j] = row[problem.points[j]];
    }
  }
  return std::make_unique<MatrixRows<double, double>>(level, std::move(matrix), m, evaluations, team);
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

const char* status_name(Status status) {
  switch (status) {
    case Status::solved:
      return "solved";
    case Status::max_iter:
      return "max_iter";
    case Status::max_seconds:
      return "max_seconds";
    case Status::stopped:
      return "stopped";
    case Status::unbounded:
      return "unbounded";
    case Status::indefinite:
      return "indefinite";
    case Status::stalled:
    case Status::coarse:
      return "stalled";
  }
  return "";
}

nb::tuple result_out(const SmoResult& result) {
  const std::size_t n = result.history.size();
  auto history = std::make_unique_for_overwrite<double[]>(4 * n);
  for (std::size_t k = 0; k < n; ++k) {
    const Record& record = result.history[k];
    history[4 * k] = static_cast<double>(record.n_iter);
    history[4 * k + 1] = record.objective;
    history[4 * k + 2] = record.gap;
    history[4 * k + 3] = record.violation;
  }
  return nb::make_tuple(own(result.a), own(result.gradient), result.objective, result.violation, result.n_iter,
                        result.evaluations, status_name(result.status), result.full_precision, result.seconds,
                        own(std::move(history), {n, 4}));
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
          single = make_rows<float>(gram, problems[k], level, bytes, options.block, inner);
        } else if (!small) {
          single = std::make_unique<MatrixRows<float, float>>(level, shared.data(), gram.n, problems[k].points, inner);
        }
        const auto full = small && gram.kind == GramIn::Kind::vectors
                              ? whole_matrix(gram, problems[k], level, shared_full, inner)
                              : make_rows<double>(gram, problems[k], level, bytes, options.block, inner);
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

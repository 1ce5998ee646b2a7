#include "../mercer/linear_dual.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using Numbers = nb::ndarray<nb::numpy, double>;
using Ids = std::optional<Vector<std::int64_t>>;

// Rows of X and the numbers that go with them.
RowChoice choose(const Samples& samples, const Ids& ids) {
  if (!ids) return {samples, nullptr, samples.rows};
  for (std::size_t k = 0; k < ids->shape(0); ++k) {
    const std::int64_t id = ids->data()[k];
    if (id < 0 || static_cast<std::size_t>(id) >= samples.rows) throw nb::value_error("row number out of range");
  }
  return {samples, ids->data(), ids->shape(0)};
}

void check_length(const Vector<double>& values, std::size_t n, const char* message) {
  if (values.shape(0) != n) throw nb::value_error(message);
}

Numbers products(nb::handle x, Ids ids, Vector<double> w, std::size_t n_threads, const std::string& level) {
  const SamplesIn in = samples_in(x);
  check_length(w, in.view.features, "w must have one entry per feature");
  const RowChoice rows = choose(in.view, ids);
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(rows.n);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    LinearMap(loops, in.view).products(rows, w.data(), team, out.get());
  }
  return own(std::move(out), {rows.n});
}

Numbers sums(nb::handle x, Ids ids, Vector<double> c, std::size_t n_threads, const std::string& level) {
  const SamplesIn in = samples_in(x);
  const RowChoice rows = choose(in.view, ids);
  check_length(c, rows.n, "c must have one entry per row");
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(in.view.features);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    LinearMap(loops, in.view).sums(rows, c.data(), team, out.get());
  }
  return own(std::move(out), {in.view.features});
}

Numbers moments(nb::handle x, Ids ids, Vector<double> c, std::size_t n_threads, const std::string& level) {
  const SamplesIn in = samples_in(x);
  const RowChoice rows = choose(in.view, ids);
  check_length(c, rows.n, "c must have one entry per row");
  const Level& loops = find_level(level);
  const std::size_t d = in.view.features;
  auto out = std::make_unique_for_overwrite<double[]>(d * d);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    LinearMap(loops, in.view).moments(rows, c.data(), team, out.get());
  }
  return own(std::move(out), {d, d});
}

Numbers squares(nb::handle x, Ids ids, Vector<double> c) {
  const SamplesIn in = samples_in(x);
  const RowChoice rows = choose(in.view, ids);
  check_length(c, rows.n, "c must have one entry per row");
  auto out = std::make_unique_for_overwrite<double[]>(in.view.features);
  {
    nb::gil_scoped_release unlocked;
    LinearMap(find_level(""), in.view).squares(rows, c.data(), out.get());
  }
  return own(std::move(out), {in.view.features});
}

Responses responses_in(const Vector<double>& z, const Vector<double>& pull, const Vector<double>& stiffness,
                       const Vector<double>& upper) {
  for (const auto* values : {&pull, &stiffness, &upper}) {
    check_length(*values, z.shape(0), "the parts of a response must have the same length");
  }
  return {z.shape(0), pull.data(), stiffness.data(), upper.data()};
}

double line_minimum(Vector<double> z, Vector<double> dz, Vector<double> pull, Vector<double> stiffness,
                    Vector<double> upper, double slope, double curvature, std::size_t n_threads) {
  const Responses responses = responses_in(z, pull, stiffness, upper);
  check_length(dz, z.shape(0), "the parts of a response must have the same length");
  nb::gil_scoped_release unlocked;
  Team team(n_threads, SignalPoll());
  return Line(responses, z.data(), dz.data(), slope, curvature, team).minimum();
}

Numbers respond(Vector<double> z, Vector<double> pull, Vector<double> stiffness, Vector<double> upper,
                std::size_t n_threads) {
  const Responses responses = responses_in(z, pull, stiffness, upper);
  auto out = std::make_unique_for_overwrite<double[]>(responses.n);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    const std::size_t n_chunks = chunks_for(4 * responses.n, 64);
    for_chunks(team, responses.n, n_chunks, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) out[i] = responses(i, z.data()[i]);
    });
  }
  return own(std::move(out), {responses.n});
}

std::optional<Numbers> solve_definite_system(Matrix<double> a, Vector<double> b) {
  const std::size_t n = a.shape(0);
  if (a.shape(1) != n || b.shape(0) != n) throw nb::value_error("A must be square, with as many rows as b");
  std::vector<double> factor(a.data(), a.data() + n * n);
  auto x = std::make_unique_for_overwrite<double[]>(n);
  std::copy(b.data(), b.data() + n, x.get());
  bool solved = false;
  {
    nb::gil_scoped_release unlocked;
    solved = solve_definite(find_level("").algebra, factor.data(), n, x.get());
  }
  if (!solved) return std::nullopt;
  return own(std::move(x), {n});
}

nb::tuple descend(nb::handle x, Vector<std::int64_t> index, Vector<double> sign, Vector<double> linear,
                  Vector<double> upper, Vector<double> ridge, Vector<double> start, std::optional<double> total,
                  double offset, double sigma, double constant, double tol, std::size_t max_epochs,
                  double max_seconds) {
  const SamplesIn in = samples_in(x);
  choose(in.view, index);
  for (const auto* values : {&sign, &linear, &upper, &ridge, &start}) {
    check_length(*values, index.shape(0), "the parts of a problem must have the same length");
  }
  const DualView view{index.shape(0), in.view.rows,  index.data(),
                      sign.data(),    linear.data(), upper.data(),
                      ridge.data(),   start.data(),  total ? Equality::total : Equality::none};
  DescentOptions options;
  options.tol = tol;
  options.max_epochs = max_epochs;
  options.constant = constant;
  options.equality = total.has_value();
  options.total = total.value_or(0.0);
  options.sigma = sigma;
  options.offset = offset;
  DescentResult result;
  {
    nb::gil_scoped_release unlocked;
    const LinearMap map(find_level(""), in.view);
    const Watch watch(max_seconds, SignalPoll(), {});
    result = DualDescent(map, view, options, in.view.features).run(watch);
  }
  return nb::make_tuple(own(result.a), result.offset, result.violation, result.epochs, result.settled);
}

}  // namespace

void bind_linear(nb::module_& m) {
  using namespace nb::literals;
  m.def("linear_products", &products, "X"_a, "rows"_a.noconvert().none(), "w"_a.noconvert(), "n_threads"_a,
        "level"_a = "", "X[rows] @ w in float64; rows=None: all.");
  m.def("linear_sums", &sums, "X"_a, "rows"_a.noconvert().none(), "c"_a.noconvert(), "n_threads"_a, "level"_a = "",
        "X[rows].T @ c in float64.");
  m.def("linear_moments", &moments, "X"_a, "rows"_a.noconvert().none(), "c"_a.noconvert(), "n_threads"_a,
        "level"_a = "", "X[rows].T @ diag(c) @ X[rows] in float64.");
  m.def("linear_squares", &squares, "X"_a, "rows"_a.noconvert().none(), "c"_a.noconvert(),
        "The diagonal of linear_moments.");
  m.def("line_minimum", &line_minimum, "z"_a.noconvert(), "dz"_a.noconvert(), "pull"_a.noconvert(),
        "stiffness"_a.noconvert(), "upper"_a.noconvert(), "slope"_a, "curvature"_a, "n_threads"_a,
        "The t >= 0 where slope + t curvature = sum_i a_i dz_i, a = clip((pull - z - t dz) / stiffness, 0, upper),\n"
        "up to a tenth of what it is at 0.");
  m.def("respond", &respond, "z"_a.noconvert(), "pull"_a.noconvert(), "stiffness"_a.noconvert(), "upper"_a.noconvert(),
        "n_threads"_a, "clip((pull - z) / stiffness, 0, upper).");
  m.def("dual_descent", &descend, "X"_a, "index"_a.noconvert(), "sign"_a.noconvert(), "linear"_a.noconvert(),
        "upper"_a.noconvert(), "ridge"_a.noconvert(), "start"_a.noconvert(), "total"_a.none(), "offset"_a, "sigma"_a,
        "constant"_a, "tol"_a, "max_epochs"_a, "max_seconds"_a,
        "Dual coordinate descent over K = X X' + constant; total=None: no equality.\n\n"
        "Returns (a, offset, violation, epochs, settled).");
  m.def("solve_definite", &solve_definite_system, "A"_a.noconvert(), "b"_a.noconvert(),
        "A^-1 b for a symmetric positive definite A; None if a pivot of its Cholesky factor is not positive.");
}

}  // namespace mercer::bind

#include "../mercer/products.hpp"
#include "../mercer/symmetric.hpp"
#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using Parameters = std::vector<double>;
using MaybeVector = std::optional<Vector<double>>;

// Run `body` with a value of the type the samples are stored in.
template <class Body>
nb::object in_precision_of(const Samples& samples, Body body) {
  return samples.precision == Precision::full ? body(double{}) : body(float{});
}

nb::object matrix(const std::string& measure, const std::string& transform, const Parameters& parameters,
                  MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, std::size_t n_threads,
                  const std::string& level) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  return in_precision_of(xs.view, [&](auto kind) {
    using T = decltype(kind);
    auto out = room_for<T>(xs.view.rows * ys.view.rows);
    {
      nb::gil_scoped_release unlocked;
      Team team(n_threads, SignalPoll());
      if (y.is(x)) {
        kernel_matrix<T>(spec.view, loops, xs.view, team, out.get());
      } else {
        kernel_matrix<T>(spec.view, loops, xs.view, ys.view, team, out.get());
      }
    }
    return nb::cast(own(std::move(out), {xs.view.rows, ys.view.rows}));
  });
}

void transform_into(const std::string& measure, const std::string& transform, const Parameters& parameters,
                    Matrix<double> values, nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
                    std::size_t n_threads, const std::string& level) {
  const SpecIn spec = spec_in(measure, transform, parameters, std::nullopt, std::nullopt, Samples{});
  if (spec.view.needs_norms()) throw nb::value_error("this kernel is no function of its measure alone");
  if (out.shape(0) != values.shape(0) || out.shape(1) != values.shape(1)) {
    throw nb::value_error("out must have the shape of the values");
  }
  const Level& loops = find_level(level);
  const std::size_t n = values.shape(0) * values.shape(1);
  nb::gil_scoped_release unlocked;
  Team team(n_threads, SignalPoll());
  transform_values(spec.view, loops, values.data(), n, team, out.data());
}

nb::object dot(const std::string& measure, const std::string& transform, const Parameters& parameters,
               MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, Matrix<double> v,
               std::size_t n_threads, const std::string& level, bool single) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  if (v.shape(0) != ys.view.rows) throw nb::value_error("V must have one row per sample of Y");
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  // In double even for float32 samples, unless told otherwise: a sum over many large coefficients needs the digits.
  auto out = std::make_unique_for_overwrite<double[]>(xs.view.rows * v.shape(1));
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    if (single) {
      kernel_dot<float>(spec.view, loops, xs.view, ys.view, v.data(), v.shape(1), team, out.get());
    } else {
      kernel_dot<double>(spec.view, loops, xs.view, ys.view, v.data(), v.shape(1), team, out.get());
    }
  }
  return nb::cast(own(std::move(out), {xs.view.rows, v.shape(1)}));
}

nb::object times_symmetric(Matrix<double> K, Matrix<double> v, std::size_t n_threads, const std::string& level) {
  const std::size_t n = K.shape(0), k = v.shape(1);
  if (K.shape(1) != n) throw nb::value_error("K must be square");
  if (v.shape(0) != n) throw nb::value_error("V must have one row per sample of K");
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(n * k);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    std::vector<BlockRow> block(n), product(n);
    for (std::size_t first = 0; first < k; first += block_width) {
      const std::size_t size = std::min(block_width, k - first);
      for (std::size_t i = 0; i < n; ++i) std::copy_n(v.data() + i * k + first, size, block[i].values);
      symmetric_product(loops, K.data(), n, block.data(), team, product.data());
      for (std::size_t i = 0; i < n; ++i) std::copy_n(product[i].values, size, out.get() + i * k + first);
    }
  }
  return nb::cast(own(std::move(out), {n, k}));
}

nb::object decide(const std::string& measure, const std::string& transform, const Parameters& parameters,
                  MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle y, Vector<double> v, double offset,
                  std::size_t n_threads, const std::string& level) {
  const SamplesIn xs = samples_in(x), ys = samples_in(y);
  check_same_kind(xs.view, ys.view);
  if (v.shape(0) != ys.view.rows) throw nb::value_error("v must have one entry per sample of Y");
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(xs.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    kernel_decide(spec.view, loops, xs.view, ys.view, v.data(), offset, team, out.get());
  }
  return nb::cast(own(std::move(out), {xs.view.rows}));
}

nb::object diag(const std::string& measure, const std::string& transform, const Parameters& parameters,
                MaybeVector centre, MaybeVector weights, nb::handle x) {
  const SamplesIn xs = samples_in(x);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  return in_precision_of(xs.view, [&](auto kind) {
    using T = decltype(kind);
    return nb::cast(own(Vectors<T>(spec.view, find_level(""), xs.view, all_positions(xs.view.rows), false).diagonal()));
  });
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const Level* level : supported_levels()) names.emplace_back(level->name);
  return names;
}

}  // namespace

void bind_kernels(nb::module_& m) {
  using namespace nb::literals;
  m.def("kernel_matrix", &matrix, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(),
        "X"_a, "Y"_a, "n_threads"_a, "level"_a = "",
        "K(X, Y), shape (n, m), in the dtype of X; half the work where Y is X.");
  m.def("kernel_transform", &transform_into, "measure"_a, "transform"_a, "parameters"_a, "values"_a.noconvert(),
        "out"_a.noconvert(), "n_threads"_a, "level"_a = "",
        "Kernel values from those of the measure, both of shape (n, m), into `out`.");
  m.def(
      "kernel_dot", &dot, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(), "X"_a,
      "Y"_a, "V"_a.noconvert(), "n_threads"_a, "level"_a = "", "single"_a = false,
      "K(X, Y) @ V, shape (n, k), summed in float64; the matrix is never stored, its values are float32 if `single`.");
  m.def("symmetric_product", &times_symmetric, "K"_a.noconvert(), "V"_a.noconvert(), "n_threads"_a, "level"_a = "",
        "K @ V, shape (n, k), for a symmetric K, of which one half is read, once for every four columns of V.");
  m.def("kernel_decide", &decide, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(),
        "X"_a, "Y"_a, "v"_a.noconvert(), "offset"_a, "n_threads"_a, "level"_a = "",
        "Numbers of the sign of K(X, Y) @ v + offset, shape (n,), in float32 where rounding cannot change the sign.");
  m.def("kernel_diag", &diag, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(), "X"_a,
        "k(x, x) of every sample, shape (n,), in the dtype of X.");
  m.def("simd_levels", &level_names, "The SIMD levels this processor runs, best last.");
}

}  // namespace mercer::bind

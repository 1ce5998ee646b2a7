#include "../mercer/landmarks.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using MaybeVector = std::optional<Vector<double>>;
using MaybeMatrix = std::optional<Matrix<double>>;

nb::tuple pass(const std::string& measure, const std::string& transform, const std::vector<double>& parameters,
               MaybeVector centre, MaybeVector weights, nb::handle x, nb::handle z, Matrix<double> v, MaybeVector scale,
               MaybeMatrix shift, bool single, std::size_t n_threads, const std::string& level) {
  const SamplesIn xs = samples_in(x), zs = samples_in(z);
  check_same_kind(xs.view, zs.view);
  const SpecIn spec = spec_in(measure, transform, parameters, std::move(centre), std::move(weights), xs.view);
  const std::size_t n = xs.view.rows, m = zs.view.rows, k = v.shape(0);
  if (v.shape(1) != m) throw nb::value_error("V must have one column per landmark");
  if (scale && scale->shape(0) != n) throw nb::value_error("scale must have one entry per sample");
  if (shift && (shift->shape(0) != n || shift->shape(1) != k)) {
    throw nb::value_error("shift must have one row per sample and one column per row of V");
  }
  const Level& loops = find_level(level);
  auto values = std::make_unique_for_overwrite<double[]>(n * k), sums = std::make_unique_for_overwrite<double[]>(k * m);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    const double* scales = scale ? scale->data() : nullptr;
    const double* shifts = shift ? shift->data() : nullptr;
    const LandmarkPass wanted{k, v.data(), scales, shifts, values.get(), sums.get()};
    if (single) {
      landmark_pass<float>(spec.view, loops, xs.view, zs.view, team, wanted);
    } else {
      landmark_pass<double>(spec.view, loops, xs.view, zs.view, team, wanted);
    }
  }
  return nb::make_tuple(own(std::move(values), {n, k}), own(std::move(sums), {k, m}));
}

}  // namespace

void bind_landmarks(nb::module_& m) {
  using namespace nb::literals;
  m.def("landmark_pass", &pass, "measure"_a, "transform"_a, "parameters"_a, "centre"_a.none(), "weights"_a.none(),
        "X"_a, "Z"_a, "V"_a.noconvert(), "scale"_a.noconvert().none(), "shift"_a.noconvert().none(), "single"_a,
        "n_threads"_a, "level"_a = "",
        "F = K(X, Z) V', shape (n, k), for V (k, m), and (scale * F + shift)' K(X, Z), shape (k, m). Kernel values\n"
        "are made once, in float32 if `single`, and stored nowhere.");
}

}  // namespace mercer::bind

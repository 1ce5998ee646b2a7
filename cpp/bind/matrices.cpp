#include "../mercer/matrices.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Matrices of one type.
template <class T>
bool matrices_in(const nb::list& arrays, std::size_t n, std::vector<const T*>& matrices) {
  matrices.clear();
  for (const nb::handle one : arrays) {
    Matrix<T> array;
    if (!nb::try_cast(one, array, false)) return false;
    if (array.shape(0) != n || array.shape(1) != n) throw nb::value_error("matrices must be square and of one size");
    matrices.push_back(array.data());
  }
  return true;
}

// use(matrices) with those of either type.
template <class Use>
auto with_matrices(const nb::list& arrays, std::size_t n, Use use) {
  std::vector<const float*> single;
  std::vector<const double*> full;
  if (matrices_in(arrays, n, single)) return use(single);
  if (matrices_in(arrays, n, full)) return use(full);
  throw nb::type_error("matrices must be C-contiguous 2-D arrays, all float32 or all float64");
}

void sum_of_matrices(const nb::list& matrices, Vector<double> weights, nb::handle out, std::size_t n_threads,
                     const std::string& level) {
  if (weights.shape(0) != nb::len(matrices)) throw nb::value_error("every matrix must have a weight");
  const Level& loops = find_level(level);
  const auto fill = [&](auto& total) {
    const std::size_t n = total.shape(0);
    if (total.shape(1) != n) throw nb::value_error("out must be square");
    with_matrices(matrices, n, [&](const auto& given) {
      nb::gil_scoped_release unlocked;
      Team team(n_threads, SignalPoll());
      sum_matrices(loops, given, weights.data(), n, team, total.data());
    });
  };
  Output<float> single;
  Output<double> full;
  if (nb::try_cast(out, single, false)) return fill(single);
  if (nb::try_cast(out, full, false)) return fill(full);
  throw nb::type_error("out must be a C-contiguous 2-D array of float32 or float64");
}

nb::ndarray<nb::numpy, double> energies_of_matrices(const nb::list& matrices, Matrix<double> coefficients,
                                                    std::size_t n_threads, const std::string& level) {
  const Level& loops = find_level(level);
  const std::size_t count = coefficients.shape(0), n = coefficients.shape(1);
  return own(with_matrices(matrices, n, [&](const auto& given) {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    return matrix_energies(loops, given, coefficients.data(), count, n, team);
  }));
}

}  // namespace

void bind_matrices(nb::module_& m) {
  using namespace nb::literals;
  m.def("sum_of_matrices", &sum_of_matrices, "matrices"_a, "weights"_a.noconvert(), "out"_a, "n_threads"_a,
        "level"_a = "", "out = the weighted sum of symmetric matrices, of each of which one half is read.");
  m.def("energies_of_matrices", &energies_of_matrices, "matrices"_a, "coefficients"_a.noconvert(), "n_threads"_a,
        "level"_a = "",
        "Half of c'Kc for every matrix, of which one half is read, summed over the rows c of coefficients.");
}

}  // namespace mercer::bind

#include "../mercer/stack.hpp"

#include "arrays.hpp"
#include "machines.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using MaybeVector = std::optional<Vector<double>>;
// A transform and its parameters.
using KernelIn = std::pair<std::string, std::vector<double>>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Square = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Kernels of one measure, with what keeps them alive.
struct FamilyIn {
  Family view;
  std::vector<SpecIn> specs;
};

FamilyIn family_in(const std::string& measure, const MaybeVector& weights, const std::vector<KernelIn>& kernels,
                   const std::vector<double>& factors, const Samples& samples) {
  if (kernels.empty() || factors.size() != kernels.size()) throw nb::value_error("every kernel must have a factor");
  std::vector<SpecIn> specs;
  std::vector<KernelSpec> views;
  for (const auto& [transform, parameters] : kernels) {
    specs.push_back(spec_in(measure, transform, parameters, std::nullopt, weights, samples));
    views.push_back(specs.back().view);
    if (kernels.size() > 1 && views.back().needs_norms()) {
      throw nb::value_error("this kernel is no function of its measure alone");
    }
  }
  return {Family(std::move(views), factors), std::move(specs)};
}

HalfRows rows_in(std::size_t first, std::size_t last, std::size_t n) {
  if (first > last || last > n) throw nb::value_error("rows out of range");
  return {first, last};
}

// The values of several lower halves, all of the same type.
template <class T, class Array>
bool pointers_in(const nb::list& arrays, std::size_t size, std::vector<T*>& pointers) {
  pointers.clear();
  for (const nb::handle one : arrays) {
    Array array;
    if (!nb::try_cast(one, array, false)) return false;
    if (array.shape(0) < size) throw nb::value_error("a lower half is too short");
    pointers.push_back(array.data());
  }
  return true;
}

template <class T>
bool halves_in(const nb::list& arrays, std::size_t size, std::vector<const T*>& halves) {
  return pointers_in<const T, Vector<T>>(arrays, size, halves);
}

[[noreturn]] void refuse_halves() {
  throw nb::type_error("lower halves must be C-contiguous 1-D arrays, all float32 or all float64");
}

void halves_of_family(const std::string& measure, MaybeVector weights, const std::vector<KernelIn>& kernels,
                      const std::vector<double>& factors, nb::handle x, std::size_t first, std::size_t last,
                      const nb::list& out, std::size_t n_threads, const std::string& level) {
  const SamplesIn xs = samples_in(x);
  const FamilyIn family = family_in(measure, weights, kernels, factors, xs.view);
  const HalfRows rows = rows_in(first, last, xs.view.rows);
  if (nb::len(out) != kernels.size()) throw nb::value_error("there must be an array for every kernel");
  const Level& loops = find_level(level);
  const auto fill = [&](const auto& pointers) {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    family_halves(family.view, loops, xs.view, rows, team, pointers.data());
  };
  std::vector<float*> single;
  std::vector<double*> full;
  if (pointers_in<float, Output<float>>(out, rows.size(), single)) return fill(single);
  if (pointers_in<double, Output<double>>(out, rows.size(), full)) return fill(full);
  refuse_halves();
}

void add_rows_of_family(const std::string& measure, MaybeVector weights, const std::vector<KernelIn>& kernels,
                        const std::vector<double>& factors, nb::handle x, Vector<std::int64_t> which,
                        Square<double> out, std::size_t n_threads, const std::string& level) {
  const SamplesIn xs = samples_in(x);
  const FamilyIn family = family_in(measure, weights, kernels, factors, xs.view);
  std::vector<std::size_t> positions(which.shape(0));
  for (std::size_t r = 0; r < positions.size(); ++r) {
    const std::int64_t row = which.data()[r];
    if (row < 0 || static_cast<std::size_t>(row) >= xs.view.rows) throw nb::value_error("sample out of range");
    positions[r] = static_cast<std::size_t>(row);
  }
  if (out.shape(0) != positions.size() || out.shape(1) != xs.view.rows) throw nb::value_error("out has a wrong shape");
  const Level& loops = find_level(level);
  nb::gil_scoped_release unlocked;
  Team team(n_threads, SignalPoll());
  add_family_rows(family.view, loops, xs.view, std::move(positions), team, out.data());
}

template <class T>
void combine(const std::vector<const T*>& halves, const Vector<double>& weights, HalfRows rows, double ridge,
             Square<T>& out, std::size_t n_threads, const Level& level) {
  const std::size_t n = out.shape(0);
  if (out.shape(1) != n || rows.last > n) throw nb::value_error("out must be square, with all of the rows");
  nb::gil_scoped_release unlocked;
  Team team(n_threads, SignalPoll());
  combine_halves(level, halves, weights.data(), rows, ridge, n, team, out.data());
}

void sum_of_halves(const nb::list& halves, Vector<double> weights, std::size_t first, std::size_t last, double ridge,
                   nb::handle out, std::size_t n_threads, const std::string& level) {
  if (weights.shape(0) != nb::len(halves)) throw nb::value_error("every lower half must have a weight");
  const HalfRows rows = rows_in(first, last, last);
  const Level& loops = find_level(level);
  Square<float> out_single;
  Square<double> out_full;
  std::vector<const float*> single;
  std::vector<const double*> full;
  if (nb::try_cast(out, out_single, false) && halves_in(halves, rows.size(), single)) {
    return combine(single, weights, rows, ridge, out_single, n_threads, loops);
  }
  if (nb::try_cast(out, out_full, false) && halves_in(halves, rows.size(), full)) {
    return combine(full, weights, rows, ridge, out_full, n_threads, loops);
  }
  refuse_halves();
}

// Samples of halves that are whole, or that begin with some row and have no other samples.
Picked picked_in(const Vector<std::int64_t>& samples, bool whole) {
  const std::size_t m = samples.shape(0);
  std::vector<std::size_t> positions(m);
  for (std::size_t a = 0; a < m; ++a) {
    const std::int64_t row = samples.data()[a];
    if (row < 0 || (a > 0 && row <= samples.data()[a - 1])) throw nb::value_error("samples must be ascending");
    positions[a] = static_cast<std::size_t>(row);
  }
  if (!whole && m > 0 && positions.back() + 1 != m) throw nb::value_error("there must be no other samples");
  return Picked(std::move(positions));
}

std::size_t size_of_halves(const Picked& samples, HalfRows rows, bool whole) {
  if (!whole) return rows.size();
  return Triangle::start_of(samples.size() == 0 ? 0 : samples.samples.back() + 1);
}

nb::ndarray<nb::numpy, double> energies_of_halves(const nb::list& halves, Vector<std::int64_t> support,
                                                  const nb::tuple& coefficients, std::size_t first, std::size_t last,
                                                  bool whole, std::size_t n_threads, const std::string& level) {
  const Picked picked = picked_in(support, whole);
  const MachinesIn machines = machines_in(coefficients, picked.size());
  const HalfRows rows = rows_in(first, last, picked.size());
  const std::size_t size = size_of_halves(picked, rows, whole), n_rows = last - first;
  const Level& loops = find_level(level);
  auto out = std::make_unique_for_overwrite<double[]>(nb::len(halves) * n_rows);
  const auto fill = [&](const auto& pointers) {
    {
      nb::gil_scoped_release unlocked;
      Team team(n_threads, SignalPoll());
      row_energies(loops, pointers, picked, machines.view, rows, whole, team, out.get());
    }
    return own(std::move(out), {pointers.size(), n_rows});
  };
  std::vector<const float*> single;
  std::vector<const double*> full;
  if (halves_in(halves, size, single)) return fill(single);
  if (halves_in(halves, size, full)) return fill(full);
  refuse_halves();
}

void add_products_of_halves(const nb::list& halves, Vector<std::int64_t> samples, Vector<double> c, std::size_t first,
                            std::size_t last, bool whole, Square<double> out, std::size_t n_threads,
                            const std::string& level) {
  const Picked picked = picked_in(samples, whole);
  const HalfRows rows = rows_in(first, last, picked.size());
  const std::size_t size = size_of_halves(picked, rows, whole);
  if (c.shape(0) != picked.size()) throw nb::value_error("every sample must have a coefficient");
  if (out.shape(0) != nb::len(halves) || out.shape(1) != picked.size()) throw nb::value_error("out has a wrong shape");
  const Level& loops = find_level(level);
  const auto fill = [&](const auto& pointers) {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    add_products(loops, pointers, picked, c.data(), rows, whole, team, out.data());
  };
  std::vector<const float*> single;
  std::vector<const double*> full;
  if (halves_in(halves, size, single)) return fill(single);
  if (halves_in(halves, size, full)) return fill(full);
  refuse_halves();
}

}  // namespace

void bind_stacks(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "family_halves", &halves_of_family, "measure"_a, "weights"_a.none(), "kernels"_a, "factors"_a, "X"_a, "first"_a,
      "last"_a, "out"_a, "n_threads"_a, "level"_a = "",
      "Rows first to last of the lower halves of the matrices of kernels (transform, parameters) of one measure, each\n"
      "times its factor, into arrays of float32 or float64.");
  m.def("add_family_rows", &add_rows_of_family, "measure"_a, "weights"_a.none(), "kernels"_a, "factors"_a, "X"_a,
        "which"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, "level"_a = "",
        "out += the sum of kernels of one measure, each times its factor, for rows `which` of X with all.");
  m.def("combine_halves", &sum_of_halves, "halves"_a, "weights"_a.noconvert(), "first"_a, "last"_a, "ridge"_a, "out"_a,
        "n_threads"_a, "level"_a = "",
        "Rows first to last of `out`, shape (n, n), and their mirror images: the weighted sum of lower halves that\n"
        "begin with row first, and a ridge on the diagonal.");
  m.def("energies_of_halves", &energies_of_halves, "halves"_a, "support"_a.noconvert(), "coefficients"_a, "first"_a,
        "last"_a, "whole"_a, "n_threads"_a, "level"_a = "",
        "Half of c'Kc summed over sparse rows c (data, indices, indptr) of coefficients of the support, row by row of\n"
        "K, shape (n_halves, last - first). The halves are whole, or of the support alone and begin with row first.");
  m.def("add_products_of_halves", &add_products_of_halves, "halves"_a, "samples"_a.noconvert(), "c"_a.noconvert(),
        "first"_a, "last"_a, "whole"_a, "out"_a.noconvert(), "n_threads"_a, "level"_a = "",
        "out += K c over some samples, shape (n_halves, n_samples), with the values of rows first to last. The halves\n"
        "are whole, or of these samples alone and begin with row first.");
}

}  // namespace mercer::bind

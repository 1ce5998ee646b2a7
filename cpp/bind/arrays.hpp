// Crossing the border: arrays in (checked, never converted), arrays out (one ownership helper).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../mercer/kernels.hpp"
#include "../mercer/matrix.hpp"

namespace mercer::bind {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Room for a result, not yet written to. The system hands out a large one in large pages where it can, as NumPy asks
// for its own arrays: a matrix of 800 MB has 200 000 small pages, and the first write to each of them takes its time.
template <class T>
std::unique_ptr<T[]> room_for(std::size_t n) {
  auto values = std::make_unique_for_overwrite<T[]>(n);
#ifdef __linux__
  constexpr std::size_t large = std::size_t{1} << 22, page = 4096;
  if (n * sizeof(T) >= large) {
    const auto address = reinterpret_cast<std::uintptr_t>(values.get());
    const std::uintptr_t first = (address + page - 1) / page * page, last = (address + n * sizeof(T)) / page * page;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // a wish: it may be refused
  }
#endif
  return values;
}

// Hand a buffer to NumPy, which frees it.
template <class T>
nb::ndarray<nb::numpy, T> own(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
  T* raw = values.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(raw, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> own(const std::vector<T>& values) {
  auto copy = std::make_unique_for_overwrite<T[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  return own(std::move(copy), {values.size()});
}

// Samples with whatever keeps them alive: an ndarray, or for CSR the tuple (data, indices, indptr,
// n_features).
struct SamplesIn {
  Samples view;
  nb::object owner;
};

inline SamplesIn samples_in(nb::handle source) {
  SamplesIn in;
  in.owner = nb::borrow(source);
  Matrix<double> dense;
  Matrix<float> dense_single;
  if (nb::try_cast(source, dense, false)) {
    in.view = {dense.data(), nullptr, nullptr, dense.shape(0), dense.shape(1), Precision::full, false};
    return in;
  }
  if (nb::try_cast(source, dense_single, false)) {
    in.view = {dense_single.data(),   nullptr,           nullptr, dense_single.shape(0),
               dense_single.shape(1), Precision::single, false};
    return in;
  }
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 4) {
    throw nb::type_error("samples must be a C-contiguous 2-D float32/float64 array or a CSR tuple");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  Vector<double> data;
  Vector<float> data_single;
  Vector<std::int32_t> columns;
  Vector<std::int64_t> starts;
  const bool full = nb::try_cast(parts[0], data, false);
  if (!full && !nb::try_cast(parts[0], data_single, false)) throw nb::type_error("CSR data must be float32/float64");
  if (!nb::try_cast(parts[1], columns, false)) throw nb::type_error("CSR indices must be int32");
  if (!nb::try_cast(parts[2], starts, false)) throw nb::type_error("CSR indptr must be int64");
  const std::size_t features = nb::cast<std::size_t>(parts[3]);
  if (starts.shape(0) == 0) throw nb::value_error("CSR indptr must have at least one entry");
  const std::size_t entries = full ? data.shape(0) : data_single.shape(0);
  const std::size_t rows = starts.shape(0) - 1;
  if (static_cast<std::size_t>(starts.data()[rows]) > entries || columns.shape(0) != entries) {
    throw nb::value_error("CSR data, indices and indptr do not fit together");
  }
  const void* values = full ? static_cast<const void*>(data.data()) : data_single.data();
  in.view = {values, columns.data(), starts.data(), rows, features, full ? Precision::full : Precision::single, true};
  return in;
}

// A kernel as Python describes it (mercer.kernels.base.NativeSpec).
struct SpecIn {
  KernelSpec view;
  std::optional<Vector<double>> centre, weights;
};

inline Measure measure_in(const std::string& name) {
  if (name == "dot") return Measure::dot;
  if (name == "l2") return Measure::l2;
  if (name == "l1") return Measure::l1;
  if (name == "min") return Measure::min;
  if (name == "chi2") return Measure::chi2;
  if (name == "match") return Measure::match;
  throw nb::value_error(("unknown measure '" + name + "'").c_str());
}

inline Transform transform_in(const std::string& name) {
  if (name == "identity") return Transform::identity;
  if (name == "exp") return Transform::exp;
  if (name == "exp_sqrt") return Transform::exp_sqrt;
  if (name == "power") return Transform::power;
  if (name == "tanh") return Transform::tanh;
  if (name == "matern32") return Transform::matern32;
  if (name == "matern52") return Transform::matern52;
  if (name == "rational") return Transform::rational;
  if (name == "cosine") return Transform::cosine;
  if (name == "tanimoto") return Transform::tanimoto;
  throw nb::value_error(("unknown transform '" + name + "'").c_str());
}

inline SpecIn spec_in(const std::string& measure, const std::string& transform, const std::vector<double>& parameters,
                      std::optional<Vector<double>> centre, std::optional<Vector<double>> weights,
                      const Samples& samples) {
  if (parameters.size() != 3) throw nb::value_error("a kernel has three parameters");
  SpecIn in{
      {measure_in(measure), transform_in(transform), parameters[0], parameters[1], parameters[2], nullptr, nullptr},
      std::move(centre),
      std::move(weights)};
  if (in.centre) {
    if (samples.sparse) throw nb::value_error("sparse samples are not centred");
    if (in.centre->shape(0) != samples.features) throw nb::value_error("centre must have one entry per feature");
    in.view.centre = in.centre->data();
  }
  if (in.weights) {
    if (in.weights->shape(0) != samples.features) throw nb::value_error("weights must have one entry per feature");
    in.view.weights = in.weights->data();
  }
  return in;
}

inline void check_same_kind(const Samples& x, const Samples& y) {
  if (x.precision != y.precision || x.sparse != y.sparse || x.features != y.features) {
    throw nb::value_error("X and Y must have the same dtype, storage and number of features");
  }
}

}  // namespace mercer::bind

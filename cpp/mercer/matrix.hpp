// Views of samples as they arrive: dense rows or CSR rows, float or double. Nothing here owns memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer {

enum class Precision { single, full };

// n samples with d features. Dense: `values` is row-major (n, d). CSR: `values`, `columns` and `starts` as in
// SciPy, sorted within a row and without duplicates.
struct Samples {
  const void* values = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t rows = 0;
  std::size_t features = 0;
  Precision precision = Precision::full;
  bool sparse = false;

  double value(std::size_t position) const {
    return precision == Precision::full ? static_cast<const double*>(values)[position]
                                        : static_cast<const float*>(values)[position];
  }
};

}  // namespace mercer

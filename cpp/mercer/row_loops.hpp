// Rows of float or double times vectors of doubles: the loops of a level for the type of the rows.
#pragma once

#include <cstddef>

#include "level.hpp"

namespace mercer {

// sum_k values[k] v[k]
template <class T>
double row_product(const Level& level, const T* values, const double* v, std::size_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return level.linear.product_single(values, v, n);
  } else {
    return level.linear.product_full(values, v, n);
  }
}

// products[r] = sum_k rows[r][k] v[k], r < row_group
template <class T>
void row_products(const Level& level, const T* const* rows, const double* v, std::size_t n, double* products) {
  if constexpr (sizeof(T) == sizeof(float)) {
    level.linear.products_single(rows, v, n, products);
  } else {
    level.linear.products_full(rows, v, n, products);
  }
}

// sum += sum_r scales[r] rows[r], r < row_group
template <class T>
void add_rows(const Level& level, const double* scales, const T* const* rows, std::size_t n, double* sum) {
  if constexpr (sizeof(T) == sizeof(float)) {
    level.linear.add_single(scales, rows, n, sum);
  } else {
    level.linear.add_full(scales, rows, n, sum);
  }
}

}  // namespace mercer

// Inner loops of the linear machines: samples as rows of a matrix that is multiplied with vectors. Included inside the
// namespace of a SIMD level, after loops.hpp.

// Half a vector of floats becomes a vector of doubles.
template <class T>
inline Vec<double> load_double(const T* from) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return load(from);
  } else {
    typedef float Half __attribute__((vector_size(vector_bytes / 2)));
    Half half;
    __builtin_memcpy(&half, from, vector_bytes / 2);
    return __builtin_convertvector(half, Vec<double>);
  }
}

template <class T>
double row_product(const T* x, const double* w, std::size_t n) {
  constexpr std::size_t parts = 4, step = lanes<double>;
  Vec<double> sums[parts] = {};
  std::size_t k = 0;
  for (; k + parts * step <= n; k += parts * step) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < parts; ++p) sums[p] += load_double(x + k + p * step) * load(w + k + p * step);
  }
  for (; k + step <= n; k += step) sums[0] += load_double(x + k) * load(w + k);
  const Vec<double> total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0.0;
  for (std::size_t lane = 0; lane < step; ++lane) sum += total[lane];
  for (; k < n; ++k) sum += double(x[k]) * w[k];
  return sum;
}

template <class T>
void row_products(const T* const* rows, const double* w, std::size_t n, double* products) {
  Vec<double> sums[row_group] = {};
  std::size_t k = 0;
  for (; k + lanes<double> <= n; k += lanes<double>) {
    const Vec<double> factor = load(w + k);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < row_group; ++r) sums[r] += load_double(rows[r] + k) * factor;
  }
  for (std::size_t r = 0; r < row_group; ++r) {
    products[r] = 0.0;
    for (std::size_t lane = 0; lane < lanes<double>; ++lane) products[r] += sums[r][lane];
    for (std::size_t rest = k; rest < n; ++rest) products[r] += double(rows[r][rest]) * w[rest];
  }
}

template <class T>
void add_rows(const double* scale, const T* const* rows, std::size_t n, double* sum) {
  std::size_t k = 0;
  for (; k + lanes<double> <= n; k += lanes<double>) {
    Vec<double> total = load(sum + k);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < row_group; ++r) total += scale[r] * load_double(rows[r] + k);
    store(sum + k, total);
  }
  for (; k < n; ++k) {
    for (std::size_t r = 0; r < row_group; ++r) sum[k] += scale[r] * double(rows[r][k]);
  }
}

// A strip of `moment_rows` features against two vectors of features, over all rows of the group: sums in registers.
inline void add_moments(const double* left, const double* right, std::size_t n_rows, std::size_t stride,
                        double* moments) {
  constexpr std::size_t step = lanes<double>;
  for (std::size_t i = 0; i < stride; i += moment_rows) {
    // Entries on and below the diagonal: features j <= i + moment_rows - 1.
    for (std::size_t j = 0; j < i + moment_rows; j += 2 * step) {
      Vec<double> sums[moment_rows][2] = {};
      for (std::size_t r = 0; r < n_rows; ++r) {
        const Vec<double> first = load(right + r * stride + j), second = load(right + r * stride + j + step);
#pragma GCC unroll 8
        for (std::size_t k = 0; k < moment_rows; ++k) {
          const double x = left[r * stride + i + k];
          sums[k][0] += x * first;
          sums[k][1] += x * second;
        }
      }
      for (std::size_t k = 0; k < moment_rows; ++k) {
        double* at = moments + (i + k) * stride + j;
        store(at, load(at) + sums[k][0]);
        store(at + step, load(at + step) + sums[k][1]);
      }
    }
  }
}

inline constexpr LinearLoops linear_loops{row_product<float>,   row_product<double>, row_products<float>,
                                          row_products<double>, add_rows<float>,     add_rows<double>,
                                          add_moments};

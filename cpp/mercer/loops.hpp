// The inner loops. Included inside the namespace of a SIMD level (see level_*.cpp), after simd.hpp; no
// standard containers here, so that no library code compiled for one level can be linked into another.

// One more feature of the measure for a vector of columns.
template <class T, Measure M>
inline Vec<T> add_feature(Vec<T> sum, Vec<T> x, Vec<T> y) {
  if constexpr (M == Measure::dot) {
    return sum + x * y;
  } else if constexpr (M == Measure::l2) {
    const Vec<T> difference = x - y;
    return sum + difference * difference;
  } else if constexpr (M == Measure::l1) {
    const Vec<T> difference = x - y;
    return sum + (difference > T(0) ? difference : -difference);
  } else if constexpr (M == Measure::min) {
    return sum + (x < y ? x : y);
  } else if constexpr (M == Measure::chi2) {
    const Vec<T> difference = x - y, total = x + y;
    return sum + (total > T(0) ? difference * difference / total : Vec<T>{});
  } else {
    return sum + (x == y ? broadcast<T>(1) : Vec<T>{});
  }
}

// A register tile: four rows against `tile_vectors` vectors of columns, so that each load serves four rows.
template <class T, Measure M>
inline void measure_tile(const T* const* rows, const T* panel, std::size_t features, T* tile) {
  constexpr std::size_t width = panel_width<T>;
  constexpr std::size_t step = tile_vectors * lanes<T>;
  for (std::size_t first = 0; first < width; first += step) {
    Vec<T> sum[tile_rows][tile_vectors] = {};
    for (std::size_t f = 0; f < features; ++f) {
      Vec<T> y[tile_vectors];
#pragma GCC unroll 8
      for (std::size_t v = 0; v < tile_vectors; ++v) y[v] = load(panel + f * width + first + v * lanes<T>);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < tile_rows; ++r) {
        const Vec<T> x = broadcast(rows[r][f]);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < tile_vectors; ++v) sum[r][v] = add_feature<T, M>(sum[r][v], x, y[v]);
      }
    }
    for (std::size_t r = 0; r < tile_rows; ++r) {
      for (std::size_t v = 0; v < tile_vectors; ++v) store(tile + r * width + first + v * lanes<T>, sum[r][v]);
    }
  }
}

template <class T>
inline Vec<T> sqrt_vec(Vec<T> x) {
  T values[lanes<T>];
  store(values, x);
  for (std::size_t k = 0; k < lanes<T>; ++k) values[k] = values[k] > T(0) ? T(__builtin_sqrt(values[k])) : T(0);
  return load(values);
}

// sqrt(x y[k]): of two equal numbers exactly that number, as long as the product is a normal number.
template <class T>
inline Vec<T> root_of_product(T x, const T* y) {
  constexpr T smallest = sizeof(T) == sizeof(float) ? T(__FLT_MIN__) : T(__DBL_MIN__);
  constexpr T largest = sizeof(T) == sizeof(float) ? T(__FLT_MAX__) : T(__DBL_MAX__);
  T values[lanes<T>];
  for (std::size_t k = 0; k < lanes<T>; ++k) {
    const T product = x * y[k];
    const bool normal = product >= smallest && product <= largest;
    values[k] = T(normal ? __builtin_sqrt(product) : __builtin_sqrt(x) * __builtin_sqrt(y[k]));
  }
  return load(values);
}

// Not inlined: its last product must not be contracted with what is done to the value.
template <class T>
__attribute__((noinline)) Vec<T> integer_power(Vec<T> base, unsigned long exponent) {
  Vec<T> result = broadcast<T>(1);
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

// use(g) with g the transform as a function of a vector; false where it needs more than the measure.
template <class T, class Use>
inline bool with_transform(const KernelSpec& spec, Use use) {
  const T p0 = T(spec.p0), p1 = T(spec.p1);
  switch (spec.transform) {
    case Transform::identity:
      use([&](Vec<T> t) { return p0 * t; });
      return true;
    case Transform::exp:
      use(Exponential<T>(-spec.p0));
      return true;
    case Transform::exp_sqrt: {
      const Exponential<T> decay(-spec.p0);
      use([&](Vec<T> t) { return decay(sqrt_vec<T>(t)); });
      return true;
    }
    case Transform::power: {
      const auto degree = static_cast<unsigned long>(spec.p2);
      if (degree == 2) {
        use([&](Vec<T> t) { return (p0 * t + p1) * (p0 * t + p1); });
      } else if (degree == 3) {
        use([&](Vec<T> t) {
          const Vec<T> base = p0 * t + p1;
          return base * (base * base);
        });
      } else {
        use([&](Vec<T> t) { return integer_power<T>(p0 * t + p1, degree); });
      }
      return true;
    }
    case Transform::tanh: {
      const Exponential<T> decay(-2.0);
      use([&](Vec<T> t) {
        const Vec<T> u = p0 * t + p1;
        const Vec<T> e = decay(u > T(0) ? u : -u);
        const Vec<T> magnitude = (T(1) - e) / (T(1) + e);
        return u > T(0) ? magnitude : -magnitude;
      });
      return true;
    }
    case Transform::matern32: {
      const Exponential<T> decay(-1.0);
      use([&](Vec<T> t) {
        const Vec<T> u = p0 * sqrt_vec<T>(t);
        return (T(1) + u) * decay(u);
      });
      return true;
    }
    case Transform::matern52: {
      const Exponential<T> decay(-1.0);
      use([&](Vec<T> t) {
        const Vec<T> u = p0 * sqrt_vec<T>(t);
        return (T(1) + u + u * u / T(3)) * decay(u);
      });
      return true;
    }
    case Transform::rational:
      use([&](Vec<T> t) {
        for (std::size_t k = 0; k < lanes<T>; ++k) t[k] = T(__builtin_pow(1.0 + spec.p0 * double(t[k]), -spec.p1));
        return t;
      });
      return true;
    case Transform::cosine:
    case Transform::tanimoto:
      break;
  }
  return false;
}

template <class T>
void transform_row(const KernelSpec& spec, T row_norm, const T* norms, T* values) {
  constexpr std::size_t width = panel_width<T>;
  const bool done = with_transform<T>(spec, [&](const auto& g) {
    for (std::size_t c = 0; c < width; c += lanes<T>) store(values + c, g(load(values + c)));
  });
  if (done) return;
  for (std::size_t c = 0; c < width; c += lanes<T>) {
    const Vec<T> t = load(values + c);
    if (spec.transform == Transform::cosine) {
      const Vec<T> scale = root_of_product<T>(row_norm, norms + c);
      store(values + c, scale > T(0) ? t / scale : Vec<T>{});
    } else {
      const Vec<T> total = (row_norm + load(norms + c)) - t;
      store(values + c, total > T(0) ? t / total : broadcast<T>(1));
    }
  }
}

// Two vectors of measures, through g.
template <class Function>
inline Vec<float> narrowed(const double* measures, Function g) {
  return narrow(g(load(measures)), g(load(measures + lanes<double>)));
}

// An exponential is computed in float32, with an exponent from double: its rounding by 2^-24 moves the value by no more
// than 2^-24 / e.
inline void scaled_singles(const KernelSpec& spec, double factor, const double* measures, float* out) {
  constexpr std::size_t size = tile_rows * panel_width<double>;
  if (spec.transform == Transform::exp) {
    const Exponential<float> decay(-1.0);
    const float scale = float(factor);
    const double rate = spec.p0;
    for (std::size_t c = 0; c < size; c += lanes<float>) {
      store(out + c, scale * decay(narrowed(measures + c, [&](Vec<double> t) { return rate * t; })));
    }
    return;
  }
  with_transform<double>(spec, [&](const auto& g) {
    for (std::size_t c = 0; c < size; c += lanes<float>) {
      store(out + c, narrowed(measures + c, [&](Vec<double> t) { return factor * g(t); }));
    }
  });
}

inline void scaled_doubles(const KernelSpec& spec, double factor, const double* measures, double* out) {
  with_transform<double>(spec, [&](const auto& g) {
    constexpr std::size_t size = tile_rows * panel_width<double>;
    for (std::size_t c = 0; c < size; c += lanes<double>) store(out + c, factor * g(load(measures + c)));
  });
}

inline constexpr FamilyLoops family_loops{scaled_singles, scaled_doubles};

template <class T>
inline void measure_of_tile(const KernelSpec& spec, const T* const* rows, const T* panel, std::size_t features,
                            T* tile) {
  switch (spec.measure) {
    case Measure::dot:
      measure_tile<T, Measure::dot>(rows, panel, features, tile);
      break;
    case Measure::l2:
      measure_tile<T, Measure::l2>(rows, panel, features, tile);
      break;
    case Measure::l1:
      measure_tile<T, Measure::l1>(rows, panel, features, tile);
      break;
    case Measure::min:
      measure_tile<T, Measure::min>(rows, panel, features, tile);
      break;
    case Measure::chi2:
      measure_tile<T, Measure::chi2>(rows, panel, features, tile);
      break;
    case Measure::match:
      measure_tile<T, Measure::match>(rows, panel, features, tile);
      break;
  }
}

template <class T>
void dense_tile(const KernelSpec& spec, const T* const* rows, const T* row_norms, const T* panel, const T* norms,
                std::size_t features, T* tile) {
  measure_of_tile<T>(spec, rows, panel, features, tile);
  for (std::size_t r = 0; r < tile_rows; ++r) {
    transform_row<T>(spec, row_norms ? row_norms[r] : T(0), norms, tile + r * panel_width<T>);
  }
}

// sum[0 .. lanes) += the weighted values of four rows. Floats are added up among themselves first, and the four go into
// the sum in double; every way to add kernel rows up does it like this, so that a row from memory and a fresh one give
// the same sum.
inline void add_four(const Vec<float>* weights, Vec<float> a, Vec<float> b, Vec<float> c, Vec<float> d, double* sum) {
  const Vec<float> four = ((weights[0] * a + weights[1] * b) + weights[2] * c) + weights[3] * d;
  store(sum, load(sum) + widen_low(four));
  store(sum + lanes<double>, load(sum + lanes<double>) + widen_high(four));
}
inline void add_four(const Vec<double>* weights, Vec<double> a, Vec<double> b, Vec<double> c, Vec<double> d,
                     double* sum) {
  store(sum, (((load(sum) + weights[0] * a) + weights[1] * b) + weights[2] * c) + weights[3] * d);
}

template <class T, class Function>
inline void add_group(const double* coefficients, const T* const* rows, std::size_t n, double* sum, Function g) {
  static_assert(tile_rows == 4);
  Vec<T> weights[tile_rows];
  for (std::size_t r = 0; r < tile_rows; ++r) weights[r] = broadcast(T(coefficients[r]));
  std::size_t k = 0;
  for (; k + lanes<T> <= n; k += lanes<T>) {
    add_four(weights, g(load(rows[0] + k)), g(load(rows[1] + k)), g(load(rows[2] + k)), g(load(rows[3] + k)), sum + k);
  }
  if (k == n) return;
  T values[tile_rows][lanes<T>] = {};
  double rest[lanes<T>] = {};
  for (std::size_t r = 0; r < tile_rows; ++r) {
    for (std::size_t t = 0; t < n - k; ++t) values[r][t] = rows[r][k + t];
  }
  for (std::size_t t = 0; t < n - k; ++t) rest[t] = sum[k + t];
  add_four(weights, g(load(values[0])), g(load(values[1])), g(load(values[2])), g(load(values[3])), rest);
  for (std::size_t t = 0; t < n - k; ++t) sum[k + t] = rest[t];
}

template <class T>
void accumulate(const double* coefficients, const T* const* rows, std::size_t n, double* sum) {
  add_group<T>(coefficients, rows, n, sum, [](Vec<T> t) { return t; });
}

// sum + x y as the vectors compute it. Spelt out: a vectorised loop would round the products.
inline double add_product(double sum, double x, double y) {
#ifdef __FMA__
  return __builtin_fma(x, y, sum);
#else
  return sum + x * y;
#endif
}

inline float add_product(float sum, float x, float y) {
#ifdef __FMA__
  return __builtin_fmaf(x, y, sum);
#else
  return sum + x * y;
#endif
}

template <class T>
T square(const T* values, std::size_t n) {
  T sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum = add_product(sum, values[j], values[j]);
  return sum;
}

template <class T>
void add_row(double coefficient, const T* row, std::size_t n, double* sum) {
  for (std::size_t c = 0; c < n; ++c) sum[c] += coefficient * double(row[c]);
}

template <class T>
double dot(const T* values, const double* weights, std::size_t stride, std::size_t n) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) sum = add_product(sum, weights[j * stride], double(values[j]));
  return sum;
}

template <class T>
void add_dense_tile(const KernelSpec& spec, const double* coefficients, const T* const* rows, const T* row_norms,
                    const T* panel, const T* norms, std::size_t features, std::size_t n, double* sum) {
  constexpr std::size_t width = panel_width<T>;
  T tile[tile_rows * width];
  const T* of[tile_rows];
  for (std::size_t r = 0; r < tile_rows; ++r) of[r] = tile + r * width;
  measure_of_tile<T>(spec, rows, panel, features, tile);
  if (with_transform<T>(spec, [&](const auto& g) { add_group<T>(coefficients, of, n, sum, g); })) return;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    transform_row<T>(spec, row_norms ? row_norms[r] : T(0), norms, tile + r * width);
  }
  accumulate<T>(coefficients, of, n, sum);
}

// sums[j] += weights * values, in double, for the vectors of doubles that the values take: the first goes to sums[j].
template <std::size_t slots>
inline void add_along(Vec<double>* sums, std::size_t j, const double* weights, Vec<double> values) {
  sums[j % slots] += load(weights) * values;
}
template <std::size_t slots>
inline void add_along(Vec<double>* sums, std::size_t j, const double* weights, Vec<float> values) {
  sums[j % slots] += load(weights) * widen_low(values);
  sums[(j + 1) % slots] += load(weights + lanes<double>) * widen_high(values);
}

// A panel of the measures of four rows, through g and used up both ways.
template <class T, class Function>
inline void add_both_ways(const double* coefficients, const T* const* rows, const double* weights, double* sum,
                          double* row_sums, Function g) {
  constexpr std::size_t slots = row_sum_width / lanes<double>;
  Vec<T> weight[tile_rows];
  Vec<double> along[tile_rows][slots];
  for (std::size_t r = 0; r < tile_rows; ++r) {
    weight[r] = broadcast(T(coefficients[r]));
    for (std::size_t v = 0; v < slots; ++v) along[r][v] = load(row_sums + r * row_sum_width + v * lanes<double>);
  }
  for (std::size_t k = 0; k < panel_width<T>; k += lanes<T>) {
    Vec<T> values[tile_rows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < tile_rows; ++r) {
      values[r] = g(load(rows[r] + k));
      add_along<slots>(along[r], k / lanes<double>, weights + k, values[r]);
    }
    add_four(weight, values[0], values[1], values[2], values[3], sum + k);
  }
  for (std::size_t r = 0; r < tile_rows; ++r) {
    for (std::size_t v = 0; v < slots; ++v) store(row_sums + r * row_sum_width + v * lanes<double>, along[r][v]);
  }
}

template <class T>
void add_dense_tile_both_ways(const KernelSpec& spec, const double* coefficients, const T* const* rows,
                              const T* row_norms, const T* panel, const T* norms, std::size_t features,
                              const double* weights, double* sum, double* row_sums) {
  constexpr std::size_t width = panel_width<T>;
  T tile[tile_rows * width];
  const T* of[tile_rows];
  for (std::size_t r = 0; r < tile_rows; ++r) of[r] = tile + r * width;
  measure_of_tile<T>(spec, rows, panel, features, tile);
  const auto add = [&](const auto& g) { add_both_ways<T>(coefficients, of, weights, sum, row_sums, g); };
  if (with_transform<T>(spec, add)) return;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    transform_row<T>(spec, row_norms ? row_norms[r] : T(0), norms, tile + r * width);
  }
  add([](Vec<T> value) { return value; });
}

// Turn a square of vectors: log2(lanes) rounds of interleaving its halves.
template <class T>
inline void transpose(Vec<T>* square) {
  using Int = typename PowerOfTwo<T>::Int;
  constexpr std::size_t n = lanes<T>;
  Vec<Int> low, high;
  for (std::size_t k = 0; k < n; ++k) {
    low[k] = Int(k / 2 + k % 2 * n);
    high[k] = Int(n / 2 + k / 2 + k % 2 * n);
  }
  for (std::size_t round = 1; round < n; round *= 2) {
    Vec<T> turned[n];
    for (std::size_t i = 0; i < n / 2; ++i) {
      turned[2 * i] = __builtin_shuffle(square[i], square[i + n / 2], low);
      turned[2 * i + 1] = __builtin_shuffle(square[i], square[i + n / 2], high);
    }
    for (std::size_t i = 0; i < n; ++i) square[i] = turned[i];
  }
}

inline void narrow(const Vec<double>* from, float* to) {
  typedef float Half __attribute__((vector_size(vector_bytes / 2)));
  for (std::size_t v = 0; v < spread_rows / lanes<double>; ++v) {
    const Half half = __builtin_convertvector(from[v], Half);
    __builtin_memcpy(to + v * lanes<double>, &half, vector_bytes / 2);
  }
}
inline void narrow(const Vec<double>* from, double* to) {
  for (std::size_t v = 0; v < spread_rows / lanes<double>; ++v) store(to + v * lanes<double>, from[v]);
}

template <class T>
void sparse_tile(const SparseColumns& columns, const double* spread, const double* row_norms, std::size_t n, T* tile) {
  constexpr std::size_t vectors = spread_rows / lanes<double>, width = panel_width<T>;
  T by_column[width * spread_rows];
  for (std::size_t j = 0; j < n; ++j) {
    Vec<double> sum[vectors] = {};
    for (std::int64_t e = columns.starts[j]; e < columns.starts[j + 1]; ++e) {
      const double* at = spread + static_cast<std::size_t>(columns.features[e]) * spread_rows;
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) sum[v] += columns.values[e] * load(at + v * lanes<double>);
    }
    if (columns.norms != nullptr) {
      for (std::size_t v = 0; v < vectors; ++v) {
        const Vec<double> squared = load(row_norms + v * lanes<double>) + columns.norms[j] - 2.0 * sum[v];
        sum[v] = squared > 0.0 ? squared : Vec<double>{};
      }
    }
    narrow(sum, by_column + j * spread_rows);
  }
  for (std::size_t j = n; j < width; ++j) {
    for (std::size_t r = 0; r < spread_rows; ++r) by_column[j * spread_rows + r] = T(0);
  }
  for (std::size_t j = 0; j < width; j += lanes<T>) {
    for (std::size_t r = 0; r < spread_rows; r += lanes<T>) {
      Vec<T> square[lanes<T>];
      for (std::size_t k = 0; k < lanes<T>; ++k) square[k] = load(by_column + (j + k) * spread_rows + r);
      transpose<T>(square);
      for (std::size_t k = 0; k < lanes<T>; ++k) store(tile + (r + k) * width + j, square[k]);
    }
  }
}

inline double inner(const double* x, const double* y, std::size_t n) {
  constexpr std::size_t parts = 4, step = lanes<double>;
  Vec<double> sums[parts] = {};
  std::size_t k = 0;
  for (; k + parts * step <= n; k += parts * step) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < parts; ++p) sums[p] += load(x + k + p * step) * load(y + k + p * step);
  }
  const Vec<double> total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0.0;
  for (std::size_t lane = 0; lane < step; ++lane) sum += total[lane];
  for (; k < n; ++k) sum += x[k] * y[k];
  return sum;
}

inline void subtract(double scale, const double* x, std::size_t n, double* y) {
  for (std::size_t k = 0; k < n; ++k) y[k] -= scale * x[k];
}

inline void forward_solve(const double* const* rows, std::size_t n, double* x) {
  constexpr std::size_t parts = 4;  // sums side by side, so that one does not wait for the other
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t v = 0; v < solve_group; v += lanes<double>) {
      Vec<double> sums[parts] = {};
      std::size_t j = 0;
      for (; j + parts <= i; j += parts) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < parts; ++p) sums[p] += rows[i][j + p] * load(x + (j + p) * solve_group + v);
      }
      for (; j < i; ++j) sums[0] += rows[i][j] * load(x + j * solve_group + v);
      double* at = x + i * solve_group + v;
      store(at, (load(at) - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / rows[i][i]);
    }
  }
}

// `vectors` vectors of columns at a time, their sums in registers.
template <std::size_t vectors>
inline void combine_columns(const double* coefficients, const std::int32_t* rows, std::size_t entries,
                            const double* block, std::size_t stride, double* sum) {
  Vec<double> total[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) total[v] = load(sum + v * lanes<double>);
  for (std::size_t e = 0; e < entries; ++e) {
    const Vec<double> weight = broadcast(coefficients[e]);
    const double* row = block + static_cast<std::size_t>(rows[e]) * stride;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) total[v] = total[v] + weight * load(row + v * lanes<double>);
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) store(sum + v * lanes<double>, total[v]);
}

inline void combine(const double* coefficients, const std::int32_t* rows, std::size_t entries, const double* block,
                    std::size_t stride, std::size_t n, double* sum) {
  std::size_t c = 0;
  for (; c + 4 * lanes<double> <= n; c += 4 * lanes<double>) {
    combine_columns<4>(coefficients, rows, entries, block + c, stride, sum + c);
  }
  for (; c + lanes<double> <= n; c += lanes<double>) {
    combine_columns<1>(coefficients, rows, entries, block + c, stride, sum + c);
  }
  for (; c < n; ++c) {
    for (std::size_t e = 0; e < entries; ++e) {
      sum[c] = add_product(sum[c], coefficients[e], block[static_cast<std::size_t>(rows[e]) * stride + c]);
    }
  }
}

inline void sparse_dots(const double* coefficients, const std::int32_t* places, std::size_t entries,
                        const double* const* values, std::size_t stride, double* sums) {
  double total[dots_together] = {};
  for (std::size_t e = 0; e < entries; ++e) {
    const std::size_t place = static_cast<std::size_t>(places[e]) * stride;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < dots_together; ++r) {
      total[r] = add_product(total[r], coefficients[e], values[r][place]);
    }
  }
  for (std::size_t r = 0; r < dots_together; ++r) sums[r] = total[r];
}

inline double sparse_dot(const double* coefficients, const std::int32_t* places, std::size_t entries,
                         const double* values, std::size_t stride) {
  double sum = 0.0;
  for (std::size_t e = 0; e < entries; ++e) {
    sum = add_product(sum, coefficients[e], values[static_cast<std::size_t>(places[e]) * stride]);
  }
  return sum;
}

inline void multiply_both_ways(const double* const* rows, std::size_t n, const double* v, const double* w, double* y,
                               double* z) {
  // The rows come from memory: columns of one cache line, and of a later one.
  constexpr std::size_t line = 8, ahead = 64;
  constexpr std::size_t bytes =
      vector_bytes < block_width * sizeof(double) ? vector_bytes : block_width * sizeof(double);
  typedef double Part __attribute__((vector_size(bytes)));
  for (std::size_t k = 0; k < block_width; k += bytes / sizeof(double)) {
    Part sums[block_rows], weights[block_rows];
    for (std::size_t r = 0; r < block_rows; ++r) {
      __builtin_memcpy(sums + r, y + r * block_width + k, bytes);
      __builtin_memcpy(weights + r, w + r * block_width + k, bytes);
    }
    for (std::size_t first = 0; first < n; first += line) {
      for (std::size_t r = 0; r < block_rows; ++r) __builtin_prefetch(rows[r] + first + ahead);
      for (std::size_t c = first; c < (first + line < n ? first + line : n); ++c) {
        Part across, down;
        __builtin_memcpy(&across, v + c * block_width + k, bytes);
        __builtin_memcpy(&down, z + c * block_width + k, bytes);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < block_rows; ++r) {
          sums[r] += rows[r][c] * across;
          down += rows[r][c] * weights[r];
        }
        __builtin_memcpy(z + c * block_width + k, &down, bytes);
      }
    }
    for (std::size_t r = 0; r < block_rows; ++r) __builtin_memcpy(y + r * block_width + k, sums + r, bytes);
  }
}

inline constexpr Algebra algebra{inner, subtract, forward_solve, combine, sparse_dots, sparse_dot, multiply_both_ways};

// Best value and its position, lane by lane; equal values keep the first position, so that every level
// agrees.
template <class S>
struct LaneBest {
  using Int = typename PowerOfTwo<S>::Int;
  Vec<S> value;
  Vec<Int> position;

  explicit LaneBest(S start) : value(broadcast(start)), position(broadcast<Int>(-1)) {}

  void offer(Vec<S> candidate, Vec<Int> at) {
    const auto better = candidate > value;
    value = better ? candidate : value;
    position = better ? at : position;
  }

  Candidate reduce(double start) const {
    Candidate best{start, std::size_t(-1)};
    for (std::size_t k = 0; k < lanes<S>; ++k) {
      const std::size_t at = static_cast<std::size_t>(position[k]);
      if (position[k] >= 0 && (value[k] > best.value || (value[k] == best.value && at < best.position))) {
        best = {double(value[k]), at};
      }
    }
    return best;
  }
};

template <class Int>
inline Vec<Int> first_positions() {
  Vec<Int> at;
  for (std::size_t k = 0; k < lanes<Int>; ++k) at[k] = Int(k);
  return at;
}

// `lanes<S>` values of a row, as S.
template <class S, class T>
inline Vec<S> convert(const T* from) {
  Vec<S> v;
  for (std::size_t k = 0; k < lanes<S>; ++k) v[k] = S(from[k]);
  return v;
}
template <>
inline Vec<float> convert<float, float>(const float* from) {
  return load(from);
}

inline constexpr double infinity = __builtin_huge_val();

template <class T, class S>
void update_and_extremes(double exact_step, const T* first, const T* second, const S* up, const S* low, std::size_t n,
                         S* f, Candidate* largest, Candidate* smallest) {
  using Int = typename PowerOfTwo<S>::Int;
  const S step = S(exact_step);
  if (step != S(0)) {
    for (std::size_t c = 0; c < n; ++c) f[c] += step * (S(first[c]) - S(second[c]));
  }
  LaneBest<S> most(S(-infinity)), least(S(-infinity));
  Vec<Int> at = first_positions<Int>();
  std::size_t c = 0;
  for (; c + lanes<S> <= n; c += lanes<S>, at += Int(lanes<S>)) {
    const Vec<S> value = load(f + c);
    most.offer(load(up + c) - value, at);
    least.offer(value - load(low + c), at);
  }
  *largest = most.reduce(-infinity);
  Candidate lowest = least.reduce(-infinity);
  for (; c < n; ++c) {
    if (up[c] - f[c] > largest->value) *largest = {double(up[c] - f[c]), c};
    if (f[c] - low[c] > lowest.value) lowest = {double(f[c] - low[c]), c};
  }
  *smallest = {-lowest.value, lowest.position};
}

// The curvature of a pair, kept away from zero as LIBSVM does: a flat direction is followed to its bound.
inline constexpr double smallest_curvature = 1e-12;

template <class T, class S>
Candidate best_partner(double exact_v, double exact_curvature, const T* row, const S* curvature, const S* low,
                       const S* f, std::size_t n) {
  using Int = typename PowerOfTwo<S>::Int;
  const S v = S(exact_v), curvature_i = S(exact_curvature), smallest = S(smallest_curvature);
  LaneBest<S> best(S(0));
  Vec<Int> at = first_positions<Int>();
  std::size_t c = 0;
  for (; c + lanes<S> <= n; c += lanes<S>, at += Int(lanes<S>)) {
    Vec<S> difference = v - (load(low + c) - load(f + c));
    difference = difference > S(0) ? difference : Vec<S>{};
    Vec<S> eta = curvature_i + load(curvature + c) - S(2) * convert<S>(row + c);
    eta = eta > smallest ? eta : broadcast(smallest);
    best.offer(difference * difference / eta, at);
  }
  Candidate winner = best.reduce(0.0);
  for (; c < n; ++c) {
    const S difference = v - (low[c] - f[c]);
    if (!(difference > S(0))) continue;
    const S eta = curvature_i + curvature[c] - S(2) * S(row[c]);
    const S gain = difference * difference / (eta > smallest ? eta : smallest);
    if (gain > winner.value) winner = {double(gain), c};
  }
  return winner;
}

inline constexpr QuickSearch quick{update_and_extremes<float, float>, best_partner<float, float>};

template <class T>
inline constexpr Loops<T> loops_of{dense_tile<T>,
                                   add_dense_tile<T>,
                                   add_dense_tile_both_ways<T>,
                                   transform_row<T>,
                                   accumulate<T>,
                                   add_row<T>,
                                   dot<T>,
                                   square<T>,
                                   sparse_tile<T>,
                                   update_and_extremes<T, double>,
                                   best_partner<T, double>};

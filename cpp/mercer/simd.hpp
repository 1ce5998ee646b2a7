// Vector types and the exponential, written once. Included inside the namespace of a SIMD level (see
// level_*.cpp), which has defined `vector_bytes`. GCC and Clang vector extensions: plain arithmetic, no
// intrinsics.

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
inline constexpr std::size_t lanes = vector_bytes / sizeof(T);

template <class T>
inline Vec<T> load(const T* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, vector_bytes);
  return v;
}

template <class T>
inline void store(T* to, Vec<T> v) {
  __builtin_memcpy(to, &v, vector_bytes);
}

template <class T>
inline Vec<T> broadcast(T x) {
  return Vec<T>{} + x;
}

// The value in double, half a vector of floats at a time.
inline Vec<double> widen_low(Vec<float> v) {
  typedef float Half __attribute__((vector_size(vector_bytes / 2)));
  Half half;
  __builtin_memcpy(&half, &v, vector_bytes / 2);
  return __builtin_convertvector(half, Vec<double>);
}
inline Vec<double> widen_high(Vec<float> v) {
  typedef float Half __attribute__((vector_size(vector_bytes / 2)));
  Half half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(&v) + vector_bytes / 2, vector_bytes / 2);
  return __builtin_convertvector(half, Vec<double>);
}

template <class Half, std::size_t... places>
inline Vec<float> joined(Half low, Half high, std::index_sequence<places...>) {
  return __builtin_shufflevector(low, high, places...);
}

// Two vectors of doubles as one of floats.
inline Vec<float> narrow(Vec<double> low, Vec<double> high) {
  typedef float Half __attribute__((vector_size(vector_bytes / 2)));
  return joined(__builtin_convertvector(low, Half), __builtin_convertvector(high, Half),
                std::make_index_sequence<lanes<float>>());
}

// 2^r on |r| <= 1/2 as 1 + r p(r), p interpolating at Chebyshev nodes (relative error 5e-9 in float, 1e-17 in double).
// `round` is 1.5 * 2^(mantissa bits): adding it rounds to an integer, whose bits can then be shifted into the exponent.
template <class T>
struct PowerOfTwo;

template <>
struct PowerOfTwo<float> {
  using Int = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr float lowest = -126.0f, round = 12582912.0f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int mantissa = 23;
  static constexpr float polynomial[] = {1.54531629451e-4f, 1.33908633647e-3f, 9.61808255728e-3f,
                                         5.55035711422e-2f, 2.40226507606e-1f, 6.93147188026e-1f};
};

template <>
struct PowerOfTwo<double> {
  using Int = std::int64_t;
  using Bits = std::uint64_t;
  static constexpr double lowest = -1022.0, round = 6755399441055744.0;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52;
  static constexpr double polynomial[] = {4.4549605981865183938e-10, 7.0725859492692236999e-9, 1.0178062445845773521e-7,
                                          1.3215442587921689653e-6,  1.5252733829836118394e-5, 1.5403530441736050155e-4,
                                          1.333355814641693531e-3,   9.6181291076068885273e-3, 5.5504108664821594339e-2,
                                          2.402265069591009822e-1,   6.9314718055994530942e-1};
};

#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool fused = true;  // a * b + c is rounded once
#else
inline constexpr bool fused = false;
#endif

// exp(rate * t) where rate * t <= 0, to about one unit in the last place; 0 below the smallest normal number, exactly 1
// at 0. The rate is split in two, so that its rounding does not show in large exponents.
template <class T>
struct Exponential {
  T rate, high, low;

  explicit Exponential(double exact_rate) : rate(T(exact_rate)) {
    constexpr double log2_e = 1.44269504088896338700, rest = 2.03552737409310331e-17;
    high = T(exact_rate * log2_e);
    low = T(__builtin_fma(exact_rate, log2_e, -double(high)) + exact_rate * rest);
  }

  Vec<T> operator()(Vec<T> t) const {
    using Two = PowerOfTwo<T>;
    using Bits = typename Two::Bits;  // unsigned: where the value vanishes, the sum may overflow
    const Vec<T> shifted = t * high + Two::round;
    const Vec<T> n = shifted - Two::round;
    const auto vanishes = n < Two::lowest;
    Vec<T> r;
    if constexpr (fused) {
      r = (t * high - n) + t * low;
    } else {  // x = n ln 2 + r ln 2, n times the high part being exact
      const Vec<T> x = t * rate;
      r = ((x - n * Two::ln2_high) - n * Two::ln2_low) * T(1.44269504088896338700);
    }
    Vec<T> p = broadcast<T>(Two::polynomial[0]);
#pragma GCC unroll 16
    for (std::size_t k = 1; k < sizeof(Two::polynomial) / sizeof(T); ++k) p = p * r + Two::polynomial[k];
    p = p * r + T(1);
    Vec<Bits> bits, exponent;
    __builtin_memcpy(&bits, &p, vector_bytes);
    __builtin_memcpy(&exponent, &shifted, vector_bytes);
    bits += exponent << Two::mantissa;
    __builtin_memcpy(&p, &bits, vector_bytes);
    return vanishes ? Vec<T>{} : p;
  }
};

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

// Range reduction x = n ln 2 + r, |r| <= ln(2)/2, and a polynomial for exp(r). `round` is 1.5 * 2^(mantissa
// bits): adding it rounds to an integer, whose bits can then be shifted into the exponent.
template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Int = std::int32_t;
  static constexpr float lowest = -87.0f, highest = 88.0f, round = 12582912.0f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int mantissa = 23;
  static constexpr float polynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                         4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
};

template <>
struct ExpConstants<double> {
  using Int = std::int64_t;
  static constexpr double lowest = -708.0, highest = 709.0, round = 6755399441055744.0;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52;
  // 1/13!, ..., 1/2!
  static constexpr double polynomial[] = {1.6059043836821613e-10, 2.08767569878681e-9,   2.505210838544172e-8,
                                          2.755731922398589e-7,   2.7557319223985893e-6, 2.48015873015873e-5,
                                          1.984126984126984e-4,   1.388888888888889e-3,  8.333333333333333e-3,
                                          4.1666666666666664e-2,  1.6666666666666666e-1, 0.5};
};

// exp(x) to about one unit in the last place; 0 below the smallest normal number, exactly 1 at 0.
template <class T>
inline Vec<T> exp_vec(Vec<T> x) {
  using Constants = ExpConstants<T>;
  using Int = typename Constants::Int;
  const auto vanishes = x < Constants::lowest;
  x = vanishes ? broadcast<T>(Constants::lowest) : x;
  x = x > Constants::highest ? broadcast<T>(Constants::highest) : x;
  const Vec<T> shifted = x * T(1.4426950408889634) + Constants::round;
  const Vec<T> n = shifted - Constants::round;
  const Vec<T> r = (x - n * Constants::ln2_high) - n * Constants::ln2_low;
  Vec<T> p = broadcast<T>(Constants::polynomial[0]);
  for (std::size_t k = 1; k < sizeof(Constants::polynomial) / sizeof(T); ++k) p = p * r + Constants::polynomial[k];
  p = p * (r * r) + r + T(1);
  Vec<Int> bits, exponent;
  __builtin_memcpy(&bits, &p, vector_bytes);
  __builtin_memcpy(&exponent, &shifted, vector_bytes);
  bits += exponent << Constants::mantissa;
  __builtin_memcpy(&p, &bits, vector_bytes);
  return vanishes ? Vec<T>{} : p;
}

// Dynamic programmes on sequences. Included inside the namespace of a SIMD level (see level_*.cpp), after simd.hpp; no
// standard containers here. One vector of lanes runs through the whole programme before the next one does, and all
// sums are of positive terms, so that nothing is cancelled.

typedef std::int64_t Symbols __attribute__((vector_size(vector_bytes)));

inline Symbols load_symbols(const std::int64_t* from) {
  Symbols v;
  __builtin_memcpy(&v, from, vector_bytes);
  return v;
}

// Length of the longest sequence in the lanes of one vector; those of a block may be shorter, or none at all, as on a
// diagonal. What stands behind it changes nothing.
inline std::size_t used_length(const std::int64_t* codes, std::size_t m) {
  for (; m > 0; --m) {
    for (std::size_t k = 0; k < lanes<double>; ++k) {
      if (codes[(m - 1) * sequence_lanes + k] != no_symbol) return m;
    }
  }
  return 0;
}

inline Vec<double> larger(Vec<double> a, Vec<double> b) { return a > b ? a : b; }

// --- numbers that a programme over a decay may run with: values, or values with their derivatives
// -----------------------

struct PlainNumber {
  Vec<double> value;

  static PlainNumber zero() { return {Vec<double>{}}; }
  static PlainNumber one_where(Symbols match) { return {match ? broadcast(1.0) : Vec<double>{}}; }
  PlainNumber where(Symbols match) const { return {match ? value : Vec<double>{}}; }
  PlainNumber decayed(double decay) const { return {decay * value}; }
  PlainNumber operator+(PlainNumber other) const { return {value + other.value}; }
};

struct DualNumber {
  Vec<double> value, slope;

  static DualNumber zero() { return {Vec<double>{}, Vec<double>{}}; }
  static DualNumber one_where(Symbols match) { return {match ? broadcast(1.0) : Vec<double>{}, Vec<double>{}}; }
  DualNumber where(Symbols match) const { return {match ? value : Vec<double>{}, match ? slope : Vec<double>{}}; }
  DualNumber decayed(double decay) const { return {decay * value, decay * slope + value}; }
  DualNumber operator+(DualNumber other) const { return {value + other.value, slope + other.slope}; }
};

template <class N>
inline N read_number(const double* from) {
  N number;
  __builtin_memcpy(&number, from, sizeof(N));
  return number;
}
template <class N>
inline void write_number(double* to, N number) {
  __builtin_memcpy(to, &number, sizeof(N));
}

// --- gap-weighted subsequences
// -------------------------------------------------------------------------------------------

// One symbol of s against all of t, for `Levels` lengths of subsequences. With matches(l)[j], the weight of all pairs
// of subsequences of length l that end at this symbol and at symbol j, and tails(l)[j] = sum over i' <= i, j' <= j of
// decay^(i - i' + j - j') matches(l)[i', j']:
//   matches(l + 1)[i, j] = [s_i = t_j] tails(l)[i - 1, j - 1],   across = decay * across + matches(l)[j],
//   tails(l)[i, j] = decay * tails(l)[i - 1, j] + across.
// Matches of the first of these lengths come from `carry` (null: they are the equal symbols), those of the next length
// are left there. sums[l] gains the sums of matches: all of them, or only the last.
template <int Levels, bool First, bool Last, bool All, class N>
inline void gap_row(double decay, std::int64_t symbol, const std::int64_t* codes, std::size_t m, double* tails,
                    double* carry, double* sums) {
  constexpr std::size_t width = sizeof(N) / sizeof(double);
  N across[Levels], before[Levels], sum[Levels + 1];
  for (int l = 0; l < Levels; ++l) across[l] = before[l] = N::zero();
  for (int l = 0; l <= Levels; ++l) sum[l] = read_number<N>(sums + std::size_t(l) * width);
  for (std::size_t j = 0; j < m; ++j) {
    const Symbols match = load_symbols(codes + j * sequence_lanes) == symbol;
    N matches = First ? N::one_where(match) : read_number<N>(carry + j * width);
    if constexpr (All && First) sum[0] = sum[0] + matches;
#pragma GCC unroll 4
    for (int l = 0; l < Levels; ++l) {
      double* tail = tails + (j * Levels + std::size_t(l)) * width;
      const N old = read_number<N>(tail), next = before[l].where(match);
      before[l] = old;
      across[l] = across[l].decayed(decay) + matches;
      write_number(tail, old.decayed(decay) + across[l]);
      matches = next;
      if constexpr (All) sum[l + 1] = sum[l + 1] + matches;
    }
    if constexpr (Last && !All) sum[Levels] = sum[Levels] + matches;
    if constexpr (!Last) write_number(carry + j * width, matches);
  }
  for (int l = 0; l <= Levels; ++l) write_number(sums + std::size_t(l) * width, sum[l]);
}

template <int Levels, bool All, class N>
inline void gap_row_at(bool first, bool last, double decay, std::int64_t symbol, const std::int64_t* codes,
                       std::size_t m, double* tails, double* carry, double* sums) {
  if (first && last) {
    gap_row<Levels, true, true, All, N>(decay, symbol, codes, m, tails, carry, sums);
  } else if (first) {
    gap_row<Levels, true, false, All, N>(decay, symbol, codes, m, tails, carry, sums);
  } else if (last) {
    gap_row<Levels, false, true, All, N>(decay, symbol, codes, m, tails, carry, sums);
  } else {
    gap_row<Levels, false, false, All, N>(decay, symbol, codes, m, tails, carry, sums);
  }
}

template <bool All, class N>
N gap_weighted_lanes(const GapSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                     std::size_t m, double* room) {
  constexpr std::size_t width = sizeof(N) / sizeof(double), together = 3;
  const std::size_t levels = spec.length > 1 ? spec.length - 1 : 1;
  double *tails = room, *carry = tails + levels * m * width, *sums = carry + m * width;
  for (std::size_t k = 0; k < levels * m * width; ++k) tails[k] = 0.0;
  for (std::size_t k = 0; k <= levels * width + width - 1; ++k) sums[k] = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = 0; l < levels; l += together) {
      double *own = tails + l * m * width, *totals = sums + l * width;
      const bool first = l == 0, last = l + together >= levels;
      switch (last ? levels - l : together) {
        case 1:
          gap_row_at<1, All, N>(first, last, spec.decay, s[i], codes, m, own, carry, totals);
          break;
        case 2:
          gap_row_at<2, All, N>(first, last, spec.decay, s[i], codes, m, own, carry, totals);
          break;
        default:
          gap_row_at<3, All, N>(first, last, spec.decay, s[i], codes, m, own, carry, totals);
      }
    }
  }
  N total = read_number<N>(sums + (spec.length - 1) * width);
  if (spec.blended) {  // sum_l decay^(2 (l - 1)) sums[l - 1]
    for (std::size_t l = spec.length - 1; l-- > 0;) {
      total = read_number<N>(sums + l * width) + total.decayed(spec.decay).decayed(spec.decay);
    }
  }
  return total;
}

inline void gap_weighted(const GapSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                         std::size_t block_length, double* room, double* values) {
  const bool all = spec.blended || spec.length == 1;
  for (std::size_t g = 0; g < sequence_lanes; g += lanes<double>) {
    const std::size_t m = used_length(codes + g, block_length);
    const PlainNumber total = all ? gap_weighted_lanes<true, PlainNumber>(spec, s, n, codes + g, m, room)
                                  : gap_weighted_lanes<false, PlainNumber>(spec, s, n, codes + g, m, room);
    store(values + g, total.value);
  }
}

inline void gap_weighted_slope(const GapSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                               std::size_t block_length, double* room, double* values, double* slopes) {
  for (std::size_t g = 0; g < sequence_lanes; g += lanes<double>) {
    const std::size_t m = used_length(codes + g, block_length);
    const DualNumber total = gap_weighted_lanes<true, DualNumber>(spec, s, n, codes + g, m, room);
    store(values + g, total.value);
    store(slopes + g, total.slope);
  }
}

// --- all subsequences
// ----------------------------------------------------------------------------------------------------

// k(s a, t) = k(s, t) + sum over t = u a v of k(s, u)
inline void all_subsequences(const std::int64_t* s, std::size_t n, const std::int64_t* codes, std::size_t block_length,
                             double* room, double* values) {
  for (std::size_t g = 0; g < sequence_lanes; g += lanes<double>) {
    const std::size_t m = used_length(codes + g, block_length);
    for (std::size_t j = 0; j <= m; ++j) store(room + j * lanes<double>, broadcast(1.0));
    for (std::size_t i = 0; i < n; ++i) {
      Vec<double> before = load(room), added{};
      for (std::size_t j = 0; j < m; ++j) {
        const Symbols match = load_symbols(codes + j * sequence_lanes + g) == s[i];
        const Vec<double> old = load(room + (j + 1) * lanes<double>);
        added += match ? before : Vec<double>{};
        store(room + (j + 1) * lanes<double>, old + added);
        before = old;
      }
    }
    store(values + g, load(room + m * lanes<double>));
  }
}

// --- weighted degree
// -----------------------------------------------------------------------------------------------------

// A place at which r symbols up to it are equal counts d + (d - 1) + ... + (d - r + 1).
inline void weighted_degree(double degree, const std::int64_t* s, const std::int64_t* codes, std::size_t n,
                            double* values) {
  for (std::size_t g = 0; g < sequence_lanes; g += lanes<double>) {
    Vec<double> total{}, here{}, next = broadcast(degree);
    for (std::size_t j = 0; j < n; ++j) {
      const Symbols match = load_symbols(codes + j * sequence_lanes + g) == s[j];
      here = match ? here + next : Vec<double>{};
      next = match ? larger(next - 1.0, Vec<double>{}) : broadcast(degree);
      total += here;
    }
    store(values + g, total);
  }
}

// --- local alignments
// ----------------------------------------------------------------------------------------------------

// What a symbol is worth with the symbols of the lanes; `nothing` where there is none.
inline Vec<double> pair_scores(const PairScores& pairs, std::int64_t symbol, const std::int64_t* codes,
                               double nothing) {
  const Symbols other = load_symbols(codes);
  if (pairs.table == nullptr) {
    const Vec<double> score = other == symbol ? broadcast(pairs.equal) : broadcast(pairs.unequal);
    return other == no_symbol ? broadcast(nothing) : score;
  }
  const double* row = pairs.table + std::size_t(symbol) * pairs.n_symbols;
  double scores[lanes<double>];
  for (std::size_t k = 0; k < lanes<double>; ++k) scores[k] = codes[k] >= 0 ? row[codes[k]] : nothing;
  return load(scores);
}

// Smith and Waterman, with affine gaps: the recursion of local_alignments_of below, with the best in place of the sum.
// A gap opens behind a pair, or behind a gap of the other sequence, never behind itself: that it would be cheaper
// there, where open < extend, changes nothing.
inline void local_alignment(const AlignmentSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                            std::size_t block_length, double* room, double* values) {
  constexpr std::size_t width = lanes<double>;
  const Vec<double> impossible = broadcast(-__builtin_huge_val());
  for (std::size_t g = 0; g < sequence_lanes; g += width) {
    const std::size_t m = used_length(codes + g, block_length);
    double *pairs = room, *down = pairs + m * width, *ending = down + m * width;
    for (std::size_t k = 0; k < 3 * m * width; k += width) store(room + k, impossible);
    Vec<double> best{};
    for (std::size_t i = 0; i < n; ++i) {
      Vec<double> corner = impossible, left = impossible, across = impossible;
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = j * width;
        const Vec<double> score = pair_scores(spec.pairs, s[i], codes + j * sequence_lanes + g, -__builtin_huge_val());
        const Vec<double> pair = larger(corner, Vec<double>{}) + score;
        const Vec<double> gap = larger(load(pairs + at) - spec.open, load(down + at) - spec.extend);
        across = larger(left - spec.open, across - spec.extend);
        left = larger(pair, gap);
        corner = load(ending + at);
        store(pairs + at, pair);
        store(down + at, gap);
        store(ending + at, larger(left, across));
        best = larger(best, pair);
      }
    }
    store(values + g, best);
  }
}

// Numbers of any size: value * 2^(scale_step * scale), the value within 2^-256 and 2^256 unless it is zero.

inline constexpr double scale_up = 0x1p256, scale_down = 0x1p-256;

// 2^(scale_step * difference) for a difference <= 0; zero where that is below all rounding.
inline Vec<double> scale_factor(Vec<double> difference) {
  const Vec<double> small = difference > -2.5 ? broadcast(0x1p-512) : Vec<double>{};
  const Vec<double> middle = difference > -1.5 ? broadcast(scale_down) : small;
  return difference > -0.5 ? broadcast(1.0) : middle;
}

// What brings a value back into its range; its scale is changed to match.
inline Vec<double> rescaling(Vec<double> value, Vec<double>* scale) {
  const auto large = value > scale_up, small = value < scale_down;
  *scale += large ? broadcast(1.0) : small ? broadcast(-1.0) : Vec<double>{};
  return large ? broadcast(scale_down) : small ? broadcast(scale_up) : broadcast(1.0);
}

// Sums over alignments that end at a cell: `ending` of all kinds, and what a gap would make of them.
//   M = w (1 + ending[i-1, j-1]),  X = open M[i-1, j] + extend X[i-1, j],  Y = open (M + X)[i, j-1] + extend Y[i, j-1]
// and k = 1 + sum of all M (Saigo, Vert, Ueda, Akutsu 2004). The numbers of a cell share a scale, at least 0.
template <bool Slope>
void local_alignments_of(const AlignmentSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                         std::size_t block_length, double* room, ScaledValues* values) {
  constexpr std::size_t width = lanes<double>;
  const double a = spec.open, b = spec.extend, da = spec.open_slope, db = spec.extend_slope;
  for (std::size_t g = 0; g < sequence_lanes; g += width) {
    const std::size_t m = used_length(codes + g, block_length);
    double *ending = room, *down = ending + m * width, *scales = down + m * width;
    double *d_ending = scales + m * width, *d_down = d_ending + m * width;
    for (std::size_t k = 0; k < 5 * m * width; ++k) room[k] = 0.0;
    Vec<double> total = broadcast(1.0), d_total{}, total_scale{};
    for (std::size_t i = 0; i < n; ++i) {
      Vec<double> corner{}, corner_scale{}, across{}, across_scale{}, d_corner{}, d_across{};
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = j * width;
        const Vec<double> w = pair_scores(spec.pairs, s[i], codes + j * sequence_lanes + g, 0.0);
        const Vec<double> above_scale = load(scales + at);
        Vec<double> scale = larger(larger(corner_scale, above_scale), larger(across_scale, Vec<double>{}));
        const Vec<double> of_corner = scale_factor(corner_scale - scale), of_above = scale_factor(above_scale - scale);
        const Vec<double> of_left = scale_factor(across_scale - scale), of_start = scale_factor(-scale);
        const Vec<double> begun = of_start + corner * of_corner;
        Vec<double> M = w * begun, X = load(down + at) * of_above, Y = across * of_left;
        const Vec<double> factor = rescaling(larger(M + X + Y, scale > 0.5 ? Vec<double>{} : broadcast(1.0)), &scale);
        Vec<double> dM{}, dX{}, dY{};
        if constexpr (Slope) {
          const Vec<double> dw = pair_scores(spec.pair_slopes, s[i], codes + j * sequence_lanes + g, 0.0);
          dM = (w * (d_corner * of_corner) + dw * begun) * factor;
          dX = load(d_down + at) * of_above * factor;
          dY = d_across * of_left * factor;
          d_corner = load(d_ending + at);
        }
        M *= factor;
        X *= factor;
        Y *= factor;
        corner = load(ending + at);
        corner_scale = above_scale;
        const Vec<double> sum = M + X + Y;
        scale = sum > 0.0 ? scale : Vec<double>{};
        store(ending + at, sum);
        store(down + at, a * M + b * X);
        store(scales + at, scale);
        across = a * (M + X) + b * Y;
        across_scale = scale;
        if constexpr (Slope) {
          store(d_ending + at, dM + dX + dY);
          store(d_down + at, a * dM + b * dX + (da * M + db * X));
          d_across = a * (dM + dX) + b * dY + (da * (M + X) + db * Y);
        }
        const Vec<double> common = larger(total_scale, scale);
        const Vec<double> of_total = scale_factor(total_scale - common), of_cell = scale_factor(scale - common);
        total = total * of_total + M * of_cell;
        total_scale = common;
        const Vec<double> fitted = rescaling(larger(total, broadcast(1.0)), &total_scale);
        total *= fitted;
        if constexpr (Slope) d_total = (d_total * of_total + dM * of_cell) * fitted;
      }
    }
    store(values->values + g, total);
    store(values->scales + g, total_scale);
    store(values->slopes + g, d_total);
  }
}

inline void local_alignments(const AlignmentSpec& spec, bool slope, const std::int64_t* s, std::size_t n,
                             const std::int64_t* codes, std::size_t m, double* room, ScaledValues* values) {
  (slope ? local_alignments_of<true> : local_alignments_of<false>)(spec, s, n, codes, m, room, values);
}

// --- global alignments of series
// -----------------------------------------------------------------------------------------

// The scale of zero: below every other.
inline constexpr double scale_of_zero = -1e300;

// The local kernel k / (2 - k) of two points, k = triangle * exp(-distance^2 / (2 width^2)), with its scale and the
// derivative of its logarithm by the width.
struct LocalKernel {
  Vec<double> value, scale, log_slope;
};

inline LocalKernel local_kernel(const SeriesSpec& spec, const Exponential<double>& power_of_two, const double* point,
                                const std::int64_t* codes, double triangle) {
  constexpr double log2_e = 1.44269504088896338700, round = 6755399441055744.0;
  Vec<double> distance{};
  for (std::size_t f = 0; f < spec.n_features; ++f) {
    double others[lanes<double>];
    for (std::size_t k = 0; k < lanes<double>; ++k) {
      others[k] = codes[k] >= 0 ? spec.points[std::size_t(codes[k]) * spec.n_features + f] : 0.0;
    }
    const Vec<double> difference = point[f] - load(others);
    distance += difference * difference;
  }
  Vec<double> exponent = distance * (-log2_e / (2.0 * spec.width * spec.width));
  exponent = exponent > -1e15 ? exponent : broadcast(-1e15);
  const Vec<double> scale = (exponent * (1.0 / scale_step) + round) - round;
  const Vec<double> k = triangle * power_of_two(exponent - scale * double(scale_step));
  const Vec<double> rest = 2.0 - (scale > -0.5 ? k : Vec<double>{});
  return {k / rest, scale, distance * (2.0 / (spec.width * spec.width * spec.width)) / rest};
}

// sums[i, j] = local(i, j) (sums[i-1, j-1] + (sums[i-1, j] + sums[i, j-1])), each number with a scale of its own
template <bool Slope>
void global_alignments_of(const SeriesSpec& spec, const std::int64_t* s, std::size_t n, const std::int64_t* codes,
                          std::size_t block_length, double* room, ScaledValues* values) {
  constexpr std::size_t width = lanes<double>;
  const Exponential<double> power_of_two(0.693147180559945309417);
  for (std::size_t g = 0; g < sequence_lanes; g += width) {
    const std::size_t m = used_length(codes + g, block_length);
    double *sums = room, *scales = sums + m * width, *d_sums = scales + m * width;
    for (std::size_t k = 0; k < m * width; ++k) {
      sums[k] = d_sums[k] = 0.0;
      scales[k] = scale_of_zero;
    }
    for (std::size_t i = 0; i < n; ++i) {
      Vec<double> corner = broadcast(i == 0 ? 1.0 : 0.0), corner_scale = broadcast(i == 0 ? 0.0 : scale_of_zero);
      Vec<double> left{}, left_scale = broadcast(scale_of_zero), d_corner{}, d_left{};
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = j * width;
        double triangle = 1.0;
        if (spec.triangle > 0.0) {
          triangle = 1.0 - (i > j ? double(i - j) : double(j - i)) / spec.triangle;
          if (triangle < 0.0) triangle = 0.0;
        }
        const LocalKernel local = local_kernel(spec, power_of_two, spec.points + std::size_t(s[i]) * spec.n_features,
                                               codes + j * sequence_lanes + g, triangle);
        const Vec<double> above = load(sums + at), above_scale = load(scales + at);
        Vec<double> scale = larger(corner_scale, larger(above_scale, left_scale));
        const Vec<double> of_corner = scale_factor(corner_scale - scale), of_above = scale_factor(above_scale - scale);
        const Vec<double> of_left = scale_factor(left_scale - scale);
        Vec<double> sum = local.value * (corner * of_corner + (above * of_above + left * of_left));
        scale += local.scale;
        const Vec<double> factor = rescaling(sum, &scale);
        if constexpr (Slope) {
          const Vec<double> d_above = load(d_sums + at);
          const Vec<double> inner = d_corner * of_corner + (d_above * of_above + d_left * of_left);
          d_left = (local.value * inner + local.log_slope * sum) * factor;
          d_corner = d_above;
          store(d_sums + at, d_left);
        }
        sum *= factor;
        scale = sum > 0.0 ? scale : broadcast(scale_of_zero);
        corner = above;
        corner_scale = above_scale;
        left = sum;
        left_scale = scale;
        store(sums + at, sum);
        store(scales + at, scale);
      }
    }
    for (std::size_t k = 0; k < width; ++k) {
      std::size_t length = m;
      while (length > 0 && codes[(length - 1) * sequence_lanes + g + k] == no_symbol) --length;
      const bool both = n > 0 && length > 0, none = n == 0 && length == 0;
      const std::size_t at = (length - 1) * width + k;
      values->values[g + k] = both ? sums[at] : none ? 1.0 : 0.0;
      values->scales[g + k] = both ? scales[at] : 0.0;
      values->slopes[g + k] = both ? d_sums[at] : 0.0;
    }
  }
}

inline void global_alignments(const SeriesSpec& spec, bool slope, const std::int64_t* s, std::size_t n,
                              const std::int64_t* codes, std::size_t m, double* room, ScaledValues* values) {
  (slope ? global_alignments_of<true> : global_alignments_of<false>)(spec, s, n, codes, m, room, values);
}

inline constexpr SequenceLoops sequence_loops{gap_weighted,    gap_weighted_slope, all_subsequences, weighted_degree,
                                              local_alignment, local_alignments,   global_alignments};

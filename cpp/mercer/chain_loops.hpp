// Rows of a matrix brought together, column by column, for chains of labels. Included inside the namespace of a SIMD
// level (see level_*.cpp), after simd.hpp. Columns are labels: few, so that all of them stay in registers. The last
// vector overlaps the one before where lanes do not divide the columns; both compute the same there.

// Rows of weights begin anywhere: nearly every load of 64 bytes would take two cache lines, of 32 bytes every other.
inline constexpr std::size_t label_bytes = vector_bytes < 32 ? vector_bytes : 32;
inline constexpr std::size_t label_lanes = label_bytes / sizeof(double);
typedef double LabelVec __attribute__((vector_size(label_bytes)));

inline LabelVec load_labels(const double* from) {
  LabelVec v;
  __builtin_memcpy(&v, from, label_bytes);
  return v;
}

struct WeightedSum {
  static constexpr double nothing = 0.0;
  static constexpr bool adds = false;
  template <class V>
  static V joined(V total, V weight, V value) {
    return total + weight * value;
  }
};

struct LargestSum {
  static constexpr double nothing = -__builtin_huge_val();
  static constexpr bool adds = true;  // something, in the end
  template <class V>
  static V joined(V best, V weight, V value) {
    const V sum = weight + value;
    return sum > best ? sum : best;
  }
};

inline constexpr std::size_t joined_vectors = 8;

template <class Rule, std::size_t vectors, class RowOf>
inline void join_columns(const double* weights, RowOf row_of, std::size_t rows, std::size_t last, const double* added,
                         double* joined) {
  LabelVec total[vectors];
  for (std::size_t v = 0; v < vectors; ++v) total[v] = LabelVec{} + Rule::nothing;
  for (std::size_t r = 0; r < rows; ++r) {
    const LabelVec weight = LabelVec{} + weights[r];
    const double* row = row_of(r);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      total[v] = Rule::joined(total[v], weight, load_labels(row + (v + 1 < vectors ? v * label_lanes : last)));
    }
  }
#pragma GCC unroll 8
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t at = v + 1 < vectors ? v * label_lanes : last;
    if constexpr (Rule::adds) total[v] = total[v] + load_labels(added + at);
    __builtin_memcpy(joined + at, &total[v], sizeof(LabelVec));
  }
}

template <class Rule, std::size_t vectors, class RowOf>
inline void join_up_to(std::size_t wanted, const double* weights, RowOf row_of, std::size_t rows, std::size_t last,
                       const double* added, double* joined) {
  if constexpr (vectors > 0) {
    if (wanted == vectors) return join_columns<Rule, vectors>(weights, row_of, rows, last, added, joined);
    join_up_to<Rule, vectors - 1>(wanted, weights, row_of, rows, last, added, joined);
  }
}

template <class Rule, class RowOf>
inline void join_rows(const double* weights, RowOf row_of, std::size_t rows, std::size_t n, const double* added,
                      double* joined) {
  if (n < label_lanes) {
    for (std::size_t c = 0; c < n; ++c) {
      double total = Rule::nothing;
      for (std::size_t r = 0; r < rows; ++r) total = Rule::joined(total, weights[r], row_of(r)[c]);
      if constexpr (Rule::adds) total += added[c];
      joined[c] = total;
    }
    return;
  }
  constexpr std::size_t width = joined_vectors * label_lanes;
  for (std::size_t c = 0; c < n; c += width) {
    const std::size_t begin = n - c < label_lanes ? n - label_lanes : c;  // a last stretch that is too short
    const std::size_t size = n - begin < width ? n - begin : width;
    const auto from = [&](std::size_t r) { return row_of(r) + begin; };
    join_up_to<Rule, joined_vectors>((size + label_lanes - 1) / label_lanes, weights, from, rows, size - label_lanes,
                                     added + begin, joined + begin);
  }
}

inline void sum_of_rows(const double* weights, const std::int32_t* places, std::size_t entries, const double* matrix,
                        std::size_t n, double* sums) {
  join_rows<WeightedSum>(
      weights, [=](std::size_t e) { return matrix + static_cast<std::size_t>(places[e]) * n; }, entries, n, sums, sums);
}

inline void best_of_rows(const double* scores, std::size_t rows, const double* matrix, std::size_t n,
                         const double* added, double* best) {
  join_rows<LargestSum>(scores, [=](std::size_t r) { return matrix + r * n; }, rows, n, added, best);
}

inline Candidate best_sum(const double* x, const double* y, std::size_t n) {
  LabelVec largest = LabelVec{} - __builtin_huge_val();
  for (std::size_t k = 0; k < n; k += label_lanes) {
    const LabelVec sum = load_labels(x + k) + load_labels(y + k);
    largest = sum > largest ? sum : largest;
  }
  double best = largest[0];
  for (std::size_t k = 1; k < label_lanes; ++k) best = largest[k] > best ? largest[k] : best;
  std::size_t at = 0;
  while (at + 1 < n && x[at] + y[at] != best) ++at;  // what is no number equals nothing
  return {best, at};
}

inline constexpr ChainLoops chain_loops{sum_of_rows, best_of_rows, best_sum};

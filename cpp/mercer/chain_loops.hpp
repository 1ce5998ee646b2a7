// Rows of a matrix brought together, column by column, for chains of labels. Included inside the namespace of a SIMD
// level (see level_*.cpp), after simd.hpp. Columns are labels: few, so that all of them stay in registers. The last
// vector overlaps the one before where lanes do not divide the columns; both compute the same there.

struct WeightedSum {
  static constexpr double nothing = 0.0;
  template <class V>
  static V joined(V total, V weight, V value) {
    return total + weight * value;
  }
};

struct LargestSum {
  static constexpr double nothing = -__builtin_huge_val();
  template <class V>
  static V joined(V best, V weight, V value) {
    const V sum = weight + value;
    return sum > best ? sum : best;
  }
};

inline constexpr std::size_t joined_vectors = 8;

template <class Rule, std::size_t vectors, class RowOf>
inline void join_columns(const double* weights, RowOf row_of, std::size_t rows, std::size_t last, double* joined) {
  Vec<double> total[vectors];
  for (std::size_t v = 0; v < vectors; ++v) total[v] = broadcast(Rule::nothing);
  for (std::size_t r = 0; r < rows; ++r) {
    const Vec<double> weight = broadcast(weights[r]);
    const double* row = row_of(r);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      total[v] = Rule::joined(total[v], weight, load(row + (v + 1 < vectors ? v * lanes<double> : last)));
    }
  }
#pragma GCC unroll 8
  for (std::size_t v = 0; v < vectors; ++v) store(joined + (v + 1 < vectors ? v * lanes<double> : last), total[v]);
}

template <class Rule, std::size_t vectors, class RowOf>
inline void join_up_to(std::size_t wanted, const double* weights, RowOf row_of, std::size_t rows, std::size_t last,
                       double* joined) {
  if constexpr (vectors > 0) {
    if (wanted == vectors) return join_columns<Rule, vectors>(weights, row_of, rows, last, joined);
    join_up_to<Rule, vectors - 1>(wanted, weights, row_of, rows, last, joined);
  }
}

template <class Rule, class RowOf>
inline void join_rows(const double* weights, RowOf row_of, std::size_t rows, std::size_t n, double* joined) {
  if (n < lanes<double>) {
    for (std::size_t c = 0; c < n; ++c) {
      double total = Rule::nothing;
      for (std::size_t r = 0; r < rows; ++r) total = Rule::joined(total, weights[r], row_of(r)[c]);
      joined[c] = total;
    }
    return;
  }
  constexpr std::size_t width = joined_vectors * lanes<double>;
  for (std::size_t c = 0; c < n; c += width) {
    const std::size_t begin = n - c < lanes<double> ? n - lanes<double> : c;  // a last stretch that is too short
    const std::size_t size = n - begin < width ? n - begin : width;
    const auto from = [&](std::size_t r) { return row_of(r) + begin; };
    join_up_to<Rule, joined_vectors>((size + lanes<double> - 1) / lanes<double>, weights, from, rows,
                                     size - lanes<double>, joined + begin);
  }
}

inline void sum_of_rows(const double* weights, const std::int32_t* places, std::size_t entries, const double* matrix,
                        std::size_t n, double* sums) {
  join_rows<WeightedSum>(
      weights, [=](std::size_t e) { return matrix + static_cast<std::size_t>(places[e]) * n; }, entries, n, sums);
}

inline void best_of_rows(const double* scores, std::size_t rows, const double* matrix, std::size_t n, double* best) {
  join_rows<LargestSum>(scores, [=](std::size_t r) { return matrix + r * n; }, rows, n, best);
}

inline constexpr ChainLoops chain_loops{sum_of_rows, best_of_rows};

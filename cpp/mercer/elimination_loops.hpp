// Inner loops of recursive feature elimination: one feature more or less in the measures between samples. Included
// inside the namespace of a SIMD level, after loops.hpp.

template <Measure M>
void add_measure_of(double scale, double x, const double* y, std::size_t n, double* measures) {
  std::size_t k = 0;
  for (; k + lanes<double> <= n; k += lanes<double>) {
    const Vec<double> t = add_feature<double, M>(Vec<double>{}, broadcast(x), load(y + k));
    store(measures + k, load(measures + k) + scale * t);
  }
  if (k == n) return;
  double rest[lanes<double>] = {};
  for (std::size_t c = 0; c < n - k; ++c) rest[c] = y[k + c];
  const Vec<double> t = add_feature<double, M>(Vec<double>{}, broadcast(x), load(rest));
  for (std::size_t c = 0; c < n - k; ++c) measures[k + c] += scale * t[c];
}

inline void add_measure(Measure measure, double scale, double x, const double* y, std::size_t n, double* measures) {
  switch (measure) {
    case Measure::dot:
      return add_measure_of<Measure::dot>(scale, x, y, n, measures);
    case Measure::l2:
      return add_measure_of<Measure::l2>(scale, x, y, n, measures);
    case Measure::l1:
      return add_measure_of<Measure::l1>(scale, x, y, n, measures);
    case Measure::min:
      return add_measure_of<Measure::min>(scale, x, y, n, measures);
    case Measure::chi2:
      return add_measure_of<Measure::chi2>(scale, x, y, n, measures);
    case Measure::match:
      return add_measure_of<Measure::match>(scale, x, y, n, measures);
  }
}

template <Measure M>
double loss_of(const KernelSpec& spec, double x, const double* y, const double* measures, const double* values,
               const double* weights, std::size_t n) {
  constexpr bool distance = M == Measure::l2 || M == Measure::l1 || M == Measure::chi2;
  Vec<double> sum{};
  with_transform<double>(spec, [&](const auto& g) {
    for (std::size_t k = 0; k < n; k += lanes<double>) {
      Vec<double> t = load(measures + k) - add_feature<double, M>(Vec<double>{}, broadcast(x), load(y + k));
      if constexpr (distance) t = t > 0.0 ? t : Vec<double>{};  // what rounding has made negative
      sum += load(weights + k) * (load(values + k) - g(t));
    }
  });
  double total = 0.0;
  for (std::size_t c = 0; c < lanes<double>; ++c) total += sum[c];
  return total;
}

inline double loss(const KernelSpec& spec, double x, const double* y, const double* measures, const double* values,
                   const double* weights, std::size_t n) {
  switch (spec.measure) {
    case Measure::dot:
      return loss_of<Measure::dot>(spec, x, y, measures, values, weights, n);
    case Measure::l2:
      return loss_of<Measure::l2>(spec, x, y, measures, values, weights, n);
    case Measure::l1:
      return loss_of<Measure::l1>(spec, x, y, measures, values, weights, n);
    case Measure::min:
      return loss_of<Measure::min>(spec, x, y, measures, values, weights, n);
    case Measure::chi2:
      return loss_of<Measure::chi2>(spec, x, y, measures, values, weights, n);
    case Measure::match:
      return loss_of<Measure::match>(spec, x, y, measures, values, weights, n);
  }
  return 0.0;
}

inline constexpr EliminationLoops elimination_loops{add_measure, loss};

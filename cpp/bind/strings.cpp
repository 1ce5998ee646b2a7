#include <cmath>

#include "../mercer/alignment.hpp"
#include "../mercer/kmers.hpp"
#include "../mercer/sequences.hpp"
#include "../mercer/subsequences.hpp"
#include "../mercer/substrings.hpp"
#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// Samples as the tuple (keys, starts), with what keeps them alive.
struct SequencesIn {
  Vector<std::uint64_t> keys;
  Vector<std::int64_t> starts;
  Sequences view;

  std::size_t longest() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < view.rows; ++i) n = std::max(n, view.length(i));
    return n;
  }
  void check_below(std::uint64_t limit) const {
    for (std::size_t k = 0; k < keys.shape(0); ++k) {
      if (keys.data()[k] >= limit) throw nb::value_error("a symbol is not in the table");
    }
  }
};

SequencesIn sequences_in(nb::handle source) {
  SequencesIn in;
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 2) {
    throw nb::type_error("sequences are a tuple (keys, starts)");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  if (!nb::try_cast(parts[0], in.keys, false)) throw nb::type_error("keys must be uint64");
  if (!nb::try_cast(parts[1], in.starts, false)) throw nb::type_error("starts must be int64");
  if (in.starts.shape(0) == 0) throw nb::value_error("starts must have at least one entry");
  const std::size_t rows = in.starts.shape(0) - 1;
  bool fits = in.starts.data()[0] >= 0 && rows < (std::size_t{1} << 32);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t length = in.starts.data()[i + 1] - in.starts.data()[i];
    fits = fits && length >= 0 && length < (std::int64_t{1} << 31);
  }
  if (!fits || in.starts.data()[rows] > static_cast<std::int64_t>(in.keys.shape(0))) {
    throw nb::value_error("keys and starts do not fit together");
  }
  in.view = {in.keys.data(), in.starts.data(), rows};
  return in;
}

bool same(const SequencesIn& x, const SequencesIn& y) {
  return x.view.keys == y.view.keys && x.view.starts == y.view.starts && x.view.rows == y.view.rows;
}

Answer answer_in(const std::string& answer) {
  if (answer == "value") return Answer::value;
  if (answer == "log") return Answer::log;
  if (answer == "slope") return Answer::slope;
  if (answer == "log_slope") return Answer::log_slope;
  throw nb::value_error(("unknown answer '" + answer + "'").c_str());
}

// --- features
// ------------------------------------------------------------------------------------------------------------

template <class Find>
nb::object features_of(nb::handle x, std::size_t n_threads, Find find) {
  const SequencesIn in = sequences_in(x);
  FeatureList found;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    found = find(in.view, team);
  }
  return nb::make_tuple(own(found.keys), own(found.values), own(found.starts));
}

nb::object spectrum(nb::handle x, std::size_t shortest, std::size_t longest, std::size_t n_threads) {
  if (shortest == 0) throw nb::value_error("pieces have at least one symbol");
  return features_of(x, n_threads,
                     [&](const Sequences& in, Team& team) { return spectrum_features(in, shortest, longest, team); });
}

nb::object masked(nb::handle x, std::size_t window, Vector<std::uint64_t> masks, std::size_t n_threads) {
  for (std::size_t k = 0; k < masks.shape(0); ++k) {
    if (window == 0 || window > 64 || (window < 64 && masks.data()[k] >> window != 0)) {
      throw nb::value_error("masks do not fit the window");
    }
  }
  return features_of(x, n_threads, [&](const Sequences& in, Team& team) {
    return masked_features(in, window, masks.data(), masks.shape(0), team);
  });
}

nb::object neighbours(nb::handle x, std::size_t k, std::size_t m, Vector<std::uint64_t> alphabet,
                      std::size_t n_threads) {
  if (k == 0) throw nb::value_error("pieces have at least one symbol");
  return features_of(x, n_threads, [&](const Sequences& in, Team& team) {
    return neighbour_features(in, k, m, alphabet.data(), alphabet.shape(0), team);
  });
}

nb::object pieces(nb::handle x, Vector<double> weights, bool placed, std::size_t n_threads) {
  return features_of(x, n_threads, [&](const Sequences& in, Team& team) {
    return weighted_pieces(in, weights.shape(0), weights.data(), placed, team);
  });
}

nb::object subsequences(nb::handle x, std::size_t shortest, std::size_t longest, double decay, std::size_t n_threads) {
  return features_of(x, n_threads, [&](const Sequences& in, Team& team) {
    return subsequence_features(in, shortest, longest, decay, team);
  });
}

// --- matrices and diagonals
// ----------------------------------------------------------------------------------------------

// Y is None: the diagonal. make(level, n_workers) is the programme.
template <class Make>
nb::object values_of(const SequencesIn& x, nb::handle y, Coding coding, std::size_t n_threads, const std::string& level,
                     Make make) {
  const Level& loops = find_level(level);
  if (y.is_none()) {
    auto out = std::make_unique_for_overwrite<double[]>(x.view.rows);
    {
      nb::gil_scoped_release unlocked;
      Team team(n_threads, SignalPoll());
      auto programme = make(loops, team.size());
      sequence_diagonal(x.view, coding, team, [&](auto... given) { programme(given...); }, out.get());
    }
    return nb::cast(own(std::move(out), {x.view.rows}));
  }
  const SequencesIn other = sequences_in(y);
  auto out = room_for<double>(x.view.rows * other.view.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    auto programme = make(loops, team.size());
    sequence_matrix(
        x.view, other.view, same(x, other), coding, team, [&](auto... given) { programme(given...); }, out.get());
  }
  return nb::cast(own(std::move(out), {x.view.rows, other.view.rows}));
}

nb::object gap_weighted(nb::handle x, nb::handle y, std::size_t length, double decay, bool blended,
                        const std::string& answer, std::size_t n_threads, const std::string& level) {
  if (length == 0) throw nb::value_error("subsequences have at least one symbol");
  const GapSpec spec{length, decay, blended};
  const Answer wanted = answer_in(answer);
  return values_of(
      sequences_in(x), y, Coding::equality, n_threads, level,
      [&](const Level& loops, std::size_t n_workers) { return GapWeighted(spec, wanted, loops, n_workers); });
}

nb::object all_subsequences(nb::handle x, nb::handle y, const std::string& answer, std::size_t n_threads,
                            const std::string& level) {
  const Answer wanted = answer_in(answer);
  return values_of(
      sequences_in(x), y, Coding::equality, n_threads, level,
      [&](const Level& loops, std::size_t n_workers) { return AllSubsequences(wanted, loops, n_workers); });
}

nb::object weighted_degree(nb::handle x, nb::handle y, std::size_t degree, std::size_t shift, std::size_t n_threads,
                           const std::string& level) {
  const SequencesIn xs = sequences_in(x);
  const auto check = [&](const Sequences& samples) {
    for (std::size_t i = 0; i < samples.rows; ++i) {
      if (samples.length(i) != xs.view.length(0)) throw nb::value_error("sequences must have one length");
    }
  };
  if (xs.view.rows > 0) {
    check(xs.view);
    if (!y.is_none()) check(sequences_in(y).view);
  }
  return values_of(xs, y, Coding::equality, n_threads, level,
                   [&](const Level& loops, std::size_t) { return WeightedDegree(degree, shift, loops); });
}

// Scores of pairs: two numbers (for equal symbols, for different ones), or a table.
struct ScoresIn {
  Matrix<double> table;
  PairScores view;
};

ScoresIn scores_in(nb::handle source) {
  ScoresIn in;
  if (nb::try_cast(source, in.table, false)) {
    if (in.table.shape(0) != in.table.shape(1)) throw nb::value_error("a table of scores is square");
    in.view.table = in.table.data();
    in.view.n_symbols = in.table.shape(0);
  } else {
    const auto pair = nb::cast<std::pair<double, double>>(source);
    in.view.equal = pair.first;
    in.view.unequal = pair.second;
  }
  return in;
}

void check_symbols(const PairScores& scores, const SequencesIn& x, nb::handle y) {
  if (scores.table == nullptr) return;
  x.check_below(scores.n_symbols);
  if (!y.is_none()) sequences_in(y).check_below(scores.n_symbols);
}

nb::object local_alignment(nb::handle x, nb::handle y, nb::handle scores, double open, double extend,
                           std::size_t n_threads, const std::string& level) {
  const SequencesIn xs = sequences_in(x);
  const ScoresIn pairs = scores_in(scores);
  check_symbols(pairs.view, xs, y);
  const AlignmentSpec spec{pairs.view, {}, open, extend};
  return values_of(xs, y, pairs.view.table ? Coding::table : Coding::equality, n_threads, level,
                   [&](const Level& loops, std::size_t n_workers) { return LocalAlignment(spec, loops, n_workers); });
}

nb::object local_alignments(nb::handle x, nb::handle y, nb::handle factors, nb::handle slopes,
                            std::pair<double, double> gaps, std::pair<double, double> gap_slopes,
                            const std::string& answer, std::size_t n_threads, const std::string& level) {
  const SequencesIn xs = sequences_in(x);
  const ScoresIn pairs = scores_in(factors), pair_slopes = scores_in(slopes);
  if (pairs.view.n_symbols != pair_slopes.view.n_symbols) throw nb::value_error("factors and slopes do not fit");
  check_symbols(pairs.view, xs, y);
  const AlignmentSpec spec{pairs.view, pair_slopes.view, gaps.first, gaps.second, gap_slopes.first, gap_slopes.second};
  const Answer wanted = answer_in(answer);
  return values_of(xs, y, pairs.view.table ? Coding::table : Coding::equality, n_threads, level,
                   [&](const Level& loops, std::size_t n_workers) {
                     return SumOverAlignments<AlignmentSpec>(spec, wanted, loops.sequences.local_alignments, n_workers);
                   });
}

nb::object global_alignments(Matrix<double> points, nb::handle x, nb::handle y, double width, double triangle,
                             const std::string& answer, std::size_t n_threads, const std::string& level) {
  const SequencesIn xs = sequences_in(x);
  xs.check_below(points.shape(0));
  if (!y.is_none()) sequences_in(y).check_below(points.shape(0));
  const SeriesSpec spec{points.data(), points.shape(1), width, triangle};
  const Answer wanted = answer_in(answer);
  return values_of(xs, y, Coding::table, n_threads, level, [&](const Level& loops, std::size_t n_workers) {
    return SumOverAlignments<SeriesSpec>(spec, wanted, loops.sequences.global_alignments, n_workers);
  });
}

nb::object common_substrings(nb::handle x, nb::handle y, Vector<double> weights, std::size_t n_threads) {
  const SequencesIn xs = sequences_in(x), ys = y.is_none() ? xs : sequences_in(y);
  if (std::min(xs.longest(), ys.longest()) >= weights.shape(0)) throw nb::value_error("there are too few weights");
  const bool matrix = !y.is_none();
  auto out = std::make_unique_for_overwrite<double[]>(xs.view.rows * (matrix ? ys.view.rows : 1));
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    if (matrix) {
      common_substrings_matrix(xs.view, ys.view, same(xs, ys), weights.data(), team, out.get());
    } else {
      common_substrings_diagonal(xs.view, weights.data(), team, out.get());
    }
  }
  return nb::cast(matrix ? own(std::move(out), {xs.view.rows, ys.view.rows}) : own(std::move(out), {xs.view.rows}));
}

}  // namespace

void bind_strings(nb::module_& m) {
  using namespace nb::literals;
  m.def("spectrum_features", &spectrum, "X"_a, "shortest"_a, "longest"_a, "n_threads"_a,
        "Features (keys, values, starts): how often each piece of these lengths occurs in sequences (keys, starts).");
  m.def("masked_features", &masked, "X"_a, "window"_a, "masks"_a.noconvert(), "n_threads"_a,
        "How often each piece of the length of the window occurs, seen through each of some masks of bits.");
  m.def("neighbour_features", &neighbours, "X"_a, "k"_a, "m"_a, "alphabet"_a.noconvert(), "n_threads"_a,
        "How many pieces of length k differ in up to m places from each sequence of k symbols of the alphabet.");
  m.def("weighted_pieces", &pieces, "X"_a, "weights"_a.noconvert(), "placed"_a, "n_threads"_a,
        "Pieces, at their places or anywhere; those of length p count weights[p - 1].");
  m.def("subsequence_features", &subsequences, "X"_a, "shortest"_a, "longest"_a, "decay"_a, "n_threads"_a,
        "Subsequences of these lengths, each counts decay^(length from its first symbol to its last).");
  m.def("gap_weighted", &gap_weighted, "X"_a, "Y"_a.none(), "length"_a, "decay"_a, "blended"_a, "answer"_a,
        "n_threads"_a, "level"_a,
        "Gap-weighted subsequences, without the factor decay^(2 length), or decay^2 if blended; Y=None: the diagonal.\n"
        "answer: \"value\", \"log\", \"slope\", the derivative by the decay, or \"log_slope\", that of the logarithm.");
  m.def("all_subsequences", &all_subsequences, "X"_a, "Y"_a.none(), "answer"_a, "n_threads"_a, "level"_a,
        "All common subsequences, as \"value\" or \"log\"; Y=None: the diagonal.");
  m.def("weighted_degree", &weighted_degree, "X"_a, "Y"_a.none(), "degree"_a, "shift"_a, "n_threads"_a, "level"_a,
        "d (d + 1) / 2 times the weighted degree kernel of sequences of one length; Y=None: the diagonal.");
  m.def("local_alignment", &local_alignment, "X"_a, "Y"_a.none(), "scores"_a, "gap_open"_a, "gap_extend"_a,
        "n_threads"_a, "level"_a,
        "The best score of a local alignment; scores: (equal, different), or a table, of which keys are the rows.");
  m.def("local_alignments", &local_alignments, "X"_a, "Y"_a.none(), "factors"_a, "factor_slopes"_a, "gaps"_a,
        "gap_slopes"_a, "answer"_a, "n_threads"_a, "level"_a, "Sum over all local alignments of products of factors.");
  m.def("global_alignments", &global_alignments, "points"_a.noconvert(), "X"_a, "Y"_a.none(), "width"_a, "triangle"_a,
        "answer"_a, "n_threads"_a, "level"_a, "Global alignment kernel of series; keys are rows of `points`.");
  m.def("common_substrings", &common_substrings, "X"_a, "Y"_a.none(), "weights"_a.noconvert(), "n_threads"_a,
        "All common substrings; weights[l] is the weight of one of each length up to l. Y=None: the diagonal.");
}

}  // namespace mercer::bind

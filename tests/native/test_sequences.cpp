// Sequences: pieces and their keys, dynamic programmes at every level against plain loops, suffix automata.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "check.hpp"
#include "mercer/alignment.hpp"
#include "mercer/kmers.hpp"
#include "mercer/level.hpp"
#include "mercer/sequences.hpp"
#include "mercer/subsequences.hpp"
#include "mercer/substrings.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

using Word = std::vector<std::uint64_t>;

struct Owned {
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> starts{0};

  explicit Owned(const std::vector<Word>& words) {
    for (const Word& word : words) {
      keys.insert(keys.end(), word.begin(), word.end());
      starts.push_back(static_cast<std::int64_t>(keys.size()));
    }
  }
  Sequences view() const { return {keys.data(), starts.data(), starts.size() - 1}; }
};

// Words of up to `longest` letters out of `letters`; some letters are not ASCII, some words are empty or repeated.
std::vector<Word> random_words(std::size_t n, std::size_t longest, std::size_t letters, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::vector<Word> words(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 5 == 4) {
      words[i] = words[i / 2];
      continue;
    }
    words[i].resize(i % 7 == 3 ? 0 : rng() % (longest + 1));
    for (std::uint64_t& symbol : words[i]) symbol = character_key + 120 + rng() % letters;
  }
  return words;
}

void test_keys() {
  // Equal pieces have equal keys, by rolling and one by one; different ones, of all lengths, have different keys.
  const Word s = random_words(1, 400, 12, 1)[0];
  std::map<Word, std::uint64_t> key_of;
  std::set<std::uint64_t> keys;
  for (const std::size_t p : {1u, 2u, 3u, 8u, 9u, 40u}) {
    for_each_piece(s.data(), s.size(), p, [&](std::size_t i, std::uint64_t key) {
      const Word piece(s.begin() + static_cast<std::ptrdiff_t>(i + 1 - p),
                       s.begin() + static_cast<std::ptrdiff_t>(i + 1));
      PieceKey whole;
      for (const std::uint64_t symbol : piece) whole.add(symbol);
      check(whole.key(0) == key);
      key_of.emplace(piece, key);
      check(key_of[piece] == key);
      keys.insert(key);
    });
  }
  check(keys.size() == key_of.size());
  for_each_piece(s.data(), 3, 4, [&](std::size_t, std::uint64_t) { check(false, "no piece fits"); });
}

void test_sorted_keys() {
  std::mt19937_64 rng(3);
  for (const std::size_t n : {0u, 1u, 100u, 20000u}) {
    std::vector<std::uint64_t> keys(n), room;
    for (std::uint64_t& key : keys) key = rng() >> (rng() % 2 * 30);
    std::vector<std::uint64_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    sort_keys(keys, room);
    check(keys == expected);
  }
}

// Pairs of subsequences of length p, with decay^gaps, by the definition over pairs of places.
double naive_gap_weighted(const Word& s, const Word& t, std::size_t p, double decay) {
  // ending[i][j]: of length l, with the last symbols at i and j
  std::vector<std::vector<double>> ending(s.size(), std::vector<double>(t.size()));
  for (std::size_t i = 0; i < s.size(); ++i) {
    for (std::size_t j = 0; j < t.size(); ++j) ending[i][j] = s[i] == t[j] ? 1.0 : 0.0;
  }
  for (std::size_t l = 1; l < p; ++l) {
    auto next = ending;
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t j = 0; j < t.size(); ++j) {
        next[i][j] = 0.0;
        for (std::size_t a = 0; s[i] == t[j] && a < i; ++a) {
          for (std::size_t b = 0; b < j; ++b)
            next[i][j] += std::pow(decay, double(i - a - 1 + j - b - 1)) * ending[a][b];
        }
      }
    }
    ending = next;
  }
  double sum = 0.0;
  for (const auto& row : ending) {
    for (const double value : row) sum += value;
  }
  return sum;
}

double inner(const FeatureList& features, std::size_t i, std::size_t j) {
  std::map<std::uint64_t, double> of_i;
  for (auto e = features.starts[i]; e < features.starts[i + 1]; ++e) {
    check(of_i.emplace(features.keys[std::size_t(e)], features.values[std::size_t(e)]).second, "a key stands once");
  }
  double sum = 0.0;
  for (auto e = features.starts[j]; e < features.starts[j + 1]; ++e) {
    const auto found = of_i.find(features.keys[std::size_t(e)]);
    if (found != of_i.end()) sum += found->second * features.values[std::size_t(e)];
  }
  return sum;
}

void test_listed_features() {
  const auto words = random_words(9, 9, 3, 7);
  const Owned xs(words);
  Team team(2);
  const double weights[] = {0.0, 2.0, 3.0};
  const FeatureList pieces = weighted_pieces(xs.view(), 3, weights, false, team);
  const FeatureList pairs = spectrum_features(xs.view(), 2, 2, team), threes = spectrum_features(xs.view(), 3, 3, team);
  for (const std::size_t p : {1u, 3u, 9u}) {
    const FeatureList features = subsequence_features(xs.view(), p, p, 0.7, team);
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t j = 0; j < words.size(); ++j) {
        const double expected = std::pow(0.7, double(2 * p)) * naive_gap_weighted(words[i], words[j], p, 0.7);
        check(close(inner(features, i, j), expected, 1e-12));
        check(close(inner(pieces, i, j), 4.0 * inner(pairs, i, j) + 9.0 * inner(threes, i, j), 1e-12));
      }
    }
  }
  const FeatureList all = subsequence_features(xs.view(), 0, 9, 1.0, team);
  for (std::size_t i = 0; i < words.size(); ++i) {
    double total = 0.0;
    for (auto e = all.starts[i]; e < all.starts[i + 1]; ++e) total += all.values[std::size_t(e)];
    check(total == std::ldexp(1.0, static_cast<int>(words[i].size())));
  }
}

void test_gap_weighted(const Level& level, std::size_t n_threads, std::size_t p, const std::vector<Word>& words,
                       const std::vector<Word>& others, const std::vector<double>& expected) {
  const Owned xs(words), ys(others);
  const GapSpec spec{p, 0.7, false};
  const std::size_t n = words.size(), m = others.size();
  std::vector<double> cross(n * m), square(n * n), back(n * m), diagonal(n), logs(n * m);
  Team team(n_threads);
  GapWeighted plain(spec, Answer::value, level, team.size()), log(spec, Answer::log, level, team.size());
  const auto run = [&](auto... given) { plain(given...); };
  const auto run_log = [&](auto... given) { log(given...); };
  sequence_matrix(xs.view(), ys.view(), false, Coding::equality, team, run, cross.data());
  sequence_matrix(ys.view(), xs.view(), false, Coding::equality, team, run, back.data());
  sequence_matrix(xs.view(), xs.view(), true, Coding::equality, team, run, square.data());
  sequence_diagonal(xs.view(), Coding::equality, team, run, diagonal.data());
  sequence_matrix(xs.view(), ys.view(), false, Coding::equality, team, run_log, logs.data());
  for (std::size_t i = 0; i < n; ++i) {
    check(diagonal[i] == square[i * n + i]);
    for (std::size_t j = 0; j < m; ++j) {
      check(close(cross[i * m + j], expected[i * m + j], 1e-12));
      check(cross[i * m + j] == back[j * n + i]);
      check(close(std::exp(logs[i * m + j]), expected[i * m + j], 1e-12));
    }
  }
}

void test_gap_weighted() {
  const auto words = random_words(19, 7, 3, 5), others = random_words(11, 7, 4, 6);
  for (const std::size_t p : {1u, 2u, 4u, 6u}) {
    std::vector<double> expected;
    for (const Word& s : words) {
      for (const Word& t : others) expected.push_back(naive_gap_weighted(s, t, p, 0.7));
    }
    for (const Level* level : supported_levels()) {
      for (const std::size_t n_threads : {1u, 3u}) test_gap_weighted(*level, n_threads, p, words, others, expected);
    }
  }
}

void test_wide_numbers() {
  // (1 + 1/2)^n by sums and products of numbers of any size
  WideNumber number = WideNumber::of(1.0);
  for (int n = 0; n < 5000; ++n) number = number + number.times(0.5);
  check(close(number.log(), 5000 * std::log(1.5), 1e-13));
  check(WideNumber().log() == -infinity);
  check(close((WideNumber() + WideNumber::of(3.0)).log(), std::log(3.0), 1e-15));
  // Of n and of m equal symbols: all ways to choose p of both.
  const std::vector<std::int64_t> s(40, 1), lanes(50 * sequence_lanes, 1);
  const double ways = std::lgamma(41.0) - std::lgamma(31.0) + std::lgamma(51.0) - std::lgamma(41.0);
  check(close(wide_gap_weighted({10, 1.0, false}, s.data(), 40, lanes.data(), 50, 3), ways - 2 * std::lgamma(11.0),
              1e-12));
  check(close(wide_all_subsequences(s.data(), 40, lanes.data(), 50, 0),
              std::lgamma(91.0) - std::lgamma(41.0) - std::lgamma(51.0), 1e-12));
}

void test_substrings() {
  const auto words = random_words(15, 12, 2, 7), others = random_words(9, 12, 3, 8);
  const Owned xs(words), ys(others);
  std::vector<double> weights(13, 0.0), out(words.size() * others.size()), diagonal(words.size());
  for (std::size_t l = 1; l < weights.size(); ++l) weights[l] = weights[l - 1] + 1.0 / static_cast<double>(l);
  Team team(2);
  common_substrings_matrix(xs.view(), ys.view(), false, weights.data(), team, out.data());
  common_substrings_diagonal(xs.view(), weights.data(), team, diagonal.data());
  const auto naive = [&](const Word& s, const Word& t) {
    double sum = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t j = 0; j < t.size(); ++j) {
        for (std::size_t l = 0; i + l < s.size() && j + l < t.size() && s[i + l] == t[j + l]; ++l) {
          sum += 1.0 / static_cast<double>(l + 1);
        }
      }
    }
    return sum;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    check(close(diagonal[i], naive(words[i], words[i]), 1e-12));
    for (std::size_t j = 0; j < others.size(); ++j) {
      check(close(out[i * others.size() + j], naive(words[i], others[j]), 1e-12));
    }
  }
}

// Alignments and equal places at every level: the same numbers, also the other way round and for a sample with itself.
void test_alignments() {
  const auto words = random_words(19, 9, 3, 9), others = random_words(11, 9, 4, 10);
  const Owned xs(words), ys(others);
  const std::size_t n = words.size(), m = others.size();
  const AlignmentSpec scores{{nullptr, 0, 2.0, -1.0}, {}, 1.5, 0.5};
  const AlignmentSpec factors{{nullptr, 0, 2.0, 0.5}, {nullptr, 0, 0.7, -0.1}, 0.3, 0.6, -0.2, -0.1};
  Team team(2);
  const auto all_ways = [&](auto make) {
    std::vector<double> first;
    for (const Level* level : supported_levels()) {
      auto programme = make(*level);
      const auto run = [&](auto... given) { programme(given...); };
      std::vector<double> cross(n * m), back(n * m), square(n * n), diagonal(n);
      sequence_matrix(xs.view(), ys.view(), false, Coding::equality, team, run, cross.data());
      sequence_matrix(ys.view(), xs.view(), false, Coding::equality, team, run, back.data());
      sequence_matrix(xs.view(), xs.view(), true, Coding::equality, team, run, square.data());
      sequence_diagonal(xs.view(), Coding::equality, team, run, diagonal.data());
      if (first.empty()) first = cross;
      for (std::size_t i = 0; i < n; ++i) {
        check(diagonal[i] == square[i * n + i]);
        for (std::size_t j = 0; j < m; ++j) {
          check(cross[i * m + j] == back[j * n + i]);
          check(close(cross[i * m + j], first[i * m + j], 1e-12));
        }
      }
    }
  };
  all_ways([&](const Level& level) { return LocalAlignment(scores, level, team.size()); });
  for (const Answer answer : {Answer::value, Answer::log, Answer::slope}) {
    all_ways([&](const Level& level) {
      return SumOverAlignments<AlignmentSpec>(factors, answer, level.sequences.local_alignments, team.size());
    });
  }
}

// Series: the sum over the three ways to align two points with two points, kappa = k / (2 - k).
void test_series() {
  const std::vector<double> points{0.0, 1.0, 0.5, 2.0};
  const Owned xs({Word{0, 1}, Word{2}, Word{}}), ys({Word{2, 3}, Word{}});
  const auto local = [&](std::size_t i, std::size_t j) {
    const double k = std::exp(-0.5 * (points[i] - points[j]) * (points[i] - points[j]));
    return k / (2.0 - k);
  };
  for (const Level* level : supported_levels()) {
    Team team(2);
    const SeriesSpec spec{points.data(), 1, 1.0, 0.0};
    SumOverAlignments<SeriesSpec> programme(spec, Answer::value, level->sequences.global_alignments, team.size());
    std::vector<double> out(6);
    sequence_matrix(
        xs.view(), ys.view(), false, Coding::table, team, [&](auto... given) { programme(given...); }, out.data());
    check(close(out[0], local(0, 2) * (1.0 + local(1, 2) + local(0, 3)) * local(1, 3), 1e-14));
    check(close(out[2], local(2, 2) * local(2, 3), 1e-14));
    check(out[1] == 0.0 && out[3] == 0.0 && out[4] == 0.0 && out[5] == 1.0);
  }
}

void test_weighted_degree() {
  const std::uint64_t a = 1, b = 2;
  const Owned xs({Word{a, b, a, a}, Word{a, b, b, a}, Word{b, b, b, b}});
  Team team(2);
  for (const Level* level : supported_levels()) {
    WeightedDegree programme(2, 0, *level);
    std::vector<double> out(9);
    sequence_matrix(
        xs.view(), xs.view(), true, Coding::equality, team, [&](auto... given) { programme(given...); }, out.data());
    // every equal symbol counts 2, every equal pair 1
    check(out == std::vector<double>{11.0, 7.0, 2.0, 7.0, 11.0, 5.0, 2.0, 5.0, 11.0});
  }
}

void test_no_samples() {
  const Owned none({}), one({Word{1, 2, 3}});
  Team team(2);
  const GapSpec spec{2, 0.5, false};
  GapWeighted plain(spec, Answer::value, find_level(""), team.size());
  const auto run = [&](auto... given) { plain(given...); };
  double value = -1.0;
  sequence_matrix(none.view(), one.view(), false, Coding::equality, team, run, &value);
  sequence_matrix(one.view(), none.view(), false, Coding::equality, team, run, &value);
  sequence_diagonal(none.view(), Coding::equality, team, run, &value);
  check(value == -1.0);
  check(spectrum_features(none.view(), 1, 2, team).starts.size() == 1);
  check(spectrum_features(one.view(), 2, 9, team).keys.size() == 3);
}

}  // namespace

void run_sequences_tests() {
  test_keys();
  test_sorted_keys();
  test_listed_features();
  test_gap_weighted();
  test_wide_numbers();
  test_substrings();
  test_alignments();
  test_series();
  test_weighted_degree();
  test_no_samples();
}

}  // namespace mercer::tests

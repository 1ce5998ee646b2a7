// Parses by weighted grammars against what can be counted by hand.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "mercer/cky.hpp"
#include "mercer/parallel.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

// S -> S S (rule 0), S -> T (1), T -> a (2), T -> b (3), U -> b (4), S -> U (5); U is 2, and nothing helps.
struct Pairs {
  std::vector<std::int32_t> symbol_labels{0, 1, 2}, heads{0}, lefts{0}, rights{0}, binary_rules{0}, by_head{0};
  std::vector<std::int64_t> right_starts{0, 1, 1, 1}, head_starts{0, 1, 1, 1};
  std::vector<std::int32_t> unary_heads{0, 0}, children{1, 2}, unary_rules{1, 5}, unary_labels{0, 0};
  std::vector<std::int64_t> unary_starts{0, 1, 2}, word_starts{0, 1, 3};
  std::vector<std::int32_t> word_symbols{1, 1, 2}, word_rules{2, 3, 4};
  ParsingGrammar view{3,
                      3,
                      0,
                      2,
                      6,
                      3,
                      symbol_labels.data(),
                      right_starts.data(),
                      head_starts.data(),
                      heads.data(),
                      lefts.data(),
                      rights.data(),
                      binary_rules.data(),
                      by_head.data(),
                      2,
                      unary_heads.data(),
                      children.data(),
                      unary_rules.data(),
                      unary_labels.data(),
                      unary_starts.data(),
                      unary_starts.data(),
                      word_starts.data(),
                      word_symbols.data(),
                      word_rules.data()};
};

const std::vector<double> weights{1.0, 0.5, 2.0, 0.0, 0.25, 0.5};
using Rules = std::vector<std::int32_t>;

void test_parses() {
  const Pairs pairs;
  // "a", "a b", nothing, "? b", "b a b"
  const std::vector<std::int32_t> words{0, 0, 1, -1, 1, 1, 0, 1};
  const std::vector<std::int64_t> starts{0, 1, 3, 3, 5, 8};
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    const Sentences x{words.data(), starts.data(), 5};
    const std::vector<Parse> found = parse_sentences(pairs.view, weights.data(), x, Search::best, team);
    check(found[0].rules == Rules{1, 2} && found[0].score == 2.5);
    check(found[0].constituents == std::vector<std::int64_t>{constituent(0, 1, 0), constituent(0, 1, 1)});
    check(found[1].rules == Rules{0, 1, 2, 5, 4} && found[1].score == 4.25);
    check(!found[2].found() && !found[3].found() && found[3].score == -infinity);
    check(found[4].score == 0.75 + 2.5 + 0.75 + 2.0 && found[4].constituents.size() == 8);
    const std::vector<Parse> covers = parse_sentences(pairs.view, weights.data(), x, Search::partial, team);
    check(covers[3].rules == Rules{-1, 5, 4} && covers[3].score == 0.75);
    check(covers[4].rules == found[4].rules);
  }
}

void test_the_best_but_one() {
  const Pairs pairs;
  Team team(1);
  const std::vector<std::int32_t> words{0, 1};
  const std::vector<std::int64_t> starts{0, 2}, length{0, 5};
  Sentences x{words.data(), starts.data(), 1};
  const Rules best{0, 1, 2, 5, 4}, next{0, 1, 2, 1, 3};
  x.rule_starts = length.data();
  x.rules = best.data();
  const Parse other = parse_sentences(pairs.view, weights.data(), x, Search::other, team)[0];
  check(other.rules == next && other.score == 4.0);
  x.rules = next.data();
  check(parse_sentences(pairs.view, weights.data(), x, Search::other, team)[0].rules == best);
  // "a" has one parse alone.
  const std::vector<std::int64_t> first{0, 1}, two{0, 2};
  const Rules only{1, 2};
  Sentences a{words.data(), first.data(), 1};
  a.rules = only.data();
  a.rule_starts = two.data();
  check(!parse_sentences(pairs.view, weights.data(), a, Search::other, team)[0].found());
}

void test_losses() {
  const Pairs pairs;
  Team team(1);
  const std::vector<std::int32_t> words{0, 1};
  const std::vector<std::int64_t> starts{0, 2}, five{0, 5};
  const std::vector<double> weak(6, 0.0);
  Sentences x{words.data(), starts.data(), 1};
  // The parse with T above b is right: that with U has one constituent that is wrong, and one less that is right.
  const Parse right = [&] {
    std::vector<double> strong(6, 0.0);
    strong[3] = 1.0;
    return parse_sentences(pairs.view, strong.data(), x, Search::best, team)[0];
  }();
  check(right.rules == Rules{0, 1, 2, 1, 3});
  x.constituents = right.constituents.data();
  x.constituent_starts = five.data();
  const Parse worst = parse_sentences(pairs.view, weak.data(), x, Search::best, team)[0];
  check(worst.rules == Rules{0, 1, 2, 5, 4} && worst.score == -3.0);
}

}  // namespace

void run_cky_tests() {
  test_parses();
  test_the_best_but_one();
  test_losses();
}

}  // namespace mercer::tests

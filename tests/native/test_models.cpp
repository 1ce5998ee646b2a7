// Hidden Markov models and grammars against all paths and all parses; sums over sets.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "mercer/grammar.hpp"
#include "mercer/hidden_markov.hpp"
#include "mercer/parallel.hpp"
#include "mercer/sets.hpp"
#include "tests.hpp"

namespace mercer::tests {
namespace {

const std::vector<double> start{0.4, 0.6}, transition{0.8, 0.2, 0.3, 0.7}, emission{0.2, 0.3, 0.5, 0.6, 0.3, 0.1};
const HiddenMarkov coins{2, 3, start.data(), transition.data(), emission.data()};

void test_hidden_markov() {
  const std::vector<std::int32_t> letters{0, 1, 2, 2, 0, 1, 1};
  const std::vector<std::int64_t> starts{0, 5, 5, 6, 7};
  const Sequences x{letters.data(), starts.data(), 4};
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    std::vector<double> logs(4), firsts(8), moves(16), emitted(24), alone(4), pair_logs(4);
    hidden_markov_counts(coins, x, team, {logs.data(), firsts.data(), moves.data(), emitted.data()});
    hidden_markov_counts(coins, x, team, {alone.data(), nullptr, nullptr, nullptr});
    check(logs == alone);
    double total = 0.0, first = 0.0, stays = 0.0, letter = 0.0;
    for (unsigned path = 0; path < 32; ++path) {
      const auto state = [&](std::size_t t) { return (path >> t) & 1u; };
      double p = start[state(0)];
      for (std::size_t t = 0; t < 5; ++t) {
        if (t > 0) p *= transition[state(t - 1) * 2 + state(t)];
        p *= emission[state(t) * 3 + static_cast<std::size_t>(letters[t])];
      }
      total += p;
      first += state(0) == 1 ? p : 0.0;
      for (std::size_t t = 0; t < 5; ++t) {
        stays += t > 0 && state(t - 1) == 0 && state(t) == 0 ? p : 0.0;
        letter += letters[t] == 2 && state(t) == 0 ? p : 0.0;
      }
    }
    check(close(logs[0], std::log(total), 1e-13) && logs[1] == 0.0);
    check(close(firsts[1], first / total, 1e-13) && close(moves[0], stays / total, 1e-13));
    check(close(emitted[2], letter / total, 1e-13));
    std::vector<std::vector<std::uint64_t>> keys;
    std::vector<std::vector<double>> values;
    hidden_markov_pairs(coins, x, team, pair_logs.data(), keys, values);
    double pairs = 0.0;
    for (const double value : values[0]) pairs += value;
    check(close(pairs, 4.0, 1e-13) && keys[0].size() == 16 && keys[1].empty() && keys[2].empty());
  }
  const std::vector<double> never{1.0, 0.0, 0.0, 1.0, 0.0, 0.0};
  const HiddenMarkov strict{2, 3, start.data(), transition.data(), never.data()};
  Team team(1);
  std::vector<double> logs(4), firsts(8), moves(16), emitted(24);
  hidden_markov_counts(strict, x, team, {logs.data(), firsts.data(), moves.data(), emitted.data()});
  check(logs[0] == -infinity && moves[0] == 0.0 && emitted[0] == 0.0);
}

// S -> S S (0.4) | a (0.6): the parses of n letters are the binary trees, a Catalan number of them.
void test_grammar() {
  const std::vector<std::int32_t> zero{0};
  const std::vector<double> split{0.4}, lexical{0.6};
  const Grammar grammar{1, 1, 1, 0, zero.data(), zero.data(), zero.data(), split.data(), lexical.data()};
  const std::vector<std::int32_t> letters(250, 0);
  const std::vector<std::int64_t> starts{0, 1, 6, 6};
  std::vector<double> logs(3), rules(3), words(3), alone(3);
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    grammar_counts(grammar, {letters.data(), starts.data(), 3}, team, logs.data(), rules.data(), words.data());
    check(close(logs[0], std::log(0.6), 1e-14) &&
          close(logs[1], std::log(14 * std::pow(0.4, 4) * std::pow(0.6, 5)), 1e-14));
    check(logs[2] == -infinity && rules[2] == 0.0 && words[2] == 0.0);
    check(close(rules[1], 4.0, 1e-14) && close(words[1], 5.0, 1e-14) && rules[0] == 0.0 && words[0] == 1.0);
    grammar_counts(grammar, {letters.data(), starts.data(), 3}, team, alone.data(), nullptr, nullptr);
    check(alone == logs);
  }
  // 250 letters have a probability far below the smallest number if each is rare
  const std::vector<double> rare{1e-3};
  const Grammar improbable{1, 1, 1, 0, zero.data(), zero.data(), zero.data(), split.data(), rare.data()};
  const std::vector<std::int64_t> long_one{0, 250};
  Team team(1);
  grammar_counts(improbable, {letters.data(), long_one.data(), 1}, team, logs.data(), rules.data(), words.data());
  const double catalan = std::lgamma(499.0) - 2.0 * std::lgamma(250.0) - std::log(250.0);
  check(close(logs[0], catalan + 249 * std::log(0.4) + 250 * std::log(1e-3), 1e-12));
  check(close(rules[0], 249.0, 1e-10) && close(words[0], 250.0, 1e-10));
}

void test_sums_over_sets() {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> normal;
  const std::size_t rows = 23, columns = 700;
  std::vector<double> values(rows * columns);
  for (double& value : values) value = normal(rng);
  std::vector<std::int64_t> row_sets, column_sets;
  for (std::size_t a = 0; a < rows; ++a) row_sets.push_back(static_cast<std::int64_t>(a / 5));
  for (std::size_t b = 0; b < columns; ++b) column_sets.push_back(static_cast<std::int64_t>(b / 9));
  const std::size_t n = 5, m = 78;
  std::vector<double> naive_rows(rows * m), naive_columns(n * columns);
  for (std::size_t a = 0; a < rows; ++a) {
    for (std::size_t b = 0; b < columns; ++b) {
      naive_rows[a * m + b / 9] += values[a * columns + b];
      naive_columns[a / 5 * columns + b] += values[a * columns + b];
    }
  }
  for (const std::size_t n_threads : {1u, 3u}) {
    Team team(n_threads);
    std::vector<double> by_row(rows * m), by_column(n * columns), sums(n * m), naive_sums(n * m);
    add_to_sums({values.data(), rows, columns, row_sets.data(), column_sets.data()}, m, team, by_row.data(),
                by_column.data());
    check(by_row == naive_rows && by_column == naive_columns);
    add_rows_by_set(by_row.data(), rows, m, row_sets.data(), sums.data());
    for (std::size_t a = 0; a < rows; ++a) {
      for (std::size_t c = 0; c < m; ++c) naive_sums[a / 5 * m + c] += naive_rows[a * m + c];
    }
    check(sums == naive_sums);
    add_to_sums({values.data(), 0, 0, nullptr, nullptr}, 0, team, nullptr, nullptr);
  }
}

}  // namespace

void run_models_tests() {
  test_hidden_markov();
  test_grammar();
  test_sums_over_sets();
}

}  // namespace mercer::tests

// Stochastic context-free grammars in Chomsky normal form: likelihoods, and how often rules are expected to be used.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hidden_markov.hpp"
#include "parallel.hpp"

namespace mercer {

// Rule r: head -> left right with a probability; lexical[symbol, letter]: symbol -> letter. All begins with `start`.
struct Grammar {
  std::size_t symbols = 0, letters = 0, rules = 0, start = 0;
  const std::int32_t *heads = nullptr, *lefts = nullptr, *rights = nullptr;
  const double *probabilities = nullptr, *lexical = nullptr;
};

// A row of numbers, one for every symbol, for every span of a sequence: those from a place on stand together, and, in a
// second copy, those up to a place, since both are walked along. The numbers of a span share a power of two, so that no
// length underflows; powers of two are exact.
class Spans {
 public:
  static constexpr std::int64_t empty = std::numeric_limits<std::int64_t>::min() / 8;

  struct Walk {  // the spans from one place on by their end, or up to one place by their beginning
    const double* numbers;
    const std::int64_t* powers;
    std::size_t symbols;
    const double* operator[](std::size_t k) const { return numbers + k * symbols; }
    std::int64_t power(std::size_t k) const { return powers[k]; }
  };

  void reset(std::size_t length, std::size_t symbols) {
    side_ = length + 1;
    symbols_ = symbols;
    for (auto* numbers : {&from_, &to_}) numbers->assign(side_ * side_ * symbols, 0.0);
    for (auto* powers : {&powers_from_, &powers_to_}) powers->assign(side_ * side_, empty);
  }

  Walk from(std::size_t i) const { return {&from_[i * side_ * symbols_], &powers_from_[i * side_], symbols_}; }
  Walk to(std::size_t j) const { return {&to_[j * side_ * symbols_], &powers_to_[j * side_], symbols_}; }

  // The sums, times 2^power, become the numbers of the span from i to before j, the largest between 1/2 and 1.
  void store(std::size_t i, std::size_t j, const std::vector<double>& sums, std::int64_t power) {
    const double largest = *std::max_element(sums.begin(), sums.end());
    if (!(largest > 0.0)) return;
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (std::size_t s = 0; s < symbols_; ++s) {
      const double number = std::ldexp(sums[s], -exponent);
      from_[(i * side_ + j) * symbols_ + s] = number;
      to_[(j * side_ + i) * symbols_ + s] = number;
    }
    powers_from_[i * side_ + j] = powers_to_[j * side_ + i] = power + exponent;
  }

 private:
  std::size_t side_ = 0, symbols_ = 0;
  std::vector<double> from_, to_;
  std::vector<std::int64_t> powers_from_, powers_to_;
};

// The inside-outside algorithm.
class InsideOutside {
 public:
  explicit InsideOutside(const Grammar& grammar) : grammar_(grammar), sums_(grammar.symbols) {}

  // The logarithm of the probability of a sequence.
  double inside(const std::int32_t* letters, std::size_t length) {
    length_ = length;
    if (length == 0) return -std::numeric_limits<double>::infinity();
    inside_.reset(length, grammar_.symbols);
    for (std::size_t size = 1; size <= length; ++size) {
      for (std::size_t i = 0; i + size <= length; ++i) {
        const std::size_t j = i + size;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        if (size == 1) {
          for (std::size_t s = 0; s < grammar_.symbols; ++s) sums_[s] = grammar_.lexical[lexical_place(s, letters[i])];
          inside_.store(i, j, sums_, 0);
          continue;
        }
        const std::int64_t power =
            add(inside_.from(i), inside_.to(j), i + 1, j, [&](auto left, auto right, double scale) {
              for (std::size_t r = 0; r < grammar_.rules; ++r) {
                sums_[head(r)] += scale * grammar_.probabilities[r] * left[this->left(r)] * right[this->right(r)];
              }
            });
        inside_.store(i, j, sums_, power);
      }
    }
    const double whole = inside_.from(0)[length][grammar_.start];
    if (!(whole > 0.0)) return -std::numeric_limits<double>::infinity();
    return std::log(whole) + static_cast<double>(inside_.from(0).power(length)) * std::log(2.0);
  }

  // Expected numbers of uses of every rule and of every lexical rule, after `inside`, for a sequence that is possible.
  void counts(const std::int32_t* letters, double* rules, double* lexical) {
    outside();
    const double whole = inside_.from(0)[length_][grammar_.start];
    const std::int64_t power = inside_.from(0).power(length_);
    std::fill_n(rules, grammar_.rules, 0.0);
    std::fill_n(lexical, grammar_.symbols * grammar_.letters, 0.0);
    for (std::size_t i = 0; i < length_; ++i) {
      const Spans::Walk outer = outside_.from(i), lefts = inside_.from(i);
      const double alone = two_to(outer.power(i + 1), power) / whole;
      for (std::size_t s = 0; s < grammar_.symbols; ++s) {
        const std::size_t e = lexical_place(s, letters[i]);
        lexical[e] += alone * outer[i + 1][s] * grammar_.lexical[e];
      }
      for (std::size_t j = i + 2; j <= length_; ++j) {
        if (outer.power(j) == Spans::empty) continue;
        const Spans::Walk rights = inside_.to(j);
        for (std::size_t k = i + 1; k < j; ++k) {
          const std::int64_t here = joint(outer.power(j), joint(lefts.power(k), rights.power(k)));
          const double scale = two_to(here, power) / whole;
          if (scale == 0.0) continue;
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            const double inner = grammar_.probabilities[r] * lefts[k][left(r)] * rights[k][right(r)];
            rules[r] += scale * outer[j][head(r)] * inner;
          }
        }
      }
    }
  }

 private:
  std::size_t head(std::size_t r) const { return static_cast<std::size_t>(grammar_.heads[r]); }
  std::size_t left(std::size_t r) const { return static_cast<std::size_t>(grammar_.lefts[r]); }
  std::size_t right(std::size_t r) const { return static_cast<std::size_t>(grammar_.rights[r]); }
  std::size_t lexical_place(std::size_t symbol, std::int32_t letter) const {
    return symbol * grammar_.letters + static_cast<std::size_t>(letter);
  }

  static std::int64_t joint(std::int64_t a, std::int64_t b) {
    return a == Spans::empty || b == Spans::empty ? Spans::empty : a + b;
  }
  // 2^(power - reference); nothing where there is nothing, or where it is lost beside the reference
  static double two_to(std::int64_t power, std::int64_t reference) {
    if (power == Spans::empty || power - reference < -1022) return 0.0;
    const std::int64_t exponent = std::min<std::int64_t>(power - reference, 1023);
    return std::bit_cast<double>((exponent + 1023) << 52);  // many times faster than ldexp
  }

  // term(a[k], b[k], scale) for the spans a[k] and b[k], first <= k < last, that are not empty; the scale is that of
  // both beside the largest, whose power is returned.
  template <class Term>
  static std::int64_t add(const Spans::Walk& a, const Spans::Walk& b, std::size_t first, std::size_t last, Term term,
                          std::int64_t power = Spans::empty) {
    for (std::size_t k = first; k < last; ++k) power = std::max(power, joint(a.power(k), b.power(k)));
    for (std::size_t k = first; k < last; ++k) {
      if (const double scale = two_to(joint(a.power(k), b.power(k)), power); scale != 0.0) term(a[k], b[k], scale);
    }
    return power;
  }

  void outside() {
    outside_.reset(length_, grammar_.symbols);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    sums_[grammar_.start] = 1.0;
    outside_.store(0, length_, sums_, 0);
    for (std::size_t size = length_ - 1; size > 0; --size) {
      for (std::size_t i = 0; i + size <= length_; ++i) {
        const std::size_t j = i + size;
        const Spans::Walk above_right = outside_.from(i), sibling_right = inside_.from(j);
        const Spans::Walk above_left = outside_.to(j), sibling_left = inside_.to(i);
        // Both sums are to have the same power.
        std::int64_t power = Spans::empty;
        for (std::size_t k = 0; k < i; ++k) power = std::max(power, joint(above_left.power(k), sibling_left.power(k)));
        std::fill(sums_.begin(), sums_.end(), 0.0);
        const auto on_the_left = [&](auto outer, auto sibling, double scale) {
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            sums_[left(r)] += scale * grammar_.probabilities[r] * outer[head(r)] * sibling[right(r)];
          }
        };
        const auto on_the_right = [&](auto outer, auto sibling, double scale) {
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            sums_[right(r)] += scale * grammar_.probabilities[r] * outer[head(r)] * sibling[left(r)];
          }
        };
        power = add(above_right, sibling_right, j + 1, length_ + 1, on_the_left, power);
        if (power == Spans::empty) continue;
        add(above_left, sibling_left, 0, i, on_the_right, power);
        outside_.store(i, j, sums_, power);
      }
    }
  }

  const Grammar& grammar_;
  std::size_t length_ = 0;
  Spans inside_, outside_;
  std::vector<double> sums_;
};

// logarithms[i] of every sequence and, unless they are null, rules[i, r] and lexical[i, symbol, letter]; threads over
// sequences.
inline void grammar_counts(const Grammar& grammar, const Sequences& x, Team& team, double* logarithms, double* rules,
                           double* lexical) {
  std::vector<InsideOutside> workers(team.size(), InsideOutside(grammar));
  const std::size_t n_lexical = grammar.symbols * grammar.letters;
  team.for_each(x.rows, [&](std::size_t i, std::size_t worker) {
    logarithms[i] = workers[worker].inside(x.begin(i), x.length(i));
    if (rules == nullptr) return;
    if (std::isfinite(logarithms[i])) {
      workers[worker].counts(x.begin(i), rules + i * grammar.rules, lexical + i * n_lexical);
    } else {
      std::fill_n(rules + i * grammar.rules, grammar.rules, 0.0);
      std::fill_n(lexical + i * n_lexical, n_lexical, 0.0);
    }
  });
}

}  // namespace mercer

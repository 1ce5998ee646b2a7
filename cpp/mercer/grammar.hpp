// Stochastic context-free grammars in Chomsky normal form: likelihoods, and how often rules are expected to be used.
#pragma once

#include <algorithm>
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

// The inside-outside algorithm. A span has a number for every symbol, times a power of two of its own, so that no
// length underflows; powers of two are exact.
class InsideOutside {
 public:
  explicit InsideOutside(const Grammar& grammar) : grammar_(grammar) {}

  // The logarithm of the probability of a sequence.
  double inside(const std::int32_t* letters, std::size_t length) {
    length_ = length;
    const std::size_t n = grammar_.symbols;
    inside_.assign(length * (length + 1) / 2 * n, 0.0);
    inside_power_.assign(length * (length + 1) / 2, empty);
    if (length == 0) return -std::numeric_limits<double>::infinity();
    sums_.resize(n);
    for (std::size_t size = 1; size <= length; ++size) {
      for (std::size_t i = 0; i + size <= length; ++i) {
        const std::size_t j = i + size;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::int64_t power = 0;
        if (size == 1) {
          for (std::size_t s = 0; s < n; ++s) sums_[s] = grammar_.lexical[s * grammar_.letters + letter(letters, i)];
        } else {
          power = empty;
          for (std::size_t k = i + 1; k < j; ++k)
            power = std::max(power, joint(inside_power(i, k), inside_power(k, j)));
          for (std::size_t k = i + 1; k < j; ++k) {
            const double scale = two_to(joint(inside_power(i, k), inside_power(k, j)), power);
            if (scale == 0.0) continue;
            const double *left = span(inside_, i, k), *right = span(inside_, k, j);
            for (std::size_t r = 0; r < grammar_.rules; ++r) {
              sums_[head(r)] += scale * grammar_.probabilities[r] * left[this->left(r)] * right[this->right(r)];
            }
          }
        }
        store(power, i, j, inside_, inside_power_);
      }
    }
    const double whole = span(inside_, 0, length)[grammar_.start];
    if (!(whole > 0.0)) return -std::numeric_limits<double>::infinity();
    return std::log(whole) + static_cast<double>(inside_power(0, length)) * std::log(2.0);
  }

  // Expected numbers of uses of every rule and of every lexical rule, after `inside`, for a sequence that is possible.
  void counts(const std::int32_t* letters, double* rules, double* lexical) {
    outside();
    const std::size_t n = grammar_.symbols, length = length_;
    const double whole = span(inside_, 0, length)[grammar_.start];
    const std::int64_t power = inside_power(0, length);
    std::fill_n(rules, grammar_.rules, 0.0);
    std::fill_n(lexical, n * grammar_.letters, 0.0);
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t j = i + 1; j <= length; ++j) {
        const std::int64_t above = outside_power_[cell(i, j)];
        if (above == empty) continue;
        const double* outer = span(outside_, i, j);
        if (j == i + 1) {
          const double scale = two_to(above, power) / whole;
          for (std::size_t s = 0; s < n; ++s) {
            const std::size_t e = s * grammar_.letters + letter(letters, i);
            lexical[e] += scale * outer[s] * grammar_.lexical[e];
          }
        }
        for (std::size_t k = i + 1; k < j; ++k) {
          const double scale = two_to(joint(above, joint(inside_power(i, k), inside_power(k, j))), power) / whole;
          if (scale == 0.0) continue;
          const double *left = span(inside_, i, k), *right = span(inside_, k, j);
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            rules[r] +=
                scale * outer[head(r)] * grammar_.probabilities[r] * left[this->left(r)] * right[this->right(r)];
          }
        }
      }
    }
  }

 private:
  static constexpr std::int64_t empty = std::numeric_limits<std::int64_t>::min() / 8;

  std::size_t head(std::size_t r) const { return static_cast<std::size_t>(grammar_.heads[r]); }
  std::size_t left(std::size_t r) const { return static_cast<std::size_t>(grammar_.lefts[r]); }
  std::size_t right(std::size_t r) const { return static_cast<std::size_t>(grammar_.rights[r]); }
  static std::size_t letter(const std::int32_t* letters, std::size_t i) { return static_cast<std::size_t>(letters[i]); }

  // The place of the span from i to before j.
  std::size_t cell(std::size_t i, std::size_t j) const { return i * (2 * length_ - i + 1) / 2 + (j - i - 1); }
  const double* span(const std::vector<double>& of, std::size_t i, std::size_t j) const {
    return &of[cell(i, j) * grammar_.symbols];
  }
  std::int64_t inside_power(std::size_t i, std::size_t j) const { return inside_power_[cell(i, j)]; }
  std::int64_t outside_power(std::size_t i, std::size_t j) const { return outside_power_[cell(i, j)]; }

  static std::int64_t joint(std::int64_t a, std::int64_t b) { return a == empty || b == empty ? empty : a + b; }
  // 2^(power - reference); nothing where there is nothing, or where it is lost beside the reference
  static double two_to(std::int64_t power, std::int64_t reference) {
    if (power == empty) return 0.0;
    return std::ldexp(1.0, static_cast<int>(std::clamp<std::int64_t>(power - reference, -1100, 1000)));
  }

  // The sums, times 2^power, become the numbers of a span, the largest of them between 1/2 and 1.
  void store(std::int64_t power, std::size_t i, std::size_t j, std::vector<double>& of,
             std::vector<std::int64_t>& powers) {
    const double largest = *std::max_element(sums_.begin(), sums_.end());
    if (!(largest > 0.0)) return;
    int exponent = 0;
    std::frexp(largest, &exponent);
    double* numbers = &of[cell(i, j) * grammar_.symbols];
    for (std::size_t s = 0; s < grammar_.symbols; ++s) numbers[s] = std::ldexp(sums_[s], -exponent);
    powers[cell(i, j)] = power + exponent;
  }

  void outside() {
    const std::size_t n = grammar_.symbols, length = length_;
    outside_.assign(inside_.size(), 0.0);
    outside_power_.assign(inside_power_.size(), empty);
    outside_[cell(0, length) * n + grammar_.start] = 1.0;
    outside_power_[cell(0, length)] = 0;
    for (std::size_t size = length - 1; size > 0; --size) {
      for (std::size_t i = 0; i + size <= length; ++i) {
        const std::size_t j = i + size;
        std::int64_t power = empty;
        for (std::size_t k = j + 1; k <= length; ++k)
          power = std::max(power, joint(outside_power(i, k), inside_power(j, k)));
        for (std::size_t k = 0; k < i; ++k) power = std::max(power, joint(outside_power(k, j), inside_power(k, i)));
        if (power == empty) continue;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (std::size_t k = j + 1; k <= length; ++k) {  // on the left of a rule
          const double scale = two_to(joint(outside_power(i, k), inside_power(j, k)), power);
          if (scale == 0.0) continue;
          const double *outer = span(outside_, i, k), *sibling = span(inside_, j, k);
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            sums_[left(r)] += scale * grammar_.probabilities[r] * outer[head(r)] * sibling[right(r)];
          }
        }
        for (std::size_t k = 0; k < i; ++k) {  // on the right
          const double scale = two_to(joint(outside_power(k, j), inside_power(k, i)), power);
          if (scale == 0.0) continue;
          const double *outer = span(outside_, k, j), *sibling = span(inside_, k, i);
          for (std::size_t r = 0; r < grammar_.rules; ++r) {
            sums_[right(r)] += scale * grammar_.probabilities[r] * outer[head(r)] * sibling[left(r)];
          }
        }
        store(power, i, j, outside_, outside_power_);
      }
    }
  }

  const Grammar& grammar_;
  std::size_t length_ = 0;
  std::vector<double> inside_, outside_, sums_;
  std::vector<std::int64_t> inside_power_, outside_power_;
};

// logarithms[i], rules[i, r] and lexical[i, symbol, letter] of every sequence, threads over sequences.
inline void grammar_counts(const Grammar& grammar, const Sequences& x, Team& team, double* logarithms, double* rules,
                           double* lexical) {
  std::vector<InsideOutside> workers(team.size(), InsideOutside(grammar));
  const std::size_t n_lexical = grammar.symbols * grammar.letters;
  team.for_each(x.rows, [&](std::size_t i, std::size_t worker) {
    logarithms[i] = workers[worker].inside(x.begin(i), x.length(i));
    if (std::isfinite(logarithms[i])) {
      workers[worker].counts(x.begin(i), rules + i * grammar.rules, lexical + i * n_lexical);
    } else {
      std::fill_n(rules + i * grammar.rules, grammar.rules, 0.0);
      std::fill_n(lexical + i * n_lexical, n_lexical, 0.0);
    }
  });
}

}  // namespace mercer

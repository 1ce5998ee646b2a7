// Hidden Markov models over letters: likelihoods, and the counts that are expected of hidden paths given a sequence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// Sequences of letters, one after the other; sequence i has the places starts[i] to starts[i + 1].
struct Sequences {
  const std::int32_t* letters = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t rows = 0;

  const std::int32_t* begin(std::size_t i) const { return letters + starts[i]; }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1] - starts[i]); }
};

// Probabilities of first states, of the next state [state, next] and of letters [state, letter].
struct HiddenMarkov {
  std::size_t states = 0, letters = 0;
  const double *start = nullptr, *transition = nullptr, *emission = nullptr;
};

// The forward-backward algorithm, with every step scaled to sum to one, so that no length underflows.
class ForwardBackward {
 public:
  explicit ForwardBackward(const HiddenMarkov& model)
      : model_(model), forward_to_(model.states * model.states), of_letter_(model.states * model.letters) {
    const std::size_t n = model.states;
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t t = 0; t < n; ++t) forward_to_[t * n + s] = model.transition[s * n + t];
      for (std::size_t a = 0; a < model.letters; ++a) of_letter_[a * n + s] = model.emission[s * model.letters + a];
    }
  }

  // The logarithm of the probability of a sequence.
  double forward(const std::int32_t* letters, std::size_t length) {
    const std::size_t n = model_.states;
    alpha_.resize(length * n);
    scales_.resize(length);
    double logarithm = 0.0;
    for (std::size_t t = 0; t < length; ++t) {
      double* alpha = &alpha_[t * n];
      const double* letter = &of_letter_[static_cast<std::size_t>(letters[t]) * n];
      if (t == 0) {
        std::copy_n(model_.start, n, alpha);
      } else {
        std::fill_n(alpha, n, 0.0);
        for (std::size_t s = 0; s < n; ++s) {
          const double weight = alpha[s - n];  // of the step before
          const double* next = model_.transition + s * n;
          for (std::size_t u = 0; u < n; ++u) alpha[u] += weight * next[u];
        }
      }
      double sum = 0.0;
      for (std::size_t s = 0; s < n; ++s) sum += alpha[s] *= letter[s];
      if (!(sum > 0.0)) return -std::numeric_limits<double>::infinity();
      for (std::size_t s = 0; s < n; ++s) alpha[s] /= sum;
      scales_[t] = sum;
      logarithm += std::log(sum);
    }
    return logarithm;
  }

  // After `forward`, for a sequence that is possible, what is ahead; counts are those of this sequence then.
  void backward(const std::int32_t* letters, std::size_t length) {
    const std::size_t n = model_.states;
    ahead_.resize(length * n);
    gamma_.resize(length * n);
    // gamma_t(s) = alpha_t(s) beta_t(s), the probability of the state given the sequence;
    // ahead_t(u) = p(x_t | u) beta_t(u) / c_t, with which that of two states is alpha_{t-1}(s) p(u | s) ahead_t(u).
    std::vector<double>& beta = room_;
    beta.assign(n, 1.0);
    for (std::size_t t = length; t-- > 0;) {
      double* ahead = &ahead_[t * n];
      const double* letter = &of_letter_[static_cast<std::size_t>(letters[t]) * n];
      for (std::size_t s = 0; s < n; ++s) {
        gamma_[t * n + s] = alpha_[t * n + s] * beta[s];
        ahead[s] = letter[s] * beta[s] / scales_[t];
      }
      if (t == 0) break;
      std::fill(beta.begin(), beta.end(), 0.0);
      for (std::size_t u = 0; u < n; ++u) {
        const double weight = ahead[u];
        const double* from = &forward_to_[u * n];
        for (std::size_t s = 0; s < n; ++s) beta[s] += weight * from[s];
      }
    }
  }

  // Expected numbers of first states, of transitions and of letters in states, added to nothing.
  void counts(const std::int32_t* letters, std::size_t length, double* starts, double* transitions, double* emissions) {
    const std::size_t n = model_.states;
    std::fill_n(starts, n, 0.0);
    std::fill_n(transitions, n * n, 0.0);
    by_letter_.assign(n * model_.letters, 0.0);
    for (std::size_t t = 0; t < length; ++t) {
      const double* gamma = &gamma_[t * n];
      double* of_letter = &by_letter_[static_cast<std::size_t>(letters[t]) * n];
      for (std::size_t s = 0; s < n; ++s) of_letter[s] += gamma[s];
      if (t == 0) {
        std::copy_n(gamma, n, starts);
        continue;
      }
      const double *before = &alpha_[(t - 1) * n], *ahead = &ahead_[t * n];
      for (std::size_t s = 0; s < n; ++s) {
        for (std::size_t u = 0; u < n; ++u) transitions[s * n + u] += before[s] * ahead[u];
      }
    }
    for (std::size_t e = 0; e < n * n; ++e) transitions[e] *= model_.transition[e];
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t a = 0; a < model_.letters; ++a) emissions[s * model_.letters + a] = by_letter_[a * n + s];
    }
  }

  // Expected numbers of neighbours: letter a in state s, then letter b in state u, by the key ((a, b), (s, u)), in
  // ascending order. Pairs of letters that do not occur have none.
  void pair_counts(const std::int32_t* letters, std::size_t length, std::vector<std::uint64_t>& keys,
                   std::vector<double>& values) {
    const std::size_t n = model_.states;
    if (length < 2) return;
    const auto pair_at = [&](std::size_t t) {
      return static_cast<std::uint64_t>(letters[t]) * model_.letters + static_cast<std::uint64_t>(letters[t + 1]);
    };
    std::vector<std::size_t> places(length - 1);
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return pair_at(a) < pair_at(b); });
    std::vector<double>& sums = room_;
    for (std::size_t p = 0; p < places.size();) {
      const std::uint64_t pair = pair_at(places[p]);
      sums.assign(n * n, 0.0);
      for (; p < places.size() && pair_at(places[p]) == pair; ++p) {
        const double *before = &alpha_[places[p] * n], *ahead = &ahead_[(places[p] + 1) * n];
        for (std::size_t s = 0; s < n; ++s) {
          for (std::size_t u = 0; u < n; ++u) sums[s * n + u] += before[s] * ahead[u];
        }
      }
      for (std::size_t e = 0; e < n * n; ++e) {
        if (const double value = sums[e] * model_.transition[e]; value > 0.0) {
          keys.push_back(pair * n * n + e);
          values.push_back(value);
        }
      }
    }
  }

 private:
  const HiddenMarkov& model_;
  std::vector<double> forward_to_, of_letter_;  // transitions [next, state], emissions [letter, state]
  std::vector<double> alpha_, ahead_, gamma_, scales_, room_, by_letter_;
};

// What is expected of every sequence, threads over sequences; null pointers: only the logarithms of their
// probabilities.
struct HiddenMarkovCounts {
  double *logarithms, *starts, *transitions, *emissions;
};

inline void hidden_markov_counts(const HiddenMarkov& model, const Sequences& x, Team& team,
                                 const HiddenMarkovCounts& out) {
  const std::size_t n = model.states;
  std::vector<ForwardBackward> workers(team.size(), ForwardBackward(model));
  team.for_each(x.rows, [&](std::size_t i, std::size_t worker) {
    ForwardBackward& pass = workers[worker];
    out.logarithms[i] = pass.forward(x.begin(i), x.length(i));
    if (out.starts == nullptr) return;
    const std::size_t length = std::isfinite(out.logarithms[i]) ? x.length(i) : 0;
    pass.backward(x.begin(i), length);
    pass.counts(x.begin(i), length, out.starts + i * n, out.transitions + i * n * n,
                out.emissions + i * n * model.letters);
  });
}

inline void hidden_markov_pairs(const HiddenMarkov& model, const Sequences& x, Team& team, double* logarithms,
                                std::vector<std::vector<std::uint64_t>>& keys,
                                std::vector<std::vector<double>>& values) {
  keys.resize(x.rows);
  values.resize(x.rows);
  std::vector<ForwardBackward> workers(team.size(), ForwardBackward(model));
  team.for_each(x.rows, [&](std::size_t i, std::size_t worker) {
    ForwardBackward& pass = workers[worker];
    logarithms[i] = pass.forward(x.begin(i), x.length(i));
    if (!std::isfinite(logarithms[i])) return;
    pass.backward(x.begin(i), x.length(i));
    pass.pair_counts(x.begin(i), x.length(i), keys[i], values[i]);
  });
}

}  // namespace mercer

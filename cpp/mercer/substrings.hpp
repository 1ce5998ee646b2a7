// All common substrings of two sequences, in time linear in their lengths, by a suffix automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features.hpp"
#include "sequences.hpp"

namespace mercer {

// The smallest automaton that reads all substrings of a sequence. A state stands for the substrings that end at the
// same places: the longest of them, and its suffixes down to one symbol more than the longest of the state it links to.
class SuffixAutomaton {
 public:
  // `weights[l]` is the weight of all suffixes of length 1 to l of a substring, once each, together.
  SuffixAutomaton(const std::int64_t* s, std::size_t n, const double* weights) : weights_(weights) {
    states_.reserve(2 * n + 1);
    edges_.reserve(3 * n + 1);
    std::size_t slots = 16;
    while (slots < 8 * n) slots *= 2;
    slots_.assign(slots, none);
    add_state(0, none, 0.0);
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < n; ++i) last = extend(last, s[i]);
    count();
  }

  // sum over the substrings u of t of (their weight) * (occurrences in s), every occurrence in t on its own
  double common(const std::int64_t* t, std::size_t m) const {
    double total = 0.0;
    std::uint32_t state = 0;
    std::size_t length = 0;  // of the longest suffix of what was read that s has
    for (std::size_t j = 0; j < m; ++j) {
      std::uint32_t edge = find(state, t[j]);
      while (edge == none && state != 0) {
        state = states_[state].link;
        length = states_[state].length;
        edge = find(state, t[j]);
      }
      if (edge == none) continue;
      state = edges_[edge].target;
      ++length;
      const State& here = states_[state];
      const State& link = states_[here.link];
      total += link.weight + here.occurrences * (weights_[length] - weights_[link.length]);
    }
    return total;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  struct State {
    std::size_t length;
    std::uint32_t link, first_edge;
    double occurrences, weight;  // weight: of all suffixes of its longest substring, times their occurrences
  };
  struct Edge {
    std::int64_t symbol;
    std::uint32_t source, target, next;
  };

  std::size_t slot_of(std::uint32_t state, std::int64_t symbol) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = scrambled(static_cast<std::uint64_t>(symbol) << 32 | state) & mask;
    while (slots_[slot] != none && (edges_[slots_[slot]].source != state || edges_[slots_[slot]].symbol != symbol)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  std::uint32_t find(std::uint32_t state, std::int64_t symbol) const { return slots_[slot_of(state, symbol)]; }

  std::uint32_t add_state(std::size_t length, std::uint32_t link, double occurrences) {
    states_.push_back({length, link, none, occurrences, 0.0});
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  void add_edge(std::uint32_t source, std::int64_t symbol, std::uint32_t target) {
    slots_[slot_of(source, symbol)] = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back({symbol, source, target, states_[source].first_edge});
    states_[source].first_edge = static_cast<std::uint32_t>(edges_.size() - 1);
  }

  // One more symbol (Blumer et al. 1985): the state of the whole sequence.
  std::uint32_t extend(std::uint32_t last, std::int64_t symbol) {
    const std::uint32_t whole = add_state(states_[last].length + 1, 0, 1.0);
    std::uint32_t p = last, edge = none;
    while (p != none && (edge = find(p, symbol)) == none) {
      add_edge(p, symbol, whole);
      p = states_[p].link;
    }
    if (p == none) return whole;
    const std::uint32_t q = edges_[edge].target;
    if (states_[q].length == states_[p].length + 1) {
      states_[whole].link = q;
      return whole;
    }
    const std::uint32_t copy = add_state(states_[p].length + 1, states_[q].link, 0.0);
    for (std::uint32_t e = states_[q].first_edge; e != none; e = edges_[e].next) {
      add_edge(copy, edges_[e].symbol, edges_[e].target);
    }
    while (p != none && (edge = find(p, symbol)) != none && edges_[edge].target == q) {
      edges_[edge].target = copy;
      p = states_[p].link;
    }
    states_[q].link = states_[whole].link = copy;
    return whole;
  }

  // Occurrences and weights, longest states first and then shortest first.
  void count() {
    std::vector<std::uint32_t> order(states_.size());
    std::size_t longest = 0;
    for (const State& state : states_) longest = std::max(longest, state.length);
    std::vector<std::size_t> place(longest + 2, 0);
    for (const State& state : states_) ++place[state.length + 1];
    for (std::size_t l = 0; l <= longest; ++l) place[l + 1] += place[l];
    for (std::uint32_t v = 0; v < states_.size(); ++v) order[place[states_[v].length]++] = v;
    for (std::size_t k = order.size(); k-- > 1;)
      states_[states_[order[k]].link].occurrences += states_[order[k]].occurrences;
    for (std::size_t k = 1; k < order.size(); ++k) {
      State& state = states_[order[k]];
      const State& link = states_[state.link];
      state.weight = link.weight + state.occurrences * (weights_[state.length] - weights_[link.length]);
    }
    states_[0].weight = 0.0;
  }

  const double* weights_;
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> slots_;
};

// sum over all substrings u of weight(|u|) (occurrences in s) (occurrences in t); weights[l] = sum of weights up to l,
// for l up to the longest sample of the shorter side.
inline void common_substrings_matrix(const Sequences& xs, const Sequences& ys, bool symmetric, const double* weights,
                                     Team& team, double* out) {
  if (xs.rows == 0 || ys.rows == 0) return;
  const Codes codes(xs, ys, symmetric, Coding::equality);
  const Side x(xs, codes.x);
  const Side other = symmetric ? Side(Sequences{}, codes.y) : Side(ys, codes.y);
  const PairMatrix matrix{out, ys.rows, symmetric};
  for_each_sequence(x, symmetric ? x : other, symmetric, 1, team,
                    [&](const Side& outer, std::size_t i, const Side& inner, std::size_t place, bool transposed,
                        std::size_t, std::size_t) {
                      if (place == inner.order.size()) return;
                      const SuffixAutomaton automaton(outer.begin(i), outer.samples.length(i), weights);
                      for (; place < inner.order.size(); ++place) {
                        const std::size_t j = inner.order[place];
                        matrix.set(transposed, i, j, automaton.common(inner.begin(j), inner.samples.length(j)));
                      }
                    });
}

inline void common_substrings_diagonal(const Sequences& xs, const double* weights, Team& team, double* out) {
  if (xs.rows == 0) return;
  const Codes codes(xs, xs, true, Coding::equality);
  const Side x(xs, codes.x);
  team.for_each(xs.rows, [&](std::size_t i, std::size_t) {
    out[i] = SuffixAutomaton(x.begin(i), xs.length(i), weights).common(x.begin(i), xs.length(i));
  });
}

}  // namespace mercer

// What can be counted in a graph: labels of nodes and edges, labels that grow by those of neighbours, shortest paths,
// small subgraphs.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace mercer {

// --- Weisfeiler and Lehman ------------------------------------------------------------------------------------------

// One round: the label of a node and those of its neighbours, along edges with their labels, make its next label. The
// multiset of neighbours is the sum of the keys of its members.
inline void refine(const Graphs& graphs, std::size_t g, std::size_t round, const std::uint64_t* labels,
                   std::uint64_t* refined) {
  const std::size_t first = graphs.first(g), n = graphs.n_nodes(g);
  for (std::size_t v = 0; v < n; ++v) {
    std::uint64_t around = round;
    for (std::size_t e = graphs.first_arc(first + v); e < graphs.first_arc(first + v + 1); ++e) {
      around += pair_key(graphs.arc_key(e), labels[graphs.target(e)]);
    }
    refined[v] = pair_key(labels[v], around);
  }
}

// labels[t * N + v] of all rounds t = 0, ..., rounds, for the N nodes of all graphs.
inline void refined_labels(const Graphs& graphs, std::size_t rounds, Team& team, std::uint64_t* labels) {
  const std::size_t all = graphs.first(graphs.size);
  team.for_each(graphs.size, [&](std::size_t g, std::size_t) {
    const std::size_t first = graphs.first(g);
    for (std::size_t v = first; v < graphs.first(g + 1); ++v) labels[v] = graphs.node_key(v);
    for (std::size_t t = 1; t <= rounds; ++t) {
      refine(graphs, g, t, labels + (t - 1) * all + first, labels + t * all + first);
    }
  });
}

// How often each label occurs, over all rounds.
inline FeatureRows count_labels(const Graphs& graphs, std::size_t rounds, Team& team) {
  struct Room {
    std::vector<std::uint64_t> labels, refined;
  };
  std::vector<Room> rooms(team.size());
  return count_features(graphs.size, team, [&](std::size_t g, std::size_t worker, Counter& counter) {
    auto& [labels, refined] = rooms[worker];
    labels.clear();
    for (std::size_t v = graphs.first(g); v < graphs.first(g + 1); ++v) labels.push_back(graphs.node_key(v));
    refined.resize(labels.size());
    for (std::size_t t = 0;; ++t) {
      for (const std::uint64_t label : labels) counter.add(label);
      if (t == rounds) break;
      refine(graphs, g, t + 1, labels.data(), refined.data());
      labels.swap(refined);
    }
  });
}

// --- edges ----------------------------------------------------------------------------------------------------------

// Edges by their label and, with `ends`, by the labels of their ends, in their order if the graph is directed.
inline FeatureRows count_edges(const Graphs& graphs, bool ends, Team& team) {
  return count_features(graphs.size, team, [&](std::size_t g, std::size_t, Counter& counter) {
    const std::size_t first = graphs.first(g);
    const bool directed = graphs.directed[g];
    for (std::size_t v = 0; v < graphs.n_nodes(g); ++v) {
      for (std::size_t e = graphs.first_arc(first + v); e < graphs.first_arc(first + v + 1); ++e) {
        const std::size_t w = graphs.target(e);
        if (!directed && w < v) continue;  // the edge comes twice
        std::uint64_t key = graphs.arc_key(e);
        if (ends) {
          std::uint64_t a = graphs.node_key(first + v), b = graphs.node_key(first + w);
          if (!directed && b < a) std::swap(a, b);
          key = pair_key(key, pair_key(a, b));
        }
        counter.add(key);
      }
    }
  });
}

// --- shortest paths -------------------------------------------------------------------------------------------------

// Shortest paths between the nodes of a graph, counted by the labels of their ends and their length.
class PathCounts {
 public:
  // Paths from every node to every other that it reaches. A positive `unit`: lengths are rounded to multiples of it.
  template <class Poll>
  void count(const Graphs& graphs, std::size_t g, double unit, Counter& counter, Poll poll) {
    const std::size_t first = graphs.first(g), n = graphs.n_nodes(g);
    number_labels(graphs, first, n);
    const auto key_of = [&](std::size_t start, std::size_t end, double length) {
      const double told = unit > 0.0 ? std::round(length / unit) : length;
      return pair_key(pair_key(labels_[start], labels_[end]), std::bit_cast<std::uint64_t>(told));
    };
    for (std::size_t q = 0; q < n; ++q) {  // sources of one label after the other
      poll();
      const std::size_t source = order_[q], label = label_of_[source];
      if (graphs.weights) {
        by_weight(graphs, first, source, n);
        for (const std::size_t w : reached_) {
          if (w != source) counter.add(key_of(label, label_of_[w], lengths_[w]));
        }
        continue;
      }
      by_steps(graphs, first, source, n);
      if (table_.empty()) {
        for (const std::size_t w : reached_) {
          if (w != source) counter.add(key_of(label, label_of_[w], static_cast<double>(steps_[w])));
        }
        continue;
      }
      for (std::size_t r = 1; r < reached_.size(); ++r) {
        const std::size_t place = label_of_[reached_[r]] * n + steps_[reached_[r]];
        if (table_[place]++ == 0) touched_.push_back(place);
      }
      if (q + 1 < n && label_of_[order_[q + 1]] == label) continue;
      for (const std::size_t place : touched_) {
        counter.add(key_of(label, place / n, static_cast<double>(place % n)), static_cast<double>(table_[place]));
        table_[place] = 0;
      }
      touched_.clear();
    }
  }

 private:
  // The labels that occur, in order, the number of that of each node, and nodes in the order of their labels.
  void number_labels(const Graphs& graphs, std::size_t first, std::size_t n) {
    order_.resize(n);
    label_of_.resize(n);
    labels_.clear();
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return graphs.node_key(first + a) < graphs.node_key(first + b);
    });
    for (const std::size_t v : order_) {
      if (labels_.empty() || labels_.back() != graphs.node_key(first + v))
        labels_.push_back(graphs.node_key(first + v));
      label_of_[v] = labels_.size() - 1;
    }
    const bool fits = !graphs.weights && labels_.size() * n <= largest_table;
    table_.assign(fits ? labels_.size() * n : 0, 0);
  }

  void by_steps(const Graphs& graphs, std::size_t first, std::size_t source, std::size_t n) {
    steps_.assign(n, unknown);
    reached_.assign(1, source);
    steps_[source] = 0;
    for (std::size_t r = 0; r < reached_.size(); ++r) {
      const std::size_t v = reached_[r];
      for (std::size_t e = graphs.first_arc(first + v); e < graphs.first_arc(first + v + 1); ++e) {
        const std::size_t w = graphs.target(e);
        if (steps_[w] != unknown) continue;
        steps_[w] = steps_[v] + 1;
        reached_.push_back(w);
      }
    }
  }

  // By the algorithm of Dijkstra. The length of a path is summed from its source on: it is the smallest such sum of all
  // paths, whatever the numbers of the nodes are.
  void by_weight(const Graphs& graphs, std::size_t first, std::size_t source, std::size_t n) {
    lengths_.assign(n, -1.0);
    reached_.clear();
    heap_.push({0.0, source});
    while (!heap_.empty()) {
      const auto [length, v] = heap_.top();
      heap_.pop();
      if (lengths_[v] >= 0.0) continue;  // it is known already
      lengths_[v] = length;
      reached_.push_back(v);
      for (std::size_t e = graphs.first_arc(first + v); e < graphs.first_arc(first + v + 1); ++e) {
        if (lengths_[graphs.target(e)] < 0.0) heap_.push({length + graphs.weight(e), graphs.target(e)});
      }
    }
  }

  static constexpr std::uint32_t unknown = 0xffffffffu;
  static constexpr std::size_t largest_table = std::size_t{1} << 22;
  using Reached = std::pair<double, std::size_t>;

  std::vector<std::uint64_t> labels_;
  std::vector<std::size_t> order_, label_of_, reached_, touched_;
  std::vector<std::uint32_t> steps_, table_;  // table_[label * n + steps]: paths from sources of the present label
  std::vector<double> lengths_;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<Reached>> heap_;
};

inline FeatureRows count_paths(const Graphs& graphs, double unit, Team& team) {
  std::vector<PathCounts> rooms(team.size());
  return count_features(graphs.size, team, [&](std::size_t g, std::size_t worker, Counter& counter) {
    rooms[worker].count(graphs, g, unit, counter, [&] { team.poll(worker); });
  });
}

// --- small subgraphs ------------------------------------------------------------------------------------------------

// Connected induced subgraphs of a given number of nodes, each found once (the algorithm ESU of Wernicke). Loops,
// labels and weights do not matter.
class SmallSubgraphs {
 public:
  // found(code) for each; bit i (i - 1) / 2 + j of the code says that its nodes i and j < i are joined.
  template <class Found, class Poll>
  void find(const Graphs& graphs, std::size_t g, std::size_t size, Found found, Poll poll) {
    graphs_ = &graphs;
    first_ = graphs.first(g);
    joined_.assign(graphs.n_nodes(g), 0);
    reach_.resize(size + 1);
    for (root_ = 0; root_ < graphs.n_nodes(g); ++root_) {
      poll();
      if (size == 1) {
        found(0u);
        continue;
      }
      reach_[1].clear();
      join(root_, 0, 1);
      grow(1, 0, size, found);
      part(root_, 0);
    }
  }

 private:
  // With n nodes chosen, choose one of those in reach; what it reaches in addition may come after it.
  template <class Found>
  void grow(std::size_t n, std::uint32_t code, std::size_t size, Found& found) {
    const std::size_t offset = n * (n - 1) / 2;
    std::vector<std::size_t>& reach = reach_[n];
    if (n + 1 == size) {
      for (const std::size_t w : reach) found(code | static_cast<std::uint32_t>(joined_[w]) << offset);
      return;
    }
    while (!reach.empty()) {
      const std::size_t w = reach.back();
      reach.pop_back();
      const std::uint32_t next = code | static_cast<std::uint32_t>(joined_[w]) << offset;
      reach_[n + 1] = reach;
      join(w, n, n + 1);
      grow(n + 1, next, size, found);
      part(w, n);
    }
  }

  // Node w is the chosen node of this place: its neighbours know, and those that no other one reaches are in reach now.
  void join(std::size_t w, std::size_t place, std::size_t level) {
    for_each_neighbour(w, [&](std::size_t u) {
      if (u > root_ && joined_[u] == 0) reach_[level].push_back(u);
      joined_[u] = static_cast<std::uint8_t>(joined_[u] | 1u << place);
    });
  }

  void part(std::size_t w, std::size_t place) {
    for_each_neighbour(w, [&](std::size_t u) { joined_[u] = static_cast<std::uint8_t>(joined_[u] & ~(1u << place)); });
  }

  template <class Body>
  void for_each_neighbour(std::size_t w, Body body) const {
    for (std::size_t e = graphs_->first_arc(first_ + w); e < graphs_->first_arc(first_ + w + 1); ++e) {
      if (graphs_->target(e) != w) body(graphs_->target(e));
    }
  }

  const Graphs* graphs_ = nullptr;
  std::size_t first_ = 0, root_ = 0;
  std::vector<std::uint8_t> joined_;  // bit i: joined to the chosen node i
  std::vector<std::vector<std::size_t>> reach_;
};

// counts[g * n_types + type_of[code]] = how many connected subgraphs of that code graph g has.
inline void count_subgraphs(const Graphs& graphs, std::size_t size, const std::int64_t* type_of, std::size_t n_types,
                            Team& team, std::int64_t* counts) {
  std::vector<SmallSubgraphs> rooms(team.size());
  team.for_each(graphs.size, [&](std::size_t g, std::size_t worker) {
    std::int64_t* mine = counts + g * n_types;
    std::fill(mine, mine + n_types, 0);
    rooms[worker].find(graphs, g, size, [&](std::uint32_t code) { ++mine[type_of[code]]; }, [&] { team.poll(worker); });
  });
}

}  // namespace mercer

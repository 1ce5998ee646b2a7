// Labelled, ordered trees: keys of their productions and subtrees, and the subset-tree kernel.
//
// Nodes are known by their place in preorder: parents before children, from left to right. All loops run over places,
// so that no depth of a tree can exhaust the stack.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace mercer {

inline std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

// The key of a list, from that of the list without its last item.
inline std::uint64_t appended(std::uint64_t list, std::uint64_t item) {
  return mixed(list * 0x9e3779b97f4a7c15u + mixed(item + 0x632be59bd9b4e019u));
}

// Trees as they come: keys of labels and numbers of children, in preorder.
struct LabelledTrees {
  const std::uint64_t* labels = nullptr;
  const std::int64_t* arities = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t rows = 0;
};

// keys[v] = the key of the complete subtree below node v. False where numbers of children do not make trees.
inline bool subtree_keys(const LabelledTrees& trees, std::uint64_t* keys) {
  std::vector<std::uint64_t> finished;
  for (std::size_t t = 0; t < trees.rows; ++t) {
    finished.clear();
    for (std::int64_t v = trees.starts[t + 1] - 1; v >= trees.starts[t]; --v) {
      const std::size_t arity = static_cast<std::size_t>(trees.arities[v]);
      if (arity > finished.size()) return false;
      std::uint64_t key = appended(arity, trees.labels[v]);
      for (std::size_t c = 0; c < arity; ++c) {  // the first child was finished last
        key = appended(key, finished.back());
        finished.pop_back();
      }
      finished.push_back(keys[v] = key);
    }
    if (finished.size() != 1) return false;
  }
  return true;
}

// The inner nodes of trees, which have productions: a label and the labels of the children.
struct Productions {
  static constexpr std::int32_t leaf = -1;

  std::vector<std::uint64_t> keys;         // of the productions, in preorder
  std::vector<std::uint64_t> sorted;       // the same in the order of `order`
  std::vector<std::int32_t> order;         // nodes of each tree, by ascending key, then in preorder
  std::vector<std::int64_t> starts;        // tree t has the inner nodes starts[t] to starts[t + 1]
  std::vector<std::int32_t> children;      // their numbers within the tree, or `leaf`
  std::vector<std::int64_t> child_starts;  // of the children of every inner node
  std::vector<std::uint64_t> tree_keys;    // of whole trees
};

inline Productions productions(const LabelledTrees& trees, const std::uint64_t* subtrees) {
  Productions found;
  found.starts.push_back(0);
  found.child_starts.push_back(0);
  struct Open {
    std::size_t node, children_left;
    std::uint64_t key;
    std::size_t next_child;
  };
  std::vector<Open> open;
  for (std::size_t t = 0; t < trees.rows; ++t) {
    const std::size_t first = static_cast<std::size_t>(trees.starts[t]);
    const std::size_t last = static_cast<std::size_t>(trees.starts[t + 1]), base = found.keys.size();
    open.clear();
    for (std::size_t v = first; v < last; ++v) {
      const bool inner = trees.arities[v] > 0;
      const std::size_t number = found.keys.size() - base;
      if (!open.empty()) {
        Open& parent = open.back();
        parent.key = appended(parent.key, trees.labels[v]);
        found.children[parent.next_child++] = inner ? static_cast<std::int32_t>(number) : Productions::leaf;
        if (--parent.children_left == 0) {
          found.keys[base + parent.node] = parent.key;
          open.pop_back();
        }
      }
      if (!inner) continue;
      const std::size_t arity = static_cast<std::size_t>(trees.arities[v]);
      open.push_back({number, arity, appended(arity, trees.labels[v]), found.children.size()});
      found.keys.push_back(0);
      found.children.resize(found.children.size() + arity);
      found.child_starts.push_back(static_cast<std::int64_t>(found.children.size()));
    }
    for (std::size_t v = base; v < found.keys.size(); ++v) found.order.push_back(static_cast<std::int32_t>(v - base));
    std::stable_sort(found.order.begin() + static_cast<std::ptrdiff_t>(base), found.order.end(),
                     [&](std::int32_t a, std::int32_t b) { return found.keys[base + a] < found.keys[base + b]; });
    for (std::size_t v = base; v < found.keys.size(); ++v) {
      found.sorted.push_back(found.keys[base + static_cast<std::size_t>(found.order[v])]);
    }
    found.starts.push_back(static_cast<std::int64_t>(found.keys.size()));
    found.tree_keys.push_back(last > first ? subtrees[first] : 0);
  }
  return found;
}

// A view of productions, of which some trees are wanted, in any order.
struct ProductionsView {
  const std::uint64_t* keys = nullptr;
  const std::uint64_t* sorted = nullptr;
  const std::int32_t* order = nullptr;
  const std::int64_t* starts = nullptr;
  const std::int32_t* children = nullptr;
  const std::int64_t* child_starts = nullptr;
  const std::uint64_t* tree_keys = nullptr;
  const std::int64_t* wanted = nullptr;
  std::size_t rows = 0;
};

// Subset trees [Collins and Duffy, eqs 2-4]: K = sum over pairs of nodes with the same production of
//   C(a, b) = decay * prod over children of (1 + C(a_c, b_c)),   C = 0 where a child is a leaf.
// Only such pairs are visited: nodes are sorted by production [Moschitti]. Children come after their parents, so that
// nodes are taken from the last to the first. The smaller tree comes first, so that the sum is that of a pair of trees
// in either order, to the last bit.
class SubsetTrees {
 public:
  SubsetTrees(const ProductionsView& x, const ProductionsView& y, double decay) : x_(x), y_(y), decay_(decay) {}

  enum class Want { value, logarithm, derivative };

  double operator()(std::size_t i, std::size_t j, Want want) {
    match(i, j);
    switch (want) {
      case Want::value:
        return sum();
      case Want::logarithm:
        return logarithm();
      default:
        return derivative();
    }
  }

 private:
  struct Part {
    const ProductionsView* of;
    std::size_t base, n;
    std::uint64_t key(std::size_t v) const { return of->keys[base + v]; }
    const std::uint64_t* sorted() const { return of->sorted + base; }
    std::size_t ordered(std::size_t place) const { return static_cast<std::size_t>(of->order[base + place]); }
    const std::int32_t* children(std::size_t v) const { return of->children + of->child_starts[base + v]; }
    std::size_t arity(std::size_t v) const {
      return static_cast<std::size_t>(of->child_starts[base + v + 1] - of->child_starts[base + v]);
    }
  };

  static Part part(const ProductionsView& trees, std::size_t row) {
    const std::size_t t = static_cast<std::size_t>(trees.wanted[row]);
    return {&trees, static_cast<std::size_t>(trees.starts[t]),
            static_cast<std::size_t>(trees.starts[t + 1] - trees.starts[t])};
  }

  // For every node of the first tree, who in the second has its production: so many from a place of the order on.
  void match(std::size_t i, std::size_t j) {
    a_ = part(x_, i);
    b_ = part(y_, j);
    const std::uint64_t key_a = x_.tree_keys[x_.wanted[i]], key_b = y_.tree_keys[y_.wanted[j]];
    if (b_.n < a_.n || (b_.n == a_.n && key_b < key_a)) std::swap(a_, b_);
    matches_.assign(a_.n, Match{});
    rank_.resize(b_.n);
    const std::uint64_t *keys = a_.sorted(), *others = b_.sorted();
    std::uint32_t place = 0, in_b = 0;
    while (place < a_.n && in_b < b_.n) {
      const std::uint64_t key = keys[place];
      if (key < others[in_b]) {
        ++place;
      } else if (others[in_b] < key) {
        ++in_b;
      } else {
        const std::uint32_t first = in_b;
        for (; in_b < b_.n && others[in_b] == key; ++in_b) rank_[b_.ordered(in_b)] = in_b - first;
        for (; place < a_.n && keys[place] == key; ++place) matches_[a_.ordered(place)] = {0, first, in_b - first};
      }
    }
    std::size_t total = 0;
    for (Match& match : matches_) {
      match.values = total;
      total += match.count;
    }
    values_.resize(total);
  }

  // For pairs of equal production, children before parents: own(place of the pair), and before that
  // below(place of the pair of children) for every pair of children of equal production.
  template <class Start, class Below, class Own>
  void for_each_pair(Start start, Below below, Own own) {
    for (std::size_t v = a_.n; v-- > 0;) {
      const Match& match = matches_[v];
      for (std::size_t r = match.count; r-- > 0;) {
        const std::size_t w = b_.ordered(match.first + r);
        const std::int32_t *children = a_.children(v), *others = b_.children(w);
        const std::size_t arity = std::min(a_.arity(v), b_.arity(w));
        start();
        for (std::size_t c = 0; c < arity; ++c) {
          if (children[c] == Productions::leaf || others[c] == Productions::leaf) continue;
          const std::size_t child = static_cast<std::size_t>(children[c]), other = static_cast<std::size_t>(others[c]);
          if (a_.key(child) == b_.key(other)) below(matches_[child].values + rank_[other]);
        }
        own(match.values + r);
      }
    }
  }

  double sum() {
    double total = 0.0, product = 1.0;
    for_each_pair([&] { product = decay_; }, [&](std::size_t child) { product *= 1.0 + values_[child]; },
                  [&](std::size_t pair) { total += values_[pair] = product; });
    return total;
  }

  // Through logarithms only where the sum is too large for a double; no pair is too small, each has at least `decay`.
  double logarithm() {
    const double plain = sum();
    if (std::isfinite(plain)) return std::log(plain);
    const double log_decay = std::log(decay_);
    double exponent = 0.0, largest = -std::numeric_limits<double>::infinity(), total = 0.0;
    for_each_pair([&] { exponent = log_decay; },
                  [&](std::size_t child) {
                    const double c = values_[child];
                    exponent += c > 0.0 ? c + std::log1p(std::exp(-c)) : std::log1p(std::exp(c));
                  },
                  [&](std::size_t pair) { largest = std::max(largest, values_[pair] = exponent); });
    for (const double value : values_) total += std::exp(value - largest);
    return largest + std::log(total);
  }

  // dC/ddecay = C (1 / decay + sum over children of dC_c / (1 + C_c))
  double derivative() {
    slopes_.resize(values_.size());
    double total = 0.0, product = 1.0, relative = 0.0;
    for_each_pair(
        [&] {
          product = decay_;
          relative = 1.0 / decay_;
        },
        [&](std::size_t child) {
          product *= 1.0 + values_[child];
          relative += slopes_[child] / (1.0 + values_[child]);
        },
        [&](std::size_t pair) {
          values_[pair] = product;
          total += slopes_[pair] = product * relative;
        });
    return total;
  }

  struct Match {
    std::size_t values = 0;              // where the values of the pairs begin
    std::uint32_t first = 0, count = 0;  // the others, in their order
  };

  const ProductionsView &x_, &y_;
  double decay_;
  Part a_{}, b_{};
  std::vector<Match> matches_;
  std::vector<std::uint32_t> rank_;  // of a node of the second tree among those of its production
  std::vector<double> values_, slopes_;
};

// out[i * y.rows + j] for all pairs of trees. With `symmetric`, y must be x.
inline void subset_tree_matrix(const ProductionsView& x, const ProductionsView& y, bool symmetric, double decay,
                               SubsetTrees::Want want, Team& team, double* out) {
  constexpr std::size_t side = 16;
  const std::size_t down = (x.rows + side - 1) / side, across = (y.rows + side - 1) / side;
  std::vector<SubsetTrees> kernels(team.size(), SubsetTrees(x, y, decay));
  team.for_each(down * across, [&](std::size_t tile, std::size_t worker) {
    const std::size_t top = tile / across * side, left = tile % across * side;
    if (symmetric && left > top) return;
    for (std::size_t i = top; i < std::min(x.rows, top + side); ++i) {
      for (std::size_t j = left; j < std::min(symmetric ? i + 1 : y.rows, left + side); ++j) {
        const double value = kernels[worker](i, j, want);
        out[i * y.rows + j] = value;
        if (symmetric) out[j * y.rows + i] = value;
      }
    }
  });
}

inline void subset_tree_diagonal(const ProductionsView& x, double decay, SubsetTrees::Want want, Team& team,
                                 double* out) {
  constexpr std::size_t step = 16;
  std::vector<SubsetTrees> kernels(team.size(), SubsetTrees(x, x, decay));
  team.for_each((x.rows + step - 1) / step, [&](std::size_t tile, std::size_t worker) {
    for (std::size_t i = tile * step; i < std::min(x.rows, (tile + 1) * step); ++i)
      out[i] = kernels[worker](i, i, want);
  });
}

}  // namespace mercer

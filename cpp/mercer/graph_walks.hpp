// Walks that two graphs have in common: sums over the walks of their direct product.
//
// A node of the product is a pair of nodes with the same label, an arc a pair of arcs with the same label between such
// nodes; its weight is the product of the weights. With A the weights of the arcs of the product,
//
//   geometric    k = 1' (I - decay A)^-1 1 = sum_n decay^n 1' A^n 1
//   exponential  k = 1' exp(decay A) 1    = sum_n decay^n / n! 1' A^n 1
//
// The arcs of a small product are listed once; those of a large one are found anew whenever A is applied, so that no
// more than some vectors over its nodes are stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "graph.hpp"

namespace mercer {

struct WalkParameters {
  double decay = 0.0;
  bool exponential = false;
};

// A value and its derivative by the decay.
struct WalkSum {
  double value = 0.0, slope = 0.0;
  bool converged = true;
};

// One graph as products need it: nodes in the order of their labels, arcs of a node in the order of what they match.
class WalkGraph {
 public:
  WalkGraph() = default;
  WalkGraph(const Graphs& graphs, std::size_t g)
      : key(graph_key(graphs, g)), weighted(graphs.weights != nullptr), directed(graphs.directed[g]) {
    const std::size_t first = graphs.first(g), n = graphs.n_nodes(g);
    std::vector<std::uint32_t> order(n), place(n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return graphs.node_key(first + a) < graphs.node_key(first + b);
    });
    for (std::size_t p = 0; p < n; ++p) place[order[p]] = static_cast<std::uint32_t>(p);
    starts.push_back(0);
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t v = first + order[p];
      if (p == 0 || graphs.node_key(v) != labels.back()) {
        labels.push_back(graphs.node_key(v));
        blocks.push_back(static_cast<std::uint32_t>(p));
      }
      for (std::size_t e = graphs.first_arc(v); e < graphs.first_arc(v + 1); ++e) {
        const std::size_t target = graphs.target(e);
        arcs.push_back({pair_key(graphs.arc_key(e), graphs.node_key(first + target)), place[target], graphs.weight(e)});
      }
      std::sort(arcs.begin() + static_cast<std::ptrdiff_t>(starts.back()), arcs.end(), [](const Arc& a, const Arc& b) {
        return a.match != b.match ? a.match < b.match : a.target < b.target;
      });
      starts.push_back(static_cast<std::uint32_t>(arcs.size()));
    }
    blocks.push_back(static_cast<std::uint32_t>(n));
  }

  struct Arc {
    std::uint64_t match;
    std::uint32_t target;
    double weight;
  };

  // Largest sum of the weights of the arcs of a node: a bound of the spectral radius.
  double largest_row() const {
    double largest = 0.0;
    for (std::size_t v = 0; v + 1 < starts.size(); ++v) {
      double sum = 0.0;
      for (std::uint32_t e = starts[v]; e < starts[v + 1]; ++e) sum += arcs[e].weight;
      largest = std::max(largest, sum);
    }
    return largest;
  }

  std::uint64_t key = 0;
  bool weighted = false, directed = false;
  std::vector<std::uint64_t> labels;  // ascending
  std::vector<std::uint32_t> blocks;  // nodes of label c: blocks[c] to blocks[c + 1]
  std::vector<std::uint32_t> starts;
  std::vector<Arc> arcs;
};

inline std::vector<WalkGraph> walk_graphs(const Graphs& graphs, Team& team) {
  std::vector<WalkGraph> found(graphs.size);
  team.for_each(graphs.size, [&](std::size_t g, std::size_t) { found[g] = WalkGraph(graphs, g); });
  return found;
}

// term(0) + ... + term(n - 1), in four sums side by side; of many terms by blocks, so that rounding does not add up.
template <class Term>
double sum_of(std::size_t n, Term term) {
  constexpr std::size_t block = 1024;
  double total = 0.0;
  for (std::size_t i = 0; i < n;) {
    const std::size_t end = std::min(n, i + block);
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    for (; i + 4 <= end; i += 4) {
      a += term(i);
      b += term(i + 1);
      c += term(i + 2);
      d += term(i + 3);
    }
    for (; i < end; ++i) a += term(i);
    total += (a + b) + (c + d);
  }
  return total;
}

// The direct product of two graphs, and sums over its walks. One object serves many pairs, one after the other; it is
// the room of one thread of a team.
class WalkProduct {
 public:
  WalkProduct(Team& team, std::size_t worker) : team_(&team), worker_(worker) {}

  void set(const WalkGraph& x, const WalkGraph& y) {
    x_ = x.key <= y.key ? &x : &y;
    y_ = x.key <= y.key ? &y : &x;
    weighted_ = x.weighted || y.weighted;
    directed_ = x.directed || y.directed;
    match_nodes();
    list_arcs();
  }

  std::size_t size() const { return size_; }

  WalkSum sum(const WalkParameters& parameters, bool slope) {
    if (size_ == 0) return {};
    if (parameters.exponential || directed_) return by_series(parameters, most_steps);
    return by_conjugate_gradients(parameters.decay, slope);
  }

  // Whether the geometric sum exists, to be asked of the product of a graph with itself. If x > 0 and x > decay A x,
  // then decay is below 1 / rho(A), by Collatz and Wielandt.
  bool converges(double decay) {
    if (size_ == 0 || decay == 0.0) return true;
    // A series that does not end soon is close to its limit, on either side.
    if (directed_) return by_series({decay, false}, 1000).converged || decay * radius() < 1.0;
    if (!by_conjugate_gradients(decay, false).converged) return false;
    apply(x_now_.data(), product_.data());
    for (std::size_t i = 0; i < size_; ++i) {
      if (!(x_now_[i] > 0.0 && x_now_[i] > decay * product_[i])) return false;
    }
    return true;
  }

  // Spectral radius of A, by the power method for I + A (the product of bipartite graphs is bipartite).
  double radius() {
    if (size_ == 0) return 0.0;
    x_now_.assign(size_, 1.0 / std::sqrt(static_cast<double>(size_)));
    product_.resize(size_);
    double radius = 0.0;
    for (int step = 0; step < 10000; ++step) {
      apply(x_now_.data(), product_.data());
      for (std::size_t i = 0; i < size_; ++i) product_[i] += x_now_[i];
      const double norm = std::sqrt(sum_of(size_, [&](std::size_t i) { return product_[i] * product_[i]; }));
      for (std::size_t i = 0; i < size_; ++i) x_now_[i] = product_[i] / norm;
      const double before = radius;
      radius = norm - 1.0;
      if (step > 10 && std::abs(radius - before) <= 1e-13 * norm) break;
    }
    return radius;
  }

 private:
  // Node (u, v) of the product has the number base_[u] + v; base_[u] is `none` if no node of y has the label of u.
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
  static constexpr std::size_t most_arcs = std::size_t{1} << 22, most_steps = 1000000;

  struct Match {
    std::uint32_t x_begin, x_end, y_begin, y_end;
  };

  void match_nodes() {
    matches_.clear();
    base_.assign(x_->starts.size() - 1, none);
    size_ = 0;
    for (std::size_t a = 0, b = 0; a < x_->labels.size() && b < y_->labels.size();) {
      if (x_->labels[a] < y_->labels[b]) {
        ++a;
      } else if (y_->labels[b] < x_->labels[a]) {
        ++b;
      } else {
        const Match match{x_->blocks[a], x_->blocks[a + 1], y_->blocks[b], y_->blocks[b + 1]};
        const std::size_t across = match.y_end - match.y_begin;
        for (std::uint32_t u = match.x_begin; u < match.x_end; ++u) {
          base_[u] = static_cast<std::int64_t>(size_ + (u - match.x_begin) * across) - match.y_begin;
        }
        size_ += (match.x_end - match.x_begin) * across;
        matches_.push_back(match);
        ++a;
        ++b;
      }
    }
  }

  // body(target, weight) for the arcs of node (u, v) of the product.
  template <class Body>
  void for_each_arc(std::uint32_t u, std::uint32_t v, Body body) const {
    std::uint32_t a = x_->starts[u], b = y_->starts[v];
    const std::uint32_t a_end = x_->starts[u + 1], b_end = y_->starts[v + 1];
    while (a < a_end && b < b_end) {
      const std::uint64_t p = x_->arcs[a].match, q = y_->arcs[b].match;
      if (p < q) {
        ++a;
      } else if (q < p) {
        ++b;
      } else {
        std::uint32_t last = b;
        while (last < b_end && y_->arcs[last].match == p) ++last;
        for (; a < a_end && x_->arcs[a].match == p; ++a) {
          const std::int64_t base = base_[x_->arcs[a].target];
          for (std::uint32_t e = b; e < last; ++e) {
            body(static_cast<std::size_t>(base + y_->arcs[e].target), x_->arcs[a].weight * y_->arcs[e].weight);
          }
        }
        b = last;
      }
    }
  }

  // body(u, v) for the nodes of the product, in the order of their numbers
  template <class Body>
  void for_each_node(Body body) const {
    for (const Match& match : matches_) {
      for (std::uint32_t u = match.x_begin; u < match.x_end; ++u) {
        for (std::uint32_t v = match.y_begin; v < match.y_end; ++v) body(u, v);
      }
    }
  }

  void list_arcs() {
    columns_.clear();
    values_.clear();
    row_ends_.clear();
    listed_ = true;
    for_each_node([&](std::uint32_t u, std::uint32_t v) {
      if (!listed_) return;
      for_each_arc(u, v, [&](std::size_t target, double weight) {
        columns_.push_back(static_cast<std::uint32_t>(target));
        if (weighted_) values_.push_back(weight);
      });
      row_ends_.push_back(static_cast<std::uint32_t>(columns_.size()));
      listed_ = columns_.size() <= most_arcs;
    });
  }

  // out = A in
  void apply(const double* in, double* out) const {
    team_->poll(worker_);
    if (!listed_) {
      std::size_t row = 0;
      for_each_node([&](std::uint32_t u, std::uint32_t v) {
        double sum = 0.0;
        for_each_arc(u, v, [&](std::size_t target, double weight) { sum += weight * in[target]; });
        out[row++] = sum;
      });
      return;
    }
    std::uint32_t e = 0;
    for (std::size_t row = 0; row < size_; ++row) {
      double sum = 0.0;
      if (weighted_) {
        for (; e < row_ends_[row]; ++e) sum += values_[e] * in[columns_[e]];
      } else {
        for (; e < row_ends_[row]; ++e) sum += in[columns_[e]];
      }
      out[row] = sum;
    }
  }

  // (I - decay A) x = 1 from x = 0. The error of 1' x is the square of that of x in the norm of the matrix, so that the
  // root of the wanted accuracy will do.
  WalkSum by_conjugate_gradients(double decay, bool slope) {
    const double tolerance = slope ? 1e-12 : 1e-9;
    const std::size_t n = size_;
    x_now_.assign(n, 0.0);
    residual_.assign(n, 1.0);
    direction_.assign(n, 1.0);
    product_.resize(n);
    double square = static_cast<double>(n);
    const double enough = tolerance * tolerance * square;
    for (std::size_t step = 0; square > enough; ++step) {
      apply(direction_.data(), product_.data());
      for (std::size_t i = 0; i < n; ++i) product_[i] = direction_[i] - decay * product_[i];
      const double curvature = sum_of(n, [&](std::size_t i) { return direction_[i] * product_[i]; });
      if (!(curvature > 0.0) || step > 10 * n + 1000) return {0.0, 0.0, false};
      const double length = square / curvature;
      for (std::size_t i = 0; i < n; ++i) {
        x_now_[i] += length * direction_[i];
        residual_[i] -= length * product_[i];
      }
      const double before = square;
      square = sum_of(n, [&](std::size_t i) { return residual_[i] * residual_[i]; });
      const double turn = square / before;
      for (std::size_t i = 0; i < n; ++i) direction_[i] = residual_[i] + turn * direction_[i];
    }
    WalkSum found;
    found.value = sum_of(n, [&](std::size_t i) { return x_now_[i]; });
    if (slope) {  // d/d decay of 1' (I - decay A)^-1 1 = x' A x
      apply(x_now_.data(), product_.data());
      found.slope = sum_of(n, [&](std::size_t i) { return x_now_[i] * product_[i]; });
    }
    return found;
  }

  // Term by term: all are positive, nothing cancels.
  WalkSum by_series(const WalkParameters& parameters, std::size_t n_steps) {
    constexpr double negligible = 1e-17, too_large = 1e290;
    const bool factorial = parameters.exponential;
    const std::size_t n = size_;
    x_now_.assign(n, 1.0);
    product_.resize(n);
    WalkSum found{static_cast<double>(n), 0.0, true};
    double before = found.value, ratio = 1.0;
    for (std::size_t step = 1; step < n_steps; ++step) {
      apply(x_now_.data(), product_.data());
      const double walks = sum_of(n, [&](std::size_t i) { return product_[i]; });
      const double factor = parameters.decay / (factorial ? static_cast<double>(step) : 1.0);
      for (std::size_t i = 0; i < n; ++i) x_now_[i] = factor * product_[i];
      const double term = factor * walks;
      found.value += term;
      found.slope += factorial ? walks : static_cast<double>(step) * walks;
      if (!(found.value < too_large)) return {found.value, found.slope, false};
      if (term == 0.0) return found;
      // What is left is about term * r / (1 - r) for the ratio r of terms, here the larger of the last two.
      const double now = term / before, r = std::max(now, ratio);
      if (r < 1.0 && term * static_cast<double>(step) < negligible * (1.0 - r) * found.value) return found;
      ratio = now;
      before = term;
    }
    found.converged = false;
    return found;
  }

  Team* team_;
  std::size_t worker_;
  const WalkGraph* x_ = nullptr;
  const WalkGraph* y_ = nullptr;
  bool weighted_ = false, directed_ = false, listed_ = true;
  std::size_t size_ = 0;
  std::vector<Match> matches_;
  std::vector<std::int64_t> base_;
  std::vector<std::uint32_t> columns_, row_ends_;
  std::vector<double> values_, x_now_, residual_, direction_, product_;
};

inline std::vector<WalkProduct> walk_products(Team& team) {
  std::vector<WalkProduct> rooms;
  for (std::size_t worker = 0; worker < team.size(); ++worker) rooms.emplace_back(team, worker);
  return rooms;
}

// Graphs without labels and directions: A is the Kronecker product of two symmetric matrices, and walks are sums over
// pairs of their eigenvalues. Graph g has the eigenvalues values[starts[g]] to values[starts[g + 1]], with the squared
// sums of the entries of their eigenvectors as weights; none if it is not of this kind.
struct WalkSpectra {
  const double* values = nullptr;
  const double* weights = nullptr;
  const std::int64_t* starts = nullptr;

  bool has(std::size_t g) const { return starts && starts[g] < starts[g + 1]; }
};

inline WalkSum spectral_walks(const WalkSpectra& x, std::size_t i, const WalkSpectra& y, std::size_t j,
                              const WalkParameters& parameters, bool slope) {
  WalkSum found;
  const std::size_t first = static_cast<std::size_t>(y.starts[j]),
                    n = static_cast<std::size_t>(y.starts[j + 1]) - first;
  for (std::int64_t a = x.starts[i]; a < x.starts[i + 1]; ++a) {
    const double value = x.values[a];
    const auto product = [&](std::size_t b) { return value * y.values[first + b]; };
    const auto factor = [&](std::size_t b) {
      return parameters.exponential ? std::exp(parameters.decay * product(b))
                                    : 1.0 / (1.0 - parameters.decay * product(b));
    };
    const double* w = y.weights + first;
    found.value += x.weights[a] * sum_of(n, [&](std::size_t b) { return w[b] * factor(b); });
    if (!slope) continue;
    found.slope += x.weights[a] * sum_of(n, [&](std::size_t b) {
                     return w[b] * product(b) * factor(b) * (parameters.exponential ? 1.0 : factor(b));
                   });
  }
  return found;
}

// found(i, j, sum) for every pair of graphs; with `symmetric`, which means that y is x, for j <= i alone.
template <class Found>
void for_each_walk_sum(const Graphs& x, const WalkSpectra& x_spectra, const Graphs& y, const WalkSpectra& y_spectra,
                       bool symmetric, const WalkParameters& parameters, bool slope, Team& team, Found found) {
  const std::vector<WalkGraph> xs = walk_graphs(x, team);
  const std::vector<WalkGraph> of_y = symmetric ? std::vector<WalkGraph>() : walk_graphs(y, team);
  const std::vector<WalkGraph>& ys = symmetric ? xs : of_y;
  std::vector<WalkProduct> rooms = walk_products(team);
  for_each_pair(x.size, y.size, symmetric, team, [&](std::size_t i, std::size_t j, std::size_t worker) {
    if (x_spectra.has(i) && y_spectra.has(j)) {
      found(i, j,
            xs[i].key <= ys[j].key ? spectral_walks(x_spectra, i, y_spectra, j, parameters, slope)
                                   : spectral_walks(y_spectra, j, x_spectra, i, parameters, slope));
    } else {
      rooms[worker].set(xs[i], ys[j]);
      found(i, j, rooms[worker].sum(parameters, slope));
    }
  });
}

// out[i * y.size + j] = the walks that graphs i and j have in common, or the derivative of that sum; NaN where it is
// not found.
inline void walk_matrix(const Graphs& x, const WalkSpectra& x_spectra, const Graphs& y, const WalkSpectra& y_spectra,
                        bool symmetric, const WalkParameters& parameters, bool slope, Team& team, double* out) {
  for_each_walk_sum(x, x_spectra, y, y_spectra, symmetric, parameters, slope, team,
                    [&](std::size_t i, std::size_t j, const WalkSum& sum) {
                      const double value = slope ? sum.slope : sum.value;
                      out[i * y.size + j] = sum.converged ? value : std::numeric_limits<double>::quiet_NaN();
                      if (symmetric) out[j * y.size + i] = out[i * y.size + j];
                    });
}

inline void walk_diagonal(const Graphs& x, const WalkSpectra& spectra, const WalkParameters& parameters, Team& team,
                          double* out) {
  const std::vector<WalkGraph> xs = walk_graphs(x, team);
  std::vector<WalkProduct> rooms = walk_products(team);
  team.for_each(x.size, [&](std::size_t i, std::size_t worker) {
    WalkSum sum;
    if (spectra.has(i)) {
      sum = spectral_walks(spectra, i, spectra, i, parameters, false);
    } else {
      rooms[worker].set(xs[i], xs[i]);
      sum = rooms[worker].sum(parameters, false);
    }
    out[i] = sum.converged ? sum.value : std::numeric_limits<double>::quiet_NaN();
  });
}

// radii[g] = 0 if the geometric sum of graph g with itself exists, else the spectral radius of that product: the decay
// must be below its inverse. Sums of pairs of graphs exist where those of both with themselves do, because the number
// of closed walks of a product is an inner product of two graphs' numbers of closed walks by their labels.
inline void diverging_radii(const Graphs& x, const WalkSpectra& spectra, double decay, Team& team, double* radii) {
  const std::vector<WalkGraph> xs = walk_graphs(x, team);
  std::vector<WalkProduct> rooms = walk_products(team);
  team.for_each(x.size, [&](std::size_t i, std::size_t worker) {
    radii[i] = 0.0;
    const double bound = xs[i].largest_row();
    if (decay * bound * bound < 1.0) return;
    if (spectra.has(i)) {
      double largest = 0.0;
      for (std::int64_t a = spectra.starts[i]; a < spectra.starts[i + 1]; ++a) {
        largest = std::max(largest, std::abs(spectra.values[a]));
      }
      if (!(decay * largest * largest < 1.0)) radii[i] = largest * largest;
      return;
    }
    rooms[worker].set(xs[i], xs[i]);
    if (!rooms[worker].converges(decay)) radii[i] = rooms[worker].radius();
  });
}

}  // namespace mercer

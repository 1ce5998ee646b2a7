#include "../mercer/graph.hpp"

#include "../mercer/graph_counts.hpp"
#include "../mercer/graph_hopper.hpp"
#include "../mercer/graph_walks.hpp"
#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

// Graphs as the tuple (nodes, arcs, targets, node_keys or None, arc_keys or None, weights or None, directed), with what
// keeps them alive.
struct GraphsIn {
  Vector<std::int64_t> nodes, arcs;
  Vector<std::int32_t> targets;
  Vector<std::uint64_t> node_keys, arc_keys;
  Vector<double> weights;
  Vector<std::uint8_t> directed;
  Graphs view;
};

template <class T>
void array_in(nb::handle source, T& array, const char* problem) {
  if (!nb::try_cast(source, array, false)) throw nb::type_error(problem);
}

GraphsIn graphs_in(nb::handle source) {
  GraphsIn in;
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 7) {
    throw nb::type_error("graphs are a tuple (nodes, arcs, targets, node_keys, arc_keys, weights, directed)");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  array_in(parts[0], in.nodes, "nodes must be int64");
  array_in(parts[1], in.arcs, "arcs must be int64");
  array_in(parts[2], in.targets, "targets must be int32");
  if (!parts[3].is_none()) array_in(parts[3], in.node_keys, "node_keys must be uint64 or None");
  if (!parts[4].is_none()) array_in(parts[4], in.arc_keys, "arc_keys must be uint64 or None");
  if (!parts[5].is_none()) array_in(parts[5], in.weights, "weights must be float64 or None");
  array_in(parts[6], in.directed, "directed must be uint8");
  const std::size_t n = in.directed.shape(0), n_arcs = in.targets.shape(0);
  const auto ascending = [](const Vector<std::int64_t>& starts) {
    bool fits = starts.shape(0) > 0 && starts.data()[0] == 0;
    for (std::size_t i = 0; i + 1 < starts.shape(0); ++i) fits = fits && starts.data()[i] <= starts.data()[i + 1];
    return fits;
  };
  bool fits = ascending(in.nodes) && ascending(in.arcs) && in.nodes.shape(0) == n + 1;
  const std::size_t n_nodes = fits ? static_cast<std::size_t>(in.nodes.data()[n]) : 0;
  fits = fits && in.arcs.shape(0) == n_nodes + 1 && static_cast<std::size_t>(in.arcs.data()[n_nodes]) == n_arcs;
  fits = fits && (parts[3].is_none() || in.node_keys.shape(0) == n_nodes);
  fits = fits && (parts[4].is_none() || in.arc_keys.shape(0) == n_arcs);
  fits = fits && (parts[5].is_none() || in.weights.shape(0) == n_arcs);
  for (std::size_t g = 0; fits && g < n; ++g) {
    const std::int64_t size = in.nodes.data()[g + 1] - in.nodes.data()[g];
    const std::int64_t *first = in.arcs.data() + in.nodes.data()[g], *last = in.arcs.data() + in.nodes.data()[g + 1];
    for (std::int64_t e = *first; e < *last; ++e) {
      fits = fits && in.targets.data()[e] >= 0 && in.targets.data()[e] < size;
    }
  }
  if (!fits) throw nb::value_error("the parts of the graphs do not fit together");
  in.view = {in.nodes.data(),
             in.arcs.data(),
             in.targets.data(),
             parts[3].is_none() ? nullptr : in.node_keys.data(),
             parts[4].is_none() ? nullptr : in.arc_keys.data(),
             parts[5].is_none() ? nullptr : in.weights.data(),
             in.directed.data(),
             n};
  return in;
}

// The same arrays, to the last one.
bool same(const Graphs& x, const Graphs& y) {
  return x.nodes == y.nodes && x.arcs == y.arcs && x.targets == y.targets && x.node_keys == y.node_keys &&
         x.arc_keys == y.arc_keys && x.weights == y.weights && x.size == y.size;
}

template <class Count>
nb::object features_out(std::size_t n_threads, Count count) {
  FeatureRows found;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    found = count(team);
  }
  return nb::make_tuple(own(found.keys), own(found.values), own(found.starts));
}

// A matrix that `fill(team, out)` writes.
template <class Fill>
nb::object matrix_out(std::size_t n, std::size_t m, std::size_t n_threads, Fill fill) {
  auto out = room_for<double>(n * m);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    fill(team, out.get());
  }
  return nb::cast(own(std::move(out), {n, m}));
}

template <class Fill>
nb::object vector_out(std::size_t n, std::size_t n_threads, Fill fill) {
  auto out = std::make_unique_for_overwrite<double[]>(n);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    fill(team, out.get());
  }
  return nb::cast(own(std::move(out), {n}));
}

// --- counts -----------------------------------------------------------------------------------------------

nb::object labels(nb::handle graphs, std::size_t rounds, std::size_t n_threads) {
  const GraphsIn in = graphs_in(graphs);
  return features_out(n_threads, [&](Team& team) { return count_labels(in.view, rounds, team); });
}

nb::object refined(nb::handle graphs, std::size_t rounds, std::size_t n_threads) {
  const GraphsIn in = graphs_in(graphs);
  const std::size_t n = in.view.first(in.view.size);
  auto out = std::make_unique_for_overwrite<std::uint64_t[]>((rounds + 1) * n);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    refined_labels(in.view, rounds, team, out.get());
  }
  return nb::cast(own(std::move(out), {rounds + 1, n}));
}

nb::object edges(nb::handle graphs, bool ends, std::size_t n_threads) {
  const GraphsIn in = graphs_in(graphs);
  return features_out(n_threads, [&](Team& team) { return count_edges(in.view, ends, team); });
}

nb::object paths(nb::handle graphs, double unit, std::size_t n_threads) {
  const GraphsIn in = graphs_in(graphs);
  return features_out(n_threads, [&](Team& team) { return count_paths(in.view, unit, team); });
}

nb::object subgraphs(nb::handle graphs, std::size_t size, Vector<std::int64_t> type_of, std::size_t n_types,
                     std::size_t n_threads) {
  const GraphsIn in = graphs_in(graphs);
  if (size < 1 || size > 5) throw nb::value_error("size must be 1 to 5");
  bool fits = type_of.shape(0) == std::size_t{1} << (size * (size - 1) / 2);
  for (std::size_t c = 0; c < type_of.shape(0); ++c) {
    fits = fits && type_of.data()[c] >= 0 && static_cast<std::size_t>(type_of.data()[c]) < n_types;
  }
  if (!fits) throw nb::value_error("type_of must have a type for every code");
  auto out = std::make_unique_for_overwrite<std::int64_t[]>(in.view.size * n_types);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    count_subgraphs(in.view, size, type_of.data(), n_types, team, out.get());
  }
  return nb::cast(own(std::move(out), {in.view.size, n_types}));
}

// --- walks ------------------------------------------------------------------------------------------------

struct SpectraIn {
  Vector<double> values, weights;
  Vector<std::int64_t> starts;
  WalkSpectra view;
};

SpectraIn spectra_in(nb::handle source, const Graphs& graphs) {
  SpectraIn in;
  if (source.is_none()) return in;
  if (!nb::isinstance<nb::tuple>(source) || nb::len(source) != 3) {
    throw nb::type_error("spectra are a tuple (values, weights, starts)");
  }
  const auto parts = nb::borrow<nb::tuple>(source);
  array_in(parts[0], in.values, "values must be float64");
  array_in(parts[1], in.weights, "weights must be float64");
  array_in(parts[2], in.starts, "starts must be int64");
  bool fits = in.values.shape(0) == in.weights.shape(0) && in.starts.shape(0) == graphs.size + 1;
  fits = fits && in.starts.data()[0] == 0;
  for (std::size_t g = 0; fits && g < graphs.size; ++g) fits = in.starts.data()[g] <= in.starts.data()[g + 1];
  if (!fits || static_cast<std::size_t>(in.starts.data()[graphs.size]) != in.values.shape(0)) {
    throw nb::value_error("values, weights and starts do not fit together");
  }
  in.view = {in.values.data(), in.weights.data(), in.starts.data()};
  return in;
}

nb::object walks(nb::handle x, nb::handle x_spectra, nb::handle y, nb::handle y_spectra, double decay, bool exponential,
                 bool slope, std::size_t n_threads) {
  const GraphsIn xs = graphs_in(x), ys = graphs_in(y);
  const SpectraIn of_x = spectra_in(x_spectra, xs.view), of_y = spectra_in(y_spectra, ys.view);
  return matrix_out(xs.view.size, ys.view.size, n_threads, [&](Team& team, double* out) {
    walk_matrix(xs.view, of_x.view, ys.view, of_y.view, same(xs.view, ys.view), {decay, exponential}, slope, team, out);
  });
}

nb::object walks_diag(nb::handle x, nb::handle spectra, double decay, bool exponential, std::size_t n_threads) {
  const GraphsIn xs = graphs_in(x);
  const SpectraIn of_x = spectra_in(spectra, xs.view);
  return vector_out(xs.view.size, n_threads, [&](Team& team, double* out) {
    walk_diagonal(xs.view, of_x.view, {decay, exponential}, team, out);
  });
}

nb::object diverging(nb::handle x, nb::handle spectra, double decay, std::size_t n_threads) {
  const GraphsIn xs = graphs_in(x);
  const SpectraIn of_x = spectra_in(spectra, xs.view);
  return vector_out(xs.view.size, n_threads,
                    [&](Team& team, double* out) { diverging_radii(xs.view, of_x.view, decay, team, out); });
}

// --- attributes -------------------------------------------------------------------------------------------

void check_attributes(const Graphs& graphs, const Matrix<double>& attributes, std::size_t dimension) {
  if (attributes.shape(0) != graphs.first(graphs.size) || attributes.shape(1) != dimension) {
    throw nb::value_error("attributes must have one row for every node, of the same length on both sides");
  }
}

nb::object hopper(nb::handle x, Matrix<double> x_attributes, nb::handle y, Matrix<double> y_attributes, double gamma,
                  bool slope, std::size_t n_threads) {
  const GraphsIn xs = graphs_in(x), ys = graphs_in(y);
  const std::size_t dimension = x_attributes.shape(1);
  check_attributes(xs.view, x_attributes, dimension);
  check_attributes(ys.view, y_attributes, dimension);
  const bool symmetric = same(xs.view, ys.view) && x_attributes.data() == y_attributes.data();
  return matrix_out(xs.view.size, ys.view.size, n_threads, [&](Team& team, double* out) {
    hopper_matrix(xs.view, x_attributes.data(), ys.view, y_attributes.data(), symmetric, {gamma, dimension}, slope,
                  team, out);
  });
}

nb::object hopper_diag(nb::handle x, Matrix<double> attributes, double gamma, std::size_t n_threads) {
  const GraphsIn xs = graphs_in(x);
  const std::size_t dimension = attributes.shape(1);
  check_attributes(xs.view, attributes, dimension);
  return vector_out(xs.view.size, n_threads, [&](Team& team, double* out) {
    hopper_diagonal(xs.view, attributes.data(), {gamma, dimension}, team, out);
  });
}

}  // namespace

void bind_graphs(nb::module_& m) {
  using namespace nb::literals;
  m.def("graph_labels", &labels, "graphs"_a, "rounds"_a, "n_threads"_a,
        "Features: how often each label of nodes occurs, over rounds 0 to `rounds` of Weisfeiler and Lehman.\n"
        "Graphs are a tuple (nodes, arcs, targets, node_keys, arc_keys, weights, directed).");
  m.def("graph_refined", &refined, "graphs"_a, "rounds"_a, "n_threads"_a,
        "The labels of all nodes in rounds 0 to `rounds`, shape (rounds + 1, nodes).");
  m.def("graph_edges", &edges, "graphs"_a, "ends"_a, "n_threads"_a,
        "Features: edges by their label and, with `ends`, by the labels of their ends.");
  m.def("graph_paths", &paths, "graphs"_a, "unit"_a, "n_threads"_a,
        "Features: shortest paths by the labels of their ends and their length, in units if `unit` is positive.");
  m.def("graph_subgraphs", &subgraphs, "graphs"_a, "size"_a, "type_of"_a, "n_types"_a, "n_threads"_a,
        "Connected induced subgraphs of `size` nodes by type, shape (n, n_types).");
  m.def("graph_walks", &walks, "X"_a, "X_spectra"_a.none(), "Y"_a, "Y_spectra"_a.none(), "decay"_a, "exponential"_a,
        "slope"_a, "n_threads"_a,
        "Sums over common walks, or their derivatives by the decay, shape (n, m); NaN where they do not exist.");
  m.def("graph_walks_diag", &walks_diag, "X"_a, "X_spectra"_a.none(), "decay"_a, "exponential"_a, "n_threads"_a,
        "The diagonal of graph_walks.");
  m.def("graph_walks_diverging", &diverging, "X"_a, "X_spectra"_a.none(), "decay"_a, "n_threads"_a,
        "0 for graphs whose geometric sum with themselves exists, else the inverse of the decay that is too large.");
  m.def("graph_hopper", &hopper, "X"_a, "X_attributes"_a, "Y"_a, "Y_attributes"_a, "gamma"_a, "slope"_a, "n_threads"_a,
        "Shortest paths compared node by node, or the derivatives by gamma, shape (n, m).");
  m.def("graph_hopper_diag", &hopper_diag, "X"_a, "X_attributes"_a, "gamma"_a, "n_threads"_a,
        "The diagonal of graph_hopper.");
}

}  // namespace mercer::bind

#include "../mercer/chains.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <tuple>

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using MaybeLabels = std::optional<Vector<std::int32_t>>;

// Rows with stretches of them, checked against each other.
struct ChainsIn {
  SamplesIn rows;
  ChainLayout layout;
  Stretches sequences;
  std::size_t tokens = 0;

  ChainsIn(nb::handle source, std::size_t labels, const Vector<std::int64_t>& starts,
           const Vector<std::int64_t>& lengths)
      : rows(samples_in(source)),
        layout{rows.view.features, labels},
        sequences{starts.data(), lengths.data(), starts.shape(0)} {
    if (rows.view.precision != Precision::full) throw nb::type_error("rows must be float64");
    if (labels == 0) throw nb::value_error("there must be labels");
    if (layout.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw nb::value_error("features times labels must be < 2^31");
    }
    if (lengths.shape(0) != sequences.n) throw nb::value_error("every sequence must have a start and a length");
    const auto n_rows = static_cast<std::int64_t>(rows.view.rows);
    for (std::size_t i = 0; i < sequences.n; ++i) {
      const std::int64_t start = sequences.starts[i], length = sequences.lengths[i];
      if (start < 0 || length < 1 || length > n_rows || start > n_rows - length) {
        throw nb::value_error("sequences must be stretches of rows, of one at least");
      }
      tokens += static_cast<std::size_t>(length);
    }
  }

  const std::int32_t* labels_in(const MaybeLabels& given) const {
    if (!given) return nullptr;
    if (given->shape(0) != tokens) throw nb::value_error("every row of a sequence must have a label");
    for (std::size_t t = 0; t < tokens; ++t) {
      if (given->data()[t] < 0 || static_cast<std::size_t>(given->data()[t]) >= layout.labels) {
        throw nb::value_error("label out of range");
      }
    }
    return given->data();
  }
};

ChainSearch search_in(const std::string& name) {
  if (name == "best") return ChainSearch::best;
  if (name == "margin") return ChainSearch::margin;
  if (name == "slack") return ChainSearch::slack;
  if (name == "another") return ChainSearch::another;
  throw nb::value_error(("unknown search '" + name + "'").c_str());
}

nb::ndarray<nb::numpy, std::int32_t> paths(nb::handle rows, std::size_t n_labels, Vector<std::int64_t> starts,
                                           Vector<std::int64_t> lengths, Vector<double> w, const std::string& search,
                                           MaybeLabels right, std::size_t n_threads, const std::string& level) {
  const ChainsIn chains(rows, n_labels, starts, lengths);
  if (w.shape(0) != chains.layout.size()) throw nb::value_error("w must have a weight for every feature");
  const ChainSearch wanted = search_in(search);
  const std::int32_t* labels = chains.labels_in(right);
  if ((wanted == ChainSearch::best) != (labels == nullptr)) {
    throw nb::value_error("right labels are needed for all searches but the best");
  }
  const Level& loops = find_level(level);
  auto out = room_for<std::int32_t>(chains.tokens);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    chain_paths(loops, chains.rows.view, chains.layout, w.data(), chains.sequences, wanted, labels, team, out.get());
  }
  return own(std::move(out), {chains.tokens});
}

auto features(nb::handle rows, std::size_t n_labels, Vector<std::int64_t> starts, Vector<std::int64_t> lengths,
              Vector<std::int32_t> y, MaybeLabels z) {
  const ChainsIn chains(rows, n_labels, starts, lengths);
  const std::int32_t *plus = chains.labels_in(y), *minus = chains.labels_in(z);
  ChainFeatures found(chains.rows.view, chains.layout);
  found.ends.push_back(0);
  {
    nb::gil_scoped_release unlocked;
    SignalPoll poll;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < chains.sequences.n; ++i) {
      const auto length = static_cast<std::size_t>(chains.sequences.lengths[i]);
      found.add(static_cast<std::size_t>(chains.sequences.starts[i]), length, plus + offset,
                minus == nullptr ? nullptr : minus + offset);
      offset += length;
      poll();
    }
  }
  return std::make_tuple(own(found.values), own(found.columns), own(found.ends));
}

}  // namespace

void bind_chains(nb::module_& m) {
  using namespace nb::literals;
  m.def("chain_paths", &paths, "rows"_a, "n_labels"_a, "starts"_a.noconvert(), "lengths"_a.noconvert(),
        "w"_a.noconvert(), "search"_a, "right"_a.noconvert().none(), "n_threads"_a, "level"_a = "",
        "The labels of sequences, which are stretches of rows, by Viterbi's algorithm; see mercer/chains.hpp.");
  m.def("chain_features", &features, "rows"_a, "n_labels"_a, "starts"_a.noconvert(), "lengths"_a.noconvert(),
        "y"_a.noconvert(), "z"_a.noconvert().none() = nb::none(),
        "The features of sequences with labels y, less those with labels z: data, indices and indptr of sorted rows.");
}

}  // namespace mercer::bind

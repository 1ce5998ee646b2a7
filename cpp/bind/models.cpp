#include "../mercer/grammar.hpp"
#include "../mercer/hidden_markov.hpp"
#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

Sequences sequences_in(const Vector<std::int32_t>& letters, const Vector<std::int64_t>& starts, std::size_t n_letters) {
  bool fits = starts.shape(0) > 0 && starts.data()[0] == 0;
  for (std::size_t i = 0; fits && i + 1 < starts.shape(0); ++i) fits = starts.data()[i] <= starts.data()[i + 1];
  fits = fits && static_cast<std::size_t>(starts.data()[starts.shape(0) - 1]) == letters.shape(0);
  for (std::size_t t = 0; fits && t < letters.shape(0); ++t) {
    fits = letters.data()[t] >= 0 && static_cast<std::size_t>(letters.data()[t]) < n_letters;
  }
  if (!fits) throw nb::value_error("letters and starts do not fit together");
  return {letters.data(), starts.data(), starts.shape(0) - 1};
}

HiddenMarkov hidden_markov_in(const Vector<double>& start, const Matrix<double>& transition,
                              const Matrix<double>& emission) {
  const std::size_t n = start.shape(0);
  if (transition.shape(0) != n || transition.shape(1) != n || emission.shape(0) != n) {
    throw nb::value_error("start, transition and emission do not fit together");
  }
  return {n, emission.shape(1), start.data(), transition.data(), emission.data()};
}

nb::object hmm_counts(Vector<double> start, Matrix<double> transition, Matrix<double> emission,
                      Vector<std::int32_t> letters, Vector<std::int64_t> starts, std::size_t n_threads) {
  const HiddenMarkov model = hidden_markov_in(start, transition, emission);
  const Sequences x = sequences_in(letters, starts, model.letters);
  const std::size_t n = x.rows, states = model.states;
  auto logarithms = std::make_unique_for_overwrite<double[]>(n);
  auto firsts = std::make_unique_for_overwrite<double[]>(n * states);
  auto transitions = std::make_unique_for_overwrite<double[]>(n * states * states);
  auto emissions = std::make_unique_for_overwrite<double[]>(n * states * model.letters);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    hidden_markov_counts(model, x, team, {logarithms.get(), firsts.get(), transitions.get(), emissions.get()});
  }
  return nb::make_tuple(own(std::move(logarithms), {n}), own(std::move(firsts), {n, states}),
                        own(std::move(transitions), {n, states, states}),
                        own(std::move(emissions), {n, states, model.letters}));
}

nb::object hmm_likelihoods(Vector<double> start, Matrix<double> transition, Matrix<double> emission,
                           Vector<std::int32_t> letters, Vector<std::int64_t> starts, std::size_t n_threads) {
  const HiddenMarkov model = hidden_markov_in(start, transition, emission);
  const Sequences x = sequences_in(letters, starts, model.letters);
  auto logarithms = std::make_unique_for_overwrite<double[]>(x.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    hidden_markov_counts(model, x, team, {logarithms.get(), nullptr, nullptr, nullptr});
  }
  return nb::cast(own(std::move(logarithms), {x.rows}));
}

nb::object hmm_pairs(Vector<double> start, Matrix<double> transition, Matrix<double> emission,
                     Vector<std::int32_t> letters, Vector<std::int64_t> starts, std::size_t n_threads) {
  const HiddenMarkov model = hidden_markov_in(start, transition, emission);
  const Sequences x = sequences_in(letters, starts, model.letters);
  auto logarithms = std::make_unique_for_overwrite<double[]>(x.rows);
  std::vector<std::vector<std::uint64_t>> keys;
  std::vector<std::vector<double>> values;
  std::vector<std::int64_t> ends{0};
  std::unique_ptr<std::uint64_t[]> all_keys;
  std::unique_ptr<double[]> all_values;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    hidden_markov_pairs(model, x, team, logarithms.get(), keys, values);
    for (const auto& some : keys) ends.push_back(ends.back() + static_cast<std::int64_t>(some.size()));
    all_keys = room_for<std::uint64_t>(static_cast<std::size_t>(ends.back()));
    all_values = room_for<double>(static_cast<std::size_t>(ends.back()));
    team.for_each(x.rows, [&](std::size_t i, std::size_t) {
      std::copy(keys[i].begin(), keys[i].end(), all_keys.get() + ends[i]);
      std::copy(values[i].begin(), values[i].end(), all_values.get() + ends[i]);
    });
  }
  const std::size_t n = static_cast<std::size_t>(ends.back());
  return nb::make_tuple(own(std::move(logarithms), {x.rows}), own(std::move(all_keys), {n}),
                        own(std::move(all_values), {n}), own(ends));
}

// A grammar with whatever keeps its arrays alive.
struct GrammarIn {
  Vector<std::int32_t> heads, lefts, rights;
  Vector<double> probabilities;
  Matrix<double> lexical;
  Grammar view;
};

GrammarIn grammar_in(Vector<std::int32_t> heads, Vector<std::int32_t> lefts, Vector<std::int32_t> rights,
                     Vector<double> probabilities, Matrix<double> lexical, std::size_t start) {
  const std::size_t rules = heads.shape(0), symbols = lexical.shape(0);
  bool fits = lefts.shape(0) == rules && rights.shape(0) == rules && probabilities.shape(0) == rules && start < symbols;
  for (const auto* side : {&heads, &lefts, &rights}) {
    for (std::size_t r = 0; fits && r < rules; ++r) {
      fits = side->data()[r] >= 0 && static_cast<std::size_t>(side->data()[r]) < symbols;
    }
  }
  if (!fits) throw nb::value_error("the rules of the grammar do not fit together");
  GrammarIn in{heads, lefts, rights, probabilities, lexical, {}};
  in.view = {symbols,       lexical.shape(1),     rules,         start, heads.data(), lefts.data(),
             rights.data(), probabilities.data(), lexical.data()};
  return in;
}

nb::object scfg_counts(Vector<std::int32_t> heads, Vector<std::int32_t> lefts, Vector<std::int32_t> rights,
                       Vector<double> probabilities, Matrix<double> lexical, std::size_t start,
                       Vector<std::int32_t> letters, Vector<std::int64_t> starts, std::size_t n_threads) {
  const GrammarIn in = grammar_in(heads, lefts, rights, probabilities, lexical, start);
  const Sequences x = sequences_in(letters, starts, in.view.letters);
  const std::size_t rules = in.view.rules, symbols = in.view.symbols, n_letters = in.view.letters;
  auto logarithms = std::make_unique_for_overwrite<double[]>(x.rows);
  auto of_rules = std::make_unique_for_overwrite<double[]>(x.rows * rules);
  auto of_lexical = std::make_unique_for_overwrite<double[]>(x.rows * symbols * n_letters);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    grammar_counts(in.view, x, team, logarithms.get(), of_rules.get(), of_lexical.get());
  }
  return nb::make_tuple(own(std::move(logarithms), {x.rows}), own(std::move(of_rules), {x.rows, rules}),
                        own(std::move(of_lexical), {x.rows, symbols, n_letters}));
}

nb::object scfg_likelihoods(Vector<std::int32_t> heads, Vector<std::int32_t> lefts, Vector<std::int32_t> rights,
                            Vector<double> probabilities, Matrix<double> lexical, std::size_t start,
                            Vector<std::int32_t> letters, Vector<std::int64_t> starts, std::size_t n_threads) {
  const GrammarIn in = grammar_in(heads, lefts, rights, probabilities, lexical, start);
  const Sequences x = sequences_in(letters, starts, in.view.letters);
  auto logarithms = std::make_unique_for_overwrite<double[]>(x.rows);
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    grammar_counts(in.view, x, team, logarithms.get(), nullptr, nullptr);
  }
  return nb::cast(own(std::move(logarithms), {x.rows}));
}

}  // namespace

void bind_models(nb::module_& m) {
  using namespace nb::literals;
  m.def("hmm_counts", &hmm_counts, "start"_a.noconvert(), "transition"_a.noconvert(), "emission"_a.noconvert(),
        "letters"_a.noconvert(), "starts"_a.noconvert(), "n_threads"_a,
        "Hidden Markov model: (log-likelihoods, expected first states, transitions, letters in states) of sequences.");
  m.def("hmm_likelihoods", &hmm_likelihoods, "start"_a.noconvert(), "transition"_a.noconvert(),
        "emission"_a.noconvert(), "letters"_a.noconvert(), "starts"_a.noconvert(), "n_threads"_a,
        "Hidden Markov model: log-likelihoods of sequences, shape (n,).");
  m.def(
      "hmm_pairs", &hmm_pairs, "start"_a.noconvert(), "transition"_a.noconvert(), "emission"_a.noconvert(),
      "letters"_a.noconvert(), "starts"_a.noconvert(), "n_threads"_a,
      "Hidden Markov model: (log-likelihoods, keys, values, starts) of expected neighbours: letter a in state s, then\n"
      "letter b in state u, with key ((a * letters + b) * states + s) * states + u.");
  m.def("grammar_counts", &scfg_counts, "heads"_a.noconvert(), "lefts"_a.noconvert(), "rights"_a.noconvert(),
        "probabilities"_a.noconvert(), "lexical"_a.noconvert(), "start"_a, "letters"_a.noconvert(),
        "starts"_a.noconvert(), "n_threads"_a,
        "Stochastic grammar in normal form: (log-likelihoods, expected uses of rules and of lexical rules).");
  m.def("grammar_likelihoods", &scfg_likelihoods, "heads"_a.noconvert(), "lefts"_a.noconvert(), "rights"_a.noconvert(),
        "probabilities"_a.noconvert(), "lexical"_a.noconvert(), "start"_a, "letters"_a.noconvert(),
        "starts"_a.noconvert(), "n_threads"_a,
        "Stochastic grammar in normal form: log-likelihoods of sequences, shape (n,).");
}

}  // namespace mercer::bind

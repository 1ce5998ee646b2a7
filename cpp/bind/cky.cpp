#include "../mercer/cky.hpp"

#include "arrays.hpp"
#include "signals.hpp"

namespace mercer::bind {

namespace {

using Numbers = Vector<std::int32_t>;
using Starts = Vector<std::int64_t>;

bool below(const Numbers& numbers, std::int64_t least, std::size_t limit) {
  for (std::size_t k = 0; k < numbers.shape(0); ++k) {
    const std::int64_t number = numbers.data()[k];
    if (number < least || number >= static_cast<std::int64_t>(limit)) return false;
  }
  return true;
}

bool divide(const Starts& starts, std::size_t parts, std::size_t entries) {
  if (starts.shape(0) != parts + 1 || starts.data()[0] != 0) return false;
  for (std::size_t k = 0; k < parts; ++k) {
    if (starts.data()[k] > starts.data()[k + 1]) return false;
  }
  return starts.data()[parts] == static_cast<std::int64_t>(entries);
}

// A grammar with whatever keeps its arrays alive: (symbol_labels, right_starts, heads, lefts, rights, binary_rules,
// head_starts, by_head, unary_heads, children, unary_rule_starts, unary_rules, unary_label_starts, unary_labels,
// word_starts, word_symbols, word_rules, (visible, start, labels)).
struct ParsingGrammarIn {
  ParsingGrammarIn(nb::tuple source, std::size_t rules) : owner(source) {
    if (nb::len(source) != 18) throw nb::value_error("a grammar has 18 parts");
    std::size_t next = 0;
    const auto numbers = [&] { return nb::cast<Numbers>(source[next++], false); };
    const auto starts = [&] { return nb::cast<Starts>(source[next++], false); };
    const Numbers symbol_labels = numbers();
    const Starts right_starts = starts();
    const Numbers heads = numbers(), lefts = numbers(), rights = numbers(), binary_rules = numbers();
    const Starts head_starts = starts();
    const Numbers by_head = numbers(), unary_heads = numbers(), children = numbers();
    const Starts unary_rule_starts = starts();
    const Numbers unary_rules = numbers();
    const Starts unary_label_starts = starts();
    const Numbers unary_labels = numbers();
    const Starts word_starts = starts();
    const Numbers word_symbols = numbers(), word_rules = numbers();
    const auto sizes = nb::cast<std::vector<std::size_t>>(source[next]);
    const std::size_t symbols = symbol_labels.shape(0), binaries = heads.shape(0), unaries = children.shape(0);
    const bool fits =
        sizes.size() == 3 && sizes[0] <= symbols && sizes[1] < sizes[0] && below(symbol_labels, -1, sizes[2]) &&
        sizes[2] < (std::size_t{1} << span_bits) && divide(right_starts, symbols, binaries) &&
        divide(head_starts, symbols, binaries) && lefts.shape(0) == binaries && rights.shape(0) == binaries &&
        binary_rules.shape(0) == binaries && by_head.shape(0) == binaries && below(heads, 0, symbols) &&
        below(lefts, 0, symbols) && below(rights, 0, symbols) && below(binary_rules, -1, rules) &&
        below(by_head, 0, binaries) && unary_heads.shape(0) == unaries && below(unary_heads, 0, symbols) &&
        below(children, 0, symbols) && divide(unary_rule_starts, unaries, unary_rules.shape(0)) &&
        below(unary_rules, 0, rules) && divide(unary_label_starts, unaries, unary_labels.shape(0)) &&
        below(unary_labels, 0, sizes[2]) && word_starts.shape(0) > 0 &&
        divide(word_starts, word_starts.shape(0) - 1, word_symbols.shape(0)) &&
        word_rules.shape(0) == word_symbols.shape(0) && below(word_symbols, 0, symbols) && below(word_rules, -1, rules);
    if (!fits) throw nb::value_error("the parts of the grammar do not fit together");
    view = {symbols,
            sizes[0],
            sizes[1],
            word_starts.shape(0) - 1,
            rules,
            sizes[2],
            symbol_labels.data(),
            right_starts.data(),
            head_starts.data(),
            heads.data(),
            lefts.data(),
            rights.data(),
            binary_rules.data(),
            by_head.data(),
            unaries,
            unary_heads.data(),
            children.data(),
            unary_rules.data(),
            unary_labels.data(),
            unary_rule_starts.data(),
            unary_label_starts.data(),
            word_starts.data(),
            word_symbols.data(),
            word_rules.data()};
  }

  nb::tuple owner;
  ParsingGrammar view;
};

Search search_in(const std::string& name) {
  if (name == "best") return Search::best;
  if (name == "partial") return Search::partial;
  if (name == "other") return Search::other;
  throw nb::value_error(("unknown search '" + name + "'").c_str());
}

template <class T, class Part>
nb::object joined(const std::vector<Parse>& parses, Part part) {
  std::vector<T> all;
  std::vector<std::int64_t> starts{0};
  for (const Parse& parse : parses) {
    const std::vector<T>& some = part(parse);
    all.insert(all.end(), some.begin(), some.end());
    starts.push_back(static_cast<std::int64_t>(all.size()));
  }
  return nb::make_tuple(own(all), own(starts));
}

nb::object parse(nb::tuple grammar, Vector<double> weights, Numbers words, Starts starts, const std::string& search,
                 std::optional<std::pair<Vector<std::int64_t>, Starts>> constituents,
                 std::optional<std::pair<Numbers, Starts>> rules, std::size_t n_threads) {
  const ParsingGrammarIn in(grammar, weights.shape(0));
  const Search wanted = search_in(search);
  const std::size_t n = starts.shape(0) == 0 ? 0 : starts.shape(0) - 1;
  bool fits = divide(starts, n, words.shape(0)) && below(words, -1, in.view.words);
  for (std::size_t s = 0; fits && s < n; ++s) {
    fits = starts.data()[s + 1] - starts.data()[s] < (std::int64_t{1} << span_bits) - 1;
  }
  Sentences x{words.data(), starts.data(), n};
  if (constituents) {
    fits = fits && divide(constituents->second, n, constituents->first.shape(0));
    const std::int64_t label = (std::int64_t{1} << span_bits) - 1;
    for (std::size_t c = 0; fits && c < constituents->first.shape(0); ++c) {
      fits = (constituents->first.data()[c] & label) < static_cast<std::int64_t>(in.view.labels);
    }
    x.constituents = constituents->first.data();
    x.constituent_starts = constituents->second.data();
  }
  if (rules) {
    fits = fits && divide(rules->second, n, rules->first.shape(0));
    x.rules = rules->first.data();
    x.rule_starts = rules->second.data();
  }
  if (!fits || rules.has_value() != (wanted == Search::other)) throw nb::value_error("sentences do not fit together");
  std::vector<Parse> found;
  {
    nb::gil_scoped_release unlocked;
    Team team(n_threads, SignalPoll());
    found = parse_sentences(in.view, weights.data(), x, wanted, team);
  }
  std::vector<double> scores;
  for (const Parse& one : found) scores.push_back(one.score);
  return nb::make_tuple(joined<std::int32_t>(found, [](const Parse& one) -> const auto& { return one.rules; }),
                        joined<std::int64_t>(found, [](const Parse& one) -> const auto& { return one.constituents; }),
                        own(scores));
}

}  // namespace

void bind_cky(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse_sentences", &parse, "grammar"_a, "weights"_a.noconvert(), "words"_a.noconvert(), "starts"_a.noconvert(),
        "search"_a, "constituents"_a.none() = nb::none(), "rules"_a.none() = nb::none(), "n_threads"_a = 1,
        "Parses of sentences by a weighted grammar, see mercer/cky.hpp: ((rules, starts), (constituents, starts), "
        "scores).\n"
        "`search` is \"best\", \"partial\" or \"other\" than the given rules; with the constituents of right parses, "
        "losses are added.");
}

}  // namespace mercer::bind

// The best parse of a sentence by a weighted context-free grammar: the algorithm of Cocke, Kasami and Younger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace mercer {

// Productions of symbols, each with the rules of the grammar that it uses (-1: none) and the labels that it puts on its
// span. Symbols below `visible` are symbols of the grammar; others help to make rules binary.
struct ParsingGrammar {
  std::size_t symbols = 0, visible = 0, start = 0, words = 0, rules = 0, labels = 0;
  const std::int32_t* symbol_labels = nullptr;  // what a binary or lexical production of a symbol puts there; -1: none
  // Binary productions by their right symbol, and their numbers by their head.
  const std::int64_t *right_starts = nullptr, *head_starts = nullptr;
  const std::int32_t *heads = nullptr, *lefts = nullptr, *rights = nullptr, *binary_rules = nullptr, *by_head = nullptr;
  // Unary productions, those of a child before those that use it; no symbol is its own descendant by them.
  std::size_t unaries = 0;
  const std::int32_t *unary_heads = nullptr, *children = nullptr, *unary_rules = nullptr, *unary_labels = nullptr;
  const std::int64_t *unary_rule_starts = nullptr, *unary_label_starts = nullptr;
  // Lexical productions by their word.
  const std::int64_t* word_starts = nullptr;
  const std::int32_t *word_symbols = nullptr, *word_rules = nullptr;

  std::size_t binaries() const { return static_cast<std::size_t>(right_starts[symbols]); }
};

// A label on the words from i to before j, as one number.
inline constexpr std::size_t span_bits = 21;
inline std::int64_t constituent(std::size_t i, std::size_t j, std::int32_t label) {
  return static_cast<std::int64_t>(i << (2 * span_bits) | j << span_bits) | label;
}

// The rules of a parse, parents before children and from left to right, and its constituents, sorted. A partial parse
// is several in a row, -1 being a word that belongs to none.
struct Parse {
  std::vector<std::int32_t> rules;
  std::vector<std::int64_t> constituents;
  double score = -std::numeric_limits<double>::infinity();
  bool found() const { return !rules.empty(); }
};

// Productions with weights, laid out for the inner loop.
class WeighedGrammar {
 public:
  struct Binary {
    double weight;
    std::int32_t head, left;
  };

  WeighedGrammar(const ParsingGrammar& grammar, const double* weights) : grammar(grammar), weights_(weights) {
    binary.reserve(grammar.binaries());
    for (std::size_t p = 0; p < grammar.binaries(); ++p) {
      binary.push_back({of(grammar.binary_rules[p]), grammar.heads[p], grammar.lefts[p]});
    }
    unary.resize(grammar.unaries);
    for (std::size_t u = 0; u < grammar.unaries; ++u) {
      for (std::int64_t r = grammar.unary_rule_starts[u]; r < grammar.unary_rule_starts[u + 1]; ++r) {
        unary[u] += of(grammar.unary_rules[r]);
      }
    }
  }

  double of(std::int32_t rule) const { return rule < 0 ? 0.0 : weights_[rule]; }

  const ParsingGrammar& grammar;
  std::vector<Binary> binary;
  std::vector<double> unary;

 private:
  const double* weights_;
};

// A sentence: the numbers of its words, -1 for one that the grammar does not know; and, if losses count, the sorted
// constituents of the right parse: a label on a span then adds -1 to the score if it is right, and 1 if not.
struct Sentence {
  const std::int32_t* words = nullptr;
  std::size_t length = 0;
  bool losses = false;
  const std::int64_t *right = nullptr, *right_end = nullptr;
};

// Spans are looked at by their beginning from right to left, and for each beginning by their end. One that is finished
// is put together with all that begin where it ends; what is nothing costs nothing. A span keeps a list of the symbols
// that it may be; those with the beginning at hand are also laid out by symbol, since they are looked up as left
// children. It is that way round because what stands for the end of a long rule has few productions, and a word at its
// beginning many. Memory: a row of all symbols for each word, and the lists.
class Chart {
 public:
  explicit Chart(const WeighedGrammar& weighed)
      : weighed_(weighed), grammar_(weighed.grammar), is_right_(grammar_.labels, false) {}

  template <class Poll>
  void fill(const Sentence& sentence, Poll poll) {
    sentence_ = sentence;
    entries_.clear();
    starts_.assign(1, 0);
    if (rows_.size() <= sentence.length) rows_.resize(sentence.length + 1, Row(grammar_.symbols));
    if (ends_.size() < sentence.length) ends_.resize(sentence.length);
    for (std::size_t i = sentence.length; i-- > 0;) {
      ends_[i].clear();
      for_lexical(i,
                  [&](std::int32_t symbol, double value, Origin origin) { rows_[i + 1].offer(symbol, value, origin); });
      for (std::size_t j = i + 1; j <= sentence.length; ++j) {
        if (!rows_[j].touched.empty()) {
          finish(i, j);
          if (j < sentence.length) extend(j);
        }
        starts_.push_back(entries_.size());
      }
      for (const Reach& reach : ends_[i]) rows_[reach.end].clear();
      if (i % 16 == 15) poll();  // to look at a clock takes as long as many a span
    }
  }

  // The best parse from the start symbol on; not found: there is none.
  Parse best() const {
    Parse parse;
    if (const Entry* top = root()) {
      parse.score = top->value;
      write({0, sentence_.length, top}, {}, parse);
    }
    return parse;
  }

  // The best parse but one. It has one production that the best parse has not, and below and beside it the best ones:
  // whatever has more of them is no better.
  Parse second() const {
    Parse parse;
    const Entry* top = root();
    if (top == nullptr) return parse;
    Change chosen;
    double least = -nothing;
    walk({0, sentence_.length, top}, {}, [&](const Node& node) {
      const Entry other = alternative(node);
      const double lost = node.entry->value - other.value;
      if (other.value != nothing && lost < least) least = lost, chosen = {node.entry, other};
    });
    if (chosen.from == nullptr) return parse;
    parse.score = top->value - least;
    write({0, sentence_.length, top}, chosen, parse);
    return parse;
  }

  // As few trees as possible that cover the sentence, of those the best; a word with no tree stands alone.
  Parse cover() const {
    struct Piece {
      std::size_t pieces = 0, from = 0;
      double score = 0.0;
      const Entry* top = nullptr;
    };
    std::vector<Piece> best(sentence_.length + 1);
    for (std::size_t j = 1; j <= sentence_.length; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const Entry* top = nullptr;
        for (const Entry& entry : span(i, j)) {
          const bool seen = static_cast<std::size_t>(entry.symbol) < grammar_.visible;
          if (seen && (top == nullptr || entry.value > top->value)) top = &entry;
        }
        if (top == nullptr && j - i > 1) continue;
        const Piece now{best[i].pieces + 1, i, best[i].score + (top == nullptr ? 0.0 : top->value), top};
        const bool better = now.pieces < best[j].pieces || (now.pieces == best[j].pieces && now.score > best[j].score);
        if (best[j].pieces == 0 || better) best[j] = now;
      }
    }
    std::vector<std::pair<std::size_t, const Entry*>> pieces;
    for (std::size_t j = sentence_.length; j > 0; j = best[j].from) pieces.emplace_back(j, best[j].top);
    Parse parse;
    parse.score = best.back().score;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      const auto [j, top] = pieces[p];
      if (top == nullptr) {
        parse.rules.push_back(-1);
      } else {
        write({best[j].from, j, top}, {}, parse);
      }
    }
    return parse;
  }

 private:
  static constexpr double nothing = -std::numeric_limits<double>::infinity();

  // A production, by its number among binary, then unary, then lexical ones, and where a binary one divides its span.
  struct Origin {
    std::int32_t production = 0, split = 0;
    bool operator==(const Origin&) const = default;
  };

  struct Entry {
    double value = nothing;
    std::int32_t symbol = 0;
    Origin origin;
  };

  // The symbols that a span may be, by symbol, and those that it is.
  struct Row {
    explicit Row(std::size_t symbols) : values(symbols, nothing), origins(symbols) {}

    void offer(std::int32_t symbol, double value, Origin origin) {
      if (!(value > values[symbol])) return;
      if (values[symbol] == nothing) touched.push_back(symbol);
      values[symbol] = value;
      origins[symbol] = origin;
    }

    void clear() {
      for (const std::int32_t symbol : touched) values[symbol] = nothing;
      touched.clear();
    }

    std::vector<double> values;
    std::vector<Origin> origins;
    std::vector<std::int32_t> touched;
  };

  struct Span {
    const Entry *first, *last;
    const Entry* begin() const { return first; }
    const Entry* end() const { return last; }
  };

  // Where a span ends, and where its symbols are among the entries.
  struct Reach {
    std::size_t end, first, last;
  };

  struct Node {
    std::size_t i = 0, j = 0;
    const Entry* entry = nullptr;
  };

  struct Change {
    const Entry* from = nullptr;
    Entry to;
  };

  const Entry* root() const { return sentence_.length > 0 ? find(0, sentence_.length, grammar_.start) : nullptr; }

  Span span(std::size_t i, std::size_t j) const {
    const std::size_t later = sentence_.length - 1 - i, cell = later * (later + 1) / 2 + (j - 1 - i);
    return {entries_.data() + starts_[cell], entries_.data() + starts_[cell + 1]};
  }

  const Entry* find(std::size_t i, std::size_t j, std::size_t symbol) const {
    const Span all = span(i, j);
    const auto wanted = static_cast<std::int32_t>(symbol);
    const Entry* found = std::lower_bound(all.first, all.last, wanted,
                                          [](const Entry& entry, std::int32_t s) { return entry.symbol < s; });
    return found != all.last && found->symbol == wanted ? found : nullptr;
  }

  // All that is made of a finished span that ends at k, and of one that begins there.
  void extend(std::size_t k) {
    const double* left = rows_[k].values.data();
    for (const Reach& reach : ends_[k]) {
      Row& row = rows_[reach.end];
      for (std::size_t e = reach.first; e < reach.last; ++e) {
        const Entry& right = entries_[e];
        const std::int64_t last = grammar_.right_starts[right.symbol + 1];
        for (std::int64_t p = grammar_.right_starts[right.symbol]; p < last; ++p) {
          const WeighedGrammar::Binary& production = weighed_.binary[p];
          row.offer(production.head, left[production.left] + right.value + production.weight,
                    {static_cast<std::int32_t>(p), static_cast<std::int32_t>(k)});
        }
      }
    }
  }

  // Losses and unary productions of a span that has all its binary ones, which then becomes a list.
  void finish(std::size_t i, std::size_t j) {
    Row& row = rows_[j];
    const bool some_are_right = mark(i, j, true);
    if (sentence_.losses) {
      for (const std::int32_t symbol : row.touched) row.values[symbol] += loss_of(grammar_.symbol_labels[symbol]);
    }
    for (std::size_t u = 0; u < grammar_.unaries; ++u) {
      const double below = row.values[grammar_.children[u]];
      if (below != nothing) row.offer(grammar_.unary_heads[u], below + unary_weight(u), unary_origin(u));
    }
    if (some_are_right) mark(i, j, false);
    std::sort(row.touched.begin(), row.touched.end());
    for (const std::int32_t symbol : row.touched) entries_.push_back({row.values[symbol], symbol, row.origins[symbol]});
    ends_[i].push_back({j, starts_.back(), entries_.size()});
  }

  // action(symbol, value, origin) of the lexical productions of word i.
  template <class Action>
  void for_lexical(std::size_t i, Action action) const {
    const std::int32_t word = sentence_.words[i];
    if (word < 0) return;
    for (std::int64_t l = grammar_.word_starts[word]; l < grammar_.word_starts[word + 1]; ++l) {
      const std::size_t number = grammar_.binaries() + grammar_.unaries + static_cast<std::size_t>(l);
      action(grammar_.word_symbols[l], weighed_.of(grammar_.word_rules[l]),
             Origin{static_cast<std::int32_t>(number), 0});
    }
  }

  Origin unary_origin(std::size_t u) const { return {static_cast<std::int32_t>(grammar_.binaries() + u), 0}; }

  // Labels that are right on a span become so, or are so no more; returns whether there are any.
  bool mark(std::size_t i, std::size_t j, bool right) {
    if (!sentence_.losses) return false;
    const std::int64_t *first = std::lower_bound(sentence_.right, sentence_.right_end, constituent(i, j, 0)),
                       *last = std::lower_bound(first, sentence_.right_end, constituent(i, j + 1, 0));
    for (const std::int64_t* c = first; c != last; ++c) is_right_[*c & ((std::int64_t{1} << span_bits) - 1)] = right;
    return first != last;
  }

  double loss_of(std::int32_t label) const { return label < 0 ? 0.0 : is_right_[label] ? -1.0 : 1.0; }

  double unary_weight(std::size_t u) const {
    double weight = weighed_.unary[u];
    if (!sentence_.losses) return weight;
    for (std::int64_t l = grammar_.unary_label_starts[u]; l < grammar_.unary_label_starts[u + 1]; ++l) {
      weight += loss_of(grammar_.unary_labels[l]);
    }
    return weight;
  }

  // The best other way to make the symbol of a node; without losses.
  Entry alternative(const Node& node) const {
    Entry found{nothing, node.entry->symbol, {}};
    const auto offer = [&](double value, Origin origin) {
      if (value > found.value && !(origin == node.entry->origin)) found.value = value, found.origin = origin;
    };
    if (node.j - node.i == 1) {
      for_lexical(node.i, [&](std::int32_t symbol, double value, Origin origin) {
        if (symbol == found.symbol) offer(value, origin);
      });
    }
    for (std::int64_t q = grammar_.head_starts[found.symbol]; q < grammar_.head_starts[found.symbol + 1]; ++q) {
      const std::int32_t p = grammar_.by_head[q];
      for (std::size_t k = node.i + 1; k < node.j; ++k) {
        const Entry* left = find(node.i, k, static_cast<std::size_t>(grammar_.lefts[p]));
        const Entry* right = left ? find(k, node.j, static_cast<std::size_t>(grammar_.rights[p])) : nullptr;
        if (right) offer(left->value + right->value + weighed_.binary[p].weight, {p, static_cast<std::int32_t>(k)});
      }
    }
    for (std::size_t u = 0; u < grammar_.unaries; ++u) {
      if (grammar_.unary_heads[u] != found.symbol) continue;
      const Entry* below = find(node.i, node.j, static_cast<std::size_t>(grammar_.children[u]));
      if (below) offer(below->value + weighed_.unary[u], unary_origin(u));
    }
    return found;
  }

  // visit(node) for all nodes below one and itself, parents first, from left to right, with one entry changed.
  template <class Visit>
  void walk(Node from, const Change& change, Visit visit) const {
    std::vector<Node> waiting{from};
    waiting.reserve(sentence_.length + 1);
    while (!waiting.empty()) {
      Node node = waiting.back();
      waiting.pop_back();
      if (node.entry == change.from) node.entry = &change.to;
      visit(node);
      const auto [production, split] = node.entry->origin;
      const auto p = static_cast<std::size_t>(production), k = static_cast<std::size_t>(split);
      if (p < grammar_.binaries()) {
        waiting.push_back({k, node.j, find(k, node.j, static_cast<std::size_t>(grammar_.rights[p]))});
        waiting.push_back({node.i, k, find(node.i, k, static_cast<std::size_t>(grammar_.lefts[p]))});
      } else if (p < grammar_.binaries() + grammar_.unaries) {
        const auto child = static_cast<std::size_t>(grammar_.children[p - grammar_.binaries()]);
        waiting.push_back({node.i, node.j, find(node.i, node.j, child)});
      }
    }
  }

  // Rules and constituents of what is below a node, with one entry changed, are added to a parse.
  void write(const Node& top, const Change& change, Parse& parse) const {
    parse.rules.reserve(3 * sentence_.length);
    parse.constituents.reserve(3 * sentence_.length);
    walk(top, change, [&](const Node& node) {
      const auto use = [&](std::int32_t rule) {
        if (rule >= 0) parse.rules.push_back(rule);
      };
      const auto label = [&](std::int32_t l) {
        if (l >= 0) parse.constituents.push_back(constituent(node.i, node.j, l));
      };
      const auto p = static_cast<std::size_t>(node.entry->origin.production), binaries = grammar_.binaries();
      if (p < binaries) {
        use(grammar_.binary_rules[p]);
        label(grammar_.symbol_labels[node.entry->symbol]);
      } else if (p >= binaries + grammar_.unaries) {
        use(grammar_.word_rules[p - binaries - grammar_.unaries]);
        label(grammar_.symbol_labels[node.entry->symbol]);
      } else {
        const std::size_t u = p - binaries;
        for (std::int64_t r = grammar_.unary_rule_starts[u]; r < grammar_.unary_rule_starts[u + 1]; ++r) {
          use(grammar_.unary_rules[r]);
        }
        for (std::int64_t l = grammar_.unary_label_starts[u]; l < grammar_.unary_label_starts[u + 1]; ++l) {
          label(grammar_.unary_labels[l]);
        }
      }
    });
    std::sort(parse.constituents.begin(), parse.constituents.end());
  }

  const WeighedGrammar& weighed_;
  const ParsingGrammar& grammar_;
  Sentence sentence_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> starts_;
  std::vector<Row> rows_;                 // of the spans with the beginning at hand, by their end
  std::vector<std::vector<Reach>> ends_;  // for every beginning, of the spans that may be anything
  std::vector<bool> is_right_;
};

// What is searched for: the best parse, or the best cover where there is none, or the best parse that is not the given
// one.
enum class Search { best, partial, other };

struct Sentences {
  const std::int32_t* words = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t n = 0;
  // Right parses: their constituents, or null if losses do not count; their rules, for `Search::other` alone.
  const std::int64_t *constituents = nullptr, *constituent_starts = nullptr;
  const std::int32_t* rules = nullptr;
  const std::int64_t* rule_starts = nullptr;
};

// A parse of every sentence; threads over sentences.
inline std::vector<Parse> parse_sentences(const ParsingGrammar& grammar, const double* weights, const Sentences& x,
                                          Search search, Team& team) {
  const WeighedGrammar weighed(grammar, weights);
  std::vector<Chart> charts(team.size(), Chart(weighed));
  std::vector<Parse> found(x.n);
  team.for_each(x.n, [&](std::size_t s, std::size_t worker) {
    Sentence sentence{x.words + x.starts[s], static_cast<std::size_t>(x.starts[s + 1] - x.starts[s])};
    if (x.constituents != nullptr) {
      sentence.losses = true;
      sentence.right = x.constituents + x.constituent_starts[s];
      sentence.right_end = x.constituents + x.constituent_starts[s + 1];
    }
    Chart& chart = charts[worker];
    chart.fill(sentence, [&] { team.poll(worker); });
    found[s] = chart.best();
    if (search == Search::partial && !found[s].found()) found[s] = chart.cover();
    if (search == Search::other) {
      const std::int32_t *first = x.rules + x.rule_starts[s], *last = x.rules + x.rule_starts[s + 1];
      if (std::equal(first, last, found[s].rules.begin(), found[s].rules.end())) found[s] = chart.second();
    }
  });
  return found;
}

}  // namespace mercer

// Chains of labels: the best labels of a sequence of rows, and the features that rows have with labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "level.hpp"
#include "matrix.hpp"
#include "parallel.hpp"

namespace mercer {

// The layout of weights and features: of features of rows [feature, label], of a label after another [before, after],
// of the first label and of the last one.
struct ChainLayout {
  std::size_t features = 0, labels = 0;

  std::size_t transition() const { return features * labels; }
  std::size_t first() const { return (features + labels) * labels; }
  std::size_t last() const { return first() + labels; }
  std::size_t size() const { return last() + labels; }
};

// Sequences are stretches of rows: sequence i has the rows from starts[i] on, lengths[i] > 0 of them. Its labels are at
// offsets[i] in an array of the labels of all.
struct Stretches {
  const std::int64_t *starts = nullptr, *lengths = nullptr;
  std::size_t n = 0;

  std::vector<std::size_t> offsets() const {
    std::vector<std::size_t> places(n + 1);
    for (std::size_t i = 0; i < n; ++i) places[i + 1] = places[i] + static_cast<std::size_t>(lengths[i]);
    return places;
  }
};

enum class ChainSearch {
  best,     // the labels with the largest score
  margin,   // with the largest score + number of wrong labels
  slack,    // with the largest number of wrong labels, times 1 + score - that of the right labels
  another,  // the right labels, or, if 1 + its score is larger, the best of all others
};

// Rows of numbers that begin with cache lines and are padded to whole ones.
class PaddedRows {
 public:
  explicit PaddedRows(std::size_t columns, std::size_t rows = 0)
      : lines_((columns + chain_pad - 1) / chain_pad), values_(rows * lines_) {}

  void make_room(std::size_t rows) {
    if (values_.size() < rows * lines_) values_.resize(rows * lines_);
  }
  std::size_t width() const { return lines_ * chain_pad; }
  double* operator[](std::size_t row) { return values_[row * lines_].numbers; }
  const double* operator[](std::size_t row) const { return values_[row * lines_].numbers; }

 private:
  struct alignas(chain_pad * sizeof(double)) Line {
    double numbers[chain_pad] = {};
  };

  std::size_t lines_;
  std::vector<Line> values_;
};

// The weights of labels as the search wants them; behind the last label there are labels that are impossible.
struct ChainTables {
  static constexpr double impossible = -std::numeric_limits<double>::infinity();

  PaddedRows after, before;  // [before, after] and [after, before]
  PaddedRows ends;           // of the first and of the last label

  ChainTables(const ChainLayout& layout, const double* w)
      : after(layout.labels, layout.labels), before(layout.labels, layout.labels), ends(layout.labels, 2) {
    const std::size_t n = layout.labels;
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(w + layout.transition() + i * n, n, after[i]);
      std::fill(after[i] + n, after[i] + after.width(), impossible);
      for (std::size_t j = 0; j < n; ++j) before[j][i] = after[i][j];
    }
    std::copy_n(w + layout.first(), n, ends[0]);
    std::copy_n(w + layout.last(), n, ends[1]);
    std::fill(ends[0] + n, ends[0] + ends.width(), impossible);
  }
};

// Viterbi's algorithm over (place, errors, label), the errors up to a most that stands for all above it: none are told
// apart for a best path, none and some for another path, and all for slack. Forward, only values are kept; the path is
// found backward by asking again which label before was the best one.
class Viterbi {
 public:
  Viterbi(const ChainLoops& loops, const Samples& rows, const ChainLayout& layout, const double* w,
          const ChainTables& tables)
      : loops_(loops),
        rows_(rows),
        n_(layout.labels),
        w_(w),
        tables_(tables),
        emission_(n_),
        best_(n_),
        reached_(n_, 1),
        every_(rows.sparse ? 0 : rows.features) {
    std::iota(every_.begin(), every_.end(), 0);
  }

  void find(std::size_t row, std::size_t length, ChainSearch search, const std::int32_t* right, std::int32_t* path) {
    score(row, length);
    if (search == ChainSearch::margin) {
      // One less for what is right: one more for all that is wrong, but for a constant.
      for (std::size_t t = 0; t < length; ++t) emission_[t][right[t]] -= 1.0;
    }
    most_ = search == ChainSearch::slack ? length : search == ChainSearch::another ? 1 : 0;
    forward(length, right);
    const std::size_t errors = most_ == 0 ? 0 : best_errors(length, search == ChainSearch::slack);
    if (most_ > 0 && errors == 0) {
      std::copy_n(right, length, path);
    } else {
      backward(length, right, errors, path);
    }
  }

 private:
  static constexpr double impossible = ChainTables::impossible;

  static std::size_t label(const std::int32_t* labels, std::size_t t) { return static_cast<std::size_t>(labels[t]); }

  void score(std::size_t row, std::size_t length) {
    emission_.make_room(length);
    const auto* values = static_cast<const double*>(rows_.values);
    for (std::size_t t = 0; t < length; ++t) {
      double* scores = emission_[t];
      if (rows_.sparse) {
        const auto begin = static_cast<std::size_t>(rows_.starts[row + t]);
        const auto end = static_cast<std::size_t>(rows_.starts[row + t + 1]);
        loops_.sum_of_rows(values + begin, rows_.columns + begin, end - begin, w_, n_, scores);
        continue;
      }
      loops_.sum_of_rows(values + (row + t) * rows_.features, every_.data(), rows_.features, w_, n_, scores);
    }
  }

  double* at(std::size_t t, std::size_t errors) { return best_[t * (most_ + 1) + errors]; }

  // So many errors may have been made up to a place.
  std::size_t errors_at(std::size_t t) const { return std::min(t + 1, most_); }

  // best(t, errors, j): the largest score of labels up to t that end with j and have so many errors.
  void forward(std::size_t length, const std::int32_t* right) {
    best_.make_room(length * (most_ + 1));
    for (std::size_t t = 0; t < length; ++t) {
      if (most_ == 0) {
        reach(t, 0, at(t, 0));
        continue;
      }
      std::fill_n(at(t, 0), (errors_at(t) + 1) * best_.width(), impossible);
      for (std::size_t before = 0; before <= (t == 0 ? 0 : errors_at(t - 1)); ++before) {
        double *reached = reached_[0], *same = at(t, before), *wrong = at(t, std::min(before + 1, most_));
        reach(t, before, reached);
        const std::size_t j = label(right, t);
        same[j] = std::max(same[j], reached[j]);
        reached[j] = same == wrong ? reached[j] : impossible;  // the right label makes no error
        for (std::size_t i = 0; i < n_; ++i) wrong[i] = std::max(wrong[i], reached[i]);
      }
    }
  }

  // The largest scores of labels up to t that have so many errors before it.
  void reach(std::size_t t, std::size_t errors, double* scores) {
    if (t > 0) {
      loops_.best_of_rows(at(t - 1, errors), n_, tables_.after[0], best_.width(), emission_[t], scores);
    } else {
      for (std::size_t j = 0; j < best_.width(); ++j) scores[j] = tables_.ends[0][j] + emission_[0][j];
    }
  }

  Candidate best_end(std::size_t length, std::size_t errors) {
    return best_label(at(length - 1, errors), tables_.ends[1]);
  }

  // Of labels that exist, also where sums are no numbers.
  Candidate best_label(const double* scores, const double* more) const {
    Candidate found = loops_.best_sum(scores, more, best_.width());
    found.position = std::min(found.position, n_ - 1);
    return found;
  }

  // The number of errors that is worst: they are the loss, or some are a loss of one; none has the worth 0.
  std::size_t best_errors(std::size_t length, bool counted) {
    const double right = best_end(length, 0).value;
    std::size_t worst = 0;
    double most = 0.0;
    for (std::size_t errors = 1; errors <= errors_at(length - 1); ++errors) {
      const double ahead = 1.0 + best_end(length, errors).value - right;
      const double worth = counted ? static_cast<double>(errors) * ahead : ahead;
      if (worth > most) {
        most = worth;
        worst = errors;
      }
    }
    return worst;
  }

  void backward(std::size_t length, const std::int32_t* right, std::size_t errors, std::int32_t* path) {
    std::size_t j = best_end(length, errors).position;
    for (std::size_t t = length - 1;; --t) {
      path[t] = static_cast<std::int32_t>(j);
      if (t == 0) return;
      const bool wrong = most_ > 0 && j != label(right, t);
      // A wrong label had one error less before it, or, if that is the most, as many.
      const std::size_t least = wrong ? errors - 1 : errors;
      Candidate from{impossible, 0};
      std::size_t before = least;
      for (std::size_t k = least; k <= std::min(errors == most_ ? errors : least, errors_at(t - 1)); ++k) {
        const Candidate found = best_label(at(t - 1, k), tables_.before[j]);
        if (found.value > from.value) {
          from = found;
          before = k;
        }
      }
      j = from.position;
      errors = before;
    }
  }

  const ChainLoops& loops_;
  const Samples rows_;
  const std::size_t n_;
  const double* w_;
  const ChainTables& tables_;
  PaddedRows emission_, best_, reached_;
  std::size_t most_ = 0;
  std::vector<std::int32_t> every_;  // feature of a dense row
};

// The labels of every sequence, found by so many threads as the team has; `right` is null for the best ones.
inline void chain_paths(const Level& level, const Samples& rows, const ChainLayout& layout, const double* w,
                        const Stretches& sequences, ChainSearch search, const std::int32_t* right, Team& team,
                        std::int32_t* paths) {
  constexpr std::size_t together = 8;
  const std::vector<std::size_t> offsets = sequences.offsets();
  const ChainTables tables(layout, w);
  std::vector<Viterbi> searches(team.size(), Viterbi(level.chains, rows, layout, w, tables));
  team.for_each((sequences.n + together - 1) / together, [&](std::size_t tile, std::size_t worker) {
    for (std::size_t i = tile * together; i < std::min(sequences.n, (tile + 1) * together); ++i) {
      searches[worker].find(static_cast<std::size_t>(sequences.starts[i]),
                            static_cast<std::size_t>(sequences.lengths[i]), search,
                            right == nullptr ? nullptr : right + offsets[i], paths + offsets[i]);
    }
  });
}

// The features of sequences with labels, or those with labels y minus those with labels z, as sparse rows.
class ChainFeatures {
 public:
  ChainFeatures(const Samples& rows, const ChainLayout& layout) : rows_(rows), layout_(layout) {}

  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> ends;  // of the rows

  // Adds a row; z may be null.
  void add(std::size_t row, std::size_t length, const std::int32_t* y, const std::int32_t* z) {
    if (rows_.sparse) {
      add_sparse(row, length, y, z);
    } else {
      add_dense(row, length, y, z);
    }
    add_labels(length, y, 1.0);
    if (z != nullptr) add_labels(length, z, -1.0);
    flush();
    ends.push_back(static_cast<std::int64_t>(values.size()));
  }

 private:
  struct Part {
    std::int32_t column;
    double value;
  };

  void put(std::size_t column, double value) { parts_.push_back({static_cast<std::int32_t>(column), value}); }

  void add_sparse(std::size_t row, std::size_t length, const std::int32_t* y, const std::int32_t* z) {
    const auto* entries = static_cast<const double*>(rows_.values);
    for (std::size_t t = 0; t < length; ++t) {
      if (z != nullptr && y[t] == z[t]) continue;
      const auto low = static_cast<std::size_t>(z != nullptr ? std::min(y[t], z[t]) : y[t]);
      const auto high = static_cast<std::size_t>(z != nullptr ? std::max(y[t], z[t]) : y[t]);
      const double sign = low == static_cast<std::size_t>(y[t]) ? 1.0 : -1.0;
      for (std::int64_t e = rows_.starts[row + t]; e < rows_.starts[row + t + 1]; ++e) {
        const std::size_t column = static_cast<std::size_t>(rows_.columns[e]) * layout_.labels;
        put(column + low, sign * entries[e]);
        if (high != low) put(column + high, -sign * entries[e]);
      }
      runs_.push_back(parts_.size());
    }
  }

  // Columns in their order, without sorting: feature by feature, and for each the labels that are concerned.
  void add_dense(std::size_t row, std::size_t length, const std::int32_t* y, const std::int32_t* z) {
    concerned_.clear();
    for (std::size_t t = 0; t < length; ++t) {
      if (z != nullptr && y[t] == z[t]) continue;
      concerned_.push_back(y[t]);
      if (z != nullptr) concerned_.push_back(z[t]);
    }
    std::sort(concerned_.begin(), concerned_.end());
    concerned_.erase(std::unique(concerned_.begin(), concerned_.end()), concerned_.end());
    const auto slot = [&](std::int32_t label) {
      return static_cast<std::size_t>(std::lower_bound(concerned_.begin(), concerned_.end(), label) -
                                      concerned_.begin());
    };
    const std::size_t slots = concerned_.size();
    sums_.assign(slots * rows_.features, 0.0);
    const double* entries = static_cast<const double*>(rows_.values) + row * rows_.features;
    for (std::size_t t = 0; t < length; ++t, entries += rows_.features) {
      if (z != nullptr && y[t] == z[t]) continue;
      double* sums = &sums_[slot(y[t])];
      for (std::size_t f = 0; f < rows_.features; ++f) sums[f * slots] += entries[f];
      if (z == nullptr) continue;
      sums = &sums_[slot(z[t])];
      for (std::size_t f = 0; f < rows_.features; ++f) sums[f * slots] -= entries[f];
    }
    for (std::size_t f = 0; f < rows_.features; ++f) {
      for (std::size_t k = 0; k < slots; ++k) {
        if (sums_[f * slots + k] == 0.0) continue;
        columns.push_back(static_cast<std::int32_t>(f * layout_.labels) + concerned_[k]);
        values.push_back(sums_[f * slots + k]);
      }
    }
  }

  void add_labels(std::size_t length, const std::int32_t* labels, double sign) {
    put(layout_.first() + static_cast<std::size_t>(labels[0]), sign);
    put(layout_.last() + static_cast<std::size_t>(labels[length - 1]), sign);
    for (std::size_t t = 1; t < length; ++t) {
      put(layout_.transition() + static_cast<std::size_t>(labels[t - 1]) * layout_.labels +
              static_cast<std::size_t>(labels[t]),
          sign);
    }
  }

  // Tokens have left runs that ascend, so that merging is cheaper than sorting.
  void merge_runs() {
    const auto by_column = [](const Part& a, const Part& b) { return a.column < b.column; };
    const std::size_t last = runs_.empty() ? 0 : runs_.back();
    std::sort(parts_.begin() + static_cast<std::ptrdiff_t>(last), parts_.end(), by_column);
    runs_.push_back(parts_.size());
    merged_.resize(parts_.size());
    while (runs_.size() > 1) {
      const auto at = [&](std::size_t run) {
        return parts_.begin() + static_cast<std::ptrdiff_t>(run == 0 ? 0 : runs_[std::min(run, runs_.size()) - 1]);
      };
      auto out = merged_.begin();
      longer_.clear();
      for (std::size_t run = 0; run < runs_.size(); run += 2) {
        out = std::merge(at(run), at(run + 1), at(run + 1), at(run + 2), out, by_column);
        longer_.push_back(static_cast<std::size_t>(out - merged_.begin()));
      }
      runs_.swap(longer_);
      parts_.swap(merged_);
    }
    runs_.clear();
  }

  void flush() {
    merge_runs();
    for (std::size_t k = 0; k < parts_.size();) {
      const std::int32_t column = parts_[k].column;
      double sum = 0.0;
      for (; k < parts_.size() && parts_[k].column == column; ++k) sum += parts_[k].value;
      if (sum == 0.0) continue;
      columns.push_back(column);
      values.push_back(sum);
    }
    parts_.clear();
  }

  const Samples rows_;
  const ChainLayout layout_;
  std::vector<Part> parts_, merged_;
  std::vector<std::size_t> runs_, longer_;  // where runs end
  std::vector<std::int32_t> concerned_;
  std::vector<double> sums_;
};

}  // namespace mercer

// Many machines over the same support vectors: what all of them say of a sample, or only those that it meets on its way
// through the graph of pairs of classes.
//
// A decision value is summed over the support vectors in their order, whichever way it is computed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "products.hpp"

namespace mercer {

// Coefficients over the support vectors, a sparse row for every machine, sorted within the row.
struct Machines {
  const double* values = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t count = 0;

  std::size_t begin(std::size_t machine) const { return static_cast<std::size_t>(starts[machine]); }
  std::size_t size(std::size_t machine) const { return begin(machine + 1) - begin(machine); }

  // The sum of one machine over kernel values that lie `stride` apart.
  double sum(const Level& level, std::size_t machine, const double* kernel_values, std::size_t stride) const {
    const std::size_t first = begin(machine);
    return level.algebra.sparse_dot(values + first, columns + first, size(machine), kernel_values, stride);
  }

  // The sums of one machine for some of the samples whose kernel values lie in a table, eight at a time.
  void some_sums(const Level& level, std::size_t machine, const double* table, std::size_t sample_stride,
                 std::size_t support_stride, const std::size_t* samples, std::size_t n, double* sums) const {
    const std::size_t first = begin(machine);
    for (std::size_t i = 0; i < n; i += dots_together) {
      const std::size_t count = std::min(dots_together, n - i);
      if (count == 1) {
        sums[i] = sum(level, machine, table + samples[i] * sample_stride, support_stride);
        continue;
      }
      const double* rows[dots_together];
      double found[dots_together];
      for (std::size_t r = 0; r < dots_together; ++r) {
        rows[r] = table + samples[i + std::min(r, count - 1)] * sample_stride;
      }
      level.algebra.sparse_dots(values + first, columns + first, size(machine), rows, support_stride, found);
      std::copy_n(found, count, sums + i);
    }
  }

  // The sums of one machine for n samples that lie side by side, their support vectors `stride` apart.
  void all_sums(const Level& level, std::size_t machine, const double* table, std::size_t stride, std::size_t n,
                double* sums) const {
    const std::size_t first = begin(machine);
    std::fill_n(sums, n, 0.0);
    level.algebra.combine(values + first, columns + first, size(machine), table, stride, n, sums);
  }
};

// out (machines, m) = the sums of all machines, over all n samples, at m of these: K (n, n) is symmetric and in memory.
template <class S>
void matrix_dot_rows(const Level& level, const S* K, std::size_t n, const std::int64_t* at, std::size_t m,
                     const Machines& machines, Team& team, double* out) {
  constexpr std::size_t width = 64;
  std::vector<char> used(n, 0);
  for (std::size_t e = 0; e < machines.begin(machines.count); ++e)
    used[static_cast<std::size_t>(machines.columns[e])] = 1;
  team.for_each((m + width - 1) / width, [&](std::size_t b, std::size_t) {
    const std::size_t first = b * width, size = std::min(width, m - first);
    std::vector<double> table(n * size);  // the columns side by side
    for (std::size_t i = 0; i < n; ++i) {
      const S* const row = K + i * n;
      for (std::size_t c = 0; used[i] && c < size; ++c) table[i * size + c] = double(row[at[first + c]]);
    }
    for (std::size_t k = 0; k < machines.count; ++k) {
      machines.all_sums(level, k, table.data(), size, size, out + k * m + first);
    }
  });
}

// out (machines, n) = the sums of all machines for n samples x over the support vectors y.
inline void kernel_dot_rows(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                            const Machines& machines, Team& team, double* out) {
  const std::size_t n = x.rows;
  if (n < Vectors<double>::width / 4) {  // as in kernel_dot: one sample against many support vectors wastes no tile
    std::vector<double> values(n * y.rows);
    kernel_matrix<double>(spec, level, x, y, team, values.data());
    for (std::size_t k = 0; k < machines.count; ++k) {
      for (std::size_t i = 0; i < n; ++i) out[k * n + i] = machines.sum(level, k, values.data() + i * y.rows, 1);
    }
    return;
  }
  std::fill_n(out, machines.count * n, 0.0);
  const Vectors<double> rows(spec, level, y, all_positions(y.rows), false);
  const Vectors<double> columns(spec, level, x, all_positions(n), false);
  std::vector<TileScratch<double>> scratch(team.size());
  struct Part {
    std::size_t machine, begin, entries;
  };
  std::vector<Part> parts;  // of the machines that a group of support vectors serves
  std::vector<std::int32_t> places(machines.begin(machines.count));  // of the entries in the group
  std::vector<std::size_t> next(machines.count);
  for (std::size_t k = 0; k < machines.count; ++k) next[k] = machines.begin(k);
  for_each_group(rows, [&](std::size_t start, const RowBlock<double>& block) {
    parts.clear();
    for (std::size_t k = 0; k < machines.count; ++k) {
      const std::size_t begin = next[k], end = machines.begin(k + 1);
      for (; next[k] < end && static_cast<std::size_t>(machines.columns[next[k]]) < start + block.size(); ++next[k]) {
        places[next[k]] = machines.columns[next[k]] - static_cast<std::int32_t>(start);
      }
      if (next[k] > begin) parts.push_back({k, begin, next[k] - begin});
    }
    for_each_stretch(block, columns, team, scratch,
                     [&](std::size_t first, std::size_t n_columns, const double* values, std::size_t stride) {
                       for (const Part& part : parts) {
                         level.algebra.combine(machines.values + part.begin, places.data() + part.begin, part.entries,
                                               values, stride, n_columns, out + part.machine * n + first);
                       }
                     });
  });
}

// --- the graph of pairs ------------------------------------------------------------------------------------------

// The pair first < second among all pairs of classes, in lexicographic order.
inline std::size_t pair_number(std::size_t first, std::size_t second, std::size_t n_classes) {
  return first * (2 * n_classes - first - 1) / 2 + second - first - 1;
}

// Leads n samples through the graph: of the classes that are left the first meets the last, and the loser is out. After
// so many steps all samples have equally many classes left, those from their first one on, so that samples with the
// same first class are at the same machine. ask(machine, samples, n, values, worker) is to give decision values,
// positive for the last class. scores (n, n_classes) = when each class went out, the winner last. Returns how many
// values were asked.
template <class Ask>
std::size_t walk(std::size_t n, std::size_t n_classes, const double* offsets, Team& team, Ask ask, double* scores) {
  constexpr std::size_t largest_piece = 256;
  struct Piece {
    std::size_t first_class, begin, size;
  };
  std::vector<std::size_t> first(n, 0), order(n), starts(n_classes + 1);
  std::vector<double> values(n);
  std::vector<Piece> pieces;
  std::size_t asked = 0;
  for (std::size_t step = 0; step + 1 < n_classes; ++step) {
    const std::size_t further = n_classes - 1 - step;  // from the first class to the last
    std::fill(starts.begin(), starts.end(), 0);
    for (std::size_t i = 0; i < n; ++i) ++starts[first[i] + 1];
    for (std::size_t c = 0; c < n_classes; ++c) starts[c + 1] += starts[c];
    pieces.clear();
    for (std::size_t c = 0; c < n_classes; ++c) {
      for (std::size_t begin = starts[c]; begin < starts[c + 1]; begin += largest_piece) {
        pieces.push_back({c, begin, std::min(largest_piece, starts[c + 1] - begin)});
      }
    }
    for (std::size_t i = 0; i < n; ++i) order[starts[first[i]]++] = i;
    team.for_each(pieces.size(), [&](std::size_t k, std::size_t worker) {
      const auto [c, begin, size] = pieces[k];
      const std::size_t machine = pair_number(c, c + further, n_classes);
      ask(machine, order.data() + begin, size, values.data() + begin, worker);
      for (std::size_t p = begin; p < begin + size; ++p) {
        const std::size_t i = order[p];
        const bool last_wins = values[p] + offsets[machine] > 0.0;
        scores[i * n_classes + (last_wins ? c : c + further)] = double(step);
        first[i] += last_wins;
      }
    });
    for (const Piece& piece : pieces) asked += piece.size;
  }
  for (std::size_t i = 0; i < n; ++i) scores[i * n_classes + first[i]] = double(n_classes - 1);
  return asked;
}

// A walk over a matrix of kernel values, (n, n_support).
inline std::size_t walk_over_matrix(const double* matrix, std::size_t n, std::size_t n_support, const Level& level,
                                    const Machines& machines, const double* offsets, std::size_t n_classes, Team& team,
                                    double* scores) {
  const auto ask = [&](std::size_t machine, const std::size_t* samples, std::size_t count, double* sums, std::size_t) {
    machines.some_sums(level, machine, matrix, n_support, 1, samples, count, sums);
  };
  return walk(n, n_classes, offsets, team, ask, scores);
}

// use(first sample, n, values, sample stride, support stride) for some samples at a time, `values` being those of all
// support vectors.
template <class Use>
void for_each_row_of_values(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, Team& team,
                            Use use) {
  if (x.rows < Vectors<double>::width / 4) {  // as in kernel_dot: one sample against many vectors wastes no tile
    std::vector<double> values(x.rows * y.rows);
    kernel_matrix<double>(spec, level, x, y, team, values.data());
    use(std::size_t{0}, x.rows, values.data(), y.rows, std::size_t{1});
    return;
  }
  const Vectors<double> support(spec, level, y, all_positions(y.rows), false);
  const Vectors<double> columns(spec, level, x, all_positions(x.rows), false);
  RowBlock<double> block;
  support.gather(all_positions(y.rows).data(), y.rows, block);
  std::vector<TileScratch<double>> scratch(team.size());
  for_each_stretch(block, columns, team, scratch,
                   [&](std::size_t first, std::size_t n, const double* values, std::size_t stride) {
                     use(first, n, values, std::size_t{1}, stride);
                   });
}

// A walk that computes the kernel values of all support vectors for every sample first.
inline std::size_t walk_over_rows(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                                  const Machines& machines, const double* offsets, std::size_t n_classes, Team& team,
                                  double* scores) {
  std::atomic<std::size_t> asked{0};
  for_each_row_of_values(spec, level, x, y, team,
                         [&](std::size_t first, std::size_t n, const double* values, std::size_t sample_stride,
                             std::size_t support_stride) {
                           Team alone(1);
                           std::vector<double> all;
                           const auto ask = [&](std::size_t machine, const std::size_t* samples, std::size_t count,
                                                double* sums, std::size_t) {
                             if (sample_stride == 1 && count == n) {  // all of them, in their order
                               machines.all_sums(level, machine, values, support_stride, n, sums);
                             } else if (sample_stride == 1 && 3 * count >= n) {
                               // All of them, side by side, are sooner done than a third of them one by one.
                               all.resize(n);
                               machines.all_sums(level, machine, values, support_stride, n, all.data());
                               for (std::size_t i = 0; i < count; ++i) sums[i] = all[samples[i]];
                             } else {
                               machines.some_sums(level, machine, values, sample_stride, support_stride, samples, count,
                                                  sums);
                             }
                           };
                           asked += walk(n, n_classes, offsets, alone, ask, scores + first * n_classes);
                         });
  return asked;
}

// votes (n, n_classes) of all pairs, and the sums of their decision values: for the second class, against the first.
inline void vote(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                 const Machines& machines, const double* offsets, std::size_t n_classes, Team& team, double* votes,
                 double* sums) {
  const auto count = [&](std::size_t first, std::size_t n, const double* values, std::size_t sample_stride,
                         std::size_t support_stride) {
    // By class, then by sample: what a pair says is added along the samples.
    std::vector<double> won(n_classes * n, 0.0), total(n_classes * n, 0.0), decision(n);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < n_classes; ++i) {
      for (std::size_t j = i + 1; j < n_classes; ++j, ++pair) {
        if (sample_stride == 1) {
          machines.all_sums(level, pair, values, support_stride, n, decision.data());
        } else {
          for (std::size_t s = 0; s < n; ++s) {
            decision[s] = machines.sum(level, pair, values + s * sample_stride, support_stride);
          }
        }
        for (std::size_t s = 0; s < n; ++s) {
          const double value = decision[s] + offsets[pair];
          const double second = value > 0.0 ? 1.0 : 0.0;
          won[j * n + s] += second;
          won[i * n + s] += 1.0 - second;
          total[j * n + s] += value;
          total[i * n + s] -= value;
        }
      }
    }
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t c = 0; c < n_classes; ++c) {
        votes[(first + s) * n_classes + c] = won[c * n + s];
        sums[(first + s) * n_classes + c] = total[c * n + s];
      }
    }
  };
  for_each_row_of_values(spec, level, x, y, team, count);
}

// The sums of one machine for some samples, computing the kernel values of its own support vectors only.
class LoneMachines {
 public:
  LoneMachines(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y, const Machines& machines,
               std::size_t n_workers)
      : spec_(spec), level_(level), x_(x), y_(y), machines_(machines), own_(n_workers) {}

  void operator()(std::size_t machine, const std::size_t* samples, std::size_t n, double* sums, std::size_t worker) {
    const std::size_t begin = machines_.begin(machine), m = machines_.size(machine);
    Own& own = own_[worker];
    const Vectors<double> support(spec_, level_, y_, {machines_.columns + begin, machines_.columns + begin + m}, false);
    const Vectors<double> asked(spec_, level_, x_, {samples, samples + n}, false);
    if (n < Vectors<double>::width / 4) {
      own.values.resize(n * m);
      for_each_group(asked, [&](std::size_t start, const RowBlock<double>& block) {
        for_each_tile(
            block, support, own.alone, own.scratch,
            [&](std::size_t row, std::size_t n_rows, std::size_t first, std::size_t n_columns, const double* tile) {
              for (std::size_t r = 0; r < n_rows; ++r) {
                std::copy_n(tile + r * Vectors<double>::width, n_columns,
                            own.values.data() + (start + row + r) * m + first);
              }
            });
      });
      for (std::size_t i = 0; i < n; ++i) {
        sums[i] = level_.full.dot(own.values.data() + i * m, machines_.values + begin, 1, m);
      }
      return;
    }
    std::fill_n(sums, n, 0.0);
    for_each_group(support, [&](std::size_t start, const RowBlock<double>& block) {
      own.values.assign(block.size() + spread_rows, 0.0);
      std::copy_n(machines_.values + begin + start, block.size(), own.values.data());
      add_weighted(block, asked, own.alone, own.scratch, own.values.data(), sums);
    });
  }

 private:
  struct Own {
    Team alone{1};
    std::vector<TileScratch<double>> scratch = std::vector<TileScratch<double>>(1);
    std::vector<double> values;
  };
  KernelSpec spec_;
  const Level& level_;
  Samples x_, y_;
  Machines machines_;
  std::vector<Own> own_;
};

// A walk that computes, at every machine, the kernel values of its support vectors for the samples that reach it.
inline std::size_t walk_over_machines(const KernelSpec& spec, const Level& level, const Samples& x, const Samples& y,
                                      const Machines& machines, const double* offsets, std::size_t n_classes,
                                      Team& team, double* scores) {
  // What a step computes, for a machine of average size.
  const std::size_t entries = machines.begin(machines.count) / machines.count;
  Team alone(1);
  Team& workers = x.rows * entries * (x.features + 16) < small_work ? alone : team;
  LoneMachines lone(spec, level, x, y, machines, workers.size());
  const auto ask = [&](std::size_t machine, const std::size_t* samples, std::size_t n, double* sums,
                       std::size_t worker) { lone(machine, samples, n, sums, worker); };
  return walk(x.rows, n_classes, offsets, workers, ask, scores);
}

}  // namespace mercer

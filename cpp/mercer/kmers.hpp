// Pieces of sequences as features: contiguous ones, with some of their places masked, or with neighbours; and
// subsequences.
//
// The key of a piece depends on its symbols alone. Up to eight ASCII letters are coded exactly, seven bits each, behind
// a bit that tells lengths apart; everything else gets a hash, a polynomial over the field of 2^61 - 1 elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features.hpp"
#include "parallel.hpp"
#include "sequences.hpp"

namespace mercer {

// Arithmetic modulo the prime 2^61 - 1.
struct Field61 {
  static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
  static constexpr std::uint64_t base = 0x1b873593cc9e2d51u % prime;

  static std::uint64_t reduced(std::uint64_t a) {
    a = (a & prime) + (a >> 61);
    return a >= prime ? a - prime : a;
  }
  // A symbol as an element. Keys of integers and of characters are powers of two apart, and thus close together modulo
  // the prime: they are scrambled first.
  static std::uint64_t of(std::uint64_t symbol) { return reduced(scrambled(symbol)); }
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return reduced(a + b); }
  static std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return reduced(a + prime - b); }
  static std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 wide = static_cast<unsigned __int128>(a) * b;
    return sum(static_cast<std::uint64_t>(wide) & prime, static_cast<std::uint64_t>(wide >> 61));
  }
  static std::uint64_t power(std::size_t exponent) {
    std::uint64_t result = 1;
    for (std::size_t k = 0; k < exponent; ++k) result = product(result, base);
    return result;
  }
};

inline constexpr std::uint64_t character_key = std::uint64_t{1} << 62;  // of the character with code point 0
inline constexpr std::size_t longest_exact = 8;
inline constexpr std::uint64_t exact_parts = 64;

inline bool is_ascii(std::uint64_t key) { return key - character_key < 128; }

// Symbols one after the other become a key; `part` tells pieces of different kinds apart.
class PieceKey {
 public:
  void add(std::uint64_t symbol) {
    exact_ = exact_ << 7 | (symbol & 127);
    ascii_ = ascii_ && is_ascii(symbol);
    hash_ = Field61::sum(Field61::product(hash_, Field61::base), Field61::of(symbol));
    ++size_;
  }
  std::uint64_t key(std::uint64_t part) const {
    return ascii_ && size_ <= longest_exact && part < exact_parts ? exact(exact_, part) : hashed(hash_, part);
  }

  static std::uint64_t exact(std::uint64_t code, std::uint64_t part) { return part << 57 | code; }
  static std::uint64_t hashed(std::uint64_t hash, std::uint64_t part) {
    return scrambled(scrambled(hash ^ part * 0xd6e8feb86659fd93u)) | std::uint64_t{1} << 63;
  }

 private:
  std::uint64_t exact_ = 1, hash_ = 1;
  std::size_t size_ = 0;
  bool ascii_ = true;
};

// use(i, key) for the piece of length p that ends before place i + 1 of s, in time independent of p.
template <class Use>
void for_each_piece(const std::uint64_t* s, std::size_t n, std::size_t p, Use use) {
  if (n < p) return;
  std::size_t ascii = 0;  // length of the run of ASCII letters that ends here
  if (p <= longest_exact) {
    const std::uint64_t marker = std::uint64_t{1} << 7 * p;
    bool all = true;
    std::uint64_t code = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ascii = is_ascii(s[i]) ? ascii + 1 : 0;
      all = all && ascii > 0;
      code = (code << 7 | (s[i] & 127)) & (marker - 1);
      if (i + 1 >= p && ascii >= p) use(i, PieceKey::exact(marker | code, 0));
    }
    if (all) return;
    ascii = 0;
  }
  // h = B^p + sum_k s_k B^(p - 1 - k), as in PieceKey
  const std::uint64_t top = Field61::power(p);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ascii = is_ascii(s[i]) ? ascii + 1 : 0;
    hash = Field61::sum(Field61::product(hash, Field61::base), Field61::of(s[i]));
    if (i >= p) hash = Field61::difference(hash, Field61::product(top, Field61::of(s[i - p])));
    if (i + 1 >= p && !(p <= longest_exact && ascii >= p)) use(i, PieceKey::hashed(Field61::sum(top, hash), 0));
  }
}

// Features of all samples, one sample after the other.
struct FeatureList {
  std::vector<std::uint64_t> keys;
  std::vector<double> values;
  std::vector<std::int64_t> starts;
};

// add(i, worker, keys, values) adds the features of sample i, with ascending keys.
template <class Add>
FeatureList gather_features(std::size_t rows, Team& team, Add add) {
  constexpr std::size_t step = 64;
  struct Tile {
    std::vector<std::uint64_t> keys;
    std::vector<double> values;
    std::vector<std::size_t> sizes;
  };
  std::vector<Tile> tiles((rows + step - 1) / step);
  team.for_each(tiles.size(), [&](std::size_t t, std::size_t worker) {
    Tile& tile = tiles[t];
    for (std::size_t i = t * step; i < std::min(rows, (t + 1) * step); ++i) {
      const std::size_t before = tile.keys.size();
      add(i, worker, tile.keys, tile.values);
      tile.sizes.push_back(tile.keys.size() - before);
    }
  });
  FeatureList all;
  all.starts.assign(1, 0);
  for (const Tile& tile : tiles) {
    for (const std::size_t size : tile.sizes) all.starts.push_back(all.starts.back() + static_cast<std::int64_t>(size));
  }
  all.keys.reserve(static_cast<std::size_t>(all.starts.back()));
  all.values.reserve(all.keys.capacity());
  for (Tile& tile : tiles) {
    all.keys.insert(all.keys.end(), tile.keys.begin(), tile.keys.end());
    all.values.insert(all.values.end(), tile.values.begin(), tile.values.end());
    tile = Tile();
  }
  return all;
}

// Keys in ascending order, in time linear in their number where there are many.
inline void sort_keys(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& room) {
  constexpr std::size_t bits = 11, buckets = std::size_t{1} << bits;
  if (keys.size() < buckets / 2) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  room.resize(keys.size());
  std::uint64_t varying = 0;
  for (const std::uint64_t key : keys) varying |= key ^ keys[0];
  for (std::size_t shift = 0; shift < 64; shift += bits) {
    if ((varying >> shift & (buckets - 1)) == 0) continue;
    std::size_t place[buckets + 1] = {};
    for (const std::uint64_t key : keys) ++place[(key >> shift & (buckets - 1)) + 1];
    for (std::size_t b = 0; b < buckets; ++b) place[b + 1] += place[b];
    for (const std::uint64_t key : keys) room[place[key >> shift & (buckets - 1)]++] = key;
    keys.swap(room);
  }
}

// Counted features: list(i, keys) adds the keys of the occurrences in sample i, each counts 1.
template <class List>
FeatureList count_features(std::size_t rows, Team& team, List list) {
  std::vector<std::vector<std::uint64_t>> found(team.size()), room(team.size());
  return gather_features(rows, team, [&](std::size_t i, std::size_t worker, auto& keys, auto& values) {
    std::vector<std::uint64_t>& all = found[worker];
    all.clear();
    list(i, all);
    sort_keys(all, room[worker]);
    for (std::size_t a = 0, b = 0; a < all.size(); a = b) {
      while (b < all.size() && all[b] == all[a]) ++b;
      keys.push_back(all[a]);
      values.push_back(static_cast<double>(b - a));
    }
  });
}

// What occurs in a sample, and how much it counts.
struct Occurrence {
  std::uint64_t key;
  double value;
};

// Weighted features: list(i, found) adds the occurrences in sample i; the values of one key are added in this order.
template <class List>
FeatureList weigh_features(std::size_t rows, Team& team, List list) {
  std::vector<std::vector<Occurrence>> found(team.size());
  return gather_features(rows, team, [&](std::size_t i, std::size_t worker, auto& keys, auto& values) {
    std::vector<Occurrence>& all = found[worker];
    all.clear();
    list(i, all);
    std::stable_sort(all.begin(), all.end(), [](const Occurrence& a, const Occurrence& b) { return a.key < b.key; });
    for (std::size_t a = 0; a < all.size(); ++a) {
      if (a > 0 && all[a].key == all[a - 1].key) {
        values.back() += all[a].value;
      } else {
        keys.push_back(all[a].key);
        values.push_back(all[a].value);
      }
    }
  });
}

// The pieces of lengths `shortest` to `longest`.
inline FeatureList spectrum_features(const Sequences& x, std::size_t shortest, std::size_t longest, Team& team) {
  return count_features(x.rows, team, [&](std::size_t i, std::vector<std::uint64_t>& keys) {
    for (std::size_t p = shortest; p <= std::min(longest, x.length(i)); ++p) {
      for_each_piece(x.begin(i), x.length(i), p, [&](std::size_t, std::uint64_t key) { keys.push_back(key); });
    }
  });
}

// The pieces of length `window`, of which only the places set in a mask are seen; one part for each mask.
inline FeatureList masked_features(const Sequences& x, std::size_t window, const std::uint64_t* masks,
                                   std::size_t n_masks, Team& team) {
  std::vector<char> short_enough(n_masks);
  for (std::size_t part = 0; part < n_masks; ++part) {
    short_enough[part] = part < exact_parts && std::popcount(masks[part]) <= static_cast<int>(longest_exact);
  }
  return count_features(x.rows, team, [&](std::size_t i, std::vector<std::uint64_t>& keys) {
    const bool ascii = std::all_of(x.begin(i), x.end(i), is_ascii);
    for (std::size_t at = 0; at + window <= x.length(i); ++at) {
      const std::uint64_t* s = x.begin(i) + at;
      for (std::size_t part = 0; part < n_masks; ++part) {
        if (ascii && short_enough[part]) {  // the key of PieceKey, without the hash that it does not need
          std::uint64_t code = 1;
          for (std::uint64_t left = masks[part]; left != 0; left &= left - 1) {
            code = code << 7 | (s[__builtin_ctzll(left)] & 127);
          }
          keys.push_back(PieceKey::exact(code, part));
        } else {
          PieceKey piece;
          for (std::uint64_t left = masks[part]; left != 0; left &= left - 1) piece.add(s[__builtin_ctzll(left)]);
          keys.push_back(piece.key(part));
        }
      }
    }
  });
}

// The neighbours of every piece of length k: all sequences over the alphabet that differ from it in up to m places.
inline FeatureList neighbour_features(const Sequences& x, std::size_t k, std::size_t m, const std::uint64_t* alphabet,
                                      std::size_t n_symbols, Team& team) {
  return count_features(x.rows, team, [&](std::size_t i, std::vector<std::uint64_t>& keys) {
    std::vector<std::uint64_t> piece(k);
    const auto visit = [&](const auto& again, std::size_t from, std::size_t left) -> void {
      PieceKey whole;
      for (const std::uint64_t symbol : piece) whole.add(symbol);
      keys.push_back(whole.key(0));
      if (left == 0) return;
      for (std::size_t place = from; place < k; ++place) {
        const std::uint64_t own = piece[place];
        for (std::size_t a = 0; a < n_symbols; ++a) {
          if (alphabet[a] == own) continue;
          piece[place] = alphabet[a];
          again(again, place + 1, left - 1);
        }
        piece[place] = own;
      }
    };
    for (std::size_t at = 0; at + k <= x.length(i); ++at) {
      std::copy_n(x.begin(i) + at, k, piece.begin());
      visit(visit, 0, m);
    }
  });
}

// Pieces of lengths 1 to `longest`, at their places if `placed`; one of length p counts weights[p - 1].
inline FeatureList weighted_pieces(const Sequences& x, std::size_t longest, const double* weights, bool placed,
                                   Team& team) {
  return weigh_features(x.rows, team, [&](std::size_t i, std::vector<Occurrence>& found) {
    for (std::size_t p = 1; p <= std::min(longest, x.length(i)); ++p) {
      if (weights[p - 1] == 0.0) continue;
      for_each_piece(x.begin(i), x.length(i), p, [&](std::size_t end, std::uint64_t key) {
        found.push_back({placed ? PieceKey::hashed(key, end + 1) : key, weights[p - 1]});
      });
    }
  });
}

// Subsequences of lengths `shortest` to `longest`, listed one by one; each of its places counts decay^(length from the
// first to the last).
inline FeatureList subsequence_features(const Sequences& x, std::size_t shortest, std::size_t longest, double decay,
                                        Team& team) {
  std::vector<double> powers{1.0};
  for (std::size_t i = 0; i < x.rows; ++i) {
    while (powers.size() <= x.length(i)) powers.push_back(powers.back() * decay);
  }
  return weigh_features(x.rows, team, [&](std::size_t i, std::vector<Occurrence>& found) {
    const std::uint64_t* s = x.begin(i);
    const std::size_t n = x.length(i);
    // A subsequence of `size` symbols from place `first` to before `end`, and all that go on from it.
    const auto go_on = [&](const auto& again, const PieceKey& piece, std::size_t size, std::size_t first,
                           std::size_t end) -> void {
      if (size >= shortest) found.push_back({piece.key(0), powers[end - first]});
      if (size == longest) return;
      const std::size_t needed = std::max(shortest, size + 1) - size;  // symbols, from the next one on
      for (std::size_t place = end; place + needed <= n; ++place) {
        PieceKey longer = piece;
        longer.add(s[place]);
        again(again, longer, size + 1, size == 0 ? place : first, place + 1);
      }
    };
    go_on(go_on, PieceKey(), 0, 0, 0);
  });
}

}  // namespace mercer

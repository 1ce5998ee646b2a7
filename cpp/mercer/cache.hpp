// Rows of a matrix under a byte budget: the least recently used row makes room.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

namespace mercer {

template <class T>
class RowCache {
 public:
  RowCache(std::size_t n_rows, std::size_t row_length, std::size_t bytes)
      : row_length_(row_length), capacity_(row_length == 0 ? 0 : bytes / (row_length * sizeof(T))), rows_(n_rows) {}

  std::size_t capacity() const { return capacity_; }

  // The stored row, marked as used, or nullptr.
  const T* find(std::size_t row) {
    Slot& slot = rows_[row];
    if (!slot.values) return nullptr;
    order_.splice(order_.begin(), order_, slot.place);
    return slot.values.get();
  }

  // Room for a row that is not stored. A pointer stays valid until `capacity` further rows have been
  // inserted.
  T* insert(std::size_t row) {
    Slot& slot = rows_[row];
    if (order_.size() >= capacity_) {
      Slot& oldest = rows_[order_.back()];
      slot.values = std::move(oldest.values);
      order_.pop_back();
    } else {
      slot.values = std::make_unique_for_overwrite<T[]>(row_length_);
    }
    order_.push_front(row);
    slot.place = order_.begin();
    return slot.values.get();
  }

 private:
  struct Slot {
    std::unique_ptr<T[]> values;
    std::list<std::size_t>::iterator place;
  };
  std::size_t row_length_, capacity_;
  std::vector<Slot> rows_;
  std::list<std::size_t> order_;
};

}  // namespace mercer

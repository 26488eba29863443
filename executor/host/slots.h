// Slots: a free list of equally large scratch areas, given to values while a kernel is planned.
#pragma once

#include <cstddef>
#include <vector>

namespace cleave::runtime::host {

class Slots {
 public:
  std::size_t take() {
    if (free_.empty()) return count_++;
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) { free_.push_back(slot); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::vector<std::size_t> free_;
  std::size_t count_ = 0;
};

}  // namespace cleave::runtime::host

// Position: a side's position in the one sequential program order that underlies all step lists, with loops unrolled. Two sides compare
// positions to find out whose error comes first, and which steps may still run before it.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "graph/base/id.h"

namespace cleave::runtime {

/// [order of a control step, trip and phase, order of a step inside, …, order], compared lexicographically; an empty position is before all
/// others. A position is copied with every command, so it allocates only where loops and branches are deeply nested.
class Position {
 public:
  Position() = default;
  Position(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) push_back(number);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  std::int64_t& operator[](std::size_t i) { return i < kNear ? near_[i] : far_[i - kNear]; }
  std::int64_t operator[](std::size_t i) const { return i < kNear ? near_[i] : far_[i - kNear]; }
  std::int64_t& back() { return (*this)[size_ - 1]; }
  void push_back(std::int64_t number) {
    if (size_ < kNear) {
      near_[size_] = number;
    } else {
      far_.push_back(number);
    }
    ++size_;
  }
  void pop_back() {
    if (--size_ >= kNear) far_.pop_back();
  }

  friend std::strong_ordering operator<=>(const Position& a, const Position& b) {
    for (std::size_t i = 0; i < std::min(a.size_, b.size_); ++i) {
      if (a[i] != b[i]) return a[i] <=> b[i];
    }
    return a.size_ <=> b.size_;
  }
  friend bool operator==(const Position& a, const Position& b) { return (a <=> b) == 0; }

 private:
  static constexpr std::size_t kNear = 11;  ///< enough for five nested loops
  std::array<std::int64_t, kNear> near_{};
  std::size_t size_ = 0;
  std::vector<std::int64_t> far_;
};

/// The node of the graph that a piece of work belongs to (none: the run itself), and its position in the program order.
struct Origin {
  NodeId node;
  Position position;
};

}  // namespace cleave::runtime

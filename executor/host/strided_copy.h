// StridedCopy: moves elements from one regular grid of memory to another, as slice, pad, flip, repeat and stack do. Allocates no memory;
// divides the work among workers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/device/workers.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::host {

class StridedCopy {
 public:
  /// Adds an axis, from the outermost to the innermost: its extent, and its strides (in elements) in source and target. Targets of
  /// different elements do not overlap. Neighbouring axes that source and target both traverse as one are merged.
  void add(std::int64_t extent, std::int64_t from, std::int64_t to);
  /// `element`: 1, 2, 4 or 8 bytes.
  void run(const std::byte* from, std::byte* to, std::int64_t element, Workers& workers) const;

 private:
  struct Axis {
    std::int64_t extent = 1, from = 0, to = 0;
  };
  /// The innermost axis (0) or the one around it (1); an axis of one element if there is none.
  [[nodiscard]] Axis axis(std::size_t from_end) const { return from_end < count_ ? axes_[count_ - 1 - from_end] : Axis{}; }
  [[nodiscard]] bool crosswise() const;
  template <class T>
  void run_as(const T* from, T* to, Workers& workers) const;
  template <class T>
  void rows(const T* from, T* to, std::int64_t begin, std::int64_t end) const;

  std::size_t count_ = 0;
  std::int64_t elements_ = 1;
  std::array<Axis, 2 * ops::kMaxRank + 2> axes_{};
};

}  // namespace cleave::runtime::host

// Moving elements from one regular grid of memory to another: what slice, pad, flip, repeat, stack and their like come to. No memory of its
// own; split among workers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/device/workers.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::host {

class StridedCopy {
 public:
  /// From the outermost axis to the innermost: how many elements, and how far apart (in elements) they stand here and there. Results do not
  /// overlap. Axes that both sides walk as one are merged.
  void add(std::int64_t extent, std::int64_t from, std::int64_t to);
  /// `element`: 1, 2, 4 or 8 bytes.
  void run(const std::byte* from, std::byte* to, std::int64_t element, Workers& workers) const;

 private:
  struct Axis {
    std::int64_t extent = 1, from = 0, to = 0;
  };
  /// The innermost (0) or the one around it (1), of one element where there is none.
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

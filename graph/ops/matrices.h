// A batch of matrices in the last two axes: where each one lies, and what is said of one that will not do. Shared by reference
// implementations and kernels.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// LAPACK counts in 32 bits.
inline constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int32_t>::max() / 16;

inline constexpr const char* kSingular = "is singular";
inline constexpr const char* kNotPositiveDefinite = "is not positive definite";
inline constexpr const char* kNotFinite = "has an element that is not finite";

/// The axes before the last two.
inline Shape batch_of(const Shape& shape) {
  return shape.size() < 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
}
inline std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Of one operand, or of two whose batches broadcast; a second one with one axis is a column for each matrix of the first.
class MatrixBatch {
 public:
  /// `Operand` has a `shape()`. `result`: of a call with two operands.
  template <class Operands>
  MatrixBatch(const Shape& result, const Operands& operands) {
    const bool vector = operands.size() > 1 && shape_of(operands[1]).size() == 1;
    batch_ = operands.size() == 1 ? batch_of(shape_of(operands[0])) : vector ? Shape(result.begin(), result.end() - 1) : batch_of(result);
    for (const auto& operand : operands) {
      const Shape& shape = shape_of(operand);
      const bool column = shape.size() == 1;
      extents_.emplace_back(column ? shape[0] : shape[shape.size() - 2], column ? 1 : shape.back());
      std::vector<std::int64_t> strides(batch_.size(), 0);
      std::int64_t stride = extents_.back().first * extents_.back().second;
      const Shape own = batch_of(shape);
      for (std::size_t axis = own.size(); axis-- > 0;) {
        if (own[axis] != 1) strides[batch_.size() - own.size() + axis] = stride;
        stride *= own[axis];
      }
      strides_.push_back(std::move(strides));
    }
  }

  [[nodiscard]] std::int64_t count() const { return element_count(batch_); }
  /// Rows and columns of an operand's matrices.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> extents(std::size_t operand) const { return extents_[operand]; }
  /// Elements before matrix `i` of the batch in an operand.
  [[nodiscard]] std::int64_t offset(std::size_t operand, std::int64_t i) const {
    std::int64_t sum = 0;
    for (std::size_t axis = batch_.size(); axis-- > 0; i /= batch_[axis]) sum += i % batch_[axis] * strides_[operand][axis];
    return sum;
  }
  /// "the matrix at [2, 0] is singular"
  [[nodiscard]] std::string problem(std::int64_t i, std::string_view wrong) const {
    std::string place;
    for (std::size_t axis = batch_.size(); axis-- > 0; i /= batch_[axis])
      place = std::to_string(i % batch_[axis]) + (place.empty() ? "" : ", " + place);
    return "the matrix " + (place.empty() ? "" : "at [" + place + "] of the batch ") + std::string(wrong);
  }

 private:
  template <class Operand>
  static const Shape& shape_of(const Operand& operand) {
    if constexpr (requires { operand.shape(); }) {
      return operand.shape();
    } else {
      return operand.type->shape;
    }
  }

  Shape batch_;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents_;
  std::vector<std::vector<std::int64_t>> strides_;
};

}  // namespace cleave::ops

// Requantizer: what becomes of the sums of a quantized product or convolution, read from the operands behind the factors. Also the factors'
// zero points, and blocks of sums. Shared by quantized_matmul and quantized_conv.
#pragma once

#include <string>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/host/quantized/code.h"

namespace cleave::runtime::host {

/// The exclusive or that turns bytes of this type into u8: i8 is moved by 128, and so is its zero point.
std::uint8_t flip_of(DType dtype);
/// The elements of a zero point, moved likewise: one, or one for each output.
void read_zeros(const TensorView& view, std::vector<std::int16_t>& zeros);
/// The names of zero points in the form of what is derived from a constant factor.
std::string form_of_zeros(const std::vector<std::int16_t>& zeros);

/// Elements between the rows of a left factor in 16 bits, with room for an odd end. Rows do not all begin at the same place of a page.
std::int64_t widened_row(std::int64_t inner);
/// Computes a block of sums, range by range of the inner axis, so that panels stay in the first-level cache.
void multiply_in_ranges(const QuantizedCode& code, QuantizedBlock block);

class Requantizer {
 public:
  /// Reads the operands of a call; `outputs` is the number of columns or output channels.
  void read(const KernelCall& call, std::int64_t outputs);

  /// A call that writes `count` sums of one output channel to the result, from element `place` on.
  [[nodiscard]] RescaleCall of_channel(std::int64_t output, std::int64_t place, const std::int32_t* sums, std::int64_t count) const;
  /// A call that writes sums of neighboring columns, from `column` on.
  [[nodiscard]] RescaleCall of_columns(std::int64_t column, std::int64_t place, const std::int32_t* sums, std::int64_t count) const;
  /// Bytes of an element of the result.
  [[nodiscard]] std::int64_t element_bytes() const { return bytes_; }

 private:
  static constexpr std::int64_t kPastEnd = 16;  ///< elements that whole registers read past the last column

  RescaleCall call_;
  std::byte* result_ = nullptr;
  std::int64_t bytes_ = 1;
  std::vector<std::int32_t> bias_;  ///< by column, with room past the end
  std::vector<float> factor_;
};

}  // namespace cleave::runtime::host

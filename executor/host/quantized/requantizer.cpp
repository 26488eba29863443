#include "executor/host/quantized/requantizer.h"

#include <algorithm>
#include <cmath>

#include "graph/base/stop.h"
#include "graph/ops/quantized_products.h"

namespace cleave::runtime::host {

std::uint8_t flip_of(DType dtype) {
  return dtype == DType::i8 ? 0x80 : 0;
}

void read_zeros(const TensorView& view, std::vector<std::int16_t>& zeros) {
  const std::uint8_t flip = flip_of(view.type->dtype), *bytes = view.as<const std::uint8_t>();
  zeros.resize(static_cast<std::size_t>(view.type->elements()));
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<std::int16_t>(bytes[i] ^ flip);
}

std::string form_of_zeros(const std::vector<std::int16_t>& zeros) {
  std::string form = " minus";
  for (const std::int16_t zero : zeros) form += " " + std::to_string(zero);
  return form;
}

std::int64_t widened_row(std::int64_t inner) {
  constexpr std::int64_t kPageElements = 512;
  const std::int64_t row = (inner + 31) / 32 * 32;
  return row % kPageElements == 0 ? row + 32 : row;
}

void multiply_in_ranges(const QuantizedCode& code, QuantizedBlock block) {
  constexpr std::int64_t kRange = 256;  // pairs: a panel of 16 columns has 16 KiB
  for (block.first = 0; block.first < block.panel_pairs; block.first += kRange) {
    if (block.first > 0) look_at_stop();
    block.pairs = std::min(kRange, block.panel_pairs - block.first);
    block.add = block.first > 0;
    code.block(block);
  }
}

void Requantizer::read(const KernelCall& call, std::int64_t outputs) {
  using To = RescaleCall::To;
  const std::size_t operands = call.inputs.size();
  const DType dtype = call.results[0].type->dtype;
  result_ = call.results[0].data;
  bytes_ = size_of(dtype);
  call_ = {};
  call_.form = dtype == DType::i32 ? To::i32 : dtype == DType::f32 ? To::f32 : dtype == DType::i8 ? To::i8 : To::u8;
  const auto copy = [&](std::size_t operand, auto& to) {
    using T = std::remove_reference_t<decltype(to[0])>;
    const TensorView& view = call.inputs[operand];
    to.resize(static_cast<std::size_t>(outputs + kPastEnd));
    std::copy_n(view.as<const T>(), view.type->elements(), to.begin());
    return view.type->scalar() ? 0 : 1;
  };
  if (operands > ops::kQuantizedBias) {
    call_.bias_step = copy(ops::kQuantizedBias, bias_);
    call_.bias = bias_.data();
  }
  if (operands > ops::kQuantizedFactor) {
    call_.factor_step = copy(ops::kQuantizedFactor, factor_);
    call_.factor = factor_.data();
    const std::int64_t count = call_.factor_step == 0 ? 1 : outputs;
    call_.finite = std::all_of(factor_.begin(), factor_.begin() + count, [](float factor) { return std::isfinite(factor); });
  }
  if (operands <= ops::kQuantizedZero) return;
  const TensorView& zero = call.inputs[ops::kQuantizedZero];
  call_.zero = dtype == DType::i8 ? *zero.as<const std::int8_t>() : *zero.as<const std::uint8_t>();
}

RescaleCall Requantizer::of_columns(std::int64_t column, std::int64_t place, const std::int32_t* sums, std::int64_t count) const {
  RescaleCall call = call_;
  call.from = sums;
  call.count = count;
  call.to = result_ + place * bytes_;
  if (call.bias) call.bias += column * call.bias_step;
  if (call.factor) call.factor += column * call.factor_step;
  return call;
}

RescaleCall Requantizer::of_channel(std::int64_t output, std::int64_t place, const std::int32_t* sums, std::int64_t count) const {
  RescaleCall call = of_columns(output, place, sums, count);
  call.bias_step = call.factor_step = 0;
  return call;
}

}  // namespace cleave::runtime::host

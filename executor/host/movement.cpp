// Kernels that only move: results in the operand's order are one copy; transpose goes in blocks that stay in the cache.
#include <algorithm>
#include <cstring>

#include "executor/host/kernels.h"

namespace cleave::runtime::host {
namespace {

Status copy_kernel(const KernelCall& call) {
  const auto bytes = static_cast<std::size_t>(call.results[0].type->bytes());
  if (bytes > 0) std::memmove(call.results[0].data, call.inputs[0].data, bytes);
  return {};
}

template <class T>
void transpose(const T* in, T* out, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlock = 32;
  for (std::int64_t r = 0; r < rows; r += kBlock) {
    for (std::int64_t c = 0; c < columns; c += kBlock) {
      const std::int64_t r_end = std::min(rows, r + kBlock), c_end = std::min(columns, c + kBlock);
      for (std::int64_t i = r; i < r_end; ++i) {
        for (std::int64_t j = c; j < c_end; ++j) out[j * rows + i] = in[i * columns + j];
      }
    }
  }
}

template <class T>
void transpose_all(const KernelCall& call) {
  const TensorType& type = *call.inputs[0].type;
  const std::int64_t columns = type.shape.back(), rows = type.shape[type.shape.size() - 2];
  if (rows == 0 || columns == 0) return;
  const std::int64_t matrices = type.elements() / (rows * columns);
  for (std::int64_t m = 0; m < matrices; ++m) {
    transpose(call.inputs[0].as<T>() + m * rows * columns, call.results[0].as<T>() + m * rows * columns, rows, columns);
  }
}

Status transpose_kernel(const KernelCall& call) {
  if (call.inputs[0].type->rank() < 2) return run_meaning(call);
  switch (size_of(call.results[0].type->dtype)) {
    case 1: transpose_all<std::uint8_t>(call); break;
    case 2: transpose_all<std::uint16_t>(call); break;
    case 4: transpose_all<std::uint32_t>(call); break;
    default: transpose_all<std::uint64_t>(call);
  }
  return {};
}

/// Runs of whatever lies behind the axis, operand by operand.
Status concat_kernel(const KernelCall& call) {
  const TensorType& result = *call.results[0].type;
  std::int64_t axis = call.attributes.get_or<std::int64_t>("axis", 0);
  if (axis < 0) axis += result.rank();
  std::int64_t before = 1, behind = size_of(result.dtype);
  for (std::int64_t i = 0; i < result.rank(); ++i) {
    if (i < axis) before *= result.shape[static_cast<std::size_t>(i)];
    if (i > axis) behind *= result.shape[static_cast<std::size_t>(i)];
  }
  std::byte* out = call.results[0].data;
  for (std::int64_t b = 0; b < before; ++b) {
    for (const TensorView& input : call.inputs) {
      const std::int64_t run = input.type->shape[static_cast<std::size_t>(axis)] * behind;
      if (run > 0) std::memcpy(out, input.data + b * run, static_cast<std::size_t>(run));
      out += run;
    }
  }
  return {};
}

}  // namespace

std::span<const KernelRow> movement_kernels() {
  static constexpr KernelRow rows[] = {{"reshape", copy_kernel}, {"expand_dims", copy_kernel},    {"squeeze", copy_kernel},
                                       {"to_host", copy_kernel}, {"to_accelerator", copy_kernel}, {"transpose", transpose_kernel},
                                       {"concat", concat_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host

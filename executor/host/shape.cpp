// Shapes: results in the operand's order are one copy; transpose goes in blocks that stay in the cache.
#include <algorithm>

#include "executor/host/kernels.h"

namespace cleave::runtime::host {
namespace {

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

}  // namespace

std::span<const KernelRow> shape_kernels() {
  static constexpr KernelRow rows[] = {
      {"reshape", copy_kernel}, {"expand_dims", copy_kernel}, {"squeeze", copy_kernel}, {"transpose", transpose_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host

// The kernels of operations at computed places (graph/ops/place_families.h) and of sorts, for the table of all, and what they share.
#pragma once

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {

std::span<const KernelRow> scatter_kernels();
std::span<const KernelRow> sorting_kernels();
std::span<const KernelRow> window_kernels();

/// The index `element` (an expression), of type i64: of u64, what is too large is too large here too.
inline std::string index_element(const std::string& element, DType type) {
  if (type != DType::u64) return "(i64)" + element;
  return "(i64)(" + element + " >> 63 ? 0x7fffffffffffffffULL : " + element + ")";
}

}  // namespace cleave::runtime::cuda

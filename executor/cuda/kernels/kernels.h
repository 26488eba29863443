// The rows of the CUDA kernel table, one for each operation; the file of a family (graph/ops/op_table.h) defines those of its ops.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// Writes the kernel of a request that the type rule and `takes` have accepted. For empty results the source has no launches.
using KernelBuilder = KernelSource (*)(const KernelRequest& request, const Architecture& architecture);

/// The CUDA kernel of one operation.
struct KernelRow {
  KernelBuilder build = nullptr;                          ///< null: runs on the host only, unless has_matmul() or a library takes it
  bool (*takes)(const KernelRequest& request) = nullptr;  ///< null: all requests that the op's type rule accepts
};
inline constexpr KernelRow kHostOnly{};

/// Builds element-wise ops, including selection, from their scalar expressions.
KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture);

/// One row for each operation of the vocabulary: a family's file defines `rows::sort`, and what has no row does not link.
namespace rows {
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) extern const KernelRow name;
#include "graph/vocabulary.list"
// NOLINTEND(cppcoreguidelines-macro-usage)
}  // namespace rows
/// The row of an operation; kHostOnly for one outside of the vocabulary.
const KernelRow& kernel_row(const OpDef& op);

/// True for the ops of the family of reductions. Element-wise steps can then be fused in front of it.
bool reduces(const OpDef& op);

}  // namespace cleave::runtime::cuda

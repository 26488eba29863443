// The rows of the host's kernel table, one for each operation; the file of a family (graph/ops/op_table.h) defines those of its ops.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// The host's kernel of one operation.
struct KernelRow {
  Kernel kernel;
  std::unique_ptr<HostKernel> (*prepare)(const KernelRequest& request) = nullptr;  ///< null unless the kernel keeps state between calls
};
/// The row of an operation whose reference implementation is its kernel.
inline constexpr KernelRow kReferenceOnly{run_reference};

/// One row for each operation of the vocabulary: a family's file defines `rows::sort`, and what has no row does not link.
namespace rows {
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) extern const KernelRow name;
#include "graph/vocabulary.list"
// NOLINTEND(cppcoreguidelines-macro-usage)
}  // namespace rows
/// The row of an operation; kReferenceOnly for one outside of the vocabulary.
const KernelRow& kernel_row(const OpDef& op);

/// A HostKernel that calls `kernel` and prepares nothing.
std::unique_ptr<HostKernel> plain_kernel(Kernel kernel);
/// The kernel of ops whose result has the operand's elements in the same order.
Status copy_kernel(const KernelCall& call);

}  // namespace cleave::runtime::host

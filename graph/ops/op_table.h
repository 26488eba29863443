// The families of graph/vocabulary.list. Callers look single records up with find_op and all_ops (graph/op.h), or name them
// (graph/vocabulary.h).
#pragma once

#include <span>

#include "graph/op.h"

namespace cleave::ops {

/// A family of similar functions. Its name is also the name of its file here and of its kernels' files (executor/host,
/// executor/cuda/kernels).
struct OpFamily {
  std::string_view name;
  std::string_view title;  ///< title in the documents; a large family has several parts
  std::span<const OpDef* const> ops;
};
/// All families of operations, in the order of the documents.
std::span<const OpFamily> op_families();
/// All families of composite functions, which are traced into operations.
std::span<const OpFamily> composite_families();

}  // namespace cleave::ops

// ReductionPlan: how the GPU's threads share the work of one reduction: `plan_reduction`. Numbers only; reduction.cpp writes the kernels.
#pragma once

#include <vector>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

/// The threads of a block: `along` threads for each of `across` results (or groups of neighboring results).
struct ReductionTeam {
  std::int64_t along = 1, across = 1;
  bool along_first = true;  ///< neighboring threads share a result

  [[nodiscard]] std::int64_t threads() const { return along * across; }
  /// The distance between the indices of threads of one team.
  [[nodiscard]] std::int64_t apart() const { return along_first ? 1 : across; }
};
inline constexpr std::int64_t kReductionBlock = 256;
inline constexpr std::int64_t kReductionBlocks = 4;  ///< desired number of blocks on a multiprocessor
/// The team for `groups` adjacent results, each reduced from `count` elements.
ReductionTeam columns_team(std::int64_t groups, std::int64_t count);

/// How a thread reads the elements of one operand that it takes together.
enum class Reading : std::uint8_t {
  still,   ///< stride 0: all are one element
  single,  ///< one by one
  packed,  ///< all in one access
};

struct ReductionPlan {
  Walk kept, reduced;        ///< the operands' walks along the kept and along the reduced axes
  bool rows = true;          ///< neighboring elements belong to one result; false: to neighboring results
  int lanes = 1;             ///< elements of a pack, which are taken together: at most 16 bytes
  bool edges = false;        ///< rows begin or end inside a pack
  std::size_t leader = 0;    ///< the operand by whose packs rows are cut
  int packs = 1;             ///< packs that a thread has in flight
  std::vector<Reading> how;  ///< by operand
  ReductionTeam team;
  std::int64_t chunks = 1, chunk = 1;  ///< chunks into which the elements of a result are cut, and elements of a chunk

  /// How many results a thread computes.
  [[nodiscard]] int results() const { return rows ? 1 : lanes; }
};

/// `element` is the type of the reduced tensor, along the axes of the request's attributes. `work` is that of the element-wise steps before
/// the reduction (Expression::work).
ReductionPlan plan_reduction(const KernelRequest& request, const TensorType& element, std::int64_t work, const Architecture& architecture);

}  // namespace cleave::runtime::cuda

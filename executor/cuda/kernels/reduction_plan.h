// ReductionPlan: how the threads of the machine share the work of one reduction; reduction.cpp writes the kernels. Numbers only, no text.
#pragma once

#include <vector>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

/// Threads of a block: `along` for each of `across` results (or groups of neighbouring ones).
struct ReductionTeam {
  std::int64_t along = 1, across = 1;
  bool along_first = true;  ///< neighbouring threads are of one result

  [[nodiscard]] std::int64_t threads() const { return along * across; }
  /// Threads of one team are so far from each other.
  [[nodiscard]] std::int64_t apart() const { return along_first ? 1 : across; }
};
inline constexpr std::int64_t kReductionBlock = 256;
inline constexpr std::int64_t kReductionBlocks = 4;  ///< wanted on a multiprocessor
/// For `groups` results side by side, each of `count` elements.
ReductionTeam columns_team(std::int64_t groups, std::int64_t count);

/// How the elements of one operand that are taken together are read.
enum class Reading : std::uint8_t {
  still,   ///< they are one element
  single,  ///< one by one
  packed,  ///< at once
};

struct ReductionPlan {
  Walk kept, reduced;        ///< the operands along the kept and along the reduced axes
  bool rows = true;          ///< neighbouring elements are of one result; else of neighbouring results
  int lanes = 1;             ///< neighbours that are taken together: at most 16 bytes
  bool edges = false;        ///< rows begin and end inside of packs
  std::size_t leader = 0;    ///< the operand whose packs they are
  int packs = 1;             ///< that a thread has in flight
  std::vector<Reading> how;  ///< of each operand
  ReductionTeam team;
  std::int64_t chunks = 1, chunk = 1;  ///< in which the elements of a result are cut, and how many each has

  /// How many results a thread computes.
  [[nodiscard]] int results() const { return rows ? 1 : lanes; }
};

/// `element`: of what is reduced, along the axes of the request's attributes; `work`: of the element-wise steps in front
/// (Expression::work).
ReductionPlan plan_reduction(const KernelRequest& request, const TensorType& element, std::int64_t work, const Architecture& architecture);

}  // namespace cleave::runtime::cuda

// LibraryOp: one operation that an optional library does: its calls, prepared once and put into a stream often, and kernels of our own
// before and behind them. Which operations there are, and how each is told to its library, is known to library_ops.cpp and what it lists.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/context.h"
#include "executor/cuda/library/libraries.h"
#include "executor/options.h"

namespace cleave::runtime::cuda {

struct OperandAddresses {
  std::vector<CUdeviceptr> inputs, results;
  CUdeviceptr scratch = 0;  ///< `LibraryOp::around.scratch_bytes`, shared with other operations
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual Status enqueue(CUstream stream, const OperandAddresses& operands) = 0;
};

struct LibraryOp {
  struct Call {
    std::size_t behind = 0;  ///< how many launches of `around` come first
    std::shared_ptr<LibraryCall> call;
  };
  KernelSource around;
  std::vector<Call> calls;  ///< in order
  bool captures = true;     ///< may become part of a graph
};

class Dnn;
class Solver;

/// What all operations of one device have in common.
struct LibrarySetting {
  const Libraries* libraries = nullptr;      ///< null: there are none. Outlives what is prepared
  const Context* context = nullptr;          ///< outlives it too
  std::shared_ptr<Solver> solver = nullptr;  ///< once there is one
  std::shared_ptr<Dnn> dnn = nullptr;        ///< once there is one
};

/// Whether a library that is there does the request; needs types and attributes only.
bool has_library_op(const Libraries& libraries, const KernelRequest& request);
/// Nothing: no library does it.
Result<std::optional<LibraryOp>> prepare_library_op(LibrarySetting& setting, const KernelRequest& request);

}  // namespace cleave::runtime::cuda

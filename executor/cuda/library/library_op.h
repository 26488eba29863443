// LibraryOp: one operation that an optional library computes: its library calls, prepared once and enqueued often, and cleave's own kernels
// around them. Only library_ops.cpp, and the files of its table, know the operations and how each maps to its library.
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
    std::size_t behind = 0;  ///< how many launches of `around` run before this call
    std::shared_ptr<LibraryCall> call;
  };
  KernelSource around;
  std::vector<Call> calls;  ///< in order
  bool captures = true;     ///< true if the calls may be captured into a CUDA graph
};

class Dnn;
class Solver;

/// The libraries and handles that all operations of one device share.
struct LibrarySetting {
  const Libraries* libraries = nullptr;      ///< null: there are none. Must outlive the prepared operations
  const Context* context = nullptr;          ///< must outlive the prepared operations
  std::shared_ptr<Solver> solver = nullptr;  ///< opened at its first use
  std::shared_ptr<Dnn> dnn = nullptr;        ///< opened at its first use
};

/// True if an available library can compute the request; needs types and attributes only.
bool has_library_op(const Libraries& libraries, const KernelRequest& request);
/// Nothing if no library can compute the request.
Result<std::optional<LibraryOp>> prepare_library_op(LibrarySetting& setting, const KernelRequest& request);

}  // namespace cleave::runtime::cuda

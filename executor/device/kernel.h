// Kernel: a fast implementation of an operation on raw memory, and the arguments of its call. A device has one table of kernels, keyed by
// OpDef. Knows no device: host kernels and the simulated accelerator's are the same functions on different memory.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "executor/device/workers.h"
#include "executor/runtime.h"
#include "graph/array/array.h"
#include "graph/host_function.h"
#include "graph/kernel/kernel_request.h"
#include "graph/op.h"

namespace cleave {
class SharedConstants;
}

namespace cleave::runtime {

/// A row-major tensor in memory that the kernel may access.
struct TensorView {
  const TensorType* type = nullptr;
  std::byte* data = nullptr;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

struct KernelCall {
  const OpDef& op;  ///< for several fused steps, the last one's op, and so its attributes
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  std::span<const TensorView> results;  ///< contents undefined before; in element-wise kernels, a result may alias an input
  const OpContext& context;
  Workers& workers = Workers::none();
  /// One flag an input: its elements are the same in all calls that find it at the same address (a weight), so data derived from them may
  /// be cached. Empty: no input is constant.
  std::span<const std::uint8_t> kept = {};
  SharedConstants* constants = nullptr;  ///< shares what is derived from kept inputs with the kernels of other programs; null: nothing is

  [[nodiscard]] bool keeps(std::size_t input) const { return input < kept.size() && kept[input] != 0; }
};

using Kernel = Status (*)(const KernelCall& call);

/// A prepared kernel, with all data that its calls share.
class HostKernel {
 public:
  HostKernel() = default;
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;
  virtual ~HostKernel() = default;
  /// Must not be called concurrently.
  virtual Status run(const KernelCall& call) = 0;

  // --- a call piece by piece, while its operands are still arriving or its results are already leaving -----------------------------
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  /// The number of pieces into which a call's work is cut, independent of the threads that run them; results are bit-identical to those of
  /// `run`. One: the call is not cut.
  [[nodiscard]] virtual std::int64_t pieces() const { return 1; }
  /// The length in bytes of the prefix of an input that the first `pieces` pieces may read.
  [[nodiscard]] virtual std::int64_t read(std::size_t /*input*/, std::int64_t /*pieces*/) const { return kAll; }
  /// The length in bytes of the prefix of a result that is final once the first `done` pieces are done.
  [[nodiscard]] virtual std::int64_t written(std::size_t /*result*/, std::int64_t done) const { return done < pieces() ? 0 : kAll; }
  /// Runs a range of the pieces of one call. All pieces must run in order: `begin` is the `end` of the previous range.
  virtual Status run_pieces(const KernelCall& call, std::int64_t /*begin*/, std::int64_t /*end*/) { return run(call); }
};

/// The host's kernel for `op`: a fast one if the table has one, else `run_reference`.
Kernel host_kernel(const OpDef& op);
/// Prepares the host's fastest kernel for a request, whose ranges are ignored. A request of several steps must satisfy `host_fuses`.
std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request);
/// Prepares a kernel with bit-identical results whose calls are cut into pieces, for a request whose fastest kernel's calls are not. Null:
/// there is none.
std::unique_ptr<HostKernel> prepare_in_pieces(const KernelRequest& request);
/// Whether the host runs these steps as one kernel.
bool host_fuses(const KernelRequest& request);

/// Runs the op's reference implementation (`reference`) on the memory of the call.
Status run_reference(const KernelCall& call);
/// Runs `kernel`; an exception from it or from a user's function becomes an Error.
Status run_guarded(Kernel kernel, const KernelCall& call);
Status run_guarded(HostKernel& kernel, const KernelCall& call);
Status run_guarded(HostKernel& kernel, const KernelCall& call, std::int64_t begin, std::int64_t end);

/// A pending call of an asynchronous host function, on memory of its own.
struct BegunCall {
  std::unique_ptr<PendingCall> pending;
  std::vector<Array> results;
};
/// The two halves of the host kernel of an asynchronous host function: `begin_call` begins the call, `end_call` waits for it within the
/// limits of the call's context. Only `end_call` writes to the results.
Result<BegunCall> begin_call(const KernelCall& call);
Status end_call(BegunCall& begun, const KernelCall& call);

}  // namespace cleave::runtime

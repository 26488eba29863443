// Kernel: a fast implementation of an operation on raw memory, and the call that it gets. A device has one table of them, keyed by OpDef.
// Knows no device: host kernels and the simulated accelerator's are the same functions on different memory.
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
#include "graph/op.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime {

/// A row-major tensor somewhere in memory that the kernel may touch.
struct TensorView {
  const TensorType* type = nullptr;
  std::byte* data = nullptr;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

struct KernelCall {
  const OpDef& op;  ///< of several that run as one: the last one's, and so its attributes
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  std::span<const TensorView> results;  ///< contents undefined before; element-wise kernels may find a result on top of an input
  const OpContext& context;
  Workers& workers = Workers::none();
  /// By input: whether its elements are the same in all calls that find it at the same place, as weights are, so that what was made of them
  /// may be kept. Empty: none's.
  std::span<const std::uint8_t> kept = {};

  [[nodiscard]] bool keeps(std::size_t input) const { return input < kept.size() && kept[input] != 0; }
};

using Kernel = Status (*)(const KernelCall& call);

/// A kernel with everything made once that its calls share.
class HostKernel {
 public:
  HostKernel() = default;
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;
  virtual ~HostKernel() = default;
  /// One call at a time.
  virtual Status run(const KernelCall& call) = 0;

  // --- a call piece by piece, while what it reads is still coming or what it has written already leaves -----------------------------
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  /// In how many pieces a call's work is cut, whoever runs them: results are those of `run`, to the bit. One: it is not.
  [[nodiscard]] virtual std::int64_t pieces() const { return 1; }
  /// How many bytes of an input, from its first on, the first `pieces` read, or may read.
  [[nodiscard]] virtual std::int64_t read(std::size_t /*input*/, std::int64_t /*pieces*/) const { return kAll; }
  /// How many bytes of a result, from its first on, are there for good when they are done.
  [[nodiscard]] virtual std::int64_t written(std::size_t /*result*/, std::int64_t done) const { return done < pieces() ? 0 : kAll; }
  /// The pieces of one call, all of them in order: `begin` is where those before ended.
  virtual Status run_pieces(const KernelCall& call, std::int64_t /*begin*/, std::int64_t /*end*/) { return run(call); }
};

/// The host's kernel for `op`: a fast one where the table has one, else `run_meaning`.
Kernel host_kernel(const OpDef& op);
/// The fastest that the host has for such calls, whose ranges are not read. Several steps: only what `host_fuses`.
std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request);
/// One for the same results, to the bit, whose calls are cut into pieces where the one above's are not. Null: there is none.
std::unique_ptr<HostKernel> prepare_in_pieces(const KernelRequest& request);
/// Whether the host runs these steps as one kernel.
bool host_fuses(const KernelRequest& request);

/// Runs the op's meaning on the memory of the call.
Status run_meaning(const KernelCall& call);
/// `kernel`, with what it or a user's function throws as an Error.
Status run_guarded(Kernel kernel, const KernelCall& call);
Status run_guarded(HostKernel& kernel, const KernelCall& call);
Status run_guarded(HostKernel& kernel, const KernelCall& call, std::int64_t begin, std::int64_t end);

/// The call of an asynchronous host function that is under way, on memory of its own.
struct BegunCall {
  std::unique_ptr<PendingCall> pending;
  std::vector<Array> results;
};
/// What the host's kernel does for such a call, in two halves: begins it, and waits for it within the limits of the call's context. Only
/// the second one writes to the results.
Result<BegunCall> begin_call(const KernelCall& call);
Status end_call(BegunCall& begun, const KernelCall& call);

}  // namespace cleave::runtime

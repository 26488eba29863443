// HostFunction: an opaque host function that a graph may call: the types of its inputs and results, its properties, and the callable once
// it is bound. A function read from a file is unbound (no `call`) until the executor loads its library; nothing else loads libraries.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/array/tensor_type.h"
#include "graph/base/result.h"

namespace cleave {

class Array;
struct CallLimits;

/// A pending call of an asynchronous host function. It works on memory of its own, so the caller may abandon it at any time.
class PendingCall {
 public:
  PendingCall() = default;
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;
  virtual ~PendingCall() = default;
  /// Waits until the call is complete and then stores its results in `results`. The seconds of `limits` count from the start of the call.
  virtual Status wait(std::span<Array> results, const CallLimits& limits) = 0;
  /// The time at which the call completed. Valid only after `wait`.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point completed() const = 0;
};

struct HostFunction {
  std::string name;               ///< as the user wrote it
  std::vector<TensorType> takes;  ///< may be empty for C++ functions: then the call's inputs define it
  std::vector<TensorType> returns;
  bool pure = false;              ///< deterministic and without effects
  std::optional<double> seconds;  ///< declared cost of one call
  /// Seconds that one call may take. An asynchronous call ends then. A synchronous call cannot be interrupted; the overrun is detected when
  /// it returns.
  std::optional<double> deadline;
  /// `call` retains no Array of its results, so the memory of the results may be reused for other values after it returns.
  bool fills_in_place = false;
  /// The path of a shared library (absolute, or resolved from the model file) and a symbol in it; empty: a C++ callable.
  std::string library, symbol;

  /// Whether a call overlaps with later steps that do not depend on it.
  enum class Beside : std::uint8_t {
    never,      ///< the host executes nothing else until the call is complete
    on_worker,  ///< a worker thread makes the call while the program continues, one call per worker; further calls queue for a worker
    pending,    ///< a thread outside the engine completes it while the program continues; the number of concurrent calls is not limited
  };
  /// The shortest synchronous call, in seconds, that is worth handing to a worker.
  static constexpr double kWorthAWorker = 1e-4;
  /// The one rule for planner and executor. Only calls of pure functions overlap, since their order is not observable. With fewer than two
  /// `workers`, no synchronous function is called from several threads.
  [[nodiscard]] Beside beside(int workers) const {
    if (!pure) return Beside::never;
    if (begin) return Beside::pending;
    return workers > 1 && seconds.value_or(0) >= kWorthAWorker ? Beside::on_worker : Beside::never;
  }

  /// Fills the results (zero-filled memory of the caller, of the types `returns`). Any wait in it must respect `limits`. Null until bound.
  std::function<Status(std::span<const Array> inputs, std::span<Array> results, const CallLimits& limits)> call;
  /// Asynchronous functions only: starts the work of `call` and returns; takes over the results' memory. Null: the function is synchronous,
  /// and `call` blocks its thread until it is complete.
  std::function<Result<std::unique_ptr<PendingCall>>(std::span<const Array> inputs, std::span<Array> results)> begin;
};

/// Same declaration (the callable itself is not compared).
bool operator==(const HostFunction& a, const HostFunction& b);

}  // namespace cleave

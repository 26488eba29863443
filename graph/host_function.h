// An opaque host function that a graph may call: what it takes, what it gives, and how to call it once it is bound.
// A function read from a file is unbound (no `call`) until the executor loads its library; nothing else loads libraries.
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

/// A call of an asynchronous host function that is under way. It works on memory of its own, so that it may be left alone at any time.
class PendingCall {
 public:
  PendingCall() = default;
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;
  virtual ~PendingCall() = default;
  /// Waits within the limits, whose seconds count from the call's beginning, until it is over; then `results` are what it gave.
  virtual Status wait(std::span<Array> results, const CallLimits& limits) = 0;
  /// When it was over. Behind `wait` only.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point completed() const = 0;
};

struct HostFunction {
  std::string name;               ///< as the user wrote it
  std::vector<TensorType> takes;  ///< may be empty for C++ functions: then the call's inputs define it
  std::vector<TensorType> returns;
  bool pure = false;              ///< deterministic and without effects
  std::optional<double> seconds;  ///< declared cost of one call
  /// Seconds that one call may take. An asynchronous call is ended there; what keeps its thread is not, and found out once it is back.
  std::optional<double> deadline;
  /// `call` keeps no Array of its results, so that these may lie in memory that goes on to other values once it has returned.
  bool fills_in_place = false;
  std::string library, symbol;  ///< of a shared library (absolute or as resolved from the model file); empty: C++ callable

  /// How a call goes together with the steps behind it that do not need it.
  enum class Beside : std::uint8_t {
    never,      ///< nothing else happens on the host until it is over
    on_worker,  ///< a worker makes the call while the program goes on, one call at a time; what more calls there are wait for a worker
    pending,    ///< somebody else's thread completes it while the program goes on, as many at once as there are
  };
  /// Seconds from which on a call that keeps its thread is worth a worker.
  static constexpr double kWorthAWorker = 1e-4;
  /// The one rule for planner and executor. Only pure functions: nobody sees when they are called. With less than two `workers` a function
  /// that keeps its thread is never called by several threads.
  [[nodiscard]] Beside beside(int workers) const {
    if (!pure) return Beside::never;
    if (begin) return Beside::pending;
    return workers > 1 && seconds.value_or(0) >= kWorthAWorker ? Beside::on_worker : Beside::never;
  }

  /// Fills the results (zero-filled memory of the caller, of the types `returns`). What it waits for, it waits for within the limits. Null
  /// until bound.
  std::function<Status(std::span<const Array> inputs, std::span<Array> results, const CallLimits& limits)> call;
  /// Of an asynchronous function: begins what `call` does, and returns. Takes the results' memory. Null: `call` keeps its thread until it
  /// is over.
  std::function<Result<std::unique_ptr<PendingCall>>(std::span<const Array> inputs, std::span<Array> results)> begin;
};

/// Same declaration (the callable itself is not compared).
bool operator==(const HostFunction& a, const HostFunction& b);

}  // namespace cleave

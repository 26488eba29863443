// An opaque host function that a graph may call: what it takes, what it gives, and how to call it once it is bound.
// A function read from a file is unbound (no `call`) until the executor loads its library; nothing else loads libraries.
#pragma once

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

  /// `call` waits for somebody else most of the time: a thread that it holds is no core's.
  bool asynchronous = false;

  /// Seconds from which on a call that keeps its thread is worth another thread than the one that goes on with the program.
  static constexpr double kWorthAThread = 1e-4;
  /// Whether a call may be under way while the program goes on: nobody sees when it happens, and it takes its time.
  [[nodiscard]] bool may_overlap() const { return pure && (asynchronous || seconds.value_or(0) >= kWorthAThread); }

  /// Fills the results (zero-filled memory of the caller, of the types `returns`). What it waits for, it waits for within the limits. Null
  /// until bound.
  std::function<Status(std::span<const Array> inputs, std::span<Array> results, const CallLimits& limits)> call;
};

/// Same declaration (the callable itself is not compared).
bool operator==(const HostFunction& a, const HostFunction& b);

}  // namespace cleave

// Scope: properties of every operation recorded until the end of a C++ block: a name in the chain of locations, a pin, a silenced
// diagnostic.
#pragma once

#include <memory>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/base/source_location.h"
#include "graph/op.h"

namespace cleave {

class Tracer;
class TraceContext;

/// The devices to which operations can be pinned: `Device::host`, `Device::accelerator`.
using Device = Side;

/// The former name of DiagnosticKind.
using Kind [[deprecated("DiagnosticKind")]] = DiagnosticKind;

/// Ends its property when it goes out of scope. Keep it in a variable: `auto layer = scope("layer3");`
class [[nodiscard]] Scope {
 public:
  Scope(std::shared_ptr<TraceContext> context, void (Tracer::*end)());
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

 private:
  std::shared_ptr<TraceContext> context_;  ///< null outside of a trace
  void (Tracer::*end_)();
};

/// Names the part of the program recorded from here on. It becomes part of the chain of each location, so that an operation inside a helper
/// function is shown with the call that led to it.
///
///   Tensor dense(Tensor x, Tensor w, Here here = Here::now()) { auto s = scope("dense", here); return relu(matmul(x, w)); }
Scope scope(std::string label, Here here = Here::now());
/// Pins every operation to a device (`to_host` and `to_accelerator` excepted): `auto pin = place(Device::host);`
Scope place(Device device, Here here = Here::now());
/// Decides what a gradient that reads results of operations does: true computes them again, from values that are kept; false keeps them,
/// also where the accelerator's memory is too small for the cheapest plan. The innermost scope counts. `auto again = recompute(true);`
Scope recompute(bool again, Here here = Here::now());
/// Silences one kind of diagnostic for every operation; the reason is kept and shown. Errors cannot be silenced (error `value`).
///
///   auto ok = allow(DiagnosticKind::round_trip, "the simulator is on the host");
Scope allow(DiagnosticKind kind, std::string reason, Here here = Here::now());

}  // namespace cleave

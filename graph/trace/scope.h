// What holds for every operation recorded until the end of a C++ block: a name in the chain of locations, a pin, a silenced diagnostic.
#pragma once

#include <memory>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/base/source_location.h"
#include "graph/op.h"

namespace cleave {

class Tracer;
class TraceContext;

/// Where a program can be told to run: `Device::host`, `Device::accelerator`.
using Device = Side;

/// The former name of DiagnosticKind.
using Kind [[deprecated("DiagnosticKind")]] = DiagnosticKind;

/// Ends what it stands for when it goes out of scope. Keep it in a variable: `auto layer = scope("layer3");`
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

/// Names the part of the program recorded from here on: locations chain through it, so that an operation inside of a helper function is
/// shown with the call that led there.
///
///   Tensor dense(Tensor x, Tensor w, Here here = Here::now()) { auto s = scope("dense", here); return relu(matmul(x, w)); }
Scope scope(std::string label, Here here = Here::now());
/// Pins every operation to a device (`to_host` and `to_accelerator` excepted): `auto pin = place(Device::host);`
Scope place(Device device, Here here = Here::now());
/// Silences one kind of diagnostic for every operation; the reason is kept and shown. Errors cannot be silenced (error `value`).
///
///   auto ok = allow(DiagnosticKind::round_trip, "the simulator is on the host");
Scope allow(DiagnosticKind kind, std::string reason, Here here = Here::now());

}  // namespace cleave

// Ops with effects: print, log_metric, write_npy and calls of the user's host functions.
#include <algorithm>
#include <chrono>

#include "graph/array/npy.h"
#include "graph/base/boundary.h"
#include "graph/base/stop.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/call_limits.h"
#include "graph/ops/op_table.h"
#include "graph/ops/pending_calls.h"
#include "graph/ops/rules.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;
using Function = std::shared_ptr<const HostFunction>;

TypeResult no_results(Types, const Attributes&) {
  return std::vector<TensorType>{};
}

Status print_reference(const OpCall& call) {
  call.context.print(escape_controls_one_line(call.attributes.get<std::string>("label")) + ": " + to_string(call.inputs[0]));
  return {};
}

TypeResult log_type(Types inputs, const Attributes&) {
  if (inputs[0].rank() > 0)
    return TypeError{DiagnosticKind::shape, "`log` takes one number, not " + to_string(inputs[0]) + "; log its `mean`"};
  if (inputs[0].dtype == DType::boolean) return TypeError{DiagnosticKind::type, "`log` takes a number, not a bool; `astype` converts it"};
  return std::vector<TensorType>{};
}

Status log_reference(const OpCall& call) {
  if (!call.context.log) return {};
  return call.context.log(call.attributes.get<std::string>("label"), call.inputs[0]);
}

Status write_npy_reference(const OpCall& call) {
  return cleave::write_npy(call.attributes.get<std::string>("path"), call.inputs[0]);
}

// --- host_call -------------------------------------------------------------------------------------------------------

std::string in_backticks(const HostFunction& function) {
  return "`" + std::string(function.name) + "`";
}

TypeResult host_call_type(Types inputs, const Attributes& attributes) {
  const HostFunction& function = *attributes.get<Function>("function");
  const std::vector<TensorType>& takes = function.takes;
  if (takes.empty()) return give("host_call", inputs, function.returns);
  if (takes.size() != inputs.size()) {
    return TypeError{DiagnosticKind::type, in_backticks(function) + " takes " + std::to_string(takes.size()) +
                                               (takes.size() == 1 ? " operand" : " operands") + ", not " + std::to_string(inputs.size())};
  }
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (takes[i] == inputs[i]) continue;
    return TypeError{takes[i].dtype == inputs[i].dtype ? DiagnosticKind::shape : DiagnosticKind::type,
                     in_backticks(function) + " takes " + to_string(takes[i]) + " as operand " + std::to_string(i + 1) + ", not " +
                         to_string(inputs[i])};
  }
  return give("host_call", inputs, function.returns);
}

/// Replaces each byte except 0 by 1. The user's code may write any byte as a bool, and C takes each except 0 as true, but a C++ bool may
/// only be 0 or 1.
void normalize_bools(Array& result) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(result.bytes());
  if (result.dtype() != DType::boolean || std::all_of(bytes, bytes + result.size(), [](unsigned char byte) { return byte <= 1; })) return;
  std::byte* written = result.mutable_bytes();
  for (std::int64_t i = 0; i < result.size(); ++i) written[i] = std::byte{written[i] != std::byte{0}};
}

CallLimits limits_of(const HostFunction& function, const OpContext& context) {
  CallLimits limits = context.limits ? *context.limits : CallLimits();
  if (function.deadline) {
    limits.seconds = function.deadline;
    limits.declared = true;
  }
  return limits;
}

/// Calls a host function, of a C library or in C++. All results of host functions enter here or in `end_host_call`.
Status host_call_reference(const OpCall& call) {
  const HostFunction& function = *call.attributes.get<Function>("function");
  if (!function.call) return Error{in_backticks(function) + " is declared but not bound to code"};
  const UnderSign none(nullptr);  // if the function uses cleave itself, that work does not poll the stop sign of this call
  const auto start = std::chrono::steady_clock::now();
  const auto called = [&] { return function.call(call.inputs, call.results, limits_of(function, call.context)); };
  if (Status status = call_foreign("the host function", function.name, called); !status) return status;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  for (Array& result : call.results) normalize_bools(result);
  if (!function.deadline || function.begin || taken.count() <= *function.deadline) return {};
  return Error{in_backticks(function) + " took " + format_seconds(taken.count()) + ", longer than its deadline of " +
                   format_seconds(*function.deadline) + "; it could not be ended before it came back",
               {},
               ErrorKind::machine};
}

Purity host_call_purity(const Attributes& attributes) {
  const auto* function = attributes.get_if<Function>("function");
  return function && *function && (*function)->pure ? Purity::pure : Purity::effect;
}

}  // namespace

Result<std::unique_ptr<PendingCall>> begin_host_call(const OpCall& call) {
  const HostFunction& function = *call.attributes.get<Function>("function");
  const UnderSign none(nullptr);
  return call_foreign("the host function", function.name, [&] { return function.begin(call.inputs, call.results); });
}

Status end_host_call(PendingCall& pending, const OpCall& call) {
  const HostFunction& function = *call.attributes.get<Function>("function");
  if (Status status = pending.wait(call.results, limits_of(function, call.context)); !status) return status;
  for (Array& result : call.results) normalize_bools(result);
  return {};
}

constexpr OpDef op::print{.name = "print",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .attributes = {required("label", Type::text)},
                          .purity = Purity::effect,
                          .signature = "print(label, x)",
                          .summary = "prints one line `label: values`, in program order",
                          .type_rule = no_results,
                          .cost = linear_cost,
                          .reference = print_reference,
                          .gradient = GradientRule::zero()};

constexpr OpDef op::log_metric{.name = "log_metric",
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .attributes = {required("label", Type::text)},
                               .purity = Purity::effect,
                               .signature = "log_metric(label, x)",
                               .summary = "logs a number under a label, in program order; written `log(label, x)`",
                               .type_rule = log_type,
                               .cost = linear_cost,
                               .reference = log_reference,
                               .gradient = GradientRule::zero()};

constexpr OpDef op::write_npy{.name = "write_npy",
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .attributes = {required("path", Type::text)},
                              .purity = Purity::effect,
                              .signature = "write_npy(path, x)",
                              .summary = "writes x to an .npy file, in program order; the path as seen from where the program runs",
                              .type_rule = no_results,
                              .cost = copy_cost,
                              .reference = write_npy_reference,
                              .gradient = GradientRule::zero()};

constexpr OpDef op::host_call{.name = "host_call",
                              .min_inputs = 0,
                              .max_inputs = -1,
                              .attributes = {required("function", Type::function)},
                              .purity = Purity::effect,
                              .signature = "host_call(function, [arrays])",
                              .summary = "calls a host function of the user: an effect, unless it is declared pure",
                              .type_rule = host_call_type,
                              .cost = linear_cost,
                              .reference = host_call_reference,
                              .gradient = GradientRule::none(),
                              .purity_of = host_call_purity};

}  // namespace cleave::ops

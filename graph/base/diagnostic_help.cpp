#include "graph/base/diagnostic_help.h"

namespace cleave {
namespace {

constexpr std::string_view kAllowed = "allowed";

}  // namespace

std::string_view help_of(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::syntax:
      return "The text is no YAML, or no model or expression. The message shows where reading stopped and what to write instead.";
    case DiagnosticKind::unknown:
      return "A name, operation, key or attribute that nothing of the model or of cleave has. The nearest one is suggested.";
    case DiagnosticKind::type:
      return "An operation or function was given operands of element types, or in a number, that it does not take. Convert with astype().";
    case DiagnosticKind::shape: return "The shapes of operands do not fit together, or a size is beyond every memory.";
    case DiagnosticKind::value: return "A number or an attribute lies outside its range, or a name is declared or given twice.";
    case DiagnosticKind::carried:
      return "A value that a loop carries from one iteration to the next changes its type on the way. Convert it with astype(), or divide "
             "integers by `//`, so that it leaves each iteration as it came.";
    case DiagnosticKind::predicate:
      return "A condition must be one bool. Make one of an array with all() or any(), of a number by comparing it.";
    case DiagnosticKind::endless_loop: return "Nothing that happens in the loop can make its condition false, so that it would never end.";
    case DiagnosticKind::file:
      return "A file is missing, truncated, unreadable, or of another form. Paths in a model are relative to the model.";
    case DiagnosticKind::placement:
      return "Operations are pinned to sides on which they cannot run, or to two sides at once. Remove one of the pins.";
    case DiagnosticKind::unsupported: return "This is part of the language, but not of this version of cleave.";
    case DiagnosticKind::limit:
      return "The plan has more round trips, transfers or bytes than the `limits` of the model allow, or is not the one that was locked.";
    case DiagnosticKind::machine: return "The machine failed, not the program: memory was exhausted, or a device was lost.";
    case DiagnosticKind::round_trip:
      return "A value leaves the accelerator, the host computes with it, and the accelerator stands still until the result is back. Mark "
             "the "
             "transfer as meant with to_host(), move the host's work out of the way, or give it an accelerator kernel.";
    case DiagnosticKind::invariant_host_work:
      return "A loop computes on the host, or moves, in every iteration what does not change there. Put it before the loop, where it is "
             "paid once.";
    case DiagnosticKind::memory_fallback:
      return "The accelerator's memory is too small for the program, so that some operations run on the host. Make the values smaller that "
             "make the peak.";
    case DiagnosticKind::slow_producer:
      return "The accelerator waits for host work that needs nothing of the accelerator's, such as the loading of data. Make it faster, do "
             "several at once or ahead of time.";
    case DiagnosticKind::slow_consumer:
      return "The host works with results of the accelerator for longer than the accelerator takes to make them, so that it must wait. Do "
             "that work less often, or faster.";
    case DiagnosticKind::launch_bound:
      return "The accelerator's kernels are so small that starting them takes longer than their work. Do more in each, as with larger "
             "batches.";
    case DiagnosticKind::costly_pin:
      return "Without this pin a run is predicted to be over sooner by a tenth or more. Remove it, or say in `allow` why it must be.";
    case DiagnosticKind::implicit_copy:
      return "A value moves between host and accelerator without being marked as meant. Mark it with to_host() or to_accelerator().";
    case DiagnosticKind::transfer_bound:
      return "By the cost model the accelerator waits for transfers, or for a slow host, for more than a tenth of the time. Move less, "
             "move "
             "earlier, or keep the values where they are needed.";
    case DiagnosticKind::fallback: return "An operation runs on the host for the one reason that the accelerator has no kernel for it.";
    case DiagnosticKind::unused:
      return "Nothing reads an input, a parameter or the result of a statement, so that it is not computed. Remove it, or use it.";
    default: return info(kind).summary;  // says it all
  }
}

std::string help_uri_of(DiagnosticKind kind) {
  return std::string(CLEAVE_DOCUMENTATION_URI) + "/diagnostics.md#" + std::string(info(kind).name);
}

Note allowance_note(std::string_view reason) {
  return {std::string(kAllowed) + (reason.empty() ? "" : ": " + std::string(reason)), {}, 0};
}

std::string_view reason_of_allowance(const Diagnostic& diagnostic) {
  if (diagnostic.severity != Severity::allowed || diagnostic.notes.empty()) return {};
  const std::string_view last = diagnostic.notes.back().message;
  return last.starts_with(kAllowed) && last.size() > kAllowed.size() + 2 ? last.substr(kAllowed.size() + 2) : std::string_view();
}

}  // namespace cleave

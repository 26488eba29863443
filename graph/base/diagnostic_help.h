// What a kind of message means and what to do about it, in two or three sentences: for tools that show a rule beside its results. With
// examples: docs/diagnostics.md.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace cleave {

/// Plain text.
std::string_view help_of(DiagnosticKind kind);
/// The section of the kind in the reference: an absolute URI, of the place that the build was given (CLEAVE_DOCUMENTATION_URI).
std::string help_uri_of(DiagnosticKind kind);

/// How a diagnostic that the user allowed keeps the reason: as its last note.
Note allowance_note(std::string_view reason);
/// That reason; empty if none was given, or if nobody allowed it.
std::string_view reason_of_allowance(const Diagnostic& diagnostic);

}  // namespace cleave

// Help texts: what each kind of diagnostic means and how to resolve it, in two or three sentences, for tools that show a rule beside its
// results. docs/diagnostics.md has examples.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace cleave {

/// Plain text.
std::string_view help_of(DiagnosticKind kind);
/// Absolute URI of the kind's section in the reference, based on the build option CLEAVE_DOCUMENTATION_URI.
std::string help_uri_of(DiagnosticKind kind);

/// The note that stores the reason of an allowed diagnostic; it must be the last note.
Note allowance_note(std::string_view reason);
/// That reason; empty if none was given, or if the diagnostic is not allowed.
std::string_view reason_of_allowance(const Diagnostic& diagnostic);

}  // namespace cleave

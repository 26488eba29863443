// Diagnostics as a compiler prints them: file:line:column, the source line, a caret, notes.
#pragma once

#include <string>

#include "graph/base/diagnostic.h"
#include "graph/base/fix.h"
#include "graph/base/result.h"

namespace cleave {

struct TextStyle {
  bool color = false;  ///< ANSI colors
  bool source = true;  ///< show the source line and caret where the file can be read
};

/// Ends with a newline. The chain of scopes and calls of each location follows as notes.
std::string to_text(const Diagnostic& diagnostic, const TextStyle& style = {});
/// Advice for which `fixes` has a fix is followed by `[apply: ID]`.
std::string to_text(const Diagnostics& diagnostics, const TextStyle& style = {}, const std::vector<Fix>& fixes = {});
std::string to_text(const Error& error, const TextStyle& style = {});

/// SARIF 2.1.0 (OASIS) document of all diagnostics.
std::string to_sarif(const Diagnostics& diagnostics);

}  // namespace cleave

// Fingerprints: hashes that identify a message independent of its numbers and line, so that it is recognized after an edit. SARIF and JSON
// contain them, and a baseline is a list of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/fix.h"

namespace cleave {

/// Prefix of every fingerprint; it must change when their computation changes.
inline constexpr std::string_view kFingerprintVersion = "v2:";

/// The path of the statement at a place of the program (graph/statement_paths.h); empty where there is none.
using StatementOf = std::function<std::string(const SourceLocation&)>;

/// One fingerprint per message, in order; all are distinct. A place is identified by its statement path if there is one, else by the text
/// of its line.
std::vector<std::string> fingerprints(const Diagnostics& diagnostics, const StatementOf& statement_of = nullptr);

/// The same as to_sarif() in diagnostic_text.h, but with statement paths. Each result contains the fixes that belong to it.
std::string to_sarif(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::vector<Fix>& fixes = {});

}  // namespace cleave

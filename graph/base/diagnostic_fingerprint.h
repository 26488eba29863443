// Fingerprints: what a message is, but for the numbers in it and the line that it stands on, so that it is known again after an edit. SARIF
// writes them, JSON does, and a baseline is a list of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/fix.h"

namespace cleave {

/// What they begin with; another one where they are made otherwise.
inline constexpr std::string_view kFingerprintVersion = "v2:";

/// The path of the statement at a place of the program (graph/statement_paths.h); empty where there is none.
using StatementOf = std::function<std::string(const SourceLocation&)>;

/// One for each message, in their order; those of one list differ from each other. Places go by statements where there are some, or else by
/// the text of their lines.
std::vector<std::string> fingerprints(const Diagnostics& diagnostics, const StatementOf& statement_of = nullptr);

/// As to_sarif() without statements (diagnostic_text.h). Results have those of the fixes that are theirs.
std::string to_sarif(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::vector<Fix>& fixes = {});

}  // namespace cleave

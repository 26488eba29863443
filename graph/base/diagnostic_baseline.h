// A baseline: the diagnostics of an earlier check, known by their fingerprints, so that only new ones count.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/result.h"

namespace cleave {

/// The fingerprints in a document of `check --json` or `explain --json`, without those of allowed diagnostics. An Error (file) names
/// `file`.
Result<std::set<std::string>> read_baseline(std::string_view text, const std::string& file);

/// The difference from a baseline. Allowed diagnostics are ignored on both sides.
struct SinceBaseline {
  Diagnostics fresh;      ///< diagnostics that are not in the baseline
  std::size_t known = 0;  ///< number of diagnostics that are in the baseline
  std::size_t gone = 0;   ///< number of baseline entries without a diagnostic
};
SinceBaseline since_baseline(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::set<std::string>& baseline);

}  // namespace cleave

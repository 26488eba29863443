// A baseline: the diagnostics of an earlier check, known by their fingerprints, so that only new ones count.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/result.h"

namespace cleave {

/// The fingerprints in a document of `check --json` or `explain --json`, but for those of what was allowed. An Error (file) names `file`.
Result<std::set<std::string>> read_baseline(std::string_view text, const std::string& file);

/// What differs from a baseline. What is allowed counts as nothing on either side.
struct SinceBaseline {
  Diagnostics fresh;      ///< not in it
  std::size_t known = 0;  ///< in it
  std::size_t gone = 0;   ///< only in it
};
SinceBaseline since_baseline(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::set<std::string>& baseline);

}  // namespace cleave

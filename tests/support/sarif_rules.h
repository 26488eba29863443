// The requirements of SARIF 2.1.0 on the objects that cleave writes, as a table written from the standard, and a checker: which properties
// an object may have and must have, of which type, and which lists must not contain duplicates. Properties that are not in the table are
// refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The violations in a SARIF document, one line each with the path to it. Empty if it is valid.
std::vector<std::string> sarif_faults(const nlohmann::json& document);

}  // namespace cleave::testing

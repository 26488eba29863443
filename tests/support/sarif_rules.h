// What SARIF 2.1.0 demands of the objects that cleave writes, written down from the standard as a table, and checked: which properties an
// object may have and must have, of what type, which lists may hold nothing twice. What is not in the table is refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// What is wrong with a SARIF document: a line each, with the path to it. Empty: it is valid.
std::vector<std::string> sarif_faults(const nlohmann::json& document);

}  // namespace cleave::testing

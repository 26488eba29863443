// Golden files: text that a test expects, kept in tests/golden and rewritten with CLEAVE_UPDATE_GOLDEN=1.
#pragma once

#include <string>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Fails the current test if `text` differs from tests/golden/<name>; with CLEAVE_UPDATE_GOLDEN=1 writes it to that file instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace cleave::testing

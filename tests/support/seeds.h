// How many random programs a test runs.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// What CLEAVE_TEST_SEEDS says; without it, `otherwise`.
inline std::uint64_t seeds(std::uint64_t otherwise) {
  const char* text = std::getenv("CLEAVE_TEST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace cleave::testing

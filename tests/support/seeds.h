// The number of random cases that a test tries.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {

/// The value of CLEAVE_TEST_SEEDS; `otherwise` if it is not set.
inline std::uint64_t seeds(std::uint64_t otherwise) {
  const char* text = std::getenv("CLEAVE_TEST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace cleave::testing

namespace cleave {

/// The number of random cases that a test tries: `count`, or a tenth of it in a build with a sanitizer, where a case takes about ten times
/// as long. Thresholds on properties of these cases are scaled by the same function.
template <typename T>
constexpr T draws(T count) {
  return testing::kSanitized && count >= 10 ? count / 10 : count;
}

}  // namespace cleave

#include "tests/support/places.h"

namespace cleave::testing {

std::string source_dir() {
  return CLEAVE_SOURCE_DIR;
}

std::string binary_dir() {
  return CLEAVE_BINARY_DIR;
}

}  // namespace cleave::testing

// Where the tests find files: the source tree and the build tree. The one file that is compiled with their paths, so that all others are
// the same in every tree and need not be compiled again.
#pragma once

#include <string>

namespace cleave::testing {

std::string source_dir();
std::string binary_dir();

}  // namespace cleave::testing

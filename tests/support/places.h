// The paths of the source tree and the build tree. places.cpp is the one file that is compiled with these paths, so that all other files
// are the same in every tree and need not be compiled again.
#pragma once

#include <string>

namespace cleave::testing {

std::string source_dir();
std::string binary_dir();

}  // namespace cleave::testing

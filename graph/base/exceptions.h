// What functions of the user throw, as Errors: cleave calls them, and throws nothing itself.
#pragma once

#include <string_view>

#include "graph/base/result.h"

namespace cleave {

/// To be called in a `catch (...)`: what was thrown, by `who`, as an Error: "`on_output` threw: disk full".
Error thrown_by(std::string_view who);

}  // namespace cleave

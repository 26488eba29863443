// Whole files in and out, with errors that say which file and why. Nothing half-written is ever left behind.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

/// The content of a file. Directories, files that cannot be read, and devices and pipes that give more than 256 MiB are an Error.
Result<std::string> read_file(const std::string& path);

/// Writes `parts` one behind the other to a temporary file beside `path` and renames it. Links are followed; devices and pipes are
/// written to directly.
Status write_file(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace cleave

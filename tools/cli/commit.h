// The commit that the command line was built from. The build writes its source (cmake/commit.cmake).
#pragma once

#include <string_view>

namespace cleave::cli {

/// Ten digits of the commit's hash, with `-modified` if files differed from it; empty if built from an archive.
[[nodiscard]] std::string_view commit();

}  // namespace cleave::cli

// The page of a plan with its picture, as `cleave explain --html` writes it.
#pragma once

#include "graph/base/result.h"
#include "partitioner/compile.h"
#include "tools/cli/options.h"

namespace cleave::cli {

/// Writes the page to the file that the options name. Without Graphviz, the picture has cleave's own layout.
Status write_page(const Plan& plan, const Options& options);

}  // namespace cleave::cli

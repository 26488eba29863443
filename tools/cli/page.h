// `cleave explain --html`: the page of a plan, with its picture.
#pragma once

#include "graph/base/result.h"
#include "partitioner/compile.h"
#include "tools/cli/options.h"

namespace cleave::cli {

/// To the file that the options name. Without Graphviz the page says so in the picture's place.
Status write_page(const Plan& plan, const Options& options);

}  // namespace cleave::cli

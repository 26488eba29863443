// Prints the source of a page: a table a file, costs at the margin of each line, messages under the lines that they are about.
#pragma once

#include "partitioner/report/page/markup.h"
#include "partitioner/report/page/source_view.h"

namespace cleave::planner {

void write_source(Markup& out, const SourceView& source);
/// A message with its notes, whose places lead to lines.
void write_message(Markup& out, const SourceView& source, std::size_t message);

}  // namespace cleave::planner

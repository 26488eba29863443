// Prints the source of a page: a table for each file, costs in the margin of each line, and messages below the lines that they are about.
#pragma once

#include "partitioner/report/markup.h"
#include "partitioner/report/page/source_view.h"

namespace cleave::planner {

void write_source(Markup& out, const SourceView& source);
/// Prints a message with its notes, with links from the notes' locations to source lines.
void write_message(Markup& out, const SourceView& source, std::size_t message);

}  // namespace cleave::planner

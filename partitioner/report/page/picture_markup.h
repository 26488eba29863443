// The picture of a plan for a page: Graphviz's drawing as an element of the page.
#pragma once

#include <string>
#include <string_view>

namespace cleave::planner {

/// Converts the output of Graphviz, a document of its own, to an element: without the parts that only documents have, and with ids that no
/// other element of the page has. Empty if `svg` is no drawing.
std::string picture_element(std::string_view svg);

}  // namespace cleave::planner

// The picture of a plan as a page holds it: Graphviz's drawing as an element among others.
#pragma once

#include <string>
#include <string_view>

namespace cleave::planner {

/// What Graphviz writes (a document of its own) without what only documents have, and with ids that no other element of the page has.
/// Nothing if it is no drawing.
std::string picture_element(std::string_view svg);

}  // namespace cleave::planner

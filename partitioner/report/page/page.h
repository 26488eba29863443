// html_page(): a plan as one HTML file (`cleave explain --html`) that contains everything and loads nothing from the network. page_data.h
// makes the data of the page once; page.cpp only prints them. The caller renders the picture.
#pragma once

#include <optional>
#include <string>

#include "partitioner/plan.h"

namespace cleave::planner {

/// The content of the page's picture section.
struct PagePicture {
  std::string svg;     ///< the output of Graphviz for `dot(plan)`; empty: no picture
  std::string remark;  ///< a remark on the picture, or why there is none
};

/// Data of a page beside the plan.
struct PageExtras {
  PagePicture picture;
  /// The costs of the plan's graph without the profile's observations. If given, the page shows the timeline without them, too.
  std::optional<CostedProblem> unobserved = std::nullopt;
};

/// Prints the page. Equal plans and extras give equal bytes. It includes source files that can be read; for a plan that is not complete it
/// shows diagnostics only.
std::string html_page(const Plan& plan, const PageExtras& extras);

}  // namespace cleave::planner

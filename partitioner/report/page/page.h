// A plan as a page for people: one HTML file with everything in it, that asks no network for anything (`cleave explain --html`). The data
// of the page are made once (page_data.h); the writer (page.cpp) only prints them. Rendering the picture is the caller's matter.
#pragma once

#include <optional>
#include <string>

#include "partitioner/compile.h"

namespace cleave::planner {

/// What stands where the picture does.
struct PagePicture {
  std::string svg;     ///< of `dot(plan)`, as Graphviz writes it; empty: there is none
  std::string remark;  ///< what is to be said of it, or why there is none
};

/// What a page has beside the plan.
struct PageExtras {
  PagePicture picture;
  /// Of the plan's graph, but without what a profile observed: a plan with observed times is shown beside what it would be by these.
  std::optional<CostedProblem> unobserved = std::nullopt;
};

/// Equal plans and extras give equal bytes. Source files that can be read are shown; a plan that is not complete has messages only.
std::string html_page(const Plan& plan, const PageExtras& extras);

}  // namespace cleave::planner

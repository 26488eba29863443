// What a plan says: the report of `cleave explain`, its JSON, the one-line summary of `run`, and the picture.
#pragma once

#include <string>

#include "graph/base/diagnostic_json.h"  // diagnostics_json, for errors before there is a plan
#include "partitioner/compile.h"

namespace cleave::planner {

std::string explain_text(const Plan& plan);
/// The document of `explain --json`; a plan with errors gives {cleave, diagnostics}.
std::string explain_json(const Plan& plan);
/// "21 of 30 nodes on the accelerator, 2 sends ..., predicted 0.4 s (...)".
std::string summary_line(const Plan& plan);
/// That everything on one side is predicted to be over sooner than the optimum of the sum; nothing where it is not.
std::string faster_remark(const Plan& plan);
/// Behind warnings of round trips: "a run waits ..."; nothing where there are none.
std::string waiting_line(const Plan& plan);
/// The program's text form with the sides of each node behind it, as a comment.
std::string placed_text(const Plan& plan);
/// Graphviz source: a cluster a device, transfers as labelled edges, round trips in red, loops as nested clusters.
std::string dot(const Plan& plan);

}  // namespace cleave::planner

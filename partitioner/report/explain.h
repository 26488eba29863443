// What a plan says: the report of `cleave explain`, its JSON, the one-line summary of `run`, and the picture.
#pragma once

#include <cstddef>
#include <string>

#include "graph/base/diagnostic_json.h"  // diagnostics_json, for errors before there is a plan
#include "partitioner/compile.h"
#include "partitioner/report/table.h"

namespace cleave::planner {

/// At most so many rows of a table, the costliest.
std::string explain_text(const Plan& plan, std::size_t most_rows = kUsualRows);
/// The document of `explain --json`; a plan with errors gives {cleave, diagnostics}.
std::string explain_json(const Plan& plan);
/// "predicted 0.4 s a run, all on the host 0.9 s, ...": elapsed times.
std::string predicted_phrase(const Plan& plan);
/// "21 of 30 operations on the accelerator, 5 transfers (...), 1 round trip".
std::string counts_phrase(const Plan& plan);
/// Counts and predictions.
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

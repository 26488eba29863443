// What a plan says: the report of `cleave explain`, its JSON, the one-line summary of `run`, and the picture.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "graph/base/diagnostic_json.h"  // diagnostics_json, for errors before there is a plan
#include "graph/base/json_writer.h"
#include "partitioner/compile.h"
#include "partitioner/report/table.h"

namespace cleave::planner {

/// At most so many rows of a table, the costliest.
std::string explain_text(const Plan& plan, std::size_t most_rows = kUsualRows);
/// The document of `explain --json`; a plan with errors gives {cleave, diagnostics}. `more` writes further fields of it.
std::string explain_json(const Plan& plan, const std::function<void(JsonWriter&)>& more = nullptr);
/// "predicted 0.4 s a run, all on the host 0.9 s, ...": elapsed times.
std::string predicted_phrase(const Plan& plan);
/// "21 of 30 operations on the accelerator, 5 transfers (...), 1 round trip".
std::string counts_phrase(const Plan& plan);
/// Counts and predictions.
std::string summary_line(const Plan& plan);
/// "all on the accelerator", or, where something cannot be there, "as much as possible on the accelerator".
std::string all_accelerator_phrase(const Plan& plan, const std::string& all = "all");
/// That everything on one side is predicted to be over sooner than the optimum of the sum, by 2 % and 0.1 ms; nothing where it is not.
std::string faster_remark(const Plan& plan);
/// Behind warnings of round trips: "a run waits ..."; nothing where there are none.
std::string waiting_line(const Plan& plan);
/// The program's text form with the sides of each node behind it, as a comment.
std::string placed_text(const Plan& plan);

struct PictureOptions {
  bool full = false;           ///< nothing is collapsed
  std::size_t most_nodes = 0;  ///< else: at most so many nodes; 0: as many as suit the program, 60 to 120
};
/// Graphviz source: a cluster a device, transfers as labelled edges, round trips in red, loops as nested clusters, a legend. Element-wise
/// operations in a row, repeated layers, and what is too much for a picture are collapsed.
std::string dot(const Plan& plan, const PictureOptions& options = {});

}  // namespace cleave::planner

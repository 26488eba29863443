// The output of a plan: the report of `cleave explain`, its JSON, the one-line summary of `run`, and the picture.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "graph/base/diagnostic_json.h"  // diagnostics_json, for errors before there is a plan
#include "graph/base/json_writer.h"
#include "partitioner/plan.h"
#include "partitioner/report/table.h"

namespace cleave::planner {

/// The report. Each table has at most `most_rows` rows, the costliest ones.
std::string explain_text(const Plan& plan, std::size_t most_rows = kUsualRows);
/// The document of `explain --json`; for a plan with errors, {cleave, diagnostics}. `more` writes additional fields.
std::string explain_json(const Plan& plan, const std::function<void(JsonWriter&)>& more = nullptr);
/// "predicted 0.4 s a run, all on the host 0.9 s, ...": elapsed times.
std::string predicted_phrase(const Plan& plan);
/// "21 of 30 operations on the accelerator, 5 transfers (...), 1 round trip".
std::string counts_phrase(const Plan& plan);
/// The counts and the predicted times.
std::string summary_line(const Plan& plan);
/// "all on the accelerator", or "as much as possible on the accelerator" if some operations cannot run there.
std::string all_accelerator_phrase(const Plan& plan, const std::string& all = "all");
/// A remark if everything on one side is predicted to be faster than the minimum of the sum, by 2 % and 0.1 ms. Empty otherwise.
std::string faster_remark(const Plan& plan);
/// "a run waits ...", to follow warnings of round trips. Empty if there are none.
std::string waiting_line(const Plan& plan);
/// The program's text form, with a comment after each node that names its sides.
std::string placed_text(const Graph& graph, const Placement& placement);

struct PictureOptions {
  bool full = false;           ///< nothing is collapsed
  std::size_t most_nodes = 0;  ///< the most nodes, unless `full`; 0: 60 to 120, depending on the size of the program
};
/// Graphviz source: a cluster for each device, transfers as labeled edges, round trips in red, loops as nested clusters, a legend. Chains
/// of element-wise operations and repeated layers are collapsed, and further nodes if the picture is still too large.
std::string dot(const Plan& plan, const PictureOptions& options = {});
/// The same picture as an SVG element, laid out without Graphviz, in milliseconds; loads nothing and has no ids. A picture without content
/// for a plan that is not complete.
std::string svg(const Plan& plan, const PictureOptions& options = {});

}  // namespace cleave::planner

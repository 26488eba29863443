#include "executor/report/prediction_check.h"

#include <algorithm>
#include <cmath>

#include "executor/report/profile_report.h"
#include "graph/base/number_text.h"
#include "graph/base/units.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kMostRows = 5;

std::string percent_text(double part) {
  return general_text(100 * part, 3);
}

/// The rows that deviate most from the prediction, the worst first; rows that agree well are left out.
std::vector<Note> deviations(const Plan& plan, const Timeline& timeline) {
  ProfileReport report = profile_report(timeline, plan.program, plan.costed, plan.transfers);
  const auto deviation = [](const ProfileReportRow& row) { return std::abs(row.seconds - row.predicted_seconds); };
  std::erase_if(report.rows, [](const ProfileReportRow& row) { return row.what == TimelineEvent::What::wait || !row.node.valid(); });
  std::stable_sort(report.rows.begin(), report.rows.end(), [&](const auto& a, const auto& b) { return deviation(a) > deviation(b); });
  std::vector<Note> notes;
  for (const ProfileReportRow& row : report.rows) {
    if (notes.size() == kMostRows || deviation(row) <= 0.1 * deviation(report.rows.front())) break;
    notes.push_back(
        {row_phrase(*plan.graph, row) + " took " + format_seconds(row.seconds) + ", predicted " + format_seconds(row.predicted_seconds),
         plan.graph->nodes[row.node].location, 0});
  }
  return notes;
}

}  // namespace

Diagnostics check_prediction(const Plan& plan, double seconds, const Timeline& timeline, std::size_t runs) {
  const Limits& limits = plan.graph->limits;
  Diagnostics diagnostics;
  if (!limits.prediction_error) return diagnostics;
  const double predicted = plan.predicted_seconds, difference = seconds - predicted;
  if (std::abs(difference) <= *limits.prediction_error * predicted) return diagnostics;
  const std::string how_much =
      predicted > 0 ? ", " + percent_text(std::abs(difference) / predicted) + " % " + (difference > 0 ? "more" : "less") + " than the "
                    : ", and ";
  const std::string took = (runs > 1 ? "the median of " + std::to_string(runs) + " runs is " : "the run took ") + format_seconds(seconds);
  std::vector<Note> notes = deviations(plan, timeline);
  notes.push_back({"predicted by machine `" + plan.machine.name + "`, " + plan.machine.provenance, {}, 0});
  diagnostics.error(DiagnosticKind::limit, limits.prediction_error_location.known() ? limits.prediction_error_location : limits.location,
                    took + how_much + format_seconds(predicted) +
                        " predicted; the limit `prediction_error: " + percent_text(*limits.prediction_error) + "%` is exceeded",
                    std::move(notes));
  return diagnostics;
}

}  // namespace cleave::runtime

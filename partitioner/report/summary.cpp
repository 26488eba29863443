// A plan in one line: the summary that `run` prints after its outputs, and remarks to go with it. All times are elapsed times, so they can
// be compared.
#include <algorithm>
#include <cmath>

#include "graph/base/units.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/totals.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {

std::string all_accelerator_phrase(const Plan& plan, const std::string& all) {
  return (plan.all_accelerator_in_part ? "as much as possible" : all) + " on the accelerator";
}

std::string faster_remark(const Plan& plan) {
  constexpr double kSooner = 0.98, kNoticeable = 1e-4;
  if (plan.policy != Policy::optimal) return "";
  const double host = plan.all_host_predicted_seconds, accelerator = plan.all_accelerator_predicted_seconds;
  const bool on_host = !(accelerator < host);  // also true if one of them is NaN
  const double least = on_host ? host : accelerator;
  if (!(least < kSooner * plan.predicted_seconds) || plan.predicted_seconds - least < kNoticeable) return "";
  if (format_seconds(least) == format_seconds(plan.predicted_seconds)) return "";
  return (on_host ? "everything on the host" : all_accelerator_phrase(plan, "everything")) + " is predicted to be over sooner, in " +
         format_seconds(least) + " instead of " + format_seconds(plan.predicted_seconds) +
         ": this placement has the least work and transfers in sum, but less of it at once; `--placement " +
         (on_host ? "host" : "accelerator") + "` takes that one, `--placement fastest` looks for one that is sooner still";
}

std::string predicted_phrase(const Plan& plan) {
  std::string text = "predicted " + format_seconds(plan.predicted_seconds) + " a run";
  const auto beside = [&](const std::string& what, double seconds) {
    if (!std::isnan(seconds)) text += ", " + what + " " + format_seconds(seconds);
  };
  if (plan.policy != Policy::host && totals(plan).on_accelerator > 0) beside("all on the host", plan.all_host_predicted_seconds);
  if (plan.policy != Policy::accelerator) beside(all_accelerator_phrase(plan), plan.all_accelerator_predicted_seconds);
  return text;
}

std::string counts_phrase(const Plan& plan) {
  const Totals sum = totals(plan);
  if (sum.on_accelerator == 0 && sum.transfers == 0)
    return sum.operations < 2 ? counted(sum.operations, "operation") + " on the host"
                              : "all " + counted(sum.operations, "operation") + " on the host";
  return std::to_string(sum.on_accelerator) + " of " + counted(sum.operations, "operation") + " on the accelerator, " +
         counted(sum.transfers, "transfer") + " (" + counted(sum.sends, "send") + ", " + format_bytes(sum.bytes) + " a run), " +
         counted(sum.round_trips, "round trip");
}

std::string summary_line(const Plan& plan) {
  if (!plan.complete()) return "no plan: the model has errors";
  return counts_phrase(plan) + "; " + predicted_phrase(plan) + " (" + machine_phrase(plan.machine) + ")";
}

std::string waiting_line(const Plan& plan) {
  const std::size_t warned = totals(plan).round_trips;
  if (warned == 0) return "";
  const std::size_t others = plan.round_trips.size() - warned;
  return counted(warned, "round trip") + (others > 0 ? " (and " + std::to_string(others) + " not warned of)" : "") +
         ": the accelerator waits for the host for about " + format_seconds(plan.predicted_wait_seconds) + " of a run of " +
         format_seconds(plan.predicted_seconds) + " (" + percent(plan.predicted_wait_seconds, plan.predicted_seconds) + ", predicted)";
}

}  // namespace cleave::planner

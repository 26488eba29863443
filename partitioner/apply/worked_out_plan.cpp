#include "partitioner/apply/worked_out_plan.h"

#include "partitioner/apply/predict.h"
#include "partitioner/apply/producers.h"
#include "partitioner/apply/split.h"

namespace cleave::planner {

namespace {

/// Splits with as many arguments received ahead of their use as memory allows: all, one, or none.
Program split_to_fit(const PlannedGraph& planned, const Placement& placement, const Transfers& transfers) {
  const auto ahead_by = [&](std::size_t ahead) {
    return split(planned.graph, *planned.costed.uses, placement, transfers, ahead, planned.costed.fusible, planned.costed.workers);
  };
  Program all = ahead_by(kAllAhead);
  if (!planned.fits || planned.fits(all)) return all;
  Program none = ahead_by(0);
  if (!planned.fits(none)) return none;
  Program one = ahead_by(1);
  return planned.fits(one) ? one : none;
}

}  // namespace

WorkedOutPlan work_out(const PlannedGraph& planned, Placement placement) {
  WorkedOutPlan plan;
  plan.placement = std::move(placement);
  plan.transfers = make_transfers(*planned.graph, planned.costed, plan.placement);
  plan.program = split_to_fit(planned, plan.placement, plan.transfers);
  plan.program.producers = find_producers(plan.program, planned.costed);
  plan.schedule = predict(plan.program, plan.transfers, planned.costed);
  return plan;
}

}  // namespace cleave::planner

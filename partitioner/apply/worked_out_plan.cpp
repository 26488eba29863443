#include "partitioner/apply/worked_out_plan.h"

#include "partitioner/apply/split.h"

namespace cleave {

namespace {

/// Arguments all at once, or else one ahead of the one that is needed, or else each when it is needed.
Program split_to_fit(const PlannedGraph& planned, const WorkedOutPlan& candidate) {
  const auto ahead_by = [&](std::size_t ahead) { return split(planned.graph, candidate.placement, candidate.transfers, ahead); };
  Program all = ahead_by(kAllAhead);
  if (!planned.fits || planned.fits(all)) return all;
  Program none = ahead_by(0);
  if (!planned.fits(none)) return none;
  Program one = ahead_by(1);
  return planned.fits(one) ? one : none;
}

}  // namespace

WorkedOutPlan PlannedGraph::work_out(Placement placement) const {
  WorkedOutPlan candidate;
  candidate.placement = std::move(placement);
  candidate.transfers = make_transfers(*graph, costed, candidate.placement, machine);
  candidate.program = split_to_fit(*this, candidate);
  candidate.schedule = predict(candidate.program, candidate.transfers, costed);
  return candidate;
}

}  // namespace cleave

#include "partitioner/candidate.h"

#include "partitioner/split.h"

namespace cleave {

Candidate PlannedGraph::work_out(Placement placement) const {
  Candidate candidate;
  candidate.placement = std::move(placement);
  candidate.transfers = make_transfers(*graph, costed, candidate.placement, machine);
  candidate.program = split(graph, candidate.placement, candidate.transfers);
  candidate.schedule = predict(candidate.program, candidate.transfers, costed);
  return candidate;
}

}  // namespace cleave

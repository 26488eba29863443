#include "partitioner/report/totals.h"

#include "partitioner/apply/coalesce.h"

namespace cleave::planner {

Totals totals(const Plan& plan) {
  Totals sum;
  if (!plan.complete()) return sum;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    if (plan.graph->nodes[NodeId(i)].kind != NodeKind::operation) continue;
    ++sum.operations;
    sum.on_accelerator += plan.placement.has_copy(i, kAccelerator) ? 1 : 0;
  }
  sum.transfers = plan.transfers.items.size();
  for (const Transfer& t : plan.transfers.items) {
    sum.sends += t.kind == TransferKind::send ? 1 : 0;
    sum.bytes += static_cast<double>(t.bytes) * t.frequency;
    sum.transfer_seconds += t.seconds;
  }
  const IdVector<CoalescedId, CoalescedTransfer>& coalesced_transfers = plan.program.coalesced_transfers;
  sum.coalesced_transfers = coalesced_transfers.size();
  for (std::size_t i = 0; i < coalesced_transfers.size(); ++i) {
    const Channel& first = plan.program.channels[coalesced_transfers[CoalescedId(i)].channels[0]];
    sum.packed += coalesced_transfers[CoalescedId(i)].channels.size();
    sum.saved_seconds += plan.costed.frequency[first.region] * saved_seconds(plan.program, plan.costed, CoalescedId(i));
  }
  for (const RoundTrip& trip : plan.round_trips) sum.round_trips += trip.warned() ? 1 : 0;
  return sum;
}

}  // namespace cleave::planner

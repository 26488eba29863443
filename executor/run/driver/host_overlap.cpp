#include "executor/run/driver/host_overlap.h"

#include "executor/device/step_mark.h"

namespace cleave::runtime {

HostOverlap::HostOverlap(const Prepared& prepared, HostKernels& kernels, const Transports& transports, HostEnd& end)
    : prepared_(prepared), kernels_(kernels), end_(end) {
  const IdVector<NodeId, Overlap>& overlaps = kernels.operations().overlaps;
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    const Overlap& overlap = overlaps[NodeId(i)];
    if (overlap.ranges.empty()) continue;
    OverlappedOperation& operation = operations_[NodeId(i)];
    for (const Overlap::OverlappedTransfer& each : overlap.coming)
      operation.coming.push_back({transports.chunks_to_host[each.channel], &each.parts});
    for (const Overlap::OverlappedTransfer& each : overlap.leaving)
      operation.leaving.push_back({transports.chunks_to_device[each.channel], &each.parts});
  }
}

bool HostOverlap::run(const Origin& here, double& waited) {
  const OverlappedOperation& operation = operations_.at(here.node);
  const std::vector<Overlap::Range>& ranges = kernels_.operations().overlaps[here.node].ranges;
  kernels_.place(here.node);
  const KernelCall call = kernels_.call(here.node);
  const StepMark mark(prepared_.graph(), here.node);
  for (const auto& [transport, chunks] : operation.leaving) transport->begin_value(end_);
  SampleClock::Sample sample;  // of all ranges together
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    for (const auto& [transport, chunks] : operation.coming)
      if (!transport->take_chunks(end_, (*chunks)[r], here, waited)) return false;
    if (!kernels_.run_pieces(call, here, begin, ranges[r].end, sample)) return false;
    end_.clock.advance(prepared_.costs.seconds[kHost][here.node] * ranges[r].share);
    begin = ranges[r].end;
    for (const auto& [transport, chunks] : operation.leaving) transport->give(end_, (*chunks)[r]);
  }
  for (const auto& [transport, chunks] : operation.coming)
    if (!transport->take_rest(end_, here, waited)) return false;
  kernels_.observe(here.node, sample);
  return true;
}

}  // namespace cleave::runtime

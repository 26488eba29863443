#include "executor/run/early_outputs.h"

#include <algorithm>
#include <cstring>

#include "graph/base/exceptions.h"

namespace cleave::runtime {

EarlyOutputs::EarlyOutputs(Prepared& prepared, Outputs& outputs) : prepared_(prepared), outputs_(outputs) {
  const Program& program = *prepared.program;
  IdVector<ChannelId, std::int64_t> sent(program.channels.size(), 0);
  for (const DeviceProgram& device : program.devices) {
    if (device.blocks.empty()) continue;
    for (const Step& step : device.blocks[0].steps)
      if (step.kind == StepKind::send) sent[step.channel] = step.order;
  }
  if (program.devices[kHost].blocks.empty()) return;
  for (const Step& step : program.devices[kHost].blocks[0].steps)
    if (step.kind == StepKind::receive && outputs.has(step.value)) errands_.push_back({sent[step.channel], &step});
  std::sort(errands_.begin(), errands_.end(), [](const Errand& a, const Errand& b) { return a.sent < b.sent; });
}

void EarlyOutputs::work(RunState& run) {
  const Status done = detail::guard_memory([&] {
    carry(run);
    return Status();
  });
  if (!done) run.end(done.error());
}

void EarlyOutputs::carry(RunState& run) {
  for (const Errand& errand : errands_) {
    const Step& step = *errand.receive;
    // Waits at the position of the host's receive: errors after that position do not concern the output.
    const Ring::Slot* slot = prepared_.ring(step.channel).first(run, {step.node, {step.order}});
    if (!slot) return;
    if (!prepared_.devices[prepared_.channel(step.channel).from]->streams().synchronize(slot->ready.event))
      return;  // the host reports the error
    const Status told = outputs_.hand_in(step.value, [&] {
      if (const Array* given = prepared_.caller_memory.target(step.value); given && slot->at == given->bytes()) return *given;
      Array array(prepared_.graph().values[step.value].type);
      const std::byte* from = slot->at + prepared_.channel(step.channel).offset;
      if (array.type().bytes() > 0) std::memcpy(array.mutable_bytes(), from, static_cast<std::size_t>(array.type().bytes()));
      return array;
    });
    if (!told) return run.fail({step.node, {step.order}}, told.error());
  }
}

}  // namespace cleave::runtime

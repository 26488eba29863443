#include "executor/run/early_outputs.h"

#include <algorithm>
#include <cstring>

#include "graph/base/exceptions.h"

namespace cleave::runtime {

EarlyOutputs::EarlyOutputs(const Prepared& prepared, const Transports& transports, Outputs& outputs)
    : prepared_(prepared), transports_(transports), outputs_(outputs) {
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
    const ChannelId first = travelling_with(*prepared_.program, step.channel).front();
    // Waits at the position of the host's receive: errors after that position do not concern the output.
    const std::byte* const at = transports_.of[first]->first(run, {step.node, {step.order}});
    if (!at) return;  // the host reports the error
    const Status told = outputs_.hand_in(step.value, [&] {
      if (const Array* given = prepared_.caller_memory.target(step.value); given && at == given->bytes()) return *given;
      Array array(prepared_.graph().values[step.value].type);
      const std::byte* from = at + prepared_.channel(step.channel).offset;
      if (array.type().bytes() > 0) std::memcpy(array.mutable_bytes(), from, static_cast<std::size_t>(array.type().bytes()));
      return array;
    });
    if (!told) return run.fail({step.node, {step.order}}, told.error());
  }
}

}  // namespace cleave::runtime

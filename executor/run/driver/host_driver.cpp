#include "executor/run/driver/host_driver.h"
#include "executor/memory/plan_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cleave::runtime {

Result<std::unique_ptr<HostDriver>> HostDriver::create(Prepared& prepared, HostOperations operations, Transports& transports,
                                                       Outputs& outputs) {
  std::unique_ptr<HostDriver> driver(new HostDriver(prepared, std::move(operations), transports, outputs));
  if (!driver->end_.storage.allocate()) return does_not_fit(*prepared.program, kHost, prepared.plans[kHost], 0);
  return driver;
}

HostDriver::HostDriver(Prepared& prepared, HostOperations operations, Transports& transports, Outputs& outputs)
    : prepared_(prepared),
      graph_(prepared.graph()),
      plan_(prepared.plans[kHost]),
      transports_(transports),
      outputs_(outputs),
      end_(plan_),
      steps_(graph_),
      arrays_(prepared, end_, outputs),
      kernels_(prepared, std::move(operations), transports, end_),
      overlap_(prepared, kernels_, transports, end_),
      workers_(prepared.program->workers),
      calls_(prepared, kernels_, arrays_, end_, workers_, virtual_workers_),
      producers_(prepared, kernels_, end_, workers_, virtual_workers_) {}

Status HostDriver::begin(RunState& run, const RunOptions& options, std::map<NodeId, Array> leaves, bool virtual_time) {
  end_.begin(run);
  workers_.begin(run);
  virtual_workers_.begin(prepared_.program->workers);
  calls_.begin();
  producers_.begin();
  end_.clock.begin(options, virtual_time, prepared_.costs.run_seconds);
  if (Status status = arrays_.begin(options, std::move(leaves)); !status) return status;
  steps_.begin(options);
  kernels_.begin(options, arrays_, steps_);
  return {};
}

bool HostDriver::compute(const Step& step, const Origin& here, std::int64_t trip) {
  const NodeKind kind = graph_.nodes[step.node].kind;
  if (!calls_.settle_step(graph_.nodes[step.node], step.node)) return false;
  if (producers_.takes(step.node)) return producers_.take(here, trip);
  if (calls_.runs_beside(step.node)) return calls_.start(here);
  const double start = end_.clock.mark();
  double waited = 0;
  if (!run(step, here, trip, waited)) return false;
  if (kind != NodeKind::operation && kind != NodeKind::counter) return true;  // inputs and the like are available from the start
  Track& track = end_.clock.track();
  if (!track.on()) return true;
  if (waited > 0)  // waits for chunks of operands are shown as if they all preceded the operation
    track.add(TimelineEvent::What::wait, kHost, overlap_.awaited(step.node), start, start + waited);
  track.add(TimelineEvent::What::compute, kHost, step.node, start + waited, end_.clock.mark());
  return true;
}

/// Runs the step's operation, if any, and hands in its results.
bool HostDriver::run(const Step& step, const Origin& here, std::int64_t trip, double& waited) {
  const Node& node = graph_.nodes[step.node];
  const bool overlaps = overlap_.runs(step.node);
  if (node.kind == NodeKind::operation) {
    if (overlaps ? !overlap_.run(here, waited) : !kernels_.wait_for_slots(here) || !kernels_.run(here)) return false;
  } else if (node.kind == NodeKind::counter) {
    const auto number = static_cast<std::int32_t>(trip);
    std::memcpy(end_.storage.of(node.results[0]), &number, sizeof number);
  }
  const HostOperations& operations = kernels_.operations();
  if (node.kind != NodeKind::operation || operations.of[step.node].kernel) {
    for (const ValueId result : operations.writes(step.node))
      if (!hand_in(result, here)) return false;
  }
  if (!overlaps && (node.kind == NodeKind::operation || node.kind == NodeKind::counter))
    end_.clock.advance(prepared_.costs.seconds[kHost][step.node]);
  return true;
}

bool HostDriver::hand_in(ValueId value, const Origin& here) {
  return !outputs_.listening() || (calls_.settle(value, false) && arrays_.hand_in(value, here));
}

bool HostDriver::transfer(const Step& step, const Origin& here) {
  const bool receives = step.kind == StepKind::receive;
  if (Transport* const transport = transports_.of[step.channel].get()) {
    const std::vector<TransferredValue>& values = transport->values();
    const auto settled = [&](const TransferredValue& each) { return calls_.settle(each.value, receives); };
    if (!std::all_of(values.begin(), values.end(), settled) || !transport->host_step(end_, here)) return false;
  }
  return !receives || hand_in(step.value, here);
}

bool HostDriver::move(const std::vector<Move>& moves, const Origin&) {
  for (const Move& m : moves) {
    if (!calls_.settle_storage(m.from, false) || !calls_.settle_storage(m.to, true)) return false;
    const auto bytes = static_cast<std::size_t>(plan_.range(m.to).bytes);
    if (bytes > 0) std::memcpy(end_.storage.at(m.to), end_.storage.at(m.from), bytes);
  }
  return true;
}

std::optional<std::int64_t> HostDriver::decide(const Step& step, ValueId value, const Origin& here) {
  if (!calls_.settle(value, false)) return std::nullopt;
  const Result<std::int64_t> decision = decision_of(graph_, step.node, value, end_.storage.of(value));
  if (!decision) {
    end_.fail(here, decision.error());
    return std::nullopt;
  }
  if (!step.drives_others) return *decision;
  for (std::size_t d = 1; d < prepared_.controls.size(); ++d) {
    if (!prepared_.walks[DeviceId(d)][step.node]) continue;
    if (!prepared_.controls[DeviceId(d)].put(end_.run(), kHost, here, {*decision, end_.clock.now()})) return std::nullopt;
  }
  return *decision;
}

void HostDriver::enter(NodeId control) {
  const Node& node = graph_.nodes[control];
  const double trips = node.kind == NodeKind::branch ? 1 : node.expected;  // the trip count that the plan's seconds assume
  if (trips > 0) end_.clock.advance(prepared_.costs.seconds[kHost][control] / trips);
  steps_.enter(control);
}

void HostDriver::outcome(NodeId control, std::int64_t value) {
  if (kernels_.observes()) kernels_.observation().control(control, static_cast<double>(value));
  steps_.leave(control);
}

bool HostDriver::begin_loop(const Step& loop, const Origin& here, std::int64_t count) {
  const std::vector<ValueId>* const reads = producers_.reads(loop.node);
  if (!reads) return true;
  if (!calls_.settle(*reads, false)) return false;
  producers_.begin_loop(loop.node, here, count);
  return true;
}

void HostDriver::end_walk() {
  producers_.end();
  calls_.end();
  workers_.end();
}

bool HostDriver::leave(const Step& control, const Origin& here) {
  producers_.end_loop(control.node);
  for (NodeId carried : control.carried)
    if (!hand_in(graph_.nodes[carried].results[1], here)) return false;
  for (NodeId merge : control.merges)
    if (!hand_in(graph_.nodes[merge].results[0], here)) return false;
  return true;
}

}  // namespace cleave::runtime

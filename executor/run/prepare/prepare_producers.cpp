#include "executor/run/prepare/prepare_producers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "executor/memory/host_fit.h"
#include "graph/base/host_memory.h"

namespace cleave::runtime {
namespace {

constexpr std::int64_t kAlignment = 64;

/// Lays out the slot of one producer, and finds which of its results leave it.
class ProducerPreparation {
 public:
  ProducerPreparation(const Prepared& prepared, const HostOperations& operations, const Producer& producer)
      : prepared_(prepared),
        graph_(prepared.graph()),
        plan_(prepared.plans[kHost]),
        operations_(operations),
        producer_(producer),
        nodes_(producer.nodes.begin(), producer.nodes.end()) {}

  PreparedProducer run() {
    const RegionId body = graph_.nodes[producer_.loop].regions[0];
    for (const NodeId node : graph_.regions[body].nodes)
      if (graph_.nodes[node].kind == NodeKind::counter) offsets_[graph_.nodes[node].results[0]] = 0;
    find_readers();
    prepared_producer_.producer = &producer_;
    for (const Block& block : prepared_.program->devices[kHost].blocks) {
      if (block.region != body) continue;
      for (const Step& step : block.steps)
        if (step.kind == StepKind::compute && nodes_.contains(step.node)) add(step);
    }
    prepared_producer_.slot_bytes = bytes_;
    return std::move(prepared_producer_);
  }

 private:
  void place(ValueId value) {
    offsets_[value] = bytes_;
    bytes_ += (graph_.values[value].type.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Collects the values that steps outside of the producer read.
  void find_readers() {
    const auto add_inputs = [&](NodeId node) { read_.insert(graph_.nodes[node].inputs.begin(), graph_.nodes[node].inputs.end()); };
    for (const Block& block : prepared_.program->devices[kHost].blocks) {
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send) read_.insert(step.value);
        if (step.kind == StepKind::compute && nodes_.contains(step.node)) continue;
        if (step.kind != StepKind::send && step.kind != StepKind::receive) add_inputs(step.node);
        for (const NodeId carried : step.carried) add_inputs(carried);
        for (const NodeId merge : step.merges) add_inputs(merge);
      }
    }
    for (const Region& region : graph_.regions)
      if (region.predicate) read_.insert(region.predicate);
  }

  void add(const Step& step) {
    prepared_producer_.virtual_seconds += prepared_.costs.seconds[kHost][step.node];
    if (!operations_.of[step.node].kernel) return;  // it runs with a later one
    PreparedProducer::Work work{step.node, step.order, {}, {}};
    for (const ValueId value : operations_.reads(step.node)) {
      const auto found = offsets_.find(value);
      work.inputs.push_back({value, found == offsets_.end() ? PreparedProducer::kOutside : found->second});
      if (found == offsets_.end() && outside_.insert(value).second) prepared_producer_.reads.push_back(value);
    }
    for (const ValueId value : operations_.writes(step.node)) {
      place(value);
      work.results.push_back({value, offsets_[value], read_.contains(value) && !shares_memory_outside(value)});
    }
    prepared_producer_.works.push_back(std::move(work));
  }

  /// Whether a value is another name for one that exists before the loop. Its bytes are there already, and workers read them.
  [[nodiscard]] bool shares_memory_outside(ValueId value) const {
    return std::any_of(outside_.begin(), outside_.end(), [&](ValueId read) { return plan_.storage_of[read] == plan_.storage_of[value]; });
  }

  const Prepared& prepared_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  const HostOperations& operations_;
  const Producer& producer_;
  const std::set<NodeId> nodes_;
  std::set<ValueId> read_, outside_;
  std::map<ValueId, std::int64_t> offsets_;
  std::int64_t bytes_ = kAlignment;  ///< behind the trip's number
  PreparedProducer prepared_producer_;
};

}  // namespace

std::vector<PreparedProducer> prepare_producers(const Prepared& prepared, const HostOperations& operations) {
  std::vector<PreparedProducer> producers;
  std::int64_t bytes = 0;
  for (const Producer& producer : prepared.program->producers) {
    producers.push_back(ProducerPreparation(prepared, operations, producer).run());
    bytes += producers.back().slot_bytes * producer.ahead;
  }
  const std::int64_t needed = host_bytes(prepared.plans, prepared.virtual_time) + bytes;
  if (bytes < kWorthLooking || may_use(needed, host_memory(), private_memory())) return producers;
  return {};
}

int lanes_of_producers(const Program& program) {
  int lanes = 0;
  for (const Producer& producer : program.producers) lanes += producer.ahead;
  return lanes;
}

}  // namespace cleave::runtime

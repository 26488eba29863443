// HostSide, part: preparation before any run: kernels with the addresses of their operands, and the operations that overlap with transfers.
#include "executor/run/driver/host_side.h"
#include "graph/states.h"

namespace cleave::runtime {

Result<std::unique_ptr<HostSide>> HostSide::create(Prepared& prepared, Outputs& outputs) {
  std::unique_ptr<HostSide> side(new HostSide(prepared, outputs));
  if (Status status = side->storage_.allocate(); !status) return status.error();
  for (const GraphState& state : states_of(side->graph_))
    if (!state.fixed()) side->changes_.insert(state.leaf);
  side->prepare_operations();
  side->prepare_overlaps();
  side->kept_.resize(side->views_.size());
  side->find_read();
  return side;
}

void HostSide::prepare_operations() {
  operations_.reserve(graph_.nodes.size());
  while (operations_.size() < graph_.nodes.size()) operations_.push_back({});
  for (const Block& block : prepared_.program->devices[kHost].blocks) {
    for (const Step& step : block.steps) {
      const FusionGroup* group = fusion_.group(step.node);
      const bool runs = step.kind == StepKind::compute && graph_.nodes[step.node].kind == NodeKind::operation;
      if (runs && (!group || group->nodes.back() == step.node)) prepare_operation(step.node);
    }
  }
}

KernelRequest HostSide::request_of(NodeId id) const {
  if (const FusionGroup* group = fusion_.group(id)) return request_for(graph_, *group);
  const Node& node = graph_.nodes[id];
  KernelRequest request{id, node.op, &prepared_.attributes(id), {}, {}, {}, {}, {}, {}};
  for (const ValueId input : node.inputs) request.input_types.push_back(graph_.values[input].type);
  for (const ValueId result : node.results) request.result_types.push_back(graph_.values[result].type);
  return request;
}

void HostSide::prepare_operation(NodeId id) {
  const Node& node = graph_.nodes[id];
  Operation& operation = operations_[id];
  operation.kernel = prepare_host_kernel(request_of(id));
  operation.attributes = &prepared_.attributes(id);
  operation.first_view = static_cast<std::uint32_t>(views_.size());
  operation.calls_user = node.host_function() != nullptr;
  if (runs_beside(*prepared_.program, id)) {
    operation.beside = std::make_unique<BesideCall>();
    operation.beside->work = [this](const Calls::Call& call) { return run_call(call); };
    operation.pends = beside(*prepared_.program, id) == HostFunction::Beside::pending;
  }
  for (const auto* values : {&reads(id), &writes(id)}) {
    for (const ValueId value : *values) {
      views_.push_back({&graph_.values[value].type, data(value)});
      operation.moves |= storage_.moves(value);
    }
  }
}

const std::vector<ValueId>& HostSide::reads(NodeId id) const {
  const FusionGroup* group = fusion_.group(id);
  return group ? group->inputs : graph_.nodes[id].inputs;
}

const std::vector<ValueId>& HostSide::writes(NodeId id) const {
  const FusionGroup* group = fusion_.group(id);
  return group ? group->results : graph_.nodes[id].results;
}

/// Finds the values that a host step reads: all others are received only as outputs.
void HostSide::find_read() {
  read_here_.resize(graph_.values.size(), 0);
  const auto read = [&](NodeId node) {
    for (const ValueId input : graph_.nodes[node].inputs) read_here_[input] = 1;
  };
  for (const Block& block : prepared_.program->devices[kHost].blocks) {
    if (const ValueId predicate = graph_.regions[block.region].predicate; predicate.valid()) read_here_[predicate] = 1;
    for (const Step& step : block.steps) {
      if (step.kind == StepKind::send) read_here_[step.value] = 1;
      if (step.kind == StepKind::send || step.kind == StepKind::receive) continue;
      read(step.node);
      for (const NodeId carried : step.carried) read(carried);
      for (const NodeId merge : step.merges) read(merge);
    }
  }
}

void HostSide::prepare_overlaps() {
  const std::function<PlacedKernel(NodeId)> kernel_of = [this](NodeId id) {
    const HostKernel* kernel = operations_[id].kernel.get();
    return kernel ? PlacedKernel{kernel, &reads(id), &writes(id)} : PlacedKernel();
  };
  overlaps_ = find_overlaps(prepared_, kernel_of);
  progress_.resize(prepared_.program->channels.size());
  for (std::size_t i = 0; i < overlaps_.size(); ++i) {
    const NodeId id(i);
    Overlap& overlap = overlaps_[id];
    if (overlap.coming.empty() && overlap.leaving.empty()) continue;
    PlacedKernel placed = kernel_of(id);
    std::unique_ptr<HostKernel> other = placed.kernel->pieces() > 1 ? nullptr : prepare_in_pieces(request_of(id));
    if (other) placed.kernel = other.get();
    cut(overlap, placed, prepared_);
    if (other && !overlap.ranges.empty()) operations_[id].kernel = std::move(other);
    for (const Overlap::OverlappedTransfer& each : overlap.coming) prepared_.read_in_parts[each.channel] = 1;
    for (const Overlap::OverlappedTransfer& each : overlap.leaving)
      progress_[each.channel].made.reserve(prepared_.parts(bytes_of(each.value)));
  }
}

}  // namespace cleave::runtime

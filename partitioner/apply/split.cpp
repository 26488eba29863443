// One walk over the graph emits the steps of all devices and numbers them with a common counter. It follows program order, except for
// values that fused kernels need earlier. Sends and receives are events at slots of their region (slot k: before node k). A send is at the
// first slot at which its value exists there; a receive is at the slot of the first read that it serves, or earlier if no device waits
// longer for that. In one slot sends come first, so a value sent on entering a region can be received at once. Finally, small values sent
// at one point are combined into coalesced transfers (coalesce.h).
#include "partitioner/apply/split.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/apply/kernel_rows.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {
namespace {

struct Event {
  /// In one slot all values are sent before any is received. The host passes a value on from one accelerator to another behind that.
  enum Stage : std::uint8_t { send, receive, send_on, receive_on };

  RegionId region;
  std::int32_t slot = 0;
  Stage stage = send;
  std::int64_t first_read = 0;  ///< arguments: when it is first read, as ValueUses numbers reads
  std::size_t transfer = 0;
  [[nodiscard]] bool is_receive() const { return stage == receive || stage == receive_on; }
  friend auto operator<=>(const Event&, const Event&) = default;
};

/// Fills a Program with channels and steps.
class Splitter {
 public:
  Splitter(const Graph& graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers, std::size_t ahead,
           Program& program)
      : graph_(graph),
        placement_(placement),
        devices_(placement.devices),
        transfers_(transfers),
        ahead_(ahead),
        uses_(uses),
        program_(program),
        first_of_row_(devices_),
        rows_(devices_),
        walks_region_(devices_, IdVector<RegionId, char>(graph.regions.size())),
        walks_control_(devices_, IdVector<NodeId, char>(graph.nodes.size())) {}

  void run() {
    find_rows();
    if (calls_run_beside(graph_, program_.workers)) find_work_behind_calls();
    make_channels();
    schedule_events();
    find_walked();
    walk();
    coalesce_transfers(program_, [this](ChannelId channel) {
      return received_when_read_[channel] == 0 && !sent_when_read(transfers_.items[channel.index]);
    });
  }

 private:
  struct Frame {
    RegionId region;
    std::vector<BlockIndex> blocks;  ///< by device
    std::size_t next = 0;            ///< position in the region's nodes
    std::size_t event = 0;           ///< the next event of the region
  };

  [[nodiscard]] bool has_copy(NodeId node, std::size_t device) const { return placement_.has_copy(node.index, DeviceId(device)); }
  static bool computes(NodeKind kind) { return !is_control(kind) && kind != NodeKind::carried && kind != NodeKind::merge; }
  /// Whether a node is of the root and its value exists when a run starts.
  [[nodiscard]] bool is_leaf(NodeId id) const {
    const Node& node = graph_.nodes[id];
    return node.region == Graph::kRoot &&
           (node.kind == NodeKind::input || node.kind == NodeKind::parameter || node.kind == NodeKind::constant);
  }

  /// Collects the operations of each fused kernel at the position of its first one. All its operands exist there (kernel_rows.h), except
  /// constants, which therefore come first in their region.
  void find_rows() {
    constants_first_.resize(graph_.regions.size(), 0);
    for (std::size_t d = 0; d < program_.kernels.size(); ++d) {
      first_of_row_[d].resize(program_.kernels[DeviceId(d)].empty() ? 0 : graph_.nodes.size());
      for (const FusibleGroup& kernel : program_.kernels[DeviceId(d)]) {
        const NodeId first = first_of(kernel, uses_);
        std::vector<NodeId>& row = rows_[d][first];
        // An operation that waits and comes before `first` stays there, because its result may be sent.
        for (std::size_t i = kernel.pulled; i < kernel.nodes.size(); ++i) {
          if (!kernel.waits(i) || uses_.position(kernel.nodes[i]) > uses_.position(first)) row.push_back(kernel.nodes[i]);
        }
        for (const NodeId node : row) first_of_row_[d][node] = first;
        constants_first_[graph_.nodes[first].region] = 1;
      }
    }
  }
  /// The node at whose position a device executes `node`.
  [[nodiscard]] NodeId met_at(NodeId node, std::size_t device) const {
    if (!node || first_of_row_[device].empty() || !first_of_row_[device][node]) return node;
    return first_of_row_[device][node];
  }
  /// The use, moved to the position at which the device executes its reader.
  [[nodiscard]] ValueUse met(ValueUse use, std::size_t device) const {
    const NodeId at = met_at(use.node, device);
    if (at != use.node) use.position = uses_.position(at);
    return use;
  }
  [[nodiscard]] bool comes_first(NodeId id) const {
    return graph_.nodes[id].kind == NodeKind::constant && constants_first_[graph_.nodes[id].region] && !is_leaf(id);
  }

  void make_channels() {
    for (std::size_t i = 0; i < transfers_.items.size(); ++i) {
      const Transfer& t = transfers_.items[i];
      program_.channels.push_back({t.value, t.from, t.to, t.region, i});
    }
    received_when_read_.resize(program_.channels.size(), 0);
  }

  /// Whether a transfer is sent only when it is read: the result of a host call that overlaps other steps. Sending it means waiting for
  /// the call, so it must not delay other values or calls. But it is sent before later work of the host, for which the accelerator must not
  /// wait.
  [[nodiscard]] bool sent_when_read(const Transfer& transfer) const {
    const NodeId producer = graph_.values[transfer.value].producer;
    return transfer.from == kHost && graph_.nodes[producer].region == transfer.region && runs_beside(program_, producer);
  }

  /// Finds for each host call that overlaps other steps the position of the host's next other work.
  void find_work_behind_calls() {
    before_work_.resize(graph_.nodes.size(), 0);
    for (const Region& region : graph_.regions) {
      auto next = static_cast<std::int32_t>(region.nodes.size());
      for (std::int32_t i = next; i-- > 0;) {
        const NodeId id = region.nodes[static_cast<std::size_t>(i)];
        const NodeKind kind = graph_.nodes[id].kind;
        if (runs_beside(program_, id)) {
          before_work_[id] = next;
        } else if (is_control(kind) || (kind == NodeKind::operation && has_copy(id, kHost.index))) {
          next = i;
        }
      }
    }
  }

  void schedule_events() {
    const Deliveries deliveries(graph_, uses_, placement_, transfers_.items);
    std::vector<Event> arguments;  // events of their first reads
    std::vector<Event> firsts = first_reads(deliveries);
    const std::vector<char> passed_on = pass_on(firsts);
    for (std::size_t i = 0; i < transfers_.items.size(); ++i) {
      const Transfer& t = transfers_.items[i];
      Event first = firsts[i];
      if (passed_on[i]) {
        first.first_read = 0;
        first.stage = Event::send_on;
        events_.push_back(first);
        first.stage = Event::receive_on;
        events_.push_back(first);
        continue;
      }
      if (t.region == Graph::kRoot && t.to != kHost && is_leaf(graph_.values[t.value].producer)) {
        arguments.push_back(first);
        continue;
      }
      first.first_read = 0;
      const NodeId producer = graph_.values[t.value].producer;
      const bool at_once = constants_first_[graph_.nodes[producer].region] && (is_leaf(producer) || comes_first(producer));
      std::int32_t sent = at_once ? 0 : uses_.exists_from(t.value, t.region);
      if (sent_when_read(t)) sent = std::max(sent, std::min(first.slot, before_work_[producer]));
      events_.push_back({t.region, sent, Event::send, 0, i});
      events_.push_back(first);
    }
    schedule_arguments(std::move(arguments));
    std::sort(events_.begin(), events_.end());
  }
  /// The event of the first read that each transfer serves.
  [[nodiscard]] std::vector<Event> first_reads(const Deliveries& deliveries) const {
    std::vector<Event> firsts;
    firsts.reserve(transfers_.items.size());
    for (std::size_t i = 0; i < transfers_.items.size(); ++i) {
      const Transfer& t = transfers_.items[i];
      Event first{t.region, static_cast<std::int32_t>(graph_.regions[t.region].nodes.size()), Event::receive,
                  std::numeric_limits<std::int64_t>::max(), i};
      for (const ValueUse& reading : deliveries.of(i)) {
        const ValueUse use = met(reading, t.to.index);
        first.slot = std::min(first.slot, uses_.position_within(t.region, use.region, use.position));
        first.first_read = std::min(first.first_read, uses_.reached(use));
      }
      firsts.push_back(first);
    }
    return firsts;
  }
  /// Finds the transfers of values that the host has from an accelerator and passes on to another one: it does so where they are first read
  /// there. The host receives such a value before.
  [[nodiscard]] std::vector<char> pass_on(std::vector<Event>& firsts) const {
    std::vector<char> passed_on(firsts.size(), 0);
    if (devices_ == 2) return passed_on;
    std::map<std::pair<ValueId, RegionId>, std::size_t> to_host;
    for (std::size_t i = 0; i < firsts.size(); ++i)
      if (transfers_.items[i].to == kHost) to_host[{transfers_.items[i].value, transfers_.items[i].region}] = i;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const Transfer& t = transfers_.items[i];
      if (t.from != kHost || has_copy(graph_.values[t.value].producer, kHost.index)) continue;
      passed_on[i] = 1;
      RegionId region = t.region;
      auto arrival = to_host.find({t.value, region});
      while (arrival == to_host.end()) {
        region = graph_.regions[region].parent;
        arrival = to_host.find({t.value, region});
      }
      Event& arrives = firsts[arrival->second];
      arrives.slot = std::min(arrives.slot, uses_.position_within(region, t.region, firsts[i].slot));
    }
    return passed_on;
  }
  void schedule_arguments(std::vector<Event> first_readings) {
    std::sort(first_readings.begin(), first_readings.end(),
              [](const Event& a, const Event& b) { return std::tie(a.first_read, a.transfer) < std::tie(b.first_read, b.transfer); });
    for (std::size_t i = 0; i < first_readings.size(); ++i) {
      Event event = first_readings[i];
      event.slot = i < ahead_ ? 0 : first_readings[i - ahead_].slot;
      received_when_read_[ChannelId(event.transfer)] = ahead_ < kAllAhead;
      events_.push_back(event);
      event.slot = 0;
      event.stage = Event::send;
      events_.push_back(event);
    }
  }

  /// Whether an accelerator decides a loop or branch. The host has no step in it and skips it.
  [[nodiscard]] bool by_itself(NodeId control) const { return !has_copy(control, kHost.index); }
  /// The device that decides a loop or branch: the host, or the accelerator that alone walks it.
  [[nodiscard]] std::size_t decider(NodeId control) const {
    std::size_t device = 0;
    while (!has_copy(control, device)) ++device;
    return device;
  }

  /// Finds the regions and control nodes that each device walks. A device walks a region if it has a step there, and a control node if it
  /// walks one of its regions or keeps one of its values. The host decides every control node that a device walks, unless the accelerator
  /// decides it.
  void find_walked() {
    const auto keep = [&](std::size_t device, NodeId control) {
      for (std::size_t d : {device, decider(control)}) {
        walks_control_[d][control] = 1;
        walks_region_[d][graph_.nodes[control].region] = 1;
      }
    };
    for (std::size_t d = 0; d < devices_; ++d) {
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        const Node& node = graph_.nodes[NodeId(i)];
        if (is_control(node.kind) || !has_copy(NodeId(i), d)) continue;
        if (computes(node.kind)) {
          walks_region_[d][node.region] = 1;
        } else {
          keep(d, node.owner);
        }
      }
    }
    for (const Event& event : events_) {
      walks_region_[transfers_.items[event.transfer].from.index][event.region] = 1;
      walks_region_[transfers_.items[event.transfer].to.index][event.region] = 1;
    }
    for (std::size_t i = graph_.regions.size(); i-- > 1;) {  // parents come first, so children are done before them
      for (std::size_t d = 0; d < devices_; ++d) {
        if (walks_region_[d][RegionId(i)]) keep(d, graph_.regions[RegionId(i)].owner);
      }
    }
  }

  BlockIndex add_block(std::size_t device, RegionId region) {
    auto& blocks = program_.devices[DeviceId(device)].blocks;
    blocks.push_back({region, {}});
    return static_cast<BlockIndex>(blocks.size() - 1);
  }
  void emit(std::size_t device, BlockIndex block, Step step) {
    program_.devices[DeviceId(device)].blocks[static_cast<std::size_t>(block)].steps.push_back(std::move(step));
  }

  void walk() {
    std::vector<BlockIndex> root;
    for (std::size_t d = 0; d < devices_; ++d) root.push_back(add_block(d, Graph::kRoot));
    std::vector<Frame> stack{open(Graph::kRoot, std::move(root))};
    for (NodeId id : uses_.nodes(Graph::kRoot)) {
      if (is_leaf(id)) emit_compute(id, stack.back());
    }
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::vector<NodeId>& nodes = uses_.nodes(frame.region);
      if (frame.next == 0 && constants_first_[frame.region]) {
        for (const NodeId id : nodes)
          if (comes_first(id)) emit_compute(id, frame);
      }
      emit_events(frame);
      if (frame.next == nodes.size()) {
        stack.pop_back();
        continue;
      }
      const NodeId id = nodes[frame.next++];
      const NodeKind kind = graph_.nodes[id].kind;
      if (is_control(kind)) {
        enter(id, stack);
      } else if (computes(kind) && !is_leaf(id) && !comes_first(id)) {
        emit_compute(id, frame);
      }
    }
  }

  void emit_compute(NodeId id, const Frame& frame) {
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!has_copy(id, d)) continue;
      const NodeId first = met_at(id, d);
      if (first != id) continue;  // it is executed at `first`
      const auto row = rows_[d].find(id);
      for (const NodeId node : row == rows_[d].end() ? std::vector{id} : row->second) {
        Step step;
        step.node = node;
        step.order = order_++;
        emit(d, frame.blocks[d], std::move(step));
      }
    }
  }

  Frame open(RegionId region, std::vector<BlockIndex> blocks) const {
    const auto first = std::lower_bound(events_.begin(), events_.end(), region, [](const Event& e, RegionId r) { return e.region < r; });
    return {region, std::move(blocks), 0, static_cast<std::size_t>(first - events_.begin())};
  }

  void emit_events(Frame& frame) {
    for (; frame.event < events_.size(); ++frame.event) {
      const Event& event = events_[frame.event];
      if (event.region != frame.region || event.slot > static_cast<std::int32_t>(frame.next)) break;
      const Transfer& t = transfers_.items[event.transfer];
      Step step;
      step.kind = event.is_receive() ? StepKind::receive : StepKind::send;
      step.node = graph_.values[t.value].producer;
      step.value = t.value;
      step.channel = ChannelId(event.transfer);
      step.order = order_++;
      const std::size_t device = event.is_receive() ? t.to.index : t.from.index;
      emit(device, frame.blocks[device], std::move(step));
    }
  }

  /// Emits the control step of every device that walks it and schedules its regions.
  void enter(NodeId id, std::vector<Frame>& stack) {
    const auto walked = [&](std::size_t device) { return walks_control_[device][id] != 0; };
    bool others = false;
    for (std::size_t d = 1; d < devices_; ++d) others = others || walked(d);
    if (!walked(kHost.index) && !others) return;
    const Node& node = graph_.nodes[id];
    const std::vector<BlockIndex> outer = stack.back().blocks;
    std::vector<std::vector<BlockIndex>> inner(node.regions.size(), std::vector<BlockIndex>(devices_, kNoBlock));
    const std::int64_t order = order_++;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!walked(d)) continue;
      Step step;
      step.kind = node.kind == NodeKind::for_loop     ? StepKind::for_loop
                  : node.kind == NodeKind::while_loop ? StepKind::while_loop
                                                      : StepKind::branch;
      step.node = id;
      step.order = order;
      for (std::size_t k = 0; k < node.regions.size(); ++k) {
        if (walks_region_[d][node.regions[k]]) step.blocks[k] = inner[k][d] = add_block(d, node.regions[k]);
      }
      for (NodeId owned : owned_by(id)) {
        if (has_copy(owned, d)) (node.kind == NodeKind::branch ? step.merges : step.carried).push_back(owned);
      }
      step.drives_others = d == kHost.index && others;
      step.by_itself = d != kHost.index && by_itself(id);
      emit(d, outer[d], std::move(step));
    }
    for (std::size_t k = node.regions.size(); k-- > 0;) stack.push_back(open(node.regions[k], std::move(inner[k])));
  }

  /// The carried nodes of a loop, the merge nodes of a branch.
  [[nodiscard]] std::vector<NodeId> owned_by(NodeId control) const {
    const Node& node = graph_.nodes[control];
    std::vector<NodeId> owned;
    if (node.kind == NodeKind::branch) {
      const std::vector<NodeId>& siblings = uses_.nodes(node.region);
      for (auto k = static_cast<std::size_t>(uses_.position(control)) + 1; k < siblings.size(); ++k) {
        if (graph_.nodes[siblings[k]].owner != control) break;
        owned.push_back(siblings[k]);
      }
      return owned;
    }
    for (NodeId inner : graph_.regions[node.regions[0]].nodes) {
      if (graph_.nodes[inner].kind == NodeKind::carried) owned.push_back(inner);
    }
    return owned;
  }

  const Graph& graph_;
  const Placement& placement_;
  const std::size_t devices_;
  const Transfers& transfers_;
  const std::size_t ahead_;
  const ValueUses& uses_;
  Program& program_;
  std::vector<IdVector<NodeId, NodeId>> first_of_row_;       ///< by operation of a fused kernel: its first one; empty: no kernels
  std::vector<std::map<NodeId, std::vector<NodeId>>> rows_;  ///< by the first operation
  IdVector<RegionId, char> constants_first_;
  IdVector<NodeId, std::int32_t> before_work_;          ///< by host call that overlaps other steps: where the host's next other work is
  IdVector<ChannelId, char> received_when_read_;        ///< received late, for lack of memory, so it cannot join a coalesced transfer
  std::vector<Event> events_;                           ///< sorted by region and slot; sends come first, arguments in order of first read
  std::vector<IdVector<RegionId, char>> walks_region_;  ///< by device
  std::vector<IdVector<NodeId, char>> walks_control_;
  std::int64_t order_ = 0;
};

}  // namespace

Program split(std::shared_ptr<const Graph> graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers,
              std::size_t ahead, const FusibleGroups& fusible, int workers) {
  Program program;
  program.graph = graph;
  program.workers = workers;
  for (std::size_t d = 0; d < placement.devices; ++d) program.devices.push_back({DeviceId(d), {}});
  program.kernels = kernels_of(fusible, placement);
  if (calls_run_beside(*graph, workers)) part_at_calls(*graph, workers, program.kernels);
  const std::optional<ValueUses> ordered = order_for(*graph, uses, program.kernels);
  Splitter(*graph, ordered ? *ordered : uses, placement, transfers, ahead, program).run();
  return program;
}

}  // namespace cleave::planner

// verify(): checks the rules of a Program (program.h). It walks each device separately to check what is read when, then compares the two
// ends of each channel.
#include <algorithm>
#include <span>

#include "graph/states.h"
#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostComplaints = 50;

/// The position of a step on a device.
struct Site {
  const Step* step = nullptr;
  RegionId region;
};

/// Collects the rules that a program breaks.
class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), graph_(*program.graph), sends_(channels()), receives_(channels()) {}

  std::vector<std::string> run() {
    controls_.resize(program_.devices.size());
    for (std::size_t d = 0; d < program_.devices.size(); ++d) {
      controls_[d].resize(graph_.nodes.size());
      walk(DeviceId(d));
    }
    check_channels();
    check_coalesced();
    check_driving();
    return std::move(complaints_);
  }

 private:
  /// The work left on one device; the innermost task is last.
  struct Task {
    enum What : std::uint8_t { steps, after_condition, after_body, after_arm, forget, finish } what = steps;
    const Step* control = nullptr;  ///< the control step, for all but `steps` and `forget`
    std::size_t index = 0;  ///< for `steps`: the next one; for `after_arm`: which arm; for `forget`: the length to which the trail is cut
    const Block* block = nullptr;  ///< for `steps`
  };

  [[nodiscard]] std::size_t channels() const { return program_.channels.size(); }
  void complain(const std::string& text) {
    if (complaints_.size() < kMostComplaints) complaints_.push_back(text);
  }
  [[nodiscard]] std::string at(const Step& step) const {
    return to_string(device_) + ", step " + std::to_string(step.order) + " (" + std::string(to_string(step.kind)) + " of node " +
           std::to_string(step.node.index) + ")";
  }

  void provide(ValueId value) {
    if (available_[value]) return;
    available_[value] = 1;
    trail_.push_back(value);
  }
  void need(ValueId value, const Step& step, std::string_view what) {
    if (!available_[value])
      complain(at(step) + " reads value " + std::to_string(value.index) + " (" + std::string(what) + ") before it is there");
  }
  void forget(std::size_t length) {
    for (; trail_.size() > length; trail_.pop_back()) available_[trail_.back()] = 0;
  }

  void walk(DeviceId device) {
    device_ = device;
    available_ = IdVector<ValueId, char>(graph_.values.size(), 0);
    computed_ = IdVector<NodeId, char>(graph_.nodes.size(), 0);
    trail_.clear();
    last_order_ = -1;
    const auto& blocks = program_.devices[device].blocks;
    entered_.assign(blocks.size(), 0);
    if (blocks.empty() || blocks[0].region != Graph::kRoot) return complain(to_string(device) + " has no root block");
    entered_[0] = 1;
    tasks_.assign(1, {Task::steps, nullptr, 0, &blocks[0]});
    while (!tasks_.empty()) advance();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!entered_[b]) complain(to_string(device) + ", block " + std::to_string(b) + " belongs to no step");
    }
    check_ends(device);
  }

  /// Checks that outputs and states are available at the end of the program.
  void check_ends(DeviceId device) {
    std::vector<bool> elsewhere(graph_.outputs.size(), device != kHost);
    for (const GraphState& state : states_of(graph_)) {
      if (!state.follows) continue;
      elsewhere[state.output] = true;
      if (!available_[state.value] || available_[state.next]) continue;
      const Output& output = graph_.outputs[state.output];
      if (computed_[state.leaf]) complain("state " + output.name + " is on " + to_string(device) + ", and its next value is not");
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (!elsewhere[i] && !available_[graph_.outputs[i].value])
        complain("output " + graph_.outputs[i].name + " is not on the host at the end");
    }
  }

  void advance() {
    Task& task = tasks_.back();
    if (task.what == Task::steps) {
      if (task.index == task.block->steps.size()) {
        tasks_.pop_back();
      } else {
        const Block& block = *task.block;
        visit(block.steps[task.index++], block.region);  // may push a task, which invalidates `task`
      }
      return;
    }
    const Task done = task;
    tasks_.pop_back();
    if (done.what == Task::forget) {
      forget(done.index);
    } else {
      leave(done);
    }
  }

  void leave(const Task& task) {
    const Step& step = *task.control;
    const Node& node = graph_.nodes[step.node];
    switch (task.what) {
      case Task::after_condition: need_predicate(node.regions[0], step); break;
      case Task::after_body:
        for (NodeId id : step.carried) need(graph_.nodes[id].inputs[1], step, "yielded");
        if (node.kind == NodeKind::for_loop) need_predicate(node.regions[0], step);
        break;
      case Task::after_arm:
        for (NodeId id : step.merges) need(graph_.nodes[id].inputs[task.index], step, "result of an arm");
        break;
      default:
        for (NodeId id : step.carried) provide(graph_.nodes[id].results[1]);
        for (NodeId id : step.merges) provide(graph_.nodes[id].results[0]);
    }
  }

  [[nodiscard]] bool decides(const Step& step) const { return device_ == kHost || step.by_itself; }
  void need_predicate(RegionId region, const Step& step) {
    const ValueId predicate = graph_.regions[region].predicate;
    if (decides(step) && predicate) need(predicate, step, "predicate");
  }

  void visit(const Step& step, RegionId region) {
    if (step.order <= last_order_) complain(at(step) + " does not follow the step before it in the global order");
    last_order_ = step.order;
    switch (step.kind) {
      case StepKind::compute: compute(step, region); break;
      case StepKind::send:
        need(step.value, step, "to send");
        record(sends_, step, region, "sent");
        break;
      case StepKind::receive:
        provide(step.value);
        record(receives_, step, region, "received");
        break;
      default: control(step, region);
    }
  }

  void compute(const Step& step, RegionId region) {
    const Node& node = graph_.nodes[step.node];
    if (is_control(node.kind) || node.kind == NodeKind::carried || node.kind == NodeKind::merge) complain(at(step) + " cannot be computed");
    if (node.region != region) complain(at(step) + " stands in another region than its node");
    if (device_ != kHost && graph_.purity(step.node) == Purity::effect) complain(at(step) + " has an effect and is not on the host");
    computed_[step.node] = 1;
    for (ValueId value : node.inputs) need(value, step, "operand");
    for (ValueId value : node.results) {
      if (available_[value]) complain(at(step) + " computes a value that is already there");
      provide(value);
    }
  }

  /// Whether `region` is inside a loop or branch that this device decides by itself.
  [[nodiscard]] bool alone(RegionId region) const {
    for (; region != Graph::kRoot; region = graph_.regions[region].parent) {
      const Step* step = controls_[device_.index][graph_.regions[region].owner].step;
      if (step && step->by_itself) return true;
    }
    return false;
  }

  void record(std::vector<Site>& sites, const Step& step, RegionId region, std::string_view verb) {
    if (step.channel.index >= channels()) return complain(at(step) + " names no channel");
    const Channel& channel = program_.channels[step.channel];
    if (channel.value != step.value) complain(at(step) + " moves another value than its channel");
    if (channel.region != region) complain(at(step) + " stands in another region than its channel");
    if (alone(region)) complain(at(step) + " stands where no other device comes by");
    if ((step.kind == StepKind::send ? channel.from : channel.to) != device_) complain(at(step) + " is on the wrong device");
    Site& site = sites[step.channel.index];
    if (site.step) complain("channel " + std::to_string(step.channel.index) + " is " + std::string(verb) + " twice");
    site = {&step, region};
  }

  void control(const Step& step, RegionId region) {
    const Node& node = graph_.nodes[step.node];
    const StepKind kind = node.kind == NodeKind::for_loop     ? StepKind::for_loop
                          : node.kind == NodeKind::while_loop ? StepKind::while_loop
                                                              : StepKind::branch;
    if (!is_control(node.kind) || kind != step.kind) return complain(at(step) + " is of another kind than its node");
    if (node.region != region) complain(at(step) + " stands in another region than its node");
    if (decides(step)) {
      for (ValueId value : node.inputs) need(value, step, "predicate or count");
    }
    if (device_ == kHost && step.by_itself) complain(at(step) + " is the host's, and said to be decided without it");
    check_owned(step);
    controls_[device_.index][step.node] = {&step, region};
    if (!step.by_itself && alone(region)) complain(at(step) + " waits for decisions where no other device comes by");
    for (NodeId id : step.carried) need(graph_.nodes[id].inputs[0], step, "initial");

    const std::size_t length = trail_.size();
    tasks_.push_back({Task::finish, &step});
    if (step.kind == StepKind::branch) {
      for (std::size_t arm = 2; arm-- > 0;) {
        tasks_.push_back({Task::forget, nullptr, length});
        tasks_.push_back({Task::after_arm, &step, arm});
        push_block(step, arm, node);
      }
      return;
    }
    for (NodeId id : step.carried) provide(graph_.nodes[id].results[0]);
    tasks_.push_back({Task::forget, nullptr, length});
    tasks_.push_back({Task::after_body, &step});
    if (step.kind == StepKind::while_loop) {
      push_block(step, 1, node);
      tasks_.push_back({Task::after_condition, &step});
    }
    push_block(step, 0, node);
  }

  void push_block(const Step& step, std::size_t k, const Node& node) {
    const BlockIndex index = step.blocks[k];
    if (index == kNoBlock) return;
    const auto& blocks = program_.devices[device_].blocks;
    if (index < 0 || static_cast<std::size_t>(index) >= blocks.size()) return complain(at(step) + " names no block");
    const Block& block = blocks[static_cast<std::size_t>(index)];
    if (entered_[static_cast<std::size_t>(index)]) return complain(at(step) + " enters a block of another step");
    entered_[static_cast<std::size_t>(index)] = 1;
    if (k >= node.regions.size() || block.region != node.regions[k]) complain(at(step) + " enters a block of another region");
    tasks_.push_back({Task::steps, nullptr, 0, &block});
  }

  void check_owned(const Step& step) {
    for (const std::vector<NodeId>& list : {std::cref(step.carried), std::cref(step.merges)}) {
      for (NodeId id : list) {
        if (graph_.nodes[id].owner != step.node) complain(at(step) + " lists node " + std::to_string(id.index) + ", which is not its own");
      }
    }
  }

  void check_channels() {
    for (std::size_t i = 0; i < channels(); ++i) {
      const Step* send = sends_[i].step;
      const Step* receive = receives_[i].step;
      const std::string name = "channel " + std::to_string(i);
      if (!send || !receive) {
        complain(name + (send ? " is never received" : " is never sent"));
      } else if (send->order >= receive->order) {
        complain(name + " is received before it is sent");
      }
      if (program_.channels[ChannelId(i)].depth < 1) complain(name + " has no room for a value");
    }
  }

  /// Checks coalesced transfers. Between adjacent sends the sender cannot have to wait, and adjacent receives wait for nothing else.
  void check_coalesced() {
    std::vector<std::size_t> members(program_.coalesced_transfers.size(), 0);
    for (const Channel& channel : program_.channels) {
      if (!channel.coalesced) continue;
      if (program_.coalesced_transfers.contains(channel.coalesced))
        ++members[channel.coalesced.index];
      else
        complain("value " + std::to_string(channel.value.index) + " travels in a coalesced transfer that is not there");
    }
    for (std::size_t p = 0; p < program_.coalesced_transfers.size(); ++p) {
      const CoalescedTransfer& coalesced = program_.coalesced_transfers[CoalescedId(p)];
      const std::string broken = find_broken(coalesced, CoalescedId(p));
      if (!broken.empty()) complain("coalesced transfer " + std::to_string(p) + broken);
      if (members[p] != coalesced.channels.size())
        complain("coalesced transfer " + std::to_string(p) + " does not know all its values, or others");
    }
  }

  /// The first rule that a coalesced transfer breaks, or an empty string.
  [[nodiscard]] std::string find_broken(const CoalescedTransfer& coalesced, CoalescedId id) const {
    if (coalesced.channels.size() < 2 || coalesced.channels.size() > kMostCoalescedValues) return " has too few values, or too many";
    if (coalesced.bytes > kMostCoalescedBytes) return " is too large";
    std::int64_t end = 0;
    for (std::size_t i = 0; i < coalesced.channels.size(); ++i) {
      const ChannelId at = coalesced.channels[i];
      if (at.index >= channels() || program_.channels[at].coalesced != id) return " has the value of a channel that does not say so";
      const Channel& channel = program_.channels[at];
      if (channel.offset < end || channel.offset % kCoalescedAlignment != 0) return " has values on top of each other, or unaligned";
      end = channel.offset + graph_.values[channel.value].type.bytes();
      if (i == 0) continue;
      const Channel& before = program_.channels[coalesced.channels[i - 1]];
      if (channel.depth != before.depth) return " has channels of several depths";
      if (channel.from != before.from || channel.to != before.to || channel.region != before.region) return " goes several ways";
      const std::size_t last = coalesced.channels[i - 1].index;
      for (const std::vector<Site>* sites : {&sends_, &receives_})
        if (!(*sites)[last].step || (*sites)[last].step + 1 != (*sites)[at.index].step) return " is torn: something stands between";
    }
    return end > coalesced.bytes ? " ends before its last value does" : "";
  }

  /// Checks that a loop or branch which a device walks without deciding it has a host step that knows of the device.
  void check_driving() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Step* host = controls_[0][NodeId(i)].step;
      bool driven = false;
      for (std::size_t d = 1; d < controls_.size(); ++d) {
        const Step* step = controls_[d][NodeId(i)].step;
        driven = driven || (step && !step->by_itself);
        if (step && step->by_itself && host) complain("node " + std::to_string(i) + " is decided by a device, but walked by the host");
      }
      if (driven && !host) complain("node " + std::to_string(i) + " is walked by a device but not decided on the host");
      if (host && host->drives_others != driven) complain("node " + std::to_string(i) + " drives others, or says so, wrongly");
    }
  }

  const Program& program_;
  const Graph& graph_;
  DeviceId device_;
  IdVector<ValueId, char> available_;
  IdVector<NodeId, char> computed_;
  std::vector<ValueId> trail_;  ///< the values that became available, in order
  std::vector<Task> tasks_;
  std::vector<char> entered_;  ///< by block
  std::int64_t last_order_ = -1;
  std::vector<Site> sends_, receives_;
  std::vector<IdVector<NodeId, Site>> controls_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> verify(const Program& program) {
  return Verifier(program).run();
}

}  // namespace cleave::planner

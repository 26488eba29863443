#include "executor/memory/liveness.h"

#include <algorithm>
#include <functional>

#include "graph/ops/in_place.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class LivenessAnalysis {
 public:
  LivenessAnalysis(const Program& program, DeviceId device, const Fusion& fusion, std::int64_t slack)
      : slack_(device == kHost ? 0 : slack),
        all_(program),
        graph_(*program.graph),
        program_(program.devices[device]),
        fusion_(fusion),
        host_(device == kHost),
        blocks_(program_.blocks.size()),
        beside_(graph_.values.size()) {
    result_.lives.resize(graph_.values.size());
    defined_in_.resize(graph_.values.size());
    result_.times.resize(program_.blocks.size());
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) result_.times[b].resize(program_.blocks[b].steps.size());
    find_sends(program);
  }

  Liveness run() {
    if (!program_.blocks.empty()) walk();
    result_.end = 2 * now_ + 2;
    if (host_) {
      for (const Output& output : graph_.outputs) use(output.value, result_.end, 0);
    } else {
      for (const GraphState& state : states_of(graph_)) use(state.next, result_.end, 0);
    }
    // Uses in loops last until the loop's end, which is known only now.
    for (const FetchedValue& fetched : fetched_) use(fetched.value, fetched_until(fetched), fetched.block);
    for (const PendingUse& pending : uses_) finish(pending);
    for (const PendingUse& copied : copied_) hold_longer(copied);
    order_sharings();
    return std::move(result_);
  }

 private:
  struct Scope {
    std::size_t parent = kNone;
    bool loop = false;
    Time end = 0;  ///< the end of the loop or arm
  };
  struct PendingUse {
    ValueId value;
    Time time;
    std::size_t block;
  };
  /// A value that another accelerator fetches from this one's memory, by its send.
  struct FetchedValue {
    ValueId value;
    ChannelId channel;
    std::size_t block;
  };
  /// The rest of a control step's work after a part of it is walked.
  struct Task {
    enum What : std::uint8_t { block, condition_end, loop_end, arm_end, branch_end } what = block;
    std::size_t target = 0;           ///< block: its index
    std::size_t next = 0;             ///< block: the next step
    std::size_t outer = 0, step = 0;  ///< the control step
    std::size_t arm = 0;
  };

  void find_sends(const Program& program) {
    sent_.resize(program.channels.size(), 0);
    received_.resize(program.channels.size(), 0);
    leaves_.resize(graph_.values.size(), 0);
    for (const DeviceProgram& other : program.devices) {
      for (const Block& block : other.blocks) {
        for (const Step& step : block.steps) {
          if (step.kind == StepKind::send) sent_[step.channel] = step.order;
          if (step.kind == StepKind::receive) received_[step.channel] = step.order;
        }
      }
    }
    if (slack_ == 0) return;
    // A value that an operation computes here and that a copy then sends is not overwritten in place, because that would wait for the copy,
    // and other memory is cheap. Carried values are exempt: they have one storage in any case, or else a copy in each iteration.
    for (const Block& block : program_.blocks) {
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send) leaves_[step.value] = graph_.producer(step.value).kind == NodeKind::operation;
      }
    }
    spread_leaving();
  }

  /// Propagates `leaves_` between aliases, in both directions.
  void spread_leaving() {
    std::vector<Sharing> pairs;
    for (const Node& node : graph_.nodes)
      if (renames(node)) pairs.push_back({node.inputs[0], node.results[0]});
    for (const Sharing& pair : pairs) leaves_[pair.b] |= leaves_[pair.a];
    std::reverse(pairs.begin(), pairs.end());
    for (const Sharing& pair : pairs) leaves_[pair.a] |= leaves_[pair.b];
  }

  Time tick() { return 2 * ++now_; }

  void use(ValueId value, Time time, std::size_t block) {
    uses_.push_back({value, time, block});
    if (beside_[value].valid()) end_call(beside_[value], time, defined_in_[value].back());
  }

  /// Ends a call that runs concurrently: the reader of a result waits for it.
  void end_call(NodeId call, Time time, std::size_t block) {
    const Node& node = graph_.nodes[call];
    for (const ValueId result : node.results) beside_[result] = {};
    for (const std::vector<ValueId>* values : {&node.inputs, &node.results})
      for (const ValueId value : *values) uses_.push_back({value, time, block});
  }
  /// Calls that still run at the end of a block end there, after its steps.
  void end_calls_of(std::size_t block) {
    for (const Step& step : program_.blocks[block].steps) {
      if (step.kind != StepKind::compute || !runs_beside_here(step.node)) continue;
      const std::vector<ValueId>& results = graph_.nodes[step.node].results;
      if (!results.empty() && beside_[results[0]].valid()) end_call(step.node, 2 * now_ + 1, block);
    }
  }
  [[nodiscard]] bool runs_beside_here(NodeId node) const { return host_ && runs_beside(all_, node); }
  void define(ValueId value, Time time, std::size_t block) {
    Liveness::Life& life = result_.lives[value];
    life.present = true;
    if (life.live.empty()) life.live.emplace_back();
    life.live.back().include(time, time);
    life.held.include(time, time);
    defined_in_[value].push_back(static_cast<std::uint32_t>(block));
  }

  void finish(const PendingUse& pending) {
    Liveness::Life& life = result_.lives[pending.value];
    if (!life.present) return;  // read through an owner on another device; the Program's verifier would have complained
    Time time = pending.time;
    const std::vector<std::uint32_t>& defined = defined_in_[pending.value];
    for (std::size_t b = pending.block; b != kNone && std::find(defined.begin(), defined.end(), b) == defined.end();
         b = blocks_[b].parent) {
      if (blocks_[b].loop) time = std::max(time, blocks_[b].end);
    }
    life.live.back().include(time, time);
    life.held.include(time, time);
  }

  /// A value stays until the other accelerator's receive: until all steps here that stand before it in the global order are done.
  [[nodiscard]] Time fetched_until(const FetchedValue& fetched) const {
    const std::vector<Step>& steps = program_.blocks[fetched.block].steps;
    const auto after =
        std::partition_point(steps.begin(), steps.end(), [&](const Step& step) { return step.order < received_[fetched.channel]; });
    return result_.times[fetched.block][static_cast<std::size_t>(after - steps.begin()) - 1].end + 1;
  }

  /// Applies `slack` within the block.
  void hold_longer(const PendingUse& copied) {
    if (slack_ == 0) return;
    const std::vector<Liveness::Times>& steps = result_.times[copied.block];
    Liveness::Life& life = result_.lives[copied.value];
    if (graph_.producer(copied.value).kind == NodeKind::operation)
      life.held.include(std::max(steps.front().begin, copied.time - 2 * slack_), std::min(steps.back().end, copied.time + 2 * slack_));
  }

  void walk() {
    tasks_.push_back({Task::block, 0, 0, 0, 0, 0});
    while (!tasks_.empty()) {
      Task& task = tasks_.back();
      if (task.what == Task::block && task.next < program_.blocks[task.target].steps.size()) {
        std::size_t block = task.target, index = task.next++;
        visit(block, index);  // may push: `task` is dead from here
        continue;
      }
      if (task.what == Task::block && host_) end_calls_of(task.target);
      Task done = task;
      tasks_.pop_back();
      if (done.what != Task::block) leave(done);
    }
  }

  void visit(std::size_t block, std::size_t index) {
    const Step& step = program_.blocks[block].steps[index];
    Time now = tick();
    Liveness::Times& times = result_.times[block][index];
    times.begin = times.end = now;
    switch (step.kind) {
      case StepKind::compute: compute(step, now, block); break;
      case StepKind::send:
        use(step.value, now + 1, block);
        copied_.push_back({step.value, now, block});
        if (between_accelerators(all_.channels[step.channel])) fetched_.push_back({step.value, step.channel, block});
        break;
      case StepKind::receive:
        define(step.value, arrives(step, block, first_received(step.channel, index)), block);
        use(step.value, now, block);
        copied_.push_back({step.value, now, block});
        break;
      case StepKind::branch: begin_branch(step, now, block, index); break;
      case StepKind::for_loop:
      case StepKind::while_loop: begin_loop(step, now, block, index); break;
    }
  }

  /// The index of the step that receives the coalesced transfer of the value received at `index`: its receives are adjacent, and the first
  /// receives all.
  [[nodiscard]] std::size_t first_received(ChannelId channel, std::size_t index) const {
    const std::span<const ChannelId> all = travelling_with(all_, channel);
    return index - static_cast<std::size_t>(std::find(all.begin(), all.end(), channel) - all.begin());
  }

  /// The time from which a copy may write the value received here. An accelerator's receive only waits, so the copy may write as soon as
  /// the value is sent; but arguments are received at the step itself, to save memory until then, and the host copies itself.
  [[nodiscard]] Time arrives(const Step& step, std::size_t block, std::size_t index) const {
    const std::vector<Step>& steps = program_.blocks[block].steps;
    if (!host_ && graph_.nodes[step.node].kind != NodeKind::input && graph_.nodes[step.node].kind != NodeKind::parameter &&
        graph_.nodes[step.node].kind != NodeKind::constant) {
      const auto after = std::partition_point(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(index),
                                              [&](const Step& other) { return other.order < sent_[step.channel]; });
      index = static_cast<std::size_t>(after - steps.begin());
    }
    return result_.times[block][index].begin;
  }

  /// Returns a predicate on results: whether a result may overwrite an operand of its type in place. The result of a single element-wise
  /// operation may, and that of one that updates a part of an operand. An accelerator's group must be element-wise with one shape. The
  /// host's groups may also have row reductions, movement and smaller shapes, but then only results over the whole shape may, because a
  /// smaller operand may be read repeatedly.
  [[nodiscard]] std::function<bool(ValueId)> overwritten(const Node& node, const FusionGroup* group) const {
    const auto elementwise = [](const Node& each) { return each.kind == NodeKind::operation && each.op->elementwise(); };
    if (!group) return [alone = (elementwise(node) || updates(node)) && node.results.size() == 1](ValueId) { return alone; };
    const auto in_rows = [](const Node& each) {
      return each.kind == NodeKind::operation &&
             (each.op->cost_class == CostClass::reduction || each.op->cost_class == CostClass::movement);
    };
    std::int64_t most = 0;
    bool fits = true;
    for (const NodeId id : group->nodes) {
      const Node& each = graph_.nodes[id];
      const TensorType& made = graph_.values[each.results[0]].type;
      const bool of_one_shape = made.shape == graph_.values[node.results[0]].type.shape;
      fits = fits && (host_ ? elementwise(each) || in_rows(each) : elementwise(each) && of_one_shape);
      most = std::max(most, made.elements());
    }
    for (const ValueId input : group->inputs)
      if (!moved(group, input)) most = std::max(most, graph_.values[input].type.elements());
    return [this, fits, most](ValueId result) { return fits && graph_.values[result].type.elements() == most; };
  }

  /// Whether an operation of the group moves the value's elements, so that they are read in another order than results are written.
  [[nodiscard]] bool moved(const FusionGroup* group, ValueId value) const {
    return group && std::any_of(group->nodes.begin(), group->nodes.end(), [&](NodeId id) {
             const Node& node = graph_.nodes[id];
             return node.op->cost_class == CostClass::movement &&
                    std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
           });
  }

  /// Whether the result is an alias of the operand. Only on an accelerator: on the host, each array has one owner.
  [[nodiscard]] bool renames(const Node& node) const { return !host_ && node.kind == NodeKind::operation && node.op->keeps_bytes; }
  static bool updates(const Node& node) { return node.kind == NodeKind::operation && ops::updated_operand(*node.op); }
  /// Whether the operation updates `input`, and does not also read it as another operand.
  static bool updated(const Node& node, ValueId input) {
    return node.inputs[*ops::updated_operand(*node.op)] == input && std::count(node.inputs.begin(), node.inputs.end(), input) == 1;
  }

  void compute(const Step& step, Time now, std::size_t block) {
    const Node& node = graph_.nodes[step.node];
    const FusionGroup* group = fusion_.group(step.node);
    if (group && step.node != group->nodes.back()) return;
    const std::vector<ValueId>& results = group ? group->results : node.results;
    const auto overwrites = overwritten(node, group);
    const std::vector<ValueId>& inputs = group ? group->inputs : node.inputs;
    if (!group && renames(node)) same_.push_back({inputs[0], results[0], Sharing::Why::same});
    for (const ValueId input : inputs) {
      bool in_place = false;
      const bool in_order = !moved(group, input) && (group || !updates(node) || updated(node, input));
      for (ValueId result : results) {
        if (!in_order || !overwrites(result) || graph_.values[input].type != graph_.values[result].type || leaves_[input]) continue;
        in_place = true;
        in_place_.push_back({input, result, Sharing::Why::in_place});
      }
      use(input, in_place ? now : now + 1, block);
    }
    for (ValueId result : results) {
      define(result, now, block);
      if (node.kind == NodeKind::input || node.kind == NodeKind::parameter || node.kind == NodeKind::constant) {
        result_.lives[result].whole_run = true;
      }
      if (runs_beside_here(step.node)) beside_[result] = step.node;
    }
  }

  /// Enters a block inside `outer`; does nothing if the device has no such block.
  void push_block(BlockIndex inner, std::size_t outer, bool loop) {
    if (inner == kNoBlock) return;
    auto target = static_cast<std::size_t>(inner);
    blocks_[target].parent = outer;
    blocks_[target].loop = loop;
    tasks_.push_back({Task::block, target, 0, 0, 0, 0});
  }

  [[nodiscard]] bool decides(const Step& step) const { return host_ || step.by_itself; }

  void begin_branch(const Step& step, Time now, std::size_t block, std::size_t index) {
    if (decides(step)) use(graph_.nodes[step.node].inputs[0], now + 1, block);
    tasks_.push_back({Task::branch_end, 0, 0, block, index, 0});
    for (std::size_t arm = 2; arm-- > 0;) {
      tasks_.push_back({Task::arm_end, 0, 0, block, index, arm});
      push_block(step.blocks[arm], block, false);
    }
  }

  void begin_loop(const Step& step, Time now, std::size_t block, std::size_t index) {
    const Node& node = graph_.nodes[step.node];
    if (decides(step)) {
      for (ValueId count : node.inputs) use(count, now + 1, block);
    }
    for (NodeId carried : step.carried) {
      const Node& c = graph_.nodes[carried];
      use(c.inputs[0], now, block);
      define(c.results[0], now, static_cast<std::size_t>(inner_block(step, block)));
      initials_.push_back({c.inputs[0], c.results[0], Sharing::Why::starts});
    }
    tasks_.push_back({Task::loop_end, 0, 0, block, index, 0});
    if (step.kind == StepKind::while_loop) {
      // The body's scope is inside the condition's: values computed by the condition are not needed in the next iteration.
      bool inside = step.blocks[0] != kNoBlock;
      push_block(step.blocks[1], inside ? static_cast<std::size_t>(step.blocks[0]) : block, !inside);
      tasks_.push_back({Task::condition_end, 0, 0, block, index, 0});
    }
    push_block(step.blocks[0], block, true);
  }

  /// The block in which a loop's carried values are defined.
  static std::size_t inner_block(const Step& step, std::size_t outer) {
    if (step.blocks[0] != kNoBlock) return static_cast<std::size_t>(step.blocks[0]);
    return step.blocks[1] != kNoBlock ? static_cast<std::size_t>(step.blocks[1]) : outer;
  }
  /// The block at whose end a loop's values are yielded.
  static std::size_t yielding_block(const Step& step, std::size_t outer) {
    if (step.kind == StepKind::while_loop && step.blocks[1] != kNoBlock) return static_cast<std::size_t>(step.blocks[1]);
    return inner_block(step, outer);
  }

  void leave(const Task& task) {
    const Step& step = program_.blocks[task.outer].steps[task.step];
    const Node& node = graph_.nodes[step.node];
    Liveness::Times& times = result_.times[task.outer][task.step];
    Time now = tick();
    switch (task.what) {
      case Task::condition_end:
        if (decides(step)) use(graph_.regions[node.regions[0]].predicate, now, inner_block(step, task.outer));
        // If the loop ends here, its results are the carried values, which must not have been overwritten yet.
        for (NodeId carried : step.carried) use(graph_.nodes[carried].results[0], now, inner_block(step, task.outer));
        break;
      case Task::loop_end: end_loop(step, now, task.outer, times); break;
      case Task::arm_end:
        times.arm_end[task.arm] = now;
        for (NodeId merge : step.merges) use(graph_.nodes[merge].inputs[task.arm], now, arm_block(step, task));
        break;
      case Task::branch_end: end_branch(step, now, task.outer, times); break;
      case Task::block: break;
    }
  }

  static std::size_t arm_block(const Step& step, const Task& task) {
    return step.blocks[task.arm] == kNoBlock ? task.outer : static_cast<std::size_t>(step.blocks[task.arm]);
  }

  void end_loop(const Step& step, Time now, std::size_t outer, Liveness::Times& times) {
    times.end = now;
    for (BlockIndex inner : step.blocks) {
      if (inner != kNoBlock) blocks_[static_cast<std::size_t>(inner)].end = now;
    }
    const Node& node = graph_.nodes[step.node];
    std::size_t yielding = yielding_block(step, outer);
    ValueId until = node.kind == NodeKind::for_loop ? graph_.regions[node.regions[0]].predicate : ValueId();
    if (decides(step) && until.valid()) use(until, now, yielding);
    for (NodeId carried : step.carried) {
      const Node& c = graph_.nodes[carried];
      use(c.inputs[1], now, yielding);
      define(c.results[1], now, outer);
      result_.lives[c.results[0]].held.include(times.begin, now);
      result_.lives[c.results[1]].held.include(times.begin, now);
      yields_.push_back({c.results[0], c.inputs[1], Sharing::Why::yields});
      leaving_.push_back({c.results[0], c.results[1], Sharing::Why::leaves});
    }
  }

  void end_branch(const Step& step, Time now, std::size_t outer, Liveness::Times& times) {
    times.end = now;
    for (NodeId merge : step.merges) {
      const Node& m = graph_.nodes[merge];
      Liveness::Life& life = result_.lives[m.results[0]];
      life.live.push_back({times.arm_end[0], times.arm_end[0]});
      life.held.include(times.arm_end[0], times.arm_end[0]);
      life.live.emplace_back();
      define(m.results[0], times.arm_end[1], outer);
      for (ValueId input : m.inputs) merges_.push_back({input, m.results[0], Sharing::Why::merges});
    }
  }

  /// Aliases come first, while their operands' storage has no other members; they last no longer than the loop in which they are made. Then
  /// loop results, which always share; then sharings that save a copy in every iteration; then those that save one copy; then those that
  /// save only memory.
  void order_sharings() {
    for (std::vector<Sharing>* list : {&same_, &leaving_, &yields_, &initials_, &merges_, &in_place_}) {
      result_.sharings.insert(result_.sharings.end(), list->begin(), list->end());
    }
  }

  const std::int64_t slack_;
  const Program& all_;
  const Graph& graph_;
  const DeviceProgram& program_;
  const Fusion& fusion_;
  bool host_;
  std::vector<Scope> blocks_;
  IdVector<ValueId, NodeId> beside_;  ///< by result of a concurrent call that still runs: the call
  std::vector<Task> tasks_;
  std::vector<PendingUse> uses_;
  IdVector<ValueId, std::vector<std::uint32_t>> defined_in_;
  IdVector<ChannelId, std::int64_t> sent_, received_;  ///< by channel: when its value is sent and received, in the program's order
  IdVector<ValueId, std::uint8_t> leaves_;             ///< on an accelerator: values that no operation may overwrite in place
  std::vector<PendingUse> copied_;                     ///< values of sends and receives
  std::vector<FetchedValue> fetched_;
  std::vector<Sharing> same_, leaving_, yields_, initials_, merges_, in_place_;
  Time now_ = 0;
  Liveness result_;
};

}  // namespace

Liveness find_liveness(const Program& program, DeviceId device, const Fusion& fusion, std::int64_t slack) {
  return LivenessAnalysis(program, device, fusion, slack).run();
}

}  // namespace cleave::runtime

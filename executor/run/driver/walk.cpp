#include "executor/run/driver/walk.h"

#include <limits>

#include "executor/arguments/bindings.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {
namespace {

constexpr std::int64_t kEndOfBlock = std::numeric_limits<std::int64_t>::max();

/// A block that is being walked for a control step; the root block has no control step.
struct Frame {
  BlockIndex block = 0;
  std::size_t next = 0;
  const Step* control = nullptr;
  const StepPlan* plan = nullptr;
  int part = 0;            ///< index into the control step's blocks
  std::int64_t trip = 0;   ///< loops
  std::int64_t count = 0;  ///< for: maximum trip count
};

class Walker {
 public:
  Walker(const Program& program, DeviceId device, const MemoryPlan& plan, RunState& run, Worker& worker, RunProgress* progress)
      : graph_(*program.graph),
        device_(device),
        program_(program.devices[device]),
        plan_(plan),
        run_(run),
        worker_(worker),
        progress_(progress) {}

  /// False: an error ended the walk. Running out of memory is an error of the step at which it happens.
  bool walk() {
    bool done = false;
    const Status walked = detail::guard_memory([&] {
      done = take_steps();
      return Status();
    });
    if (!walked) run_.fail(here_, walked.error());
    return done;
  }

 private:
  bool take_steps() {
    if (program_.blocks.empty()) return true;
    frames_.push_back({});
    here_.position = {0};
    for (std::uint32_t turn = 0; !frames_.empty(); ++turn) {
      if (turn % 256 == 255) run_.progress();  // a loop that only counts also makes progress
      Frame& frame = frames_.back();
      std::size_t size = frame.block == kNoBlock ? 0 : program_.blocks[static_cast<std::size_t>(frame.block)].steps.size();
      if (frame.next < size ? !advance(frame) : !leave()) return false;
    }
    return true;
  }

  bool advance(Frame& frame) {
    auto block = static_cast<std::size_t>(frame.block);
    const Step& step = program_.blocks[block].steps[frame.next];
    const StepPlan& plan = plan_.blocks[block][frame.next];
    ++frame.next;
    here_.node = step.node;
    here_.position.back() = step.order;
    if (run_.stops(here_.position)) return false;
    if (step.by_itself && worker_.runs_whole(step))
      return worker_.move(plan.entry, here_) && worker_.run_whole(step, here_) && worker_.discard(plan.dies, here_);
    bool done = true;
    switch (step.kind) {
      case StepKind::compute: done = worker_.compute(step, here_, frame.trip); break;
      case StepKind::send:
      case StepKind::receive: done = worker_.transfer(step, here_); break;
      case StepKind::for_loop: return begin_for(step, plan);
      case StepKind::while_loop:
        if (!worker_.move(plan.entry, here_)) return false;
        enter({step.blocks[0], 0, &step, &plan, 0, 0, 0});
        return true;
      case StepKind::branch: return begin_branch(step, plan);
    }
    return done && worker_.discard(plan.dies, here_);
  }

  void enter(const Frame& frame) {
    frames_.push_back(frame);
    if (frame.control->kind != StepKind::while_loop || frame.part == 1) worker_.enter(frame.control->node);
    here_.position.push_back(frame.control->kind == StepKind::branch ? frame.part : frame.trip);
    here_.position.push_back(0);
  }
  /// Ends the top frame.
  void pop() {
    frames_.pop_back();
    if (frames_.empty()) return;
    here_.position.pop_back();
    here_.position.pop_back();
  }
  void again(Frame& frame) {
    frame.next = 0;
    ++frame.trip;
    here_.position[here_.position.size() - 2] = frame.trip;
  }

  bool begin_for(const Step& step, const StepPlan& plan) {
    const Node& node = graph_.nodes[step.node];
    std::int64_t count = 0;
    if (node.inputs.empty()) {
      count = node.attributes.get<std::int64_t>("count");
    } else {
      std::optional<std::int64_t> decided = worker_.decide(step, node.inputs[0], here_);
      if (!decided) return false;
      count = *decided;
    }
    if (!worker_.move(plan.entry, here_)) return false;
    if (count <= 0) return finish(step, plan, 0);
    if (!worker_.begin_loop(step, here_, count)) return false;
    enter({step.blocks[0], 0, &step, &plan, 0, 0, count});
    if (loops_++ == 0 && progress_) progress_->enter(device_, step.node, count);
    return true;
  }

  bool begin_branch(const Step& step, const StepPlan& plan) {
    std::optional<std::int64_t> taken = worker_.decide(step, graph_.nodes[step.node].inputs[0], here_);
    if (!taken) return false;
    worker_.outcome(step.node, *taken);
    int arm = *taken != 0 ? 0 : 1;
    enter({step.blocks[arm], 0, &step, &plan, arm, 0, 0});
    return true;
  }

  [[nodiscard]] const DoubleBuffers& double_buffers(const StepPlan& plan) const {
    return plan_.double_buffered_loops[static_cast<std::size_t>(plan.double_buffers)];
  }

  /// Moves each yielded value into its loop-carried variable.
  bool end_trip(const Frame& frame) {
    if (!worker_.move(frame.plan->trip, here_)) return false;
    if (frame.plan->double_buffers >= 0) worker_.rotate(double_buffers(*frame.plan), frame.trip + 1);
    return true;
  }

  /// Called at the end of a control step.
  bool finish(const Step& step, const StepPlan& plan, std::int64_t trips) {
    if (step.kind != StepKind::branch) worker_.outcome(step.node, trips);
    if (plan.double_buffers >= 0 && trips > 0 && !worker_.settle(double_buffers(plan), here_)) return false;
    return worker_.leave(step, here_) && worker_.discard(plan.dies, here_);
  }

  /// Called at the end of the top frame's block.
  bool leave() {
    Frame frame = frames_.back();
    if (frame.control) here_.node = frame.control->node;
    here_.position.back() = kEndOfBlock;
    if (run_.stops(here_.position) || !worker_.end_block(here_)) return false;
    if (!frame.control) {
      pop();
      return true;
    }
    switch (frame.control->kind) {
      case StepKind::for_loop: return leave_for(frame);
      case StepKind::while_loop: return frame.part == 0 ? leave_condition(frame) : leave_while_body(frame);
      default:
        if (!worker_.move(frame.plan->merge[frame.part], here_)) return false;
        pop();
        return finish(*frame.control, *frame.plan, 0);
    }
  }

  bool leave_for(const Frame& frame) {
    const Step& step = *frame.control;
    std::int64_t stop = 0;
    if (ValueId until = graph_.regions[graph_.nodes[step.node].regions[0]].predicate; until.valid()) {
      std::optional<std::int64_t> decided = worker_.decide(step, until, here_);
      if (!decided) return false;
      stop = *decided;
    }
    if (!end_trip(frame)) return false;
    if (stop == 0 && frame.trip + 1 < frame.count) {
      if (!may_go_on(step, frame.trip + 1)) return false;
      again(frames_.back());
      worker_.enter(step.node);
      if (loops_ == 1 && progress_) progress_->trip(device_, frame.trip + 1);
      return true;
    }
    pop();
    if (--loops_ == 0 && progress_) progress_->leave(device_);
    return finish(step, *frame.plan, frame.trip + 1);
  }

  /// False, with an error, if the loop has made as many trips as it may.
  bool may_go_on(const Step& loop, std::int64_t made) {
    const Status status = check_further_trip(graph_, loop.node, made);
    if (!status) run_.fail(here_, status.error());
    return status.ok();
  }

  bool leave_condition(const Frame& frame) {
    const Step& step = *frame.control;
    std::optional<std::int64_t> go_on = worker_.decide(step, graph_.regions[graph_.nodes[step.node].regions[0]].predicate, here_);
    if (!go_on) return false;
    if (*go_on != 0) {
      if (!may_go_on(step, frame.trip)) return false;
      enter({step.blocks[1], 0, frame.control, frame.plan, 1, frame.trip, 0});
      return true;
    }
    pop();
    return finish(step, *frame.plan, frame.trip);
  }

  bool leave_while_body(const Frame& frame) {
    if (!end_trip(frame)) return false;
    pop();
    again(frames_.back());
    return true;
  }

  const Graph& graph_;
  const DeviceId device_;
  const DeviceProgram& program_;
  const MemoryPlan& plan_;
  RunState& run_;
  Worker& worker_;
  RunProgress* const progress_;
  int loops_ = 0;  ///< number of enclosing loops with a known count
  std::vector<Frame> frames_;
  Origin here_;
};

}  // namespace

bool walk(const Program& program, DeviceId device, const MemoryPlan& plan, RunState& run, Worker& worker, RunProgress* progress) {
  return Walker(program, device, plan, run, worker, progress).walk();
}

}  // namespace cleave::runtime

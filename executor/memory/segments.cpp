#include "executor/memory/segments.h"

#include <set>
#include <utility>

namespace cleave::runtime {
namespace {

constexpr std::size_t kLongest = 512;            ///< operations in one segment: preparation grows faster than its length
constexpr std::int64_t kAwaitedBytes = 1 << 20;  ///< a value of this size takes longer to arrive than a few launches

class SegmentSearch {
 public:
  SegmentSearch(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t shortest,
                const std::function<bool(NodeId)>& joins)
      : graph_(*program.graph), program_(program.devices[device]), plan_(plan), shortest_(shortest), joins_(joins) {}

  std::vector<Segment> run() {
    find_tails();
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
      open_.block = b;
      for (const Step& step : program_.blocks[b].steps) visit(step);
      if (tails_[b] && !tails_[b]->empty()) open_.moves = tails_[b];
      close();
    }
    return std::move(found_);
  }

 private:
  /// Finds, by block, the copies that follow its last step before the next decision.
  void find_tails() {
    tails_.resize(program_.blocks.size());
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
      const std::vector<Step>& steps = program_.blocks[b].steps;
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const Step& step = steps[s];
        BlockIndex body = kNoBlock;
        if (step.kind == StepKind::while_loop) body = step.blocks[1];
        if (step.kind == StepKind::for_loop && !graph_.regions[graph_.nodes[step.node].regions[0]].predicate.valid()) body = step.blocks[0];
        if (body != kNoBlock) tails_[static_cast<std::size_t>(body)] = &plan_.blocks[b][s].trip;
      }
    }
  }

  void visit(const Step& step) {
    const NodeKind kind = graph_.nodes[step.node].kind;
    if (step.kind == StepKind::receive && graph_.values[step.value].type.bytes() >= kAwaitedBytes) arriving_.insert(step.value);
    if (step.kind != StepKind::compute || kind == NodeKind::counter) return close();
    if (kind != NodeKind::operation) return;  // inputs and constants are in memory already
    if (!joins_(step.node)) return close();
    if (reads_arriving(step.node)) close();
    open_.nodes.push_back(step.node);
    if (open_.nodes.size() == kLongest) close();
  }

  /// Whether the operation is the first to read a large received value. What comes before it need not wait for that value.
  bool reads_arriving(NodeId node) {
    std::size_t read = 0;
    for (const ValueId input : graph_.nodes[node].inputs) read += arriving_.erase(input);
    return read > 0;
  }

  void close() {
    Segment segment = std::exchange(open_, {{}, open_.block, nullptr});
    const std::size_t length = segment.nodes.size() + (segment.moves ? segment.moves->size() : 0);
    if (!segment.nodes.empty() && length >= shortest_) found_.push_back(std::move(segment));
  }

  const Graph& graph_;
  const DeviceProgram& program_;
  const MemoryPlan& plan_;
  const std::size_t shortest_;
  const std::function<bool(NodeId)>& joins_;
  std::vector<const std::vector<Move>*> tails_;  ///< by block
  Segment open_;
  std::set<ValueId> arriving_;  ///< large values that were received, and that no operation so far reads
  std::vector<Segment> found_;
};

}  // namespace

std::vector<Segment> find_segments(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t shortest,
                                   const std::function<bool(NodeId)>& joins) {
  return SegmentSearch(program, device, plan, shortest, joins).run();
}

}  // namespace cleave::runtime

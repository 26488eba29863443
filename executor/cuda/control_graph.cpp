#include "executor/cuda/control_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cleave::runtime::cuda {
namespace {

/// Artificial ranges for dependences that do not come from the arena. They are beyond any arena, and apart from the range of the shared
/// scratch memory (segments.cpp).
constexpr std::int64_t kBeyond = std::int64_t{1} << 60;
constexpr Range kOpened{kBeyond, 1};         ///< stands for the launch's words: written when the launch opens
constexpr Range kDecisions{kBeyond + 1, 1};  ///< stands for LaunchWords::stopped
constexpr Range kFaults{kBeyond + 2, 1};     ///< stands for a fault found by a kernel, which stops loops
Range decision_of(std::int64_t number) {
  return {kBeyond + 8 + number, 1};
}

/// A node, or several, to be added to a graph, with the memory that they touch.
struct Item {
  Touched touched;
  std::function<Status(SegmentGraph&)> add;
};
using Items = std::vector<Item>;

void unite(Touched& all, const Touched& one) {
  all.reads.insert(all.reads.end(), one.reads.begin(), one.reads.end());
  all.writes.insert(all.writes.end(), one.writes.begin(), one.writes.end());
}

struct DecidingNode {
  Deciding values;
  void* parameters[kDecidingParameters];

  explicit DecidingNode(const Deciding& given) : values(given) {
    static_assert(sizeof(Deciding) == kDecidingParameters * sizeof(std::uint64_t));
    auto* first = reinterpret_cast<std::uint64_t*>(&values);
    for (int i = 0; i < kDecidingParameters; ++i) parameters[i] = first + i;
  }
  DecidingNode(const DecidingNode&) = delete;
  DecidingNode& operator=(const DecidingNode&) = delete;

  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS node(CUfunction decide) {
    const KernelLaunch shape = deciding_launch();
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = decide;
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = shape.block[0], node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = parameters;
    return node;
  }
};

class Builder {
 public:
  explicit Builder(const ControlParts& parts) : parts_(parts) {}

  Status fill(SegmentGraph& graph, const Items& items) {
    std::vector<Touched> touched;
    for (const Item& item : items) touched.push_back(item.touched);
    const std::vector<std::vector<std::size_t>> after = find_dependences(touched);
    for (std::size_t i = 0; i < items.size(); ++i) {
      graph.begin_step(after[i]);
      if (Status status = items[i].add(graph); !status) return status;
    }
    return {};
  }

  /// The items of `all`. A condition belongs to the graph that holds its node, so items are made only when that graph is filled. `numbers`:
  /// parameters of the decision that writes the counter of loop `number`, if `all` is that loop's body.
  Result<Items> items_of(SegmentGraph& graph, const std::vector<DeviceItem>& all, const Deciding* numbers = nullptr,
                         std::int64_t number = 0) {
    Items items;
    for (const DeviceItem& each : all) {
      Status status;
      if (each.control) {
        status = add_control(graph, *each.control, items);
      } else if (each.counts) {
        add_decision(*numbers, number, {}, each.step.to, items);
      } else {
        add_step(each.step, items);
      }
      if (!status) return status.error();
    }
    return items;
  }

  Status add_control(SegmentGraph& graph, const DeviceControl& control, Items& items) {
    const std::int64_t number = next_++;
    Deciding decides = common();
    decides.trip = parts_.words + sizeof(LaunchWords) + 8 * static_cast<std::uint64_t>(number);
    decides.predicate = address(control.predicate);
    switch (control.kind) {
      case DeviceControl::Kind::repeat: return add_repeat(graph, control, number, decides, items);
      case DeviceControl::Kind::while_true: return add_while(graph, control, number, decides, items);
      case DeviceControl::Kind::branch: break;
    }
    return add_branch(graph, control, number, decides, items);
  }

 private:
  [[nodiscard]] std::uint64_t address(const Range& range) const {
    return range.bytes > 0 ? parts_.arena + static_cast<CUdeviceptr>(range.offset) : 0;
  }
  [[nodiscard]] Deciding common() const {
    Deciding decides;
    decides.launch = parts_.words;
    decides.host = parts_.host_words;
    return decides;
  }

  void add_step(const DeviceStep& step, Items& items) {
    Touched touched = parts_.touched(step);
    touched.reads.push_back(kOpened);
    if (parts_.faulty(step)) touched.reads.push_back(kFaults);
    items.push_back({std::move(touched), [this, &step](SegmentGraph& graph) { return parts_.add(graph, step); }});
  }

  /// `reads` and `writes` are ranges of the arena.
  void add_decision(const Deciding& decides, std::int64_t number, const Range& reads, const Range& writes, Items& items) const {
    Touched touched{{kOpened, reads}, {decision_of(number), kDecisions, writes}};
    if (parts_.any_faulty) touched.writes.push_back(kFaults);
    const auto empty = [](const Range& range) { return range.bytes == 0; };
    std::erase_if(touched.reads, empty);
    std::erase_if(touched.writes, empty);
    items.push_back({std::move(touched), [decides, decide = parts_.decide](SegmentGraph& graph) -> Status {
                       DecidingNode node(decides);
                       const Result<CUgraphNode> made = graph.add_kernel(node.node(decide));
                       return made ? Status() : Status(made.error());
                     }});
  }

  /// Adds a conditional node whose body has the items that `make(body)` gives; `touched` is the memory that they touch.
  template <class Make>
  Status add_conditional(CUgraphConditionalHandle condition, CUgraphConditionalNodeType type, std::int64_t number, Touched touched,
                         Make&& make, Items& items) {
    touched.reads.push_back(decision_of(number));
    items.push_back({std::move(touched), [this, condition, type, make = std::forward<Make>(make)](SegmentGraph& graph) -> Status {
                       Result<CUgraph> to = graph.add_conditional(condition, type);
                       if (!to) return to.error();
                       Result<SegmentGraph> body = SegmentGraph::within(*parts_.context, *to);
                       if (!body) return body.error();
                       Result<Items> inside = make(*body);
                       return inside ? fill(*body, *inside) : Status(inside.error());
                     }});
    return {};
  }

  /// The memory that all items inside touch; computed before their graphs exist.
  [[nodiscard]] Touched all_of(const std::vector<DeviceItem>& items) const {
    Touched all;
    for (const DeviceItem& item : items) {
      if (!item.counts) unite(all, item.control ? all_of(*item.control) : parts_.touched(item.step));
    }
    return all;
  }
  [[nodiscard]] Touched all_of(const DeviceControl& control) const {
    Touched all{{kOpened, control.predicate}, {kDecisions, control.counter}};
    for (const std::vector<DeviceItem>* items : {&control.condition, &control.body, &control.otherwise}) unite(all, all_of(*items));
    for (const DeviceStep& copy : control.copies) unite(all, parts_.touched(copy));
    if (parts_.any_faulty) all.writes.push_back(kFaults);
    const auto empty = [](const Range& range) { return range.bytes == 0; };
    std::erase_if(all.reads, empty);
    std::erase_if(all.writes, empty);
    return all;
  }

  Status add_repeat(SegmentGraph& graph, const DeviceControl& control, std::int64_t number, Deciding decides, Items& items) {
    Result<CUgraphConditionalHandle> goes_on = graph.new_condition();
    if (!goes_on) return goes_on.error();
    decides.taken = *goes_on;
    decides.count = static_cast<std::uint64_t>(control.count);  // negative: all bits set
    decides.ends = 1;
    decides.counter = control.counts_inside ? 0 : address(control.counter);
    const Range written = control.counts_inside ? Range{} : control.counter;
    decides.what = static_cast<std::uint64_t>(Decides::first);
    add_decision(decides, number, {}, written, items);
    decides.what = static_cast<std::uint64_t>(Decides::again);
    const auto body = [this, &control, number, decides, written](SegmentGraph& inside) -> Result<Items> {
      Deciding numbers = decides;
      numbers.what = static_cast<std::uint64_t>(Decides::number);
      numbers.counter = address(control.counter);
      Result<Items> all = items_of(inside, control.body, &numbers, number);
      if (!all) return all;
      if (control.decides_early) add_decision(decides, number, control.predicate, written, *all);
      for (const DeviceStep& copy : control.copies) add_step(copy, *all);
      if (!control.decides_early) add_decision(decides, number, control.predicate, written, *all);
      return all;
    };
    return add_conditional(*goes_on, CU_GRAPH_COND_TYPE_WHILE, number, all_of(control), body, items);
  }

  Status add_while(SegmentGraph& graph, const DeviceControl& control, std::int64_t number, Deciding decides, Items& items) {
    Result<CUgraphConditionalHandle> goes_on = graph.new_condition();
    if (!goes_on) return goes_on.error();
    decides.taken = *goes_on;
    decides.count = static_cast<std::uint64_t>(INT64_MAX);
    Result<Items> condition = items_of(graph, control.condition);
    if (!condition) return condition.error();
    items.insert(items.end(), std::make_move_iterator(condition->begin()), std::make_move_iterator(condition->end()));
    decides.what = static_cast<std::uint64_t>(Decides::first);
    add_decision(decides, number, control.predicate, {}, items);
    decides.what = static_cast<std::uint64_t>(Decides::again);
    const auto body = [this, &control, number, decides](SegmentGraph& inside) -> Result<Items> {
      Result<Items> all = items_of(inside, control.body);
      if (!all) return all;
      for (const DeviceStep& copy : control.copies) add_step(copy, *all);
      Result<Items> again = items_of(inside, control.condition);
      if (!again) return again;
      all->insert(all->end(), std::make_move_iterator(again->begin()), std::make_move_iterator(again->end()));
      add_decision(decides, number, control.predicate, {}, *all);
      return all;
    };
    return add_conditional(*goes_on, CU_GRAPH_COND_TYPE_WHILE, number, all_of(control), body, items);
  }

  Status add_branch(SegmentGraph& graph, const DeviceControl& control, std::int64_t number, Deciding decides, Items& items) {
    decides.what = static_cast<std::uint64_t>(Decides::branch);
    const std::vector<DeviceItem>* arms[] = {&control.body, &control.otherwise};
    std::uint64_t* conditions[] = {&decides.taken, &decides.otherwise};
    for (std::size_t arm = 0; arm < 2; ++arm) {
      if (arms[arm]->empty()) continue;
      Result<CUgraphConditionalHandle> condition = graph.new_condition();
      if (!condition) return condition.error();
      *conditions[arm] = *condition;
    }
    add_decision(decides, number, control.predicate, {}, items);
    for (std::size_t arm = 0; arm < 2; ++arm) {
      if (arms[arm]->empty()) continue;
      const auto body = [this, inside_of = arms[arm]](SegmentGraph& inside) { return items_of(inside, *inside_of); };
      if (Status status = add_conditional(*conditions[arm], CU_GRAPH_COND_TYPE_IF, number, all_of(*arms[arm]), body, items); !status)
        return status;
    }
    return {};
  }

  const ControlParts& parts_;
  std::int64_t next_ = 0;
};

std::int64_t controls_in(const std::vector<DeviceItem>& items);
std::int64_t controls_in(const DeviceControl& control) {
  // A loop's condition is built twice (before the loop and after each trip), and so are the loops inside it.
  return 1 + 2 * controls_in(control.condition) + controls_in(control.body) + controls_in(control.otherwise);
}
std::int64_t controls_in(const std::vector<DeviceItem>& items) {
  std::int64_t sum = 0;
  for (const DeviceItem& item : items)
    if (item.control) sum += controls_in(*item.control);
  return sum;
}

}  // namespace

std::int64_t ControlGraph::bytes_of_words(const DeviceControl& control) {
  return static_cast<std::int64_t>(sizeof(LaunchWords)) + 8 * controls_in(control);
}

Result<ControlGraph> ControlGraph::make(const ControlParts& parts, const DeviceControl& control) {
  Result<SegmentGraph> graph = SegmentGraph::make(*parts.context);
  if (!graph) return graph.error();
  ControlGraph made(*parts.context);
  made.decide_ = parts.decide;
  made.opening_.launch = parts.words;
  made.opening_.host = parts.host_words;
  Items items;
  items.push_back({{{}, {kOpened, kDecisions}}, [&made](SegmentGraph& to) -> Status {
                     DecidingNode node(made.opening_);
                     const Result<CUgraphNode> open = to.add_kernel(node.node(made.decide_));
                     if (!open) return open.error();
                     made.open_ = *open;
                     return {};
                   }});
  Builder builder(parts);
  Status status = builder.add_control(*graph, control, items);
  if (status) status = builder.fill(*graph, items);
  if (!status) return status.error();
  Result<GraphExecHandle> ready = graph->instantiate();
  if (!ready) return ready.error();
  made.graph_ = *std::move(ready);
  made.source_ = graph->take_graph();
  return made;
}

Status ControlGraph::launch(CUstream stream, std::uint64_t command, std::int64_t count) {
  opening_.command = command;
  opening_.count = static_cast<std::uint64_t>(count);
  DecidingNode open(opening_);
  const CUDA_KERNEL_NODE_PARAMS node = open.node(decide_);
  const DriverApi& api = context_->api();
  Status status = context_->check("cuGraphExecKernelNodeSetParams", api.cuGraphExecKernelNodeSetParams(graph_.get(), open_, &node));
  return status ? context_->check("cuGraphLaunch", api.cuGraphLaunch(graph_.get(), stream)) : status;
}

}  // namespace cleave::runtime::cuda

#include "partitioner/apply/program.h"
#include "graph/base/utf8.h"

#include <algorithm>
#include <span>

namespace cleave::planner {
namespace {

std::string value_label(const Graph& graph, ValueId value) {
  std::string text = "%" + std::to_string(value.index);
  if (const std::string& name = graph.values[value].name; !name.empty()) text += " " + escape_controls_one_line(name);
  return text;
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), graph_(*program.graph) {}

  std::string run() {
    out_ = "program " + escape_controls_one_line(graph_.name) + "\n";
    for (std::size_t i = 0; i < program_.channels.size(); ++i) {
      const Channel& c = program_.channels[ChannelId(i)];
      out_ += "channel " + std::to_string(i) + ": " + value_label(graph_, c.value) + " " + to_string(graph_.values[c.value].type) + ", " +
              to_string(c.from) + " -> " + to_string(c.to) + ", region " + std::to_string(c.region.index) + coalesced_phrase(c) +
              depth_phrase(c) + "\n";
    }
    for (const Producer& producer : program_.producers) print_producer(producer);
    for (const DeviceProgram& device : program_.devices) print_device(device);
    return std::move(out_);
  }

 private:
  struct Task {
    const Block* block = nullptr;  ///< null: print `label`
    std::size_t next = 0;
    int depth = 0;
    std::string_view label;
  };

  static std::string coalesced_phrase(const Channel& channel) {
    if (!channel.coalesced) return "";
    return ", in packet " + std::to_string(channel.coalesced.index) + " at " + std::to_string(channel.offset);
  }

  static std::string depth_phrase(const Channel& channel) {
    return channel.depth == kDefaultDepth ? "" : ", depth " + std::to_string(channel.depth);
  }

  void print_producer(const Producer& producer) {
    out_ += "producer of #" + std::to_string(producer.loop.index) + ", " + std::to_string(producer.ahead) + " trips ahead:";
    for (const NodeId node : producer.nodes) out_ += " #" + std::to_string(node.index);
    out_ += "\n";
  }

  void print_device(const DeviceProgram& device) {
    out_ += to_string(device.device) + ":\n";
    std::vector<Task> tasks;
    if (!device.blocks.empty()) tasks.push_back({&device.blocks[0], 0, 1, {}});
    while (!tasks.empty()) {
      Task& task = tasks.back();
      if (!task.block) {
        out_.append(static_cast<std::size_t>(task.depth) * 2, ' ').append(task.label).append(":\n");
        tasks.pop_back();
      } else if (task.next == task.block->steps.size()) {
        tasks.pop_back();
      } else {
        const Step& step = task.block->steps[task.next++];
        const int depth = task.depth;
        print_step(step, depth);
        for (int k = 2; k-- > 0;) {
          if (step.blocks[k] == kNoBlock) continue;
          tasks.push_back({&device.blocks[static_cast<std::size_t>(step.blocks[k])], 0, depth + 2, {}});
          tasks.push_back({nullptr, 0, depth + 1, block_label(step.kind, k)});
        }
      }
    }
  }

  static std::string_view block_label(StepKind kind, int k) {
    if (kind == StepKind::branch) return k == 0 ? "then" : "else";
    return kind == StepKind::while_loop && k == 0 ? "condition" : "do";
  }

  void print_step(const Step& step, int depth) {
    out_.append(static_cast<std::size_t>(depth) * 2, ' ');
    out_ += std::to_string(step.order) + ": ";
    if (step.kind == StepKind::send || step.kind == StepKind::receive) {
      out_ +=
          std::string(to_string(step.kind)) + " " + value_label(graph_, step.value) + " on channel " + std::to_string(step.channel.index);
    } else {
      const Node& node = graph_.nodes[step.node];
      out_ += std::string(graph_.op_name(step.node)) + " #" + std::to_string(step.node.index);
      print_values(" (", node.inputs);
      if (!node.results.empty()) print_values(") -> (", node.results);
      out_ += ")";
      for (NodeId carried : step.carried) print_owned(" carries ", carried);
      for (NodeId merge : step.merges) print_owned(" merges ", merge);
      if (step.drives_others) out_ += " drives others";
      if (step.by_itself) out_ += " by itself";
    }
    out_ += "\n";
  }

  void print_values(std::string_view before, const std::vector<ValueId>& values) {
    out_ += before;
    for (std::size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + value_label(graph_, values[i]);
  }
  void print_owned(std::string_view before, NodeId node) { out_.append(before).append(value_label(graph_, graph_.nodes[node].results[0])); }

  const Program& program_;
  const Graph& graph_;
  std::string out_;
};

}  // namespace

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return "compute";
    case StepKind::send: return "send";
    case StepKind::receive: return "receive";
    case StepKind::for_loop: return "for";
    case StepKind::while_loop: return "while";
    case StepKind::branch: break;
  }
  return "branch";
}

std::span<const ChannelId> travelling_with(const Program& program, const ChannelId& channel) {
  const CoalescedId coalesced = program.channels[channel].coalesced;
  return coalesced ? std::span<const ChannelId>(program.coalesced_transfers[coalesced].channels) : std::span<const ChannelId>(&channel, 1);
}

std::int64_t slot_bytes(const Program& program, ChannelId channel) {
  const Channel& each = program.channels[channel];
  return each.coalesced ? program.coalesced_transfers[each.coalesced].bytes : program.graph->values[each.value].type.bytes();
}

void set_depth(Program& program, ChannelId channel, int depth) {
  for (const ChannelId each : travelling_with(program, channel)) program.channels[each].depth = depth;
}

HostFunction::Beside beside(const Program& program, NodeId node) {
  const HostFunction* function = program.graph->nodes[node].host_function();
  return function ? function->beside(program.workers) : HostFunction::Beside::never;
}

bool calls_run_beside(const Graph& graph, int workers) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.host_function() && node.host_function()->beside(workers) != HostFunction::Beside::never;
  });
}

bool follows(const Program& program, ChannelId channel) {
  return travelling_with(program, channel).front() != channel;
}

std::string print(const Program& program) {
  return Printer(program).run();
}

}  // namespace cleave::planner

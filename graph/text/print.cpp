// Printer of the text form: one node a line, regions as indented blocks, values numbered in program order:
//
//   cleave-graph 1
//   name "example"
//   file 0 "train.cpp"
//   scope 0 "layer3" @0:12:3
//   %x.0 = input {file="x.npy"} : f32[4, 2] @0:3:5
//   for {count=100} expected 100.0 {
//     %step.1 = counter : i32[]
//     %w.2, %w.3 = carried(%x.0, %4) : f32[4, 2]
//     %4 = add(%w.2, %x.0) : f32[4, 2] pin host allow round-trip "meant" @0:14:7/0
//   }
//   output "w" %w.3
//
// A pin of a rule has its reason: `pin host because "it computes shapes"`, or `without-kernel` in place of `because`.
// `recompute true` or `recompute false` is the user's pin for gradients, and `repetition` marks an operation that is computed again for
// one. A while is `while … { condition, test %7 } do { body }`, a branch `if(%3) … { } else { }`. parse.cpp reads it.
#include <unordered_map>

#include "graph/passes/renumber.h"
#include "graph/text/text.h"
#include "graph/text/text_values.h"

namespace cleave {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options), order_(program_order(graph)) {
    numbers_.resize(graph.values.size());
    std::size_t next = 0;
    for (NodeId node : order_.nodes)
      for (ValueId value : graph.nodes[node].results) numbers_[value] = next++;
  }

  std::string print() {
    out_ = "cleave-graph 1\nname ";
    put_quoted(out_, graph_.name);
    out_ += '\n';
    if (options_.locations) put_location_tables();
    put_limits();
    put_program();
    for (const Output& output : graph_.outputs) {
      out_ += "output ";
      put_quoted(out_, output.name);
      out_ += ' ';
      put_use(output.value);
      for (const Output::Length& length : output.lengths) {
        out_ += " length ";
        put_integer(out_, length.axis);
        out_ += ' ';
        put_quoted(out_, length.count);
      }
      end_line(output.location);
    }
    return std::move(out_);
  }

 private:
  void put_location_tables();
  void remember(const SourceLocation& location);
  void put_location(const SourceLocation& location);
  void put_limits();
  void put_program();
  void put_node(NodeId id);
  void put_results(const Node& node);
  void put_clauses(const Node& node);
  void put_predicate(const Region& region);

  void put_use(ValueId value) {
    const std::string& name = graph_.values[value].name;
    out_ += '%';
    if (is_identifier(name)) (out_ += name) += '.';
    put_integer(out_, static_cast<std::int64_t>(numbers_[value]));
  }
  void end_line(const SourceLocation& location) {
    put_location(location);
    out_ += '\n';
  }
  void indent() { out_.append(2 * depth_, ' '); }

  const Graph& graph_;
  const PrintOptions& options_;
  const ProgramOrder order_;
  IdVector<ValueId, std::size_t> numbers_;
  std::unordered_map<std::string_view, std::size_t> files_;
  std::unordered_map<const SourceFrame*, std::size_t> scopes_;
  std::size_t depth_ = 0;
  std::string out_;
};

/// Adds the file and the scopes of the location to the tables, outer scopes first.
void Printer::remember(const SourceLocation& location) {
  std::vector<const SourceFrame*> fresh;
  const SourceLocation* reached = &location;
  while (reached->via && !scopes_.contains(reached->via.get())) {
    fresh.push_back(reached->via.get());
    reached = &reached->via->location;
  }
  auto remember_file = [&](const SourceLocation& where) {
    if (!where.file || !files_.emplace(*where.file, files_.size()).second) return;
    out_ += "file ";
    put_integer(out_, static_cast<std::int64_t>(files_.size() - 1));
    out_ += ' ';
    put_quoted(out_, *where.file);
    out_ += '\n';
  };
  for (auto frame = fresh.rbegin(); frame != fresh.rend(); ++frame) {
    remember_file((*frame)->location);
    out_ += "scope ";
    put_integer(out_, static_cast<std::int64_t>(scopes_.size()));
    out_ += ' ';
    put_quoted(out_, (*frame)->label);
    end_line((*frame)->location);
    scopes_.emplace(*frame, scopes_.size());
  }
  remember_file(location);
}

void Printer::put_location_tables() {
  if (graph_.limits.any()) remember(graph_.limits.location);
  for (NodeId node : order_.nodes) remember(graph_.nodes[node].location);
  for (const Output& output : graph_.outputs) remember(output.location);
}

void Printer::put_location(const SourceLocation& location) {
  if (!options_.locations) return;
  if (!location.file && !location.via && location.line == 0 && location.column == 0) return;
  out_ += " @";
  if (location.file)
    put_integer(out_, static_cast<std::int64_t>(files_.at(*location.file)));
  else
    out_ += '-';
  (out_ += ':') += std::to_string(location.line);
  (out_ += ':') += std::to_string(location.column);
  if (location.via) (out_ += '/') += std::to_string(scopes_.at(location.via.get()));
}

void Printer::put_limits() {
  const Limits& limits = graph_.limits;
  if (!limits.any()) return;
  out_ += "limits";
  auto put = [&](std::string_view name, const std::optional<std::int64_t>& limit) {
    if (!limit) return;
    ((out_ += ' ') += name) += ' ';
    put_integer(out_, *limit);
  };
  put("round_trips", limits.round_trips);
  put("transfers", limits.transfers);
  put("bytes_per_run", limits.bytes_per_run);
  if (limits.prediction_error) put_floating(out_ += " prediction_error ", *limits.prediction_error);
  end_line(limits.location);
}

void Printer::put_results(const Node& node) {
  if (node.results.empty()) return;
  put_list(out_, node.results, [&](ValueId value) {
    put_use(value);
    const std::string& name = graph_.values[value].name;
    if (!name.empty() && !is_identifier(name)) put_quoted(out_ += ' ', name);
  });
  out_ += " = ";
}

void Printer::put_node(NodeId id) {
  const Node& node = graph_.nodes[id];
  indent();
  put_results(node);
  out_ += graph_.op_name(id);
  if (!node.inputs.empty() || node.kind == NodeKind::operation) {
    out_ += '(';
    put_list(out_, node.inputs, [&](ValueId value) { put_use(value); });
    out_ += ')';
  }
  if (!node.attributes.empty()) {
    out_ += " {";
    put_list(out_, node.attributes, [&](const auto& item) {
      (out_ += item.first) += '=';
      put_attribute(out_, item.second, options_.stored);
    });
    out_ += '}';
  }
  if (!node.results.empty()) {
    out_ += " : ";
    // Both results of a carried node have one type.
    const std::span<const ValueId> shown(node.results.data(), node.kind == NodeKind::carried ? 1 : node.results.size());
    put_list(out_, shown, [&](ValueId value) { out_ += to_string(graph_.values[value].type); });
  }
  put_clauses(node);
  put_location(node.location);
  if (is_control(node.kind)) out_ += " {";
  if (options_.comment) (out_ += "  # ") += options_.comment(id);
  out_ += '\n';
}

void Printer::put_clauses(const Node& node) {
  if (node.pin.any()) out_ += node.pin.side == Side::host ? " pin host" : " pin accelerator";
  if (node.pin.by_rule()) {
    out_ += node.pin.for_want_of_kernel ? " without-kernel " : " because ";
    put_quoted(out_, node.pin.reason);
  }
  switch (node.recompute) {
    case Recompute::automatic: break;
    case Recompute::always: out_ += " recompute true"; break;
    case Recompute::never: out_ += " recompute false"; break;
    case Recompute::repetition: out_ += " repetition"; break;
  }
  for (const Allowance& allowance : node.allowed) {
    ((out_ += " allow ") += info(allowance.kind).name) += ' ';
    put_quoted(out_, allowance.reason);
  }
  if (!is_control(node.kind)) return;
  out_ += " expected ";
  put_floating(out_, node.expected);
  if (node.assumed) out_ += " assumed";
}

void Printer::put_predicate(const Region& region) {
  if (!region.predicate.valid()) return;
  indent();
  out_ += region.kind == RegionKind::while_condition ? "test " : "until ";
  put_use(region.predicate);
  out_ += '\n';
}

/// Prints the nodes in program order, with the openings and ends of their blocks.
void Printer::put_program() {
  struct Block {
    RegionId region;
    std::size_t next = 0;
  };
  struct Control {
    NodeId node;
    std::size_t next = 1;
  };
  std::vector<Block> blocks{{Graph::kRoot}};
  std::vector<Control> controls;
  while (true) {
    const Region& region = graph_.regions[blocks.back().region];
    if (blocks.back().next < region.nodes.size()) {
      const NodeId id = region.nodes[blocks.back().next++];
      put_node(id);
      if (!is_control(graph_.nodes[id].kind)) continue;
      controls.push_back({id});
      blocks.push_back({graph_.nodes[id].regions[0]});
      ++depth_;
      continue;
    }
    put_predicate(region);
    blocks.pop_back();
    if (blocks.empty()) return;
    --depth_;
    indent();
    Control& control = controls.back();
    const Node& node = graph_.nodes[control.node];
    if (control.next < node.regions.size()) {
      out_ += node.kind == NodeKind::branch ? "} else {\n" : "} do {\n";
      blocks.push_back({node.regions[control.next++]});
      ++depth_;
    } else {
      out_ += "}\n";
      controls.pop_back();
    }
  }
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).print();
}

}  // namespace cleave

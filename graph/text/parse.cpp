// Parser of the text form, which print.cpp describes: builds a Graph line by line, with an explicit stack of open blocks.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "graph/base/exceptions.h"
#include "graph/base/named_file.h"
#include "graph/base/spelling.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/text/text_reader.h"

namespace cleave {
namespace {

constexpr std::size_t kMaxBlocks = 1000;
constexpr std::size_t kMaxScopes = 1000;

/// A kind of node that is no operation: its keyword, and the numbers of its inputs and results.
struct Structural {
  std::string_view keyword;
  NodeKind kind;
  std::size_t min_inputs, max_inputs, results;
};
constexpr std::array<Structural, 9> kStructural{{{"input", NodeKind::input, 0, 0, 1},
                                                 {"parameter", NodeKind::parameter, 0, 0, 1},
                                                 {"constant", NodeKind::constant, 0, 0, 1},
                                                 {"for", NodeKind::for_loop, 0, 1, 0},
                                                 {"while", NodeKind::while_loop, 0, 0, 0},
                                                 {"if", NodeKind::branch, 1, 1, 0},
                                                 {"counter", NodeKind::counter, 0, 0, 1},
                                                 {"carried", NodeKind::carried, 2, 2, 2},
                                                 {"merge", NodeKind::merge, 2, 2, 1}}};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, const std::vector<std::string>& source_roots, const StoredArrays& stored)
      : in_(text, file, stored), roots_(std::make_shared<const FileRoots>(file, source_roots)) {}

  Result<Graph> parse() {
    if (!header() || !statements() || !check_uses()) return *in_.error();
    const std::vector<Finding> broken = find_broken_rules(graph_);
    if (broken.empty()) return std::move(graph_);
    return Error{"malformed graph: " + broken.front().sentence, in_.location(position_of(broken.front())), ErrorKind::user};
  }

 private:
  struct Use {
    std::uint32_t number;
    std::size_t position;
  };
  struct Definition {
    std::string name;
    std::size_t position;
  };

  bool header();
  bool statements();
  bool statement();
  bool file_entry();
  bool scope_entry();
  bool limits();
  bool output();
  bool predicate(RegionKind wanted, std::string_view what);
  bool close_block();
  bool node();
  bool definitions(std::vector<Definition>& out);
  bool node_kind(Node& node, std::size_t results);
  bool owner(Node& node);
  bool inputs(Node& node);
  bool operand_count(Node& node, std::size_t position);
  bool results(NodeId id, const std::vector<Definition>& defined);
  bool pin(Pin& pin);
  bool clauses(Node& node);
  bool open_block(NodeId id);
  bool use(ValueId& out, bool forward);
  bool location(SourceLocation& out);
  bool optional_location(SourceLocation& out) { return in_.peek() != '@' || location(out); }
  bool check_uses();
  [[nodiscard]] std::size_t position_of(const Finding& finding) const {
    if (finding.output >= 0) return output_positions_[static_cast<std::size_t>(finding.output)];
    return finding.node.valid() ? node_positions_[finding.node] : 0;
  }

  RegionId add_region(RegionKind kind, RegionId parent, NodeId node) {
    RegionId id = graph_.regions.push_back(Region{kind, parent, node, {}, {}});
    graph_.nodes[node].regions.push_back(id);
    return id;
  }
  [[nodiscard]] RegionId here() const { return blocks_.back(); }

  TextReader in_;
  std::shared_ptr<const FileRoots> roots_;  ///< folders in which the source files that the text names must be
  Graph graph_;
  std::vector<RegionId> blocks_{Graph::kRoot};
  std::vector<std::shared_ptr<const std::string>> files_;
  std::vector<std::shared_ptr<const SourceFrame>> scopes_;
  std::vector<Use> forward_;
  IdVector<NodeId, std::size_t> node_positions_;  ///< positions in the text
  std::vector<std::size_t> output_positions_;
};

bool Parser::header() {
  in_.skip_empty_lines();
  std::uint32_t version = 0;
  if (!in_.accept_word("cleave-graph")) return in_.fail("expected `cleave-graph 1`: this is no graph file");
  if (!in_.unsigned_number(version)) return false;
  if (version != 1) return in_.fail("this graph file has version " + std::to_string(version) + "; this program reads version 1");
  return in_.end_of_line();
}

bool Parser::statements() {
  for (in_.skip_empty_lines(); !in_.at_end(); in_.skip_empty_lines())
    if (!statement() || !in_.end_of_line()) return false;
  return blocks_.size() == 1 || in_.fail("a block is not closed");
}

bool Parser::statement() {
  if (in_.accept('}')) return close_block();
  if (in_.accept_word("name")) return in_.quoted(graph_.name);
  if (in_.accept_word("file")) return file_entry();
  if (in_.accept_word("scope")) return scope_entry();
  if (in_.accept_word("limits")) return limits();
  if (in_.accept_word("output")) return output();
  if (in_.accept_word("test")) return predicate(RegionKind::while_condition, "`test` stands in the condition of a `while`");
  if (in_.accept_word("until")) return predicate(RegionKind::for_body, "`until` stands in the body of a `for`");
  return node();
}

bool Parser::file_entry() {
  std::uint32_t number = 0;
  std::string name;
  if (!in_.unsigned_number(number)) return false;
  if (number != files_.size()) return in_.fail("files are numbered in order; expected " + std::to_string(files_.size()));
  if (!in_.quoted(name)) return false;
  files_.push_back(stated_file(std::move(name), roots_));
  return true;
}

bool Parser::scope_entry() {
  std::uint32_t number = 0;
  SourceFrame frame;
  if (!in_.unsigned_number(number)) return false;
  if (number != scopes_.size()) return in_.fail("scopes are numbered in order; expected " + std::to_string(scopes_.size()));
  if (!in_.quoted(frame.label) || !optional_location(frame.location)) return false;
  std::size_t depth = 1;
  for (const SourceLocation* outer = &frame.location; outer->via; outer = &outer->via->location)
    if (++depth > kMaxScopes) return in_.fail("scopes are nested too deeply");
  scopes_.push_back(std::make_shared<const SourceFrame>(std::move(frame)));
  return true;
}

bool Parser::location(SourceLocation& out) {
  if (!in_.expect('@')) return false;
  if (!in_.accept('-')) {
    std::uint32_t file = 0;
    if (!in_.unsigned_number(file)) return false;
    if (file >= files_.size()) return in_.fail("unknown file " + std::to_string(file));
    out.file = files_[file];
  }
  std::uint32_t line = 0, column = 0;
  if (!in_.expect(':') || !in_.unsigned_number(line) || !in_.expect(':') || !in_.unsigned_number(column)) return false;
  if (line > 0x7fffffff || column > 0x7fffffff) return in_.fail("a line or column is out of range");
  out.line = static_cast<int>(line);
  out.column = static_cast<int>(column);
  if (!in_.accept('/')) return true;
  std::uint32_t scope = 0;
  if (!in_.unsigned_number(scope)) return false;
  if (scope >= scopes_.size()) return in_.fail("unknown scope " + std::to_string(scope));
  out.via = scopes_[scope];
  return true;
}

bool Parser::limits() {
  Limits& limits = graph_.limits;
  for (std::string_view name = in_.word(); !name.empty(); name = in_.word()) {
    if (name == "prediction_error") {
      if (limits.prediction_error) return in_.fail_at(in_.mark() - name.size(), "`prediction_error` is given twice");
      if (!in_.floating(limits.prediction_error.emplace())) return false;
      if (!(*limits.prediction_error > 0 && *limits.prediction_error < 1e9)) return in_.fail("`prediction_error` must be above 0");
      continue;
    }
    std::optional<std::int64_t>* limit = name == "round_trips"     ? &limits.round_trips
                                         : name == "transfers"     ? &limits.transfers
                                         : name == "bytes_per_run" ? &limits.bytes_per_run
                                                                   : nullptr;
    if (!limit) return in_.fail("unknown limit `" + std::string(name) + "`");
    if (*limit) return in_.fail_at(in_.mark() - name.size(), "`" + std::string(name) + "` is given twice");
    if (!in_.integer(limit->emplace())) return false;
  }
  return optional_location(limits.location);
}

bool Parser::output() {
  Output output;
  in_.skip_spaces();
  output_positions_.push_back(in_.mark());
  if (!in_.quoted(output.name) || !use(output.value, false)) return false;
  while (in_.accept_word("length")) {
    std::uint32_t axis = 0;
    Output::Length length;
    if (!in_.unsigned_number(axis) || !in_.quoted(length.count)) return false;
    length.axis = static_cast<int>(std::min<std::uint32_t>(axis, std::numeric_limits<int>::max()));
    output.lengths.push_back(std::move(length));
  }
  if (!optional_location(output.location)) return false;
  graph_.outputs.push_back(std::move(output));
  return true;
}

/// Reads `%12` or `%name.12`. The name in front of the number is for human readers only.
bool Parser::use(ValueId& out, bool forward) {
  if (!in_.expect('%')) return false;
  const std::size_t position = in_.mark();
  std::uint32_t number = 0;
  if (!in_.word().empty() && !in_.expect('.')) return false;
  if (!in_.unsigned_number(number)) return false;
  out = ValueId(number);
  if (number < graph_.values.size()) return true;
  if (!forward) return in_.fail_at(position, "value " + std::to_string(number) + " is not defined above");
  forward_.push_back({number, position});
  return true;
}

bool Parser::check_uses() {
  for (const Use& use : forward_)
    if (use.number >= graph_.values.size()) return in_.fail_at(use.position, "value " + std::to_string(use.number) + " is not defined");
  return true;
}

bool Parser::predicate(RegionKind wanted, std::string_view what) {
  Region& region = graph_.regions[here()];
  if (region.kind != wanted) return in_.fail(std::string(what));
  if (region.predicate.valid()) return in_.fail("this block has a predicate already");
  return use(region.predicate, false);
}

// --- blocks -----------------------------------------------------------------------------------------------------------------------

bool Parser::open_block(NodeId id) {
  if (blocks_.size() >= kMaxBlocks) return in_.fail("blocks are nested too deeply");
  const NodeKind kind = graph_.nodes[id].kind;
  const RegionKind first = kind == NodeKind::for_loop     ? RegionKind::for_body
                           : kind == NodeKind::while_loop ? RegionKind::while_condition
                                                          : RegionKind::then_arm;
  blocks_.push_back(add_region(first, here(), id));
  return true;
}

bool Parser::close_block() {
  if (blocks_.size() == 1) return in_.fail("no block to close");
  const RegionId closed = here();
  const Region region = graph_.regions[closed];
  blocks_.pop_back();
  if (region.kind == RegionKind::while_condition) {
    if (!in_.expect_word("do") || !in_.expect('{')) return false;
    blocks_.push_back(add_region(RegionKind::while_body, closed, region.owner));
  } else if (region.kind == RegionKind::then_arm) {
    if (!in_.expect_word("else") || !in_.expect('{')) return false;
    blocks_.push_back(add_region(RegionKind::else_arm, region.parent, region.owner));
  }
  return true;
}

// --- nodes ------------------------------------------------------------------------------------------------------------------------

bool Parser::node() {
  std::vector<Definition> defined;
  if (in_.peek() == '%' && !definitions(defined)) return false;
  in_.skip_spaces();
  const std::size_t position = in_.mark();
  Node node;
  node.region = here();
  if (!node_kind(node, defined.size()) || !owner(node)) return false;
  if (in_.accept('(') && !inputs(node)) return false;
  const bool has_block = is_control(node.kind);
  bool opened = false;
  if (in_.accept('{')) {
    opened = has_block && in_.at_end_of_line();
    if (!opened && !in_.attributes(node.attributes)) return false;
  }
  if (!operand_count(node, position)) return false;
  const NodeId id = graph_.nodes.push_back(std::move(node));
  node_positions_.push_back(position);
  graph_.regions[here()].nodes.push_back(id);
  if (!results(id, defined) || (!opened && !clauses(graph_.nodes[id]))) return false;
  if (!has_block) return true;
  if (!opened && !in_.expect('{')) return false;
  return open_block(id);
}

bool Parser::definitions(std::vector<Definition>& out) {
  do {
    if (!in_.expect('%')) return false;
    Definition definition{std::string(in_.word()), in_.mark()};
    if (!definition.name.empty() && !in_.expect('.')) return false;
    std::uint32_t number = 0;
    if (!in_.unsigned_number(number)) return false;
    const std::size_t expected = graph_.values.size() + out.size();
    if (number != expected) return in_.fail_at(definition.position, "values are numbered in order; expected " + std::to_string(expected));
    if (in_.peek() == '"' && !in_.quoted(definition.name)) return false;
    out.push_back(std::move(definition));
  } while (in_.accept(','));
  return in_.expect('=');
}

bool Parser::node_kind(Node& node, std::size_t results) {
  const std::size_t position = in_.mark();
  const std::string word(in_.word());
  if (word.empty()) return in_.fail("expected the name of an op");
  for (const Structural& structural : kStructural) {
    if (structural.keyword != word) continue;
    node.kind = structural.kind;
    if (results == structural.results) return true;
    return in_.fail_at(position, "`" + word + "` has " + std::to_string(structural.results) + " results");
  }
  node.op = find_op(word);
  if (node.op) return true;
  std::vector<std::string> names;
  for (const OpDef* op : all_ops()) names.emplace_back(op->name);
  return in_.fail_at(position, "unknown op `" + word + "`" + did_you_mean(word, names));
}

/// Sets the control node that a counter, carried or merge node belongs to: the owner of its block, or the branch that the merge follows.
bool Parser::owner(Node& node) {
  const Region& region = graph_.regions[here()];
  if (node.kind == NodeKind::counter || node.kind == NodeKind::carried) {
    const bool good = region.kind == RegionKind::for_body || (node.kind == NodeKind::carried && region.kind == RegionKind::while_condition);
    node.owner = region.owner;
    return good || in_.fail("this node stands at the beginning of a loop only");
  }
  if (node.kind != NodeKind::merge) return true;
  if (!region.nodes.empty()) {
    const Node& previous = graph_.nodes[region.nodes.back()];
    if (previous.kind == NodeKind::branch) node.owner = region.nodes.back();
    if (previous.kind == NodeKind::merge) node.owner = previous.owner;
  }
  return node.owner.valid() || in_.fail("`merge` stands behind its branch");
}

bool Parser::inputs(Node& node) {
  if (in_.accept(')')) return true;
  do {
    const bool forward = node.kind == NodeKind::carried && node.inputs.size() == 1;
    if (!use(node.inputs.emplace_back(), forward)) return false;
  } while (in_.accept(','));
  return in_.expect(')');
}

bool Parser::operand_count(Node& node, std::size_t position) {
  for (const Structural& structural : kStructural) {
    if (node.kind != structural.kind) continue;
    if (node.inputs.size() >= structural.min_inputs && node.inputs.size() <= structural.max_inputs) return true;
    return in_.fail_at(position, "wrong number of operands");
  }
  const std::optional<TypeError> refused = normalize_call(*node.op, node.inputs.size(), node.attributes);
  return !refused || in_.fail_at(position, refused->message);
}

bool Parser::results(NodeId id, const std::vector<Definition>& defined) {
  if (defined.empty()) return true;
  const bool carried = graph_.nodes[id].kind == NodeKind::carried;
  std::vector<TensorType> types;
  in_.skip_spaces();
  const std::size_t position = in_.mark();
  if (!in_.expect(':')) return false;
  do {
    if (!in_.tensor_type(types.emplace_back())) return false;
  } while (in_.accept(','));
  if (carried) types.resize(2, types[0]);
  if (types.size() != defined.size()) return in_.fail_at(position, "expected one type for each result");
  for (std::size_t i = 0; i < defined.size(); ++i) {
    // The second result of a carried node, its value after the loop, belongs to the region that contains the loop.
    const RegionId lives = carried && i == 1 ? graph_.regions[here()].parent : here();
    graph_.nodes[id].results.push_back(
        graph_.values.push_back(Value{std::move(types[i]), id, static_cast<std::uint32_t>(i), lives, defined[i].name}));
  }
  return true;
}

/// The side, and the reason of a rule.
bool Parser::pin(Pin& pin) {
  if (in_.accept_word("host"))
    pin.side = Side::host;
  else if (in_.expect_word("accelerator"))
    pin.side = Side::accelerator;
  else
    return false;
  pin.for_want_of_kernel = in_.accept_word("without-kernel");
  return (!pin.for_want_of_kernel && !in_.accept_word("because")) || in_.quoted(pin.reason);
}

bool Parser::clauses(Node& node) {
  std::set<std::string_view> seen;
  for (std::string_view clause = in_.word(); !clause.empty(); clause = in_.word()) {
    if (clause != "allow" && !seen.insert(clause).second)
      return in_.fail_at(in_.mark() - clause.size(), "`" + std::string(clause) + "` is given twice");
    if (clause == "pin") {
      if (!pin(node.pin)) return false;
    } else if (clause == "recompute") {
      const bool again = in_.accept_word("true");
      if (!again && !in_.expect_word("false")) return false;
      node.recompute = again ? Recompute::always : Recompute::never;
    } else if (clause == "repetition") {
      node.recompute = Recompute::repetition;
    } else if (clause == "allow") {
      const std::string_view name = in_.word();
      const std::optional<DiagnosticKind> kind = parse_diagnostic_kind(name);
      if (!kind) return in_.fail("unknown kind of diagnostic `" + std::string(name) + "`");
      Allowance allowance{*kind, {}};
      if (!in_.quoted(allowance.reason)) return false;
      node.allowed.push_back(std::move(allowance));
    } else if (clause == "expected") {
      if (!in_.floating(node.expected)) return false;
    } else if (clause == "assumed") {
      node.assumed = true;
    } else {
      return in_.fail("unknown clause `" + std::string(clause) + "`");
    }
  }
  return optional_location(node.location);
}

}  // namespace

Result<Graph> parse_graph(std::string_view text, const std::string& file, const std::vector<std::string>& source_roots,
                          const StoredArrays& stored) {
  return detail::guard_memory([&] { return Parser(text, file, source_roots, stored).parse(); });
}

}  // namespace cleave

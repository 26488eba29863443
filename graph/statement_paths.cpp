// StatementPaths: one walk over the traced program collects scopes, their statements and the operations of each statement; then equal
// labels among siblings are numbered. All operations on one line of one scope form a statement.
#include "graph/statement_paths.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/base/utf8.h"

namespace cleave {
namespace {

/// The text as one label of a path, with blanks and the separators of paths replaced.
std::string as_label(std::string_view text) {
  std::string label = replace_ill_formed(text);
  for (char& c : label)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '/' || c == '#' || c == '[' || c == ']') c = '_';
  return label.empty() ? "_" : label;
}

std::string operation_label(const Graph& graph, NodeId id) {
  const HostFunction* function = graph.nodes[id].host_function();
  return as_label(function && !function->name.empty() ? std::string_view(function->name) : graph.op_name(id));
}

std::string bound_name(const Graph& graph, const Node& node) {
  for (const ValueId result : node.results)
    if (!graph.values[result].name.empty()) return graph.values[result].name;
  return "";
}

/// The label of a control node: `for.step`, `while`, `if`.
std::string control_label(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  std::string label(to_string(node.kind));
  if (node.kind != NodeKind::for_loop) return label;
  const std::vector<NodeId>& body = graph.regions[node.regions[0]].nodes;
  if (body.empty() || graph.nodes[body[0]].kind != NodeKind::counter) return label;
  const std::string counter = bound_name(graph, graph.nodes[body[0]]);
  return counter.empty() ? label : label + "." + as_label(counter);
}

/// Whether the node belongs to a control node. Such a node has no location of its own: a carried value has that of its initial value.
bool belongs_to_control(NodeKind kind) {
  return kind == NodeKind::counter || kind == NodeKind::carried || kind == NodeKind::merge;
}

/// Numbers repeated labels of a scope: `w`, `w#2`.
template <class Key>
class Ordinals {
 public:
  std::string numbered(const Key& scope, std::string label) {
    const int count = ++counts_[{scope, label}];
    return count == 1 ? label : label + "#" + std::to_string(count);
  }

 private:
  std::map<std::pair<Key, std::string>, int> counts_;
};

}  // namespace

/// Fills a StatementPaths. Operations and control nodes are visited first, literals last: a literal may be in a region outside of the loop
/// that the user wrote it in.
class StatementWalk {
 public:
  StatementWalk(const Graph& graph, StatementPaths& paths)
      : graph_(graph), paths_(paths), scope_of_region_(graph.regions.size(), StatementPaths::Scope::kNone) {}

  void run() {
    paths_.scopes_.push_back({});
    for (const bool literals : {false, true}) {
      for (std::size_t i = 0; i < graph_.regions.size(); ++i) {  // parents come before their children
        const RegionId region(i);
        if (!literals) open(region);
        for (const NodeId node : graph_.regions[region].nodes)
          if (!belongs_to_control(graph_.nodes[node].kind) && (graph_.nodes[node].kind == NodeKind::constant) == literals) add(node);
      }
    }
    number();
  }

 private:
  using Scope = StatementPaths::Scope;
  using Statement = StatementPaths::Statement;

  void open(RegionId id) {
    const Region& region = graph_.regions[id];
    if (!region.owner.valid()) {
      scope_of_region_[id] = 0;
      return;
    }
    const bool body = region.kind == RegionKind::for_body || region.kind == RegionKind::while_body;
    scope_of_region_[id] = paths_.scopes_.size();
    paths_.scopes_.push_back({Scope::kNone, statement_of_control_[region.owner], body ? "" : std::string(to_string(region.kind))});
  }

  void add(NodeId id) {
    const Node& node = graph_.nodes[id];
    const std::size_t statement = statement_of(id, scope_of(node));
    const bool control = is_control(node.kind);
    if (control) statement_of_control_[id] = statement;
    const auto [at, fresh] = paths_.operation_at_.try_emplace(StatementPaths::key(node.location), paths_.operations_.size());
    if (!fresh && !control) return;
    if (fresh) paths_.kept_.push_back(node.location);
    at->second = paths_.operations_.size();  // a loop or branch takes precedence over an operation at its location
    paths_.operations_.push_back({statement, control ? "" : operation_label(graph_, id)});
    if (in_gradient(node)) return label_as_forward(statement, id);
    if (node.kind == NodeKind::constant) return;
    label(paths_.statements_[statement], id);
    forward_.try_emplace({node.location.file_name(), node.location.line, node.location.column}, paths_.operations_.size() - 1);
  }

  [[nodiscard]] static bool in_gradient(const Node& node) {
    const SourceFrame* frame = node.location.via.get();
    while (frame && !is_gradient_label(frame->label)) frame = frame->location.via.get();
    return frame != nullptr;
  }

  /// A backward operation has the labels of the forward operation at its position, and its statement those of that one's.
  void label_as_forward(std::size_t statement, NodeId id) {
    const SourceLocation& place = graph_.nodes[id].location;
    const auto forward = forward_.find({place.file_name(), place.line, place.column});
    if (forward == forward_.end()) return label(paths_.statements_[statement], id);
    const StatementPaths::Operation& operation = paths_.operations_[forward->second];
    paths_.operations_.back().label = operation.label;
    paths_.statements_[statement].label = paths_.statements_[operation.statement].label;
  }

  /// Labels the statement by its loop or branch, else by the last name that it binds, else by its last operation. The operation of `id` is
  /// the one that was added last.
  void label(Statement& statement, NodeId id) const {
    const Node& node = graph_.nodes[id];
    const std::string name = bound_name(graph_, node);
    const bool given = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
    const int rank = is_control(node.kind) ? 3 : !name.empty() ? 2 : 1;
    if (rank < statement.rank) return;
    statement.rank = rank;
    statement.label = rank == 3 ? control_label(graph_, id) : rank == 2 ? as_label(name) : paths_.operations_.back().label;
    if (given) statement.label = std::string(to_string(node.kind)) + "." + statement.label;
    statement.same_as = rank == 2 && !given ? Scope::kNone : paths_.operations_.size() - 1;
  }

  std::size_t scope_of(const Node& node) {
    const NodeId owner = graph_.regions[node.region].owner;
    const SourceFrame* outside = owner.valid() ? graph_.nodes[owner].location.via.get() : nullptr;
    std::vector<const SourceFrame*> frames;
    for (const SourceFrame* frame = node.location.via.get(); frame && frame != outside; frame = frame->location.via.get())
      frames.push_back(frame);
    std::size_t scope = scope_of_region_[node.region];
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const auto [found, fresh] = scope_of_frame_.try_emplace({scope, *frame}, paths_.scopes_.size());
      if (fresh)
        paths_.scopes_.push_back({scope, Scope::kNone, is_gradient_label((*frame)->label) ? "gradient" : as_label((*frame)->label)});
      scope = found->second;
    }
    return scope;
  }

  std::size_t statement_of(NodeId id, std::size_t scope) {
    const SourceLocation& place = graph_.nodes[id].location;
    // Each node without a location is a statement of its own.
    const int line = place.known() ? place.line : -1 - static_cast<int>(id.index);
    const auto [found, fresh] = statement_at_.try_emplace({scope, place.file_name(), line}, paths_.statements_.size());
    if (fresh) paths_.statements_.push_back({scope, "literal"});
    return found->second;
  }

  void number() {
    Ordinals<std::size_t> scopes, statements, operations;
    for (Scope& scope : paths_.scopes_)
      if (scope.outer != Scope::kNone) scope.label = scopes.numbered(scope.outer, scope.label);
    for (Statement& statement : paths_.statements_) statement.label = statements.numbered(statement.scope, statement.label);
    for (StatementPaths::Operation& operation : paths_.operations_)
      if (!operation.label.empty()) operation.label = operations.numbered(operation.statement, operation.label);
    for (const Statement& statement : paths_.statements_)
      if (statement.same_as != Scope::kNone) paths_.operations_[statement.same_as].label.clear();
  }

  const Graph& graph_;
  StatementPaths& paths_;
  IdVector<RegionId, std::size_t> scope_of_region_;
  std::map<NodeId, std::size_t> statement_of_control_;
  std::map<std::pair<std::size_t, const SourceFrame*>, std::size_t> scope_of_frame_;
  std::map<std::tuple<std::size_t, std::string_view, int>, std::size_t> statement_at_;
  std::map<std::tuple<std::string_view, int, int>, std::size_t> forward_;  ///< the first operation at each position outside of gradients
};

StatementPaths::StatementPaths(const Graph& graph) {
  StatementWalk(graph, *this).run();
}

std::size_t StatementPaths::SourcePositionHash::operator()(const SourcePosition& place) const noexcept {
  const auto mix = [](std::size_t hash, std::size_t next) { return (hash ^ next) * 0x9e3779b97f4a7c15u; };
  const auto position = static_cast<std::size_t>(place.line) << 20 ^ static_cast<std::size_t>(place.column);
  return mix(mix(std::hash<std::string_view>()(place.file), position), std::hash<const void*>()(place.via));
}

/// The path of a scope, with the separator behind it: "for.step/"; empty for the outermost scope.
std::string StatementPaths::of(const Scope& scope) const {
  std::vector<std::string> parts;
  for (const Scope* each = &scope; each;) {
    if (!each->label.empty()) parts.push_back(each->label);
    if (each->statement != Scope::kNone) parts.push_back(statements_[each->statement].label);
    const std::size_t outer = each->statement != Scope::kNone ? statements_[each->statement].scope : each->outer;
    each = outer == Scope::kNone ? nullptr : &scopes_[outer];
  }
  std::string path;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) path += *part + "/";
  return path;
}

std::string StatementPaths::of(const SourceLocation& place) const {
  const auto found = place.known() ? operation_at_.find(key(place)) : operation_at_.end();
  if (found == operation_at_.end()) return "";
  const Operation& operation = operations_[found->second];
  const Statement& statement = statements_[operation.statement];
  return of(scopes_[statement.scope]) + statement.label + (operation.label.empty() ? "" : "." + operation.label);
}

std::string StatementPaths::of_node(const Graph& graph, NodeId id) const {
  const Node& node = graph.nodes[id];
  if (belongs_to_control(node.kind)) {
    const std::string name = bound_name(graph, node);
    return of_node(graph, node.owner) + "/" + std::string(to_string(node.kind)) + (name.empty() ? "" : "." + as_label(name));
  }
  std::string path = of(node.location);
  if (!path.empty()) return path;
  const NodeId owner = graph.regions[node.region].owner;
  const std::string name = bound_name(graph, node);
  return (owner.valid() ? of_node(graph, owner) + "/" : "") + (name.empty() ? operation_label(graph, id) : as_label(name));
}

IdVector<NodeId, std::string> StatementPaths::of_nodes(const Graph& graph) const {
  IdVector<NodeId, std::string> paths(graph.nodes.size());
  std::unordered_map<std::string, int> times;
  for (const bool literals : {false, true}) {  // literals last: at equal paths, the operation is the first and has no number
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if ((graph.nodes[NodeId(i)].kind == NodeKind::constant) != literals) continue;
      std::string path = of_node(graph, NodeId(i));
      const int count = ++times[path];
      paths[NodeId(i)] = count == 1 ? std::move(path) : path + "[" + std::to_string(count) + "]";
    }
  }
  return paths;
}

}  // namespace cleave

#include "models/reader/statement_sites.h"

#include <algorithm>

#include "models/reader/statement_mistakes.h"

namespace cleave::models {
namespace {

bool holds_statements(std::string_view key) {
  return key == "do" || key == "then" || key == "else";
}

bool is_operation(const ExpressionNode& node) {
  using Kind = ExpressionNode::Kind;
  return node.kind == Kind::call || node.kind == Kind::binary || node.kind == Kind::unary || node.kind == Kind::index;
}

std::string callee(const StatementSite& site) {
  if (site.expressions.empty() || site.expressions[0].root().kind != ExpressionNode::Kind::call) return "";
  return site.expressions[0].root().text;
}

/// The label of a statement in paths, and its name in messages.
std::pair<std::string, std::string> label_and_name(const StatementSite& site) {
  if (site.head && !is_head(site.head->key.text)) return {site.head->key.text, site.head->key.text};
  const std::string head = site.head ? site.head->key.text : "call";
  if (head == "call") return {"call." + callee(site), callee(site)};
  return {head == "for" && !site.bound.empty() ? "for." + site.bound[0] : head, head};
}

}  // namespace

StatementSites::StatementSites(const YamlNode& root, const Source& source) : source_(source) {
  const YamlEntry* functions = root.find("functions");
  if (functions)
    for (const YamlEntry& function : functions->value.entries) {
      std::vector<std::string>& takes = functions_[function.key.text];
      const YamlEntry* taken = function.value.find("takes");
      Errors ignored(source);
      if (const auto parameters = taken ? parse_parameters(taken->value, ignored) : std::nullopt)
        for (const Parameter& parameter : *parameters) takes.push_back(parameter.name.text);
    }
  if (const YamlEntry* program = root.find("program")) walk(program->value, StatementSite::kNone, "", "program");
  if (functions)
    for (const YamlEntry& function : functions->value.entries)
      if (const YamlEntry* body = function.value.find("do"))
        walk(body->value, StatementSite::kNone, function.key.text, "functions/" + function.key.text);
  index_operations();
}

void StatementSites::walk(const YamlNode& list, std::size_t outer, const std::string& function, const std::string& path) {
  Errors ignored(source_);
  StatementKeys keys(ignored);
  std::map<std::string, int> times;
  for (const YamlNode& item : list.items) {
    StatementSite site;
    site.item = &item;
    site.list = &list;
    site.outer = outer;
    site.function = function;
    site.head = item.map() ? keys.head_of(item) : nullptr;
    if (item.map() && !site.head) continue;
    add_expressions(site, ignored);
    std::string label;
    std::tie(label, site.name) = label_and_name(site);
    const int count = ++times[label];
    site.path = path + "/" + label + (count > 1 ? "#" + std::to_string(count) : "");
    const std::size_t index = sites_.size();
    const std::string inside = site.path;
    sites_.push_back(std::move(site));
    for (const YamlEntry& entry : item.entries)
      if (holds_statements(entry.key.text)) walk(entry.value, index, function, inside + (entry.key.text == "else" ? "/else" : ""));
  }
}

void StatementSites::add_expressions(StatementSite& site, Errors& ignored) const {
  const auto add = [&](std::optional<Expression> expression) {
    if (expression) site.expressions.push_back(*std::move(expression));
  };
  if (!site.head) return add(parse_expression(*site.item, ignored));
  const YamlEntry& head = *site.head;
  if (head.key.text == "for") {
    if (auto parsed = parse_for_head(head.value, ignored)) {
      for (const Name& name : parsed->names) site.bound.push_back(name.text);
      add(std::move(parsed->count));
    }
  } else if (head.value.map()) {
    site.bound.push_back(head.key.text);
    for (const YamlEntry& member : head.value.entries) {
      site.bound.push_back(head.key.text + "." + member.key.text);
      add(member.value.kind == YamlNode::Kind::missing ? name_expression({member.key.text, member.key.span})
                                                       : parse_expression(member.value, ignored));
    }
  } else {
    if (!is_head(head.key.text))
      if (const auto names = parse_names(head.key, ignored))
        for (const Name& name : *names) site.bound.push_back(name.text);
    add(parse_expression(head.value, ignored));
  }
  for (const char* key : {"until", "expect", "at_most", "prefetch", "probability"})
    if (const YamlEntry* entry = site.key(key)) add(parse_expression(entry->value, ignored));
}

std::optional<StatementSites::Found> StatementSites::operation_at(const SourceLocation& location) const {
  const SourceLocation model = source_.whole_file();
  if (location.file && *location.file != *model.file) return std::nullopt;  // an included file
  const auto found = operations_.find({location.line, location.column});
  return found == operations_.end() ? std::nullopt : std::optional(found->second);
}

void StatementSites::index_operations() {
  for (const StatementSite& site : sites_)
    for (const Expression& expression : site.expressions)
      for (const ExpressionNode& node : expression.nodes) {
        if (!is_operation(node)) continue;
        const SourceLocation place = source_.location(node.span.begin);
        operations_.emplace(std::pair(place.line, place.column), Found{&site, &expression, &node});
      }
}

const StatementSite* StatementSites::head_at(const SourceLocation& location) const {
  for (const StatementSite& site : sites_)
    if (site.head && source_.location(site.head->key.span.begin) == location) return &site;
  return nullptr;
}

std::set<std::string> StatementSites::callees(const StatementSite& site) const {
  std::set<std::string> found;
  for (const Expression& expression : site.expressions)
    for (const ExpressionNode& node : expression.nodes)
      if (node.kind == ExpressionNode::Kind::call && functions_.contains(callee(expression, node).text))
        found.insert(callee(expression, node).text);
  return found;
}

std::size_t StatementSites::calls_of(const std::string& function) const {
  std::size_t calls = 0;
  for (const StatementSite& site : sites_)
    for (const Expression& expression : site.expressions)
      for (const ExpressionNode& node : expression.nodes)
        if (node.kind == ExpressionNode::Kind::call && callee(expression, node).text == function) calls += node.text == kEach ? 2 : 1;
  return calls;
}

bool StatementSites::calls_function(const StatementSite& site) const {
  return !callees(site).empty();
}

bool StatementSites::at_one_place(const StatementSite& site) const {
  std::set<std::string> seen;
  for (const StatementSite* at = &site; !at->function.empty();) {
    if (calls_of(at->function) != 1 || !seen.insert(at->function).second) return false;
    const auto caller =
        std::find_if(sites_.begin(), sites_.end(), [&](const StatementSite& each) { return callees(each).contains(at->function); });
    at = &*caller;
  }
  return true;
}

std::optional<StatementSites::Found> StatementSites::argument(const std::string& function, const std::string& taken) const {
  const auto declared = functions_.find(function);
  if (declared == functions_.end() || calls_of(function) != 1) return std::nullopt;
  for (const StatementSite& site : sites_)
    if (site.function == function && std::find(site.bound.begin(), site.bound.end(), taken) != site.bound.end()) return std::nullopt;
  const auto position =
      static_cast<std::size_t>(std::find(declared->second.begin(), declared->second.end(), taken) - declared->second.begin());
  if (position == declared->second.size()) return std::nullopt;
  for (const auto& [place, call] : operations_) {
    if (call.node->kind != ExpressionNode::Kind::call || call.node->text != function) continue;
    for (std::size_t i = 0; i < call.node->parts.size(); ++i) {
      const std::string& keyword = call.node->keywords[i].text;
      if (keyword.empty() ? i == position : keyword == taken)
        return Found{call.site, call.expression, &call.expression->nodes[call.node->parts[i]]};
    }
  }
  return std::nullopt;
}

bool StatementSites::inside(const StatementSite& inner, const StatementSite& outer) const {
  for (std::size_t at = inner.outer; at != StatementSite::kNone; at = sites_[at].outer)
    if (&sites_[at] == &outer) return true;
  return false;
}

std::set<std::string> StatementSites::placed_functions() const {
  std::set<std::string> placed;
  for (std::size_t before = placed.size() + 1; before != placed.size();) {
    before = placed.size();
    for (const StatementSite& site : sites_)
      if (site.key("place") || placed.contains(site.function)) placed.merge(callees(site));
  }
  return placed;
}

}  // namespace cleave::models

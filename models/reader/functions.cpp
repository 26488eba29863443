#include "models/reader/functions.h"

#include <algorithm>

#include "models/reader/declarations.h"

namespace cleave::models {
namespace {

std::optional<Function> read_function(const YamlEntry& entry, Errors& errors) {
  const auto name = declared_name(entry.key, errors);
  if (!name) return std::nullopt;
  Function function;
  function.name = *name;
  const std::vector<std::string> keys = {"takes", "do", "returns"};
  if (!check_keys(entry, keys, "a function", errors)) return std::nullopt;
  if (const YamlEntry* takes = entry.value.find("takes")) {
    if (auto parameters = parse_parameters(takes->value, errors)) function.takes = *std::move(parameters);
    for (const Parameter& taken : function.takes) {
      if (is_member(taken.name.text)) errors.add(DiagnosticKind::syntax, taken.name.span, "a name has no `.`; a group is taken as a whole");
    }
  }
  if (const YamlEntry* body = entry.value.find("do")) {
    function.body = parse_statements(body->value, "do", errors);
  } else {
    if (!may_be_misspelt(entry, "do", keys))
      errors.add(DiagnosticKind::syntax, name->span, "the function `" + name->text + "` needs `do:` with statements");
    return std::nullopt;
  }
  if (const YamlEntry* returns = entry.value.find("returns")) {
    if (auto names = parse_name_list(returns->value, errors)) function.returns = *std::move(names);
  }
  return function;
}

/// A call of one function in the body of another.
struct Call {
  Function* callee;
  Span span;
};

std::vector<Call> calls_of(const Function& function, Functions& functions) {
  std::vector<Call> calls;
  for_each_expression(function.body, [&](const Expression& expression) {
    for (const ExpressionNode& node : expression.nodes) {
      if (node.kind != ExpressionNode::Kind::call) continue;
      const ExpressionNode& called = callee(expression, node);
      const auto found = functions.find(called.text);
      if (found != functions.end()) calls.push_back({&found->second, called.span});
    }
  });
  return calls;
}

/// Depth-first search over the calls with an explicit stack; a call of a function on the current path closes a cycle.
class CycleSearch {
 public:
  CycleSearch(Functions& functions, Errors& errors) : functions_(functions), errors_(errors) {}

  void run() {
    for (auto& [name, function] : functions_) {
      if (!visited_[&function]) visit(function);
    }
  }

 private:
  struct Step {
    Function* function;
    std::vector<Call> calls;
    std::size_t next = 0;
  };

  void enter(Function& function) {
    visited_[&function] = true;
    open_[&function] = true;
    path_.push_back({&function, calls_of(function, functions_)});
  }

  void visit(Function& root) {
    enter(root);
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.next == step.calls.size()) {
        open_[step.function] = false;
        path_.pop_back();
        continue;
      }
      const Call call = step.calls[step.next++];
      if (open_[call.callee])
        report(call);
      else if (!visited_[call.callee])
        enter(*call.callee);
    }
  }

  void report(const Call& call) {
    const auto on_cycle = [&](const Step& step) { return step.function == call.callee; };
    const auto first = std::find_if(path_.begin(), path_.end(), on_cycle);
    std::string through;
    for (auto step = first; step != path_.end(); ++step) {
      step->function->recursive = true;
      if (step != first) through += (through.empty() ? "" : ", ") + ("`" + step->function->name.text + "`");
    }
    errors_.add(DiagnosticKind::value, call.span,
                "the function `" + call.callee->name.text + "` calls itself here" + (through.empty() ? "" : " through " + through) +
                    "; functions are inlined, so a self-reference never ends",
                {errors_.note(call.callee->name.span, "`" + call.callee->name.text + "` is declared here")});
  }

  Functions& functions_;
  Errors& errors_;
  std::map<const Function*, bool> visited_, open_;
  std::vector<Step> path_;
};

}  // namespace

void read_functions(const YamlNode& node, Functions& functions, Errors& errors) {
  for (const YamlEntry& entry : section_entries(node, "functions", errors)) {
    auto function = read_function(entry, errors);
    if (!function) continue;
    std::string name = function->name.text;
    functions.emplace(std::move(name), *std::move(function));
  }
}

void check_recursion(Functions& functions, Errors& errors) {
  CycleSearch(functions, errors).run();
}

}  // namespace cleave::models

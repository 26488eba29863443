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
  const std::vector<std::string> keys = {"takes", "do", "returns", "gradient", "recompute"};
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
  if (const YamlEntry* gradient = entry.value.find("gradient")) function.gradient = read_gradient_key(gradient->value, errors);
  if (const YamlEntry* recompute = entry.value.find("recompute")) function.recompute = read_recompute(recompute->value, errors);
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
  if (function.gradient) {  // it is traced where the function is called
    const auto found = functions.find(function.gradient->function.text);
    if (found != functions.end()) calls.push_back({&found->second, function.gradient->function.span});
  }
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

std::optional<GradientKey> read_gradient_key(const YamlNode& node, Errors& errors) {
  const auto named = [&](const YamlNode& text) -> std::optional<Name> {
    const std::string name(trimmed(text.text));
    if (text.scalar() && !name.empty()) return Name{name, text.span};
    if (!text.broken())
      errors.add(DiagnosticKind::type, text.span, "`gradient` is the name of a function, or `{function: NAME, reads: [inputs]}`");
    return std::nullopt;
  };
  if (!node.map()) {
    const auto name = named(node);
    return name ? std::optional(GradientKey{*name, {}}) : std::nullopt;
  }
  YamlEntry entry;
  entry.value = node;
  if (!check_keys(entry, {"function", "reads"}, "a gradient", errors)) return std::nullopt;
  const YamlEntry* function = node.find("function");
  if (!function) {
    errors.add(DiagnosticKind::syntax, node.span, "`gradient` needs `function:`, the name of a function");
    return std::nullopt;
  }
  const auto name = named(function->value);
  if (!name) return std::nullopt;
  GradientKey key{*name, {}};
  const YamlEntry* reads = node.find("reads");
  if (!reads) return key;
  key.reads = {false, false};
  if (reads->value.list() && reads->value.items.empty()) return key;
  const auto words = parse_name_list(reads->value, errors);
  if (!words) return std::nullopt;
  for (const Name& word : *words) {
    if (word.text == "inputs")
      key.reads.inputs = true;
    else if (word.text == "results")
      key.reads.results = true;
    else
      errors.add(DiagnosticKind::unknown, word.span, "`reads` is a list of `inputs` and `results`, not `" + word.text + "`");
  }
  return key;
}

namespace {

/// Whether the gradient `key` of `name`, which has so many arguments and results, can be called.
bool check_gradient(const std::string& name, const GradientKey& key, std::size_t arguments, std::size_t results, const Functions& functions,
                    Evaluator& evaluator) {
  const auto function = functions.find(key.function.text);
  const auto host = evaluator.host_functions.find(key.function.text);
  if (function == functions.end() && host == evaluator.host_functions.end()) {
    std::vector<std::string> names;
    for (const auto& [known, each] : functions) names.push_back(known);
    for (const auto& [known, each] : evaluator.host_functions) names.push_back(known);
    evaluator.fail(DiagnosticKind::unknown, key.function.span,
                   "the gradient of `" + name + "` is a function of the model; there is no `" + key.function.text + "`" +
                       evaluator.errors.suggest(key.function.text, names));
    return false;
  }
  const std::size_t takes = function != functions.end() ? function->second.takes.size() : host->second->takes.size();
  const std::size_t given = (key.reads.inputs ? arguments : 0) + (key.reads.results ? results : 0) + results;
  if (takes == given) return true;
  const std::string shared = std::string(key.reads.inputs ? "the arguments, " : "") + (key.reads.results ? "the results, " : "");
  evaluator.fail(DiagnosticKind::type, key.function.span,
                 "`" + key.function.text + "` takes " + std::to_string(takes) + (takes == 1 ? " argument" : " arguments") +
                     "; as the gradient of `" + name + "` it is given " + std::to_string(given) + ": " + shared +
                     "and a cotangent for each result");
  return false;
}

}  // namespace

void check_gradients(Functions& functions, Evaluator& evaluator) {
  for (auto& [name, function] : functions) {
    if (function.gradient &&
        !check_gradient(name, *function.gradient, function.takes.size(), function.returns.size(), functions, evaluator))
      function.gradient.reset();
  }
  const std::map<std::string, GradientKey, std::less<>> all = evaluator.host_gradients;
  std::erase_if(evaluator.host_gradients, [&](const auto& each) {
    const HostFunction& host = *evaluator.host_functions.find(each.first)->second;
    if (!check_gradient(each.first, each.second, host.takes.size(), host.returns.size(), functions, evaluator)) return true;
    std::size_t steps = 0;
    for (auto next = all.find(each.second.function.text); next != all.end() && steps <= all.size(); ++steps)
      next = all.find(next->second.function.text);
    if (steps <= all.size()) return false;
    evaluator.fail(
        DiagnosticKind::value, each.second.function.span,
        "the gradient of `" + each.first + "` leads back to itself; each call records the gradients of gradients, so it never ends");
    return true;
  });
}

void check_recursion(Functions& functions, Errors& errors) {
  CycleSearch(functions, errors).run();
}

}  // namespace cleave::models

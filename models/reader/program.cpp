#include "models/reader/program.h"

#include <algorithm>

#include "graph/base/number_text.h"
#include "graph/trace/predicate_text.h"
#include "graph/trips.h"

namespace cleave::models {

void Program::run(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    if (stopped()) return;
    for (const Allowance& allowance : statement.allowed) evaluator_.tracer.push_allow(allowance);
    if (statement.recompute != Recompute::automatic) evaluator_.tracer.push_recompute(statement.recompute);
    run_one(statement);
    if (statement.recompute != Recompute::automatic) evaluator_.tracer.pop_recompute();
    for (std::size_t i = 0; i < statement.allowed.size(); ++i) evaluator_.tracer.pop_allow();
  }
}

void Program::run_one(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::bind: return bind(statement);
    case Statement::Kind::group: return group(statement);
    case Statement::Kind::effect: {
      if (!statement.expression) return;
      all_placed(statement, statement.expression);
      return;
    }
    case Statement::Kind::for_loop: return for_loop(statement);
    case Statement::Kind::while_loop: return while_loop(statement);
    case Statement::Kind::branch: return branch(statement);
  }
}

void Program::bind(const Statement& statement) {
  const Arguments results = all_placed(statement, statement.expression);
  if (fit_names(statement.names, results)) {
    for (std::size_t i = 0; i < results.size(); ++i) bind_argument(statement.names[i], results[i]);
    return;
  }
  Operands values;
  for (const Argument& result : results) {
    if (result.members)
      values.insert(values.end(), result.operands.begin(), result.operands.end());
    else
      values.push_back(result.operand);
  }
  const std::vector<Name> names = with_members(statement.names);
  const std::size_t wanted = names.size();
  const bool failed = !statement.expression || evaluator_.exhausted() ||
                      (!values.empty() && std::all_of(values.begin(), values.end(), [](const Operand& value) { return value.poisoned(); }));
  if (values.size() != wanted) {
    if (!failed && wanted > 0) {
      const std::string given = values.empty() ? "no result" : values.size() == 1 ? "1 result" : std::to_string(values.size()) + " results";
      const ExpressionNode& root = statement.expression->root();
      if (values.empty() && root.kind == ExpressionNode::Kind::call) {
        evaluator_.fail(DiagnosticKind::type, root.span,
                        takes(root.text) ? "the function `" + root.text + "` gives nothing back; add `returns:`"
                                         : "`" + root.text + "` gives nothing back; call it without a name: `- " + root.text + "(…)`");
        values.assign(wanted, Operand());
        for (std::size_t i = 0; i < wanted; ++i) bind_name(names[i], values[i]);
        return;
      }
      evaluator_.fail(
          DiagnosticKind::type, statement.span,
          "the expression gives " + given + ", but " + std::to_string(wanted) + (wanted == 1 ? " name is" : " names are") + " bound");
    }
    values.assign(wanted, Operand());
  }
  for (std::size_t i = 0; i < wanted; ++i) bind_name(names[i], values[i]);
}

void Program::bind_name(const Name& name, Operand operand) {
  if (evaluator_.scopes.is_dim(name.text)) {
    const Binding& bound = *evaluator_.scopes.find(name.text);
    if (bound.unknown) return;  // reported already
    evaluator_.fail(DiagnosticKind::value, name.span, "`" + name.text + "` is a dim and cannot be bound",
                    {evaluator_.errors.note(bound.span, "declared here")});
    return evaluator_.scopes.bind_unknown(name.text, name.span);
  }
  if (is_member(name.text) && !evaluator_.scopes.find(name.text)) {
    const std::string owner = name.text.substr(0, name.text.rfind('.'));
    evaluator_.fail(DiagnosticKind::unknown, name.span,
                    evaluator_.scopes.find_group(owner)
                        ? "the group `" + owner + "` has no `" + name.text.substr(owner.size() + 1) + "`"
                        : "there is no group `" + owner + "`; a group is declared as `" + owner + ": {…}` under `parameters:`, or bound");
  }
  evaluator_.tracer.name(operand, name.text);
  evaluator_.scopes.bind(name.text, operand, name.span);
}

Arguments Program::all_placed(const Statement& statement, const std::optional<Expression>& expression) {
  if (!expression) return {};
  if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
  Arguments results = evaluator_.all(*expression);
  if (statement.place != Side::none) evaluator_.tracer.pop_place();
  return results;
}

Operand Program::placed(const Statement& statement, const std::optional<Expression>& expression) {
  if (!expression) return {};
  if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
  const Operand result = evaluator_.one(*expression);
  if (statement.place != Side::none) evaluator_.tracer.pop_place();
  return result;
}

/// The value of `expect` or, up to 1, of `probability`. Reports a wrong one here, where its own location is known.
std::optional<double> Program::expected(const Statement& statement, const std::string& what, double most) {
  if (!statement.expected) return std::nullopt;
  const auto number = evaluator_.number(*statement.expected, "`" + what + "`");
  if (!number || (*number >= 0 && *number <= most)) return number;
  evaluator_.fail(DiagnosticKind::value, statement.expected->span,
                  "`" + what + "` is " + general_text(*number, 9) + "; it " +
                      (most == 1 ? "lies between 0 and 1" : "is a number of trips, at least 0"));
  return std::nullopt;
}

/// The value of `until`. Checked here, since the Tracer would report a wrong one at the place where it was computed.
std::optional<Operand> Program::until(const Statement& statement) {
  if (!statement.has_until) return std::nullopt;
  const Operand until = placed(statement, statement.until);
  const TensorType* type = evaluator_.tracer.type(until);
  if (!type || (type->scalar() && type->dtype == DType::boolean)) return until;
  evaluator_.fail(DiagnosticKind::predicate, statement.until->span, no_predicate("`until`", *type));
  return std::nullopt;
}

std::optional<std::int64_t> Program::at_most(const Statement& statement) {
  if (!statement.at_most) return std::nullopt;
  const auto number = evaluator_.integer(*statement.at_most, "`at_most`");
  if (!number || (*number >= 1 && *number <= std::numeric_limits<std::int32_t>::max())) return number;
  evaluator_.fail(DiagnosticKind::value, statement.at_most->span,
                  "`at_most` is " + std::to_string(*number) + "; it is a number of trips from 1 to 2147483647");
  return std::nullopt;
}

std::optional<std::int64_t> Program::prefetch(const Statement& statement) {
  if (!statement.prefetch) return std::nullopt;
  return checked_prefetch(evaluator_.integer(*statement.prefetch, "`prefetch`"), statement.prefetch->span);
}

std::optional<std::int64_t> Program::checked_prefetch(std::optional<std::int64_t> number, Span span) {
  if (!number || (*number >= 0 && *number <= kMostPrefetch)) return number;
  evaluator_.fail(DiagnosticKind::value, span,
                  "`prefetch` is " + std::to_string(*number) + "; it is a number of trips from 0 to " + std::to_string(kMostPrefetch));
  return std::nullopt;
}

// --- carried values -------------------------------------------------------------------------------------------------------------------

std::vector<std::string> Program::carried_names(const Statement& statement) const {
  std::vector<std::string> names = bound_names(statement.body);
  for (std::string& name : bound_names(statement.otherwise)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  std::vector<Name> all;
  for (std::string& name : names) all.push_back({std::move(name), {}});
  names.clear();
  for (Name& name : with_members(all)) {
    if (std::find(names.begin(), names.end(), name.text) == names.end()) names.push_back(std::move(name.text));
  }
  std::erase_if(names, [&](const std::string& name) {
    const bool counter = statement.kind == Statement::Kind::for_loop &&
                         std::any_of(statement.names.begin(), statement.names.end(), [&](const Name& each) { return each.text == name; });
    return counter || evaluator_.scopes.is_dim(name) || !evaluator_.scopes.find(name);
  });
  return names;
}

Program::States Program::states(const std::vector<std::string>& names) const {
  States result;
  for (const std::string& name : names) {
    const Binding* binding = evaluator_.scopes.find(name);
    result.push_back({name, binding->operand, evaluator_.tracer.chained(evaluator_.location(binding->span))});
  }
  return result;
}

/// Binds outer names in a new scope, at the spans where they were bound outside.
void Program::bind_all(const std::vector<std::string>& names, const std::vector<Operand>& operands) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    evaluator_.scopes.bind(names[i], operands[i], evaluator_.scopes.find(names[i])->span);
  }
}

/// Binds the names after a loop or branch to its results.
void Program::rebind_all(const std::vector<std::string>& names, const std::vector<Operand>& operands, Span span) {
  for (std::size_t i = 0; i < names.size(); ++i) evaluator_.scopes.bind(names[i], operands[i], span);
}

// --- control flow ---------------------------------------------------------------------------------------------------------------------

/// Skips a loop whose head or body is wrong: the values that it carries become unknown.
void Program::skip(const Statement& statement) {
  const std::vector<std::string> names = carried_names(statement);
  rebind_all(names, std::vector<Operand>(names.size()), statement.span);
}

/// Whether the head of a `for` is a count; reports a list or array, over which other languages iterate.
bool Program::check_counts(const Statement& statement) {
  if (!statement.expression) return true;
  const ExpressionNode& root = statement.expression->root();
  if (root.kind != ExpressionNode::Kind::list || root.text == "range") return true;
  const std::string list(evaluator_.errors.source().at(statement.expression->span)), count = std::to_string(root.parts.size());
  const std::string& counter = statement.names[0].text;
  evaluator_.fail(DiagnosticKind::type, statement.expression->span,
                  "a loop counts; write `for: " + counter + " in " + count + "` and `" + list + "[" + counter + "]`");
  return false;
}

void Program::for_loop(const Statement& statement) {
  if (statement.names.empty() || statement.body.empty()) return skip(statement);
  if (reads_batches(statement)) return batches_loop(statement);
  if (!check_counts(statement)) return skip(statement);
  const Range range = this->range(statement);
  const Name& counter = statement.names[0];
  loop(statement, range.count, range.plain() ? counter.text : "", expected(statement, "expect"), at_most(statement), prefetch(statement),
       [&](const Operand& trip) { bind_name(counter, counted(range, trip, counter)); });
}

/// A loop of `count` trips, of which each begins with `bind`.
void Program::loop(const Statement& statement, const Operand& count, std::string_view counter, std::optional<double> expect,
                   std::optional<std::int64_t> most, std::optional<std::int64_t> ahead,
                   const std::function<void(const Operand& trip)>& bind) {
  Tracer& tracer = evaluator_.tracer;
  const std::vector<std::string> names = carried_names(statement);
  const auto loop = tracer.begin_for(count, states(names), evaluator_.location(statement.span), expect, counter, most, ahead);
  evaluator_.scopes.push();
  bind_all(names, loop.inside);
  bind(loop.counter);
  run(statement.body);
  const std::optional<Operand> stop = until(statement);
  const States yielded = states(names);
  evaluator_.scopes.pop();
  rebind_all(names, tracer.end_for(yielded, stop), statement.span);
}

void Program::while_loop(const Statement& statement) {
  if (statement.body.empty()) return skip(statement);
  Tracer& tracer = evaluator_.tracer;
  const SourceLocation location = evaluator_.location(statement.span);
  const auto expect = expected(statement, "expect");
  const std::vector<std::string> names = carried_names(statement);
  const auto loop = tracer.begin_while(states(names), location, expect, at_most(statement));
  evaluator_.scopes.push();
  bind_all(names, loop.inside);
  const Operand condition = placed(statement, statement.expression);
  tracer.while_condition(condition, statement.expression ? evaluator_.location(statement.expression->span) : location);
  run(statement.body);
  const States yielded = states(names);
  evaluator_.scopes.pop();
  rebind_all(names, tracer.end_while(yielded), statement.span);
}

/// Runs the arm of a branch that a function's own numbers decide, as if it stood in place of the branch.
void Program::decided_branch(const Statement& statement, const std::vector<Statement>& arm) {
  std::vector<std::string> names = carried_names(statement);
  const std::vector<std::string> fresh = fresh_names(statement);
  evaluator_.scopes.push();
  run(arm);
  std::copy_if(fresh.begin(), fresh.end(), std::back_inserter(names),
               [&](const std::string& name) { return evaluator_.scopes.find_here(name) != nullptr; });
  const States values = states(names);
  evaluator_.scopes.pop();
  std::vector<Operand> operands;
  for (const Tracer::State& value : values) operands.push_back(value.operand);
  rebind_all(names, operands, statement.span);
}

void Program::branch(const Statement& statement) {
  Tracer& tracer = evaluator_.tracer;
  const Operand predicate = placed(statement, statement.expression);
  if (depth_ > 0 && predicate.literal && predicate.literal->type == Literal::Type::boolean)
    return decided_branch(statement, predicate.literal->integer != 0 ? statement.body : statement.otherwise);
  const auto probability = expected(statement, "probability", 1);
  std::vector<std::string> names = carried_names(statement);
  const std::vector<std::string> fresh = fresh_names(statement);
  tracer.begin_branch(predicate, evaluator_.location(statement.span), probability);
  evaluator_.scopes.push();
  run(statement.body);
  States then_values = states(names);
  std::vector<std::optional<Tracer::State>> first;
  for (const std::string& name : fresh) {
    first.push_back(evaluator_.scopes.find_here(name) ? std::optional(states({name}).front()) : std::nullopt);
  }
  evaluator_.scopes.pop();
  tracer.begin_otherwise();
  evaluator_.scopes.push();
  run(statement.otherwise);
  States else_values = states(names);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const Binding* second = evaluator_.scopes.find_here(fresh[i]);
    if (!first[i] || !second) continue;
    if (!same_kind(first[i]->operand, second->operand)) {
      const auto type = [&](const Operand& operand) { return to_string(*tracer.type(operand)); };
      evaluator_.scopes.set_apart(fresh[i],
                                  "it is " + type(first[i]->operand) + " in one arm and " + type(second->operand) + " in the other");
      continue;
    }
    names.push_back(fresh[i]);
    then_values.push_back(*first[i]);
    else_values.push_back(states({fresh[i]}).front());
  }
  evaluator_.scopes.pop();
  rebind_all(names, tracer.end_branch(then_values, else_values), statement.span);
}

std::vector<std::string> Program::fresh_names(const Statement& statement) const {
  std::vector<std::string> names = bound_names(statement.body);
  const std::vector<std::string> others = bound_names(statement.otherwise);
  std::erase_if(names, [&](const std::string& name) {
    return evaluator_.scopes.find(name) || std::find(others.begin(), others.end(), name) == others.end();
  });
  return names;
}

/// Whether two values that the arms bind to one name have types that one result can have. If not, the name stays local to each arm.
bool Program::same_kind(const Operand& a, const Operand& b) const {
  const TensorType *first = evaluator_.tracer.type(a), *second = evaluator_.tracer.type(b);
  if (!first || !second) return true;  // a mistake, reported
  const auto becomes = [](const Operand& number, DType dtype) {
    if (!number.literal || number.literal->type == Literal::Type::boolean) return false;
    return is_floating(dtype) || (is_integer(dtype) && number.literal->type == Literal::Type::integer);
  };
  return first->shape == second->shape && (first->dtype == second->dtype || becomes(a, second->dtype) || becomes(b, first->dtype));
}

// --- functions ------------------------------------------------------------------------------------------------------------------------

const std::vector<Parameter>* Program::takes(std::string_view function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : &found->second.takes;
}

std::vector<std::string> Program::function_names() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) names.push_back(name);
  return names;
}

Arguments Program::inline_call(std::string_view name, const Arguments& arguments, Span call) {
  const Function& function = functions_.find(name)->second;
  Arguments results(std::max<std::size_t>(function.returns.size(), 1));
  if (function.recursive || stopped()) return results;
  if (depth_ >= kMostDepth) {
    evaluator_.fail(DiagnosticKind::limit, call,
                    "calls are nested too deeply here (more than " + std::to_string(kMostDepth) + " functions)");
    return results;
  }
  Tracer& tracer = evaluator_.tracer;
  ++depth_;
  tracer.push_scope(function.name.text, evaluator_.location(call));
  evaluator_.errors.set_via(tracer.chained({}).via);
  evaluator_.scopes.push(function.included ? Scopes::Kind::included_function : Scopes::Kind::model_function);
  for (std::size_t i = 0; i < function.takes.size(); ++i) bind_argument(function.takes[i].name, arguments[i]);
  if (function.recompute != Recompute::automatic) tracer.push_recompute(function.recompute);
  run(function.body);
  if (function.recompute != Recompute::automatic) tracer.pop_recompute();
  results.assign(function.returns.size(), Argument());
  for (std::size_t i = 0; i < results.size() && !stopped(); ++i) {
    const Arguments returned = evaluator_.all(name_expression(function.returns[i]));
    if (!returned.empty()) results[i] = returned.front();
  }
  evaluator_.scopes.pop();
  if (const auto& gradient = function.gradient; gradient && !stopped())
    results = evaluator_.with_gradient(function.name.text, *gradient, arguments, results, gradient->function.span);
  tracer.pop_scope();
  evaluator_.errors.set_via(tracer.chained({}).via);
  --depth_;
  return results;
}

}  // namespace cleave::models

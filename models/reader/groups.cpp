// Groups of values: `params: {w1, b1}`, and groups as arguments and results of functions. Each member is a name of its own, `params.w1`, so
// loops and branches carry it like any other name; a group is only the list of its members' names.
#include "models/reader/program.h"

namespace cleave::models {

/// `params: {w1, b1}` gives the values further names.
void Program::group(const Statement& statement) {
  if (statement.names.empty()) return;
  Argument group{{}, std::vector<std::string>(), {}};
  for (const Member& member : statement.members) {
    const Arguments results = all_placed(statement, member.expression);
    group.add(member.name.text, results.size() == 1 ? results.front() : Argument{placed(statement, member.expression), {}, {}});
  }
  if (!group.members->empty()) bind_argument(statement.names.front(), group);
}

std::vector<Name> Program::with_members(const std::vector<Name>& names) const {
  std::vector<Name> result;
  for (const Name& name : names) {
    const std::vector<std::string>* members = evaluator_.scopes.find(name.text) ? nullptr : evaluator_.scopes.find_group(name.text);
    if (!members) result.push_back(name);
    if (!members) continue;
    for (const std::string& member : *members) result.push_back({name.text + "." + member, name.span});
  }
  return result;
}

bool Program::fit_names(const std::vector<Name>& names, const Arguments& results) const {
  if (names.size() != results.size()) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool value = evaluator_.scopes.find(names[i].text), group = !value && evaluator_.scopes.find_group(names[i].text);
    if (results[i].members ? value : group) return false;
  }
  return true;
}

void Program::bind_argument(const Name& name, const Argument& argument) {
  if (!argument.members) return bind_name(name, argument.operand);
  evaluator_.scopes.bind_group(name.text, *argument.members);
  for (std::size_t i = 0; i < argument.members->size(); ++i) {
    const std::string member = name.text + "." + (*argument.members)[i];
    evaluator_.tracer.name(argument.operands[i], member);
    evaluator_.scopes.bind(member, argument.operands[i], name.span);
  }
}

}  // namespace cleave::models

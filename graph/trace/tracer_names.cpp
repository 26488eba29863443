// Tracer: the names of values and of outputs.
#include <algorithm>
#include <map>

#include "graph/trace/tracer_state.h"

namespace cleave {

const Tracer::State_::GivenName* Tracer::State_::given_name(ValueId value) const {
  const auto found = value.valid() ? given_names.find(value.index) : given_names.end();
  return found == given_names.end() ? nullptr : &found->second.back();
}

const SourceLocation* Tracer::State_::where_named(ValueId value, const std::string& name) const {
  const auto found = value.valid() ? given_names.find(value.index) : given_names.end();
  if (found == given_names.end()) return nullptr;
  for (const GivenName& given : found->second)
    if (given.by_user && given.name == name) return &given.location;
  return nullptr;
}

void Tracer::name(const Operand& operand, std::string_view name) {
  if (!operand.value.valid() || name.empty()) return;
  std::string& known = state_->graph.values[operand.value].name;
  if (known.empty()) known = name;
}

Operand Tracer::rename(Operand operand, std::string_view name, const SourceLocation& location) {
  if (name.empty() || operand.poisoned()) return operand;
  operand.name = name;
  if (!operand.value.valid()) return operand;
  State_& s = *state_;
  std::string& known = s.graph.values[operand.value].name;
  std::vector<State_::GivenName>& all = s.given_names[operand.value.index];
  if (all.empty() && !known.empty()) all.push_back({known, {}, false});
  std::erase_if(all, [&](const State_::GivenName& before) { return before.name == name; });
  all.push_back({std::string(name), s.chained(location), true});
  const NodeKind kind = s.graph.producer(operand.value).kind;
  if (kind != NodeKind::input && kind != NodeKind::parameter) known = name;
  return operand;
}

std::string Tracer::name_of(const Operand& operand) const {
  if (!operand.value.valid()) return operand.name;
  const State_::GivenName* given = state_->given_name(operand.value);
  return given ? given->name : state_->graph.values[operand.value].name;
}

void Tracer::inherit_name(const Operand& result, const Operand& yielded) {
  const State_::GivenName* given = state_->given_name(yielded.value);
  if (given && result.value.valid()) state_->graph.values[result.value].name = given->name;
}

/// The user's names of the value that no handle in `returned` has itself, oldest first.
std::vector<Tracer::State_::GivenName> Tracer::State_::names_left(ValueId value, std::span<const Returned> returned) const {
  const auto found = value.valid() ? given_names.find(value.index) : given_names.end();
  std::vector<GivenName> left = found == given_names.end() ? std::vector<GivenName>() : found->second;
  std::erase_if(left, [&](const GivenName& given) {
    return std::any_of(returned.begin(), returned.end(),
                       [&](const Returned& each) { return each.operand.value == value && each.operand.name == given.name; });
  });
  return left;
}

std::vector<std::string> Tracer::output_names(std::span<const Returned> returned) {
  State_& s = *state_;
  std::map<std::string, ValueId> taken;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < returned.size(); ++i) {
    const Operand& operand = returned[i].operand;
    const auto same = [&](const Returned& each) { return each.member.empty() && each.operand.value == operand.value; };
    const bool several = s.given_name(operand.value) && std::count_if(returned.begin(), returned.end(), same) > 1;
    std::string name = returned[i].member;
    if (name.empty()) name = several ? operand.name : name_of(operand);
    if (name.empty() && several) {
      // Takes the last of the remaining names, one for each unnamed return of the value.
      const auto without = [&](const Returned& each) { return same(each) && each.operand.name.empty(); };
      const std::vector<State_::GivenName> left = s.names_left(operand.value, returned);
      const auto here = returned.begin() + static_cast<std::ptrdiff_t>(i);
      const auto times = static_cast<std::size_t>(std::count_if(returned.begin(), returned.end(), without));
      const std::size_t before = static_cast<std::size_t>(std::count_if(returned.begin(), here, without));
      const std::size_t index = before + (left.size() > times ? left.size() - times : 0);
      if (index < left.size()) name = left[index].name;
    }
    const auto first = taken.find(name);
    const bool again = !name.empty() && first != taken.end();
    const SourceLocation* given = again && returned[i].member.empty() ? s.where_named(operand.value, name) : nullptr;
    if (given && first->second != operand.value)
      s.graph.diagnostics.error(DiagnosticKind::value, *given, "`" + name + "` is the name of another output already");
    // A name that the user did not give to the output is replaced if it is taken.
    if (again) name.clear();
    if (!name.empty()) taken.emplace(name, operand.value);
    names.push_back(std::move(name));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t number = i; names[i].empty(); number = std::max(number + 1, names.size())) {
      const std::string numbered = "output" + std::to_string(number);
      if (taken.emplace(numbered, ValueId()).second) names[i] = numbered;
    }
  }
  return names;
}

}  // namespace cleave

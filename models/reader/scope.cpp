#include "models/reader/scope.h"

#include <algorithm>

namespace cleave::models {

void Scopes::add_dim(const std::string& name, std::int64_t value, Span span) {
  scopes_[0].names.insert_or_assign(name, Binding{Literal{Literal::Type::integer, value, 0}, span, false});
}

void Scopes::push(Kind kind) {
  scopes_.emplace_back().kind = kind;
}

bool Scopes::sees_dims() const {
  const auto function = std::find_if(scopes_.rbegin(), scopes_.rend(), [](const Scope& scope) { return scope.kind != Kind::block; });
  return function == scopes_.rend() || function->kind != Kind::included_function;
}

void Scopes::pop() {
  for (auto& [name, binding] : scopes_.back().names) ended_.insert_or_assign(name, binding.span);
  scopes_.pop_back();
}

void Scopes::bind(const std::string& name, Operand operand, Span span) {
  scopes_.back().names.insert_or_assign(name, Binding{operand, span, false});
}

void Scopes::bind_unknown(const std::string& name, Span span) {
  scopes_.back().names.insert_or_assign(name, Binding{Operand(), span, true});
}

const Binding* Scopes::find(std::string_view name) const {
  for (std::size_t i = scopes_.size(); i-- > 1;) {
    const auto found = scopes_[i].names.find(name);
    if (found != scopes_[i].names.end()) return &found->second;
    if (scopes_[i].kind != Kind::block) break;
  }
  if (!sees_dims()) return nullptr;
  const auto dim = scopes_[0].names.find(name);
  return dim != scopes_[0].names.end() ? &dim->second : nullptr;
}

const Binding* Scopes::find_here(std::string_view name) const {
  const auto found = scopes_.back().names.find(name);
  return found != scopes_.back().names.end() && !found->second.unknown ? &found->second : nullptr;
}

void Scopes::bind_group(const std::string& name, std::vector<std::string> members) {
  auto& groups = scopes_.back().groups;
  std::map<std::string, std::vector<std::string>> inner;
  for (const std::string& member : members) {
    for (std::size_t dot = member.find('.'); dot != std::string::npos; dot = member.find('.', dot + 1)) {
      inner[member.substr(0, dot)].push_back(member.substr(dot + 1));
    }
  }
  for (auto& [group, deeper] : inner) groups.insert_or_assign(name + "." + group, std::move(deeper));
  groups.insert_or_assign(name, std::move(members));
}

const std::vector<std::string>* Scopes::find_group(std::string_view name) const {
  for (std::size_t i = scopes_.size(); i-- > 1;) {
    const auto found = scopes_[i].groups.find(name);
    if (found != scopes_[i].groups.end()) return &found->second;
    if (scopes_[i].kind != Kind::block) break;
  }
  return nullptr;
}

std::optional<Span> Scopes::ended(std::string_view name) const {
  const auto found = ended_.find(name);
  return found != ended_.end() ? std::optional(found->second) : std::nullopt;
}

bool Scopes::hidden(std::string_view name) const {
  bool outside = false;
  for (std::size_t i = scopes_.size(); i-- > 1;) {
    const auto found = scopes_[i].names.find(name);
    if (outside && found != scopes_[i].names.end() && !found->second.unknown) return true;
    outside = outside || scopes_[i].kind != Kind::block;
  }
  return false;
}

const std::string* Scopes::apart(std::string_view name) const {
  const auto found = apart_.find(name);
  return found != apart_.end() ? &found->second : nullptr;
}

std::vector<std::string> Scopes::dims() const {
  std::vector<std::string> names;
  for (const auto& [name, binding] : scopes_[0].names) names.push_back(name);
  return names;
}

std::vector<std::string> Scopes::visible() const {
  std::vector<std::string> names;
  for (std::size_t i = scopes_.size(); i-- > 1;) {
    for (const auto& [name, binding] : scopes_[i].names) {
      if (!binding.unknown) names.push_back(name);
    }
    if (scopes_[i].kind != Kind::block) break;
  }
  for (const auto& [name, binding] : scopes_[0].names) names.push_back(name);
  return names;
}

}  // namespace cleave::models

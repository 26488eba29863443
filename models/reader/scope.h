// Symbol table: the operands of names at one point of a program, in nested scopes of loops and branches, and of functions, which do not see
// their caller's names. Dims are visible everywhere. The members of a group `layer` are names of their own, `layer.w`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/trace/tracer.h"
#include "models/reader/source.h"

namespace cleave::models {

struct Binding {
  Operand operand;
  Span span;             ///< where it was bound last
  bool unknown = false;  ///< no statement binds it; that was reported
};

class Scopes {
 public:
  Scopes() { scopes_.resize(2); }  // dims, then the program's own

  void add_dim(const std::string& name, std::int64_t value, Span span);
  [[nodiscard]] bool is_dim(std::string_view name) const { return sees_dims() && scopes_[0].names.contains(name); }

  /// `model_function`: hides the names of its caller. `included_function`: hides the dims, too, which the file that it is from does not
  /// know.
  enum class Kind : std::uint8_t { block, model_function, included_function };
  void push(Kind kind = Kind::block);
  void pop();
  /// Binds in the innermost scope.
  void bind(const std::string& name, Operand operand, Span span);
  /// Declares a name that is used but bound nowhere: its operand is poison from here on.
  void bind_unknown(const std::string& name, Span span);
  [[nodiscard]] const Binding* find(std::string_view name) const;
  /// The same in the innermost scope alone; null also for unknown names.
  [[nodiscard]] const Binding* find_here(std::string_view name) const;

  /// Declares a group, and the groups in it: the members `w`, `inner.w` and `inner.b` make a group `inner`. Members are bound separately.
  void bind_group(const std::string& name, std::vector<std::string> members);
  /// The names of the group's members without the group's own name, or null.
  [[nodiscard]] const std::vector<std::string>* find_group(std::string_view name) const;
  /// The span in which a name that is not found was bound, inside a loop or branch that has ended.
  [[nodiscard]] std::optional<Span> ended(std::string_view name) const;
  /// Whether a function hides a name of its caller.
  [[nodiscard]] bool hidden(std::string_view name) const;
  /// The reason why a name that both arms of a branch bound is not visible after it; null if there is no such name.
  [[nodiscard]] const std::string* apart(std::string_view name) const;
  void set_apart(const std::string& name, std::string why) { apart_.insert_or_assign(name, std::move(why)); }
  [[nodiscard]] std::vector<std::string> dims() const;
  /// All names that `find` finds, except unknown ones.
  [[nodiscard]] std::vector<std::string> visible() const;

 private:
  struct Scope {
    std::map<std::string, Binding, std::less<>> names;
    std::map<std::string, std::vector<std::string>, std::less<>> groups;
    Kind kind = Kind::block;
  };
  [[nodiscard]] bool sees_dims() const;
  std::vector<Scope> scopes_;
  std::map<std::string, Span, std::less<>> ended_;
  std::map<std::string, std::string, std::less<>> apart_;
};

}  // namespace cleave::models

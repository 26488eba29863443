// Evaluator: turns expressions (names, operators, indices, calls) into operands of the Tracer. It knows no statement and leaves calls of
// the model's functions to an Inliner. After a mistake the operand is poison, which the Tracer passes on without further errors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/host_function.h"
#include "graph/trace/custom_gradient.h"
#include "graph/trace/tracer.h"
#include "models/reader/expression.h"
#include "models/reader/literals.h"
#include "models/reader/scope.h"

namespace cleave::models {

class OnnxFunction;
using Operands = std::vector<Operand>;
/// An argument of a call, or a result: an operand, or the named members of a group.
struct Argument {
  Operand operand;
  std::optional<std::vector<std::string>> members;
  Operands operands;  ///< one for each member

  [[nodiscard]] const Operand* find(std::string_view member) const;
  [[nodiscard]] bool poisoned() const;
  /// Makes `value` a member of this group; one that is a group itself becomes a nested group.
  void add(const std::string& member, const Argument& value);
};
using Arguments = std::vector<Argument>;
/// `gradient: NAME` or `gradient: {function: NAME, reads: [inputs]}` of a function.
struct GradientKey {
  Name function;
  RuleReads reads;
};
/// The ONNX files of `models:`, by the names that call them.
using ModelFunctions = std::map<std::string, std::shared_ptr<OnnxFunction>, std::less<>>;
using HostFunctions = std::map<std::string, std::shared_ptr<const HostFunction>, std::less<>>;

/// Interface to the functions of the model.
class Inliner {
 public:
  virtual ~Inliner() = default;
  /// The parameters of a function, or null.
  [[nodiscard]] virtual const std::vector<Parameter>* takes(std::string_view function) const = 0;
  [[nodiscard]] virtual std::vector<std::string> function_names() const = 0;
  virtual Arguments inline_call(std::string_view function, const Arguments& arguments, Span call) = 0;
};

struct Evaluator {
  Tracer& tracer;
  Scopes& scopes;
  Errors& errors;
  const HostFunctions& host_functions;
  Inliner* inliner = nullptr;
  std::size_t work = 0;                                                 ///< expression nodes evaluated
  std::map<std::string, GradientKey, std::less<>> host_gradients = {};  ///< gradients of host functions
  ModelFunctions models = {};
  std::set<std::string, std::less<>> called_models = {};
  std::set<std::string, std::less<>> unreadable = {};  ///< functions with a wrong declaration: reported there, not again at each call

  static constexpr std::size_t kMostWork = 250'000;

  /// As many arguments as the expression has results.
  Arguments all(const Expression& expression);
  Operand one(const Expression& expression);
  /// The parts of a list, one operand each; `of`: nodes of the expression.
  Operands parts(const Expression& list) { return parts(list, list.root().parts); }
  Operands parts(const Expression& list, const std::vector<std::uint32_t>& of);
  /// The value of `expression` (of its node `node`), which must be known when the model is read; if it is not, nothing and an error. `what`
  /// names the value in the message.
  std::optional<Literal> literal(const Expression& expression, const std::string& what, std::optional<std::uint32_t> node = std::nullopt);
  std::optional<std::int64_t> integer(const Expression& expression, const std::string& what,
                                      std::optional<std::uint32_t> node = std::nullopt);
  std::optional<double> number(const Expression& expression, const std::string& what);
  std::optional<LiteralList> literals(const Expression& expression, const std::string& what,
                                      std::optional<std::uint32_t> node = std::nullopt);
  /// `f32[batch, 2]`
  std::optional<TensorType> type(const Expression& expression);

  /// "; did you mean `f32`?", or nothing if no element type is near.
  [[nodiscard]] std::string meant_dtype(std::string_view name) const;
  /// Whether every name in a type is a dim; reports the first name that is not.
  bool check_sizes(const Expression& type);

  /// `results` of a call of `name`, which have the gradient that `key` states from here on; it is recorded, and mistakes are said, at
  /// `place`. `arguments` and `results` may be groups.
  Arguments with_gradient(const std::string& name, const GradientKey& key, const Arguments& arguments, const Arguments& results,
                          Span place);
  /// Calls a host function of the model, with its gradient.
  Arguments call_host(const std::string& name, Operands operands, Span call);
  /// Calls an ONNX file of the model; its parameters are the members of `weights`, or of the group of its name if that is null.
  Arguments call_model(const std::string& name, const Operands& operands, const Argument* weights, Span call);
  /// Whether an op or function has this name; if not, reports it.
  bool check_callee(const std::string& name, Span span);

  void fail(DiagnosticKind kind, Span span, std::string message, std::vector<Note> notes = {}) {
    errors.add(kind, span, std::move(message), std::move(notes));
  }
  [[nodiscard]] SourceLocation location(Span span) const { return errors.source().location(span.begin); }
  /// Whether inlining has made the model too large; an error was added then.
  [[nodiscard]] bool exhausted() const { return work > kMostWork; }
};

}  // namespace cleave::models

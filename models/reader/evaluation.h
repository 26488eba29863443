// Evaluation of one expression in two walks over its nodes. The first goes from the root down and determines the role of each node
// (operand, list, attribute); the second goes from the leaves up and computes the operands. Internal to evaluator.cpp, evaluation.cpp,
// indexing.cpp, calls.cpp, group_calls.cpp and model_functions.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/reader/evaluator.h"

namespace cleave::models {

/// One parameter of an op's signature: `x`, `axis?`, `[arrays]`.
struct SignatureParameter {
  std::string name;
  bool list = false, optional = false;
  const AttributeDef* attribute = nullptr;  ///< null: an operand
};

/// The callee of a call, and the assignment of arguments to its parameters.
struct PlannedCall {
  enum class Kind : std::uint8_t { failed, op, host_function, function, model, gradient };
  Kind kind = Kind::failed;
  std::string callee;
  bool each = false;  ///< called once for each member of the groups among its arguments
  const OpDef* op = nullptr;
  std::shared_ptr<const HostFunction> host_function;
  struct ArgumentPart {
    std::uint32_t index;
    bool list = false;
    const AttributeDef* attribute = nullptr;
    std::optional<Literal> otherwise = {};  ///< the value of an argument that is not given; then `index` is kNone
  };
  std::vector<ArgumentPart> parts;                      ///< operands in order of the parameters, and attributes
  std::optional<std::uint32_t> weights = std::nullopt;  ///< the argument `parameters` of a model's call
};

struct Pick;  // indexing.cpp

class Evaluation {
 public:
  Evaluation(Evaluator& evaluator, const Expression& expression);

  void run(std::vector<std::uint32_t> roots);
  [[nodiscard]] const Arguments& results(std::uint32_t index) const { return results_[index]; }
  /// The single result of a node; poison (and an error) if it has none or several.
  Operand single(std::uint32_t index);
  /// The number or list of numbers of a node whose value is known when the model is read.
  std::optional<LiteralList> literals(std::uint32_t index, const std::string& what);

 private:
  using Index = std::uint32_t;
  using NodeType = ExpressionNode::Kind;
  enum class Role : std::uint8_t { none, operand, list };

  void assign(Index index);  ///< sets the roles of a node's parts
  void want(Index index, bool list_allowed = false);
  Arguments evaluate(Index index);
  Argument name(const ExpressionNode& node);
  Operand unknown_member(const ExpressionNode& node);
  Operand unary(const ExpressionNode& node);
  Operand binary(const ExpressionNode& node);
  Operand list(Index index);
  bool add_dtypes(Index index, std::optional<DType>& dtype);
  Operand stacked(Index index, DType dtype);
  Operand apply(std::string_view symbol, std::string_view op, const Operands& operands, Span span);

  // indexing.cpp
  Operand index(const ExpressionNode& node);
  std::optional<Operand> masked(const Operand& base, const ExpressionNode& node);
  std::optional<std::int64_t> bound(Index index);
  bool pick_range(const ExpressionNode& part, std::int64_t extent, Pick& pick);
  bool pick_position(Index index, const TensorType* x, std::size_t axis, Pick& pick);
  std::optional<std::vector<Pick>> picks(const ExpressionNode& node, const TensorType* x);

  // calls.cpp
  PlannedCall plan(const ExpressionNode& node);
  /// Takes an argument whose keyword names no parameter; returns false if that is a mistake.
  using TakeKeyword = std::function<bool(const std::string& keyword, Index part)>;
  /// The argument for each of `names`, positional or by keyword (kNone: not given); nothing, with an error, if some argument fits no name.
  std::optional<std::vector<Index>> place_arguments(const ExpressionNode& node, std::string_view signature,
                                                    const std::vector<std::string>& names, const TakeKeyword& elsewhere = nullptr);
  PlannedCall plan_op(const ExpressionNode& node, const OpDef& op);
  PlannedCall refuse_list(const ExpressionNode& given, const OpDef& op);
  /// `elsewhere` takes the keywords that are none of the parameters.
  PlannedCall plan_names(const ExpressionNode& node, const std::vector<Parameter>& takes, const TakeKeyword& elsewhere = nullptr);
  PlannedCall plan_host_function(const ExpressionNode& node, const std::shared_ptr<const HostFunction>& function);
  PlannedCall plan_model(const ExpressionNode& node, const OnnxFunction& function);
  Arguments call(const ExpressionNode& node, const PlannedCall& planned);
  /// The argument at a node.
  using TakeArgument = std::function<Argument(Index)>;
  Arguments call_once(const ExpressionNode& node, const PlannedCall& planned, const TakeArgument& take);
  std::optional<AttributeValue> attribute(const std::string& callee, const AttributeDef& definition, Index index);

  // group_calls.cpp
  /// The single result of a node, which may be a group.
  Argument argument(Index index);
  PlannedCall plan_gradient(const ExpressionNode& node);
  PlannedCall plan_each(const ExpressionNode& node);
  Arguments gradient(const ExpressionNode& node, const PlannedCall& planned);
  Arguments each(const ExpressionNode& node, const PlannedCall& planned);
  struct Groups {
    std::vector<std::string> members;  ///< of each group
    std::map<Index, Argument> of;
  };
  /// The groups among the arguments; nothing, with an error, if their members differ or there is none.
  std::optional<Groups> equal_groups(const ExpressionNode& node, const PlannedCall& planned);

  Evaluator& evaluator_;
  const Expression& expression_;
  std::vector<Role> roles_;
  std::vector<Arguments> results_;
  std::map<Index, PlannedCall> calls_;
};

}  // namespace cleave::models

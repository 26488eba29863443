// Call: an ONNX node while it is lowered, with its operands, its attributes and the Tracer. A lowering is a function from a Call to Values;
// table.h has the table of lowerings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/trace/composer.h"
#include "models/onnx/proto.h"
#include "models/onnx/table.h"
#include "models/onnx/texts.h"
#include "models/onnx/value.h"
#include "models/operator_function.h"

namespace cleave::models::onnx {

class BrokenArms;
class GraphReader;
struct Environment;

/// The interface of a lowering to its node. Attributes and operands have the names and numbers of ONNX's page of the operator.
///
///   Values gemm(Call& c) {
///     const double alpha = c.number("alpha", 1);
///     …
///     return {c.add(c(op::matmul, {a, b}), c[2])};
///   }
///
/// A lowering must read every attribute that has a meaning to it, and name those that it may ignore: the reader rejects a node with an
/// attribute that was neither read nor ignored, so that no meaning is lost. After it reports a mistake, a lowering returns the result of
/// the reporting function.
class Call : public Composer {
 public:
  Call(GraphReader& reader, Environment& names, const NodeProto& node, const Lowering& row, SourceLocation location, int version,
       Values operands);

  [[nodiscard]] std::string_view op() const { return node_.op_type; }
  /// The function of the vocabulary that its row of the table names.
  [[nodiscard]] const OpDef& function() const { return *row_.function; }
  /// The operator set version of the node.
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const NodeProto& node() const { return node_; }
  [[nodiscard]] const SourceLocation& location() const { return where_; }
  [[nodiscard]] Tracer& tracer();
  [[nodiscard]] BrokenArms& arms();

  // --- operands and results --------------------------------------------------------------------------------------------------------
  [[nodiscard]] std::size_t operands() const { return operands_.size(); }  ///< includes those left out between others
  [[nodiscard]] bool has(std::size_t i) const;                             ///< present, and not left out by an empty name
  /// An operand that must be present. The first missing one is reported, and no later mistake of the node; it is poison.
  [[nodiscard]] const Part& operator[](std::size_t i);
  [[nodiscard]] const Value& value(std::size_t i);        ///< the same with its data-dependent size, or a sequence
  [[nodiscard]] Parts parts(std::size_t from = 0) const;  ///< the operands from number `from` on
  [[nodiscard]] std::size_t results() const { return node_.outputs.size(); }
  [[nodiscard]] bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  /// The element type that the file states for a result; nothing if it states none.
  [[nodiscard]] std::optional<DType> stated_dtype(std::size_t result) const;

  // --- attributes; one of another type than requested is reported, and is treated as absent ----------------------------------------
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t fallback) { return integer(name).value_or(fallback); }
  [[nodiscard]] bool flag(std::string_view name, bool fallback = false) { return integer(name, fallback ? 1 : 0) != 0; }
  [[nodiscard]] std::optional<double> number(std::string_view name);
  double number(std::string_view name, double fallback) { return number(name).value_or(fallback); }
  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  std::string text(std::string_view name, std::string_view fallback) { return text(name).value_or(std::string(fallback)); }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name);
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view name);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name);
  [[nodiscard]] std::optional<Array> tensor(std::string_view name);
  /// The narrow type of an attribute's tensor, if it has one; else null.
  [[nodiscard]] const NarrowType* narrow_tensor(std::string_view name);
  [[nodiscard]] std::optional<Array> sparse_tensor(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> graph(std::string_view name);
  /// An attribute of any kind but graphs, types and their lists; those are nothing.
  [[nodiscard]] std::optional<OperatorNode::Attribute> any(std::string_view name);
  /// A tensor of texts; nothing if the attribute is absent or has numbers.
  [[nodiscard]] std::optional<TextTensor> text_tensor(std::string_view name);
  /// The element type that an integer attribute (`to`, `dtype`) denotes; reported if cleave lacks it.
  [[nodiscard]] std::optional<DType> dtype(std::string_view name);
  /// The same for operators that take narrow types too.
  [[nodiscard]] std::optional<ElementType> element(std::string_view name);
  [[nodiscard]] bool has_attribute(std::string_view name) { return attribute(name) != nullptr; }
  void ignore(std::initializer_list<std::string_view> names);
  /// The first attribute of the node that was neither read nor ignored.
  [[nodiscard]] std::optional<std::string_view> unread() const;

  // --- values known while the file is read ----------------------------------------------------------------------------------------
  /// The operand's value, if it follows from constants, shapes and frozen inputs alone.
  [[nodiscard]] std::optional<Array> known(std::size_t i) const;
  [[nodiscard]] std::optional<Array> known(const Value& value) const;  ///< the same for any value
  /// The operand's value, if it is a constant of the program: an initializer that no run replaces, or the result of `Constant`.
  [[nodiscard]] std::optional<Array> constant_operand(std::size_t i) const;
  /// A known operand as integers in row-major order. An unknown value is reported, with advice how to make it known. `what` says what
  /// depends on it ("the shape of the result").
  [[nodiscard]] std::optional<std::vector<std::int64_t>> known_integers(std::size_t i, std::string_view what);
  [[nodiscard]] std::optional<std::vector<double>> known_numbers(std::size_t i, std::string_view what);
  /// Operand `i` if it is present, else the attribute: for axes, steps and others that became operands in a later version.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(std::size_t i, std::string_view attribute, std::string_view what);
  /// How to make the operand known, as the end of a message: "; if it is the same in every run, give it with --constant M=VALUE".
  [[nodiscard]] std::string advice(std::size_t i) const;
  /// The maximum size of this node's result, from `--bound`.
  [[nodiscard]] std::optional<std::int64_t> bound() const;

  // --- construction of values ------------------------------------------------------------------------------------------------------
  [[nodiscard]] Part integers_constant(const std::vector<std::int64_t>& values, DType dtype = DType::i64);  ///< a vector
  template <class T>
  Part scalar(T value) {
    return constant(Array::scalar<T>(value));
  }
  /// `value` as a scalar of `dtype`.
  Part number_as(DType dtype, double value);
  /// An array constant with the elements `values`, in row-major order.
  Part numbers_constant(const std::vector<double>& values, DType dtype, Shape shape);
  /// `axis` counted from the front, for values of `rank` axes; if there is no such axis, nothing, and it is reported.
  std::optional<int> axis(std::int64_t axis, int rank);
  std::optional<std::vector<std::int64_t>> axes(const std::vector<std::int64_t>& axes, int rank);

  /// Whether a value was made for this node, so that no other node reads it yet.
  [[nodiscard]] bool made_here(const Part& part) const {
    return part.operand().value.valid() && part.operand().value.index >= first_value_;
  }

  /// Lowers a subgraph of this node (an arm, a body) with values for its inputs. It sees the names around the node.
  Values inline_graph(std::string_view graph, Values inputs);
  /// The names of the inputs and outputs that a graph declares.
  [[nodiscard]] static std::vector<std::string_view> graph_inputs(std::string_view graph);
  [[nodiscard]] static std::vector<std::string_view> graph_outputs(std::string_view graph);

  /// Reports a mistake of the file at this node. Returns poison for every result.
  Values mistake(DiagnosticKind kind, std::string message);
  /// Says at this node what its results are, if they are not quite what the file says.
  void remark(std::string message);
  /// Reports valid ONNX that cleave cannot express as "not supported". `what` completes "`Op` …".
  Values unsupported(std::string_view what);
  [[nodiscard]] Values poison() const;

 private:
  const AttributeProto* attribute(std::string_view name);
  std::optional<Array> array_in(std::string_view name, Result<Array> array);

  GraphReader& reader_;
  Environment& names_;
  const NodeProto& node_;
  const Lowering& row_;
  SourceLocation where_;
  int version_;
  Values operands_;
  Value none_;
  std::size_t first_value_;  ///< the number of values before this node
  std::set<std::string, std::less<>> asked_;
  bool incomplete_ = false;  ///< a missing operand was reported: what follows from it is not
};

}  // namespace cleave::models::onnx

// A node of an ONNX file while it is lowered: its operands, its attributes, and what it is traced with. A lowering is a function from a
// Call to Values; the table of them is table.h.
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
#include "models/onnx/value.h"

namespace cleave::models::onnx {

class BrokenArms;
class GraphReader;
struct Environment;

/// Everything a lowering asks and says. Attributes and operands are as ONNX's page of the operator names and numbers them.
///
///   Values gemm(Call& c) {
///     const double alpha = c.number("alpha", 1);
///     …
///     return {c.add(c("matmul", {a, b}), c[2])};
///   }
///
/// A lowering asks for every attribute that means something to it, and names those that it may ignore: the reader refuses a node with one
/// that nobody asked for, so that no meaning is lost. Where it reports a mistake it returns what `error` gives.
class Call : public Composer {
 public:
  Call(GraphReader& reader, Environment& names, const NodeProto& node, const Lowering& row, SourceLocation location, int version,
       Values operands);

  [[nodiscard]] std::string_view op() const { return node_.op_type; }
  /// What its row in the table says beside the lowering.
  [[nodiscard]] std::string_view function() const { return row_.function; }
  /// The version of the operator set that the node is of.
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const NodeProto& node() const { return node_; }
  [[nodiscard]] const SourceLocation& location() const { return where_; }
  [[nodiscard]] Tracer& tracer();
  [[nodiscard]] BrokenArms& arms();

  // --- operands and results --------------------------------------------------------------------------------------------------------
  [[nodiscard]] std::size_t operands() const { return operands_.size(); }  ///< with those left out between others
  [[nodiscard]] bool has(std::size_t i) const;                             ///< given, and not left out by an empty name
  /// The operand, which must be given: one that is not is reported once, and poison.
  [[nodiscard]] const Part& operator[](std::size_t i);
  [[nodiscard]] const Value& value(std::size_t i);        ///< the same with what is known of its size, or a sequence
  [[nodiscard]] Parts parts(std::size_t from = 0) const;  ///< the operands from one on
  [[nodiscard]] std::size_t results() const { return node_.outputs.size(); }
  [[nodiscard]] bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // --- attributes; one of another kind than is asked for is reported, and is as if it were not there ------------------------------------
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
  [[nodiscard]] std::optional<std::string_view> graph(std::string_view name);
  /// The element type that an integer attribute means (`to`, `dtype`); reported where cleave has none.
  [[nodiscard]] std::optional<DType> dtype(std::string_view name);
  [[nodiscard]] bool has_attribute(std::string_view name) { return attribute(name) != nullptr; }
  void ignore(std::initializer_list<std::string_view> names);
  /// The first attribute of the node that nobody asked for.
  [[nodiscard]] std::optional<std::string_view> unread() const;

  // --- what is known while the file is read ----------------------------------------------------------------------------------------
  /// The operand's value, if it follows from constants, shapes and frozen inputs alone.
  [[nodiscard]] std::optional<Array> known(std::size_t i) const;
  [[nodiscard]] std::optional<Array> known(const Value& value) const;  ///< the same of any value
  /// The same as integers in row-major order. Where it is not known this is reported, with what would make it known: `what` says what
  /// depends on it ("the shape of the result").
  [[nodiscard]] std::optional<std::vector<std::int64_t>> known_integers(std::size_t i, std::string_view what);
  [[nodiscard]] std::optional<std::vector<double>> known_numbers(std::size_t i, std::string_view what);
  /// Operand `i` if it is given, else the attribute: axes, steps, and others that moved from attributes to operands with a version.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(std::size_t i, std::string_view attribute, std::string_view what);
  /// What would make it known, to end a message with: "; if it is the same in every run, give it with --constant M=VALUE".
  [[nodiscard]] std::string advice(std::size_t i) const;
  /// The size that `--bound` gives for this node's result.
  [[nodiscard]] std::optional<std::int64_t> bound() const;

  // --- what is made --------------------------------------------------------------------------------------------------------------
  [[nodiscard]] Part integers_constant(const std::vector<std::int64_t>& values, DType dtype = DType::i64);  ///< a vector
  template <class T>
  Part scalar(T value) {
    return constant(Array::scalar<T>(value));
  }
  /// A number as a scalar of that element type.
  Part number_as(DType dtype, double value);
  /// Numbers in row-major order as elements of that type.
  Part numbers_constant(const std::vector<double>& values, DType dtype, Shape shape);
  /// `axis` counted from the front, for values of `rank` axes; nothing and reported if there is no such axis.
  std::optional<int> axis(std::int64_t axis, int rank);
  std::optional<std::vector<std::int64_t>> axes(const std::vector<std::int64_t>& axes, int rank);

  /// Lowers a graph of the file inside of this node, with values for its inputs: arms, bodies. Its names see those around.
  Values inline_graph(std::string_view graph, Values inputs);
  /// How many inputs and outputs a graph declares, and the names of its outputs.
  [[nodiscard]] static std::vector<std::string_view> graph_inputs(std::string_view graph);
  [[nodiscard]] static std::vector<std::string_view> graph_outputs(std::string_view graph);

  /// Reports a mistake of the file at this node. Returns poison for every result.
  Values mistake(DiagnosticKind kind, std::string message);
  /// "not supported": valid ONNX that cleave cannot express. `what` completes "`Op` …".
  Values unsupported(std::string_view what);
  [[nodiscard]] Values poison() const;

 private:
  const AttributeProto* attribute(std::string_view name);

  GraphReader& reader_;
  Environment& names_;
  const NodeProto& node_;
  const Lowering& row_;
  SourceLocation where_;
  int version_;
  Values operands_;
  Value none_;
  std::set<std::string_view> asked_;
  std::set<std::size_t> missed_;  ///< operands that were reported
};

}  // namespace cleave::models::onnx

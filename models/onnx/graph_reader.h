// GraphReader: the nodes of a graph of the file, in order, each by the lowering of its operator; graphs inside of nodes and functions of
// the model in place. Everything goes to the Tracer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/trace/tracer.h"
#include "models/model.h"
#include "models/onnx/broken_arms.h"
#include "models/onnx/known_values.h"
#include "models/onnx/locations.h"
#include "models/onnx/node_record.h"
#include "models/onnx/proto.h"
#include "models/onnx/table.h"
#include "models/onnx/tensors.h"
#include "models/onnx/value.h"

namespace cleave::models::onnx {

/// The names that are visible somewhere: those of a graph, and of the graphs around it.
struct Environment {
  std::unordered_map<std::string_view, Value> values;
  Environment* outer = nullptr;

  // Of a function's body: what the caller gave for its attributes, and the operator sets that it is written in.
  const FunctionProto* function = nullptr;
  const std::vector<AttributeProto>* given = nullptr;
  Environment* caller = nullptr;      ///< where the given attributes are themselves to be looked up
  std::set<std::string_view> absent;  ///< inputs of the function that the caller left out
  int depth = 0;                      ///< of graphs and functions inside each other
  int graph = 0;                      ///< its number, as in NodeRecord

  [[nodiscard]] const Value* find(std::string_view name) const;
  /// Whether it is an input of a function that the caller left out.
  [[nodiscard]] bool lacks(std::string_view name) const;
};

class GraphReader {
 public:
  /// `file_bytes`: bounds how many nodes a file may become, as functions that call each other twice make very many of few.
  GraphReader(Tracer& tracer, Locations& locations, Tensors& tensors, const ModelProto& model, const ModelOptions& options,
              std::size_t file_bytes);

  /// The graph of the model: declarations, nodes, outputs. Where all mistakes lie in arms that a run need not take: those arms, which the
  /// reader is to be told of when the model is read again, unless `last`.
  ArmMistakes read_model(bool last);
  /// What the nodes are that `read_model` reads, in its order.
  void keep_records(std::vector<NodeRecord>* records) { records_ = records; }
  /// Pins nodes to the host, by the same order, where there is a reason for it.
  void pin(std::vector<std::optional<Allowance>> pins) { pins_ = std::move(pins); }
  /// A graph inside of a node, with values for its inputs. Poison where it cannot be read.
  Values inline_graph(std::string_view graph, Values inputs, Environment& around, const SourceLocation& location);

  [[nodiscard]] Tracer& tracer() { return tracer_; }
  [[nodiscard]] KnownValues& known() { return known_; }
  [[nodiscard]] BrokenArms& arms() { return arms_; }
  [[nodiscard]] Tensors& tensors() { return tensors_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  /// What would make a value known, for messages: "; give it with --constant shape=…", or why nothing would.
  [[nodiscard]] std::string advice(const Operand& operand) const;
  /// The mistake that was reported last is that `node` needs what `advice` is about, as other nodes may.
  void miss(const std::string& advice, const NodeProto& node);
  /// What was reported, to be told to the user: what several nodes miss, once.
  [[nodiscard]] Diagnostics mistakes() const;
  void use_bound(const std::string& node) { bounds_used_.insert(node); }

 private:
  struct Missing {
    std::size_t count = 0;
    std::vector<std::string> nodes;  ///< the first ones
    SourceLocation location;
  };

  struct Misses {
    std::vector<std::size_t> diagnostics;  ///< by number
    std::vector<std::string> nodes;        ///< the names of all but the first
  };

  // declarations.cpp
  void declare_initializers(std::string_view graph, Environment& names);
  void declare_inputs(std::string_view graph, Environment& names);
  void collect_sizes(std::string_view graph);
  Value declare_input(const ValueInfo& info);
  std::optional<TensorType> input_type(const ValueInfo& info, DType dtype);
  /// The type that the file states for a computed value, if nothing of it is open.
  std::optional<TensorType> stated_type(std::string_view name);
  Value frozen(const ValueInfo& info, const TensorType& type);
  void check_options_used();

  void read_nodes(std::string_view message, std::uint32_t field, Environment& names);
  void read_node(const NodeProto& node, Environment& names);
  void read_outputs(std::string_view graph, Environment& names);
  Values lower(const NodeProto& node, const Values& operands, const SourceLocation& location, Environment& names);
  Values assumed(const NodeProto& node, const std::string& op, const Values& operands, const SourceLocation& location);
  Values inline_function(const FunctionProto& function, const NodeProto& node, Values operands, Environment& names);
  Values lower_placed(const Lowering& row, const NodeProto& node, const Values& operands, const SourceLocation& location, int version,
                      Environment& names);
  [[nodiscard]] NodeRecord record(const NodeProto& node, int version, const Values& operands, const Values& results,
                                  const Environment& names) const;
  void bind(const NodeProto& node, Values results, Environment& names);
  void declare_initializer(const TensorProto& tensor, Environment& names, bool nested);
  [[nodiscard]] std::optional<Values> operands_of(const NodeProto& node, const SourceLocation& location, Environment& names);
  [[nodiscard]] int version_of(std::string_view domain, const Environment& names) const;
  const FunctionProto* function_of(const NodeProto& node) const;
  void report_missing();
  void error(DiagnosticKind kind, const SourceLocation& location, std::string message, std::vector<Note> notes = {});
  [[nodiscard]] bool exhausted() const;

  Tracer& tracer_;
  Locations& locations_;
  Tensors& tensors_;
  const ModelProto& model_;
  const ModelOptions& options_;
  KnownValues known_;
  BrokenArms arms_;
  std::map<std::string, FunctionProto, std::less<>> functions_;  ///< by "domain:name:overload"
  std::map<std::string_view, ValueInfo> stated_;                 ///< by the file, of values; read where an operator is assumed
  std::map<std::string, Missing> missing_;                       ///< operators that are not read, by name
  std::map<std::string, Misses> misses_;                         ///< by advice
  std::set<std::string> bounds_used_;
  std::vector<NodeRecord>* records_ = nullptr;  ///< null: nobody asked
  std::vector<std::optional<Allowance>> pins_;
  std::size_t lowered_ = 0;  ///< nodes so far
  int graphs_ = 0;           ///< inlined so far
  std::set<std::string, std::less<>> initializers_, inputs_;
  std::size_t nodes_left_;               ///< that may still be read, with those of functions and graphs inside as often as they are inlined
  std::set<std::string_view> defaults_;  ///< initializers that a run may replace
  std::map<std::string, std::int64_t, std::less<>> sizes_;       ///< of open sizes with a name
  std::vector<std::string> foreign_;                             ///< inputs of types that cleave lacks, and what they are
  std::string open_;                                             ///< what is to be said of open sizes
  std::vector<std::pair<std::string, std::string>> open_sizes_;  ///< of inputs: what is open, and the flag that closes it
};

}  // namespace cleave::models::onnx

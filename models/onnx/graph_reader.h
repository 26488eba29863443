// GraphReader: reads the nodes of a graph in order, and lowers each by its operator's lowering. Subgraphs of nodes and functions of the
// model are inlined. All results go to the Tracer.
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
#include "models/onnx/node_order.h"
#include "models/onnx/node_record.h"
#include "models/onnx/proto.h"
#include "models/onnx/table.h"
#include "models/onnx/tensors.h"
#include "models/onnx/value.h"

namespace cleave::models::onnx {

/// The scope of a graph: its names, and those of the enclosing graphs.
struct Environment {
  std::unordered_map<std::string_view, Value> values;
  Environment* outer = nullptr;

  // For a function's body: the function, which states the operator sets of its body, and the caller's values for its attributes.
  const FunctionProto* function = nullptr;
  const std::vector<AttributeProto>* given = nullptr;
  Environment* caller = nullptr;      ///< the scope in which the given attributes are themselves looked up
  std::set<std::string_view> absent;  ///< inputs of the function that the caller left out
  int depth = 0;                      ///< nesting depth of graphs and functions
  int graph = 0;                      ///< its number, as in NodeRecord

  [[nodiscard]] const Value* find(std::string_view name) const;
  /// Whether `name` is an input of a function that the caller left out.
  [[nodiscard]] bool lacks(std::string_view name) const;
};

class GraphReader {
 public:
  /// `file_bytes` bounds the number of nodes read, since functions that call each other twice expand a few nodes to very many.
  GraphReader(Tracer& tracer, Locations& locations, Tensors& tensors, const ModelProto& model, const ModelOptions& options,
              std::size_t file_bytes);

  /// Reads the graph of the model: declarations, nodes, outputs. If all mistakes are in arms that a run need not take, returns those arms;
  /// the caller reads the model again with them replaced. With `last`, it returns none.
  ArmMistakes read_model(bool last);
  /// Reads the graph as a piece of the program that the Tracer records: `given` has its inputs and weights by name. Returns its outputs.
  Values read_call(const std::map<std::string_view, Operand>& given);
  /// Initializers that become parameters, and outputs of their names, which are their next values.
  void train(const std::vector<TensorProto>& weights);
  /// Stores a record of each node that `read_model` reads, in its order.
  void keep_records(std::vector<NodeRecord>* records) { records_ = records; }
  /// Pins nodes to the host: those with a reason in `pins`, which has the order of the records.
  void pin(std::vector<Pin> pins) { pins_ = std::move(pins); }
  /// Inlines a subgraph of a node, with values for its inputs. Poison if it cannot be read.
  Values inline_graph(std::string_view graph, Values inputs, Environment& around, const SourceLocation& location);

  [[nodiscard]] Tracer& tracer() { return tracer_; }
  [[nodiscard]] KnownValues& known() { return known_; }
  [[nodiscard]] BrokenArms& arms() { return arms_; }
  [[nodiscard]] Tensors& tensors() { return tensors_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  /// How to make a value known, for messages: "; give it with --constant shape=…", or why that is impossible.
  [[nodiscard]] std::string advice(const Operand& operand) const;
  /// Notes that `node` needs the value that `advice` is about, which is the subject of the last reported mistake; other nodes may need it
  /// too.
  void miss(const std::string& advice, const NodeProto& node);
  /// The reported mistakes, with those that several nodes have in common reported once.
  [[nodiscard]] Diagnostics mistakes() const;
  /// Warnings and remarks about a readable model.
  [[nodiscard]] Diagnostics warnings() const;
  /// The element type that the file states for a value; nothing if it states none.
  [[nodiscard]] std::optional<DType> stated_dtype(std::string_view name);
  /// Adds a remark to the program.
  void remark(const SourceLocation& location, std::string message);
  void use_bound(const std::string& node) { bounds_used_.insert(node); }

 private:
  struct Missing {
    std::size_t count = 0;
    std::vector<std::string> nodes;  ///< the first ones
    SourceLocation location;
  };

  struct Misses {
    std::vector<std::size_t> diagnostics;  ///< indices of diagnostics
    std::vector<std::string> nodes;        ///< the names of all but the first
  };

  // declarations.cpp
  void declare_initializers(std::string_view graph, Environment& names);
  void declare_inputs(std::string_view graph, Environment& names);
  void collect_sizes(std::string_view graph);
  /// The size, or the value of its name or expression; nothing if it is open.
  [[nodiscard]] std::optional<std::int64_t> size_of(const Dimension& dim) const;
  /// The names in an expression, and the name alone if it is none.
  [[nodiscard]] std::vector<std::string> parts_of(std::string_view name) const;
  /// The flags that set an open size: `--dim past_len=N --dim seq=N` for `past_len + seq`.
  [[nodiscard]] std::vector<std::string> dim_flags(std::string_view name) const;
  Value declare_input(const ValueInfo& info);
  std::optional<TensorType> input_type(const ValueInfo& info, DType dtype);
  /// Notes the types that a graph states for its values.
  void state_types(std::string_view graph);
  /// The type that the file states for a computed value, if it is complete.
  std::optional<TensorType> stated_type(std::string_view name);
  const ValueInfo* stated(std::string_view name);
  Value frozen(const ValueInfo& info, const TensorType& type);
  void check_options_used();

  void read_nodes(std::string_view message, std::uint32_t field, Environment& names);
  void report_cycle(const std::vector<std::string_view>& nodes);
  /// Warns if the type that the file declares for an output is not that of its value.
  void compare_declared(const ValueInfo& info, const Value& value, const SourceLocation& location);
  void read_node(const NodeProto& node, Environment& names);
  void read_outputs(std::string_view graph, Environment& names);
  void add_weight_outputs(const Environment& names);
  Values lower(const NodeProto& node, const Values& operands, const SourceLocation& location, Environment& names);

  // host_nodes.cpp
  /// An opaque host function that replaces an operator, with the types that the file states.
  Values assumed(const NodeProto& node, const std::string& op, const Values& operands, const SourceLocation& location);
  Values by_host_function(const OperatorFunction& given, const NodeProto& node, const std::string& op, const Values& operands,
                          const SourceLocation& location, Environment& names);
  std::optional<OperatorNode> describe(Call& call, const std::string& op, const Values& operands);
  Values call_host(HostFunction function, const NodeProto& node, const std::vector<Operand>& inputs, const SourceLocation& location);

  Values inline_function(const FunctionProto& function, const NodeProto& node, Values operands, Environment& names);
  Values lower_placed(const Lowering& row, const NodeProto& node, const Values& operands, const SourceLocation& location, int version,
                      Environment& names);
  [[nodiscard]] NodeRecord record(const NodeProto& node, int version, const Values& operands, const Values& results,
                                  const Environment& names) const;
  void bind(const NodeProto& node, Values results, Environment& names);
  /// An initializer as it is read: the values of a narrow type in its carrier, texts as their indices.
  struct Initializer {
    std::string_view name;
    Result<Array> array;
    const NarrowType* narrow = nullptr;
    std::shared_ptr<const std::vector<std::string>> texts = nullptr;
  };
  [[nodiscard]] Initializer read(const TensorProto& tensor);
  [[nodiscard]] Initializer read(const SparseTensorProto& tensor);
  /// Calls `f` with the name and the message of each initializer of a graph.
  template <class F>
  void read_initializers(std::string_view graph, const F& f) {
    for_each(graph, kGraphInitializer, [&](std::string_view bytes) {
      if (const TensorProto tensor = parse_tensor(bytes); !exhausted()) f(tensor.name, tensor);
    });
    for_each(graph, kGraphSparseInitializer, [&](std::string_view bytes) {
      if (const SparseTensorProto tensor = parse_sparse_tensor(bytes); !exhausted()) f(tensor.values.name, tensor);
    });
  }
  void declare_initializer(Initializer initializer, Environment& names, bool nested);
  [[nodiscard]] std::optional<Values> operands_of(const NodeProto& node, const SourceLocation& location, Environment& names);
  [[nodiscard]] int version_of(std::string_view domain, const Environment& names) const;
  const FunctionProto* function_of(const NodeProto& node) const;
  void report_missing();
  void read_output(const ValueInfo& info, const Value& value, bool single, const SourceLocation& location);
  /// Results that are lost because of an operand: a text that the operator cannot take, or one that is lost itself.
  [[nodiscard]] static std::optional<Values> lost_results(const NodeProto& node, const std::string& op, const Lowering* row,
                                                          const Values& operands);
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
  NodeOrders orders_;
  Diagnostics warnings_;                          ///< that the reader itself gives
  std::map<std::string_view, ValueInfo> stated_;  ///< types that the file states for values
  std::map<std::string, Missing> missing_;        ///< unknown operators, by name
  std::map<std::string, Misses> misses_;          ///< by advice
  std::set<std::string> bounds_used_, host_functions_used_;
  std::vector<NodeRecord>* records_ = nullptr;  ///< null: no records requested
  std::vector<Pin> pins_;
  std::size_t lowered_ = 0;  ///< nodes lowered so far
  int graphs_ = 0;           ///< graphs inlined so far
  std::set<std::string, std::less<>> initializers_, inputs_;
  std::vector<std::string_view> weights_;  ///< names of initializers that become parameters
  std::size_t nodes_left_;  ///< the number of nodes that may still be read; those of functions and subgraphs count for each inlining
  std::set<std::string_view> defaults_;                     ///< initializers that a run may replace
  std::map<std::string, std::int64_t, std::less<>> sizes_;  ///< values of named open sizes
  std::set<std::string, std::less<>> plain_sizes_;          ///< names that are sizes of inputs by themselves
  std::vector<std::string> foreign_;                        ///< inputs of types that cleave lacks, with their types
  std::string open_;                                        ///< the text about open sizes in messages
  /// Of inputs: the open size, and the flags that set it.
  std::vector<std::pair<std::string, std::vector<std::string>>> open_sizes_;
};

}  // namespace cleave::models::onnx

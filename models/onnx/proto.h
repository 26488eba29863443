// The messages of an ONNX file (https://github.com/onnx/onnx, onnx.proto) as views into its bytes: names and texts are substrings of the
// file, and long lists are not copied but iterated in place. `check_messages` must have accepted the file first, so that reading cannot
// fail here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/result.h"
#include "models/onnx/wire.h"

namespace cleave::models::onnx {

/// The deepest nesting of graphs (arms of If, bodies of Loop and Scan).
inline constexpr int kMostNestedGraphs = 64;

/// Checks by its wire format that `file` is an ONNX model, to the last field of every message; if not, returns an Error (file) without a
/// location. Does not look at weights. Takes time linear in the number of fields, and no memory.
Status check_messages(std::string_view file);

struct TensorProto {
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int64_t data_type = 0;
  std::optional<std::string_view> raw_data;
  bool external = false;
  std::string_view message;  ///< the lists of values and the location of external data are read from here
};

/// A tensor of which the file holds only some elements; the others are 0.
struct SparseTensorProto {
  TensorProto values;   ///< the elements, a vector; its name is that of the tensor
  TensorProto indices;  ///< of each element: its position in row-major order, or a row of one index for each axis
  std::vector<std::int64_t> dims;
};

/// An axis of a declared type: a size, a name, or neither.
struct Dimension {
  std::optional<std::int64_t> size;
  std::string_view name;
};

/// An input or output as declared.
struct ValueInfo {
  std::string_view name;
  enum class Kind : std::uint8_t { none, tensor, sequence, map, optional, sparse_tensor, opaque } kind = Kind::none;
  std::int64_t element_type = 0;               ///< tensors only, like `dims`
  std::optional<std::vector<Dimension>> dims;  ///< nothing: even the number of axes is open
};

struct AttributeProto {
  std::string_view name;
  std::string_view reference;  ///< the name of an attribute of the enclosing function, whose value this one takes
  std::string_view message;

  enum class Kind : std::uint8_t { other, number, integer, text, tensor, numbers, integers, texts, sparse_tensor };
  /// The kind that the file states, or that of the first value where old files state none.
  [[nodiscard]] Kind kind() const;
  // The value, if the file has one of the type that the operator defines; else nothing.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::optional<float> number() const;
  [[nodiscard]] std::optional<std::string_view> text() const;
  [[nodiscard]] std::optional<TensorProto> tensor() const;
  [[nodiscard]] std::optional<SparseTensorProto> sparse_tensor() const;
  [[nodiscard]] std::optional<std::string_view> graph() const;  ///< a GraphProto
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  [[nodiscard]] std::vector<float> numbers() const;
  [[nodiscard]] std::vector<std::string_view> texts() const;
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
  std::string_view message;

  /// The value of an entry of `metadata_props`.
  [[nodiscard]] std::optional<std::string_view> metadata(std::string_view key) const;
};

struct OpsetImport {
  std::string_view domain;
  std::int64_t version = 0;
};

/// A function of the model, to be inlined.
struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OpsetImport> opsets;
  std::vector<AttributeProto> defaults;  ///< defaults for attributes that a caller may leave out
  std::string_view message;              ///< holds the nodes
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string_view producer;
  std::string_view graph;  ///< a GraphProto
  std::vector<OpsetImport> opsets;
  std::vector<std::string_view> functions;  ///< each a FunctionProto
};

// Field numbers of lists of messages in a graph and in a function, for `for_each`.
inline constexpr std::uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12,
                               kGraphValueInfo = 13, kGraphSparseInitializer = 15, kFunctionNode = 7;

/// Calls `f` with the bytes of each field `number` of a message, in order.
template <class F>
void for_each(std::string_view message, std::uint32_t number, F&& f) {
  Fields fields(message);
  while (const std::optional<Field> field = fields.next())
    if (field->number == number && field->kind == Field::Kind::bytes) f(field->bytes);
}

ModelProto parse_model(std::string_view message);
FunctionProto parse_function(std::string_view message);
NodeProto parse_node(std::string_view message);
TensorProto parse_tensor(std::string_view message);
SparseTensorProto parse_sparse_tensor(std::string_view message);
ValueInfo parse_value_info(std::string_view message);
/// Key and value of an entry such as those of metadata_props and external_data.
std::pair<std::string_view, std::string_view> parse_entry(std::string_view message);
/// The name of a graph.
std::string_view graph_name(std::string_view graph);

}  // namespace cleave::models::onnx

// check_messages: one walk over all fields of all messages. A table says which fields of a message are messages themselves.
#include <array>
#include <span>
#include <string>

#include "models/onnx/proto.h"

namespace cleave::models::onnx {
namespace {

enum class Message : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  segment,
  value_info,
  type,
  tensor_type,
  element_type,
  map_type,
  shape,
  dimension,
  function,
  opset,
  entry,
  sparse_tensor,
};

struct Child {
  std::uint32_t field;
  Message message;
};

// Fields that are messages. A message kind without a table is a leaf: its fields are checked but not entered.
constexpr Child kModel[] = {{7, Message::graph}, {8, Message::opset}, {14, Message::entry}, {25, Message::function}};
constexpr Child kGraph[] = {{1, Message::node},        {5, Message::tensor},      {11, Message::value_info},
                            {12, Message::value_info}, {13, Message::value_info}, {15, Message::sparse_tensor}};
constexpr Child kNode[] = {{5, Message::attribute}, {9, Message::entry}};
constexpr Child kAttribute[] = {{5, Message::tensor}, {6, Message::graph}, {10, Message::tensor},        {11, Message::graph},
                                {14, Message::type},  {15, Message::type}, {22, Message::sparse_tensor}, {23, Message::sparse_tensor}};
constexpr Child kTensor[] = {{3, Message::segment}, {13, Message::entry}};
constexpr Child kValueInfo[] = {{2, Message::type}};
constexpr Child kType[] = {
    {1, Message::tensor_type}, {4, Message::element_type}, {5, Message::map_type}, {8, Message::tensor_type}, {9, Message::element_type}};
constexpr Child kTensorType[] = {{2, Message::shape}};
constexpr Child kElementType[] = {{1, Message::type}};
constexpr Child kMapType[] = {{2, Message::type}};
constexpr Child kShapeFields[] = {{1, Message::dimension}};
constexpr Child kFunction[] = {{7, Message::node}, {9, Message::opset}, {11, Message::attribute}};
constexpr Child kSparseTensor[] = {{1, Message::tensor}, {2, Message::tensor}};

std::span<const Child> children(Message message) {
  switch (message) {
    case Message::model: return kModel;
    case Message::graph: return kGraph;
    case Message::node: return kNode;
    case Message::attribute: return kAttribute;
    case Message::tensor: return kTensor;
    case Message::value_info: return kValueInfo;
    case Message::type: return kType;
    case Message::tensor_type: return kTensorType;
    case Message::element_type: return kElementType;
    case Message::map_type: return kMapType;
    case Message::shape: return kShapeFields;
    case Message::function: return kFunction;
    case Message::sparse_tensor: return kSparseTensor;
    case Message::segment:
    case Message::dimension:
    case Message::opset:
    case Message::entry: break;
  }
  return {};
}

/// Types nest too: a sequence of sequences.
constexpr int kMostNestedMessages = 4 * kMostNestedGraphs;

class Check {
 public:
  explicit Check(std::string_view file) : file_(file) {}

  /// The two limits bound the recursion.
  Status message(Message kind, std::string_view bytes, int depth, int graphs) {
    graphs += kind == Message::graph ? 1 : 0;
    if (graphs > kMostNestedGraphs + 1) return refuse("graphs lie deeper inside each other than " + std::to_string(kMostNestedGraphs));
    if (depth > kMostNestedMessages) return refuse("types lie too deep inside each other");
    Fields fields(bytes);
    while (const std::optional<Field> field = fields.next()) {
      const std::optional<Message> inner = child(kind, field->number);
      if (!inner) continue;
      if (field->kind != Field::Kind::bytes) return malformed(bytes);
      if (Status whole = message(*inner, field->bytes, depth + 1, graphs); !whole) return whole;
    }
    return fields.whole() ? Status() : malformed(fields.rest());
  }

 private:
  static std::optional<Message> child(Message kind, std::uint32_t field) {
    for (const Child& each : children(kind))
      if (each.field == field) return each.message;
    return std::nullopt;
  }
  static Status refuse(std::string message) { return Error{std::move(message), {}, ErrorKind::file}; }
  [[nodiscard]] Status malformed(std::string_view at) const {
    return refuse("no ONNX model, or a damaged one: malformed at byte " + std::to_string(at.data() - file_.data()));
  }

  std::string_view file_;
};

}  // namespace

Status check_messages(std::string_view file) {
  return Check(file).message(Message::model, file, 0, 0);
}

}  // namespace cleave::models::onnx

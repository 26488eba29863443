#include "models/onnx/proto.h"

namespace cleave::models::onnx {
namespace {

/// Appends the numbers of a repeated field, packed or one in each field; `take` reads one from the start of the bytes.
template <class T, class One, class Take>
void append(const Field& field, Field::Kind kind, std::vector<T>& numbers, const One& one, const Take& take) {
  if (field.kind == kind) return numbers.push_back(one(field));
  if (field.kind != Field::Kind::bytes) return;
  std::string_view packed = field.bytes;
  while (const auto number = take(packed)) numbers.push_back(*number);
}

void append_integers(const Field& field, std::vector<std::int64_t>& numbers) {
  append(
      field, Field::Kind::varint, numbers, [](const Field& f) { return f.integer(); },
      [](std::string_view& packed) -> std::optional<std::int64_t> {
        const auto word = take_varint(packed);
        return word ? std::optional(static_cast<std::int64_t>(*word)) : std::nullopt;
      });
}

void append_floats(const Field& field, std::vector<float>& numbers) {
  append(
      field, Field::Kind::fixed32, numbers, [](const Field& f) { return f.f32(); },
      [](std::string_view& packed) -> std::optional<float> {
        float number = 0;
        if (packed.size() < sizeof number) return std::nullopt;
        std::memcpy(&number, packed.data(), sizeof number);
        packed.remove_prefix(sizeof number);
        return number;
      });
}

/// The last field with this number and kind, which Protocol Buffers define as the one that counts.
std::optional<Field> last(std::string_view message, std::uint32_t number, Field::Kind kind) {
  std::optional<Field> found;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next())
    if (field->number == number && field->kind == kind) found = field;
  return found;
}

std::optional<std::string_view> last_bytes(std::string_view message, std::uint32_t number) {
  const std::optional<Field> field = last(message, number, Field::Kind::bytes);
  return field ? std::optional(field->bytes) : std::nullopt;
}

std::string_view text(std::string_view message, std::uint32_t number) {
  return last_bytes(message, number).value_or(std::string_view());
}

AttributeProto parse_attribute(std::string_view message) {
  return {text(message, 1), text(message, 21), message};
}

OpsetImport parse_opset(std::string_view message) {
  const std::optional<Field> version = last(message, 2, Field::Kind::varint);
  return {text(message, 1), version ? version->integer() : 0};
}

std::vector<Dimension> parse_shape(std::string_view message) {
  std::vector<Dimension> dims;
  for_each(message, 1, [&](std::string_view bytes) {
    Dimension dim;
    const std::optional<Field> size = last(bytes, 1, Field::Kind::varint);
    if (size && size->integer() >= 0) dim.size = size->integer();  // some exporters write -1 for an open size
    dim.name = text(bytes, 2);
    if (dim.name == "?") dim.name = {};  // Paddle's exporter names every open size "?"
    dims.push_back(dim);
  });
  return dims;
}

}  // namespace

AttributeProto::Kind AttributeProto::kind() const {
  struct Row {
    std::int64_t stated;
    std::uint32_t field;
    Kind kind;
  };
  static constexpr Row kRows[] = {{1, 2, Kind::number},  {2, 3, Kind::integer},  {3, 4, Kind::text},  {4, 5, Kind::tensor},
                                  {6, 7, Kind::numbers}, {7, 8, Kind::integers}, {8, 9, Kind::texts}, {11, 22, Kind::sparse_tensor}};
  const std::optional<Field> field = last(message, 20, Field::Kind::varint);
  const std::int64_t stated = field ? field->integer() : 0;
  Fields fields(message);
  for (const Row& row : kRows)
    if (row.stated == stated) return row.kind;
  while (const std::optional<Field> held = stated == 0 ? fields.next() : std::nullopt)
    for (const Row& row : kRows)
      if (row.field == held->number) return row.kind;
  return Kind::other;
}

std::optional<std::int64_t> AttributeProto::integer() const {
  const std::optional<Field> field = last(message, 3, Field::Kind::varint);
  return field ? std::optional(field->integer()) : std::nullopt;
}

std::optional<float> AttributeProto::number() const {
  const std::optional<Field> field = last(message, 2, Field::Kind::fixed32);
  return field ? std::optional(field->f32()) : std::nullopt;
}

std::optional<std::string_view> AttributeProto::text() const {
  return last_bytes(message, 4);
}

std::optional<TensorProto> AttributeProto::tensor() const {
  const auto bytes = last_bytes(message, 5);
  return bytes ? std::optional(parse_tensor(*bytes)) : std::nullopt;
}

std::optional<SparseTensorProto> AttributeProto::sparse_tensor() const {
  const auto bytes = last_bytes(message, 22);
  return bytes ? std::optional(parse_sparse_tensor(*bytes)) : std::nullopt;
}

std::optional<std::string_view> AttributeProto::graph() const {
  return last_bytes(message, 6);
}

std::vector<std::int64_t> AttributeProto::integers() const {
  std::vector<std::int64_t> numbers;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next())
    if (field->number == 8) append_integers(*field, numbers);
  return numbers;
}

std::vector<float> AttributeProto::numbers() const {
  std::vector<float> numbers;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next())
    if (field->number == 7) append_floats(*field, numbers);
  return numbers;
}

std::vector<std::string_view> AttributeProto::texts() const {
  std::vector<std::string_view> texts;
  for_each(message, 9, [&](std::string_view bytes) { texts.push_back(bytes); });
  return texts;
}

std::optional<std::string_view> NodeProto::metadata(std::string_view key) const {
  std::optional<std::string_view> found;
  for_each(message, 9, [&](std::string_view bytes) {
    const auto [entry, value] = parse_entry(bytes);
    if (entry == key) found = value;
  });
  return found;
}

std::pair<std::string_view, std::string_view> parse_entry(std::string_view message) {
  return {text(message, 1), text(message, 2)};
}

std::string_view graph_name(std::string_view graph) {
  return text(graph, kGraphName);
}

ModelProto parse_model(std::string_view message) {
  ModelProto model;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1: model.ir_version = field->integer(); break;
      case 2: model.producer = field->bytes; break;
      case 7: model.graph = field->bytes; break;
      case 8: model.opsets.push_back(parse_opset(field->bytes)); break;
      case 25: model.functions.push_back(field->bytes); break;
      default: break;
    }
  }
  return model;
}

FunctionProto parse_function(std::string_view message) {
  FunctionProto function;
  function.message = message;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1: function.name = field->bytes; break;
      case 4: function.inputs.push_back(field->bytes); break;
      case 5: function.outputs.push_back(field->bytes); break;
      case 9: function.opsets.push_back(parse_opset(field->bytes)); break;
      case 10: function.domain = field->bytes; break;
      case 11: function.defaults.push_back(parse_attribute(field->bytes)); break;
      case 13: function.overload = field->bytes; break;
      default: break;
    }
  }
  return function;
}

NodeProto parse_node(std::string_view message) {
  NodeProto node;
  node.message = message;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1: node.inputs.push_back(field->bytes); break;
      case 2: node.outputs.push_back(field->bytes); break;
      case 3: node.name = field->bytes; break;
      case 4: node.op_type = field->bytes; break;
      case 5: node.attributes.push_back(parse_attribute(field->bytes)); break;
      case 7: node.domain = field->bytes; break;
      case 8: node.overload = field->bytes; break;
      default: break;
    }
  }
  return node;
}

TensorProto parse_tensor(std::string_view message) {
  TensorProto tensor;
  tensor.message = message;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1: append_integers(*field, tensor.dims); break;
      case 2: tensor.data_type = field->integer(); break;
      case 8: tensor.name = field->bytes; break;
      case 9: tensor.raw_data = field->bytes; break;
      case 14: tensor.external = field->word == 1; break;
      default: break;
    }
  }
  return tensor;
}

SparseTensorProto parse_sparse_tensor(std::string_view message) {
  SparseTensorProto tensor;
  Fields fields(message);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1: tensor.values = parse_tensor(field->bytes); break;
      case 2: tensor.indices = parse_tensor(field->bytes); break;
      case 3: append_integers(*field, tensor.dims); break;
      default: break;
    }
  }
  return tensor;
}

ValueInfo parse_value_info(std::string_view message) {
  ValueInfo info;
  info.name = text(message, 1);
  const auto type = last_bytes(message, 2);
  if (!type) return info;
  Fields fields(*type);
  while (const std::optional<Field> field = fields.next()) {
    switch (field->number) {
      case 1:
        info.kind = ValueInfo::Kind::tensor;
        if (const std::optional<Field> element = last(field->bytes, 1, Field::Kind::varint)) info.element_type = element->integer();
        if (const auto shape = last_bytes(field->bytes, 2)) info.dims = parse_shape(*shape);
        break;
      case 4: info.kind = ValueInfo::Kind::sequence; break;
      case 5: info.kind = ValueInfo::Kind::map; break;
      case 7: info.kind = ValueInfo::Kind::opaque; break;
      case 8: info.kind = ValueInfo::Kind::sparse_tensor; break;
      case 9: info.kind = ValueInfo::Kind::optional; break;
      default: break;
    }
  }
  return info;
}

}  // namespace cleave::models::onnx

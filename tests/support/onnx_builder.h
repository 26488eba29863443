// ONNX files written field by field, so that tests of the reader need no other software and can write files that no other software would.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::onnx_file {

/// A Protocol Buffers message, as its bytes.
class Message {
 public:
  Message& varint(int field, std::int64_t value) {
    tag(field, 0);
    word(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& fixed32(int field, float value) {
    tag(field, 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    word(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int kind) { word(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(kind)); }
  void word(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Values of TensorProto.DataType.
inline constexpr int kFloat = 1, kInt64 = 7, kString = 8, kBool = 9;

inline Message integer(std::string_view name, std::int64_t value) {
  return Message().text(1, name).varint(3, value).varint(20, 2);
}
inline Message integers(std::string_view name, std::initializer_list<std::int64_t> values) {
  Message attribute = Message().text(1, name);
  for (const std::int64_t value : values) attribute.varint(8, value);
  return attribute.varint(20, 7);
}
inline Message number(std::string_view name, float value) {
  return Message().text(1, name).fixed32(2, value).varint(20, 1);
}
inline Message text(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).varint(20, 3);
}
inline Message tensor_attribute(std::string_view name, const Message& value) {
  return Message().text(1, name).message(5, value).varint(20, 4);
}
inline Message graph_attribute(std::string_view name, const Message& value) {
  return Message().text(1, name).message(6, value).varint(20, 5);
}

struct NodeOptions {
  std::string name;
  std::vector<Message> attributes;
  std::string domain;
  std::string stack_trace;
};
inline Message node(std::string_view op, const std::vector<std::string_view>& inputs, const std::vector<std::string_view>& outputs,
                    const NodeOptions& options = {}) {
  Message message;
  for (const std::string_view input : inputs) message.text(1, input);
  for (const std::string_view output : outputs) message.text(2, output);
  message.text(3, options.name).text(4, op).text(7, options.domain);
  for (const Message& attribute : options.attributes) message.message(5, attribute);
  if (!options.stack_trace.empty()) message.message(9, Message().text(1, "pkg.torch.onnx.stack_trace").text(2, options.stack_trace));
  return message;
}

/// In `shape`, -1 is an open size and -2 one with the name `batch`.
inline Message value_info(std::string_view name, int element_type, std::initializer_list<std::int64_t> shape) {
  Message dims;
  for (const std::int64_t extent : shape)
    dims.message(1, extent == -1 ? Message() : extent == -2 ? Message().text(2, "batch") : Message().varint(1, extent));
  return Message().text(1, name).message(2, Message().message(1, Message().varint(1, element_type).message(2, dims)));
}
inline const Message kX = value_info("x", kFloat, {2, 3});
inline Message untyped(std::string_view name) {
  return Message().text(1, name);
}

template <class T>
Message raw_tensor(std::string_view name, int element_type, std::initializer_list<std::int64_t> shape, const std::vector<T>& values) {
  Message message;
  for (const std::int64_t extent : shape) message.varint(1, extent);
  return message.varint(2, element_type).text(8, name).text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline Message floats(std::string_view name, std::initializer_list<std::int64_t> shape, const std::vector<float>& values) {
  return raw_tensor(name, kFloat, shape, values);
}
/// 1, 2, 3 and so on.
inline Message counting(std::string_view name, std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (std::int64_t i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return floats(name, shape, values);
}
inline Message int64s(std::string_view name, std::initializer_list<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  return raw_tensor(name, kInt64, shape, values);
}

struct GraphParts {
  std::vector<Message> nodes, inputs, outputs, initializers, values;
  std::string name = "g";
};
inline Message graph_of(const GraphParts& parts) {
  Message message;
  for (const Message& each : parts.nodes) message.message(1, each);
  message.text(2, parts.name);
  for (const Message& each : parts.initializers) message.message(5, each);
  for (const Message& each : parts.inputs) message.message(11, each);
  for (const Message& each : parts.outputs) message.message(12, each);
  for (const Message& each : parts.values) message.message(13, each);
  return message;
}
inline Message opset(std::string_view domain, std::int64_t version) {
  return Message().text(1, domain).varint(2, version);
}
inline std::string model(const Message& graph, std::int64_t version = 18, const std::vector<Message>& functions = {}) {
  Message message = Message().varint(1, 8).message(7, graph).message(8, opset("", version)).message(8, opset("local", 1));
  for (const Message& function : functions) message.message(25, function);
  return message.bytes();
}

}  // namespace cleave::onnx_file

// What a node of an ONNX file was, with the types of its values as cleave infers them: for rules that place nodes and not operations.
#pragma once

#include <string>
#include <vector>

#include "graph/array/tensor_type.h"

namespace cleave::models::onnx {

struct ValueRecord {
  std::string name;  ///< with the number of its graph in front, as graphs inside may use a name again; empty: left out
  enum class Kind : std::uint8_t { computed, input, initializer } kind = Kind::computed;
  TensorType type;
};

struct NodeRecord {
  std::string title;  ///< "NAME (Op)"
  std::string op;     ///< with its domain, if that is another than ai.onnx
  int version = 0;
  int graph = 0;  ///< 0: the model's; each inlining of a graph inside has a number of its own
  std::vector<ValueRecord> inputs, outputs;
};

}  // namespace cleave::models::onnx

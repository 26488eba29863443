// A record of a node of an ONNX file, with the types that cleave infers for its values: for rules that place nodes rather than operations.
#pragma once

#include <string>
#include <vector>

#include "graph/array/tensor_type.h"

namespace cleave::models::onnx {

struct ValueRecord {
  std::string name;  ///< prefixed with its graph's number, since subgraphs may reuse a name; empty: left out
  enum class Kind : std::uint8_t { computed, input, initializer } kind = Kind::computed;
  TensorType type;
};

struct NodeRecord {
  std::string title;  ///< "NAME (Op)"
  std::string op;     ///< prefixed with its domain, if that is not ai.onnx
  int version = 0;
  int graph = 0;  ///< 0: the model's graph; each inlining of a subgraph has its own number
  std::vector<ValueRecord> inputs, outputs;
};

}  // namespace cleave::models::onnx

// The kernels of ONNX Runtime's CUDA provider: which operators it has, for which versions and element types. A table for each version of
// ONNX Runtime that a user may name.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "models/onnx/node_record.h"

namespace cleave::models::onnx {

class OrtKernels {
 public:
  /// Parses a table: {"kernels": {operator: [[versions, {type variable: element types}], ...]},
  /// "versions": {operator: [version, ...]}}.
  explicit OrtKernels(std::string_view json);
  static const OrtKernels& of(OrtVersion version);

  /// Whether there is a kernel for the node's operator, version and element type.
  [[nodiscard]] bool contain(const NodeRecord& node) const;

 private:
  /// A range of versions of an operator, and the element types of its main type variable. An open range is for its first version alone: a
  /// kernel is not taken for a later definition of its operator (KernelRegistry::VerifyKernelDef).
  struct Kernel {
    int since = 0, until = 0;
    std::set<std::string, std::less<>> types;
  };
  /// The version of an operator's definition that a model with this opset means.
  [[nodiscard]] int since(const std::string& op, int opset) const;

  std::map<std::string, std::vector<Kernel>, std::less<>> kernels_;
  std::map<std::string, std::vector<int>, std::less<>> versions_;  ///< ascending, for operators of ai.onnx
};

/// "`Unique` (f32)": the operator with the distinct types of its operands.
std::string op_and_types(const NodeRecord& node);

}  // namespace cleave::models::onnx

// Host functions for operators of ONNX files that cleave does not read (ModelOptions::host_functions): one of a library or one of the
// program, for each node of the operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/array/array.h"
#include "graph/host_function.h"

namespace cleave {

/// A node that a host function is to compute.
struct OperatorNode {
  using Attribute =
      std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, Array>;

  std::string op;    ///< `com.acme.Scale`; without a domain if it is ONNX's own
  std::string name;  ///< of the node, or empty
  std::map<std::string, Attribute> attributes;
  std::vector<std::optional<TensorType>> inputs;           ///< nothing: the node leaves this input out
  std::vector<std::optional<TensorType>> results;          ///< of each result that the node names: the type that the file states
  std::map<std::string, std::int64_t, std::less<>> sizes;  ///< the sizes that have names, such as `batch`
};

/// Gives the function for a node: it takes the inputs that are present, and gives the results that the node names. If `returns` is empty,
/// the types of the results are those that the file states. A function of a library (`library`, `symbol`) gets an array without elements
/// in place of an input that is left out, and behind the inputs the attributes in the order of their names: integers as i64, numbers as
/// f32, texts as their bytes in u8 (of a list of texts each with a zero byte), tensors as they are.
///
///   ModelOptions options{.host_functions = {{"com.acme.Scale", [](const OperatorNode& node) -> Result<HostFunction> {
///     HostFunction scale{.name = node.op, .returns = {*node.inputs[0]}, .pure = true, .seconds = 1e-5};
///     scale.call = [by = std::get<double>(node.attributes.at("by"))](std::span<const Array> in, std::span<Array> out, const CallLimits&) {
///       for (std::int64_t i = 0; i < in[0].size(); ++i) out[0].mutable_data<float>()[i] = in[0].data<float>()[i] * static_cast<float>(by);
///       return Status();
///     };
///     return scale;
///   }}}};
using OperatorFunction = std::function<Result<HostFunction>(const OperatorNode& node)>;

/// The function `symbol` of a library, a pure one, as `--host-function com.acme.Scale=libscale.so:scale`. `types` are those of its results
/// in every node, `f32[batch, 4]`, where extents may be names and expressions of sizes; empty: those that the file states.
OperatorFunction library_operator(std::string library, std::string symbol, std::vector<std::string> types = {});

}  // namespace cleave

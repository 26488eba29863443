#include "models/onnx/ort_rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/onnx/ort_kernels.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kSmallInitializer = 100;  ///< elements

/// Whether the CUDA kernel of an operator reads this operand from host memory: operands that determine shapes and control flow.
bool takes_from_host(const NodeRecord& node, std::size_t operand) {
  static const std::map<std::string, std::vector<std::size_t>, std::less<>> kOperands = {
      {"Clip", {1, 2}},
      {"ConstantOfShape", {0}},
      {"CumSum", {1}},
      {"Dropout", {1, 2}},
      {"Expand", {1}},
      {"If", {0}},
      {"Loop", {0, 1}},
      {"OneHot", {1, 2}},
      {"Pad", {1, 2, 3}},
      {"Range", {0, 1, 2}},
      {"Reshape", {1}},
      {"Resize", {1, 2, 3}},
      {"Slice", {1, 2, 3, 4}},
      {"Split", {1}},
      {"Squeeze", {1}},
      {"Tile", {1}},
      {"TopK", {1}},
      {"Trilu", {1}},
      {"Unsqueeze", {1}},
      {"Upsample", {1}},
      {"com.microsoft.Attention", {6}},
      {"com.microsoft.DecoderMaskedMultiHeadAttention", {7, 8}},
      {"com.microsoft.GroupQueryAttention", {6}},
      {"com.microsoft.MultiHeadAttention", {8}}};
  if (node.op.starts_with("Reduce")) return operand == 1;
  const auto found = kOperands.find(node.op);
  return found != kOperands.end() && std::find(found->second.begin(), found->second.end(), operand) != found->second.end();
}

/// Whether a node is an initializer by the time that nodes are placed.
bool is_constant(const NodeRecord& node) {
  return node.op == "Constant";
}

bool gives_to_host(const NodeRecord& node) {
  return node.op == "Shape" || node.op == "Size";
}

/// Whether the results of a node are in host memory, even if the node runs on the accelerator.
bool lies_on_host(const NodeRecord& node, Side side) {
  return side == Side::host || gives_to_host(node);
}

class Rule {
 public:
  Rule(std::span<const NodeRecord> nodes, const OrtKernels& kernels) : nodes_(nodes), kernels_(kernels) {}

  OrtPlacement place() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeRecord& node = nodes_[i];
      const bool constant = is_constant(node);
      for (const ValueRecord& output : node.outputs) {
        if (constant)
          constants_.insert(output.name);
        else
          producers_.emplace(output.name, i);
      }
      result_.sides.push_back(constant || kernels_.contain(node) ? Side::accelerator : Side::host);
      result_.nodes += constant ? 0 : 1;
    }
    // In the file's order, each node follows those that it reads.
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (result_.sides[i] == Side::accelerator && computes_shapes(i)) result_.sides[i] = Side::host;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (result_.sides[i] == Side::host) result_.host.push_back(nodes_[i].title);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (std::size_t operand = 0; operand < nodes_[i].inputs.size(); ++operand) count_copy(i, operand);
    return std::move(result_);
  }

 private:
  /// Whether a node computes shapes: at least one operand comes from Shape or another node that computes shapes, and all others are on the
  /// host.
  [[nodiscard]] bool computes_shapes(std::size_t node) const {
    bool reached = false;
    for (std::size_t i = 0; i < nodes_[node].inputs.size(); ++i) {
      const ValueRecord& input = nodes_[node].inputs[i];
      if (input.name.empty()) continue;
      if (input.kind == ValueRecord::Kind::input) continue;
      if (input.kind == ValueRecord::Kind::initializer || constants_.contains(input.name)) {
        if (input.type.elements() > kSmallInitializer) return false;
        continue;
      }
      const auto producer = producers_.find(input.name);
      if (producer == producers_.end() || nodes_[producer->second].graph != nodes_[node].graph) return false;
      if (!shape_like(producer->second) || takes_from_host(nodes_[node], i)) return false;
      reached = true;
    }
    return reached;
  }
  [[nodiscard]] bool shape_like(std::size_t node) const {
    return gives_to_host(nodes_[node]) || (result_.sides[node] == Side::host && kernels_.contain(nodes_[node]));
  }

  void count_copy(std::size_t consumer, std::size_t operand) {
    const NodeRecord& node = nodes_[consumer];
    const ValueRecord& input = node.inputs[operand];
    const auto found = producers_.find(input.name);
    if (input.name.empty() || found == producers_.end()) return;
    const NodeRecord& producer = nodes_[found->second];
    const bool from_host = lies_on_host(producer, result_.sides[found->second]);
    const bool to_host = result_.sides[consumer] == Side::host || takes_from_host(node, operand);
    if (from_host == to_host || !copied_.insert({input.name, to_host, node.graph}).second) return;
    result_.copies.push_back({input.name.substr(input.name.find(':') + 1), producer.title, node.title, input.type.bytes(), to_host});
  }

  std::span<const NodeRecord> nodes_;
  const OrtKernels& kernels_;
  OrtPlacement result_;
  std::map<std::string, std::size_t> producers_;
  std::set<std::string> constants_;
  std::set<std::tuple<std::string, bool, int>> copied_;
};

}  // namespace

OrtPlacement place_as_onnxruntime(std::span<const NodeRecord> nodes, const OrtKernels& kernels) {
  return Rule(nodes, kernels).place();
}

}  // namespace cleave::models::onnx

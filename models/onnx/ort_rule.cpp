#include "models/onnx/ort_rule.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/base/json_reader.h"
#include "models/onnx/ort_texts.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kSmallInitializer = 100;  ///< elements

/// A row of ONNX Runtime's table for an operator: its versions, and the element types of its first type variable.
struct Kernel {
  int since = 0, until = 0;
  std::set<std::string, std::less<>> types;
};
using Kernels = std::map<std::string, std::vector<Kernel>, std::less<>>;

/// Parses a range of versions: "13+", "12" or "[6, 12]".
std::pair<int, int> versions(std::string_view text) {
  constexpr int kOpen = 1000;
  const bool range = text.starts_with("[");
  if (range) text = text.substr(1);
  int first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, code] = std::from_chars(text.data(), end, first);
  if (code != std::errc()) return {0, 0};
  if (behind != end && *behind == '+') return {first, kOpen};
  if (!range || behind + 2 >= end) return {first, first};
  std::from_chars(behind + 2, end, last);
  return {first, last};
}

Kernels read_kernels() {
  Kernels kernels;
  const std::optional<JsonTree> tree = JsonTree::parse(ort_texts().front().text);
  CLEAVE_CHECK(tree, "the table of kernels is JSON");
  const std::optional<std::size_t> all = tree->find(0, "kernels");
  for (const std::size_t op : tree->children(*all)) {
    for (const std::size_t row : tree->children(op)) {
      const std::vector<std::size_t> parts = tree->children(row);
      Kernel kernel;
      std::tie(kernel.since, kernel.until) = versions(tree->items[parts[0]].scalar.text);
      const std::vector<std::size_t> variables = tree->children(parts[1]);
      const std::optional<std::size_t> main = tree->find(parts[1], "T");
      if (!variables.empty())
        for (const std::size_t type : tree->children(main.value_or(variables.front()))) kernel.types.insert(tree->items[type].scalar.text);
      kernels[tree->items[op].key].push_back(std::move(kernel));
    }
  }
  return kernels;
}

const Kernels& kernels() {
  static const Kernels table = read_kernels();
  return table;
}

std::string_view ort_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u8: return "uint8";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
    case DType::boolean: break;
  }
  return "bool";
}

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

bool gives_to_host(const NodeRecord& node) {
  return node.op == "Shape" || node.op == "Size";
}

/// Whether the results of a node are in host memory, even if the node runs on the accelerator.
bool lies_on_host(const NodeRecord& node, Side side) {
  return side == Side::host || gives_to_host(node);
}

class Rule {
 public:
  explicit Rule(std::span<const NodeRecord> nodes) : nodes_(nodes) {}

  OrtPlacement place() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueRecord& output : nodes_[i].outputs) {
        if (nodes_[i].op == "Constant")
          constants_.insert(output.name);  // an initializer by the time that nodes are placed
        else
          producers_.emplace(output.name, i);
      }
      result_.sides.push_back(ort_has_cuda_kernel(nodes_[i]) ? Side::accelerator : Side::host);
    }
    // In the file's order, each node follows those that it reads.
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (result_.sides[i] == Side::accelerator && computes_shapes(i)) result_.sides[i] = Side::host;
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
    return gives_to_host(nodes_[node]) || (result_.sides[node] == Side::host && ort_has_cuda_kernel(nodes_[node]));
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
  OrtPlacement result_;
  std::map<std::string, std::size_t> producers_;
  std::set<std::string> constants_;
  std::set<std::tuple<std::string, bool, int>> copied_;
};

}  // namespace

bool ort_has_cuda_kernel(const NodeRecord& node) {
  const auto found = kernels().find(node.op);
  if (found == kernels().end()) return false;
  const std::size_t main = node.op == "Where" ? 1 : 0;
  const std::vector<ValueRecord>& typed = node.inputs.size() > main && !node.inputs[main].name.empty() ? node.inputs : node.outputs;
  const std::size_t at = &typed == &node.inputs ? main : 0;
  if (at >= typed.size()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Kernel& kernel) {
    return node.version >= kernel.since && node.version <= kernel.until &&
           (kernel.types.empty() || kernel.types.contains(ort_name(typed[at].type.dtype)));
  });
}

std::string op_and_types(const NodeRecord& node) {
  std::vector<std::string> types;
  for (const ValueRecord& value : node.inputs.empty() ? node.outputs : node.inputs) {
    if (value.name.empty()) continue;
    std::string type(to_string(value.type.dtype));
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(std::move(type));
  }
  std::string list;
  for (const std::string& type : types) list += (list.empty() ? " (" : ", ") + type;
  return "`" + node.op + "`" + list + (list.empty() ? "" : ")");
}

OrtPlacement place_as_onnxruntime(std::span<const NodeRecord> nodes) {
  return Rule(nodes).place();
}

}  // namespace cleave::models::onnx

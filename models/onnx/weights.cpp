#include "models/onnx/weights.h"

#include <algorithm>
#include <array>
#include <map>

#include "graph/base/spelling.h"
#include "models/onnx/tensors.h"

namespace cleave::models::onnx {
namespace {

constexpr std::size_t kNamesShown = 3;

/// Operands of operators that decide shapes or choices, or are statistics and codes of a quantization: they are not trained.
struct FixedOperands {
  std::string_view op;
  std::size_t first = 0, last = 0;
};
constexpr std::size_t kToTheEnd = 1000;
constexpr std::array<FixedOperands, 27> kFixed = {{
    {"BatchNormalization", 3, 4},
    {"BlackmanWindow", 0, kToTheEnd},
    {"Clip", 1, 2},
    {"DequantizeLinear", 1, 2},
    {"Dropout", 1, 2},
    {"DynamicQuantizeLSTM", 8, kToTheEnd},
    {"DynamicQuantizeMatMul", 2, 3},
    {"GatherBlockQuantized", 0, 3},
    {"GroupQueryAttention", 5, 9},  // lengths, tables of angles, positions
    {"HammingWindow", 0, kToTheEnd},
    {"HannWindow", 0, kToTheEnd},
    {"MatMulIntegerToFloat", 2, 5},
    {"MatMulNBits", 1, 4},
    {"MelWeightMatrix", 0, kToTheEnd},
    {"NonMaxSuppression", 2, kToTheEnd},
    {"OneHot", 1, 2},
    {"Pad", 1, kToTheEnd},
    {"QAttention", 3, 7},
    {"QGemm", 0, kToTheEnd},
    {"QMoE", 3, 3},
    {"QMoE", 6, 6},
    {"QMoE", 9, 9},
    {"QuantizeLinear", 1, kToTheEnd},
    {"Range", 0, kToTheEnd},
    {"Resize", 1, kToTheEnd},
    {"RotaryEmbedding", 1, kToTheEnd},
    {"Upsample", 1, 1},
}};

/// All operands of operators such as QLinearAdd are fixed.
bool is_fixed(std::string_view op, std::size_t operand) {
  if (op.starts_with("QLinear")) return true;
  return std::any_of(kFixed.begin(), kFixed.end(),
                     [&](const FixedOperands& each) { return each.op == op && operand >= each.first && operand <= each.last; });
}

/// How the nodes of a graph, and of the graphs inside, read its names.
struct Use {
  bool trained = false, fixed = false;
};
using Uses = std::map<std::string_view, Use>;

void collect(std::string_view graph, int depth, Uses& uses) {
  if (depth > kMostNestedGraphs) return;
  for_each(graph, kGraphNode, [&](std::string_view bytes) {
    const NodeProto node = parse_node(bytes);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      (is_fixed(node.op_type, i) ? uses[node.inputs[i]].fixed : uses[node.inputs[i]].trained) = true;
    for (const AttributeProto& attribute : node.attributes)
      if (const auto inner = attribute.graph()) collect(*inner, depth + 1, uses);
  });
}

/// Whether `text` matches a pattern in which `*` stands for any characters and `?` for one.
bool matches(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, from = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      from = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++from;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(in), pattern.end(), [](char c) { return c == '*'; });
}

std::string element_type_of(const TensorProto& tensor) {
  const std::optional<DType> dtype = element_type(tensor.data_type);
  return dtype ? std::string(to_string(*dtype)) : element_type_name(tensor.data_type);
}

/// The reason why an initializer cannot be a parameter; empty: it can.
std::string why_not(const TensorProto& tensor, const Uses& uses) {
  const std::optional<DType> dtype = element_type(tensor.data_type);
  if (!dtype || !is_floating(*dtype))
    return "its elements are " + element_type_of(tensor) + ", and only floating-point weights are trained";
  const auto use = uses.find(tensor.name);
  if (use == uses.end() || tensor.name.empty()) return "no node reads it";
  return use->second.fixed ? "it decides a shape or is a statistic" : "";
}

std::string first_names(const std::vector<TensorProto>& tensors) {
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kNamesShown); ++i)
    names += (i == 0 ? "`" : ", `") + std::string(tensors[i].name) + "`";
  return names + (tensors.size() > kNamesShown ? ", …" : "");
}

}  // namespace

Result<std::vector<TensorProto>> choose_weights(const ModelProto& model, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return std::vector<TensorProto>();
  std::vector<TensorProto> all, trainable;
  for_each(model.graph, kGraphInitializer, [&](std::string_view bytes) { all.push_back(parse_tensor(bytes)); });
  Uses uses;
  collect(model.graph, 0, uses);
  std::copy_if(all.begin(), all.end(), std::back_inserter(trainable), [&](const TensorProto& each) { return why_not(each, uses).empty(); });
  const auto named = [](const TensorProto& each, const std::string& pattern) { return each.name == pattern; };
  const auto chosen = [&](const TensorProto& each, const std::string& pattern) {
    return named(each, pattern) || (!each.dims.empty() && (pattern == "all" || matches(each.name, pattern)));
  };
  for (const std::string& pattern : patterns) {
    const auto fits = [&](const TensorProto& each) { return chosen(each, pattern); };
    if (std::any_of(trainable.begin(), trainable.end(), fits)) continue;
    const auto meant = std::find_if(all.begin(), all.end(), fits);
    if (meant != all.end())
      return Error{(pattern == "all" ? "no initializer can be a parameter: of `" : "`" + pattern + "` chooses no parameter: of `") +
                       std::string(meant->name) + "`, " + why_not(*meant, uses),
                   {}};
    if (all.empty() || pattern == "all") return Error{"the file has no weights: all its initializers are scalars, or it has none", {}};
    std::vector<std::string> names;
    for (const TensorProto& each : trainable) names.emplace_back(each.name);
    const std::string near = did_you_mean(pattern, names);
    return Error{
        "no initializer matches `" + pattern + "`" + (near.empty() && !trainable.empty() ? "; there are " + first_names(trainable) : near),
        {}};
  }
  std::erase_if(trainable, [&](const TensorProto& each) {
    return std::none_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return chosen(each, pattern); });
  });
  return trainable;
}

}  // namespace cleave::models::onnx

#include "models/onnx/ort_kernels.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/json_reader.h"
#include "models/onnx/ort_texts.h"

namespace cleave::models::onnx {
namespace {

/// Parses a range of versions: "13+", which is for version 13 alone, "12" or "[6, 12]".
std::pair<int, int> versions(std::string_view text) {
  const bool range = text.starts_with("[");
  if (range) text = text.substr(1);
  int first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, code] = std::from_chars(text.data(), end, first);
  if (code != std::errc()) return {0, 0};
  if (!range || behind + 2 >= end) return {first, first};
  std::from_chars(behind + 2, end, last);
  return {first, last};
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

/// Whether ONNX Runtime expands a node by the function that defines its operator, into nodes that have kernels.
bool is_expanded(std::string_view op) {
  static const std::set<std::string_view> kExpanded = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Bernoulli", "Mish",
                                                       "Swish"};
  return kExpanded.contains(op);
}

std::string_view table_name(OrtVersion version) {
  return version == OrtVersion::v1_23 ? "ort_cuda_kernels_1_23" : "ort_cuda_kernels_1_31";
}

OrtKernels read_kernels(OrtVersion version) {
  const std::span<const EmbeddedText> texts = ort_texts();
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const EmbeddedText& text) { return text.name == table_name(version); });
  CLEAVE_CHECK(found != texts.end(), "a table for each version");
  return OrtKernels(found->text);
}

}  // namespace

OrtKernels::OrtKernels(std::string_view json) {
  const std::optional<JsonTree> tree = JsonTree::parse(json);
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
      kernels_[tree->items[op].key].push_back(std::move(kernel));
    }
  }
  for (const std::size_t op : tree->children(*tree->find(0, "versions")))
    for (const std::size_t version : tree->children(op))
      versions_[tree->items[op].key].push_back(static_cast<int>(tree->items[version].scalar.number));
}

int OrtKernels::since(const std::string& op, int opset) const {
  const auto found = versions_.find(op);
  if (found == versions_.end()) return opset;
  const auto behind = std::upper_bound(found->second.begin(), found->second.end(), opset);
  return behind == found->second.begin() ? opset : *(behind - 1);
}

const OrtKernels& OrtKernels::of(OrtVersion version) {
  static const OrtKernels old = read_kernels(OrtVersion::v1_23), newest = read_kernels(OrtVersion::v1_31);
  return version == OrtVersion::v1_23 ? old : newest;
}

bool OrtKernels::contain(const NodeRecord& node) const {
  if (is_expanded(node.op)) return true;
  const std::string op = node.op == "CastLike" ? "Cast" : node.op;
  const auto found = kernels_.find(op);
  if (found == kernels_.end()) return false;
  const std::size_t main = node.op == "Where" ? 1 : 0;
  const std::vector<ValueRecord>& typed = node.inputs.size() > main && !node.inputs[main].name.empty() ? node.inputs : node.outputs;
  const std::size_t at = &typed == &node.inputs ? main : 0;
  if (at >= typed.size()) return false;
  const int version = since(op, node.version);
  return std::any_of(found->second.begin(), found->second.end(), [&](const Kernel& kernel) {
    return version >= kernel.since && version <= kernel.until &&
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

}  // namespace cleave::models::onnx

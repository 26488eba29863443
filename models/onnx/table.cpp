#include "models/onnx/table.h"

#include <algorithm>
#include <vector>

namespace cleave::models::onnx {
namespace {

/// All rows, by operator and version.
std::vector<Lowering> sorted_rows() {
  std::vector<Lowering> rows;
  // clang-format off
  for (const auto family : {
           activation_lowerings,
           attention_lowerings,
           contrib_activation_lowerings,
           contrib_attention_lowerings,
           contrib_block_weight_lowerings,
           contrib_expert_lowerings,
           contrib_group_attention_lowerings,
           contrib_normalization_lowerings,
           contrib_product_lowerings,
           control_flow_lowerings,
           conversion_lowerings,
           convolution_lowerings,
           creation_lowerings,
           elementwise_lowerings,
           feature_lowerings,
           indexing_lowerings,
           joining_lowerings,
           label_lowerings,
           language_lowerings,
           legacy_lowerings,
           linear_model_lowerings,
           loss_lowerings,
           normalization_lowerings,
           pooling_lowerings,
           product_lowerings,
           quantization_lowerings,
           quantized_attention_lowerings,
           quantized_elementwise_lowerings,
           quantized_pooling_lowerings,
           quantized_product_lowerings,
           quantized_recurrent_lowerings,
           random_lowerings,
           recurrent_lowerings,
           reduction_lowerings,
           resampling_lowerings,
           sampling_lowerings,
           scan_lowerings,
           sequence_lowerings,
           shape_lowerings,
           signal_lowerings,
           slicing_lowerings,
           sorting_lowerings,
           text_lowerings,
           training_lowerings,
           tree_ensemble_lowerings}) {
    // clang-format on
    const std::span<const Lowering> part = family();
    rows.insert(rows.end(), part.begin(), part.end());
  }
  std::sort(rows.begin(), rows.end(), [](const Lowering& a, const Lowering& b) { return a.op != b.op ? a.op < b.op : a.since < b.since; });
  return rows;
}

const std::vector<Lowering>& rows() {
  static const std::vector<Lowering> all = sorted_rows();
  return all;
}

}  // namespace

const Lowering* find_lowering(std::string_view op, int version) {
  const auto& all = rows();
  const auto behind = std::upper_bound(all.begin(), all.end(), std::pair(op, version), [](const auto& wanted, const Lowering& row) {
    return wanted.first != row.op ? wanted.first < row.op : wanted.second < row.since;
  });
  return behind != all.begin() && std::prev(behind)->op == op ? &*std::prev(behind) : nullptr;
}

}  // namespace cleave::models::onnx

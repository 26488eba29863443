// The one list of ops, and the one list of composite functions.
#include "graph/ops/op_table.h"

#include <algorithm>

namespace cleave {

std::span<const ops::OpFamily> ops::op_families() {
  static constexpr OpFamily families[] = {
      {"elementwise", "Arithmetic", arithmetic_ops},
      {"elementwise", "Math", math_ops},
      {"elementwise", "Comparison", comparison_ops},
      {"elementwise", "Logic", logic_ops},
      {"selection", "Selection and conversion", selection_ops},
      {"matmul", "Matrix products", matmul_ops},
      {"convolution", "Convolutions", convolution_ops},
      {"pooling", "Pools", pooling_ops},
      {"reduction", "Reductions", reduction_ops},
      {"scan", "Running sums", scan_ops},
      {"softmax", "Softmax", softmax_ops},
      {"attention", "Attention", attention_ops},
      {"cells", "Steps of recurrent networks", cell_ops},
      {"shape", "Shapes", shape_ops},
      {"indexing", "Indexing", indexing_ops},
      {"windows", "Windows at computed places", window_ops},
      {"scatter", "Gathering and scattering", scatter_ops},
      {"joining", "Joining and repeating", joining_ops},
      {"creation", "Creation", creation_ops},
      {"random", "Random numbers", random_ops},
      {"sorting", "Sorting", sorting_ops},
      {"search", "Search", search_ops},
      {"vision", "Detection and sampling", vision_ops},
      {"linear_algebra", "Linear algebra", linear_algebra_ops},
      {"fourier", "Fourier transforms", fourier_ops},
      {"effect", "Effects and host functions", effect_ops},
      {"transfer", "Transfers", transfer_ops},
  };
  return families;
}

std::span<const ops::OpFamily> ops::composite_families() {
  static constexpr OpFamily families[] = {
      {"array_functions", "Arrays", array_functions},
      {"array_sums", "Sums and products of arrays", array_sums},
      {"einsum", "Sums of products", einsum_functions},
      {"recurrent", "Recurrent networks", recurrent_functions},
      {"transposed_convolution", "Transposed convolutions", transposed_convolution_functions},
      {"pooling", "Pools of whole channels", pooling_functions},
      {"normalization", "Normalizations", normalization_functions},
      {"resampling", "Resizing", resampling_functions},
      {"statistics", "Statistics", statistics_functions},
      {"quantization", "Quantization", quantization_functions},
  };
  return families;
}

namespace {

using Ops = std::vector<const OpDef*>;

void add(Ops& all, std::span<const ops::OpFamily> families) {
  for (const ops::OpFamily& family : families) {
    for (const OpDef& op : family.ops()) all.push_back(&op);
  }
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
}

const OpDef* find(std::span<const OpDef* const> all, std::string_view name) {
  const auto found =
      std::lower_bound(all.begin(), all.end(), name, [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return found != all.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const Ops all = [] {
    Ops primitive;
    add(primitive, ops::op_families());
    return primitive;
  }();
  return all;
}

std::span<const OpDef* const> all_functions() {
  static const Ops all = [] {
    Ops functions;
    add(functions, ops::op_families());
    add(functions, ops::composite_families());
    return functions;
  }();
  return all;
}

const OpDef* find_op(std::string_view name) {
  return find(all_ops(), name);
}

const OpDef* find_function(std::string_view name) {
  return find(all_functions(), name);
}

}  // namespace cleave

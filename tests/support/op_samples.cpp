// Joins the files of tests/support/op_samples.
#include "tests/support/op_samples.h"

#include <algorithm>

#include "graph/ops/op_table.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

namespace {

std::vector<OpSample> by_name(std::vector<OpSample> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const OpSample& a, const OpSample& b) { return a.op->name < b.op->name; });
  return samples;
}

}  // namespace

std::vector<OpSample> op_samples() {
  Samples samples;
  for (const auto add : {add_attention,  add_cells,          add_elementwise,      add_products, add_convolutions,      add_pools,
                         add_reductions, add_shapes,         add_indexing,         add_joining,  add_creation,          add_random,
                         add_sorting,    add_linear_algebra, add_fourier,          add_effects,  add_scatters,          add_search,
                         add_vision,     add_windows,        add_window_gradients, add_trees,    add_quantized_products}) {
    add(samples);
  }
  return by_name(std::move(samples.all));
}

std::vector<OpSample> composite_samples() {
  Samples samples;
  for (const auto add : {add_array_functions, add_einsum, add_losses, add_normalizations, add_pools, add_quantization, add_recurrent,
                         add_resampling, add_statistics})
    add(samples);
  return by_name(std::move(samples.composites));
}

std::string describe(const OpSample& sample) {
  std::string text = std::string(sample.op->name) + "(";
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) text += (i > 0 ? ", " : "") + to_string(sample.inputs[i].type());
  return text + (sample.special ? "), special values" : ")");
}

std::string_view family_of(std::string_view op) {
  for (const ops::OpFamily& family : ops::op_families()) {
    for (const OpDef* def : family.ops) {
      if (def->name == op) return family.name;
    }
  }
  return {};
}

}  // namespace cleave::testing

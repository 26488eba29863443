// Measures the host's gradients of convolutions and pools beside the forward kernels, on one thread. A gradient of a convolution has as
// many multiplications as the convolution, so that equal times are the aim.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "executor/device/kernel.h"
#include "graph/base/check.h"
#include "graph/op.h"

namespace cleave::bench {
namespace {

using Integers = std::vector<std::int64_t>;

/// One layer: x, and the weight of a convolution or the window of a pool.
struct Layer {
  Shape x, weight;
  Integers kernel;
  std::int64_t stride = 1, pad = 0, group = 1;
};

/// Runs one op again and again on operands of these shapes.
void repeat(benchmark::State& state, const std::string& name, const std::vector<Shape>& operands, Attributes attributes) {
  const OpDef* op = find_op(name);
  CLEAVE_CHECK(op && !normalize_call(*op, operands.size(), attributes), "a wrong call");
  std::vector<TensorType> types;
  std::vector<Array> arrays;
  for (const Shape& shape : operands) {
    Array& array = arrays.emplace_back(types.emplace_back(TensorType{DType::f32, shape}));
    for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i * 37 % 101) / 101;
  }
  const TypeResult typed = op->type_rule(types, attributes);
  CLEAVE_CHECK(typed.index() == 0, "operands that do not fit");
  Array result(std::get<0>(typed).front());
  const TensorType result_type = result.type();
  const runtime::KernelRequest request{{}, op, &attributes, types, {result_type}, {}, {}, {}, {}};
  const auto kernel = runtime::prepare_host_kernel(request);
  std::vector<runtime::TensorView> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) inputs.push_back({&types[i], arrays[i].mutable_bytes()});
  const runtime::TensorView results[] = {{&result_type, result.mutable_bytes()}};
  const OpContext context;
  for (auto _ : state) CLEAVE_CHECK(kernel->run({*op, attributes, inputs, results, context}).ok());
  const double work = op->cost(types, std::span(&result_type, 1), attributes).flops * static_cast<double>(state.iterations());
  state.counters["flops"] = benchmark::Counter(work, benchmark::Counter::kIsRate);
}

Shape result_of(const Layer& layer) {
  Shape shape{layer.x[0], layer.weight.empty() ? layer.x[1] : layer.weight[0]};
  for (std::size_t axis = 2; axis < layer.x.size(); ++axis) {
    const std::int64_t window = layer.weight.empty() ? layer.kernel[axis - 2] : layer.weight[axis];
    shape.push_back((layer.x[axis] + 2 * layer.pad - window) / layer.stride + 1);
  }
  return shape;
}

void convolution(benchmark::State& state, const std::string& name, const Layer& layer) {
  Attributes attributes{{"strides", Integers{layer.stride}}, {"pads", Integers{layer.pad}}, {"group", layer.group}};
  if (name == "conv") return repeat(state, name, {layer.x, layer.weight}, attributes);
  const bool by_input = name == "conv_input_gradient";
  const Shape& of = by_input ? layer.x : layer.weight;
  attributes.set(by_input ? "extents" : "kernel_shape", Integers(of.begin() + 2, of.end()));
  repeat(state, name, by_input ? std::vector{result_of(layer), layer.weight} : std::vector{layer.x, result_of(layer)}, attributes);
}

void pool(benchmark::State& state, const std::string& name, const Layer& layer) {
  Attributes attributes{{"strides", Integers{layer.stride}}, {"pads", Integers{layer.pad}}, {"kernel_shape", layer.kernel}};
  if (name == "avg_pool_gradient") attributes.set("extents", Integers(layer.x.begin() + 2, layer.x.end()));
  std::vector<Shape> operands;
  if (name != "avg_pool_gradient") operands.push_back(layer.x);
  if (name == "max_pool_gradient" || name == "avg_pool_gradient") operands.push_back(result_of(layer));
  repeat(state, name, operands, attributes);
}

const std::vector<std::pair<std::string, Layer>> kConvolutions = {
    {"digits 1 to 32, 8x8, 3x3, batch 64", {{64, 1, 8, 8}, {32, 1, 3, 3}, {}, 1, 1, 1}},
    {"digits 32 to 64, 8x8, 3x3, batch 64", {{64, 32, 8, 8}, {64, 32, 3, 3}, {}, 1, 1, 1}},
    {"64 to 64, 56x56, 3x3", {{1, 64, 56, 56}, {64, 64, 3, 3}, {}, 1, 1, 1}},
    {"256 to 256, 14x14, 3x3", {{1, 256, 14, 14}, {256, 256, 3, 3}, {}, 1, 1, 1}},
    {"256 to 64, 56x56, 1x1", {{1, 256, 56, 56}, {64, 256, 1, 1}, {}, 1, 0, 1}},
    {"64 to 128, 56x56, 3x3, stride 2", {{1, 64, 56, 56}, {128, 64, 3, 3}, {}, 2, 1, 1}},
    {"depthwise 240, 28x28, 3x3", {{1, 240, 28, 28}, {240, 1, 3, 3}, {}, 1, 1, 240}}};
const std::vector<std::pair<std::string, Layer>> kPools = {{"2x2, stride 2, 64 times 32x8x8", {{64, 32, 8, 8}, {}, {2, 2}, 2, 0, 1}},
                                                           {"3x3, stride 2, 8 times 64x56x56", {{8, 64, 56, 56}, {}, {3, 3}, 2, 1, 1}}};

const bool kRegistered = [] {
  const auto add = [](const std::string& name, const std::string& what, const Layer& layer, auto run) {
    benchmark::RegisterBenchmark((name + "/" + what).c_str(), [=](benchmark::State& state) {
      run(state, name, layer);
    })->Unit(benchmark::kMicrosecond);
  };
  for (const auto& [what, layer] : kConvolutions)
    for (const char* name : {"conv", "conv_input_gradient", "conv_weight_gradient"}) add(name, what, layer, convolution);
  for (const auto& [what, layer] : kPools)
    for (const char* name : {"max_pool", "max_pool_gradient", "avg_pool", "avg_pool_gradient"}) add(name, what, layer, pool);
  return true;
}();

}  // namespace
}  // namespace cleave::bench

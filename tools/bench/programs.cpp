#include "tools/bench/programs.h"

#include <array>
#include <string>
#include <vector>

#include "graph/base/check.h"
#include "graph/trace/tracer.h"

namespace cleave::bench {
namespace {

const OpDef& op(std::string_view name) {
  const OpDef* found = find_op(name);
  CLEAVE_CHECK(found != nullptr, "an op of the benchmark programs");
  return *found;
}

Operand call(Tracer& tracer, const OpDef& def, std::initializer_list<Operand> inputs) {
  return tracer.call(def, std::span(inputs.begin(), inputs.size()), {}, {});
}

}  // namespace

Graph training_program(std::int64_t nodes, std::int64_t width) {
  constexpr std::int64_t kNodesPerLayer = 9;
  const std::int64_t layers = std::max<std::int64_t>(1, nodes / kNodesPerLayer);
  const OpDef &matmul = op("matmul"), &add = op("add"), &relu = op("relu"), &transpose = op("transpose"), &multiply = op("multiply"),
              &subtract = op("subtract");
  Tracer tracer("training");
  const Operand x = tracer.input("x", {DType::f32, {64, width}}, {}, {});
  std::vector<Tracer::State> weights;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "w" + std::to_string(i);
    weights.push_back({name, tracer.parameter(name, {DType::f32, {width, width}}, {{"value", 0.5}}, {}), {}});
  }
  const Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 100, 0}, weights, {});
  std::vector<Operand> activations{x};
  for (std::int64_t i = 0; i < layers; ++i) {
    const Operand product = call(tracer, matmul, {activations.back(), loop.inside[static_cast<std::size_t>(i)]});
    activations.push_back(call(tracer, relu, {call(tracer, add, {product, Literal{Literal::Type::floating, 0, 0.125}})}));
  }
  Operand gradient = activations.back();
  std::vector<Tracer::State> updated(weights.size());
  for (auto i = static_cast<std::size_t>(layers); i-- > 0;) {
    const Operand slope = call(tracer, matmul, {call(tracer, transpose, {activations[i]}), gradient});
    const Operand step = call(tracer, multiply, {slope, Literal{Literal::Type::floating, 0, 0.01}});
    updated[i] = {weights[i].name, call(tracer, subtract, {loop.inside[i], step}), {}};
    gradient = call(tracer, matmul, {gradient, call(tracer, transpose, {loop.inside[i]})});
  }
  const auto after = tracer.end_for(updated);
  tracer.output("w", after.back(), {});
  return tracer.finish();
}

Graph tiny_chain(std::int64_t length, bool on_host) {
  const OpDef& add = op("add");
  Tracer tracer("chain");
  Operand value = tracer.input("x", {DType::f32, {16}}, {}, {});
  const Operand step = tracer.input("step", {DType::f32, {16}}, {}, {});
  tracer.push_place(on_host ? Side::host : Side::accelerator);
  for (std::int64_t i = 0; i < length; ++i) value = call(tracer, add, {value, step});
  tracer.pop_place();
  tracer.output("y", value, {});
  return tracer.finish();
}

Graph large_values(std::int64_t rows) {
  Tracer tracer("large");
  const Operand x = tracer.input("x", {DType::f32, {rows, 2048}}, {}, {});
  tracer.push_place(Side::host);
  const Operand made = call(tracer, op("tanh"), {call(tracer, op("multiply"), {x, Literal{Literal::Type::floating, 0, 0.5}})});
  tracer.pop_place();
  tracer.push_place(Side::accelerator);
  const Operand there = call(tracer, op("add"), {made, Literal{Literal::Type::floating, 0, 0.25}});
  tracer.pop_place();
  tracer.push_place(Side::host);
  Attributes rows_only;
  rows_only.set("axis", std::vector<std::int64_t>{1});
  const Operand back = call(tracer, op("tanh"), {there});
  const Operand operands[] = {back};
  const Operand reduced = tracer.call(op("sum"), operands, rows_only, {});
  tracer.pop_place();
  tracer.output("y", reduced, {});
  return tracer.finish();
}

Graph large_argument(std::int64_t rows) {
  Tracer tracer("taken");
  const Operand x = tracer.input("x", {DType::f32, {rows, 2048}}, {}, {});
  tracer.push_place(Side::accelerator);
  Attributes rows_only;
  rows_only.set("axis", std::vector<std::int64_t>{1});
  const Operand operands[] = {call(tracer, op("tanh"), {x})};
  const Operand reduced = tracer.call(op("sum"), operands, rows_only, {});
  tracer.pop_place();
  tracer.output("y", reduced, {});
  return tracer.finish();
}

}  // namespace cleave::bench

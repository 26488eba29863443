#include "executor/arguments/random_parameter.h"

#include "graph/op.h"

namespace cleave::runtime {
namespace {

/// Runs the reference implementation of `op`, which has one result of type `type`.
Result<Array> evaluate(std::string_view op, std::vector<Array> inputs, const Attributes& attributes, const TensorType& type) {
  const OpDef* definition = find_op(op);
  CLEAVE_CHECK(definition, "the vocabulary lacks an op that parameters need");
  Result<Array> result = Array::allocate(type);
  if (!result) return result;
  OpContext context{[](std::string_view) {}};
  Status status = definition->reference({attributes, inputs, std::span(&*result, 1), context});
  return status ? std::move(result) : Result<Array>(status.error());
}

}  // namespace

Result<Array> random_parameter(RandomKind kind, const TensorType& type, double first, double second, std::uint64_t seed) {
  bool uniform = kind == RandomKind::uniform;
  // The ops draw f32 and f64; other types are drawn in f32 and converted.
  DType dtype = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  Attributes attributes{{"shape", type.shape}, {"seed", static_cast<std::int64_t>(seed)}, {"dtype", dtype}};
  attributes.set(uniform ? "low" : "mean", first);
  attributes.set(uniform ? "high" : "std", second);
  Result<Array> drawn = evaluate(uniform ? "random_uniform" : "random_normal", {}, attributes, {dtype, type.shape});
  if (!drawn || type.dtype == dtype) return drawn;
  return evaluate("astype", {*drawn}, Attributes{{"dtype", type.dtype}}, type);
}

}  // namespace cleave::runtime

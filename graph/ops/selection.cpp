// where and astype: element-wise ops whose operands and results have different types.
#include "graph/base/stop.h"
#include "graph/ops/convert.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {
namespace {

TypeResult where_type(Types inputs, const Attributes&) {
  if (inputs[0].dtype != DType::boolean) return refuse(DiagnosticKind::type, "where", inputs, "the condition must be bool");
  if (inputs[1].dtype != inputs[2].dtype) return refuse(DiagnosticKind::type, "where", inputs, "the element types of the choices differ");
  Shape shape;
  for (const TensorType& input : inputs) {
    std::optional<Shape> wider = broadcast(shape, input.shape);
    if (!wider) return refuse(DiagnosticKind::shape, "where", inputs, "the shapes do not broadcast");
    shape = *std::move(wider);
  }
  return give("where", inputs, {inputs[1].dtype, std::move(shape)});
}

template <class T>
void where_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* a = reinterpret_cast<const bool*>(operands[0]);
  const auto* b = reinterpret_cast<const T*>(operands[1]);
  const auto* c = reinterpret_cast<const T*>(operands[2]);
  auto* out = reinterpret_cast<T*>(results);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = store<T>(scalars::Where::apply<Compute<T>>(a[i * steps[0]], load(b[i * steps[1]]), load(c[i * steps[2]])));
  }
}

Status where_meaning(const OpCall& call) {
  dispatch(call.results[0].dtype(), [&](auto zero) { run_elementwise(call, where_loop<decltype(zero)>); });
  return {};
}

OpDef where_op() {
  return {.name = "where",
          .min_inputs = 3,
          .max_inputs = 3,
          .promotion = Promotion::common,
          .promote_from = 1,
          .signature = "where(condition, x1, x2)",
          .summary = "`x1` where the condition holds, else `x2`",
          .type_rule = where_type,
          .cost = elementwise_cost<1>,
          .cost_class = CostClass::comparison,
          .form = run_of_operands,
          .meaning = where_meaning,
          .scalar = scalars::Where::text,
          .scalar_integer = scalars::Where::text};
}

TypeResult astype_type(Types inputs, const Attributes& attributes) {
  return give("astype", inputs, {attributes.get<DType>("dtype"), inputs[0].shape});
}

Status astype_meaning(const OpCall& call) {
  const Array& x = call.inputs[0];
  dispatch(x.dtype(), [&](auto from) {
    dispatch(call.results[0].dtype(), [&](auto to) {
      using To = decltype(to);
      const auto source = x.values<decltype(from)>();
      To* target = call.results[0].mutable_data<To>();
      each_with_looks(x.size(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) target[i] = convert<To>(source[static_cast<std::size_t>(i)]);
      });
    });
  });
  return {};
}

OpDef astype_op() {
  return {.name = "astype",
          .min_inputs = 1,
          .max_inputs = 1,
          .attributes = {required("dtype", AttributeDef::Type::dtype)},
          .signature = "astype(x, dtype)",
          .summary =
              "converts the elements: from floating point to integers towards zero (too large: the nearest end, NaN: 0), from integers to "
              "narrower ones modulo 2^bits (300 to u8: 44), to bool by `!= 0`",
          .type_rule = astype_type,
          .cost = elementwise_cost<1>,
          .cost_class = CostClass::comparison,
          .form = run_of_operands,
          .meaning = astype_meaning,
          .scalar = scalars::AsType::text,
          .scalar_integer = scalars::AsType::text};
}

}  // namespace

std::span<const OpDef> selection_ops() {
  static const std::vector<OpDef> ops = {where_op(), astype_op()};
  return ops;
}

}  // namespace cleave::ops

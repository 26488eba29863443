// where and astype: element-wise ops whose operands and results have different types.
#include "graph/base/stop.h"
#include "graph/ops/convert.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
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

Status where_reference(const OpCall& call) {
  dispatch(call.results[0].dtype(), [&](auto zero) { run_elementwise(call, where_loop<decltype(zero)>); });
  return {};
}

}  // namespace

constexpr OpDef op::where =
    Record("where(condition, x1, x2)", 3, {}, "`x1` where the condition holds, else `x2`", where_type, elementwise_cost<1>, where_reference)
        .promoting(Promotion::common, 1)
        .of_class(CostClass::comparison, run_of_operands)
        .with_lengths(lengths::elementwise)
        .scalar(scalars::Where::text, scalars::Where::text)
        .differentiated(gradients::where);

namespace {

TypeResult astype_type(Types inputs, const Attributes& attributes) {
  return give("astype", inputs, {attributes.get<DType>("dtype"), inputs[0].shape});
}

Status astype_reference(const OpCall& call) {
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

}  // namespace

constexpr OpDef op::astype =
    Record("astype(x, dtype)", 1, {required("dtype", AttributeDef::Type::dtype)},
           "converts the elements: from floating point to integers towards zero (too large: the nearest end, NaN: 0), from integers to "
           "narrower ones modulo 2^bits (300 to u8: 44), to bool by `!= 0`",
           astype_type, elementwise_cost<1>, astype_reference)
        .of_class(CostClass::comparison, run_of_operands)
        .with_lengths(lengths::elementwise)
        .scalar(scalars::AsType::text, scalars::AsType::text)
        .differentiated(gradients::astype);

}  // namespace cleave::ops

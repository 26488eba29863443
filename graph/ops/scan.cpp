// cumulative_sum: running sums along an axis, accumulated as in reductions.
#include "graph/ops/forms.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

TypeResult cumulative_sum_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto* axis = attributes.get_if<std::int64_t>("axis");
  if (!axis && x.rank() != 1) return refuse(DiagnosticKind::value, "cumulative_sum", inputs, "needs an axis unless x has exactly one");
  if (axis && !find_axis(*axis, x.rank())) return no_axis("cumulative_sum", inputs, *axis, x.rank());
  return give("cumulative_sum", inputs, {sum_dtype(x.dtype), x.shape});
}

template <class T>
void cumulate(const Array& x, Array& result, int along) {
  const Shape& shape = x.shape();
  std::int64_t before = 1, after = 1;
  for (int axis = 0; axis < along; ++axis) before *= shape[axis];
  for (int axis = along + 1; axis < x.type().rank(); ++axis) after *= shape[axis];
  const T* in = x.data<T>();
  auto* out = result.mutable_data<SumOf<T>>();
  for (std::int64_t i = 0; i < before; ++i) {
    for (std::int64_t j = 0; j < after; ++j) {
      Accumulator<T> sum = 0;
      for (std::int64_t k = 0; k < shape[along]; ++k) {
        const std::int64_t at = (i * shape[along] + k) * after + j;
        sum = sum + widen(in[at]);
        out[at] = store<SumOf<T>>(sum);
      }
    }
  }
}

Status cumulative_sum_meaning(const OpCall& call) {
  const Array& x = call.inputs[0];
  const auto along = find_axis(call.attributes.get_or<std::int64_t>("axis", 0), x.type().rank());
  dispatch(x.dtype(), [&](auto zero) { cumulate<decltype(zero)>(x, call.results[0], *along); });
  return {};
}

}  // namespace

std::span<const OpDef> scan_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "cumulative_sum",
       .min_inputs = 1,
       .max_inputs = 1,
       .attributes = {optional("axis", AttributeDef::Type::integer)},
       .signature = "cumulative_sum(x, axis?)",
       .summary = "running sum along an axis, each element included; bool and integers of 8 and 16 bits give i32",
       .type_rule = cumulative_sum_type,
       .cost = linear_cost,
       .cost_class = CostClass::scan,
       .form = form_of_axis,
       .meaning = cumulative_sum_meaning},
  };
  return ops;
}

}  // namespace cleave::ops

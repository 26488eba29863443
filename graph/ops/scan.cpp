// cumulative_sum and cumulative_prod: running sums and products along an axis, with the accumulator types of reductions.
#include "graph/base/stop.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

template <Name name, bool product>
TypeResult scan_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto* axis = attributes.get_if<std::int64_t>("axis");
  if (!axis && x.rank() != 1) return refuse(DiagnosticKind::value, name.view(), inputs, "needs an axis unless x has exactly one");
  if (axis && !find_axis(*axis, x.rank())) return no_axis(name.view(), inputs, *axis, x.rank());
  const std::int64_t count = x.shape[static_cast<std::size_t>(*find_axis(axis ? *axis : 0, x.rank()))];
  return give(name.view(), inputs, {product ? product_dtype(x.dtype) : sum_dtype(x.dtype, count), x.shape});
}

template <bool product, class T, class R>
void cumulate(const Array& x, Array& result, int along, bool exclusive, bool reverse) {
  const Shape& shape = x.shape();
  if (x.type().elements() == 0) return;  // the loops below would run over the other axes, which may be long
  std::int64_t before = 1, after = 1;
  for (int axis = 0; axis < along; ++axis) before *= shape[axis];
  for (int axis = along + 1; axis < x.type().rank(); ++axis) after *= shape[axis];
  const T* in = x.data<T>();
  auto* out = result.mutable_data<R>();
  StopLooks looks;
  for (std::int64_t i = 0; i < before; ++i) {
    for (std::int64_t j = 0; j < after; ++j) {
      Accumulator<T> running = product ? 1 : 0;
      for (std::int64_t k = 0; k < shape[along]; ++k) {
        looks.worked();
        const std::int64_t at = (i * shape[along] + (reverse ? shape[along] - 1 - k : k)) * after + j;
        if (exclusive) out[at] = store<R>(running);
        running = product ? running * widen(in[at]) : running + widen(in[at]);
        if (!exclusive) out[at] = store<R>(running);
      }
    }
  }
}

template <bool product>
Status scan_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const auto along = find_axis(call.attributes.get_or<std::int64_t>("axis", 0), x.type().rank());
  const bool exclusive = call.attributes.get_or("exclusive", false), reverse = call.attributes.get_or("reverse", false);
  dispatch(x.dtype(), [&](auto element) {
    using T = decltype(element);
    dispatch_sum<T>(call.results[0].dtype(),
                    [&](auto sum) { cumulate<product, T, decltype(sum)>(x, call.results[0], *along, exclusive, reverse); });
  });
  return {};
}

template <Name name, bool product>
constexpr Record scan(std::string_view signature, std::string_view summary) {
  return Record(signature, 1,
                {optional("axis", Type::integer), with_default("exclusive", Type::boolean, false),
                 with_default("reverse", Type::boolean, false)},
                summary, scan_type<name, product>, linear_cost, scan_reference<product>)
      .with_lengths(product ? lengths::cumulative_prod : lengths::cumulative_sum)
      .of_class(CostClass::scan, form_of_axis);
}

}  // namespace

constexpr OpDef op::cumulative_sum =
    scan<"cumulative_sum", false>(
        "cumulative_sum(x, axis?, exclusive?, reverse?)",
        "running sum along an axis, each element included unless `exclusive`, from the end if `reverse`; elements "
        "of the type that `sum` along the axis has")
        .differentiated(gradients::cumulative_sum);

constexpr OpDef op::cumulative_prod =
    scan<"cumulative_prod", true>(
        "cumulative_prod(x, axis?, exclusive?, reverse?)",
        "running product along an axis, as `cumulative_sum`; bool and integers of 8 and 16 bits give i32; integers "
        "wrap")
        .differentiated(gradients::cumulative_prod);

}  // namespace cleave::ops

// searchsorted: for each value, the number of elements of a sorted vector that come before it. The order is that of `sort`: numbers by
// size, then NaN.
#include "graph/ops/search.h"

#include <cmath>
#include <limits>

#include "graph/base/stop.h"
#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/wrapping.h"

namespace cleave {
namespace ops {
namespace {

TypeResult search_type(Types inputs, const Attributes& attributes) {
  const TensorType &sorted = inputs[0], &values = inputs[1];
  if (sorted.dtype != values.dtype) return refuse(DiagnosticKind::type, "searchsorted", inputs, "the element types differ");
  if (sorted.rank() != 1) return refuse(DiagnosticKind::shape, "searchsorted", inputs, "what is searched must be a vector");
  if (sorted.shape[0] > std::numeric_limits<std::int32_t>::max())
    return refuse(DiagnosticKind::shape, "searchsorted", inputs, "too many elements for i32 indices");
  const std::string side = attributes.get_or<std::string>("side", "left");
  if (side != "left" && side != "right")
    return refuse(DiagnosticKind::value, "searchsorted", inputs, "`side` is \"left\" or \"right\", not \"" + side + "\"");
  return give("searchsorted", inputs, {DType::i32, values.shape});
}

template <class T>
bool before(T a, T b) {
  const auto x = load(a), y = load(b);
  return x < y || (x == x && y != y);
}

Status search_reference(const OpCall& call) {
  const Array &sorted = call.inputs[0], &values = call.inputs[1];
  const bool right = call.attributes.get_or<std::string>("side", "left") == "right";
  auto* out = call.results[0].mutable_data<std::int32_t>();
  dispatch(sorted.dtype(), [&](auto zero) {
    using T = decltype(zero);
    StopLooks looks;
    for (std::int64_t i = 0; i < values.size(); ++i) {
      looks.worked();
      const T value = values.data<T>()[i];
      std::int32_t count = 0;
      while (count < sorted.size() && (right ? !before(value, sorted.data<T>()[count]) : before(sorted.data<T>()[count], value))) {
        looks.worked();
        ++count;
      }
      out[i] = count;
    }
  });
  return {};
}

/// One comparison for each bisection step of a kernel (the reference implementation counts linearly).
Cost search_cost(Types inputs, Types results, const Attributes&) {
  const double halvings = std::log2(static_cast<double>(inputs[0].elements()) + 2);
  return {static_cast<double>(inputs[1].elements()) * halvings, traffic(inputs, results)};
}

}  // namespace

constexpr OpDef op::searchsorted =
    Record("searchsorted(sorted, values, side?)", 2, {with_default("side", AttributeDef::Type::text, "left")},
           "i32 indices at which the values would keep the vector sorted, before or (`side=\"right\"`) behind equal elements", search_type,
           search_cost, search_reference)
        .promoting(Promotion::common)
        .of_class(CostClass::sort)
        .differentiated(GradientRule::zero());

}  // namespace ops

Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options, Here here) {
  return ops::call(op::searchsorted, {sorted, values}, {{"side", std::string(options.right ? "right" : "left")}}, here);
}

}  // namespace cleave

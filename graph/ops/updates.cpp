// The functions of updates.h. Each records a call: the name of the op, its operands and its attributes. Also lists the in-place updates.
#include "graph/ops/updates.h"

#include <algorithm>
#include <array>

#include "graph/ops/calls.h"
#include "graph/ops/in_place.h"

namespace cleave {

std::optional<std::size_t> ops::updated_operand(const OpDef& op) {
  static constexpr std::array<std::string_view, 4> kUpdates = {"dynamic_update_slice", "scatter", "scatter_add", "scatter_nd"};
  return std::find(kUpdates.begin(), kUpdates.end(), op.name) == kUpdates.end() ? std::nullopt : std::optional<std::size_t>(0);
}

namespace {

using ops::call;

std::string name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::none: break;
    case Reduction::add: return "add";
    case Reduction::mul: return "mul";
    case Reduction::max: return "max";
    case Reduction::min: return "min";
  }
  return "none";
}

std::vector<Tensor> joined(std::vector<Tensor> front, const std::vector<Tensor>& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

}  // namespace

Tensor dynamic_slice(const Tensor& x, const std::vector<Tensor>& starts, std::vector<std::int64_t> sizes, Here here) {
  return call(op::dynamic_slice, joined({x}, starts), {{"sizes", std::move(sizes)}}, here);
}
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const std::vector<Tensor>& starts, Here here) {
  return call(op::dynamic_update_slice, joined({x, update}, starts), {}, here);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, const AxisOptions& options, Here here) {
  return call(op::take_along_axis, {x, indices}, ops::axis(options.axis), here);
}
Tensor gather_nd(const Tensor& x, const Tensor& indices, std::int64_t batch_dims, Here here) {
  return call(op::gather_nd, {x, indices}, {{"batch_dims", batch_dims}}, here);
}
Tensor scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterOptions& options, Here here) {
  return call(op::scatter, {x, indices, updates}, {{"axis", std::int64_t{options.axis}}, {"reduction", name_of(options.reduction)}}, here);
}
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, const AxisOptions& options, Here here) {
  return call(op::scatter_add, {x, indices, updates}, ops::axis(options.axis), here);
}
Tensor scatter_nd(const Tensor& x, const Tensor& indices, const Tensor& updates, Reduction reduction, Here here) {
  return call(op::scatter_nd, {x, indices, updates}, {{"reduction", name_of(reduction)}}, here);
}

}  // namespace cleave

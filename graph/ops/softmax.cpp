// softmax and log_softmax along one axis, with the largest element subtracted first to avoid overflow.
#include <cmath>
#include <limits>

#include "graph/base/stop.h"
#include "graph/ops/domain.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

constexpr Domain kSoftmaxDomain = Domain::floating;

template <Name op>
TypeResult softmax_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (!accepts(kSoftmaxDomain, x.dtype))
    return refuse(DiagnosticKind::type, op.view(), inputs, "needs floating-point elements; convert with astype");
  const auto axis = attributes.get_or<std::int64_t>("axis", -1);
  if (!find_axis(axis, x.rank())) return no_axis(op.view(), inputs, axis, x.rank());
  return give(op.view(), inputs, x);
}

template <bool logarithm, class T>
void softmax_line(const T* in, T* out, std::int64_t count, std::int64_t step, StopLooks& looks) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    looks.worked();
    largest = std::max(largest, widen(in[i * step]));
  }
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    looks.worked();
    sum += std::exp(widen(in[i * step]) - largest);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    looks.worked();
    const double shifted = widen(in[i * step]) - largest;
    out[i * step] = store<T>(logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
}

template <bool logarithm>
Status softmax_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const auto along = find_axis(call.attributes.get_or<std::int64_t>("axis", -1), x.type().rank());
  std::int64_t after = 1;
  for (int axis = *along + 1; axis < x.type().rank(); ++axis) after *= x.shape()[axis];
  const std::int64_t count = x.shape()[*along];
  if (x.size() == 0) return {};
  dispatch_in<kSoftmaxDomain>(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = call.results[0].mutable_data<T>();
    StopLooks looks;
    for (std::int64_t i = 0; i < x.size() / count; ++i) {
      const std::int64_t start = i / after * after * count + i % after;
      softmax_line<logarithm>(in + start, out + start, count, after, looks);
    }
  });
  return {};
}

Cost softmax_cost(Types inputs, Types results, const Attributes&) {
  return {15 * static_cast<double>(inputs[0].elements()), traffic(inputs, results)};
}

template <Name op, bool logarithm>
constexpr Record softmax_record(std::string_view signature, std::string_view summary) {
  return Record(signature, 1, {kLastAxis}, summary, softmax_type<op>, softmax_cost, softmax_reference<logarithm>)
      .promoting(Promotion::floating)
      .with_lengths(lengths::softmax)
      .of_class(CostClass::softmax, form_of_axis);
}

}  // namespace

constexpr OpDef op::softmax = softmax_record<"softmax", false>("softmax(x, axis?)", "`exp(x) / sum(exp(x))` along an axis (the last)")
                                  .differentiated(gradients::softmax);

constexpr OpDef op::log_softmax = softmax_record<"log_softmax", true>("log_softmax(x, axis?)", "`log(softmax(x))` along an axis (the last)")
                                      .differentiated(gradients::log_softmax);

}  // namespace cleave::ops

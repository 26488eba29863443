// Gradients of gather_nd, scatter and scatter_nd.
#include <algorithm>

#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

/// The places of one call of `scatter` or `scatter_nd`: `taken` reads the elements to which the updates go, in the shape of the updates,
/// and `put` is the same call for other arrays.
class Places {
 public:
  Places(Composer& c, const GradientCall& call, bool by_tuples, Part indices)
      : c_(c), by_tuples_(by_tuples), x_(call.operand_type(0)), updates_(call.operand_type(2)), indices_(std::move(indices)) {
    if (!by_tuples) axis_ = call.attributes().get<std::int64_t>("axis");
  }

  [[nodiscard]] Term taken(const Part& x) const {
    if (by_tuples_) return {c_, c_(op::gather_nd, {x, indices_})};
    // Along the other axes the updates may be shorter than x.
    const auto along = static_cast<std::size_t>(*find_axis(axis_, x_.rank()));
    Integers stops = updates_.shape;
    stops[along] = x_.shape[along];
    const Part read = stops == x_.shape ? x : c_(op::slice, {x}, {{"starts", Integers(stops.size(), 0)}, {"stops", stops}});
    return {c_, c_(op::take_along_axis, {read, indices_}, {{"axis", axis_}})};
  }
  [[nodiscard]] Term put(const Part& x, const Part& updates, const char* reduction) const {
    if (by_tuples_) return {c_, c_(op::scatter_nd, {x, indices_, updates}, {{"reduction", std::string(reduction)}})};
    return {c_, c_(op::scatter, {x, indices_, updates}, {{"axis", axis_}, {"reduction", std::string(reduction)}})};
  }

  /// Which updates are the last ones of their places.
  [[nodiscard]] Term last() const {
    const Part none = c_(op::full, {}, {{"shape", x_.shape}, {"value", std::int64_t{-1}}, {"dtype", DType::i64}});
    const Part count = c_(op::arange, {}, {{"start", updates_.elements()}, {"dtype", DType::i64}});
    const Part numbers = c_.reshape(count, updates_.shape);
    return taken(put(none, numbers, "none").part()) == Term(c_, numbers);
  }

 private:
  Composer& c_;
  bool by_tuples_;
  const TensorType &x_, &updates_;
  Part indices_;
  std::int64_t axis_ = 0;
};

/// The last update of a place has its cotangent, and what it replaces has none.
void replaced(Composer& c, GradientCall& call, const Places& places) {
  const Part g = call.cotangent(0);
  if (call.wants(0)) {
    const TensorType& updates = call.operand_type(2);
    const Part zeros = c(op::zeros, {}, {{"shape", updates.shape}, {"dtype", updates.dtype}});
    call.give(0, places.put(g, zeros, "none").part());
  }
  if (call.wants(2)) call.give(2, where(places.last(), places.taken(g), 0).part());
}

/// Old element and updates that equal the result share its cotangent.
void largest_or_smallest(Composer& c, GradientCall& call, const Places& places) {
  const DType dtype = call.operand_type(0).dtype;
  const Term r(c, call.result(0));
  const auto weight = [&](const Term& equal) { return Term(c, c.as(dtype, equal.part())); };
  const Term of_x = weight(Term(c, call.operand(0)) == r), of_updates = weight(Term(c, call.operand(2)) == places.taken(r.part()));
  const Term share = Term(c, call.cotangent(0)) / places.put(of_x.part(), of_updates.part(), "add");
  if (call.wants(0)) call.give(0, (of_x * share).part());
  if (call.wants(2)) call.give(2, (of_updates * places.taken(share.part())).part());
}

/// The cotangent of a factor is that of the product times all other factors of its place, which are not found by a division where one of
/// them is zero: a place with one zero has the product of the others, with more zeros 0.
void multiplied(Composer& c, GradientCall& call, const Places& places) {
  const TensorType& x = call.operand_type(0);
  const auto filled = [&](const OpDef& op) { return c(op, {}, {{"shape", x.shape}, {"dtype", x.dtype}}); };
  const Part updates = c.as(x.dtype, call.operand(2));
  const Term u(c, updates), g(c, call.cotangent(0));
  if (call.wants(0)) call.give(0, (g * places.put(filled(op::ones), updates, "mul")).part());
  if (!call.wants(2)) return;
  const Term zero = u == 0, factors = where(zero, 1, u);
  const Term product = places.taken(places.put(filled(op::ones), factors.part(), "mul").part());
  const Term zeros = places.taken(places.put(filled(op::zeros), c.as(x.dtype, zero.part()), "add").part());
  const Term others = where(zero, where(zeros == 1, product, 0), where(zeros == 0, product / factors, 0));
  call.give(2, (places.taken((g * Term(c, call.operand(0))).part()) * others).part());
}

void scattered(Composer& c, GradientCall& call, bool by_tuples) {
  const std::string reduction = call.attributes().get<std::string>("reduction");
  const Places places(c, call, by_tuples, call.operand(1));
  if (reduction == "none") return replaced(c, call, places);
  if (reduction == "mul") return multiplied(c, call, places);
  if (reduction != "add") return largest_or_smallest(c, call, places);
  call.give(0, call.cotangent(0));
  if (call.wants(2)) call.give(2, places.taken(call.cotangent(0)).part());
}

/// The tuples of indices with those of the `batch` axes in front.
Part whole_tuples(Composer& c, const Part& indices, std::int64_t batch) {
  Shape one = indices.shape();
  one.back() = 1;
  Parts tuples;
  for (std::int64_t axis = 0; axis < batch; ++axis) {
    Shape line(one.size(), 1);
    line[static_cast<std::size_t>(axis)] = one[static_cast<std::size_t>(axis)];
    const Part numbers = c(op::arange, {}, {{"start", one[static_cast<std::size_t>(axis)]}, {"dtype", DType::i64}});
    tuples.push_back(c(op::broadcast_to, {c.reshape(numbers, line)}, {{"shape", one}}));
  }
  tuples.push_back(c.as(DType::i64, indices));
  return c(op::concat, tuples, {{"axis", std::int64_t{-1}}});
}

}  // namespace

void gather_nd(Composer& c, GradientCall& call) {
  const std::int64_t batch = call.attributes().get<std::int64_t>("batch_dims");
  const Part indices = batch == 0 ? call.operand(1) : whole_tuples(c, call.operand(1), batch);
  call.give_into(0, [&](const Part& sum) {
    return c(op::scatter_nd, {sum, indices, call.cotangent(0)}, {{"reduction", std::string("add")}});
  });
}

void scatter(Composer& c, GradientCall& call) {
  scattered(c, call, false);
}
void scatter_nd(Composer& c, GradientCall& call) {
  scattered(c, call, true);
}

}  // namespace cleave::ops::gradients

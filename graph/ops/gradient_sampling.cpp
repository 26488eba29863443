// The gradient of grid_sample: each place reads a few elements of its plane (taps) with weights that follow from the place, along rows and
// columns.
#include <optional>
#include <string>
#include <vector>

#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

/// The taps of all places along one axis: the element of each, its weight, and the derivative of the weight by the position.
struct Taps {
  std::vector<Term> index, weight, slope;
};

/// One axis of a plane, and how `grid_sample` reads it; see graph/ops/sampling.h.
class Axis {
 public:
  Axis(Composer& c, std::int64_t extent, const Attributes& attributes)
      : c_(c),
        last_(static_cast<double>(extent - 1)),
        mode_(attributes.get<std::string>("mode")),
        padding_(attributes.get<std::string>("padding")),
        align_(attributes.get<bool>("align_corners")) {}

  /// Elements for each unit of a normal coordinate, of which -1 and 1 are the borders.
  [[nodiscard]] double scale() const { return (align_ ? last_ : last_ + 1) / 2; }

  [[nodiscard]] Taps taps(const Term& normal) const {
    const Term at = align_ ? (normal + 1) * 0.5 * last_ : ((normal + 1) * (last_ + 1) - 1) * 0.5;
    if (mode_ == "nearest") return {{call(op::floor, padded(call(op::round, at)).at)}, {filled(at, 1)}, {filled(at, 0)}};
    return mode_ == "cubic" ? cubic(at) : linear(at);
  }

 private:
  struct Padded {
    Term at, slope;  ///< the position, and its derivative by that before
  };

  [[nodiscard]] Term filled(const Term& like, double value) const {
    const TensorType type = like.part().type();
    return {c_, c_(op::full, {}, {{"shape", type.shape}, {"value", value}, {"dtype", type.dtype}})};
  }

  [[nodiscard]] Padded padded(const Term& at) const {
    if (padding_ == "zeros") return {at, filled(at, 1)};
    Padded found{at, filled(at, 1)};
    if (padding_ == "reflection") found = reflected(at);
    const Term inside = found.at >= 0 && Term(last_) >= found.at;
    return {call(op::minimum, call(op::maximum, found.at, 0), last_), where(inside, found.slope, 0)};
  }

  [[nodiscard]] Padded reflected(const Term& at) const {
    const double low = align_ ? 0 : -0.5, span = align_ ? last_ : last_ + 1;
    if (!(span > 0)) return {filled(at, low), filled(at, 0)};
    const Term from_low = at - low, distance = call(op::abs, from_low), turns = call(op::floor, distance / span);
    const Term rest = distance - turns * span, even = call(op::remainder, turns, 2) == 0;
    return {where(even, rest + low, Term(low + span) - rest), call(op::sign, from_low) * where(even, filled(at, 1), -1)};
  }

  [[nodiscard]] Taps linear(const Term& at) const {
    const Padded place = padded(at);
    const Term below = call(op::floor, place.at), share = place.at - below;
    return {{below, below + 1}, {Term(1) - share, share}, {-place.slope, place.slope}};
  }

  /// Keys' cubic with a = -0.75. Padding is applied to each tap.
  [[nodiscard]] Taps cubic(const Term& at) const {
    constexpr double a = -0.75;
    const auto near = [](const Term& x) { return (x * (a + 2) - (a + 3)) * x * x + 1; };
    const auto near_slope = [](const Term& x) { return (x * (3 * (a + 2)) - 2 * (a + 3)) * x; };
    const auto far = [](const Term& x) { return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a; };
    const auto far_slope = [](const Term& x) { return (x * (3 * a) - 10 * a) * x + 8 * a; };
    const Term below = call(op::floor, at), share = at - below, rest = Term(1) - share;
    Taps taps{{}, {far(share + 1), near(share), near(rest), far(rest + 1)}, {}};
    taps.slope = {far_slope(share + 1), near_slope(share), -near_slope(rest), -far_slope(rest + 1)};
    for (int i = -1; i < 3; ++i) taps.index.push_back(call(op::floor, padded(below + i).at));
    return taps;
  }

  Composer& c_;
  double last_;
  std::string mode_, padding_;
  bool align_;
};

}  // namespace

void grid_sample(Composer& c, GradientCall& call) {
  const Shape x = call.operand_type(0).shape, places = call.operand_type(1).shape;
  if (call.operand_type(0).elements() == 0 || call.result_type(0).elements() == 0) return;
  const DType own = call.operand_type(0).dtype, dtype = own == DType::f64 ? own : DType::f32;
  const std::int64_t count = places[1] * places[2];
  const Shape lines{x[0], x[1], count}, plane{x[0], x[1], x[2] * x[3]};
  const auto coordinate = [&](std::int64_t which) {
    const Part part = c(op::slice, {call.operand(1)},
                        {{"starts", Integers{0, 0, 0, which}}, {"stops", Integers{places[0], places[1], places[2], which + 1}}});
    return Term(c, c.reshape(c.as(dtype, part), {x[0], 1, count}));
  };
  const Axis across(c, x[3], call.attributes()), down(c, x[2], call.attributes());
  const Taps columns = across.taps(coordinate(0)), rows = down.taps(coordinate(1));
  const Term g(c, c.reshape(c.as(dtype, call.cotangent(0)), lines));
  const auto inside = [&](const Term& index, std::int64_t extent) { return index >= 0 && Term(static_cast<double>(extent - 1)) >= index; };
  const auto whole = [&](const Term& index) { return Term(c, c.as(DType::i64, index.part())); };
  const Attributes along{{"axis", std::int64_t{2}}};
  std::optional<Term> by_column, by_row;
  const auto add = [](std::optional<Term>& sum, const Term& more) { sum = sum ? *sum + more : more; };
  for (std::size_t j = 0; j < rows.index.size(); ++j) {
    for (std::size_t i = 0; i < columns.index.size(); ++i) {
      const Term seen = inside(rows.index[j], x[2]) && inside(columns.index[i], x[3]);
      const Term element = whole(where(seen, rows.index[j], 0)) * Term(static_cast<int>(x[3])) + whole(where(seen, columns.index[i], 0));
      const Part indices = c(op::broadcast_to, {element.part()}, {{"shape", lines}});
      if (call.wants(0)) {
        const Term updates = g * where(seen, rows.weight[j] * columns.weight[i], 0);
        Attributes adding = along;
        adding.set("reduction", std::string("add"));
        call.give_into(0, [&](const Part& sum) {
          return c.reshape(c(op::scatter, {c.reshape(sum, plane), indices, c.as(own, updates.part())}, adding), x);
        });
      }
      if (!call.wants(1)) continue;
      const Part read = c(op::take_along_axis, {c.as(dtype, c.reshape(call.operand(0), plane)), indices}, along);
      const Term value = where(seen, Term(c, c(op::sum, {(g * Term(c, read)).part()}, {{"axis", Integers{1}}, {"keepdims", true}})), 0);
      add(by_column, value * rows.weight[j] * columns.slope[i]);
      add(by_row, value * rows.slope[j] * columns.weight[i]);
    }
  }
  if (!call.wants(1)) return;
  const auto placed = [&](const Term& sum, double scale) { return c.reshape((sum * scale).part(), {places[0], places[1], places[2]}); };
  call.give(1, c(op::stack, {placed(*by_column, across.scale()), placed(*by_row, down.scale())}, {{"axis", std::int64_t{3}}}));
}

}  // namespace cleave::ops::gradients

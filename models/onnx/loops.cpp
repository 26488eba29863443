#include "models/onnx/loops.h"

#include <algorithm>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {

std::vector<Tracer::State> states(Call& c, const Values& values) {
  std::vector<Tracer::State> states;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string name(c.wants(i) ? c.node().outputs[i] : std::string_view());
    states.push_back({std::move(name), values[i].part.operand(), c.location()});
  }
  return states;
}

Values values_of(Call& c, const std::vector<Operand>& operands) {
  Values values;
  for (const Operand& operand : operands) values.emplace_back(Part(c.tracer(), operand));
  return values;
}

bool plain(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& value) { return !value.sequence && !value.absent; });
}

bool any_bounded(Call& c, const Values& values) {
  return std::any_of(values.begin(), values.end(), [&](const Value& value) { return !value.sequence && bounded(c, value.part); });
}

CarriedSizes::CarriedSizes(Call& c, const Values& initial, const Values& sample, std::optional<std::int64_t> trips) : c_(c) {
  for (std::size_t i = 0; i < initial.size(); ++i) {
    const Part& first = initial[i].part;
    const Part& next = i < sample.size() ? sample[i].part : first;
    if (next.rank() != first.rank()) {
      change_ = true;
      continue;
    }
    for (int axis = 0; axis < first.rank(); ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      const std::int64_t growth = next.shape()[at] - first.shape()[at];
      change_ = change_ || growth < 0;
      const bool exact = !length_of(c, first, axis) && !length_of(c, next, axis);
      if (growth <= 0 && exact) continue;
      grow_ = grow_ || growth > 0;
      axes_.push_back(
          {i, axis, first.shape()[at] + std::max<std::int64_t>(growth, 0) * trips.value_or(0), std::max<std::int64_t>(growth, 0), exact});
    }
  }
}

Values CarriedSizes::with_counts(const Values& values) const {
  Values all = values;
  Values counts;
  for (const Axis& each : axes_) {
    Part& part = all[each.value].part;
    if (part.operand().poisoned()) {
      counts.emplace_back();
      continue;
    }
    counts.emplace_back(extent_of(c_, values[each.value].part, each.axis));
    const WholeValues whole(c_);
    const std::int64_t extent = part.shape()[static_cast<std::size_t>(each.axis)];
    std::vector<std::int64_t> widths(2 * part.shape().size(), 0);
    widths[2 * static_cast<std::size_t>(each.axis) + 1] = std::max<std::int64_t>(each.extent - extent, 0);
    part = extent < each.extent ? c_(op::pad, {part}, {{"widths", widths}}) : piece(c_, part, each.axis, 0, each.extent);
  }
  all.insert(all.end(), counts.begin(), counts.end());
  return all;
}

Values CarriedSizes::with_lengths(Values values, std::size_t carries, Where where) const {
  const std::size_t first = values.size() - axes_.size();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& each = axes_[i];
    if (where == Where::complete && each.exact) continue;
    c_.tracer().set_length(values[each.value].part.operand(), each.axis, values[first + i].part.operand(),
                           where == Where::inside ? std::optional(each.extent - each.growth) : std::nullopt);
  }
  values.resize(std::min(carries, first));
  return values;
}

}  // namespace cleave::models::onnx

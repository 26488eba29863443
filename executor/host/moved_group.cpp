// One pass over the steps: each value of the original group becomes a reading of an input or a step of the rewritten group.
#include "executor/host/moved_group.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/ops/rules.h"
#include "graph/ops/views.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::host {
namespace {

/// The op of an added step that copies elements in order, under another shape; it is not in the table of ops.
const OpDef& copying() {
  static const OpDef op = [] {
    OpDef made;
    made.name = "copy";
    made.min_inputs = made.max_inputs = 1;
    made.scalar = made.scalar_integer = "a";
    made.cost_class = CostClass::movement;
    return made;
  }();
  return op;
}

const Attributes& no_attributes() {
  static const Attributes none;
  return none;
}

enum class Way : std::uint8_t { none, same_order, broadcast, slice };

Way way_of(const OpDef& op) {
  if (&op == &op::reshape || &op == &op::expand_dims || &op == &op::squeeze) return Way::same_order;
  if (&op == &op::broadcast_to) return Way::broadcast;
  return &op == &op::slice ? Way::slice : Way::none;
}

/// Broadcasts strides along axes of extents `from` to the axes of `to`.
ops::Strides broadcast_from(const ops::Strides& strides, const Shape& from, const Shape& to) {
  ops::Strides wider(to.size(), 0);
  const std::size_t lead = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) wider[lead + axis] = from[axis] == 1 ? 0 : strides[axis];
  return wider;
}

class Rewriter {
 public:
  explicit Rewriter(const KernelRequest& request) : given_(request), inputs_(request.input_types.size()) {
    out_.node = request.node;
    out_.op = request.op;
    out_.attributes = request.attributes;
    out_.result_types = request.result_types;
    for (std::size_t i = 0; i < inputs_; ++i)
      values_.push_back({false, read({i, 0, row_major_strides(request.input_types[i].shape)}, request.input_types[i])});
  }

  std::optional<MovedGroup> run() {
    for (std::size_t s = 0; s < given_.steps.size(); ++s) {
      const FusedStep& step = given_.steps[s];
      const Way way = way_of(*step.op);
      if (way == Way::none) {
        compute(step);
      } else if (!move(s, way)) {
        return std::nullopt;
      }
    }
    for (const std::size_t written : given_.written) {
      Value& value = values_[inputs_ + written];
      if (!value.made) return std::nullopt;  // a part of an input, unchanged: a separate kernel copies that faster
      out_.written.push_back(value.index);
    }
    return finish();
  }

 private:
  /// A step of the rewritten group, or else a reading.
  struct Value {
    bool made = false;
    std::size_t index = 0;
  };

  [[nodiscard]] static bool dense(const Reading& reading, const Shape& shape) { return reading.strides == row_major_strides(shape); }

  std::size_t read(Reading reading, const TensorType& type) {
    for (std::size_t i = 0; i < out_.readings.size(); ++i) {
      const Reading& known = out_.readings[i];
      if (known.input == reading.input && known.offset == reading.offset && known.strides == reading.strides && out_.input_types[i] == type)
        return i;
    }
    out_.readings.push_back(std::move(reading));
    out_.input_types.push_back(type);
    return out_.readings.size() - 1;
  }

  std::size_t add(FusedStep step, std::vector<Value> operands) {
    out_.steps.push_back(std::move(step));
    operands_.push_back(std::move(operands));
    return out_.steps.size() - 1;
  }

  Value copied(Value from, NodeId node, const TensorType& type) {
    return {true, add({node, &copying(), &no_attributes(), {}, type}, {from})};
  }

  void compute(const FusedStep& step) {
    std::vector<Value> operands;
    for (const std::size_t operand : step.operands) {
      Value value = values_[operand];
      // A reduction reads contiguous rows.
      if (!step.op->elementwise() && !value.made && !dense(out_.readings[value.index], out_.input_types[value.index].shape))
        value = copied(value, step.node, TensorType(out_.input_types[value.index]));
      operands.push_back(value);
    }
    values_.push_back({true, add(step, std::move(operands))});
  }

  [[nodiscard]] bool is_written(std::size_t s) const {
    return std::find(given_.written.begin(), given_.written.end(), s) != given_.written.end();
  }
  /// Whether a step's result is read by element-wise steps only, which broadcast by themselves.
  [[nodiscard]] bool read_elementwise(std::size_t s) const {
    bool is_read = false;
    for (const FusedStep& step : given_.steps) {
      if (std::find(step.operands.begin(), step.operands.end(), inputs_ + s) == step.operands.end()) continue;
      if (!step.op->elementwise()) return false;
      is_read = true;
    }
    return is_read;
  }

  bool move(std::size_t s, Way way) {
    const FusedStep& step = given_.steps[s];
    const Value from = values_[step.operands[0]];
    if (from.made) {
      if (way == Way::slice) return false;
      const bool needless = way == Way::broadcast && !is_written(s) && read_elementwise(s);
      values_.push_back(needless ? from : copied(from, step.node, step.type));
      return true;
    }
    std::optional<Reading> moved = moved_reading(step, way, out_.readings[from.index], out_.input_types[from.index]);
    if (!moved) return false;
    values_.push_back({false, read(*std::move(moved), step.type)});
    if (is_written(s) && way != Way::slice) values_.back() = copied(values_.back(), step.node, step.type);
    return true;
  }

  static std::optional<Reading> moved_reading(const FusedStep& step, Way way, const Reading& from, const TensorType& type) {
    Reading moved{from.input, from.offset, {}};
    if (way == Way::broadcast) {
      moved.strides = broadcast_from(from.strides, type.shape, step.type.shape);
      return moved;
    }
    if (!dense(from, type.shape)) return std::nullopt;
    if (way == Way::same_order) {
      moved.strides = row_major_strides(step.type.shape);
      return moved;
    }
    ops::View view = ops::slice_view(type, *step.attributes);
    moved.offset += step.type.elements() > 0 ? view.offset : 0;
    moved.strides = std::move(view.strides);
    return moved;
  }

  /// Removes unused readings and numbers the operands.
  std::optional<MovedGroup> finish() {
    std::vector<std::size_t> place(out_.readings.size(), 0);
    for (const std::vector<Value>& operands : operands_)
      for (const Value& value : operands)
        if (!value.made) place[value.index] = 1;
    MovedGroup made = std::move(out_);
    std::vector<Reading> readings = std::exchange(made.readings, {});
    std::vector<TensorType> types = std::exchange(made.input_types, {});
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (place[i] == 0) continue;
      place[i] = made.readings.size();
      made.readings.push_back(std::move(readings[i]));
      made.input_types.push_back(std::move(types[i]));
    }
    for (std::size_t s = 0; s < made.steps.size(); ++s) {
      made.steps[s].operands.clear();
      for (const Value& value : operands_[s])
        made.steps[s].operands.push_back(value.made ? made.readings.size() + value.index : place[value.index]);
    }
    return made;
  }

  const KernelRequest& given_;
  const std::size_t inputs_;
  MovedGroup out_;
  std::vector<Value> values_;                 ///< by input and step of the original request
  std::vector<std::vector<Value>> operands_;  ///< by step of `out_`
};

}  // namespace

ops::Strides MovedGroup::strides(std::size_t operand, const Shape& to) const {
  if (operand >= input_types.size()) return ops::broadcast_strides(steps[operand - input_types.size()].type.shape, to);
  return broadcast_from(readings[operand].strides, input_types[operand].shape, to);
}

bool could_do_without_movement(const KernelRequest& request) {
  std::size_t computing = 0;
  for (const FusedStep& step : request.steps) {
    if (way_of(*step.op) != Way::none) continue;
    if (!kernels::computes_step(*step.op)) return false;
    ++computing;
  }
  return computing <= kMostSteps;
}

std::optional<MovedGroup> without_movement(const KernelRequest& request) {
  return Rewriter(request).run();
}

}  // namespace cleave::runtime::host

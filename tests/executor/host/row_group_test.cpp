// Groups of element-wise steps, row reductions and data movement as one host kernel, against the steps' own kernels run one after the other
// (which kernels_test compares with the reference implementations): equal to the bit, for every number of threads and every row length.
// Also, every part of a group is a valid group, which the planner relies on.
#include "executor/host/row_group.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "tests/executor/host/in_pieces.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

/// A request with its operands and the expected results of its steps.
struct RowGroup {
  KernelRequest request;
  std::vector<Array> inputs, made;
};

/// Whether a step moves elements of an outside operand, directly or through other such steps.
bool moves_input(const KernelRequest& request, std::size_t s) {
  const FusedStep& step = request.steps[s];
  if (step.op->cost_class != CostClass::movement) return false;
  return step.operands[0] < request.input_types.size() || moves_input(request, step.operands[0] - request.input_types.size());
}

class RowGroupGenerator {
 public:
  explicit RowGroupGenerator(unsigned seed) : random_(seed) {}

  /// Draws steps, and adds as many of them as one kernel supports.
  RowGroup next(const Shape& shape, std::size_t row_axes) {
    group_ = {};
    values_.clear();
    shape_ = shape;
    row_axes_ = row_axes;
    for (std::size_t i = 0, count = 1 + pick(4); i < count; ++i) add_input(i == 0);
    for (std::size_t count = pick(2) ? pick(3) : 0; count-- > 0;) add_moved();
    const std::size_t wanted = 2 + pick(12);
    for (std::size_t tries = 0; tries < 60 && group_.request.steps.size() < wanted; ++tries) add_step();
    for (std::size_t s = 0; s < group_.request.steps.size(); ++s) {
      if (s + 1 < group_.request.steps.size() && (pick(4) > 0 || moves_input(group_.request, s))) continue;
      group_.request.written.push_back(s);
      group_.request.result_types.push_back(group_.request.steps[s].type);
    }
    group_.made.assign(values_.begin() + static_cast<std::ptrdiff_t>(group_.inputs.size()), values_.end());
    return std::move(group_);
  }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  /// Adds an input of the full shape, or one that broadcasts to it.
  void add_input(bool full) {
    Shape shape = shape_;
    if (!full) {
      for (std::int64_t& size : shape) size = pick(2) ? size : 1;
      shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(pick(shape.size() + 1)));
    }
    add_input_of(shape);
  }
  void add_input_of(const Shape& shape) {
    const DType dtype = std::array{DType::f32, DType::f32, DType::f64, DType::i32, DType::u8, DType::f16}[pick(6)];
    Array array(TensorType{dtype, shape});
    dispatch(dtype, [&](auto zero) {
      auto* elements = reinterpret_cast<decltype(zero)*>(array.mutable_bytes());
      for (std::int64_t i = 0; i < array.type().elements(); ++i)
        elements[i] = static_cast<decltype(zero)>(static_cast<float>(random_() % 200) / 16);
    });
    group_.request.input_types.push_back(array.type());
    group_.inputs.push_back(array);
    values_.push_back(std::move(array));
  }

  /// Runs the step alone, and appends it to the group.
  void append(FusedStep step, std::vector<Array> operands) {
    Array made(step.type);
    std::vector<TensorView> views;
    for (Array& operand : operands) views.push_back({&operand.type(), const_cast<std::byte*>(operand.bytes())});
    const TensorView view{&made.type(), made.mutable_bytes()};
    const OpContext context{[](std::string_view) {}};
    ASSERT_TRUE(run_guarded(host_kernel(*step.op), {*step.op, *step.attributes, views, std::span(&view, 1), context}).ok());
    group_.request.op = step.op;
    group_.request.attributes = step.attributes;
    group_.request.steps.push_back(std::move(step));
    values_.push_back(std::move(made));
  }

  /// Adds a step that moves a separate input to the full shape or to one that broadcasts to it. All inputs come first.
  void add_moved() {
    Shape to = shape_, from;
    if (pick(3) == 0)
      for (std::int64_t& size : to) size = pick(2) ? size : 1;
    Attributes attributes;
    const char* op = std::array{"slice", "slice", "slice", "reshape", "broadcast_to", "expand_dims"}[pick(6)];
    if (op == std::string_view("slice")) {
      std::vector<std::int64_t> starts, stops, steps, squeeze;
      if (pick(3) == 0) {
        squeeze = {0};
        from.push_back(3);
        starts.push_back(1);
        stops.push_back(2);
        steps.push_back(1);
      }
      for (const std::int64_t size : to) {
        const auto step = static_cast<std::int64_t>(1 + (pick(3) == 0 ? pick(3) : 0)), offset = static_cast<std::int64_t>(pick(3));
        from.push_back(offset + size * step + static_cast<std::int64_t>(pick(4)));
        const bool back = pick(4) == 0 && size > 0;
        starts.push_back(back ? offset + (size - 1) * step : offset);
        stops.push_back(back ? (offset == 0 ? -from.back() - 1 : offset - 1) : offset + size * step - (step > 1 ? 1 : 0));
        steps.push_back(back ? -step : step);
      }
      attributes.set("starts", starts);
      attributes.set("stops", stops);
      attributes.set("steps", steps);
      attributes.set("squeeze", squeeze);
    } else if (op == std::string_view("broadcast_to")) {
      for (const std::int64_t size : to) from.push_back(pick(2) ? size : 1);
      attributes.set("shape", std::vector<std::int64_t>(to));
    } else if (op == std::string_view("reshape")) {
      from = {TensorType{DType::f32, to}.elements()};
      attributes.set("shape", std::vector<std::int64_t>(to));
    } else {
      from.assign(to.begin() + 1, to.end());
      to[0] = 1;
      attributes.set("axis", std::int64_t{0});
    }
    if (TensorType{DType::f32, from}.elements() > 1 << 20) return;
    for (FusedStep& step : group_.request.steps)
      for (std::size_t& operand : step.operands) operand += operand >= group_.inputs.size();
    const std::vector<Array> made(values_.begin() + static_cast<std::ptrdiff_t>(group_.inputs.size()), values_.end());
    values_.resize(group_.inputs.size());
    add_input_of(from);
    values_.insert(values_.end(), made.begin(), made.end());
    FusedStep step{{}, find_op(op), &attributes_.emplace_back(attributes), {group_.inputs.size() - 1}, {}};
    ASSERT_FALSE(normalize_call(*step.op, 1, attributes_.back()));
    const Array operand = group_.inputs.back();
    const TypeResult typed = step.op->type_rule(std::span(&operand.type(), 1), attributes_.back());
    ASSERT_TRUE(std::holds_alternative<std::vector<TensorType>>(typed));
    step.type = std::get<std::vector<TensorType>>(typed)[0];
    ASSERT_EQ(step.type.shape, to) << op;
    append(std::move(step), {operand});
  }

  void add_step() {
    static const char* const ops[] = {"add",    "multiply", "subtract", "maximum", "negative",    "square",      "exp", "less",
                                      "where",  "sum",      "mean",     "max",     "min",         "prod",        "any", "all",
                                      "argmax", "astype",   "reshape",  "squeeze", "expand_dims", "broadcast_to"};
    const OpDef& op = *find_op(ops[pick(std::size(ops))]);
    FusedStep step{{}, &op, &attributes_.emplace_back(), {}, {}};
    Attributes& attributes = attributes_.back();
    std::vector<TensorType> types;
    std::vector<Array> operands;
    for (int i = 0; i < op.max_inputs; ++i) {
      step.operands.push_back(pick(3) ? values_.size() - 1 - pick(std::min<std::size_t>(3, values_.size())) : pick(values_.size()));
      types.push_back(values_[step.operands.back()].type());
      operands.push_back(values_[step.operands.back()]);
    }
    if (op.name == "astype") attributes.set("dtype", std::array{DType::f32, DType::i32, DType::f64}[pick(3)]);
    if (op.cost_class == CostClass::movement) {
      if (op.name == "broadcast_to") attributes.set("shape", std::vector<std::int64_t>(shape_));
      if (op.name == "expand_dims") attributes.set("axis", static_cast<std::int64_t>(pick(2) ? 0 : types[0].rank()));
      if (op.name == "squeeze") attributes.set("axis", std::vector<std::int64_t>{static_cast<std::int64_t>(types[0].rank()) - 1});
      if (op.name == "reshape") {
        Shape kept(shape_.begin(), shape_.end() - static_cast<std::ptrdiff_t>(row_axes_)), flat{types[0].elements()};
        Shape ones = kept;
        ones.resize(shape_.size(), 1);
        attributes.set("shape", std::vector<std::int64_t>(std::array{kept, ones, flat, shape_}[pick(4)]));
      }
    } else if (!op.elementwise()) {
      std::vector<std::int64_t> axes;
      for (std::size_t axis = shape_.size() - row_axes_; axis < shape_.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
      attributes.set("axis", axes);
      attributes.set("keepdims", pick(3) > 0);
    }
    if (normalize_call(op, operands.size(), attributes)) return;
    const TypeResult typed = op.type_rule(types, attributes);
    const auto* results = std::get_if<std::vector<TensorType>>(&typed);
    if (!results || (*results)[0].elements() > 1 << 20) return;
    step.type = (*results)[0];
    KernelRequest longer = group_.request;
    longer.steps.push_back(step);
    longer.written = {longer.steps.size() - 1};
    longer.result_types = {step.type};
    if (longer.steps.size() > 1 && !host_fuses(longer)) return;
    append(std::move(step), std::move(operands));
  }

  std::mt19937 random_;
  Shape shape_;
  std::size_t row_axes_ = 1;
  RowGroup group_;
  std::vector<Array> values_;
  std::deque<Attributes> attributes_;
};

/// For each result, the input whose memory it may overwrite: a result of the whole shape overwrites the first input of its type, unless
/// another result does.
std::vector<int> places_on_top(const KernelRequest& request) {
  std::int64_t most = 0;
  for (const FusedStep& step : request.steps) most = std::max(most, step.type.elements());
  for (const TensorType& input : request.input_types) most = std::max(most, input.elements());
  std::vector<int> places;
  for (const TensorType& result : request.result_types) {
    int found = -1;
    for (std::size_t place = 0; place < request.input_types.size() && found < 0; ++place) {
      const bool moved = std::any_of(request.steps.begin(), request.steps.end(), [&](const FusedStep& step) {
        return step.op->cost_class == CostClass::movement && step.operands[0] == place;
      });
      const bool fits = !moved && request.input_types[place] == result && result.elements() == most;
      if (fits && std::find(places.begin(), places.end(), static_cast<int>(place)) == places.end()) found = static_cast<int>(place);
    }
    places.push_back(found);
  }
  return places;
}

std::vector<Array> run_row_group(const RowGroup& group, Workers& workers, bool on_top = false) {
  std::vector<Array> inputs = group.inputs, results;
  std::vector<TensorView> in, out;
  for (Array& input : inputs) in.push_back({&input.type(), input.mutable_bytes()});
  results.reserve(group.request.result_types.size());
  for (const TensorType& type : group.request.result_types) {
    results.emplace_back(type);
    out.push_back({&results.back().type(), results.back().mutable_bytes()});
  }
  const std::vector<int> places = places_on_top(group.request);
  for (std::size_t r = 0; on_top && r < out.size(); ++r)
    if (places[r] >= 0) out[r].data = in[static_cast<std::size_t>(places[r])].data;
  const OpContext context{[](std::string_view) {}};
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(group.request);
  for (int repeat = 0; repeat < (on_top ? 1 : 2); ++repeat) {
    for (const TensorView& view : out)
      if (!on_top) std::memset(view.data, 0xFF, static_cast<std::size_t>(view.type->bytes()));
    EXPECT_TRUE(run_guarded(*kernel, {*group.request.op, *group.request.attributes, in, out, context, workers}).ok());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (out[i].data != results[i].bytes() && results[i].type().bytes() > 0)
      std::memcpy(results[i].mutable_bytes(), out[i].data, static_cast<std::size_t>(results[i].type().bytes()));
  }
  return results;
}

/// Does the same check piece by piece; returns the number of ranges of pieces.
int check_row_pieces(const RowGroup& group, bool on_top, unsigned seed) {
  std::vector<int> places = places_on_top(group.request);
  if (!on_top) std::fill(places.begin(), places.end(), -1);
  std::vector<Array> expected;
  for (const std::size_t step : group.request.written) expected.push_back(group.made[step]);
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(group.request);
  return expect_equal_in_pieces(*kernel, group.request, group.inputs, expected, places, *Workers::of(3), seed);
}

/// Steps `first` to `last` alone, with all their results written except those of steps that only move inputs.
RowGroup part_of(const RowGroup& group, std::size_t first, std::size_t last) {
  const std::size_t inputs = group.inputs.size();
  RowGroup part;
  std::vector<std::size_t> place(inputs + group.request.steps.size(), static_cast<std::size_t>(-1));
  for (std::size_t s = first; s <= last; ++s) {
    for (const std::size_t operand : group.request.steps[s].operands) {
      if (operand >= inputs + first || place[operand] != static_cast<std::size_t>(-1)) continue;
      place[operand] = part.inputs.size();
      part.inputs.push_back(operand < inputs ? group.inputs[operand] : group.made[operand - inputs]);
      part.request.input_types.push_back(part.inputs.back().type());
    }
  }
  for (std::size_t s = first; s <= last; ++s) {
    place[inputs + s] = part.inputs.size() + s - first;
    FusedStep step = group.request.steps[s];
    for (std::size_t& operand : step.operands) operand = place[operand];
    part.request.steps.push_back(std::move(step));
    part.made.push_back(group.made[s]);
    if (moves_input(group.request, s) && s < last) continue;
    part.request.written.push_back(s - first);
    part.request.result_types.push_back(group.request.steps[s].type);
  }
  part.request.op = group.request.steps[last].op;
  part.request.attributes = group.request.steps[last].attributes;
  return part;
}

void expect_equal(const std::vector<Array>& results, const RowGroup& group, const char* how) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Array& expected = group.made[group.request.written[i]];
    const auto bytes = static_cast<std::size_t>(expected.type().bytes());
    if (bytes > 0 && std::memcmp(results[i].bytes(), expected.bytes(), bytes) != 0)
      ADD_FAILURE() << how << ": result " << i << " of " << results.size() << ", `"
                    << group.request.steps[group.request.written[i]].op->name << "` " << to_string(expected.type()) << ": "
                    << difference(results[i], expected).value_or("other bits");
  }
}

std::string to_text(const KernelRequest& request) {
  std::string text;
  for (const TensorType& type : request.input_types) text += to_string(type) + " ";
  for (const FusedStep& step : request.steps) {
    text += "| " + std::string(step.op->name);
    for (const std::size_t operand : step.operands) text += " " + std::to_string(operand);
    text += " -> " + to_string(step.type) + " ";
  }
  text += "| written:";
  for (const std::size_t step : request.written) text += " " + std::to_string(step + request.input_types.size());
  return text;
}

/// Counts of the cases that occurred.
struct Met {
  int groups = 0, reductions = 0, moves = 0, ranges = 0;
};

void check_row_group(unsigned seed, const Shape& shape, std::size_t row_axes, Met& met) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + to_string(TensorType{DType::f32, shape}));
  RowGroupGenerator generator(seed);
  const RowGroup drawn = generator.next(shape, row_axes);
  const std::size_t steps = drawn.request.steps.size();
  if (steps < 2 || moves_input(drawn.request, steps - 1)) return;
  RowGroup group = part_of(drawn, 0, steps - 1);  // without unused inputs
  group.request.written = drawn.request.written;
  group.request.result_types = drawn.request.result_types;
  ASSERT_TRUE(host_fuses(group.request)) << to_text(group.request);
  met.groups += runtime::host::fuses_rows(*runtime::host::without_movement(group.request));
  for (const FusedStep& step : group.request.steps) {
    const bool moves = step.op->cost_class == CostClass::movement;
    met.reductions += !step.op->elementwise() && !moves;
    met.moves += moves;
  }
  expect_equal(run_row_group(group, Workers::none()), group, "alone");
  expect_equal(run_row_group(group, *Workers::of(3)), group, "by three threads");
  expect_equal(run_row_group(group, *Workers::of(3), true), group, "on top of inputs");
  for (const bool on_top : {false, true}) met.ranges += check_row_pieces(group, on_top, seed) - 1;
  for (std::size_t first = 0; first + 1 < steps; ++first) {
    for (std::size_t last = first + 1; last < steps; ++last) {
      if (moves_input(group.request, last)) continue;  // it is deferred to a reader
      const RowGroup part = part_of(group, first, last);
      ASSERT_TRUE(host_fuses(part.request)) << "steps " << first << " to " << last << " of " << to_text(group.request);
      if ((first + last + seed) % 5 == 0) expect_equal(run_row_group(part, Workers::none(), seed % 2 == 0), part, "a part");
    }
  }
}

TEST(RowGroup, EqualsItsStepsOneAfterTheOther) {
  Met met;
  for (unsigned seed = 0; seed < draws(774U) && !HasFatalFailure() && !HasFailure(); ++seed) {
    static constexpr std::int64_t rows[] = {1, 2, 3, 17, 70};
    check_row_group(seed, {rows[seed % 5], static_cast<std::int64_t>(seed % 258)}, 1, met);
  }
  EXPECT_GT(met.groups, draws(300));
  EXPECT_GT(met.reductions, draws(700));
  EXPECT_GT(met.moves, draws(700));
}

TEST(RowGroup, OfManyAxesAndLongRows) {
  Met met;
  static const struct {
    Shape shape;
    std::size_t row_axes;
  } cases[] = {{{4, 5, 33}, 1},      {{4, 5, 33}, 2}, {{4, 5, 33}, 3}, {{3, 1, 7, 1}, 2}, {{8, 8}, 1},     {{8, 8}, 2},
               {{2, 3000}, 1},       {{300, 129}, 1}, {{5, 2049}, 1},  {{3, 32768}, 1},   {{2, 33000}, 1}, {{70000}, 1},
               {{2, 5, 7, 1000}, 3}, {{3, 16385}, 1}, {{257, 257}, 2}, {{1, 1}, 1},       {{40, 1}, 1},    {{600, 1}, 1}};
  for (unsigned seed = 0; seed < draws(25 * std::size(cases)) && !HasFailure(); ++seed) {
    const auto& one = cases[seed % std::size(cases)];
    check_row_group(10000 + seed, one.shape, one.row_axes, met);
  }
  EXPECT_GT(met.groups, draws(150));
  EXPECT_GT(met.ranges, draws(150));
}

}  // namespace
}  // namespace cleave::testing

// Groups of element-wise steps as one host kernel, against the steps' own kernels run one after the other (which kernels_test compares with
// the reference implementations): equal to the bit, for every number of threads, and when a result overwrites an input.
#include <gtest/gtest.h>

#include <algorithm>
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

/// A request with its operands and expected results.
struct FusedGroup {
  KernelRequest request;
  std::vector<Array> inputs, expected;
};

class FusedGroupGenerator {
 public:
  explicit FusedGroupGenerator(unsigned seed) : random_(seed) {}

  FusedGroup next() {
    group_ = {};
    values_.clear();
    static const Shape shapes[] = {{},      {1},        {7},         {3, 5},       {2047},    {2048},   {2049},
                                   {70000}, {300, 129}, {4, 33, 65}, {2, 1, 3000}, {600, 40}, {9, 530}, {0, 4}};
    shape_ = shapes[pick(std::size(shapes))];
    for (std::size_t i = 0, count = 1 + pick(4); i < count; ++i) add_input(i == 0);
    const std::size_t steps = 2 + pick(12);
    while (group_.request.steps.size() < steps) add_step();
    const std::size_t first = group_.inputs.size();
    for (std::size_t s = 0; s < steps; ++s) {
      if (s + 1 < steps && pick(4) > 0) continue;
      group_.request.written.push_back(s);
      group_.request.result_types.push_back(values_[first + s].type());
      group_.expected.push_back(values_[first + s]);
    }
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
    const DType dtype = std::array{DType::f32, DType::f32, DType::f64, DType::i32, DType::u8}[pick(5)];
    Array array(TensorType{dtype, shape});
    dispatch(dtype, [&](auto zero) {
      auto* elements = reinterpret_cast<decltype(zero)*>(array.mutable_bytes());
      for (std::int64_t i = 0; i < array.type().elements(); ++i)
        elements[i] = static_cast<decltype(zero)>(static_cast<float>(pick(200)) / 16);
    });
    group_.request.input_types.push_back(array.type());
    group_.inputs.push_back(array);
    values_.push_back(std::move(array));
  }

  void add_step() {
    static const char* const ops[] = {"add",  "multiply", "subtract",    "minimum",      "maximum", "negative", "abs",
                                      "tanh", "less",     "logical_not", "floor_divide", "where",   "astype",   "clip"};
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
    if (op.name == "astype") attributes.set("dtype", std::array{DType::f32, DType::i32, DType::boolean, DType::u8}[pick(4)]);
    if (normalize_call(op, operands.size(), attributes)) return;
    const TypeResult typed = op.type_rule(types, attributes);
    const auto* results = std::get_if<std::vector<TensorType>>(&typed);
    if (!results || (*results)[0].shape != shape_) return;
    std::vector<Array> made{Array((*results)[0])};
    std::vector<TensorView> views;
    for (Array& operand : operands) views.push_back({&operand.type(), const_cast<std::byte*>(operand.bytes())});
    const TensorView view{&made[0].type(), made[0].mutable_bytes()};
    const OpContext context{[](std::string_view) {}};
    ASSERT_TRUE(run_guarded(host_kernel(op), {op, attributes, views, std::span(&view, 1), context}).ok());
    step.type = made[0].type();
    group_.request.steps.push_back(std::move(step));
    group_.request.op = &op;
    group_.request.attributes = &attributes;
    values_.push_back(std::move(made[0]));
  }

  std::mt19937 random_;
  Shape shape_;
  FusedGroup group_;
  std::vector<Array> values_;
  std::deque<Attributes> attributes_;
};

/// The results; `on_top`: a result overwrites the first input of its type, unless another result does.
std::vector<Array> run_fused(const FusedGroup& group, Workers& workers, bool on_top) {
  std::vector<Array> inputs = group.inputs, results;
  std::vector<TensorView> in, out;
  for (Array& input : inputs) in.push_back({&input.type(), input.mutable_bytes()});
  std::vector<std::byte*> taken;
  results.reserve(group.expected.size());
  for (const TensorType& type : group.request.result_types) {
    results.emplace_back(type);
    out.push_back({&results.back().type(), results.back().mutable_bytes()});
    std::memset(out.back().data, 0xFF, static_cast<std::size_t>(type.bytes()));
    for (const TensorView& input : in) {
      if (!on_top || *input.type != type || std::find(taken.begin(), taken.end(), input.data) != taken.end()) continue;
      taken.push_back(out.back().data = input.data);
      break;
    }
  }
  const OpContext context{[](std::string_view) {}};
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(group.request);
  for (int repeat = 0; repeat < (on_top ? 1 : 2); ++repeat) {
    const Status status = run_guarded(*kernel, {*group.request.op, *group.request.attributes, in, out, context, workers});
    EXPECT_TRUE(status.ok());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (out[i].data != results[i].bytes() && results[i].type().bytes() > 0)
      std::memcpy(results[i].mutable_bytes(), out[i].data, static_cast<std::size_t>(results[i].type().bytes()));
  }
  return results;
}

/// Does the same check piece by piece; returns the number of ranges of pieces.
int check_fused_pieces(const FusedGroup& group, Workers& workers, bool on_top, unsigned seed) {
  const std::vector<TensorType>&in = group.request.input_types, &out = group.request.result_types;
  std::vector<int> places(out.size(), -1);
  for (std::size_t r = 0; on_top && r < out.size(); ++r) {
    for (int i = 0; i < static_cast<int>(in.size()) && places[r] < 0; ++i)
      if (in[static_cast<std::size_t>(i)] == out[r] && std::find(places.begin(), places.end(), i) == places.end()) places[r] = i;
  }
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(group.request);
  return expect_equal_in_pieces(*kernel, group.request, group.inputs, group.expected, places, workers, seed);
}

TEST(Fused, GroupsEqualTheirStepsOneAfterTheOther) {
  const std::shared_ptr<Workers> three = Workers::of(3);
  int ranges = 0;
  for (unsigned seed = 0; seed < draws(600U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FusedGroupGenerator generator(seed);
    const FusedGroup group = generator.next();
    ASSERT_TRUE(host_fuses(group.request));
    const std::vector<Array> alone = run_fused(group, Workers::none(), false);
    const std::vector<Array> together = run_fused(group, *three, false), on_top = run_fused(group, *three, true);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(alone[i].type().bytes());
      if (bytes == 0) continue;
      EXPECT_EQ(std::memcmp(alone[i].bytes(), group.expected[i].bytes(), bytes), 0)
          << "result " << i << ": " << difference(alone[i], group.expected[i]).value_or("other bits");
      EXPECT_EQ(std::memcmp(alone[i].bytes(), together[i].bytes(), bytes), 0) << "result " << i << " by three threads";
      EXPECT_EQ(std::memcmp(alone[i].bytes(), on_top[i].bytes(), bytes), 0) << "result " << i << " on top of an input";
    }
    for (const bool above : {false, true}) ranges += check_fused_pieces(group, *three, above, seed) - 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(ranges, draws(200));
}

/// Results so large that they are written with non-temporal stores: by generated code, by loops, and where later steps or an input's
/// readers need them.
TEST(Fused, ResultsLargerThanTheCachesEqualTheirStepsToo) {
  const TensorType type{DType::f32, {(9 << 20) + 5}};
  Array x(type), factor(TensorType{DType::f32, {}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 4001) / 1000 - 2;
  factor.mutable_data<float>()[0] = 0.75F;
  struct Step {
    const char* op;
    std::vector<std::size_t> operands;
  };
  const std::vector<Step> steps{{"multiply", {0, 1}}, {"add", {2, 0}}, {"tanh", {3}}, {"subtract", {4, 2}}, {"abs", {5}}};
  for (const std::vector<std::size_t>& written : {std::vector<std::size_t>{4}, {1, 2, 4}, {2}, {0, 3}}) {
    const std::size_t count = written.back() == 2 ? 3 : steps.size();
    const Attributes attributes;
    const OpContext context{[](std::string_view) {}};
    FusedGroup group{{}, {x, factor}, {}};
    group.request.input_types = {type, factor.type()};
    std::vector<Array> values = group.inputs;
    for (std::size_t s = 0; s < count; ++s) {
      const OpDef& op = *find_op(steps[s].op);
      group.request.steps.push_back({{}, &op, &attributes, steps[s].operands, type});
      std::vector<TensorView> views;
      for (const std::size_t operand : steps[s].operands) views.push_back({&values[operand].type(), values[operand].mutable_bytes()});
      Array made(type);
      const TensorView view{&type, made.mutable_bytes()};
      ASSERT_TRUE(run_guarded(host_kernel(op), {op, attributes, views, std::span(&view, 1), context}).ok());
      values.push_back(std::move(made));
    }
    group.request.op = group.request.steps.back().op;
    group.request.attributes = &attributes;
    for (const std::size_t step : group.request.written = written) {
      group.request.result_types.push_back(type);
      group.expected.push_back(values[2 + step]);
    }
    values.clear();
    for (const bool on_top : {false, true}) {
      const std::vector<Array> results = run_fused(group, Workers::none(), on_top);
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(std::memcmp(results[i].bytes(), group.expected[i].bytes(), static_cast<std::size_t>(type.bytes())), 0)
            << "result " << i << " of " << written.size() << (on_top ? ", on top" : "");
      }
      EXPECT_GT(check_fused_pieces(group, Workers::none(), on_top, 1), 10);
    }
  }
}

}  // namespace
}  // namespace cleave::testing

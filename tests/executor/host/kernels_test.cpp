// Every kernel in the tables of the host and of the simulated accelerator, against the op's reference implementation, on the one table of
// op samples.
#include <gtest/gtest.h>

#include <cstring>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "executor/host/kernels.h"
#include "executor/host/rows.h"
#include "tests/support/division_table.h"
#include "tests/support/empty_samples.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

std::vector<Array> results_for(const OpSample& sample) {
  std::vector<TensorType> types;
  for (const Array& input : sample.inputs) types.push_back(input.type());
  const TypeResult typed = sample.op->type_rule(types, sample.attributes);
  std::vector<Array> results;
  for (const TensorType& type : std::get<0>(typed)) results.emplace_back(type);
  return results;
}

/// Runs the kernel on separate memory, filled with values that must not appear in the results.
Status run_sample(const OpSample& sample, std::vector<Array>& results) {
  std::vector<TensorView> inputs, outputs;
  std::vector<Array> copies = sample.inputs;
  for (Array& input : copies) inputs.push_back({&input.type(), input.mutable_bytes()});
  for (Array& result : results) {
    std::memset(result.mutable_bytes(), 0xFF, static_cast<std::size_t>(result.type().bytes()));
    outputs.push_back({&result.type(), result.mutable_bytes()});
  }
  const OpContext context{[](std::string_view) {}};
  const Status status = run_guarded(host_kernel(*sample.op), {*sample.op, sample.attributes, inputs, outputs, context});
  for (std::size_t i = 0; i < copies.size(); ++i) EXPECT_TRUE(copies[i] == sample.inputs[i]) << "the kernel wrote its operand " << i;
  return status;
}

bool safe_to_repeat(const OpSample& sample) {
  return sample.op->purity_for(sample.attributes) == Purity::pure;
}

/// Compares the sample's results with those of the op's reference implementation. Returns their number.
int compare_with_reference(const OpSample& sample) {
  std::vector<Array> computed = results_for(sample), expected = results_for(sample);
  const OpContext context{[](std::string_view) {}};
  const Status reference = sample.op->reference({sample.attributes, sample.inputs, expected, context});
  const Status kernel = run_sample(sample, computed);
  EXPECT_EQ(reference.ok(), kernel.ok());
  if (!reference.ok() || !kernel.ok()) return 0;
  const double length = reduction_length(*sample.op, sample.attributes, sample.inputs, expected);
  for (std::size_t i = 0; i < computed.size(); ++i) EXPECT_EQ(difference(computed[i], expected[i], length).value_or(""), "");
  return static_cast<int>(computed.size());
}

TEST(Kernels, HostKernelsAgreeWithTheReferences) {
  int compared = 0, fast = 0;
  for (const OpSample& sample : op_samples()) {
    if (!safe_to_repeat(sample)) continue;
    SCOPED_TRACE(describe(sample));
    const int results = compare_with_reference(sample);
    compared += results;
    fast += results > 0 && host_kernel(*sample.op) != run_reference ? 1 : 0;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(fast, 150);
}

TEST(Kernels, HostKernelsAgreeWithTheReferencesOnZeroSizedAxes) {
  int compared = 0;
  for (const OpSample& sample : empty_samples()) {
    if (sample.op->composite() || !safe_to_repeat(sample)) continue;
    SCOPED_TRACE(describe(sample));
    compared += compare_with_reference(sample);
  }
  EXPECT_GT(compared, 1000);
}

TEST(Kernels, ElementwiseKernelsMayOverwriteAnOperand) {
  for (const OpSample& sample : op_samples()) {
    if (!sample.op->elementwise() || !safe_to_repeat(sample)) continue;
    SCOPED_TRACE(describe(sample));
    std::vector<Array> expected = results_for(sample);
    const OpContext context{[](std::string_view) {}};
    ASSERT_TRUE(sample.op->reference({sample.attributes, sample.inputs, expected, context}).ok());
    for (std::size_t target = 0; target < sample.inputs.size(); ++target) {
      if (sample.inputs[target].type() != expected[0].type()) continue;
      std::vector<Array> copies = sample.inputs;
      std::vector<TensorView> inputs;
      for (Array& copy : copies) inputs.push_back({&copy.type(), copy.mutable_bytes()});
      const std::vector<TensorView> outputs = {inputs[target]};
      ASSERT_TRUE(run_guarded(host_kernel(*sample.op), {*sample.op, sample.attributes, inputs, outputs, context}).ok());
      EXPECT_EQ(difference(copies[target], expected[0]).value_or(""), "") << "on operand " << target;
    }
  }
}

template <class T, int n>
void expect_divisions(const char* op, const DivisionTable<T>& table, const T (&expected)[n][n]) {
  std::vector<Array> inputs = operands_of(table);
  Array result(TensorType{DTypeOf<T>::value, {n, n}});
  const TensorView operands[] = {{&inputs[0].type(), inputs[0].mutable_bytes()}, {&inputs[1].type(), inputs[1].mutable_bytes()}};
  const TensorView target{&result.type(), result.mutable_bytes()};
  const OpContext context{[](std::string_view) {}};
  const OpDef& def = *find_op(op);
  ASSERT_TRUE(host_kernel(def)({def, {}, operands, std::span(&target, 1), context}).ok());
  EXPECT_EQ(first_wrong(result, expected), "") << op;
}

/// Many equal elements, and NaNs: of several extremes the first is found, in every row.
TEST(Kernels, FindTheFirstExtremeOfRowsOfEveryLength) {
  const OpContext context{[](std::string_view) {}};
  for (const DType dtype : {DType::u8, DType::f16, DType::i32, DType::f32, DType::f64}) {
    for (const std::int64_t rows : {1, 63, 64, 65, 200}) {
      for (std::int64_t count = 1; count <= 70; ++count) {
        Array f64({DType::f64, {rows, count}});
        for (std::int64_t i = 0; i < f64.size(); ++i) {
          const bool nan = is_floating(dtype) && i % 53 == 7;
          f64.mutable_data<double>()[i] = nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>((i * i + 3 * count) % 11);
        }
        OpSample sample{find_op("astype"), {f64}, {}};
        sample.attributes.set("dtype", dtype);
        std::vector<Array> converted = results_for(sample);
        ASSERT_TRUE(sample.op->reference({sample.attributes, sample.inputs, converted, context}).ok());
        for (const char* name : {"argmax", "argmin"}) {
          sample = {find_op(name), converted, {}};
          sample.attributes.set("axis", std::vector<std::int64_t>{1});
          std::vector<Array> computed = results_for(sample), expected = results_for(sample);
          ASSERT_TRUE(sample.op->reference({sample.attributes, sample.inputs, expected, context}).ok());
          ASSERT_TRUE(run_sample(sample, computed).ok());
          ASSERT_TRUE(computed[0] == expected[0]) << name << " of " << to_string(converted[0].type());
        }
      }
    }
  }
}

TEST(Kernels, DivideAsInNumPyToTheSignOfZeros) {
  expect_divisions("floor_divide", kDivisionF32, kDivisionF32.quotients);
  expect_divisions("remainder", kDivisionF32, kDivisionF32.remainders);
  expect_divisions("floor_divide", kDivisionF64, kDivisionF64.quotients);
  expect_divisions("remainder", kDivisionF64, kDivisionF64.remainders);
}

TEST(Kernels, EveryElementwiseOpHasALoop) {
  for (const OpSample& sample : op_samples()) {
    if (!sample.op->elementwise()) continue;
    std::vector<TensorType> types;
    for (const Array& input : sample.inputs) types.push_back(input.type());
    EXPECT_TRUE(host::loop_for(*sample.op, types, results_for(sample)[0].type())) << describe(sample);
  }
}

TEST(Compare, FindsTheFirstDifference) {
  const Array a = Array::of<float>({3}, {1, 2, 3}), b = Array::of<float>({3}, {1, 2.5F, 4});
  EXPECT_EQ(difference(a, b).value_or(""), "element 1 is 2 instead of 2.5");
  EXPECT_FALSE(difference(Array::of<float>({1}, {1.0F}), Array::of<float>({1}, {1.000001F})));
  EXPECT_TRUE(difference(Array::of<std::int32_t>({1}, {1}), Array::of<std::int32_t>({1}, {2})));
  EXPECT_TRUE(difference(Array::of<std::int64_t>({1}, {(1LL << 60) + 1}), Array::of<std::int64_t>({1}, {1LL << 60})));
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(difference(Array::scalar(nan), Array::scalar(nan)));
  EXPECT_TRUE(difference(Array::scalar(nan), Array::scalar(1.0F)));
  EXPECT_TRUE(difference(Array::scalar(inf), Array::scalar(1e30F)));
  EXPECT_TRUE(difference(Array::scalar(inf), Array::scalar(-inf)));
  // A sum of ten thousand numbers may have a larger error than a single number.
  EXPECT_TRUE(difference(Array::scalar(0.00005F), Array::scalar(0.0F)));
  EXPECT_FALSE(difference(Array::scalar(0.00005F), Array::scalar(0.0F), 10000));
}

}  // namespace
}  // namespace cleave::testing

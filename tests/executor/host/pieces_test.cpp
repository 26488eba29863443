// Single operations whose calls are split into pieces: the kernels made for pieces against the ordinary ones, to the bit, and the ranges
// that each piece reads and writes.
#include <gtest/gtest.h>

#include "executor/device/kernel.h"
#include "tests/executor/host/in_pieces.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Array drawn(const TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  Array array(type);
  dispatch(type.dtype, [&](auto zero) {
    auto* elements = reinterpret_cast<decltype(zero)*>(array.mutable_bytes());
    for (std::int64_t i = 0; i < type.elements(); ++i)
      elements[i] = static_cast<decltype(zero)>(static_cast<float>(random() % 1000) / 16 + 0.01F);
  });
  return array;
}

/// Runs the call both ways; returns the number of ranges of pieces, or 0 if its calls are not split.
int check_op_pieces(const char* name, const std::vector<TensorType>& operands, Attributes attributes = {}) {
  SCOPED_TRACE(std::string(name) + " of " + to_string(operands[0]));
  const OpDef& op = *find_op(name);
  EXPECT_FALSE(normalize_call(op, operands.size(), attributes));
  const TypeResult typed = op.type_rule(operands, attributes);
  KernelRequest request{{}, &op, &attributes, operands, std::get<std::vector<TensorType>>(typed), {}, {}, {}, {}};
  std::vector<Array> inputs, expected;
  std::vector<TensorView> in, out;
  for (const TensorType& type : operands) inputs.push_back(drawn(type, static_cast<unsigned>(inputs.size())));
  for (Array& input : inputs) in.push_back({&input.type(), input.mutable_bytes()});
  expected.emplace_back(request.result_types[0]);
  out.push_back({&expected[0].type(), expected[0].mutable_bytes()});
  const OpContext context{[](std::string_view) {}};
  EXPECT_TRUE(run_guarded(*prepare_host_kernel(request), {op, attributes, in, out, context}).ok());
  const std::unique_ptr<HostKernel> kernel = prepare_in_pieces(request);
  if (!kernel) return 0;
  int ranges = 0;
  for (unsigned seed = 0; seed < 3; ++seed)
    ranges += expect_equal_in_pieces(*kernel, request, inputs, expected, {-1}, *Workers::of(3), seed);
  return ranges;
}

Attributes over(std::vector<std::int64_t> axes) {
  Attributes attributes;
  attributes.set("axis", std::move(axes));
  return attributes;
}

TEST(Pieces, OfElementwiseOperationsAreTheSame) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    const TensorType type{dtype, {301, 203}};
    EXPECT_GE(check_op_pieces("add", {type, type}), 3);
    EXPECT_GE(check_op_pieces("multiply", {type, {dtype, {}}}), 3);
    EXPECT_GE(check_op_pieces("maximum", {{dtype, {301, 1}}, type}), 3);
    EXPECT_GE(check_op_pieces("less", {type, {dtype, {203}}}), 3);
    EXPECT_TRUE(!is_floating(dtype) || check_op_pieces("exp", {type}) >= 3);
  }
  EXPECT_GE(check_op_pieces("where", {{DType::boolean, {70000}}, {DType::f32, {70000}}, {DType::f32, {70000}}}), 3);
}

TEST(Pieces, OfReductionsAreTheSame) {
  for (const char* name : {"sum", "mean", "max", "min", "prod"}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      EXPECT_GE(check_op_pieces(name, {{dtype, {301, 203}}}, over({1})), 3);
      EXPECT_GE(check_op_pieces(name, {{dtype, {3, 70000}}}, over({1})), 3);
      EXPECT_GE(check_op_pieces(name, {{dtype, {200001}}}, over({0})), 3);
      EXPECT_GE(check_op_pieces(name, {{dtype, {40, 50, 60}}}, over({1, 2})), 3);
      EXPECT_GE(check_op_pieces(name, {{dtype, {400, 500}}}, over({0, 1})), 3);
    }
  }
  EXPECT_GE(check_op_pieces("argmax", {{DType::f32, {301, 203}}},
                            [] {
                              Attributes attributes;
                              attributes.set("axis", std::int64_t{1});
                              return attributes;
                            }()),
            3);
}

TEST(Pieces, ThereAreNoneWhereEverythingIsReadFirst) {
  EXPECT_EQ(check_op_pieces("sum", {{DType::f32, {301, 203}}}, over({0})), 0);
  EXPECT_EQ(check_op_pieces("add", {{DType::f32, {10}}, {DType::f32, {10}}}), 0) << "not worth it";
}

}  // namespace
}  // namespace cleave::testing

// The host's attention kernel: bits are the same for every number of threads, results are within tolerance of the reference implementation,
// and memory is allocated for tiles, not for the whole score matrix.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "graph/ops/convert.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Array random_array(const TensorType& type, std::mt19937_64& random) {
  Array array(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::uniform_real_distribution<double> any(-1, 1);
    for (std::int64_t i = 0; i < array.size(); ++i)
      array.mutable_data<T>()[i] = ops::convert<T>(std::is_same_v<T, bool> ? (any(random) > 0 ? 1.0 : 0.0) : any(random));
  });
  return array;
}

TEST(AttentionKernel, IsEqualToTheBitForEveryNumberOfThreads) {
  std::mt19937_64 random(3);
  const OpDef& op = *find_op("attention");
  struct Case {
    Shape query, key;
    bool causal;
    std::vector<TensorType> mask;
  };
  const Case cases[] = {{{2, 3, 97, 40}, {2, 3, 97, 40}, true, {}},
                        {{1, 8, 1, 64}, {1, 2, 1500, 64}, true, {{DType::boolean, {1500}}}},
                        {{400, 33}, {700, 33}, false, {{DType::f32, {400, 700}}}}};
  for (const Case& of : cases) {
    Attributes attributes{{"causal", of.causal}};
    std::vector<TensorType> types{{DType::f32, of.query}, {DType::f32, of.key}, {DType::f32, of.key}};
    types.insert(types.end(), of.mask.begin(), of.mask.end());
    ASSERT_FALSE(normalize_call(op, types.size(), attributes));
    std::vector<Array> inputs;
    std::vector<TensorView> views;
    for (const TensorType& type : types) inputs.push_back(random_array(type, random));
    for (Array& input : inputs) views.push_back({&input.type(), input.mutable_bytes()});
    const TensorType type = std::get<0>(op.type_rule(types, attributes))[0];
    const OpContext context{[](std::string_view) {}};
    std::vector<Array> expected = {Array(type)};
    ASSERT_TRUE(op.reference({attributes, inputs, expected, context}).ok());
    const std::unique_ptr<HostKernel> kernel = prepare_host_kernel({{}, &op, &attributes, types, {type}, {}, {}, {}, {}});
    for (const int threads : {1, 2, 3, 5}) {
      Array result(type), again(type);
      const TensorView view{&result.type(), result.mutable_bytes()}, second{&again.type(), again.mutable_bytes()};
      ASSERT_TRUE(host_kernel(op)({op, attributes, views, std::span(&view, 1), context, *Workers::of(threads)}).ok());
      ASSERT_TRUE(kernel->run({op, attributes, views, std::span(&second, 1), context, *Workers::of(threads)}).ok());
      EXPECT_TRUE(result == again) << "a kernel that is kept differs";
      if (threads == 1) {
        EXPECT_EQ(difference(result, expected[0]).value_or(""), "");
        expected[0] = result;
      }
      EXPECT_TRUE(result == expected[0]) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace cleave::testing

// Convolutions and pools of the host: the same bits for every number of threads; with element-wise steps fused behind them, the same bits
// as the steps applied to the convolution's results. kernels_test compares them with their reference implementations.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "executor/device/kernel.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

const OpContext kContext{[](std::string_view) {}};

Array numbers(TensorType type, int seed) {
  Array array(std::move(type));
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < array.size(); ++i)
      array.mutable_data<T>()[i] = static_cast<T>(static_cast<float>((i * 7919 + seed * 31) % 101) / 16.0F - 3.0F);
  });
  return array;
}

Array run_convolution(const KernelRequest& request, std::vector<Array> inputs, int threads) {
  Array result(request.result_types[0]);
  std::memset(result.mutable_bytes(), 0xFF, static_cast<std::size_t>(result.type().bytes()));
  std::vector<TensorView> views;
  for (Array& input : inputs) views.push_back({&input.type(), input.mutable_bytes()});
  const TensorView view{&result.type(), result.mutable_bytes()};
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
  const std::shared_ptr<Workers> workers = Workers::of(threads);
  for (int times = 0; times < 2; ++times)  // memory is taken once
    EXPECT_TRUE(run_guarded(*kernel, {*request.op, *request.attributes, views, std::span(&view, 1), kContext, *workers}).ok());
  return result;
}

OpSample convolution(Shape x, Shape weight, Attributes attributes) {
  OpSample sample{find_op("conv"), {numbers({DType::f32, std::move(x)}, 1), numbers({DType::f32, std::move(weight)}, 2)}, {}, false};
  if (sample.inputs[1].type().shape[0] % 3 == 0) sample.inputs.push_back(numbers({DType::f32, {sample.inputs[1].type().shape[0]}}, 3));
  EXPECT_FALSE(normalize_call(*sample.op, sample.inputs.size(), attributes));
  sample.attributes = std::move(attributes);
  return sample;
}

/// Layers as in networks, small enough for their reference implementations: kernels of one element, which are matrix products of existing
/// data, with remaining columns that do not fill a register; images that are processed together, with a smaller last batch; and one channel
/// per group.
std::vector<OpSample> layers() {
  using Integers = std::vector<std::int64_t>;
  std::vector<OpSample> all;
  for (const std::int64_t side : {1, 4, 5, 7, 8, 14, 16, 28}) {
    all.push_back(convolution({3, 24, side, side}, {66, 24, 1, 1}, {}));
    all.push_back(convolution({2, 24, side, side}, {136, 12, 1, 1}, {{"group", std::int64_t{2}}}));
    all.push_back(convolution({9, 20, side, side}, {21, 20, 3, 3}, {{"pads", Integers{1}}}));
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t kernel : {3, 5}) {
        all.push_back(convolution({2, 21, side, side + 1}, {21, 1, kernel, kernel},
                                  {{"pads", Integers{kernel / 2}}, {"strides", Integers{stride}}, {"group", std::int64_t{21}}}));
      }
    }
  }
  for (const std::int64_t width : {3, 9, 20, 33, 40, 75}) {
    for (const std::int64_t stride : {1, 2}) {
      const Attributes attributes{{"pads", Integers{3 - stride, 1, 0, 4}}, {"strides", Integers{stride}}, {"group", std::int64_t{5}}};
      all.push_back(convolution({2, 5, 6, width}, {5, 1, 3, 3}, attributes));
      all.push_back(
          convolution({2, 5, 9, width}, {5, 1, 5, 5}, {{"pads", Integers{2}}, {"strides", Integers{stride}}, {"group", std::int64_t{5}}}));
    }
  }
  all.push_back(convolution({1, 600, 7, 7}, {33, 600, 1, 1}, {}));  // blocked along the inner axis
  all.push_back(convolution({2, 90, 7, 7}, {33, 90, 3, 3}, {{"pads", Integers{1}}}));
  // Columns that each thread packs for itself: with a small and a large remainder, for several images, and with an inner axis that needs
  // several blocks.
  all.push_back(convolution({1, 24, 31, 33}, {105, 24, 3, 3}, {{"pads", Integers{1}}, {"dilations", Integers{2}}}));
  all.push_back(convolution({1, 36, 35, 35}, {24, 36, 1, 1}, {}));
  all.push_back(convolution({4, 7, 63, 17}, {20, 7, 5, 5}, {{"pads", Integers{2}}, {"strides", Integers{2}}}));
  all.push_back(convolution({1, 60, 30, 28}, {12, 60, 3, 3}, {{"pads", Integers{1}}}));
  return all;
}

/// Calls that are large enough for every way of splitting, besides the samples: planes of several images, strips, groups that are separate
/// pieces.
std::vector<OpSample> calls() {
  using Integers = std::vector<std::int64_t>;
  std::vector<OpSample> all;
  for (OpSample& sample : op_samples()) {
    const bool wanted = family_of(sample.op->name) == "window_gradients" || sample.op->name == "conv" || sample.op->name == "max_pool" ||
                        sample.op->name == "avg_pool";
    if (wanted) all.push_back(std::move(sample));
  }
  const auto add = [&](Shape x, Shape weight, Attributes attributes) {
    all.push_back(convolution(std::move(x), std::move(weight), std::move(attributes)));
  };
  add({1, 64, 56, 57}, {40, 64, 3, 3}, {{"pads", Integers{1}}});
  add({1, 3, 331, 333}, {80, 3, 3, 3}, {});  // results of more than 32 MiB, whose lines are misaligned
  add({5, 130, 7, 7}, {72, 130, 3, 3}, {{"pads", Integers{1}}});
  add({2, 64, 20, 20}, {128, 16, 3, 3}, {{"group", std::int64_t{4}}, {"strides", Integers{2}}});
  add({2, 512, 28, 28}, {512, 8, 3, 3}, {{"group", std::int64_t{64}}});
  for (OpSample& sample : layers()) all.push_back(std::move(sample));
  return all;
}

TEST(Convolution, BitsDoNotDependOnTheThreads) {
  for (const OpSample& sample : calls()) {
    SCOPED_TRACE(describe(sample));
    const KernelRequest request = request_for(sample);
    const Array one = run_convolution(request, sample.inputs, 1);
    for (const int threads : {2, 3, 7}) {
      const Array many = run_convolution(request, sample.inputs, threads);
      EXPECT_EQ(std::memcmp(one.bytes(), many.bytes(), static_cast<std::size_t>(one.type().bytes())), 0) << threads;
    }
  }
}

TEST(Convolution, LayersOfNetworksAreWhatTheyMean) {
  for (OpSample& sample : layers()) {
    SCOPED_TRACE(describe(sample));
    const Array made = run_convolution(request_for(sample), sample.inputs, 2);
    Array meant(made.type());
    std::vector<TensorView> views;
    for (Array& input : sample.inputs) views.push_back({&input.type(), input.mutable_bytes()});
    const TensorView view{&meant.type(), meant.mutable_bytes()};
    ASSERT_TRUE(run_reference({*sample.op, sample.attributes, views, std::span(&view, 1), kContext}).ok());
    const Shape& weight = sample.inputs[1].type().shape;
    const double terms = static_cast<double>(weight[1] * weight[2] * weight[3]);
    for (std::int64_t i = 0; i < made.size(); ++i) ASSERT_NEAR(made.at(i), meant.at(i), 2e-6 * terms) << i;
  }
}

/// The gradients of a convolution by x and by the weights.
std::vector<OpSample> gradients_of(const OpSample& sample) {
  using Integers = std::vector<std::int64_t>;
  const Array &x = sample.inputs[0], &weight = sample.inputs[1];
  const Array g = numbers(request_for(sample).result_types[0], 4);
  const auto spatial = [](const Array& array) { return Integers(array.shape().begin() + 2, array.shape().end()); };
  OpSample by_x{find_op("conv_input_gradient"), {g, weight}, sample.attributes, false};
  by_x.attributes.set("extents", spatial(x));
  OpSample by_weight{find_op("conv_weight_gradient"), {x, g}, sample.attributes, false};
  by_weight.attributes.set("kernel_shape", spatial(weight));
  return {by_x, by_weight};
}

/// Some layers of networks, images that are processed together with fewer in the last batch, and channels that are.
TEST(Convolution, GradientsOfLayersAreWhatTheyMean) {
  using Integers = std::vector<std::int64_t>;
  std::vector<OpSample> some;
  const std::vector<OpSample> all = layers();
  for (std::size_t i = 0; i < all.size(); i += 4) some.push_back(all[i]);
  some.push_back(convolution({5, 10, 62, 62}, {4, 10, 3, 3}, {{"pads", Integers{1}}, {"strides", Integers{2}}}));
  some.push_back(convolution({23, 20, 30, 30}, {2, 20, 3, 3}, {{"pads", Integers{2}}}));
  some.push_back(convolution({1, 40, 128, 128}, {2, 40, 3, 3}, {{"strides", Integers{1, 2}}}));
  for (const OpSample& layer : some) {
    for (const OpSample& sample : gradients_of(layer)) {
      SCOPED_TRACE(describe(sample));
      const KernelRequest request = request_for(sample);
      const Array one = run_convolution(request, sample.inputs, 1), made = run_convolution(request, sample.inputs, 3);
      EXPECT_EQ(std::memcmp(one.bytes(), made.bytes(), static_cast<std::size_t>(one.type().bytes())), 0);
      const Array meant = reference_results(request, sample.inputs).front();
      const double terms =
          sample.op->cost(request.input_types, request.result_types, sample.attributes).flops / 2 / static_cast<double>(made.size());
      for (std::int64_t i = 0; i < made.size(); ++i) ASSERT_NEAR(made.at(i), meant.at(i), 2e-6 * (terms + 4)) << i;
    }
  }
}

/// An element that is not finite reaches the weights whose windows see it, and no others.
TEST(Convolution, GradientsByWeightsSeeInfinitiesOnce) {
  const std::vector<OpSample> samples = gradients_of(convolution({3, 9, 6, 6}, {10, 9, 3, 3}, {{"pads", std::vector<std::int64_t>{1}}}));
  for (const float element : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    OpSample sample = samples[1];
    sample.inputs[0].mutable_data<float>()[40] = element;
    const KernelRequest request = request_for(sample);
    const Array made = run_convolution(request, sample.inputs, 2), meant = reference_results(request, sample.inputs).front();
    int finite = 0;
    for (std::int64_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(std::isfinite(made.at(i)), std::isfinite(meant.at(i))) << i;
      finite += std::isfinite(made.at(i)) ? 1 : 0;
    }
    EXPECT_GT(finite, 0);
  }
}

/// Windows of small channels, which have a table, of large ones, and squares side by side; with equal elements and NaN among them.
TEST(Convolution, PoolsAndTheirGradientsChooseTheElementsThatTheReferencesChoose) {
  using Integers = std::vector<std::int64_t>;
  const Integers one{1}, two{2}, three{3};
  const std::vector<std::tuple<Shape, Integers, Integers, Integers, Integers>> all = {
      {{2, 3, 8, 8}, two, two, {0}, one},      {{1, 2, 6, 34}, two, two, {0}, one},         {{2, 1, 4, 2}, two, two, {0}, one},
      {{1, 3, 10, 94}, two, two, {0}, one},    {{2, 2, 40, 36}, three, two, one, one},      {{1, 1, 100, 90}, three, two, one, one},
      {{1, 2, 7, 700}, {2, 5}, one, {1}, two}, {{1, 1, 9, 9}, two, one, {1, 0, 1, 0}, {5}}, {{1, 1, 2, 900}, {1, 64}, three, {0}, one}};
  for (const auto& [shape, kernel, strides, pads, dilations] : all) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
      const Attributes attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
      Array x({dtype, shape});
      dispatch(dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_integral_v<T>)
          for (std::int64_t i = 0; i < x.size(); ++i)
            x.mutable_data<T>()[i] =
                static_cast<T>(i % 53 == 7 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i * 71 % 13) - 6);
      });
      const auto add = [&](const char* op, std::vector<Array> inputs) {
        OpSample sample{find_op(op), std::move(inputs), attributes, false};
        EXPECT_FALSE(normalize_call(*sample.op, sample.inputs.size(), sample.attributes));
        return sample;
      };
      const OpSample pool = add("max_pool", {x});
      const TensorType pooled = request_for(pool).result_types[0];
      for (const OpSample& sample :
           {pool, add("max_pool_gradient", {x, numbers(pooled, 1)}), add("max_pool_gather", {x, numbers(x.type(), 2)})}) {
        SCOPED_TRACE(describe(sample));
        const KernelRequest request = request_for(sample);
        const Array made = run_convolution(request, sample.inputs, 2), meant = reference_results(request, sample.inputs).front();
        for (std::int64_t i = 0; i < made.size(); ++i)
          ASSERT_TRUE(made.at(i) == meant.at(i) || (std::isnan(made.at(i)) && std::isnan(meant.at(i)))) << i;
      }
    }
  }
}

/// Another array is added to the convolution's results, and negative numbers become zero; or the results are read twice.
TEST(Convolution, StepsBehindItAreDoneInTheSameKernel) {
  int fused = 0;
  for (const OpSample& sample : calls()) {
    SCOPED_TRACE(describe(sample));
    const KernelRequest alone = request_for(sample);
    const TensorType type = alone.result_types[0];
    if (sample.op->name != "conv" || (type.dtype != DType::f32 && type.dtype != DType::f64)) continue;
    if (sample.attributes.get<std::vector<std::int64_t>>("dilations").front() > 100) continue;  // it has no kernel
    const std::size_t inputs = sample.inputs.size();
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; i < inputs; ++i) operands.push_back(i);
    const Attributes none;
    std::vector<Array> given = sample.inputs;
    given.push_back(numbers(type, 3));
    const Array before = run_convolution(alone, sample.inputs, 1);
    for (const bool twice : {false, true}) {
      KernelRequest request = alone;
      request.input_types.push_back(type);
      const std::size_t results = inputs + 1;
      request.steps = {{{}, sample.op, &sample.attributes, operands, type},
                       {{}, find_op("add"), &none, {results, twice ? results : inputs}, type},
                       {{}, find_op("relu"), &none, {results + 1}, type}};
      request.written = {2};
      request.op = find_op("relu");
      request.attributes = &none;
      ASSERT_TRUE(host_fuses(request));
      ++fused;
      const Array made = run_convolution(request, given, 1), by_two = run_convolution(request, given, 2);
      EXPECT_TRUE(made == by_two);
      for (std::int64_t i = 0; i < made.size(); ++i) {
        const double sum = before.at(i) + (twice ? before.at(i) : given.back().at(i));
        const double expected = type.dtype == DType::f32 ? static_cast<double>(static_cast<float>(sum)) : sum;
        ASSERT_EQ(made.at(i), std::max(0.0, expected)) << i;
      }
      request.written = {0, 2};  // others read the convolution's results
      request.result_types = {type, type};
      ASSERT_TRUE(host_fuses(request));
      Array first(type), last(type);
      std::vector<TensorView> views;
      for (Array& input : given) views.push_back({&input.type(), input.mutable_bytes()});
      const TensorView results_of[] = {{&type, first.mutable_bytes()}, {&type, last.mutable_bytes()}};
      EXPECT_TRUE(run_guarded(*prepare_host_kernel(request), {*request.op, none, views, results_of, kContext}).ok());
      EXPECT_TRUE(first == before);
      EXPECT_TRUE(last == made);
    }
  }
  EXPECT_GT(fused, 20);
}

}  // namespace
}  // namespace cleave::testing

// The functions of ops/ops.h and its neighbors: one for every op of the vocabulary, each of which records that op with the given
// attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/ops/array_functions.h"
#include "graph/ops/attention.h"
#include "graph/ops/cells.h"
#include "graph/ops/einsum.h"
#include "graph/ops/elementary.h"
#include "graph/ops/fourier.h"
#include "graph/ops/linear_algebra.h"
#include "graph/ops/losses.h"
#include "graph/ops/neural.h"
#include "graph/ops/ops.h"
#include "graph/ops/quantization.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/search.h"
#include "graph/ops/statistics.h"
#include "graph/ops/trees.h"
#include "graph/ops/updates.h"
#include "graph/ops/vision.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"

namespace cleave {
namespace {

/// A program that calls every function once.
Graph everything() {
  return trace("all", {{"f", "f32[2, 3]"}, {"i", "i32[3]"}, {"p", "bool[3]"}}, [](Tensor f, Tensor i, Tensor p) {
    for (auto function : {negative, abs,   sign,  square, exp,      expm1, log,     log1p, log2,  sqrt,    rsqrt, reciprocal, sin,
                          cos,      tan,   asin,  acos,   atan,     sinh,  cosh,    tanh,  erf,   sigmoid, relu,  gelu,       floor,
                          ceil,     round, trunc, isnan,  isfinite, isinf, signbit, log10, asinh, acosh,   atanh})
      function(f, Here::now());
    for (auto function : {add, subtract, multiply, divide, floor_divide, remainder, pow, minimum, maximum, atan2, equal, not_equal, less,
                          less_equal, greater, greater_equal, hypot, logaddexp, copysign})
      function(f, f, Here::now());
    for (auto function : {logical_and, logical_or, logical_xor}) function(p, p, Here::now());
    for (auto function : {bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift}) function(i, i, Here::now());
    for (auto function : {sum, mean, prod, max, min, argmax, argmin}) function(f, {.axis = 0, .keepdims = true}, Here::now());
    for (auto function : {any, all}) function(p, {}, Here::now());
    logical_not(p), bitwise_invert(i), astype(f, DType::i32), clip(f, 0, 1), where(p, f, 0), matmul(f, transpose(f));
    cumulative_sum(f, {.axis = 1}), cumulative_prod(f, {.axis = 0, .exclusive = true, .reverse = true}), bitcast(f, DType::i32), softmax(f),
        log_softmax(f, {.axis = 0});
    permute_dims(f, {1, 0}), reshape(f, {-1}), expand_dims(f, 1), squeeze(expand_dims(f), 0), broadcast_to(i, {2, 3}), flip(f, {0, 1});
    concat({f, f}, {.axis = 1}), stack({f, f}), pad(f, {{1, 1}, {0, 2}}, {.value = 7}), repeat(f, 2, {.axis = 0}), tile(f, {2});
    slice(f, {{0, 1}}), take(f, i, {.axis = 1}), one_hot(i, 5);
    arange(10), arange(0, 1, {.step = 0.25}), zeros({2}), ones({2}, {DType::i64}), full({2}, 1.5), eye(3);
    random_uniform({4}, -1, 1, {.seed = 7}), random_normal({4}, 0, 2, {.seed = 7, .step = i[0]});
    attention(f, f, f), attention_gradient(f, f, f, f), einsum("ij->ji", {f}), lstm_cell(zeros({8}), zeros({8}), zeros({2})),
        gru_cell(zeros({6}), zeros({6}), zeros({2}));
    const Tensor square = matmul(f, transpose(f));
    solve(square, f), inv(square), det(square), slogdet(square), cholesky(square), qr(f), eigh(square), eigvalsh(square), svd(f);
    svdvals(f), fft(transpose(f)), ifft(transpose(f)), rfft(f), irfft(transpose(f));
    dynamic_slice(f, {i[0], 0}, {1, 2}), dynamic_update_slice(f, f, {0, 0});
    const Tensor places = argsort(f), pairs = zeros({4, 2}, {DType::i32});
    take_along_axis(f, places), gather_nd(f, pairs), scatter(f, places, f, {.axis = 1, .reduction = Reduction::max});
    scatter_add(f, i, zeros({3, 3})), scatter_nd(f, pairs, zeros({4}), Reduction::add);
    const Tensor sequence = zeros({5, 1, 2});
    lstm(sequence, zeros({1, 8, 2}), zeros({1, 8, 2})), gru(sequence, zeros({1, 6, 2}), zeros({1, 6, 2})),
        rnn(sequence, zeros({1, 2, 2}), zeros({1, 2, 2}));
    i << 3, i >> i, random_integers({4}, -3, 9, {.seed = 7, .step = i[0]}), random_permutation(4, {.seed = 7, .step = i[0]});
    searchsorted(i, f), nonzero(f, 4), compress(i, i, {.size = 1});
    const Tensor byte_matrix = zeros({2, 2}, {DType::i8}), byte_zero = zeros({}, {DType::i8});
    quantized_matmul(byte_matrix, byte_matrix, byte_zero, byte_zero, {.factor = zeros({2})});
    quantized_conv(zeros({1, 1, 4, 4}, {DType::i8}), zeros({1, 1, 3, 3}, {DType::i8}), byte_zero, byte_zero, {.zero = byte_zero},
                   {.pads = 1});
    tree_ensemble(f, {i, zeros({2}, {DType::i32}), zeros({2}), zeros({2, 2}, {DType::i32}), zeros({3}), zeros({3}, {DType::i64})},
                  {.outputs = 2});
    non_max_suppression(zeros({1, 6, 4}), zeros({1, 2, 6}), 3, {.iou_threshold = 0.5, .score_threshold = 0.1});
    const Tensor picture = reshape(f, {1, 1, 2, 3});
    roi_align(picture, zeros({3, 4}), zeros({3}, {DType::i64}), {.output_height = 2, .max = true});
    grid_sample(picture, zeros({1, 3, 3, 2}), {.mode = Interpolation::cubic, .padding = Padding::border});
    sort(f), argsort(f, {.axis = 0, .descending = true}), top_k(f, 2), unique(f);
    tril(f), triu(f, 1), diagonal(f), matrix_trace(f), roll(f, {1}), moveaxis(f, {0}, {1}), unstack(f), split(f, 3, 1), meshgrid({i, i});
    zeros_like(f), ones_like(f, DType::i64), full_like(f, 2), linspace(0, 1, 5), diff(f), logsumexp(f), count_nonzero(f);
    vecdot(f, f), outer(i, i), tensordot(f, f), tensordot(f, f, {1}, {1}), cross(f, f), vector_norm(f), matrix_norm(f);
    const Tensor image = reshape(f, {1, 2, 3});
    conv(image, zeros({4, 2, 2}), zeros({4}), {.pads = 1}), max_pool(image, 2), avg_pool(image, 2, {.count_include_pad = true});
    conv_input_gradient(zeros({1, 4, 2}), zeros({4, 2, 2}), 3), conv_weight_gradient(image, zeros({1, 4, 2}), 2);
    max_pool_gradient(image, zeros({1, 2, 2}), 2), max_pool_gather(image, image, 2), avg_pool_gradient(zeros({1, 2, 2}), 3, 2);
    const Tensor two = zeros({2});
    conv_transpose(image, zeros({2, 2, 2}), {.strides = 2}), batch_norm(image, two, two, two, two), layer_norm(image), rms_norm(image);
    group_norm(image, two, two, 1), instance_norm(image, two, two), lp_norm(image, {.p = 1}), resize(image, {.scales = {{2}}});
    global_max_pool(image), global_average_pool(image);
    var(f), stddev(f, {.axis = 0, .correction = 1}), dequantize(quantize(f, 0.5), 0.5);
    cross_entropy(f, f), mse(f, f), huber(f, f, 0.5), binary_cross_entropy(f, f), dropout(f, 0.5, {.step = i[0]});
    print("f", f), log("f", sum(f)), write_npy("f.npy", f), to_host(f), to_accelerator(f), host_call("h", {}, [] {});
  });
}

TEST(OpsFunctions, ThereIsOneForEveryOp) {
  const Graph graph = everything();
  ASSERT_TRUE(graph.ok()) << to_string(graph.diagnostics.begin()->location) << ": " << graph.diagnostics.begin()->message;
  std::set<std::string_view> recorded;
  for (const Node& node : graph.nodes) {
    if (node.op) recorded.insert(node.op->name);
    for (const SourceFrame* scope = node.location.via.get(); scope; scope = scope->location.via.get()) recorded.insert(scope->label);
  }
  for (const OpDef* op : all_functions()) EXPECT_TRUE(recorded.contains(op->name)) << op->name;
}

std::string type_of(const Tensor& x) {
  return to_string(x.type());
}

TEST(OpsFunctions, OptionsReachTheOp) {
  const Graph graph = trace("t", {{"x", "f32[2, 3, 4]"}, {"i", "i32[5]"}}, [](Tensor x, Tensor i) {
    EXPECT_EQ(type_of(sum(x)), "f32[]");
    EXPECT_EQ(type_of(sum(x, {.axis = 0})), "f32[3, 4]");
    EXPECT_EQ(type_of(sum(x, {.axis = {0, -1}, .keepdims = true})), "f32[1, 3, 1]");
    EXPECT_EQ(type_of(argmax(x, {.axis = 1})), "i32[2, 4]");
    EXPECT_EQ(type_of(concat({x, x}, {.axis = -1})), "f32[2, 3, 8]");
    EXPECT_EQ(type_of(stack({x, x}, {.axis = 1})), "f32[2, 2, 3, 4]");
    EXPECT_EQ(type_of(pad(x, {{1, 0}, {0, 0}, {2, 3}})), "f32[3, 3, 9]");
    EXPECT_EQ(type_of(take(x, i, {.axis = 1})), "f32[2, 5, 4]");
    EXPECT_EQ(type_of(one_hot(i, 7, {DType::bf16})), "bf16[5, 7]");
    EXPECT_EQ(type_of(arange(10)), "i32[10]");
    EXPECT_EQ(type_of(arange(10, {.step = 3})), "i32[4]");
    EXPECT_EQ(type_of(arange(0.5, 2, {.dtype = DType::f64})), "f64[2]");
    EXPECT_EQ(type_of(full({2}, true)), "bool[2]");
    EXPECT_EQ(type_of(full({2}, 1, DType::f64)), "f64[2]");
    EXPECT_EQ(type_of(eye(2, 3, {DType::i32})), "i32[2, 3]");
    const auto [values, indices] = top_k(x, 2);
    EXPECT_EQ(type_of(values), "f32[2, 3, 2]");
    EXPECT_EQ(type_of(indices), "i32[2, 3, 2]");
    EXPECT_EQ(type_of(unique(i).count), "i32[]");
    return maximum(x, 0);
  });
  EXPECT_TRUE(graph.ok());
}

TEST(OpsFunctions, MistakesAreReportedAtTheCall) {
  const int line = __LINE__ + 2;
  const Graph graph = trace("t", {{"x", "f32[2, 3]"}}, [](Tensor x) {
    sum(x, {.axis = 2});
    reshape(x, {4});
    const auto [values, indices] = top_k(x, 9);
    return std::tuple(values, indices, concat({x, 1}));
  });
  EXPECT_EQ(graph.diagnostics.size(), 4u);
  int i = 0;
  for (const Diagnostic& diagnostic : graph.diagnostics) EXPECT_EQ(diagnostic.location.line, line + i++) << diagnostic.message;
}

}  // namespace
}  // namespace cleave

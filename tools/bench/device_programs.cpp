#include "tools/bench/device_programs.h"

#include <cmath>

#include "cleave.h"

namespace cleave::bench {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

/// Numbers in [-scale, scale), the same on every machine.
Array numbers(Shape shape, std::uint64_t seed, double scale = 1) {
  Array array(TensorType{DType::f32, std::move(shape)});
  float* data = array.mutable_data<float>();
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    data[i] = static_cast<float>(scale * 0x1p-31 * static_cast<double>(static_cast<std::int32_t>(state >> 32U)));
  }
  return array;
}

Array in_bf16(const Array& wide) {
  Array array(TensorType{DType::bf16, wide.type().shape});
  for (std::int64_t i = 0; i < wide.size(); ++i) array.mutable_data<BFloat16>()[i] = BFloat16(wide.data<float>()[i]);
  return array;
}

Array indices(std::int64_t count, std::int64_t below) {
  Array array(TensorType{DType::i32, {count}});
  for (std::int64_t i = 0; i < count; ++i) array.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % below);
  return array;
}

TypeSpec f32(Shape shape) {
  return {DType::f32, std::move(shape)};
}

void halve(std::span<const float> x, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 0.5F * x[i];
}

/// A training loop in which a host function decides in every step, on a tensor of `rows` x `rows`.
DeviceProgram host_in_loop(const std::string& name, std::int64_t rows, std::int64_t steps) {
  DeviceProgram program{name, {{"rows", rows}, {"steps", steps}}, {}, {}};
  program.graph = trace(name, {{"w", f32({rows, rows})}, {"x", f32({rows, rows})}}, [&](Tensor start, Tensor x) {
    return for_loop(steps, start, [&](Tensor, Tensor w) {
      Tensor y = tanh(matmul(x, w) / static_cast<double>(rows));
      Tensor r = host_call("halve", {f32({rows, rows})}, {.pure = true, .seconds = 1e-6}, halve, y);
      return w - 0.1 * r;
    });
  });
  program.inputs = {{"w", numbers({rows, rows}, 1)}, {"x", numbers({rows, rows}, 2)}};
  return program;
}

DeviceProgram tiny_ops(std::int64_t elements, std::int64_t steps) {
  DeviceProgram program{"tiny_ops", {{"elements", elements}, {"steps", steps}}, {}, {}};
  program.graph = trace("tiny_ops", {{"x", f32({elements})}, {"y", f32({elements})}}, [&](Tensor start, Tensor y) {
    return for_loop(steps, start, [&](Tensor, Tensor x) {
      for (int i = 0; i < 10; ++i) x = tanh(x * y) + 0.5;
      return x;
    });
  });
  program.inputs = {{"x", numbers({elements}, 1)}, {"y", numbers({elements}, 2)}};
  return program;
}

DeviceProgram mlp_inference(std::int64_t batch, std::int64_t width) {
  DeviceProgram program{"mlp_inference", {{"batch", batch}, {"width", width}}, {}, {}};
  const Input inputs[] = {{"x", f32({batch, 784})},    {"w1", f32({784, width})}, {"b1", f32({width})},
                          {"w2", f32({width, width})}, {"b2", f32({width})},      {"w3", f32({width, 10})}};
  program.graph = trace("mlp_inference", inputs, [](Tensor x, Tensor w1, Tensor b1, Tensor w2, Tensor b2, Tensor w3) {
    Tensor h = relu(matmul(x, w1) + b1);
    h = relu(matmul(h, w2) + b2);
    return softmax(matmul(h, w3));
  });
  program.inputs = {{"x", numbers({batch, 784}, 1)},    {"w1", numbers({784, width}, 2)}, {"b1", numbers({width}, 3)},
                    {"w2", numbers({width, width}, 4)}, {"b2", numbers({width}, 5)},      {"w3", numbers({width, 10}, 6)}};
  return program;
}

DeviceProgram mlp_training(std::int64_t batch, std::int64_t width, std::int64_t steps) {
  DeviceProgram program{"mlp_training", {{"batch", batch}, {"width", width}, {"steps", steps}}, {}, {}};
  const Input inputs[] = {{"x", f32({batch, 784})}, {"y", f32({batch, 10})}, {"w1", f32({784, width})}, {"w2", f32({width, 10})}};
  program.graph = trace("mlp_training", inputs, [&](Tensor x, Tensor y, Tensor start1, Tensor start2) {
    auto [first, second] = for_loop(steps, std::tuple(start1, start2), [&](Tensor, Tensor w1, Tensor w2) {
      Tensor z = matmul(x, w1);
      Tensor h = relu(z);
      Tensor error = (softmax(matmul(h, w2)) - y) / static_cast<double>(batch);
      Tensor back = where(z > 0, matmul(error, transpose(w2)), 0.0);
      return std::tuple(w1 - 0.01 * matmul(transpose(x), back), w2 - 0.01 * matmul(transpose(h), error));
    });
    return std::tuple(first, second);
  });
  program.inputs = {
      {"x", numbers({batch, 784}, 1)}, {"y", numbers({batch, 10}, 2)}, {"w1", numbers({784, width}, 3)}, {"w2", numbers({width, 10}, 4)}};
  return program;
}

Tensor layer_norm_of(const Tensor& x) {
  Tensor centred = x - mean(x, {.axis = -1, .keepdims = true});
  return centred * rsqrt(mean(square(centred), {.axis = -1, .keepdims = true}) + 1e-5);
}

DeviceProgram transformer_block(std::int64_t batch, std::int64_t length, std::int64_t width, std::int64_t heads) {
  DeviceProgram program{"transformer_block", {{"batch", batch}, {"length", length}, {"width", width}, {"heads", heads}}, {}, {}};
  const Input inputs[] = {{"x", f32({batch, length, width})}, {"wq", f32({width, width})}, {"wk", f32({width, width})},
                          {"wv", f32({width, width})},        {"wo", f32({width, width})}, {"w1", f32({width, 4 * width})},
                          {"w2", f32({4 * width, width})}};
  program.graph = trace("transformer_block", inputs, [&](Tensor x, Tensor wq, Tensor wk, Tensor wv, Tensor wo, Tensor w1, Tensor w2) {
    const std::int64_t depth = width / heads;
    auto split_heads = [&](const Tensor& t) { return permute_dims(reshape(t, {batch, length, heads, depth}), {0, 2, 1, 3}); };
    Tensor n = layer_norm_of(x);
    Tensor q = split_heads(matmul(n, wq)), k = split_heads(matmul(n, wk)), v = split_heads(matmul(n, wv));
    Tensor weights = softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(depth)));
    Tensor attended = reshape(permute_dims(matmul(weights, v), {0, 2, 1, 3}), {batch, length, width});
    Tensor y = x + matmul(attended, wo);
    return y + matmul(gelu(matmul(layer_norm_of(y), w1)), w2);
  });
  program.inputs["x"] = numbers({batch, length, width}, 1);
  for (const char* name : {"wq", "wk", "wv", "wo"}) program.inputs[name] = numbers({width, width}, 2);
  program.inputs["w1"] = numbers({width, 4 * width}, 3);
  program.inputs["w2"] = numbers({4 * width, width}, 4);
  return program;
}

DeviceProgram kmeans(std::int64_t points, std::int64_t features, std::int64_t clusters, std::int64_t steps) {
  DeviceProgram program{"kmeans", {{"points", points}, {"features", features}, {"clusters", clusters}, {"steps", steps}}, {}, {}};
  program.graph = trace("kmeans", {{"x", f32({points, features})}, {"start", f32({clusters, features})}}, [&](Tensor x, Tensor start) {
    return for_loop(steps, start, [&](Tensor, Tensor centres) {
      Tensor distance = sum(square(centres), {.axis = 1}) - 2 * matmul(x, transpose(centres));
      Tensor member = one_hot(argmin(distance, {.axis = 1}), clusters);
      Tensor moved = matmul(transpose(member), x) / maximum(expand_dims(sum(member, {.axis = 0}), 1), 1);
      Tensor shift = max(abs(moved - centres));
      Tensor done = host_call(
          "converged", {"bool[]"}, {.pure = true, .seconds = 1e-6},
          [](std::span<const float> by, std::span<bool> end) { end[0] = by[0] < 0; }, shift);
      return until(done, moved);
    });
  });
  program.inputs = {{"x", numbers({points, features}, 1)}, {"start", numbers({clusters, features}, 2)}};
  return program;
}

/// A table too large to send for the few rows that are read: it stays on the host, where the rows are gathered.
DeviceProgram embedding(std::int64_t rows, std::int64_t width, std::int64_t batch) {
  DeviceProgram program{"embedding", {{"rows", rows}, {"width", width}, {"batch", batch}}, {}, {}};
  program.placement = Policy::optimal;
  const Input inputs[] = {
      {"table", f32({rows, width})}, {"ids", {DType::i32, {batch}}}, {"w1", f32({width, 1024})}, {"w2", f32({1024, 16})}};
  program.graph = trace("embedding", inputs, [](Tensor table, Tensor ids, Tensor w1, Tensor w2) {
    return matmul(relu(matmul(take(table, ids, {.axis = 0}), w1)), w2);
  });
  program.inputs = {{"table", numbers({rows, width}, 1)},
                    {"ids", indices(batch, rows)},
                    {"w1", numbers({width, 1024}, 2)},
                    {"w2", numbers({1024, 16}, 3)}};
  return program;
}

/// Sends `steps` tensors from the host to the accelerator while the accelerator computes something else.
DeviceProgram streaming(const std::string& name, std::int64_t elements, std::int64_t steps, std::int64_t rows) {
  DeviceProgram program{name, {{"elements", elements}, {"steps", steps}, {"rows", rows}}, {}, {}};
  program.graph = trace(name, {{"sum", f32({elements})}, {"w", f32({rows, rows})}}, [&](Tensor zero, Tensor one) {
    auto [sums, product] = for_loop(steps, std::tuple(zero, one), [&](Tensor step, Tensor total, Tensor w) {
      Tensor sent = host_call(
          "produce", {f32({elements})}, {.pure = true, .seconds = 1e-6},
          [](std::span<const std::int32_t> trip, std::span<float> out) { out[0] = static_cast<float>(trip[0]); }, step);
      return std::tuple(total + sent, tanh(matmul(w, w) / static_cast<double>(rows)));
    });
    return std::tuple(sums, product);
  });
  program.inputs = {{"sum", numbers({elements}, 1)}, {"w", numbers({rows, rows}, 2)}};
  return program;
}

DeviceProgram branch_on_data(std::int64_t elements, std::int64_t steps) {
  DeviceProgram program{"branch_on_data", {{"elements", elements}, {"steps", steps}}, {}, {}};
  program.graph = trace("branch_on_data", {{"x", f32({elements})}}, [&](Tensor start) {
    return for_loop(steps, start, [&](Tensor, Tensor x) {
      return cond(
          sum(x) > 0, [&] { return x * 0.5 - 0.25; }, [&] { return x * 0.5 + 0.25; });
    });
  });
  program.inputs = {{"x", numbers({elements}, 1)}};
  return program;
}

DeviceProgram ping_pong(std::int64_t steps) {
  DeviceProgram program{"ping_pong", {{"steps", steps}}, {}, {}};
  program.graph = trace("ping_pong", {{"x", f32({16})}}, [&](Tensor start) {
    return for_loop(steps, start,
                    [&](Tensor, Tensor x) { return host_call("halve", {f32({16})}, {.pure = true, .seconds = 1e-6}, halve, x + 1.0); });
  });
  program.inputs = {{"x", numbers({16}, 1)}};
  return program;
}

DeviceProgram matmul_chain(std::int64_t rows, std::int64_t steps) {
  DeviceProgram program{"matmul_chain_bf16", {{"rows", rows}, {"steps", steps}}, {}, {}};
  const TypeSpec bf16{DType::bf16, {rows, rows}};
  program.graph = trace("matmul_chain", {{"w", bf16}, {"x", bf16}},
                        [&](Tensor w, Tensor start) { return for_loop(steps, start, [&](Tensor, Tensor x) { return matmul(w, x); }); });
  // Scaled so that products keep the magnitude of their elements.
  program.inputs = {{"w", in_bf16(numbers({rows, rows}, 1, std::sqrt(3.0 / static_cast<double>(rows))))},
                    {"x", in_bf16(numbers({rows, rows}, 2))}};
  program.precision = "bf16";
  return program;
}

}  // namespace

std::vector<DeviceProgram> device_programs(bool small) {
  std::vector<DeviceProgram> programs;
  const auto pick = [&](std::int64_t usual, std::int64_t tiny) { return small ? tiny : usual; };
  programs.push_back(host_in_loop("host_in_loop_small", pick(128, 16), pick(500, 4)));
  programs.push_back(host_in_loop("host_in_loop_large", pick(2048, 32), pick(50, 4)));
  programs.push_back(tiny_ops(pick(4096, 64), pick(100, 2)));
  programs.push_back(mlp_inference(pick(256, 8), pick(4096, 32)));
  programs.push_back(mlp_training(pick(256, 8), pick(1024, 32), pick(200, 3)));
  programs.push_back(transformer_block(pick(8, 2), pick(512, 8), pick(1024, 32), pick(16, 4)));
  programs.push_back(kmeans(pick(100'000, 64), pick(64, 8), pick(64, 4), pick(50, 3)));
  programs.push_back(embedding(pick(4'000'000, 1000), pick(64, 16), pick(4096, 8)));
  programs.push_back(streaming("transfers_4k", 1024, pick(1000, 5), pick(64, 8)));
  programs.push_back(streaming("copies_with_compute", pick(16 << 20, 4096), pick(50, 3), pick(2048, 16)));
  programs.push_back(branch_on_data(pick(65536, 64), pick(500, 4)));
  programs.push_back(ping_pong(pick(2000, 5)));
  programs.push_back(matmul_chain(pick(8192, 32), pick(20, 2)));
  return programs;
}

}  // namespace cleave::bench

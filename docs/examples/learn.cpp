// Exclusive or, by a small network: the program of learn.yaml in C++.
#include <cleave/optim.h>

#include <cstdio>

using namespace cleave;

struct Layer {
  Tensor w, b;
  auto members() { return std::tie(w, b); }
  static constexpr std::array member_names{"w", "b"};
};
struct Net {
  Layer hidden, out;
  auto members() { return std::tie(hidden, out); }
  static constexpr std::array member_names{"hidden", "out"};
};

static Tensor classify(const Net& net, const Tensor& x) {
  const Tensor h = tanh(matmul(x, net.hidden.w) + net.hidden.b);
  return matmul(h, net.out.w) + net.out.b;
}

int main() {
  const Graph graph = trace("learn", {{"x", "f32[4, 2]"}, {"y", "f32[4, 1]"}}, [](Tensor x, Tensor y) {
    const Net start{{parameter("hidden.w", "f32[2, 8]", Init::xavier(2, 8, 1)), parameter("hidden.b", "f32[8]", 0)},
                    {parameter("out.w", "f32[8, 1]", Init::xavier(8, 1, 2)), parameter("out.b", "f32[1]", 0)}};
    const Net zero{{zeros({2, 8}), zeros({8})}, {zeros({8, 1}), zeros({1})}};
    const auto trained = for_loop(300, std::tuple(start, zero, zero), [&](Tensor step, Net net, Net m, Net v) {
      const Tensor loss = binary_cross_entropy(classify(net, x), y);
      const Net grads = optim::clip_by_norm(gradient(loss, net), 1.0);
      return optim::adam(net, grads, m, v, {.rate = optim::cosine(0.1, step, 300), .step = step});
    });
    return named("answers", classify(std::get<0>(trained), x) > 0);
  });

  Result<Executable> program = compile(graph, {.device = "none"});
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  const Array x = Array::of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), y = Array::of<float>({4, 1}, {0, 1, 1, 0});
  Result<RunResult> result = program->run({{"x", x}, {"y", y}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("answers: %s\n", to_string(*result->output("answers")).c_str());
}

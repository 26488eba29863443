// Weights in steps of a quarter: the gradient takes the rounding for the identity.
#include <cleave/optim.h>

#include <cstdio>

using namespace cleave;

int main() {
  const Graph graph = trace("straight_through", {{"x", "f32[3]"}, {"y", "f32[3]"}}, [](Tensor x, Tensor y) {
    const auto rounded = custom_gradient([](Tensor w) { return round(w * 4) / 4; },
                                         [](Tensor /*w*/, Tensor /*steps*/, Tensor cotangent) { return cotangent; });
    const Tensor trained = for_loop(100, zeros({3}), [&](Tensor, Tensor w) {
      const Tensor loss = sum(square(rounded(w) * x - y));
      return w - 0.02 * gradient(loss, w);
    });
    return named("steps", rounded(trained));
  });

  Result<Executable> program = compile(graph, {.device = "none"});
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  Result<RunResult> result = program->run({{"x", Array::of<float>({3}, {1, 2, 4})}, {"y", Array::of<float>({3}, {3, -4, 9})}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("steps: %s\n", to_string(*result->output("steps")).c_str());
}

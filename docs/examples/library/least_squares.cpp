// A program that uses cleave as a library: least squares by gradient descent.
#include <cleave/cleave.h>

#include <cstdio>

using namespace cleave;

int main() {
  const Graph graph = trace("least_squares", {{"x", "f32[4, 2]"}, {"y", "f32[4, 1]"}}, [](Tensor x, Tensor y) {
    Tensor best = for_loop(500, zeros({2, 1}), [&](Tensor, Tensor w) {
      Tensor errors = matmul(x, w) - y;
      return w - 0.1 * matmul(transpose(x), errors);
    });
    return named("w", best);
  });

  Result<Executable> program = compile(graph, {.device = "none"});  // or "simulated", "cuda"
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  const Array x = Array::of<float>({4, 2}, {1, 0, 0, 1, 1, 1, 2, 1});
  const Array y = Array::of<float>({4, 1}, {2, -1, 1, 3});
  Result<RunResult> result = program->run({{"x", x}, {"y", y}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("w: %s\n", to_string(*result->output("w")).c_str());
}

// A straight line through points, by gradients: the program computes them, and its weights and moments stay on their device.
#include <cleave/optim.h>

#include <cstdio>

using namespace cleave;

/// The weights of a model: a nest, so that gradients and moments have the same shape.
struct Line {
  Tensor slope, offset;
  auto members() { return std::tie(slope, offset); }
  static constexpr std::array member_names{"slope", "offset"};
};

int main() {
  const Graph graph = trace("line", {{"x", "f32[5]"}, {"y", "f32[5]"}}, [](Tensor x, Tensor y) {
    const Line start{zeros({}), zeros({})};
    const auto trained = for_loop(1000, std::tuple(start, start, start), [&](Tensor step, Line line, Line m, Line v) {
      const Tensor loss = named("loss", mean(square(line.slope * x + line.offset - y)));
      const Line slopes = gradient(loss, line);
      return optim::adam(line, slopes, m, v, {.rate = optim::cosine(0.1, step, 1000), .step = step});
    });
    return std::get<0>(trained);
  });

  Result<Executable> program = compile(graph, {.device = "none"});
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  Result<RunResult> result = program->run({{"x", Array::of<float>({5}, {0, 1, 2, 3, 4})}, {"y", Array::of<float>({5}, {1, 3, 5, 7, 9})}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("y = %.2f x + %.2f\n", result->output("slope")->at(0), result->output("offset")->at(0));
}

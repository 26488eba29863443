// A program outside of cleave's tree: traces, compiles and runs one model, and checks the result.
#include <cleave/cleave.h>
#include <cleave/graph/graph.h>
#include <cleave/host_function.h>

#include <cstdio>

extern "C" int twice(int, const cleave_array*, int, cleave_array*, int, char*, size_t);

int main() {
  using namespace cleave;
  const Graph graph = trace("consumer", {{"x", "f32[3]"}}, [](Tensor x) {
    Tensor y = for_loop(10, x, [](Tensor, Tensor v) { return v + 1; });
    return named("y", host_call(
                          "twice", {"f32[3]"}, {.pure = true},
                          [](std::span<const float> in, std::span<float> out) {
                            for (std::size_t i = 0; i < in.size(); ++i) {
                              const cleave_array input{CLEAVE_F32, 0, nullptr, const_cast<float*>(&in[i])};
                              cleave_array result{CLEAVE_F32, 0, nullptr, &out[i]};
                              char error[64];
                              twice(CLEAVE_HOST_FUNCTION_VERSION, &input, 1, &result, 1, error, sizeof error);
                            }
                          },
                          y));
  });
  const Result<Executable> program = compile(graph, {.device = "simulated"});
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  const Result<RunResult> result = program->run({{"x", Array::of<float>({3}, {1, 2, 3})}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  const Array* y = result->output("y");
  std::printf("cleave %s: y = %s\n", kVersion, y ? to_string(*y).c_str() : "?");
  return y && *y == Array::of<float>({3}, {22, 24, 26}) ? 0 : 1;
}

// A controller is improved on the accelerator; the plant that it controls is opaque host code.
#include <cleave/cleave.h>

#include <cmath>
#include <cstdio>

using namespace cleave;

// Any C++ code: cleave cannot see into it and does not need to.
static void plant(std::span<const float> force, std::span<float> response) {
  for (std::size_t i = 0; i < force.size(); ++i) response[i] = std::sin(3 * force[i]) / (1 + std::abs(force[i]));
}

int main() {
  const Graph graph = trace("controller", {{"start", "f32[256, 256]"}}, [](Tensor start) {
    Tensor last = for_loop(50, start, [](Tensor step, Tensor gain) {
      Tensor policy = tanh(matmul(gain, gain) / 16);
      Tensor response = host_call("plant", {"f32[256]"}, {.pure = true, .seconds = 2e-5}, plant, mean(policy, {.axis = 0}));
      cond(step % 25 == 0, [&] { print("response", mean(response)); });
      return named("gain", gain - 0.1 * (policy - response));
    });
    return named("drift", mean(abs(last)));
  });

  Result<Executable> program = compile(graph, {}, [](const Diagnostic& d) { std::fputs(to_text(d, {.source = false}).c_str(), stderr); });
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;
  Result<RunResult> result = program->run({{"start", Array::of<float>({256, 256}, std::vector<float>(65536, 0.25F))}});
  if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
  std::printf("drift: %s\n", to_string(*result->output("drift")).c_str());
}

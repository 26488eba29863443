// A page of numbers is filled again and again, and scored on the accelerator, which reads and writes the arrays where they lie.
#include <cleave/cleave.h>

#include <algorithm>
#include <cstdio>

using namespace cleave;

int main() {
  const Graph graph = trace("scoring", {{"page", "f32[512, 512]"}},
                            [](Tensor page) { return named("scores", mean(tanh(matmul(page, page)), {.axis = 0})); });
  Result<Executable> program = compile(graph);
  if (!program) return std::fputs(to_text(program.error()).c_str(), stderr), 1;

  Result<Array> page = page_locked({DType::f32, {512, 512}});
  Result<Array> scores = page_locked({DType::f32, {512}});
  if (!page || !scores) return std::fputs(to_text((page ? scores : page).error()).c_str(), stderr), 1;
  RunOptions options;
  options.results = {{"scores", *scores}};
  for (int i = 1; i <= 3; ++i) {
    std::fill_n(page->mutable_data<float>(), page->size(), 0.01F * static_cast<float>(i));  // in place: no run holds it any more
    options.inputs = {{"page", *page}};
    Result<RunResult> result = program->run(options);
    if (!result) return std::fputs(to_text(result.error()).c_str(), stderr), 1;
    options.inputs.clear();
    std::printf("page %d scores %.4f\n", i, scores->at(0));
  }
}

/* A C program outside of cleave's tree: runs a model by the C API, and checks the result. */
#include <cleave/c.h>
#include <stdio.h>

int main(void) {
  FILE* file = fopen("twice.yaml", "w");
  if (!file || fputs("cleave: 1\nmodel: twice\ninputs: {x: \"f32[3]\"}\nprogram:\n  - y: 2 * x\noutputs: [y]\n", file) < 0) return 1;
  if (fclose(file)) return 1;
  cleave_program* program = NULL;
  cleave_results* results = NULL;
  cleave_array y;
  float x[] = {1, 2, 3};
  const int64_t shape[] = {3};
  const cleave_named_array input = {"x", {CLEAVE_F32, 1, shape, x}};
  if (cleave_load("twice.yaml", NULL, &program) || cleave_run(program, &input, 1, &results) || cleave_result(results, "y", &y))
    return fprintf(stderr, "%s\n", cleave_error_message()), 1;
  const float* twice = y.data;
  const int good = twice[0] == 2 && twice[1] == 4 && twice[2] == 6;
  cleave_results_free(results);
  cleave_program_free(program);
  return good ? 0 : 1;
}

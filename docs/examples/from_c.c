/* Least squares from C: loads the model of the guide, runs it once, and reads the weights. */
#include <cleave/c.h>
#include <stdio.h>

static int fail(void) {
  fprintf(stderr, "%s\n", cleave_error_message());
  return 1;
}

int main(void) {
  cleave_options* options = cleave_options_new();
  cleave_program* program = NULL;
  int failed = cleave_options_set(options, "device", "simulated") || cleave_options_set(options, "dim", "batch=4") ||
               cleave_load("docs/examples/regression.yaml", options, &program);
  cleave_options_free(options);
  if (failed) return fail();

  float x[4][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}}, y[4] = {3, 0, 2, 4};
  const int64_t x_shape[] = {4, 2}, y_shape[] = {4, 1};
  const cleave_named_array inputs[] = {{"x", {CLEAVE_F32, 2, x_shape, x}}, {"y", {CLEAVE_F32, 2, y_shape, y}}};
  cleave_results* results = NULL;
  if (cleave_run(program, inputs, 2, &results)) return fail();

  cleave_array w;
  if (cleave_result(results, "w", &w)) return fail();
  const float* weights = w.data;
  printf("w: %.2f %.2f\n", weights[0], weights[1]);
  cleave_results_free(results);
  cleave_program_free(program);
  return 0;
}

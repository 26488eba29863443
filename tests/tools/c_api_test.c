/* The C API as a C program uses it: results, errors, submitted runs, states, counters, and that it refuses wrong arguments. Run from any
 * folder: `c_api_test SOURCE_DIR FOLDER`, where FOLDER is one that it may write. */
#include <cleave/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      ++failures;                                                                                    \
      printf("%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, cleave_error_message()); \
    }                                                                                                \
  } while (0)

static int says(const char* text) {
  return strstr(cleave_error_message(), text) != NULL;
}

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0);
  if (file) fclose(file);
}

static cleave_program* load(const char* path, const char* name, const char* value) {
  cleave_program* program = NULL;
  cleave_options* options = cleave_options_new();
  CHECK(cleave_options_set(options, "device", "simulated") == CLEAVE_OK);
  if (name) CHECK(cleave_options_set(options, name, value) == CLEAVE_OK);
  CHECK(cleave_load(path, options, &program) == CLEAVE_OK);
  cleave_options_free(options);
  return program;
}

static void check_options(const char* path) {
  cleave_options* options = cleave_options_new();
  CHECK(cleave_options_set(options, "devise", "none") == CLEAVE_USAGE_ERROR && says("did you mean `device`?"));
  CHECK(cleave_options_set(options, "threads", "two") == CLEAVE_USAGE_ERROR && says("whole number"));
  CHECK(cleave_options_set(options, "threads", "99999999999999999999") == CLEAVE_USAGE_ERROR);
  CHECK(cleave_options_set(options, "dim", "batch") == CLEAVE_USAGE_ERROR && says("NAME=VALUE"));
  CHECK(cleave_options_set(options, "shape", "x=1,,2") == CLEAVE_USAGE_ERROR);
  CHECK(cleave_options_set(options, "shape", "x=1,?,2") == CLEAVE_OK);
  CHECK(cleave_options_set(options, "keep", "some") == CLEAVE_USAGE_ERROR && says("auto, all"));
  CHECK(cleave_options_set(options, "precision", "tf32") == CLEAVE_OK);
  CHECK(cleave_options_set(options, "accelerator-memory", "8GiB") == CLEAVE_OK);
  CHECK(cleave_options_set(options, "accelerator-memory", "much") == CLEAVE_USAGE_ERROR);
  CHECK(cleave_options_set(NULL, "device", "none") == CLEAVE_USAGE_ERROR && says("`options` is null"));
  CHECK(cleave_options_set(options, "device", "vacuum") == CLEAVE_OK);
  cleave_program* program = NULL;
  CHECK(cleave_load(path, options, &program) == CLEAVE_USAGE_ERROR && says("vacuum") && !program);
  cleave_options_free(options);
  cleave_options_free(NULL);
}

static void check_model_errors(const char* folder) {
  char path[4096];
  cleave_program* program = NULL;
  snprintf(path, sizeof path, "%s/no_such_model.yaml", folder);
  CHECK(cleave_load(path, NULL, &program) == CLEAVE_USER_ERROR && says("no_such_model.yaml"));
  snprintf(path, sizeof path, "%s/wrong.yaml", folder);
  write_file(path, "cleave: 1\nmodel: wrong\ninputs: {x: \"f32[2, 3]\"}\nprogram:\n  - y: matmul(x, x)\n  - z: no_such(x)\noutputs: [y]\n");
  CHECK(cleave_load(path, NULL, &program) == CLEAVE_USER_ERROR);
  CHECK(says("wrong.yaml:5:") && says("wrong.yaml:6:")); /* every error, at its line */
  CHECK(cleave_load(NULL, NULL, &program) == CLEAVE_USAGE_ERROR && cleave_load(path, NULL, NULL) == CLEAVE_USAGE_ERROR);
  CHECK(!program);
}

static void check_runs(const char* regression) {
  cleave_program* program = load(regression, "dim", "batch=4");
  CHECK(cleave_input_count(program) == 4 && cleave_output_count(program) == 2);
  cleave_named_array described;
  CHECK(cleave_input(program, 0, &described) == CLEAVE_OK && strcmp(described.name, "x") == 0);
  CHECK(described.array.dtype == CLEAVE_F32 && described.array.rank == 2 && described.array.shape[0] == 4 && described.array.shape[1] == 2);
  CHECK(!described.array.data);
  CHECK(cleave_output(program, 1, &described) == CLEAVE_OK && strcmp(described.name, "b") == 0);
  CHECK(cleave_output(program, 2, &described) == CLEAVE_USAGE_ERROR);

  float x[4][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}}, y[4] = {3, 0, 2, 4};
  const int64_t x_shape[] = {4, 2}, y_shape[] = {4, 1}, wrong_shape[] = {2, 2}, negative[] = {-1, 2};
  cleave_named_array inputs[] = {{"x", {CLEAVE_F32, 2, x_shape, x}}, {"y", {CLEAVE_F32, 2, y_shape, y}}};
  cleave_results* results = NULL;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_OK);
  CHECK(cleave_result_count(results) == 2 && cleave_result_seconds(results) > 0);
  cleave_array w, b;
  CHECK(cleave_result(results, "w", &w) == CLEAVE_OK && w.rank == 2 && w.shape[0] == 2 && w.shape[1] == 1);
  CHECK(cleave_result(results, "b", &b) == CLEAVE_OK && b.rank == 1);
  const float *weights = w.data, *offset = b.data;
  for (int i = 0; i < 4; ++i) CHECK(fabs(x[i][0] * weights[0] + x[i][1] * weights[1] + offset[0] - y[i]) < 0.2);
  CHECK(cleave_result_at(results, 0, &described) == CLEAVE_OK && described.array.data == w.data);
  CHECK(cleave_result(results, "v", &w) == CLEAVE_USER_ERROR && says("`v`"));
  CHECK(cleave_result_at(results, 2, &described) == CLEAVE_USAGE_ERROR);

  cleave_submission* submission = NULL;
  CHECK(cleave_submit(program, inputs, 2, &submission) == CLEAVE_OK);
  cleave_results* later = NULL;
  CHECK(cleave_wait(submission, &later) == CLEAVE_OK && cleave_wait_for(submission, 0) == 1);
  cleave_array again;
  CHECK(cleave_result(later, "w", &again) == CLEAVE_OK && memcmp(again.data, w.data, 2 * sizeof(float)) == 0);
  cleave_results_free(later);
  cleave_submission_free(submission);
  cleave_results_free(results);

  results = NULL;
  CHECK(cleave_run(program, inputs, 1, &results) == CLEAVE_USER_ERROR && says("`y`"));
  inputs[1].name = "x";
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USAGE_ERROR && says("twice"));
  inputs[1].name = "z";
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USER_ERROR && says("`z`"));
  inputs[1].name = NULL;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USAGE_ERROR);
  inputs[1].name = "y";
  inputs[1].array.shape = wrong_shape;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USER_ERROR && says("f32[2, 2]"));
  inputs[1].array.shape = negative;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USAGE_ERROR && says("negative"));
  inputs[1].array.shape = y_shape;
  inputs[1].array.data = NULL;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USAGE_ERROR && says("no data"));
  inputs[1].array.data = y;
  inputs[1].array.dtype = 99;
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_USAGE_ERROR && says("99"));
  CHECK(!results);

  char* text = NULL;
  CHECK(cleave_metrics(program, &text) == CLEAVE_OK);
  /* Wrong arguments that never reached the program are no runs of it. */
  CHECK(strstr(text, "cleave_runs_total{program=\"regression\",outcome=\"success\"} 2\n"));
  CHECK(strstr(text, "cleave_runs_total{program=\"regression\",outcome=\"failure\"} 3\n"));
  CHECK(strstr(text, "# TYPE cleave_transferred_bytes_total counter\n"));
  cleave_text_free(text);
  CHECK(cleave_explain(program, &text) == CLEAVE_OK && strstr(text, "model `regression`"));
  cleave_text_free(text);
  CHECK(cleave_json(program, &text) == CLEAVE_OK && text[0] == '{');
  cleave_text_free(text);
  CHECK(cleave_diagnostics(program, &text) == CLEAVE_OK);
  cleave_text_free(text);
  CHECK(cleave_explain(program, NULL) == CLEAVE_USAGE_ERROR && cleave_explain(NULL, &text) == CLEAVE_USAGE_ERROR);
  cleave_program_free(program);
}

static void collect(const char* line, void* context) {
  strcat(strcat((char*)context, line), "\n");
}

static void check_states(const char* folder) {
  char model[4096], saved[4096], lines[256] = "";
  snprintf(model, sizeof model, "%s/counter.yaml", folder);
  snprintf(saved, sizeof saved, "%s/counter.safetensors", folder);
  write_file(model,
             "cleave: 1\nmodel: counter\ninputs: {by: \"i32[]\", on: \"bool[]\"}\nparameters: {count: {type: \"i32[]\", value: 5}}\n"
             "resident: [count]\nprogram:\n  - count: count + where(on, by, 0)\n  - print(\"count\", count)\n  - twice: 2 * count\n"
             "outputs: [count, twice]\n");
  cleave_program* program = load(model, NULL, NULL);
  CHECK(cleave_set_print(program, collect, lines) == CLEAVE_OK);
  int32_t by = 3;
  uint8_t on = 7; /* any byte but 0 is true */
  const cleave_named_array inputs[] = {{"by", {CLEAVE_I32, 0, NULL, &by}}, {"on", {CLEAVE_BOOL, 0, NULL, &on}}};
  cleave_results* results = NULL;
  CHECK(cleave_state(program, "count", &results) == CLEAVE_USAGE_ERROR); /* before the first run */
  for (int i = 0; i < 2; ++i) {
    CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_OK);
    cleave_results_free(results);
  }
  CHECK(strcmp(lines, "count: 8\ncount: 11\n") == 0);
  cleave_array value;
  CHECK(cleave_state(program, "count", &results) == CLEAVE_OK && cleave_result(results, "count", &value) == CLEAVE_OK);
  CHECK(value.dtype == CLEAVE_I32 && *(const int32_t*)value.data == 11);
  cleave_results_free(results);
  CHECK(cleave_state(program, "by", &results) == CLEAVE_USER_ERROR);
  CHECK(cleave_save_states(program, saved) == CLEAVE_OK && cleave_reset_states(program) == CLEAVE_OK);
  CHECK(cleave_run(program, inputs, 2, &results) == CLEAVE_OK && cleave_result(results, "twice", &value) == CLEAVE_OK);
  CHECK(*(const int32_t*)value.data == 16);
  cleave_results_free(results);
  CHECK(cleave_load_states(program, saved) == CLEAVE_OK && cleave_run(program, inputs, 2, &results) == CLEAVE_OK);
  CHECK(cleave_result(results, "twice", &value) == CLEAVE_OK && *(const int32_t*)value.data == 28);
  cleave_results_free(results);
  CHECK(cleave_load_states(program, model) == CLEAVE_USER_ERROR);
  cleave_program_free(program);
}

static void check_plans(const char* regression, const char* folder) {
  char plan[4096], other[4096];
  snprintf(plan, sizeof plan, "%s/regression.plan", folder);
  snprintf(other, sizeof other, "%s/regression.bin", folder);
  cleave_program* program = load(regression, "dim", "batch=4");
  CHECK(cleave_save_plan(program, other) == CLEAVE_USAGE_ERROR && says("ends in `.plan`"));
  CHECK(cleave_save_plan(program, plan) == CLEAVE_OK);
  cleave_program* again = NULL;
  CHECK(cleave_load(plan, NULL, &again) == CLEAVE_OK);
  float x[4][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}}, y[4] = {3, 0, 2, 4};
  const int64_t x_shape[] = {4, 2}, y_shape[] = {4, 1};
  const cleave_named_array inputs[] = {{"x", {CLEAVE_F32, 2, x_shape, x}}, {"y", {CLEAVE_F32, 2, y_shape, y}}};
  cleave_results *first = NULL, *second = NULL;
  cleave_array a, b;
  CHECK(cleave_run(program, inputs, 2, &first) == CLEAVE_OK && cleave_run(again, inputs, 2, &second) == CLEAVE_OK);
  CHECK(cleave_result(first, "w", &a) == CLEAVE_OK && cleave_result(second, "w", &b) == CLEAVE_OK);
  CHECK(memcmp(a.data, b.data, 2 * sizeof(float)) == 0);
  cleave_results_free(first);
  cleave_results_free(second);
  cleave_program_free(again);
  cleave_program_free(program);
  char* text = NULL;
  cleave_options* options = cleave_options_new();
  CHECK(cleave_options_set(options, "threads", "1") == CLEAVE_OK && cleave_load(plan, options, &again) == CLEAVE_OK);
  CHECK(cleave_explain(again, &text) == CLEAVE_OK && strstr(text, "model `regression`"));
  cleave_text_free(text);
  cleave_program_free(again);
  CHECK(cleave_options_set(options, "dim", "batch=8") == CLEAVE_OK);
  CHECK(cleave_load(plan, options, &again) == CLEAVE_USAGE_ERROR && says("option `dim`") && says("is planned already"));
  cleave_options_free(options);
  write_file(plan, "cleave: 1\n");
  CHECK(cleave_load(plan, NULL, &again) == CLEAVE_USER_ERROR && says("not a plan file"));
}

static void check_cancel(const char* folder) {
  char model[4096];
  snprintf(model, sizeof model, "%s/endless.yaml", folder);
  write_file(model,
             "cleave: 1\nmodel: endless\ninputs: {x: \"f32[]\"}\nprogram:\n  - while: x > 0\n    expect: 10\n    do:\n      - x: x + 0\n"
             "outputs: [x]\n");
  cleave_program* program = load(model, NULL, NULL);
  float one = 1;
  const cleave_named_array input = {"x", {CLEAVE_F32, 0, NULL, &one}};
  cleave_submission* submission = NULL;
  cleave_results* results = NULL;
  CHECK(cleave_submit(program, &input, 1, &submission) == CLEAVE_OK);
  CHECK(cleave_wait_for(submission, 0.01) == 0);
  cleave_cancel(submission);
  CHECK(cleave_wait(submission, &results) == CLEAVE_USER_ERROR && says("cancelled") && !results);
  cleave_submission_free(submission);
  cleave_program_free(program);
}

int main(int count, char** arguments) {
  if (count != 3) return fprintf(stderr, "usage: c_api_test SOURCE_DIR FOLDER\n"), 2;
  char regression[4096];
  snprintf(regression, sizeof regression, "%s/docs/examples/regression.yaml", arguments[1]);
  CHECK(cleave_c_version() == CLEAVE_C_VERSION && strchr(cleave_version(), '.'));
  CHECK(strcmp(cleave_error_message(), "") == 0);
  check_options(regression);
  check_model_errors(arguments[2]);
  check_runs(regression);
  check_states(arguments[2]);
  check_plans(regression, arguments[2]);
  check_cancel(arguments[2]);
  cleave_program_free(NULL);
  cleave_results_free(NULL);
  cleave_submission_free(NULL);
  if (failures) printf("%d failures\n", failures);
  return failures != 0;
}

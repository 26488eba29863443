/* clang-format off */
/* The C API of cleave: load a model, run it, submit runs, keep its states. Plain C with a stable ABI: what is here keeps its meaning and its
 * layout in every later version; new functions may be added. Installed as <cleave/c.h>; link with -lcleave_c (pkg-config: cleave_c; CMake:
 * cleave::c).
 *
 *   cleave_program *program = NULL;
 *   if (cleave_load("model.onnx", NULL, &program) != CLEAVE_OK) return fail(cleave_error_message());
 *   const int64_t shape[] = {1, 3, 224, 224};
 *   const cleave_named_array image = {"image", {CLEAVE_F32, 4, shape, pixels}};
 *   cleave_results *results = NULL;
 *   if (cleave_run(program, &image, 1, &results) != CLEAVE_OK) return fail(cleave_error_message());
 *   cleave_array scores;
 *   if (cleave_result(results, "scores", &scores) == CLEAVE_OK) use(scores.data);
 *   cleave_results_free(results);
 *   cleave_program_free(program);
 *
 * Every function that can fail returns a cleave_status and writes its result through its last argument, which it leaves alone if it fails.
 * A program may be used by several threads at once. Null is accepted by every ..._free.
 */
/* clang-format on */
#ifndef CLEAVE_C_H
#define CLEAVE_C_H

#include <stddef.h>
#include <stdint.h>

#include "host_function.h" /* cleave_array and the values of its dtype */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CLEAVE_C_API __attribute__((visibility("default")))
#else
#define CLEAVE_C_API
#endif

/* The version of this interface, and that of the library that is loaded: at least as large if the program may use it. */
#define CLEAVE_C_VERSION 2
CLEAVE_C_API int cleave_c_version(void);
/* The version of cleave, such as "0.3.0". */
CLEAVE_C_API const char* cleave_version(void);

/* The same numbers as the exit codes of the command line. */
typedef enum {
  CLEAVE_OK = 0,
  CLEAVE_USER_ERROR = 1,   /* an error in the model or in its data */
  CLEAVE_USAGE_ERROR = 2,  /* a wrong argument or option */
  CLEAVE_MACHINE_ERROR = 3 /* out of memory, device lost, a deadline */
} cleave_status;
/* Why the last call on this thread that failed did so, with file and line where the error has them. Valid until the next call on this
 * thread that fails; "" if none has failed. */
CLEAVE_C_API const char* cleave_error_message(void);

/* --- options ----------------------------------------------------------------------------------------------------------------------------
 */

/* How a model is read, planned and run: names and values as on the command line, without the dashes.
 *
 *   device               auto, none, simulated, cuda or cuda:N
 *   placement            optimal, fastest, accelerator or host
 *   machine              a shipped machine's name or a machine file
 *   accelerator-memory   bytes, such as 8GiB
 *   keep                 auto or all
 *   precision            f32, tf32 or bf16
 *   threads, workers     whole numbers
 *   runs-at-once         submitted runs that are under way at once
 *   dim                  NAME=N            a symbolic size; like those below, it may be set several times
 *   shape                INPUT=1,3,?       (ONNX)
 *   constant             INPUT=VALUE       (ONNX)
 *   bound                NODE=N            (ONNX)
 *   parameters           NAME              (ONNX) an initializer, pattern or `all` that becomes a parameter
 */
typedef struct cleave_options cleave_options;
CLEAVE_C_API cleave_options* cleave_options_new(void); /* null if memory is exhausted */
CLEAVE_C_API cleave_status cleave_options_set(cleave_options* options, const char* name, const char* value);
CLEAVE_C_API void cleave_options_free(cleave_options* options);

/* --- programs ---------------------------------------------------------------------------------------------------------------------------
 */

typedef struct cleave_program cleave_program;
typedef struct cleave_results cleave_results;

/* An input, parameter or output with its name. */
typedef struct {
  const char* name;
  cleave_array array;
} cleave_named_array;

/* Reads a model (.yaml, .onnx or .graph), plans it and prepares it to run. `options` may be null. Of a plan (.plan), which is read without
 * planning, the options are device, machine, threads and runs-at-once; another one is an error. */
CLEAVE_C_API cleave_status cleave_load(const char* path, const cleave_options* options, cleave_program** program);
/* Writes the plan with its weights as a file that cleave_load reads. The path ends in `.plan`. (CLEAVE_C_VERSION 2) */
CLEAVE_C_API cleave_status cleave_save_plan(const cleave_program* program, const char* path);
/* Waits for submitted runs that are still under way. */
CLEAVE_C_API void cleave_program_free(cleave_program* program);

/* Inputs and parameters (which have values of their own, and may be given others), and outputs, in the model's order. The array has the
 * type and no data. Valid as long as the program. An index that is out of range is an error. */
CLEAVE_C_API size_t cleave_input_count(const cleave_program* program);
CLEAVE_C_API cleave_status cleave_input(const cleave_program* program, size_t index, cleave_named_array* input);
CLEAVE_C_API size_t cleave_output_count(const cleave_program* program);
CLEAVE_C_API cleave_status cleave_output(const cleave_program* program, size_t index, cleave_named_array* output);

/* Texts; free them with cleave_text_free. */
CLEAVE_C_API cleave_status cleave_explain(const cleave_program* program, char** text);     /* the report of `cleave explain` */
CLEAVE_C_API cleave_status cleave_json(const cleave_program* program, char** text);        /* the document of `cleave explain --json` */
CLEAVE_C_API cleave_status cleave_diagnostics(const cleave_program* program, char** text); /* warnings and remarks */
/* Counters of runs, waiting and transferred bytes in Prometheus' text format. */
CLEAVE_C_API cleave_status cleave_metrics(const cleave_program* program, char** text);
CLEAVE_C_API void cleave_text_free(char* text);

/* Receives each line that `print` prints in runs that start later, in program order, from a thread of the executor; null: standard output.
 */
typedef void (*cleave_print)(const char* line, void* context);
CLEAVE_C_API cleave_status cleave_set_print(cleave_program* program, cleave_print print, void* context);

/* --- runs -------------------------------------------------------------------------------------------------------------------------------
 */

/* Runs the program and waits. Inputs by name; one that is missing takes the model's default data or is an error. They are read in place. */
CLEAVE_C_API cleave_status cleave_run(cleave_program* program, const cleave_named_array* inputs, size_t count, cleave_results** results);

/* Results, in the order of the outputs. The arrays are valid until the results are freed. */
CLEAVE_C_API size_t cleave_result_count(const cleave_results* results);
CLEAVE_C_API cleave_status cleave_result_at(const cleave_results* results, size_t index, cleave_named_array* result);
CLEAVE_C_API cleave_status cleave_result(const cleave_results* results, const char* name, cleave_array* result);
CLEAVE_C_API double cleave_result_seconds(const cleave_results* results); /* wall clock of the run */
CLEAVE_C_API void cleave_results_free(cleave_results* results);

/* Starts a run and returns at once. The inputs' data must stay unchanged until the run is over. */
typedef struct cleave_submission cleave_submission;
CLEAVE_C_API cleave_status cleave_submit(cleave_program* program, const cleave_named_array* inputs, size_t count,
                                         cleave_submission** submission);
/* 1 if the run is over, successful or not, within so many seconds (0: now), else 0. */
CLEAVE_C_API int cleave_wait_for(const cleave_submission* submission, double seconds);
/* Waits for the end of the run; the run's error if it failed. May be called again. */
CLEAVE_C_API cleave_status cleave_wait(const cleave_submission* submission, cleave_results** results);
/* Ends the run soon, also in the middle of an operation. */
CLEAVE_C_API void cleave_cancel(cleave_submission* submission);
/* Waits for the end of the run, if it is still under way. */
CLEAVE_C_API void cleave_submission_free(cleave_submission* submission);

/* --- states -----------------------------------------------------------------------------------------------------------------------------
 */

/* The value of the state of that input or parameter (`resident` in a model) after the last successful run: results with one array. */
CLEAVE_C_API cleave_status cleave_state(const cleave_program* program, const char* name, cleave_results** results);
CLEAVE_C_API cleave_status cleave_reset_states(cleave_program* program);
/* safetensors: a file, or a folder in which `state.safetensors` is. */
CLEAVE_C_API cleave_status cleave_save_states(const cleave_program* program, const char* path);
CLEAVE_C_API cleave_status cleave_load_states(cleave_program* program, const char* path);

#ifdef __cplusplus
}
#endif

#endif

/* clang-format off */
/* Host functions for cleave models: what a function in a shared library looks like. Plain C, installed as
 * <cleave/host_function.h>. Inputs and results have the types that the model declares; cleave checks that before it calls.
 *
 *   int relax(int version, const cleave_array *inputs, int input_count,
 *             cleave_array *results, int result_count, char *error, size_t error_size)
 *   {
 *     if (version != CLEAVE_HOST_FUNCTION_VERSION) return 1;
 *     const float *from = inputs[0].data;
 *     float *to = results[0].data;
 *     for (int64_t i = 0; i < inputs[0].shape[0]; ++i) to[i] = from[i] / 2;
 *     return 0;
 *   }
 *
 *   cc -shared -fPIC -o librelax.so relax.c
 *
 * Each run calls it on one thread at a time. Only where the user asks for it with --workers, one that a model declares pure, with 0.1 ms or
 * more as its seconds, is called on several threads at once.
 */
/* clang-format on */
#ifndef CLEAVE_HOST_FUNCTION_H
#define CLEAVE_HOST_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEAVE_HOST_FUNCTION_VERSION 1

/* Values of cleave_array.dtype. bool is one byte, 0 or 1 (in results any byte but 0 counts as 1); f16 and bf16 are two bytes of bits. */
enum {
  CLEAVE_F32 = 0,
  CLEAVE_F64 = 1,
  CLEAVE_F16 = 2,
  CLEAVE_BF16 = 3,
  CLEAVE_I32 = 4,
  CLEAVE_I64 = 5,
  CLEAVE_U8 = 6,
  CLEAVE_BOOL = 7,
  CLEAVE_I8 = 8,
  CLEAVE_I16 = 9,
  CLEAVE_U16 = 10,
  CLEAVE_U32 = 11,
  CLEAVE_U64 = 12
};

/* Row-major and contiguous. Inputs must not be written; results are allocated by the caller, with the declared types. */
typedef struct {
  int dtype;
  int rank;
  const int64_t* shape; /* `rank` extents */
  void* data;
} cleave_array;

/* Returns 0, or non-zero with a message in `error` (at most `error_size` bytes with the terminating zero). */
typedef int (*cleave_host_function)(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count,
                                    char* error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif

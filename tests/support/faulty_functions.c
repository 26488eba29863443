/* Host functions that crash or take their time: for tests of what the command line makes of them. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "cleave/host_function.h"

int crash(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
          size_t error_size) {
  (void)version, (void)inputs, (void)input_count, (void)results, (void)result_count, (void)error, (void)error_size;
  volatile int* nowhere = NULL;
  *nowhere = 1;
  return 0;
}

int give_up(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
            size_t error_size) {
  (void)version, (void)inputs, (void)input_count, (void)results, (void)result_count, (void)error, (void)error_size;
  abort();
}

int leave(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
          size_t error_size) {
  (void)version, (void)inputs, (void)input_count, (void)results, (void)result_count, (void)error, (void)error_size;
  exit(0);
}

int end_thread(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
               size_t error_size) {
  (void)version, (void)inputs, (void)input_count, (void)results, (void)result_count, (void)error, (void)error_size;
  pthread_exit(NULL);
}

/* 20 milliseconds; the result is the input. */
int nap(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error, size_t error_size) {
  (void)version, (void)input_count, (void)result_count, (void)error, (void)error_size;
  const struct timespec time = {0, 20000000};
  nanosleep(&time, NULL);
  *(float*)results[0].data = *(const float*)inputs[0].data;
  return 0;
}

/* An operator of ONNX with the inputs x (f32[n]) and one that is left out, and the attributes `by` (a number), `shift` (a list) and
 * `title`, which follow in this order: by x + shift[1] + the length of the title. */
int scale_operator(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
                   size_t error_size) {
  (void)version, (void)error, (void)error_size;
  if (input_count != 5 || result_count != 1) return 1;
  if (inputs[1].rank != 1 || inputs[1].shape[0] != 0) return 2;
  if (inputs[2].dtype != CLEAVE_F32 || inputs[3].dtype != CLEAVE_I64 || inputs[4].dtype != CLEAVE_U8) return 3;
  const float by = *(const float*)inputs[2].data;
  const float shift = (float)((const int64_t*)inputs[3].data)[1] + (float)inputs[4].shape[0];
  for (int64_t i = 0; i < inputs[0].shape[0]; ++i) ((float*)results[0].data)[i] = by * ((const float*)inputs[0].data)[i] + shift;
  return 0;
}

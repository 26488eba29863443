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

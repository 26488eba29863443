/* A host function as a shared library would hold it: the header is plain C. */
#include <cleave/host_function.h>

int twice(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
          size_t error_size);

int twice(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
          size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION || input_count != 1 || result_count != 1 || inputs[0].dtype != CLEAVE_F32) {
    if (error_size > 0) error[0] = '\0';
    return 1;
  }
  *(float*)results[0].data = 2 * *(const float*)inputs[0].data;
  return 0;
}

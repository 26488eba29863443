/* f32[n] -> f32[n]: how far each value lies outside [-1, 1], with its sign. */
#include <cleave/host_function.h>
#include <stdio.h>

int overshoot(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
              size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION || input_count != 1 || result_count != 1 || inputs[0].rank != 1) {
    snprintf(error, error_size, "overshoot takes one vector and gives one");
    return 1;
  }
  const float* value = inputs[0].data;
  float* outside = results[0].data;
  for (int64_t i = 0; i < inputs[0].shape[0]; ++i) {
    outside[i] = value[i] > 1 ? value[i] - 1 : value[i] < -1 ? value[i] + 1 : 0;
  }
  return 0;
}

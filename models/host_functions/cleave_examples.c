/* Host functions of the example models: code that exists only for the host, so that a program must run it there. */
#include <cleave/host_function.h>

#include <math.h>
#include <stdio.h>

static int refuse(char* error, size_t error_size, const char* message) {
  snprintf(error, error_size, "%s", message);
  return 1;
}

static int64_t elements(const cleave_array* array) {
  int64_t count = 1;
  for (int i = 0; i < array->rank; ++i) count *= array->shape[i];
  return count;
}

/* f32[n] -> f32[n]: how far each value lies outside [-1, 1], with its sign. */
int overshoot(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
              size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION) return refuse(error, error_size, "another version of the interface");
  if (input_count != 1 || result_count != 1) return refuse(error, error_size, "overshoot takes one array and gives one");
  const float* values = inputs[0].data;
  float* outside = results[0].data;
  const int64_t count = elements(&inputs[0]);
  for (int64_t i = 0; i < count; ++i) {
    outside[i] = values[i] > 1.0f ? values[i] - 1.0f : values[i] < -1.0f ? values[i] + 1.0f : 0.0f;
  }
  return 0;
}

/* f32[n] (values), f32[n] (cotangents of the results) -> f32[n]: the gradient of overshoot. */
int overshoot_gradient(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
                       size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION) return refuse(error, error_size, "another version of the interface");
  if (input_count != 2 || result_count != 1) return refuse(error, error_size, "overshoot_gradient takes two arrays and gives one");
  const float *values = inputs[0].data, *cotangents = inputs[1].data;
  float* gradient = results[0].data;
  const int64_t count = elements(&inputs[0]);
  for (int64_t i = 0; i < count; ++i) gradient[i] = values[i] > 1.0f || values[i] < -1.0f ? cotangents[i] : 0.0f;
  return 0;
}

/* f32[n, 4] (position, speed, angle, angular speed), f32[n, 1] (force) -> f32[n, 4]: n trolleys, each with a load that hangs from it, 20 ms
 * later. The angle is 0 where the load hangs straight down. */
int crane(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
          size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION) return refuse(error, error_size, "another version of the interface");
  if (input_count != 2 || result_count != 1) return refuse(error, error_size, "crane takes two arrays and gives one");
  const float gravity = 9.8f, trolley = 1.0f, load = 0.1f, length = 0.5f, seconds = 0.02f;
  const float *state = inputs[0].data, *force = inputs[1].data;
  float* next = results[0].data;
  const int64_t cranes = inputs[0].shape[0];
  for (int64_t i = 0; i < cranes; ++i, state += 4, next += 4) {
    const float sine = sinf(state[2]), cosine = cosf(state[2]);
    const float pull = load * (length * state[3] * state[3] + gravity * cosine) * sine;
    const float drive = (force[i] + pull) / (trolley + load * sine * sine);
    const float turn = -(drive * cosine + gravity * sine) / length;
    next[0] = state[0] + seconds * state[1];
    next[1] = state[1] + seconds * drive;
    next[2] = state[2] + seconds * state[3];
    next[3] = state[3] + seconds * turn;
  }
  return 0;
}

/* f32[n, places, m] (logits), i32[] (a place), f32[] (temperature), f32[n] (uniform in [0, 1)) -> i32[n]: in each row one of m, drawn by
 * the logits at that place. */
int draw(int version, const cleave_array* inputs, int input_count, cleave_array* results, int result_count, char* error,
         size_t error_size) {
  if (version != CLEAVE_HOST_FUNCTION_VERSION) return refuse(error, error_size, "another version of the interface");
  if (input_count != 4 || result_count != 1) return refuse(error, error_size, "draw takes four arrays and gives one");
  const int64_t rows = inputs[0].shape[0], places = inputs[0].shape[1], columns = inputs[0].shape[2];
  const int32_t place = *(const int32_t*)inputs[1].data;
  const float temperature = *(const float*)inputs[2].data, *uniform = inputs[3].data;
  int32_t* drawn = results[0].data;
  if (place < 0 || place >= places) return refuse(error, error_size, "draw: there is no such place");
  for (int64_t row = 0; row < rows; ++row) {
    const float* logits = (const float*)inputs[0].data + (row * places + place) * columns;
    float largest = logits[0];
    for (int64_t i = 1; i < columns; ++i) largest = fmaxf(largest, logits[i]);
    double sum = 0, below = 0;
    for (int64_t i = 0; i < columns; ++i) sum += exp((logits[i] - largest) / temperature);
    int32_t next = 0;
    for (; next + 1 < columns; ++next) {
      below += exp((logits[next] - largest) / temperature) / sum;
      if (below > uniform[row]) break;
    }
    drawn[row] = next;
  }
  return 0;
}

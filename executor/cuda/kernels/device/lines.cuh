// What the threads of a team find out together: `along` threads of a block share a line, `apart` threads from each other; teams of up to 32
// neighbours exchange through their warp, others through shared memory. Every thread of the block calls these, whether it has a line or not;
// the order of all merges is fixed. `room` is shared memory for eight bytes a thread.

struct Larger {
  template <class T>
  static T merge(T a, T b) { return a < b ? b : a; }
};
struct Sum {
  template <class T>
  static T merge(T a, T b) { return a + b; }
  static const int start = 0;
};
struct Product {
  template <class T>
  static T merge(T a, T b) { return a * b; }
  static const int start = 1;
};

/// What `Op` makes of the values of the whole team, in each of its threads.
template <class Op, int along, int apart, class T>
inline T merge_all(T value, int place, u64* room) {
  if (apart == 1) {
#pragma unroll
    for (int far = (along < 32 ? along : 32) / 2; far > 0; far /= 2) value = Op::merge(value, __shfl_xor_sync(0xffffffffu, value, far, 32));
    if (along <= 32) return value;
    T* const warps = (T*)room;  // then the warps, which meet once
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    const int first = ((int)threadIdx.x - place) / 32;
    value = warps[first];
#pragma unroll
    for (int w = 1; w < along / 32; ++w) value = Op::merge(value, warps[first + w]);
    __syncthreads();
    return value;
  }
  T* const shared = (T*)room;
  shared[threadIdx.x] = value;
  __syncthreads();
#pragma unroll
  for (int half = along / 2; half > 0; half /= 2) {
    if (place < half) shared[threadIdx.x] = Op::merge(shared[threadIdx.x], shared[threadIdx.x + half * apart]);
    __syncthreads();
  }
  value = shared[threadIdx.x - place * apart];
  __syncthreads();
  return value;
}

/// What `Op` makes of the values of the threads in front (teams of neighbours), and of all in `total`.
template <class Op, int along, class T>
inline T merge_in_front(T value, int place, u64* room, T& total) {
  const int width = along < 32 ? along : 32, lane = place % width;
  T sum = value;
#pragma unroll
  for (int far = 1; far < width; far *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, sum, far, width);
    if (lane >= far) sum = Op::merge(before, sum);
  }
  T front = __shfl_up_sync(0xffffffffu, sum, 1, width);
  if (lane == 0) front = (T)Op::start;
  total = __shfl_sync(0xffffffffu, sum, width - 1, width);
  if (along <= 32) return front;
  T* const warps = (T*)room;
  const int warp = (int)threadIdx.x / 32, first = warp - place / 32;
  if (lane == 0) warps[warp] = total;
  __syncthreads();
  T before = (T)Op::start;
  total = (T)Op::start;
#pragma unroll
  for (int w = 0; w < along / 32; ++w) {
    if (first + w < warp) before = Op::merge(before, warps[first + w]);
    total = Op::merge(total, warps[first + w]);
  }
  __syncthreads();
  return Op::merge(before, front);
}
template <int along, class T>
inline T sum_in_front(T value, int place, u64* room, T& total) {
  return merge_in_front<Sum, along>(value, place, room, total);
}

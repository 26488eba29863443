// What the threads of a team find out together: `along` threads of a block share a line, `apart` threads from each other; lanes of one warp
// exchange by shuffles, warps through shared memory. Every thread of the block calls these, whether it has a line or not; the order of all
// merges is fixed. `room` is shared memory for eight bytes a thread.

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

/// The value of the lane `far` from this one.
template <class V>
inline V of_lane(V value, int far) {
  return __shfl_xor_sync(0xffffffffu, value, far, 32);
}
/// What `Op` makes of the values of the team's lanes in one warp, in each of them.
template <class Op, int along, int apart, class V>
inline V merge_in_warp(V value) {
#pragma unroll
  for (int far = apart; far < 32 && far < along * apart; far *= 2) value = Op::merge(value, of_lane(value, far));
  return value;
}
/// Then the warps of a team meet, once: each leaves what its lanes found in a slot for each of the teams that it has lanes of.
template <int along, int apart>
struct Warps {
  static const bool meet = along > 1 && along * apart > 32;
  static const int slots = apart < 32 ? apart : 32;                    ///< of one warp
  static const int count = apart <= 32 ? along * apart / 32 : along;  ///< of one team,
  static const int step = apart <= 32 ? slots : apart;                 ///< so far from each other,
  /// from this one on.
  static int front(int place) {
    const int begin = (int)threadIdx.x - place * apart;
    return apart <= 32 ? begin / 32 * slots + begin % slots : begin;
  }
  static bool leaves() { return (int)threadIdx.x % 32 < slots; }
  static int own() { return (int)threadIdx.x / 32 * slots + (int)threadIdx.x % 32; }
};

/// What `Op` makes of all in front of a thread's elements, in each of its rounds, from what it makes of these (`parts`), and of all in `total`
/// (teams of neighbours). Lanes of a warp lie beside each other in a round, then come its other rounds, and then the next warp. Threads meet
/// once, where a team has several warps: who calls it lets them meet again before `room` is used for something else.
template <class Op, int along, int rounds, class T>
inline void merge_rounds_in_front(T* parts, int place, u64* room, T& total) {
  const int width = along < 32 ? along : 32, lane = place % width;
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    T sum = parts[r];
#pragma unroll
    for (int far = 1; far < width; far *= 2) {
      const T before = __shfl_up_sync(0xffffffffu, sum, far, width);
      if (lane >= far) sum = Op::merge(before, sum);
    }
    const T front = __shfl_up_sync(0xffffffffu, sum, 1, width), all = __shfl_sync(0xffffffffu, sum, width - 1, width);
    parts[r] = lane == 0 ? (T)Op::start : front;
    if (r > 0) parts[r] = Op::merge(total, parts[r]);
    total = r > 0 ? Op::merge(total, all) : all;
  }
  if (along <= 32) return;
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
#pragma unroll
  for (int r = 0; r < rounds; ++r) parts[r] = Op::merge(before, parts[r]);
}
/// The same of one value a thread; `room` is free again.
template <class Op, int along, class T>
inline T merge_in_front(T value, int place, u64* room, T& total) {
  merge_rounds_in_front<Op, along, 1>(&value, place, room, total);
  if (along > 32) __syncthreads();
  return value;
}
template <int along, class T>
inline T sum_in_front(T value, int place, u64* room, T& total) {
  return merge_in_front<Sum, along>(value, place, room, total);
}

// Reductions and scans of the threads of a team: `along` threads of a block, `apart` threads from each other, share a line. Lanes of one
// warp exchange values by shuffles, warps through shared memory. Every thread of the block must call these functions, also one without a
// line; the order of all merges is fixed. `room` is shared memory of eight bytes for each thread.

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

/// The value of the lane whose number differs from this one's in the bit `far`.
template <class V>
inline V of_lane(V value, int far) {
  return __shfl_xor_sync(0xffffffffu, value, far, 32);
}
/// Reduces the values of the team's lanes in one warp by `Op`; every lane gets the result.
template <class Op, int along, int apart, class V>
inline V merge_in_warp(V value) {
#pragma unroll
  for (int far = apart; far < 32 && far < along * apart; far *= 2) value = Op::merge(value, of_lane(value, far));
  return value;
}
/// The slots in shared memory through which the warps of a team merge: each warp has one slot for each team of which it has lanes.
template <int along, int apart>
struct Warps {
  static const bool meet = along > 1 && along * apart > 32;
  static const int slots = apart < 32 ? apart : 32;                    ///< slots of one warp
  static const int count = apart <= 32 ? along * apart / 32 : along;  ///< slots of one team,
  static const int step = apart <= 32 ? slots : apart;                 ///< `step` from each other,
  /// from the slot `front` on.
  static int front(int place) {
    const int begin = (int)threadIdx.x - place * apart;
    return apart <= 32 ? begin / 32 * slots + begin % slots : begin;
  }
  static bool leaves() { return (int)threadIdx.x % 32 < slots; }
  static int own() { return (int)threadIdx.x / 32 * slots + (int)threadIdx.x % 32; }
};

/// Exclusive scan by `Op` over a team of neighboring threads. `parts` has the value of each round of this thread and becomes the value of
/// all elements before it; `total` becomes the value of all. In the order of elements, the lanes of a warp come first, then its further
/// rounds, then the next warp. A team of several warps synchronizes once: the caller must synchronize again before it reuses `room`.
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
/// The same for one value in each thread; `room` may be reused afterwards.
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

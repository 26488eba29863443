// A stable radix sort of keys with numbers, by four bits a pass: a block's part of a pass, and the keys of elements. Thread t of a block
// has the keys from `begin` to `end`, which follow those of the threads before it; `counters` and `room` are shared memory of 16 u32 and of
// eight bytes for each thread.

/// Keys are equal for equal elements and greater for greater ones; the key of a NaN is the greatest.
template <class T, class Key, bool floating>
struct KeyOf {
  static Key of(T x) {
    const bool has_sign = (T)-1 < (T)0;
    const Key key = (Key)x ^ (has_sign ? (Key)1 << (8 * sizeof(T) - 1) : (Key)0);
    return sizeof(T) == sizeof(Key) ? key : key & (((Key)1 << (8 * sizeof(T) & (8 * sizeof(Key) - 1))) - 1);
  }
};
template <class T>
struct KeyOf<T, u32, true> {
  static u32 of(T x) {
    const f32 value = plain(load(x));
    if (value != value) return 0xffffffffu;
    const u32 bits = value == 0 ? 0 : __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }
};
template <class T>
struct KeyOf<T, u64, true> {
  static u64 of(T x) {
    const f64 value = plain(load(x));
    if (value != value) return ~(u64)0;
    const u64 bits = value == 0 ? 0 : (u64)__double_as_longlong(value);
    return bits >> 63 ? ~bits : bits | (u64)1 << 63;
  }
};

/// Sets counters[digit * threads + t] to the position of thread t's first key of that digit among the block's keys, sorted by the digit.
template <int threads, class Key, class Index>
inline void rank_digits(const Key* keys, Index begin, Index end, int shift, u32* counters, u64* room) {
  const int t = (int)threadIdx.x;
  for (int d = 0; d < 16; ++d) counters[d * threads + t] = 0;
  __syncthreads();
  for (Index i = begin; i < end; ++i) ++counters[(int)(keys[i] >> shift & 15) * threads + t];
  __syncthreads();
  u32 sum = 0, total;
  for (int k = 0; k < 16; ++k) sum += counters[t * 16 + k];
  u32 front = sum_in_front<threads>(sum, t, room, total);
  for (int k = 0; k < 16; ++k) {
    const u32 here = counters[t * 16 + k];
    counters[t * 16 + k] = front;
    front += here;
  }
  __syncthreads();
}

/// Moves the keys of a thread and their numbers to the positions of `rank_digits`, offset by `further` of each digit.
template <int threads, class Key, class Index>
inline void move_digits(const Key* keys, const u32* numbers, Index begin, Index end, int shift, u32* counters, const u32* further, Key* keys_to,
                        u32* numbers_to) {
  const int t = (int)threadIdx.x;
  for (Index i = begin; i < end; ++i) {
    const Key key = keys[i];
    const int digit = (int)(key >> shift & 15);
    const u32 to = counters[digit * threads + t]++ + (further ? further[digit] : 0);
    keys_to[to] = key;
    numbers_to[to] = numbers[i];
  }
}

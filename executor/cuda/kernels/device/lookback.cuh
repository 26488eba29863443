// Running sums over parts of a line that different blocks compute, in one pass (Merrill and Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016): each part posts its own sum and looks back at the sums that earlier parts have posted. Sums of floats must
// not depend on timing, so the order of additions is fixed: 32 parts form a group, whose sum is taken in the order of a warp, and groups
// are added one by one from the first on, from their own sums or from the sum up to the end of one of them.

/// The words that the parts of one line post. A flag is 0 until its sum is posted.
template <class T>
struct Posts {
  u32* flags;       ///< of each part; 1: its sum is posted
  u64* sums;        ///< of each part
  u32* groups;      ///< flags of each group; 1: its sum is posted; 2: so is the sum up to its end
  u64* group_sums;  ///< of each group: its sum, and behind it the sum up to its end
};

inline u64 as_word(f64 sum) {
  return (u64)__double_as_longlong(sum);
}
inline u64 as_word(u64 sum) {
  return sum;
}
inline void from_word(u64 word, f64& sum) {
  sum = __longlong_as_double((i64)word);
}
inline void from_word(u64 word, u64& sum) {
  sum = word;
}

#if defined(__CUDA_ARCH__)
inline u32 look_at(const u32* flag) {
  u32 value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
template <class T>
inline T read_posted(const u64* sum) {
  u64 word;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(sum) : "memory");
  T value;
  from_word(word, value);
  return value;
}
template <class T>
inline void post(u64* to, T sum, u32* flag, u32 value) {
  asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(to), "l"(as_word(sum)) : "memory");
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
#else  // the same by built-ins that a host can replace
inline u32 look_at(u32* flag) {
  return __nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
}
template <class T>
inline T read_posted(u64* sum) {
  T value;
  from_word(__nv_atomic_load_n(sum, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE), value);
  return value;
}
template <class T>
inline void post(u64* to, T sum, u32* flag, u32 value) {
  __nv_atomic_store_n(to, as_word(sum), __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_store_n(flag, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}
#endif

/// The sum of all groups before `group`. All lanes of a warp must call it and get the result; lane 31 reads the group right before.
template <class Op, class T>
inline T front_of_group(const Posts<T>& posts, int group, int lane) {
  const int seen = group - 32 + lane;
  u32 state, full, ready;
  int nearest;
  do {
    state = seen < 0 ? 2 : look_at(posts.groups + seen);
    full = __ballot_sync(0xffffffffu, state == 2);
    ready = __ballot_sync(0xffffffffu, state != 0);
    nearest = 31 - __clz((int)full);
  } while (full == 0 || ready >> nearest != 0xffffffffu >> nearest);
  T sum = (T)Op::start;
  if (seen >= 0 && lane >= nearest) sum = read_posted<T>(posts.group_sums + 2 * seen + (lane == nearest ? 1 : 0));
  T front = __shfl_sync(0xffffffffu, sum, nearest);
  for (int next = nearest + 1; next < 32; ++next) front = Op::merge(front, __shfl_sync(0xffffffffu, sum, next));
  return front;
}

/// Posts `own`, the sum of `part`; returns the sum of all parts before it. All lanes of a warp must call it, with equal arguments.
template <class Op, class T>
inline T front_of_part(const Posts<T>& posts, T own, int part, int lane) {
  const int group = part / 32, place = part % 32, seen = group * 32 + lane;
  if (lane == 0) post(posts.sums + part, own, posts.flags + part, 1);
  while (!__all_sync(0xffffffffu, lane >= place || look_at(posts.flags + seen) != 0)) {
  }
  const T sum = lane < place ? read_posted<T>(posts.sums + seen) : (T)Op::start;
  const T before = merge_in_warp<Op, 32, 1>(sum), all = Op::merge(before, own);
  const bool last = place == 31 && lane == 0;
  if (last) post(posts.group_sums + 2 * group, all, posts.groups + group, 1);
  const T front = group > 0 ? front_of_group<Op>(posts, group, lane) : (T)Op::start;
  if (last) post(posts.group_sums + 2 * group + 1, Op::merge(front, all), posts.groups + group, 2);
  return Op::merge(front, before);
}

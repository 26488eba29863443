// Softmax of one line by its team: `along` threads, `apart` threads from each other, each with `packs` packs of `lanes` neighbors in flight
// (lanes 1: elements with a stride of `step`). The line has the elements `first` to `end`; other elements of a pack count as minus
// infinity, which adds nothing. Sums are taken in f64: log_softmax of a line with one large element is the logarithm of almost one.

template <class V>
inline V no_element() {
  return (V)-__longlong_as_double(0x7ff0000000000000LL);
}
/// The subtrahend of exponents. Minus infinity, as long as no element is larger, would give NaN for elements whose power is zero.
template <class V>
inline V power_from(V largest) {
  return largest == no_element<V>() ? (V)0 : largest;
}
/// Converts a sum of exp(x - `from`) into one of exp(x - `to`).
template <class V>
inline f64 rescale(f64 sum, V from, V to) {
  return from == to ? sum : sum * (f64)exp(from - to);
}

/// Same as write_pack, but as one access: the compiler splits write_pack's if another branch writes single elements of the same pack.
template <class T, int lanes>
inline void write_at_once(T* elements, const Pack<T, lanes>& pack) {
#if defined(__CUDA_ARCH__)
  if (sizeof(pack) == 16) {
    const uint4 words = *(const uint4*)&pack;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(elements), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w) : "memory");
    return;
  }
#endif
  write_pack(elements, pack);
}

/// `whole`: a pack is either within the line or outside of it.
template <int lanes, bool whole, class T, class Index>
inline Pack<T, lanes> read_part(const T* line, Index at, Index first, Index end, Index step) {
  if (at >= first && at + lanes <= end) return read_pack<lanes>(line + (lanes == 1 ? at * step : at));
  Pack<T, lanes> part;
#pragma unroll
  for (int l = 0; l < lanes; ++l) {
    part.lane[l] = store<T>(no_element<Compute<T>>());
    if (!whole && at + l >= first && at + l < end) part.lane[l] = line[at + l];
  }
  return part;
}
template <int lanes, bool whole, class T, class Index>
inline void write_part(T* line, Index at, Index first, Index end, Index step, const Pack<T, lanes>& part) {
  if (at >= first && at + lanes <= end) {
    write_at_once(line + (lanes == 1 ? at * step : at), part);
  } else if (!whole) {
#pragma unroll
    for (int l = 0; l < lanes; ++l)
      if (at + l >= first && at + l < end) line[at + l] = part.lane[l];
  }
}

/// Reads several packs, `apart` elements from each other; if all are within the line, none of the loads waits for another.
template <int lanes, bool whole, int packs, class T, class Index>
inline void read_parts(const T* line, Index at, Index apart, Index first, Index end, Index step, Pack<T, lanes>* parts) {
  if (at >= first && at + (packs - 1) * apart + lanes <= end) {
#pragma unroll
    for (int k = 0; k < packs; ++k) parts[k] = read_pack<lanes>(line + (lanes == 1 ? (at + k * apart) * step : at + k * apart));
  } else {
#pragma unroll
    for (int k = 0; k < packs; ++k) parts[k] = read_part<lanes, whole>(line, at + k * apart, first, end, step);
  }
}
template <int lanes, bool whole, int packs, class T, class Index>
inline void write_parts(T* line, Index at, Index apart, Index first, Index end, Index step, const Pack<T, lanes>* parts) {
  if (at >= first && at + (packs - 1) * apart + lanes <= end) {
#pragma unroll
    for (int k = 0; k < packs; ++k) write_at_once(line + (lanes == 1 ? (at + k * apart) * step : at + k * apart), parts[k]);
  } else {
#pragma unroll
    for (int k = 0; k < packs; ++k) write_part<lanes, whole>(line, at + k * apart, first, end, step, parts[k]);
  }
}

/// Merges the largest elements and the sums of a team's warps.
template <int along, int apart, class V>
inline void merge_warps(V& largest, f64& sum, int place, u64* room) {
  typedef Warps<along, apart> Team;
  if (!Team::meet) return;
  f64* const sums = (f64*)room;
  V* const peaks = (V*)(room + (int)blockDim.x);
  if (Team::leaves()) {
    sums[Team::own()] = sum;
    peaks[Team::own()] = largest;
  }
  __syncthreads();
  const int front = Team::front(place);
#pragma unroll
  for (int k = 0; k < Team::count; ++k) largest = Larger::merge(largest, peaks[front + k * Team::step]);
  sum = 0;
#pragma unroll
  for (int k = 0; k < Team::count; ++k) sum += rescale(sums[front + k * Team::step], peaks[front + k * Team::step], largest);
}

/// Softmax of a line that fits into its team's registers and is read once.
template <int lanes, bool whole, int packs, int along, int apart, bool logarithm, class T, class Index>
inline void softmax_held(const T* x, T* y, Index first, Index end, Index step, int place, u64* room) {
  typedef Compute<T> V;
  const Index begin = place * lanes, apart_packs = along * lanes;
  Pack<T, lanes> parts[packs];
#pragma unroll
  for (int k = 0; k < packs; ++k) parts[k] = read_part<lanes, whole>(x, begin + k * apart_packs, first, end, step);
  V values[packs * lanes], own = no_element<V>();
#pragma unroll
  for (int k = 0; k < packs * lanes; ++k) {
    values[k] = load(parts[k / lanes].lane[k % lanes]);
    if (own < values[k]) own = values[k];
  }
  own = merge_in_warp<Larger, along, apart>(own);
  const V from = power_from(own);
  f64 sum = 0;
#pragma unroll
  for (int k = 0; k < packs * lanes; ++k) {
    const V power = exp(values[k] - from);
    sum += power;
    if (!logarithm) values[k] = power;
  }
  sum = merge_in_warp<Sum, along, apart>(sum);
  V largest = own;
  merge_warps<along, apart>(largest, sum, place, room);
  const V scale = logarithm ? (V)0 : (V)rescale(1 / sum, own, largest);
  if (logarithm) sum = log(sum);
#pragma unroll
  for (int k = 0; k < packs; ++k) {
#pragma unroll
    for (int l = 0; l < lanes; ++l) {
      const V value = values[k * lanes + l];
      parts[k].lane[l] = store<T>(logarithm ? (V)((f64)value - (f64)largest - sum) : value * scale);
    }
    write_part<lanes, whole>(y, begin + k * apart_packs, first, end, step, parts[k]);
  }
}

/// Softmax of a longer line: one pass with a running maximum and a sum that is rescaled when the maximum grows (Milakov & Gimelshein 2018),
/// and one pass that writes.
template <int lanes, bool whole, int packs, int along, int apart, bool logarithm, class T, class Index>
inline void softmax_passing(const T* x, T* y, Index first, Index end, Index step, int place, u64* room) {
  typedef Compute<T> V;
  const Index begin = place * lanes, apart_packs = along * lanes;
  Pack<T, lanes> parts[packs];
  V own = no_element<V>();
  f64 sum = 0;
  for (Index at = begin; at < end; at += packs * apart_packs) {
    read_parts<lanes, whole, packs>(x, at, apart_packs, first, end, step, parts);
    V peak = own;
#pragma unroll
    for (int k = 0; k < packs * lanes; ++k) {
      const V value = load(parts[k / lanes].lane[k % lanes]);
      if (peak < value) peak = value;
    }
    sum = rescale(sum, (f64)own, (f64)peak);  // in f64: the maximum may grow at every element
    own = peak;
    const V from = power_from(own);
#pragma unroll
    for (int k = 0; k < packs * lanes; ++k) sum += exp(load(parts[k / lanes].lane[k % lanes]) - from);
  }
  V largest = merge_in_warp<Larger, along, apart>(own);
  sum = merge_in_warp<Sum, along, apart>(rescale(sum, own, largest));
  merge_warps<along, apart>(largest, sum, place, room);
  const V scale = logarithm ? (V)0 : (V)(1 / sum);
  if (logarithm) sum = log(sum);
  for (Index at = begin; at < end; at += packs * apart_packs) {
    read_parts<lanes, whole, packs>(x, at, apart_packs, first, end, step, parts);
#pragma unroll
    for (int k = 0; k < packs; ++k) {
#pragma unroll
      for (int l = 0; l < lanes; ++l) {
        const V value = load(parts[k].lane[l]);
        parts[k].lane[l] = store<T>(logarithm ? (V)((f64)value - (f64)largest - sum) : exp(value - largest) * scale);
      }
    }
    write_parts<lanes, whole, packs>(y, at, apart_packs, first, end, step, parts);
  }
}

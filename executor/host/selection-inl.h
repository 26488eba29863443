// The loops of `where` and `astype`, which the compiler vectorises. Included inside a namespace, once for the instruction set of the whole
// program and once for each set of simd/, so it includes nothing: the including file has included graph/ops/convert.h,
// executor/host/independent.h and executor/host/rows.h.

template <class T, int step_yes, int step_no>
void choose_known(const std::uint8_t* condition, const T* yes, const T* no, T* out, std::int64_t count) {
  CLEAVE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = yes[i * step_yes], b = no[i * step_no];
    out[i] = condition[i] != 0 ? a : b;
  }
}

/// Moves bits only, so T stands for every type of its size.
template <class T>
void choose(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* condition = reinterpret_cast<const std::uint8_t*>(operands[0]);
  const auto* yes = reinterpret_cast<const T*>(operands[1]);
  const auto* no = reinterpret_cast<const T*>(operands[2]);
  auto* out = reinterpret_cast<T*>(results);
  const auto are = [&](std::int64_t a, std::int64_t b) { return steps[0] == 1 && steps[1] == a && steps[2] == b; };
  if (are(1, 1)) return choose_known<T, 1, 1>(condition, yes, no, out, count);
  if (are(1, 0)) return choose_known<T, 1, 0>(condition, yes, no, out, count);
  if (are(0, 1)) return choose_known<T, 0, 1>(condition, yes, no, out, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = condition[i * steps[0]] != 0 ? yes[i * steps[1]] : no[i * steps[2]];
}

template <class From, class To>
void convert(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* source = reinterpret_cast<const From*>(operands[0]);
  auto* target = reinterpret_cast<To*>(results);
  if (steps[0] == 1) {
    CLEAVE_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) target[i] = ops::convert<To>(source[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i] = ops::convert<To>(source[i * steps[0]]);
  }
}

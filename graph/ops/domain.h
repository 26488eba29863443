// Domain: the element types that an op accepts. It is stated once, in the op's record; type rule, reference implementation and kernels
// query it here.
#pragma once

#include "graph/array/tensor_type.h"

namespace cleave::ops {

enum class Domain : std::uint8_t { numeric, floating, any, boolean, bits, integers };  ///< numeric: all but bool; bits: integers and bool

[[nodiscard]] constexpr bool accepts(Domain domain, DType type) {
  const bool truth = type == DType::boolean;
  const bool floating = type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
  switch (domain) {
    case Domain::numeric: return !truth;
    case Domain::floating: return floating;
    case Domain::any: return true;
    case Domain::boolean: return truth;
    case Domain::bits: return !floating;
    case Domain::integers: return !floating && !truth;
  }
  return false;
}

/// Calls `f(T{})` with the native type of `type`, which must be in the domain (the type rule checks it); no code is generated for other
/// types.
template <Domain domain, class F>
void dispatch_in(DType type, F&& f) {
  dispatch(type, [&](auto zero) {
    if constexpr (accepts(domain, DTypeOf<decltype(zero)>::value)) f(zero);
  });
}

}  // namespace cleave::ops

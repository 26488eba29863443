// Further functions of the tracing API (see ops.h): element-wise mathematics, bit shifts, random integers and orders.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

// --- element by element: floating point; integers and bool give f32 ------------------------------------------------------------------
Tensor log10(const Tensor& x, Here here = Here::now());
Tensor asinh(const Tensor& x, Here here = Here::now());
Tensor acosh(const Tensor& x, Here here = Here::now());                       ///< NaN below 1
Tensor atanh(const Tensor& x, Here here = Here::now());                       ///< NaN beyond 1
Tensor hypot(const Tensor& a, const Tensor& b, Here here = Here::now());      ///< sqrt(a * a + b * b), without overflow
Tensor logaddexp(const Tensor& a, const Tensor& b, Here here = Here::now());  ///< log(exp(a) + exp(b)), without overflow
Tensor copysign(const Tensor& a, const Tensor& b, Here here = Here::now());   ///< magnitude of `a`, sign of `b`
/// Whether the sign bit of x is set (also for -0.0 and NaN): bool. Any numeric type.
Tensor signbit(const Tensor& x, Here here = Here::now());

// --- shifts of integers: by less than 0, or by as many bits as there are or more, all bits leave -------------------------------------
/// 0 if all bits are shifted out. Error `type`: not integers.
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b, Here here = Here::now());
/// Arithmetic shift, which rounds down: the sign bit is repeated. 0 or -1 if all bits are shifted out.
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor operator<<(const Term& a, const Term& b);  ///< bitwise_left_shift: `x << 3`
Tensor operator>>(const Term& a, const Term& b);  ///< bitwise_right_shift

// --- random numbers ----------------------------------------------------------------------------------------------------------------
/// `random_integers({4}, 1, 7, {.seed = 7, .step = i})`
struct RandomIntegersOptions {
  std::int64_t seed = 0;
  std::optional<Tensor> step = {};  ///< an integer scalar such as a loop counter; each value gives different numbers
  DType dtype = DType::i32;
};
/// Uniformly distributed integers from low to below high: `random_integers({4}, 1, 7)` throws four dice. Error `value`: the range is empty
/// or does not fit the element type.
Tensor random_integers(Shape shape, std::int64_t low, std::int64_t high, const RandomIntegersOptions& options = {},
                       Here here = Here::now());
/// `random_permutation(1000, {.seed = 7, .step = pass})`
struct RandomPermutationOptions {
  std::int64_t seed = 0;
  std::optional<Tensor> step = {};  ///< an integer scalar such as a loop counter; each value gives another order
};
/// The numbers from 0 to below n (i32) in a random order, every order as likely as another (Fisher-Yates). Runs on the host. Error `value`:
/// n is negative, or above 2147483647.
Tensor random_permutation(std::int64_t n, const RandomPermutationOptions& options = {}, Here here = Here::now());

}  // namespace cleave

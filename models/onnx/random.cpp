// Lowerings of random numbers. Each node has its own generator, seeded by its `seed`, or else by the name of its first result, so that a
// model gives the same numbers in every run.
#include <bit>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// The seed: an integer, or the bits of a floating-point number, or a hash of its first result's name.
std::int64_t seed_of(Call& c) {
  if (c.has_attribute("seed")) {
    if (c.op() == "Dropout") return c.integer("seed", 0);
    return std::bit_cast<std::int32_t>(static_cast<float>(c.number("seed", 0)));
  }
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char letter : c.node().outputs.empty() ? c.node().name : c.node().outputs[0])
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return static_cast<std::int64_t>(hash >> 1);
}

/// Uniform random numbers on [0, 1).
Part draws(Call& c, Shape shape, DType dtype) {
  return c(op::random_uniform, {},
           {{"shape", std::move(shape)}, {"seed", seed_of(c)}, {"dtype", dtype == DType::f64 ? dtype : DType::f32}});
}

Values numbers(Call& c, Shape shape, DType dtype) {
  Attributes attributes{{"shape", std::move(shape)}, {"seed", seed_of(c)}, {"dtype", dtype == DType::f64 ? dtype : DType::f32}};
  const bool normal = &c.function() == &op::random_normal;
  attributes.set(normal ? "mean" : "low", c.number(normal ? "mean" : "low", 0));
  attributes.set(normal ? "std" : "high", c.number(normal ? "scale" : "high", 1));
  return {c.as(dtype, c(c.function(), {}, std::move(attributes)))};
}

/// The type that the node names, else `otherwise`; nothing if it names one that cleave lacks.
std::optional<DType> dtype_or(Call& c, DType otherwise) {
  return c.has_attribute("dtype") ? c.dtype("dtype") : otherwise;
}

Values of_shape(Call& c) {
  const std::optional<Integers> shape = c.integers("shape");
  const std::optional<DType> dtype = dtype_or(c, DType::f32);
  if (!shape) return c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` needs a `shape`");
  return dtype ? numbers(c, *shape, *dtype) : c.poison();
}

Values like(Call& c) {
  const std::optional<DType> dtype = dtype_or(c, c[0].dtype());
  return dtype ? numbers(c, c[0].shape(), *dtype) : c.poison();
}

/// Draws 1 with the probability that the operand's element gives.
Values bernoulli(Call& c) {
  const std::optional<DType> dtype = dtype_or(c, c[0].dtype());
  if (!dtype) return c.poison();
  return {c.as(*dtype, c(op::less, {draws(c, c[0].shape(), c[0].dtype()), c[0]}))};
}

/// Samples classes from the logarithms of their probabilities: the class is the number of cumulative sums that a uniform number exceeds.
Values multinomial(Call& c) {
  const std::optional<DType> dtype = dtype_or(c, DType::i32);
  const std::int64_t samples = c.integer("sample_size", 1);
  const Shape shape = c[0].shape();
  if (!dtype) return c.poison();
  if (shape.size() != 2 || samples < 0)
    return c.mistake(DiagnosticKind::shape, "`Multinomial` draws from [batch, classes], not " + to_string(c[0].type()));
  const Part sums = c(op::cumulative_sum, {c(op::softmax, {c[0]})}, {{"axis", std::int64_t{1}}});
  const Part drawn = c(op::expand_dims, {draws(c, {shape[0], samples}, c[0].dtype())}, {{"axis", std::int64_t{2}}});
  const Part passed = c(op::greater_equal, {drawn, c(op::expand_dims, {sums}, {{"axis", std::int64_t{1}}})});
  const Part index = c(op::sum, {passed}, {{"axis", Integers{2}}});
  return {c.as(*dtype, c(op::minimum, {index, shape[1] - 1}))};
}

/// The value itself, unless in training mode. Since version 12, ratio and mode are operands; before version 7, the mode is an attribute.
Values dropout(Call& c) {
  c.ignore({"consumed_inputs", "seed", "ratio", "is_test"});
  const Part& x = c[0];
  const DType mask_type = c.version() < 10 ? x.dtype() : DType::boolean;
  bool trains = c.version() < 7 && !c.flag("is_test");
  Part ratio = c.number("ratio", 0.5);
  if (c.version() >= 12) {
    const auto mode = c.known_numbers(2, "whether it drops anything");
    if (c.has(2) && !mode) return c.poison();
    trains = mode && !mode->empty() && mode->front() != 0;
    if (c.has(1)) ratio = c.as(x.dtype(), c[1]);
    if (const auto known = c.known(1); known && known->size() == 1 && known->at(0) == 0) trains = false;
  }
  if (!trains) return {x, c(op::full, {}, {{"shape", x.shape()}, {"value", true}, {"dtype", mask_type}})};
  const Part kept = c(op::greater_equal, {draws(c, x.shape(), x.dtype()), ratio});
  return {c(op::where, {kept, c.divide(x, c.subtract(1, ratio)), c.number_as(x.dtype(), 0)}), c.as(mask_type, kept)};
}

}  // namespace

std::span<const Lowering> random_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Bernoulli", 15, bernoulli},
      {"Dropout", 1, dropout},
      {"Multinomial", 7, multinomial},
      {"RandomNormal", 1, of_shape, &op::random_normal},
      {"RandomNormalLike", 1, like, &op::random_normal},
      {"RandomUniform", 1, of_shape, &op::random_uniform},
      {"RandomUniformLike", 1, like, &op::random_uniform},
  };
  return kRows;
}

}  // namespace cleave::models::onnx

// Attention: masks, the causal rule, shared heads, odd sizes, and more keys than a tile has.
#include "graph/vocabulary.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_attention(Samples& s) {
  const auto add = [&](std::vector<Array> inputs, Attributes attributes = {}) {
    s.add("attention", inputs, attributes);
    std::vector<TensorType> types;
    for (const Array& input : inputs) types.push_back(input.type());
    const TypeResult result = op::attention.type_rule(types, attributes);
    inputs.insert(inputs.begin() + 3, s.numbers(inputs[0].dtype(), std::get<0>(result).front().shape, {-1, 1}));
    s.add("attention_gradient", std::move(inputs), std::move(attributes));
  };
  const auto near = [&](DType dtype, Shape shape) { return s.numbers(dtype, std::move(shape), {-1, 1}); };
  const Attributes causal{{"causal", true}};
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const auto heads = [&](std::int64_t count, std::int64_t length, std::int64_t depth) { return near(dtype, {2, count, length, depth}); };
    add({heads(2, 5, 4), heads(2, 7, 4), heads(2, 7, 3)});
    add({heads(2, 19, 20), heads(2, 19, 20), heads(2, 19, 20), s.numbers(boolean, {2, 1, 1, 19})}, causal);
    add({heads(4, 3, 5), heads(2, 9, 5), heads(2, 9, 5), near(dtype, {4, 3, 9})}, {{"causal", true}, {"scale", 0.5}});
    add({near(dtype, {6, 9, 8}), near(dtype, {2, 270, 8}), near(dtype, {2, 270, 17}), near(dtype, {9, 1})}, causal);
    add({near(dtype, {4, 6}), near(dtype, {3, 6}), near(dtype, {3, 2})}, causal);  // the first query sees no key
  }
  add({near(f32, {2, 1, 40}), near(f32, {2, 1030, 40}), near(f32, {2, 1030, 16}), s.numbers(boolean, {1, 1, 1030})});
  add({near(f32, {1, 2, 19, 7}), near(f32, {2, 2, 33, 7}), near(f32, {1, 2, 33, 140}), s.numbers(boolean, {19, 1})});
  add({near(f32, {2, 50, 24}), near(f32, {1, 70, 24}), near(f32, {1, 70, 24}), s.numbers(boolean, {2, 50, 70})});
  add({near(f32, {2, 5, 4}), near(f32, {2, 5, 4}), near(f32, {2, 5, 4}), Array(TensorType{boolean, {5, 5}})});  // no query sees any key
  add({near(f32, {2, 3, 0}), near(f32, {2, 4, 0}), near(f32, {2, 4, 5})});
  add({near(f32, {2, 3, 4}), near(f32, {2, 0, 4}), near(f32, {2, 0, 5})});
  add({near(f32, {0, 3, 4}), near(f32, {0, 2, 4}), near(f32, {0, 2, 5})});
  add({near(f32, {2, 0, 4}), near(f32, {2, 2, 4}), near(f32, {2, 2, 5})});
}

}  // namespace cleave::testing

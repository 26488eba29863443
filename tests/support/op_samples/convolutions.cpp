// Convolutions, pools, normalizations, resizing: 1 to 3 axes, strides, dilations, paddings, groups, with sizes that reach every variant of
// the kernels.
#include <algorithm>

#include "graph/vocabulary.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples/filled.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_convolutions(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    s.add("conv", {s.numbers(dtype, {2, 3, 9}), s.numbers(dtype, {4, 3, 3}), s.numbers(dtype, {4})}, {{"pads", Integers{1}}});
    s.add("conv", {s.numbers(dtype, {2, 3, 7, 5}), s.numbers(dtype, {5, 3, 3, 2})},
          {{"strides", Integers{2, 1}}, {"pads", Integers{1, 0, 2, 1}}});
    s.add("conv", {s.numbers(dtype, {1, 2, 4, 5, 6}), s.numbers(dtype, {4, 2, 2, 3, 2})},
          {{"strides", Integers{1, 2, 3}}, {"pads", Integers{1, 0, 2}}});
    s.add("conv", {s.numbers(dtype, {2, 6, 8, 9}), s.numbers(dtype, {6, 1, 3, 3}), s.numbers(dtype, {6})},
          {{"pads", Integers{1}}, {"group", std::int64_t{6}}});
    s.add("conv", {s.numbers(dtype, {2, 6, 11}), s.numbers(dtype, {8, 3, 3})}, {{"dilations", Integers{3}}, {"group", std::int64_t{2}}});
    s.add("conv", {s.numbers(dtype, {3, 5, 1, 1}), s.numbers(dtype, {7, 5, 1, 1}), s.numbers(dtype, {7})});
  }
  for (const char* same : {"same_upper", "same_lower"})
    s.add("conv", {s.numbers(f32, {1, 2, 8, 7}), s.numbers(f32, {3, 2, 4, 3})},
          {{"strides", Integers{2}}, {"auto_pad", std::string(same)}});
  s.add("conv", {s.numbers(f32, {1, 2, 8}), s.numbers(f32, {3, 2, 4})}, {{"auto_pad", std::string("valid")}});
  s.add("conv", {s.numbers(f32, {1, 20, 17, 19}), s.numbers(f32, {70, 20, 3, 3}), s.numbers(f32, {70})},
        {{"strides", Integers{2}}, {"pads", Integers{1}}});
  s.add("conv", {s.numbers(f32, {9, 33, 7, 7}), s.numbers(f32, {50, 33, 1, 1})});
  s.add("conv", {s.numbers(f32, {1, 16, 30, 23}), s.numbers(f32, {16, 1, 5, 5})},
        {{"strides", Integers{2}}, {"pads", Integers{2}}, {"group", std::int64_t{16}}});
  s.add("conv", {s.numbers(f32, {2, 8, 6, 6}), s.numbers(f32, {40, 2, 3, 3})}, {{"group", std::int64_t{4}}});
  s.add("conv", {s.numbers(f32, {1, 70, 9, 9}), s.numbers(f32, {8, 70, 3, 3})}, {{"dilations", Integers{2}}, {"pads", Integers{2}}});
  s.add("conv", {s.numbers(f32, {3, 4, 4, 4}), s.numbers(f32, {9, 4, 4, 4}), s.numbers(f32, {9})});
  s.add("conv", {s.numbers(f32, {1, 1, 3}), s.numbers(f32, {1, 1, 2})}, {{"dilations", Integers{100000}}, {"pads", Integers{50000}}});
  s.add("conv", {s.numbers(f32, {0, 3, 5}), s.numbers(f32, {2, 3, 2})});
  s.add("conv", {s.numbers(f32, {2, 0, 5}), s.numbers(f32, {6, 0, 2}), s.numbers(f32, {6})});
  s.add("conv", {s.numbers(f32, {2, 3, 0}), s.numbers(f32, {6, 3, 2})}, {{"pads", Integers{2}}});
  s.add("conv", {s.numbers(f32, {2, 3, 5}), s.numbers(f32, {0, 3, 2})});
}

void add_pools(Samples& s) {
  for (const char* op : {"max_pool", "avg_pool"}) {
    const Integers three = {3};
    for (const DType dtype : {f32, f64, f16, bf16}) {
      s.add(op, {s.numbers(dtype, {2, 3, 9})}, {{"kernel_shape", three}, {"pads", Integers{1}}});
      s.add(op, {s.numbers(dtype, {2, 3, 7, 8})},
            {{"kernel_shape", Integers{2, 3}}, {"strides", Integers{2}}, {"pads", Integers{0, 1, 1, 2}}});
      s.add(op, {s.numbers(dtype, {1, 2, 5, 4, 6})},
            {{"kernel_shape", Integers{2}}, {"strides", Integers{1, 2, 3}}, {"dilations", Integers{2, 1, 1}}});
    }
    s.add(op, {s.numbers(f32, {1, 40, 29, 27})}, {{"kernel_shape", three}, {"strides", Integers{2}}, {"pads", Integers{1}}});
    s.add(op, {s.numbers(f32, {1, 2, 7, 10})}, {{"kernel_shape", three}, {"strides", Integers{2}}, {"ceil_mode", true}});
    s.add(op, {s.numbers(f32, {1, 2, 4})}, {{"kernel_shape", three}, {"strides", Integers{4}}, {"pads", Integers{2}}, {"ceil_mode", true}});
    s.add(op, {s.numbers(f32, {1, 2, 5, 6})}, {{"kernel_shape", three}, {"strides", Integers{2}}, {"auto_pad", std::string("same_lower")}});
    s.add(op, {s.numbers(f32, {1, 2, 3, 9})}, {{"kernel_shape", Integers{5, 3}}, {"strides", Integers{4}}, {"ceil_mode", true}});
    s.add(op, {s.numbers(f32, {3, 17, 7, 7})}, {{"kernel_shape", Integers{7}}});
    s.add(op, {s.numbers(f32, {1, 1, 3})}, {{"kernel_shape", Integers{100000}}, {"pads", Integers{99998}}});
    s.add(op, {s.numbers(f32, {0, 3, 5})}, {{"kernel_shape", three}});
    s.add(op, {filled(f32, {1, 2, 4, 5}, 1e38)}, {{"kernel_shape", three}, {"pads", Integers{1}}});  // their sum overflows f32
    const Array ends = special_values(f32, 0, 2);
    Array image(TensorType{f32, {1, 1, ends.size()}});
    std::copy_n(ends.data<float>(), ends.size(), image.mutable_data<float>());
    s.add(op, {image}, {{"kernel_shape", three}}, true);
  }
  for (const bool rounds_up : {false, true}) {
    s.add("avg_pool", {s.numbers(f32, {1, 3, 8, 9})},
          {{"kernel_shape", Integers{3}},
           {"strides", Integers{2}},
           {"pads", Integers{1, 0, 1, 1}},
           {"count_include_pad", true},
           {"ceil_mode", rounds_up}});
  }
  for (const char* function : {"global_max_pool", "global_average_pool"}) {
    s.add(function, {s.numbers(f32, {2, 3, 4, 5})});
    s.add(function, {s.numbers(f16, {2, 30, 9})});
  }
}

/// The gradients of all convolutions and pools above.
void add_window_gradients(Samples& s) {
  const std::vector<OpSample> forward = s.all;
  for (const OpSample& sample : forward) {
    if (sample.special || (sample.op != &op::conv && sample.op != &op::max_pool && sample.op != &op::avg_pool)) continue;
    const TypeResult types = infer(*sample.op, types_of(sample.inputs), sample.attributes);
    const TensorType result = std::get<0>(types).front();
    const Array g = s.numbers(result.dtype, result.shape);
    const Array& x = sample.inputs[0];
    const auto spatial = [](const Array& array) { return Integers(array.shape().begin() + 2, array.shape().end()); };
    Attributes attributes = sample.attributes;
    if (sample.op == &op::conv) {
      attributes.set("extents", spatial(x));
      s.add("conv_input_gradient", {g, sample.inputs[1]}, attributes);
      attributes.erase("extents");
      attributes.set("kernel_shape", spatial(sample.inputs[1]));
      s.add("conv_weight_gradient", {x, g}, attributes);
    } else if (sample.op == &op::max_pool) {
      s.add("max_pool_gradient", {x, g}, attributes);
      s.add("max_pool_gather", {x, s.numbers(x.dtype(), x.shape())}, attributes);
    } else {
      attributes.set("extents", spatial(x));
      s.add("avg_pool_gradient", {g}, attributes);
    }
  }
}

void add_normalizations(Samples& s) {
  for (const DType dtype : {f32, f64, f16}) {
    const auto channels = [&] { return s.numbers(dtype, {4}); };
    const auto x = [&] { return s.numbers(dtype, {2, 4, 3, 5}); };
    s.add("batch_norm", {x(), channels(), channels(), channels(), s.numbers(dtype, {4}, {0.5, 2})});
    s.add("group_norm", {x(), channels(), channels()}, {{"num_groups", std::int64_t{2}}});
    s.add("instance_norm", {x(), channels(), channels()}, {{"epsilon", 1e-3}});
    s.add("layer_norm", {s.numbers(dtype, {6, 20})});
    s.add("layer_norm", {x(), s.numbers(dtype, {3, 5}), s.numbers(dtype, {5})}, {{"axis", std::int64_t{2}}});
    s.add("rms_norm", {s.numbers(dtype, {6, 20}), s.numbers(dtype, {20})});
    for (const std::int64_t p : {1, 2}) s.add("lp_norm", {x()}, {{"p", p}, {"axis", std::int64_t{1}}});
  }
  s.add("lp_norm", {Array(TensorType{f32, {2, 3}})});
  s.add("rms_norm", {s.numbers(f32, {2, 3, 4})}, {{"axis", std::int64_t{-2}}});
  s.add("batch_norm",
        {s.numbers(f32, {30, 4}), s.numbers(f32, {4}), s.numbers(f32, {4}), s.numbers(f32, {4}), s.numbers(f32, {4}, {0.5, 2})});
  s.add("group_norm", {s.numbers(f32, {2, 6}), s.numbers(f32, {6}), s.numbers(f32, {6})}, {{"num_groups", std::int64_t{3}}});
  s.add("instance_norm", {s.numbers(f32, {1, 2, 50}), s.numbers(f32, {2}), s.numbers(f32, {2})});
}

void add_resampling(Samples& s) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      s.add("resize", {s.numbers(f32, {1, 2, 5, 4})},
            {{"sizes", Integers{7, 3}}, {"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(coordinates)}});
    }
    s.add("resize", {s.numbers(f16, {3, 6})},
          {{"scales", std::vector<double>{2.5}}, {"mode", std::string(mode)}, {"exclude_outside", true}});
  }
  for (const char* mode : {"linear", "cubic"}) {
    s.add("resize", {s.numbers(f32, {2, 9, 12})}, {{"sizes", Integers{3, 4}}, {"mode", std::string(mode)}, {"antialias", true}});
    s.add("resize", {s.numbers(f16, {9, 4})},
          {{"scales", std::vector<double>{0.4, 0.5}}, {"mode", std::string(mode)}, {"antialias", true}, {"exclude_outside", true}});
  }
  for (const DType dtype : {f32, i32}) {
    s.add("resize", {s.numbers(dtype, {5, 6})},
          {{"sizes", Integers{3, 4}},
           {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
           {"roi", std::vector<double>{0.25, 0.5, 0.75, 1.5}},
           {"extrapolation_value", 10.0}});
  }
  for (const char* coordinates : {"half_pixel_symmetric", "tf_half_pixel_for_nn"})
    s.add("resize", {s.numbers(f32, {5, 4})},
          {{"scales", std::vector<double>{0.7, 1.6}},
           {"mode", std::string("linear")},
           {"coordinate_transformation_mode", std::string(coordinates)}});
  s.add("resize", {s.numbers(f32, {3, 7})},
        {{"sizes", Integers{2, 4}}, {"scales", std::vector<double>{0.5, 0.5}}, {"mode", std::string("linear")}});
  s.add("resize", {s.numbers(i32, {2, 6})}, {{"sizes", Integers{3}}, {"nearest_mode", std::string("ceil")}});
  s.add("resize", {s.numbers(f32, {2, 6})}, {{"sizes", Integers{0}}});
  s.add("conv_transpose", {s.numbers(f32, {2, 3, 5}), s.numbers(f32, {3, 4, 3}), s.numbers(f32, {4})},
        {{"strides", Integers{2}}, {"pads", Integers{1}}});
  s.add("conv_transpose", {s.numbers(f64, {1, 4, 5, 4}), s.numbers(f64, {4, 3, 3, 2})},
        {{"strides", Integers{3, 2}}, {"dilations", Integers{2, 1}}, {"output_padding", Integers{1, 1}}, {"group", std::int64_t{2}}});
  s.add("conv_transpose", {s.numbers(f32, {1, 2, 3, 2, 3}), s.numbers(f32, {2, 2, 2, 3, 2})},
        {{"strides", Integers{1, 2, 2}}, {"pads", Integers{0, 1, 0, 1, 1, 1}}});
  s.add("conv_transpose", {s.numbers(f32, {1, 2, 9}), s.numbers(f32, {2, 1, 2})}, {{"strides", Integers{4}}});
}

}  // namespace cleave::testing

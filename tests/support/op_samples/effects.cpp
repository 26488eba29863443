// Effects, transfers and host functions.
#include <filesystem>
#include <memory>

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

void add_effects(Samples& s) {
  for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{40}}) {
    s.add("print", {s.numbers(f32, shape)}, {{"label", std::string("x")}});
    const auto path = std::filesystem::temp_directory_path() / "cleave_op_sample.npy";
    s.add("write_npy", {s.numbers(f32, shape)}, {{"path", path.string()}});
    s.add("to_host", {s.numbers(f32, shape)});
    s.add("to_accelerator", {s.numbers(i32, shape)});
    s.add("to_accelerator", {s.numbers(f32, shape)});
  }
  for (const DType type : {f32, DType::f64, DType::f16, DType::bf16, i32, DType::i64, DType::u8})
    s.add("log_metric", {s.numbers(type, {})}, {{"label", std::string("x")}});
  for (const std::int64_t n : {3, 50}) {
    auto doubled = std::make_shared<HostFunction>();
    doubled->name = "doubled";
    doubled->takes = doubled->returns = {{f32, {n}}};
    doubled->pure = true;
    doubled->call = [](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
      for (std::int64_t i = 0; i < inputs[0].size(); ++i) results[0].mutable_data<float>()[i] = 2 * inputs[0].data<float>()[i];
      return {};
    };
    s.add("host_call", {s.numbers(f32, {n})}, {{"function", std::shared_ptr<const HostFunction>(doubled)}});
  }
}

}  // namespace cleave::testing

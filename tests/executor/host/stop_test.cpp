// Cancelled work ends: every host kernel and every reference implementation polls the stop flag of its thread at least every 20 ms, so that
// cancellation, deadlines and time limits work alike for every operation. slow_calls() has a slow call of each op.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <map>
#include <set>

#include "executor/device/kernel.h"
#include "graph/base/exceptions.h"
#include "graph/base/stop.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples/samples.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using test::TemporaryFolder;

constexpr double kPromised = 0.02;  ///< seconds between two polls
/// The factor by which a shared machine may exceed it: the user is promised an end within a tenth of a second.
constexpr double kSlack = 5;

/// The processor time of the calling thread, which excludes other work on the machine.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Measures the longest time between polls, and stops the work after `seconds`.
class Measured final : public StopSign {
 public:
  explicit Measured(double seconds) : seconds_(seconds) {}
  /// Starts the measurement.
  void begin() const {
    last_ = processor_seconds();
    end_ = last_ + seconds_;
  }
  [[nodiscard]] bool stopped() const override {
    look();
    stopped_ = last_ >= end_;
    return stopped_;
  }
  void look() const {
    const double now = processor_seconds();
    longest_ = std::max(longest_, now - last_);
    last_ = now;
  }
  [[nodiscard]] double longest() const { return longest_; }
  [[nodiscard]] bool ended() const { return stopped_; }

 private:
  const double seconds_;
  mutable double end_ = 0, last_ = 0, longest_ = 0;
  mutable bool stopped_ = false;
};

// --- slow calls --------------------------------------------------------------------------------------------------------------------------

constexpr std::int64_t kMany = 1 << 24;

/// Memory that all calls share, borrowed under different types.
class Operands {
 public:
  Operands() : floats_(TensorType{f32, {2 * kMany}}), indices_(TensorType{i32, {kMany}}) {
    std::uint32_t bits = 12345;
    for (float& x : std::span(floats_.mutable_data<float>(), 2 * kMany)) {
      bits = bits * 1664525 + 1013904223;
      x = static_cast<float>(bits >> 8) * 0x1p-23F - 1;
    }
    for (std::int32_t& x : std::span(indices_.mutable_data<std::int32_t>(), kMany)) {
      bits = bits * 1664525 + 1013904223;
      x = static_cast<std::int32_t>(bits >> 8);
    }
  }
  [[nodiscard]] Array floats(Shape shape) const { return Array::borrow({f32, std::move(shape)}, floats_.bytes()); }
  /// Indices from 0 to 2^24 - 1.
  [[nodiscard]] Array indices(Shape shape) const { return Array::borrow({i32, std::move(shape)}, indices_.bytes()); }
  [[nodiscard]] Array of(DType dtype, Shape shape) const {
    return Array::borrow({dtype, std::move(shape)}, dtype == boolean ? zeros_.bytes() : floats_.bytes());
  }

 private:
  Array floats_, indices_, zeros_{TensorType{boolean, {kMany}}};
};

Array below(const Array& indices, std::int32_t extent) {
  Array result(indices.type());
  for (std::int64_t i = 0; i < indices.size(); ++i) result.mutable_data<std::int32_t>()[i] = indices.data<std::int32_t>()[i] % extent;
  return result;
}
/// A symmetric and positive definite matrix.
Array matrix(std::int64_t n) {
  Array a(TensorType{f32, {n, n}});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a.mutable_data<float>()[i * n + j] = i == j ? 2 * static_cast<float>(n) : static_cast<float>((i * j + i + j) % 17) / 17;
  return a;
}

/// Ops whose calls cannot be made long, with the reason.
const std::map<std::string, std::string> kNotSlow = {
    {"print", "what is printed of an array is shortened"},
    {"log_metric", "one number is logged"},
    {"host_call", "what a host function does is its own; it has a deadline instead"},
};

Samples slow_calls(const Operands& of, const std::string& file) {
  Samples s;
  const auto f = [&](Shape shape) { return of.floats(std::move(shape)); };
  const auto i = [&](Shape shape) { return of.indices(std::move(shape)); };
  const auto n = kMany, half = kMany / 2;
  for (const OpDef* op : all_ops()) {
    if (!op->elementwise()) continue;
    if (op->name == "astype") {
      for (const DType dtype : {f16, i32}) s.add("astype", {f({n})}, {{"dtype", dtype}});
      continue;
    }
    for (const DType dtype : {f32, i32, boolean}) {
      std::vector<Array> inputs(static_cast<std::size_t>(op->min_inputs), of.of(dtype, {n}));
      if (op->name == "where") inputs[0] = of.of(boolean, {n});
      std::vector<TensorType> types;
      for (const Array& input : inputs) types.push_back(input.type());
      const TypeResult typed = op->type_rule(types, {});
      if (std::get_if<TypeError>(&typed)) continue;
      s.add(op->name, std::move(inputs));
      break;
    }
  }
  s.add("matmul", {f({1500, 1500}), f({1500, 1500})});
  s.add("matmul", {f({2, n}), f({n, 2})});
  s.add("matmul", {f({1, 4000}), f({4000, 8000})});
  const auto b = [&](Shape shape) { return of.of(u8, std::move(shape)); };
  s.add("quantized_matmul", {b({2000, 3000}), b({3000, 2000}), b({}), b({})});
  s.add("quantized_matmul", {b({2, n}), b({n, 2}), b({}), b({})});
  s.add("quantized_conv", {b({1, 64, 256, 256}), b({64, 64, 3, 3}), b({}), b({})}, {{"pads", Integers{1}}});
  s.add("quantized_conv", {b({1, 1, 2048, 2048}), b({2, 1, 3, 3}), b({}), b({})}, {{"pads", Integers{1}}});
  s.add("conv", {f({1, 8, 1024, 1024}), f({8, 8, 7, 7})});
  s.add("conv", {f({1, 64, 256, 256}), f({64, 64, 3, 3})}, {{"pads", Integers{1}}});
  s.add("conv", {f({1, 1, 1024, 1024}), f({2, 1, 3, 3})}, {{"pads", Integers{1}}});  // one channel is processed without a poll in between
  for (const char* pool : {"max_pool", "avg_pool"}) {
    s.add(pool, {f({1, 1, 4096, 4096})}, {{"kernel_shape", Integers{7, 7}}});
    s.add(pool, {f({1, 1, half})}, {{"kernel_shape", Integers{101}}});
  }
  s.add("conv_input_gradient", {f({1, 8, 1018, 1018}), f({8, 8, 7, 7})}, {{"extents", Integers{1024}}});
  s.add("conv_input_gradient", {f({1, 8, 509, 509}), f({8, 8, 7, 7})}, {{"extents", Integers{1024}}, {"strides", Integers{2}}});
  s.add("conv_weight_gradient", {f({1, 8, 1024, 1024}), f({1, 8, 1018, 1018})}, {{"kernel_shape", Integers{7}}});
  s.add("max_pool_gradient", {f({1, 1, 2048, 2048}), f({1, 1, 2042, 2042})}, {{"kernel_shape", Integers{7}}});
  s.add("max_pool_gather", {f({1, 1, 2048, 2048}), f({1, 1, 2048, 2048})}, {{"kernel_shape", Integers{7}}});
  s.add("avg_pool_gradient", {f({1, 1, 2042, 2042})}, {{"kernel_shape", Integers{7}}, {"extents", Integers{2048}}});
  for (const char* op : {"sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin"}) {
    s.add(op, {f({2 * n})});
    s.add(op, {f({half, 4})}, {{"axis", Integers{0}}});
    s.add(op, {f({8192, 4096})}, {{"axis", Integers{0}}});
    s.add(op, {f({8192, 4096})}, {{"axis", Integers{1}}});
  }
  s.add("sum", {f({128, 2048, 128})}, {{"axis", Integers{0, 2}}});
  for (const char* op : {"cumulative_sum", "cumulative_prod"}) {
    s.add(op, {f({2 * n})});
    s.add(op, {f({n / 32, 64})}, {{"axis", std::int64_t{0}}});
    s.add(op, {f({2 * n})}, {{"exclusive", true}, {"reverse", true}});
  }
  for (const char* op : {"softmax", "log_softmax"}) {
    s.add(op, {f({2 * n})});
    s.add(op, {f({n / 32, 64})}, {{"axis", std::int64_t{0}}});
  }
  s.add("attention", {f({4, 2048, 64}), f({4, 2048, 64}), f({4, 2048, 64})});
  s.add("attention", {f({1, 100000, 64}), f({1, 1000, 64}), f({1, 1000, 64})}, {{"causal", true}});
  s.add("attention_gradient", {f({4, 2048, 64}), f({4, 2048, 64}), f({4, 2048, 64}), f({4, 2048, 64})});
  s.add("attention_gradient", {f({1, 1000, 64}), f({1, 100000, 64}), f({1, 100000, 64}), f({1, 1000, 64})});
  s.add("lstm_cell", {f({2048, 8192}), f({2048, 8192}), f({2048, 2048})});
  s.add("gru_cell", {f({2048, 6144}), f({2048, 6144}), f({2048, 2048})});
  s.add("transpose", {f({n, 2})});
  s.add("transpose", {f({4096, 8192})});
  s.add("permute_dims", {f({256, 256, 512})}, {{"axes", Integers{2, 1, 0}}});
  s.add("reshape", {f({2 * n})}, {{"shape", Integers{2, n}}});
  s.add("expand_dims", {f({2 * n})});
  s.add("squeeze", {f({1, 2 * n})}, {{"axis", Integers{0}}});
  s.add("broadcast_to", {f({1})}, {{"shape", Integers{2 * n}}});
  s.add("flip", {f({2, n})});
  s.add("bitcast", {f({2 * n})}, {{"dtype", i32}});
  s.add("slice", {f({2 * n})}, {{"starts", Integers{0}}, {"stops", Integers{2 * n}}, {"steps", Integers{2}}});
  s.add("slice", {f({2, n})}, {{"starts", Integers{0, 1}}, {"stops", Integers{2, n}}});
  s.add("take", {f({2 * n}), i({n})});
  s.add("take", {f({2, n}), below(i({3}), 2)}, {{"axis", std::int64_t{0}}});
  s.add("one_hot", {below(i({n / 64}), 128)}, {{"depth", std::int64_t{128}}});
  s.add("one_hot", {below(i({2}), 128)}, {{"depth", n}});
  const Array zero = Array::scalar<std::int32_t>(0), one = Array::scalar<std::int32_t>(1);
  s.add("dynamic_slice", {f({2, n}), zero, one}, {{"sizes", Integers{2, n - 1}}});
  s.add("dynamic_update_slice", {f({2, n}), f({2, n - 1}), zero, one});
  s.add("take_along_axis", {f({2 * n}), i({n})});
  s.add("gather_nd", {f({2 * n}), i({n, 1})});
  s.add("gather_nd", {f({2, n}), below(i({3, 1}), 2)});
  for (const char* reduction : {"none", "add"}) {
    s.add("scatter", {f({2 * n}), i({n}), f({n})}, {{"reduction", std::string(reduction)}});
    s.add("scatter_nd", {f({2 * n}), i({n, 1}), f({n})}, {{"reduction", std::string(reduction)}});
  }
  s.add("scatter_add", {f({2 * n}), i({n}), f({n})});
  s.add("concat", {f({2, half}), f({2, half})}, {{"axis", std::int64_t{1}}});
  s.add("stack", {f({n}), f({n})});
  s.add("stack", {f({n}), f({n})}, {{"axis", std::int64_t{1}}});
  s.add("pad", {f({n})}, {{"widths", Integers{half, half}}});
  s.add("repeat", {f({half})}, {{"repeats", std::int64_t{4}}});
  s.add("repeat", {f({4})}, {{"repeats", half}});
  s.add("tile", {f({half})}, {{"repetitions", Integers{4}}});
  for (const char* op : {"zeros", "ones"}) s.add(op, {}, {{"shape", Integers{2 * n}}});
  s.add("full", {}, {{"shape", Integers{2 * n}}, {"value", 2.5}});
  s.add("arange", {}, {{"start", 2 * n}});
  s.add("eye", {}, {{"rows", std::int64_t{6000}}});
  for (const char* op : {"random_uniform", "random_normal"}) s.add(op, {}, {{"shape", Integers{n}}});
  s.add("random_integers", {}, {{"shape", Integers{n}}, {"low", std::int64_t{0}}, {"high", std::int64_t{100}}});
  s.add("random_permutation", {}, {{"n", n / 16}});
  for (const char* op : {"sort", "argsort"}) {
    s.add(op, {f({half})});
    s.add(op, {f({n / 64, 16})}, {{"axis", std::int64_t{0}}});
  }
  s.add("top_k", {f({n})}, {{"k", std::int64_t{10}}});
  s.add("top_k", {f({n})}, {{"k", n / 10}});
  s.add("top_k", {f({n})}, {{"k", n / 4}});
  s.add("unique", {f({half})});
  Array rising(TensorType{f32, {1 << 16}});
  for (std::int64_t k = 0; k < rising.size(); ++k) rising.mutable_data<float>()[k] = static_cast<float>(k) * 0x1p-15F - 1;
  s.add("searchsorted", {rising, f({half})});
  const std::int64_t deep = 64;  // one node behind the other, and no element of x is below their thresholds
  Array chain(TensorType{i32, {deep, 2}});
  for (std::int64_t k = 0; k < 2 * deep; ++k)
    chain.mutable_data<std::int32_t>()[k] = static_cast<std::int32_t>(k % 2 == 0 || k / 2 + 1 == deep ? -1 : k / 2 + 1);
  const auto trees = [&](std::int64_t rows, std::int64_t count) {
    return std::vector<Array>{
        f({rows, 1}), Array(TensorType{i32, {count}}), Array(TensorType{i32, {deep}}), s.numbers(f32, {deep}, {-9, -8}), chain, f({1})};
  };
  s.add("tree_ensemble", trees(1 << 14, 1 << 10));
  s.add("tree_ensemble", trees(1, 1 << 22));
  s.add("nonzero", {f({n})});
  s.add("non_max_suppression", {s.numbers(f32, {1, 20000, 4}, {0, 9}), s.numbers(f32, {1, 1, 20000}, {0, 1})},
        {{"max_output_boxes_per_class", std::int64_t{20000}}, {"iou_threshold", 1.0}});
  // Only the image needs to be sampled, and an image may be sampled often.
  s.add("roi_align", {f({1, 4, 64, 64}), Array::of<float>({1, 4}, {-1e9F, -1e9F, 1e9F, 1e9F}), Array::of<std::int32_t>({1}, {0})},
        {{"output_height", std::int64_t{512}}, {"output_width", std::int64_t{512}}});
  s.add("roi_align", {f({1, 4, 64, 64}), Array::of<float>({1, 4}, {0, 0, 60, 60}), Array::of<std::int32_t>({1}, {0})},
        {{"sampling_ratio", std::int64_t{4096}}});
  s.add("grid_sample", {f({1, 1, 512, 512}), f({1, 2048, 2048, 2})}, {{"mode", std::string("cubic")}});
  for (const char* op : {"inv", "det", "slogdet", "cholesky", "qr"}) s.add(op, {matrix(1500)});
  s.add("solve", {matrix(1500), f({1500, 100})});
  for (const char* op : {"eigh", "eigvalsh", "svd", "svdvals"}) s.add(op, {matrix(600)});
  for (const char* op : {"fft", "ifft"}) s.add(op, {f({n / 8, 2})});
  s.add("fft", {f({1000003, 2})});
  s.add("fft", {f({n / 64, 16, 2})}, {{"axis", std::int64_t{0}}});
  s.add("rfft", {f({n / 8})});  // halves are split and joined without a poll in between
  s.add("rfft", {f({1000003})});
  s.add("irfft", {f({n / 16 + 1, 2})});
  s.add("irfft", {f({1000003, 2})}, {{"n", std::int64_t{2000005}}});
  s.add("write_npy", {f({2 * n})}, {{"path", file}});
  for (const char* op : {"to_host", "to_accelerator"}) s.add(op, {f({2 * n})});
  return s;
}

std::vector<Array> results_of(const OpSample& call) {
  std::vector<Array> results;
  for (const TensorType& type : request_for(call).result_types) results.emplace_back(type);
  return results;
}

/// The status of the call's kernel under the stop flag `sign`.
Status run_measured(const OpSample& call, const Measured& sign) {
  const OpContext context{[](std::string_view) {}};
  const KernelRequest request = request_for(call);
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
  std::vector<TensorView> inputs, outputs;
  for (const Array& input : call.inputs) inputs.push_back({&input.type(), const_cast<std::byte*>(input.bytes())});
  std::vector<Array> results = results_of(call);
  for (Array& result : results) outputs.push_back({&result.type(), result.mutable_bytes()});
  const UnderSign under(&sign);
  sign.begin();
  return run_guarded(*kernel, {*call.op, call.attributes, inputs, outputs, context});
}

Status run_reference_of(const OpSample& call, const Measured& sign) {
  const OpContext context{[](std::string_view) {}};
  std::vector<Array> results = results_of(call);
  const UnderSign under(&sign);
  sign.begin();
  return detail::guard_user("the reference implementation", [&] {
    return call.op->reference({call.attributes, call.inputs, results, context});
  });
}

/// Checks that the call, given `seconds`, polls often enough. A busy machine may have disturbed it, so it is tried again.
template <class Call>
void expect_looks(const Call& call, double seconds, const std::string& what) {
  double longest = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Measured sign(seconds);
    const Status status = call(sign);
    sign.look();
    longest = sign.longest();
    EXPECT_TRUE(sign.ended() ? !status.ok() && status.error().message == "the run was ended" : status.ok())
        << what << ": " << (status.ok() ? "went on" : status.error().message);
    if (longest < kPromised * kSlack) return;
  }
  ADD_FAILURE() << what << " goes for " << longest << " s without a look";
}

class Stop : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers stretch every loop";
  }
  static void SetUpTestSuite() {
    if (kSanitized) return;
    folder = new TemporaryFolder;
    operands = new Operands;
    calls = new std::vector<OpSample>(slow_calls(*operands, folder->path("slow.npy")).all);
  }
  static void TearDownTestSuite() {
    delete calls;
    delete operands;
    delete folder;
  }
  static TemporaryFolder* folder;
  static Operands* operands;
  static std::vector<OpSample>* calls;
};
TemporaryFolder* Stop::folder = nullptr;
Operands* Stop::operands = nullptr;
std::vector<OpSample>* Stop::calls = nullptr;

TEST_F(Stop, EveryOpHasASlowCallOrAReason) {
  std::set<std::string> there;
  for (const OpSample& call : *calls) there.insert(std::string(call.op->name));
  for (const OpDef* op : all_ops()) EXPECT_NE(there.contains(std::string(op->name)), kNotSlow.contains(std::string(op->name))) << op->name;
}

TEST_F(Stop, EveryKernelLooks) {
  for (const OpSample& call : *calls) {
    const double seconds = call.op->elementwise() ? 0.03 : 10;  // the others run whole, to reach each of their phases
    expect_looks([&](const Measured& sign) { return run_measured(call, sign); }, seconds, "the kernel of " + describe(call));
  }
}

TEST_F(Stop, EveryReferenceLooks) {
  for (const OpSample& call : *calls)
    expect_looks([&](const Measured& sign) { return run_reference_of(call, sign); }, 0.08,
                 "the reference implementation of " + describe(call));
}

TEST_F(Stop, EveryKernelEndsWhereItIsStopped) {
  for (const OpSample& call : *calls)
    expect_looks([&](const Measured& sign) { return run_measured(call, sign); }, 0.004, "the kernel of " + describe(call));
}

}  // namespace
}  // namespace cleave::testing

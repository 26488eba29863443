// Every kernel of the host's table, on every element type and every length from 0 to 257, misaligned, along contiguous and strided axes:
// against the op's reference implementation, which itself is compared with a naive twin where a compiler could get both wrong in the same
// way. Both compilers build it in release mode (tools/test): it searches for loops that one of them vectorizes wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "executor/check/compare.h"
#include "executor/device/kernel.h"
#include "executor/host/kernels.h"
#include "graph/ops/convert.h"
#include "tests/support/naive_ops.h"
#include "tests/support/namespaces.h"
#include "tests/support/no_output.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::int64_t kLongest = 257;
constexpr DType kAllTypes[] = {DType::f32,     DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8,
                               DType::boolean, DType::i8,  DType::i16, DType::u16,  DType::u32, DType::u64};

struct Call {
  const OpDef* op;
  std::vector<TensorType> inputs;
  Attributes attributes;
  std::vector<TensorType> results;
};

/// The calls of one op with one element type and one length that its type rule accepts.
class Calls {
 public:
  Calls(const OpDef& op, DType dtype, std::int64_t n) : op_(op), dtype_(dtype), n_(n) { fill(); }
  std::vector<Call> all;

 private:
  void add(const std::vector<Shape>& shapes, Attributes attributes = {}) {
    Call call{&op_, {}, std::move(attributes), {}};
    for (const Shape& shape : shapes)
      call.inputs.push_back({call.inputs.empty() && op_.promote_from == 1 ? DType::boolean : dtype_, shape});
    if (normalize_call(op_, shapes.size(), call.attributes)) return;
    const TypeResult results = op_.type_rule(call.inputs, call.attributes);
    if (results.index() != 0) return;
    call.results = std::get<0>(results);
    all.push_back(std::move(call));
  }

  void fill() {
    const std::string_view name = op_.name;
    const auto has = [&](std::string_view attribute) {
      return std::any_of(op_.attributes.begin(), op_.attributes.end(), [&](const AttributeDef& def) { return def.name == attribute; });
    };
    if (name == "astype") {
      for (const DType target : kAllTypes) add({{n_}}, {{"dtype", target}});
    } else if (op_.elementwise()) {
      add_elementwise();
    } else if (name == "matmul") {
      for (const auto& shapes : {std::vector<Shape>{{n_}, {n_}}, {{3, n_}, {n_, 2}}, {{n_, 3}, {3, 5}}, {{2, 3}, {3, n_}}, {{n_, 2}, {2}}})
        add(shapes);
    } else if (name == "conv") {
      add({{1, 2, n_}, {3, 2, 3}});
      add({{2, 2, n_, 5}, {4, 1, 3, 3}, {4}}, {{"group", std::int64_t{2}}, {"pads", Integers{1, 1, 1, 1}}});
      add({{1, n_, 3}, {2, n_, 1}});
    } else if (has("kernel_shape")) {
      add({{1, 2, n_}}, {{"kernel_shape", Integers{3}}, {"pads", Integers{1, 1}}});
      add({{2, 3, n_, 5}}, {{"kernel_shape", Integers{2, 3}}, {"strides", Integers{2, 1}}});
    } else if (name == "attention") {
      add({{2, n_, 4}, {2, n_, 4}, {2, n_, 3}});
      add({{3, n_}, {5, n_}, {5, n_}});
    } else if (name == "lstm_cell" || name == "gru_cell") {
      const std::int64_t gates = name == "lstm_cell" ? 4 : 3;
      add({{2, gates * n_}, {2, gates * n_}, {2, n_}});
    } else if (name == "bitcast") {
      for (const DType target : kAllTypes) add({{2, n_}}, {{"dtype", target}});
    } else if (has("keepdims")) {
      add({{n_}});
      add({{2, n_}}, {{"axis", std::int64_t{1}}});
      add({{n_, 3}}, {{"axis", std::int64_t{0}}});
      add({{2, n_, 3}}, {{"axis", std::int64_t{1}}});
      add({{3, 2, n_}}, {{"axis", Integers{0, 2}}});
    } else if (name == "concat") {
      add({{n_}, {3}, {n_}});
      add({{2, n_}, {2, 1}}, {{"axis", std::int64_t{1}}});
      add({{n_, 3}, {1, 3}});
    } else if (name == "reshape") {
      add({{n_}}, {{"shape", Integers{1, n_}}});
    } else if (name == "take" || name == "one_hot" || name == "slice" || name == "top_k") {
      add_chosen();
    } else if (name == "broadcast_to") {
      for (const Shape& shape : {Shape{n_}, Shape{1}, Shape{2, 1}}) add({shape}, {{"shape", Integers{2, n_}}});
    } else if (name == "permute_dims") {
      add({{2, n_, 3}}, {{"axes", Integers{2, 0, 1}}});
      add({{n_, 3}}, {{"axes", Integers{1, 0}}});
    } else if (name == "pad") {
      add({{n_}}, {{"widths", Integers{2}}, {"value", 3.0}});
      add({{2, n_}}, {{"widths", Integers{1, 0, 0, 3}}});
    } else if (name == "repeat" || name == "tile") {
      for (const Shape& shape : {Shape{n_}, Shape{2, n_}, Shape{n_, 3}}) {
        add({shape}, {{"repeats", std::int64_t{3}}});
        add({shape}, {{"repetitions", Integers{2, 3}}});
      }
    } else if (op_.min_inputs == 0) {
      add({}, {{"shape", Integers{n_}}, {"dtype", dtype_}});
      add({}, {{"shape", Integers{2, n_}}, {"value", 2.5}, {"dtype", dtype_}});
      add({}, {{"shape", Integers{n_}}, {"low", std::int64_t{5}}, {"high", std::int64_t{117}}, {"dtype", dtype_}});
      if (size_of(dtype_) == 8)
        add({}, {{"shape", Integers{n_}}, {"low", std::int64_t{0}}, {"high", std::int64_t{3} << 61}, {"dtype", dtype_}});
    } else if (op_.min_inputs == 1) {
      for (const Attributes& attributes : {Attributes{}, Attributes{{"axis", Integers{0}}}, Attributes{{"axis", std::int64_t{0}}}}) {
        for (const Shape& shape : {Shape{n_}, Shape{1, n_}, Shape{n_, 3}, Shape{3, n_}}) add({shape}, attributes);
        // Many lines take most of the time: their number is swept as far as two blocks of 35, then around the multiples of 32.
        if (n_ <= 70 || (n_ + 1) % 32 < 3) add({{2, n_, 35}}, attributes);
      }
    }
  }

  void add_chosen() {
    // Indices are drawn like other operands: only u8 stays within a table of 256 rows.
    if (dtype_ == DType::u8) add({{256}, {n_}});
    if (dtype_ == DType::u8) add({{2, 256, 3}, {n_}}, {{"axis", std::int64_t{1}}});
    add({{n_}}, {{"depth", std::int64_t{9}}});
    add({{n_}}, {{"starts", Integers{1}}, {"stops", Integers{n_}}, {"steps", Integers{2}}});
    add({{2, n_}}, {{"starts", Integers{0, -1}}, {"stops", Integers{2, 0}}, {"steps", Integers{1, -1}}});
    for (const std::int64_t k : {std::int64_t{1}, n_ / 3, n_}) add({{2, n_}}, {{"k", k}});
  }

  void add_elementwise() {
    const std::vector<std::vector<Shape>> shapes[] = {
        {{{n_}}},
        {{{n_}, {n_}}, {{n_}, {}}, {{}, {n_}}, {{n_, 1}, {3}}, {{2}, {n_, 1}}, {{3, n_}, {n_}}},
        {{{n_}, {n_}, {n_}}, {{n_}, {n_}, {}}, {{}, {}, {n_}}, {{n_, 1}, {3}, {}}, {{3, n_}, {n_}, {3, 1}}}};
    for (const auto& each : shapes[op_.min_inputs - 1]) add(each);
  }

  const OpDef& op_;
  const DType dtype_;
  const std::int64_t n_;
};

/// Elements that fill their types: all bits of integers, floating numbers from -3 to 3 and, in each fifth length, one NaN.
std::vector<std::byte> data_for(const TensorType& type, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
  const std::int64_t count = type.elements();
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(bytes.data());
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t z = (seed * 1000003 + static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15;  // splitmix64
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
      z ^= z >> 29;
      if constexpr (std::is_same_v<T, bool>) {
        out[i] = z % 5 < 2;
      } else if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<T>(z >> 7);
      } else {
        const bool nan = count % 5 == 3 && i == count * 2 / 3;
        out[i] = ops::convert<T>(nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(z >> 11) * 0x6p-53 - 3);
      }
    }
  });
  return bytes;
}

/// Memory for a tensor, `offset` elements behind an aligned address, with guard bytes around it.
class GuardedMemory {
 public:
  GuardedMemory(const TensorType& type, std::int64_t offset)
      : type_(type), begin_(static_cast<std::size_t>(kGuard + offset * size_of(type.dtype))), memory_(begin_ + size() + kGuard, kFilling) {}
  [[nodiscard]] std::byte* data() { return memory_.data() + begin_; }
  [[nodiscard]] TensorView view() { return {&type_, data()}; }
  [[nodiscard]] Array array() { return Array::borrow(type_, data()); }
  void set(const std::vector<std::byte>& bytes) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] bool holds(const std::vector<std::byte>& bytes) { return bytes.empty() || std::memcmp(data(), bytes.data(), size()) == 0; }
  [[nodiscard]] bool guards_whole() const {
    const auto whole = [](std::byte byte) { return byte == kFilling; };
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(begin_), whole) &&
           std::all_of(memory_.end() - kGuard, memory_.end(), whole);
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;
  static constexpr std::byte kFilling{0xA5};
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(type_.bytes()); }
  const TensorType& type_;
  std::size_t begin_;
  std::vector<std::byte> memory_;
};

std::string describe(const Call& call, std::int64_t offset) {
  std::string text = std::string(call.op->name) + "(";
  for (std::size_t i = 0; i < call.inputs.size(); ++i) text += (i > 0 ? ", " : "") + to_string(call.inputs[i]);
  return text + ") -> " + to_string(call.results[0]) + " at offset " + std::to_string(offset);
}

/// Checks the kernel on operands `offset` elements behind aligned addresses; `over`: the operand that the result overwrites, or -1.
void check_kernel(const Call& call, const std::vector<std::vector<std::byte>>& data, const std::vector<Array>& expected, double length,
                  std::int64_t offset, int over) {
  std::vector<GuardedMemory> places, own;
  std::vector<TensorView> views, outputs;
  places.reserve(call.inputs.size());
  own.reserve(call.results.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    places.emplace_back(call.inputs[i], offset + static_cast<std::int64_t>(i));
    places.back().set(data[i]);
    views.push_back(places.back().view());
  }
  for (const TensorType& type : call.results) own.emplace_back(type, offset);
  std::vector<GuardedMemory>& results = over < 0 ? own : places;
  const std::size_t first = over < 0 ? 0 : static_cast<std::size_t>(over);
  for (std::size_t i = 0; i < call.results.size(); ++i) outputs.push_back(results[first + i].view());
  const Status status = host_kernel(*call.op)({*call.op, call.attributes, views, outputs, kNoOutput});
  ASSERT_TRUE(status.ok()) << describe(call, offset);
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    EXPECT_EQ(difference(results[first + i].array(), expected[i], length).value_or(""), "")
        << describe(call, offset) << (over < 0 ? "" : ", in place");
    EXPECT_TRUE(results[first + i].guards_whole()) << describe(call, offset) << " writes outside of its result";
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    EXPECT_TRUE(places[i].guards_whole() && (static_cast<int>(i) == over || places[i].holds(data[i]))) << describe(call, offset);
  }
}

/// Checks the reference implementation against its naive twin, and the kernel against the reference implementation.
void check(const Call& call, std::set<std::string>& twins) {
  std::vector<std::vector<std::byte>> data;
  std::vector<Array> inputs;
  for (const TensorType& type : call.inputs) {
    data.push_back(data_for(type, data.size() + 7));
    inputs.push_back(Array::borrow(type, data.back().data()));
  }
  std::vector<Array> expected;
  for (const TensorType& type : call.results) expected.emplace_back(type);
  ASSERT_TRUE(call.op->reference({call.attributes, inputs, expected, kNoOutput}).ok()) << describe(call, 0);
  const double length = reduction_length(*call.op, call.attributes, inputs, expected);
  if (const std::optional<Array> naive = naive_result(*call.op, call.attributes, inputs, call.results[0])) {
    twins.insert(std::string(call.op->name));
    EXPECT_EQ(difference(expected[0], *naive, length).value_or(""), "") << "reference implementation of " << describe(call, 0);
  }
  if (host_kernel(*call.op) == run_reference) return;
  for (const std::int64_t offset : {0, 1, 3}) check_kernel(call, data, expected, length, offset, -1);
  for (std::size_t i = 0; i < call.inputs.size() && call.op->elementwise(); ++i) {
    if (call.inputs[i] == call.results[0]) check_kernel(call, data, expected, length, 1, static_cast<int>(i));
  }
}

/// One test for each op with a kernel or a twin.
class Sweep : public ::testing::TestWithParam<const OpDef*> {};

const std::set<std::string> kWithTwin = {"sum",     "prod",         "mean",           "any",    "all",   "max",       "min",  "argmax",
                                         "argmin",  "matmul",       "cumulative_sum", "astype", "equal", "not_equal", "less", "less_equal",
                                         "greater", "greater_equal"};

/// Ops whose operands are matrices, windows, pairs or indices that must fit, or must not contain NaN: samples and tests/reference try them
/// at many lengths.
const std::set<std::string_view> kElsewhere = {"solve",
                                               "inv",
                                               "det",
                                               "slogdet",
                                               "cholesky",
                                               "qr",
                                               "eigh",
                                               "svd",
                                               "eigvalsh",
                                               "svdvals",
                                               "fft",
                                               "ifft",
                                               "rfft",
                                               "irfft",
                                               "dynamic_slice",
                                               "dynamic_update_slice",
                                               "take_along_axis",
                                               "gather_nd",
                                               "scatter",
                                               "scatter_add",
                                               "scatter_nd",
                                               "searchsorted",
                                               "tree_ensemble",
                                               "quantized_matmul",
                                               "quantized_conv",
                                               "non_max_suppression",
                                               "attention_gradient",
                                               "conv_input_gradient",
                                               "conv_weight_gradient",
                                               "max_pool_gradient",
                                               "max_pool_gather",
                                               "avg_pool_gradient",
                                               "roi_align",
                                               "grid_sample"};

std::vector<const OpDef*> swept_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (kElsewhere.contains(op->name)) continue;
    if (host_kernel(*op) != run_reference || kWithTwin.contains(std::string(op->name))) ops.push_back(op);
  }
  return ops;
}

TEST_P(Sweep, KernelsAgreeWithReferencesAtEveryLength) {
  const OpDef& op = *GetParam();
  std::set<std::string> twins;
  std::size_t calls = 0, lengths = 0;
  for (const DType dtype : kAllTypes) {
    lengths = 0;
    // With a sanitizer, only every fifth of the longer lengths is tested, since all would take minutes.
    for (std::int64_t n = 0; n <= kLongest && !HasFailure(); n += kSanitized && n >= 40 ? 5 : 1) {
      ++lengths;
      for (const Call& call : Calls(op, dtype, n).all) {
        check(call, twins);
        ++calls;
      }
    }
  }
  EXPECT_GE(calls, lengths) << "an op that the sweep does not know how to call";
  EXPECT_EQ(twins.contains(std::string(op.name)), kWithTwin.contains(std::string(op.name)));
}

INSTANTIATE_TEST_SUITE_P(Host, Sweep, ::testing::ValuesIn(swept_ops()), [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace cleave::testing

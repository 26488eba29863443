// Generated machine code of random groups of element-wise steps, against the reference implementations of the steps run one after the
// other: equal to the bit (any NaN equals any NaN), for every instruction set that this machine has, for lengths around multiples of the
// vector length, at misaligned addresses, with results that overwrite their inputs, and with no write outside of the results. If the system
// refuses executable memory, no code is generated and nothing fails.
#include "executor/host/code/code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "executor/device/kernel.h"
#include "graph/ops/op_table.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

#if defined(__linux__) && defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace cleave::testing {
namespace {

using runtime::host::Code;
using runtime::host::Instructions;

const char* const kSimple[] = {
    "add",         "subtract",   "multiply",    "divide",         "negative",    "abs",        "sign",        "minimum",
    "maximum",     "square",     "clip",        "sqrt",           "rsqrt",       "reciprocal", "relu",        "floor",
    "ceil",        "round",      "trunc",       "isnan",          "isfinite",    "isinf",      "equal",       "not_equal",
    "less",        "less_equal", "greater",     "greater_equal",  "logical_and", "logical_or", "logical_xor", "logical_not",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "where",       "astype"};
const char* const kOther[] = {"exp", "floor_divide", "remainder", "pow"};

/// A request with its inputs and the expected results of all steps.
struct Group {
  KernelRequest request;
  std::vector<bool> repeats;
  std::vector<Array> values;  ///< inputs, then results
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Group next() {
    group_ = {};
    length_ = pick(3) ? static_cast<std::int64_t>(pick(258)) : static_cast<std::int64_t>(pick(40));
    const bool eights = pick(2) > 0;
    types_ = eights ? std::vector{DType::f64, DType::i64, DType::boolean} : std::vector{DType::f32, DType::i32, DType::boolean};
    if (pick(4) == 0) types_.push_back(eights ? DType::f32 : DType::u8);
    for (std::size_t i = 0, count = 1 + pick(pick(4) ? 4 : 14); i < count; ++i) add_input();
    const std::size_t steps = 2 + pick(pick(4) ? 10 : 31);
    while (group_.request.steps.size() < steps) add_step();
    for (std::size_t s = 0; s < group_.request.steps.size(); ++s)
      if (pick(5) == 0 || s + 1 == group_.request.steps.size()) group_.request.written.push_back(s);
    return std::move(group_);
  }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, bool>) {
      return pick(2) > 0;
    } else {
      using Limits = std::numeric_limits<T>;
      constexpr bool floats = std::is_floating_point_v<T>;
      switch (pick(12)) {
        case 0: return T(0);
        case 1: return floats ? static_cast<T>(-0.0) : static_cast<T>(-1);
        case 2: return Limits::max();
        case 3: return Limits::lowest();
        case 4: return floats ? Limits::infinity() : T(1);
        case 5: return floats ? static_cast<T>(-Limits::infinity()) : T(2);
        case 6: return floats ? Limits::quiet_NaN() : T(3);
        case 7: return floats ? Limits::denorm_min() : T(4);
        case 8: return static_cast<T>(floats ? 2147483648.0 : 5);
        case 9: return static_cast<T>(floats ? -2147483649.5 : 6);
        default: {
          const double drawn = std::uniform_real_distribution<double>(-8, 8)(random_);
          return floats ? static_cast<T>(drawn) : static_cast<T>(static_cast<std::int64_t>(drawn));
        }
      }
    }
  }

  void add_input() {
    const bool repeats = !group_.values.empty() && pick(3) == 0;
    Array array(TensorType{types_[pick(types_.size())], repeats ? Shape{} : Shape{length_}});
    dispatch(array.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_arithmetic_v<T>) {
        for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<T>()[i] = element<T>();
      }
    });
    group_.request.input_types.push_back(array.type());
    group_.repeats.push_back(repeats);
    group_.values.push_back(std::move(array));
  }

  void add_step() {
    const OpDef& op = *find_op(pick(40) ? kSimple[pick(std::size(kSimple))] : kOther[pick(std::size(kOther))]);
    FusedStep step{{}, &op, &attributes_.emplace_back(), {}, {}};
    Attributes& attributes = attributes_.back();
    std::vector<TensorType> types;
    std::vector<TensorView> operands;
    for (int i = 0; i < op.max_inputs; ++i) {
      std::vector<Array>& values = group_.values;
      step.operands.push_back(pick(3) ? values.size() - 1 - pick(std::min<std::size_t>(4, values.size())) : pick(values.size()));
      Array& operand = values[step.operands.back()];
      types.push_back(operand.type());
      operands.push_back({&operand.type(), operand.mutable_bytes()});
    }
    if (op.name == "astype") attributes.set("dtype", types_[pick(types_.size())]);
    if (normalize_call(op, operands.size(), attributes)) return;
    const TypeResult typed = op.type_rule(types, attributes);
    const auto* results = std::get_if<std::vector<TensorType>>(&typed);
    if (!results || (*results)[0].shape != Shape{length_}) return;
    Array made((*results)[0]);
    const TensorView view{&made.type(), made.mutable_bytes()};
    const OpContext context{[](std::string_view) {}};
    ASSERT_TRUE(run_reference({op, attributes, operands, std::span(&view, 1), context}).ok());
    step.type = made.type();
    group_.request.steps.push_back(std::move(step));
    group_.values.push_back(std::move(made));
  }

  std::mt19937 random_;
  std::int64_t length_ = 0;
  std::vector<DType> types_;
  Group group_;
  std::deque<Attributes> attributes_;
};

bool equal_bits(const std::byte* a, const std::byte* b, DType dtype) {
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x && y != y) return true;
    }
    return std::memcmp(a, b, sizeof x) == 0;
  });
}

constexpr std::size_t kGuard = 256;  ///< guard bytes around a value, which must not be touched
constexpr std::byte kUntouched{0xA5};

/// A value at a misaligned address.
struct MisalignedValue {
  std::vector<std::byte> memory;
  std::byte* data = nullptr;
  std::size_t bytes = 0;

  MisalignedValue(const Array& like, std::size_t offset, bool filled)
      : memory(static_cast<std::size_t>(like.type().bytes()) + 2 * kGuard, kUntouched),
        bytes(static_cast<std::size_t>(like.type().bytes())) {
    data = memory.data() + kGuard / 2 + offset;
    if (filled && bytes > 0) std::memcpy(data, like.bytes(), bytes);
  }
  [[nodiscard]] bool only_inside() const {
    const auto is_untouched = [](std::byte byte) { return byte == kUntouched; };
    return std::all_of(memory.data(), static_cast<const std::byte*>(data), is_untouched) &&
           std::all_of(static_cast<const std::byte*>(data) + bytes, memory.data() + memory.size(), is_untouched);
  }
};

struct Tally {
  std::size_t compiled = 0, alone = 0;
};

bool read_after(const KernelRequest& request, std::size_t value, std::size_t step) {
  for (; step < request.steps.size(); ++step)
    for (const std::size_t operand : request.steps[step].operands)
      if (operand == value) return true;
  return false;
}

/// Runs all of a group, piece by piece, and compares the written data. `on_top`: results overwrite inputs that are no longer read, where
/// possible.
void check(const Group& group, Instructions set, bool on_top, bool past_cache, unsigned seed, Tally& tally) {
  const KernelRequest& request = group.request;
  const std::size_t inputs = request.input_types.size();
  std::mt19937 random(seed);
  const std::size_t fewest = 1 + seed % 2;
  std::deque<MisalignedValue> places;
  for (std::size_t v = 0; v < group.values.size(); ++v) places.emplace_back(group.values[v], past_cache ? 0 : random() % 64, v < inputs);
  std::vector<std::byte*> at;
  for (MisalignedValue& place : places) at.push_back(place.data);
  const std::int64_t length = request.steps[0].type.elements();
  for (std::size_t step = 0; step < request.steps.size();) {
    const std::unique_ptr<Code> code = Code::make(request, group.repeats, step, fewest, set);
    if (!code) {
      const std::size_t made = inputs + step++;
      ++tally.alone;
      if (places[made].bytes > 0) std::memcpy(at[made], group.values[made].bytes(), places[made].bytes);
      continue;
    }
    ASSERT_GE(code->steps(), fewest);
    tally.compiled += code->steps();
    std::vector<const std::byte*> reads;
    std::vector<std::byte*> writes;
    std::vector<std::size_t> taken;
    for (const std::size_t value : code->reads()) reads.push_back(at[value]);
    for (const std::size_t value : code->writes()) {
      for (const std::size_t over : code->reads()) {
        if (!on_top || group.values[over].type() != group.values[value].type() || read_after(request, over, step + code->steps())) continue;
        if (over >= inputs && std::find(request.written.begin(), request.written.end(), over - inputs) != request.written.end()) continue;
        if (std::find(taken.begin(), taken.end(), over) != taken.end()) continue;
        taken.push_back(over);
        at[value] = at[over];
        break;
      }
      writes.push_back(at[value]);
    }
    code->run(reads.data(), writes.data(), length, past_cache);
    for (const std::size_t value : code->writes()) {
      const Array& expected = group.values[value];
      const auto size = static_cast<std::size_t>(size_of(expected.dtype()));
      for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
        ASSERT_TRUE(equal_bits(at[value] + i * size, expected.bytes() + i * size, expected.dtype()))
            << "step " << value - inputs << ", `" << request.steps[value - inputs].op->name << "`, element " << i << " of " << length;
      }
    }
    step += code->steps();
  }
  for (const MisalignedValue& place : places) ASSERT_TRUE(place.only_inside());
}

class CodeOf : public ::testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override {
    if (runtime::host::instructions() < GetParam()) GTEST_SKIP() << "this machine has no " << to_string(GetParam());
    Generator generator(1);
    Tally tally;
    for (int i = 0; i < 20 && tally.compiled == 0; ++i) check(generator.next(), GetParam(), false, false, 1, tally);
    if (tally.compiled == 0) GTEST_SKIP() << "cleave was built without Xbyak";
  }
};

TEST_P(CodeOf, EqualsTheStepsOneAfterTheOther) {
  Tally tally;
  for (unsigned seed = 0; seed < draws(3000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    const Group group = generator.next();
    for (const bool on_top : {false, true}) check(group, GetParam(), on_top, seed % 3 == 0, seed, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(2 * tally.compiled, tally.alone) << "too few of the steps run as code for this to say much";
}

/// Steps whose values are all live at the end: more than there are registers, for numbers and for masks.
TEST_P(CodeOf, KeepsMoreValuesThanThereAreRegisters) {
  for (const bool masks : {false, true}) {
    Group group;
    Attributes attributes;
    Array x(TensorType{DType::f32, {37}}), y(TensorType{DType::f32, {37}});
    for (int i = 0; i < 37; ++i) {
      x.mutable_data<float>()[i] = static_cast<float>(i) / 4 - 4;
      y.mutable_data<float>()[i] = static_cast<float>(i % 5);
    }
    group.request.input_types = {x.type(), y.type()};
    group.repeats = {false, false};
    group.values = {x, y};
    const OpContext context{[](std::string_view) {}};
    const auto add = [&](const char* name, std::vector<std::size_t> operands, DType dtype) {
      const OpDef& op = *find_op(name);
      Array made(TensorType{dtype, {37}});
      std::vector<TensorView> views;
      for (const std::size_t operand : operands) views.push_back({&group.values[operand].type(), group.values[operand].mutable_bytes()});
      const TensorView view{&made.type(), made.mutable_bytes()};
      EXPECT_TRUE(run_reference({op, attributes, views, std::span(&view, 1), context}).ok());
      group.request.steps.push_back({{}, &op, &attributes, std::move(operands), made.type()});
      group.values.push_back(std::move(made));
      return group.values.size() - 1;
    };
    std::vector<std::size_t> alive{0};
    for (int i = 0; i < 40; ++i) alive.push_back(add("add", {alive.back(), 1}, DType::f32));
    if (masks)
      for (std::size_t& value : alive) value = add("less", {value, 1}, DType::boolean);
    std::size_t all = alive[0];
    for (const std::size_t value : alive)
      all = masks ? add("logical_xor", {all, value}, DType::boolean) : add("maximum", {all, value}, DType::f32);
    group.request.written = {group.request.steps.size() - 1};
    Tally tally;
    check(group, GetParam(), false, false, 1, tally);
    EXPECT_EQ(tally.alone, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, CodeOf, ::testing::Values(Instructions::avx2, Instructions::avx512),
                         [](const auto& test) { return test.param == Instructions::avx2 ? "Avx2" : "Avx512"; });

#if defined(__linux__) && defined(__x86_64__)
/// Runs in a separate process, which may no longer make memory executable.
int make_without_permission() {
  Generator generator(1);
  const Group group = generator.next();
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 2;
  for (std::size_t step = 0; step < group.request.steps.size(); ++step)
    if (Code::make(group.request, group.repeats, step, 1)) return 1;
  return 0;
}

TEST(CodeDeathTest, IsNotThereWhereTheSystemRefusesExecutableMemory) {
  EXPECT_EXIT(
      std::_Exit(make_without_permission()), [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 1; }, "");
}
#endif

}  // namespace
}  // namespace cleave::testing

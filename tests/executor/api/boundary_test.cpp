// The boundary around foreign code: whatever a library, a host function, a callback or the caller does to its thread's state, results are
// computed in the standard floating-point environment, and each side gets its own state back.
#include "graph/base/boundary.h"

#include <fcntl.h>
#include <fenv.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "graph/base/thread.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/compiled.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kSmallNormal = 3e-38F;  ///< a quarter of it is denormal

/// An environment that must not affect any result: denormal numbers are flushed, and numbers are rounded upwards.
FloatEnvironment strange() {
  FloatEnvironment environment;
#if defined(__x86_64__)
  environment.sse |= 0x8040U | 0x4000U;  // flushes denormal results and operands; rounds upwards
  environment.x87 |= 0x0800U;
#elif defined(__aarch64__)
  environment.control = (1U << 24) | (1U << 22);
#endif
  return environment;
}

/// Sets an environment, and restores the previous one at its end.
class WithFloats {
 public:
  explicit WithFloats(const FloatEnvironment& environment) { environment.set(); }
  WithFloats(const WithFloats&) = delete;
  WithFloats& operator=(const WithFloats&) = delete;
  ~WithFloats() { before_.set(); }

 private:
  const FloatEnvironment before_ = FloatEnvironment::current();
};

/// Results that a changed environment affects, computed before and after a call of `f`: denormal numbers, and thirds.
Graph around(const std::function<void()>& f) {
  return trace("around", {{"x", "f32[4000]"}, {"y", "f64[2000]"}}, [&](Tensor x, Tensor y) {
    Tensor before = named("before", x * 0.25);
    Tensor called = host_call(
        "f", {"f32[4000]"},
        [f](std::span<const float> in, std::span<float> out) {
          std::copy(in.begin(), in.end(), out.begin());
          if (f) f();
        },
        before);
    return std::tuple(before, named("behind", called * 0.5), named("thirds", (called * 0 + 1) / 3), named("wide", y / 3),
                      named("sum", sum(x / 7)), named("product", matmul(reshape(x, {40, 100}), reshape(x, {100, 40}))));
  });
}

std::map<std::string, Array> inputs() {
  return {{"x", Array::of<float>({4000}, std::vector<float>(4000, kSmallNormal))},
          {"y", Array::of<double>({2000}, std::vector<double>(2000, 3e-308))}};
}

void expect_equal(const Result<RunResult>& result, const RunResult& expected) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const auto& [name, array] : expected.outputs) EXPECT_EQ(*result->output(name), array) << name;
}

class Boundary : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, Boundary, ::testing::Values("none", "simulated"));

TEST_P(Boundary, TheCallersFloatsChangeNoResultAndAreItsOwnAgain) {
  const Result<RunResult> expected = compiled_on(around(nullptr), GetParam()).run(inputs());
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  ASSERT_EQ(std::fpclassify(expected->output("before")->data<float>()[0]), FP_SUBNORMAL);
  const WithFloats with(strange());
  const Executable program = compiled_on(around(nullptr), GetParam());
  expect_equal(program.run(inputs()), *expected);
  expect_equal(program.submit(inputs()).wait(), *expected);
  expect_equal(runtime::run_reference(around(nullptr), {.inputs = inputs()}),
               *runtime::run_reference(around(nullptr), {.inputs = inputs()}));
  EXPECT_TRUE(FloatEnvironment::current().computes_as(strange()));
}

TEST_P(Boundary, ConstantsAreFoldedInTheStandardEnvironment) {
  const auto folded = [&] {
    const Graph graph = parse_model("cleave: 1\nprogram:\n  - y: exp(full([3], -88.0)) * 0.3\noutputs: [y]\n", "folded.yaml");
    return compiled_on(graph, GetParam()).run();
  };
  const Result<RunResult> expected = folded();
  ASSERT_TRUE(expected.ok());
  const WithFloats with(strange());
  expect_equal(folded(), *expected);
}

TEST_P(Boundary, AHostFunctionsFloatsChangeNoLaterOperation) {
  const Result<RunResult> expected = compiled_on(around(nullptr), GetParam()).run(inputs());
  ASSERT_TRUE(expected.ok());
  expect_equal(compiled_on(around([] { strange().set(); }), GetParam()).run(inputs()), *expected);
  expect_equal(compiled_on(around([] { fesetround(FE_TOWARDZERO); }), GetParam()).run(inputs()), *expected);
#if defined(__x86_64__)
  const auto unmask = [] {
    FloatEnvironment trapping;
    trapping.sse &= ~0x1f80U;
    trapping.x87 &= static_cast<std::uint16_t>(~0x3fU);
    trapping.set();
  };
  expect_equal(compiled_on(around(unmask), GetParam()).run(inputs()), *expected);
#endif
  EXPECT_TRUE(FloatEnvironment::current().computes_as({}));
}

TEST_P(Boundary, CallbacksMayDoTheSame) {
  const Graph graph = around(nullptr);
  const Executable program = compiled_on(graph, GetParam());
  const Result<RunResult> expected = program.run(inputs());
  ASSERT_TRUE(expected.ok());
  RunOptions options;
  options.inputs = inputs();
  options.on_output = [](std::string_view, const Array&) { strange().set(); };
  options.on_timeline = [](std::span<const TimelineEvent>) { strange().set(); };
  options.on_verify = [](std::string_view, double) { strange().set(); };
  options.verify = true;
  expect_equal(program.run(options), *expected);
  CompileOptions compile_options{.device = GetParam(), .placement = Policy::accelerator};
  if (GetParam() == "none") compile_options.placement = Policy::optimal;
  (void)compile(graph, compile_options, [](const Diagnostic&) { strange().set(); });
  EXPECT_TRUE(FloatEnvironment::current().computes_as({}));
}

TEST_P(Boundary, ALibraryLinkedWithFastMathChangesNoResult) {
  const test::TemporaryFolder folder;
  const std::string source = folder.write("fast.c", R"(
#include <cleave/host_function.h>
#include <string.h>
int fast(int v, const cleave_array *i, int n, cleave_array *r, int m, char *e, size_t s) {
  memcpy(r[0].data, i[0].data, 16);
  return 0;
}
)");
  const std::string command = std::string("gcc -shared -fPIC -O2 -ffast-math -I ") + source_dir() + "/executor/host/include -o " +
                              folder.path("libfast.so") + " " + source;
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no C compiler";
  const Graph graph = parse_model(
      "cleave: 1\ninputs: {x: \"f32[4]\"}\nhost_functions: {fast: {library: libfast.so, takes: [\"f32[4]\"], returns: \"f32[4]\"}}\n"
      "program:\n  - y: x * 0.5\n  - z: fast(y) * 0.5\noutputs: [y, z]\n",
      folder.path("fast.yaml"));
  const Executable program = compiled_on(graph, GetParam());
  EXPECT_TRUE(FloatEnvironment::current().computes_as({}));
  const Result<RunResult> result = program.run({{"x", Array::of<float>({4}, {3e-39F, 3e-39F, 3e-39F, 3e-39F})}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output("y")->at(0), 3e-39F * 0.5F);
  EXPECT_EQ(result->output("z")->at(3), 3e-39F * 0.25F);
}

TEST(Thread, StartsInTheStandardEnvironment) {
  const WithFloats with(strange());
  bool standard = false;
  {
    const Result<Thread> thread = Thread::start([&] { standard = FloatEnvironment::current().computes_as({}); });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_TRUE(standard);
}

std::vector<int> blocked_signals() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  std::vector<int> signals;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&now, signal) == 1) signals.push_back(signal);
  return signals;
}

TEST_P(Boundary, TheThreadAndTheProcessAreAsTheyWereBehindAHostFunction) {
  const std::filesystem::path here = std::filesystem::current_path();
  const std::vector<int> blocked = blocked_signals();
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  const locale_t of_thread = uselocale(nullptr);
  const Graph graph = around([] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    if (!std::setlocale(LC_ALL, "C.UTF-8")) std::setlocale(LC_ALL, "POSIX");
    static const locale_t other = newlocale(LC_ALL_MASK, "C", nullptr);
    uselocale(other);
    std::filesystem::current_path("/");
    errno = EDOM;
  });
  const Executable program = compiled_on(graph, GetParam());
  const Result<RunResult> result = program.run(inputs());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(std::filesystem::current_path(), here);
  EXPECT_EQ(blocked_signals(), blocked);
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale);
  EXPECT_EQ(uselocale(nullptr), of_thread);
}

TEST(ForeignCall, KeepsErrno) {
  errno = ERANGE;
  {
    const ForeignCall call("the host function", "f");
    errno = EDOM;
  }
  EXPECT_EQ(errno, ERANGE);
}

TEST(ForeignCall, CostsLessThanThreeMicroseconds) {  // about 200 ns if a system call takes 60 ns
  double least = 1e9;                                // other programs may stand in the way of a round
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) const ForeignCall call("the host function", "f");
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count() / 1000);
  }
  RecordProperty("nanoseconds", std::to_string(least));
  EXPECT_LT(least, kSanitized ? 30000 : 3000);
}

jmp_buf far_away;

/// Runs a program whose host function leaves it by longjmp.
void run_and_jump(const Executable& program, const std::map<std::string, Array>& given) {
  if (setjmp(far_away) == 0) (void)program.run(given);
}

TEST(ForeignCall, IsNamedIfItWasLeftByLongjmp) {
  if (kSanitized) GTEST_SKIP() << "what it leaves behind is a leak";
  const auto jumps = std::make_shared<bool>(true);
  const Executable program = compiled_on(around([jumps] {
                                           if (*jumps) longjmp(far_away, 1);  // NOLINT(cert-err52-cpp)
                                         }),
                                         "none");
  const std::map<std::string, Array> given = inputs();
  run_and_jump(program, given);
  *jumps = false;
  const Result<RunResult> next = program.run(given);
  ASSERT_FALSE(next.ok());
  EXPECT_THAT(next.error().message, HasSubstr("the host function `f` was left by longjmp"));
  EXPECT_TRUE(program.run(given).ok());
}

}  // namespace
}  // namespace cleave::testing

// Out of memory at every allocation: a program with every construct of a graph is traced, planned and run while one allocation after the
// other fails. Every public function returns a machine Error, and the next try with enough memory succeeds.
#include <gtest/gtest.h>

#include <cleave/cleave.h>

#include "graph/base/exceptions.h"
#include "tests/support/sanitized.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using Shortage = ScarceMemory::Shortage;

constexpr const char* kModel = R"(cleave: 1
model: everything
dims: {n: 8}
inputs:
  x: "f32[n, n]"
parameters:
  w: {type: "f32[n, n]", uniform: [-1, 1], seed: 1}
program:
  - y: concat([x, w], axis=0)
  - for: i in 3
    do:
      - w: matmul(w, x) * 0.5
      - if: i % 2 == 0
        then:
          - w: tanh(w)
  - "values, counts": unique(floor(w))
  - print("sum", sum(w))
outputs: [w, y, counts]
)";

/// The outcome of one try: nothing if it succeeded. A try allocates no memory for its outcome.
using Attempt = std::function<std::optional<ErrorKind>()>;

std::optional<ErrorKind> kind_of(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error) return diagnostic.kind == DiagnosticKind::machine ? ErrorKind::machine : ErrorKind::user;
  return std::nullopt;
}
template <class R>  // a Result or a Status
std::optional<ErrorKind> kind_of(const R& result) {
  return result.ok() ? std::nullopt : std::optional(result.error().kind);
}

/// Lets the first allocation fail, then the second, and so on, until `attempt` needs no more.
void expect_errors(const char* what, const Attempt& attempt,
                   std::initializer_list<Shortage> shortages = {Shortage::once, Shortage::lasting}) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have an allocator of their own";
  ASSERT_EQ(attempt(), std::nullopt) << what;
  for (const Shortage shortage : shortages) {
    std::int64_t step = 1, tries = 0;
    bool refused = true;
    for (std::int64_t allowed = 0; refused; allowed += step) {
      std::optional<ErrorKind> error;
      {
        const ScarceMemory scarce(allowed, shortage);
        error = attempt();
        refused = scarce.refused();
      }
      if (error) {
        ASSERT_EQ(*error, ErrorKind::machine) << what << " after " << allowed;
      }
      if (refused && shortage == Shortage::lasting) {
        ASSERT_TRUE(error) << what << " after " << allowed << ": no memory, and no error";
      }
      if (++tries % 200 == 0) step += step / 2 + 1;
    }
    ASSERT_EQ(attempt(), std::nullopt) << what << ": it does not recover";
  }
}

RunOptions inputs() {
  RunOptions options;
  options.inputs.emplace("x", Array(TensorType{DType::f32, {8, 8}}));
  options.print = [](std::string_view) {};
  return options;
}

TEST(ScarceMemory, ReadingAModel) {
  const std::string name = "model.yaml";
  // A Graph needs a little memory to report that there is none.
  const auto read = [&] { return kind_of(parse_model(kModel, name).diagnostics); };
  expect_errors("parse_model", read, {Shortage::once});
}

TEST(ScarceMemory, Tracing) {
  const Input inputs[] = {{"x", "f32[4, 4]"}, {"w", "f32[4, 4]"}};
  const auto body = [](const Tensor& x, const Tensor& w) {
    return for_loop(3, matmul(x, w) + 0.5, [&](const Tensor&, const Tensor& state) { return tanh(state) + x; });
  };
  const auto traced = [&] { return kind_of(trace("t", inputs, body).diagnostics); };
  expect_errors("trace", traced, {Shortage::once});
}

TEST(ScarceMemory, FilesInAndOut) {
  const test::TemporaryFolder folder;
  const Graph graph = parse_model(kModel, "model.yaml");
  const Array array = Array::of<float>({3}, {1, 2, 3});
  const TensorType type{DType::f64, {3}};
  const std::string of_graph = folder.path("a.graph"), npy = folder.path("a.npy"), csv = folder.write("a.csv", "1,2,3\n");
  expect_errors("save", [&] { return kind_of(graph.save(of_graph)); });
  expect_errors("load", [&] { return kind_of(Graph::load(of_graph)); });
  expect_errors("write_npy", [&] { return kind_of(write_npy(npy, array)); });
  expect_errors("read_npy", [&] { return kind_of(read_npy(npy)); });
  expect_errors("read_array", [&] { return kind_of(read_array(csv, type)); });
  if (IsSkipped()) return;
  EXPECT_EQ(folder.files(), 3U);
}

TEST(ScarceMemory, Compiling) {
  const Graph graph = parse_model(kModel, "model.yaml");
  const CompileOptions options{.device = "simulated"};
  expect_errors("compile", [&] { return kind_of(compile(graph, options)); });
}

TEST(ScarceMemory, Saying) {
  const Result<Executable> executable = compile(parse_model(kModel, "model.yaml"), {.device = "simulated"});
  ASSERT_TRUE(executable);
  for (const auto& say : {&Executable::explain, &Executable::json, &Executable::dot, &Executable::sarif})
    expect_errors("explain", [&, said = ((*executable).*say)()]() -> std::optional<ErrorKind> {
      const std::string text = ((*executable).*say)();
      if (text == said) return std::nullopt;
      return text == "out of memory" ? ErrorKind::machine : ErrorKind::user;
    });
}

class ScarceMemoryOn : public ::testing::TestWithParam<const char*> {};

TEST_P(ScarceMemoryOn, Running) {
  const Result<Executable> executable = compile(parse_model(kModel, "model.yaml"), {.device = GetParam()});
  ASSERT_TRUE(executable);
  const RunOptions options = inputs();
  expect_errors("run", [&] { return kind_of(executable->run(options)); });
  expect_errors("submit", [&]() -> std::optional<ErrorKind> {
    RunOptions given;
    try {
      given = options;
    } catch (const std::bad_alloc&) {
      return ErrorKind::machine;  // a copy of the caller's
    }
    return kind_of(executable->submit(std::move(given)).wait());
  });
  RunOptions more = options;
  more.timeline = more.observe = more.verify = true;
  more.on_output = [](std::string_view, const Array&) {};
  expect_errors("run with everything on", [&] { return kind_of(executable->run(more)); });
}

INSTANTIATE_TEST_SUITE_P(Devices, ScarceMemoryOn, ::testing::Values("none", "simulated"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace cleave::testing

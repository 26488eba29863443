// System resources that a run uses after the first run of a program: nothing that grows with its steps, and no page that is touched for the
// first time.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace {
std::atomic<std::int64_t> allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace cleave::testing {
namespace {

Executable compiled(const Graph& graph, const CompileOptions& options) {
  Result<Executable> program = compile(graph, options);
  if (!program) ADD_FAILURE() << to_string(program.error().location) << ": " << program.error().message;
  return *program;
}

/// A loop of products, chains, reductions and movement.
Graph loop(int trips) {
  return trace("loop", {{"x", "f32[16, 16]"}, {"b", "f32[16]"}}, [trips](Tensor x, Tensor b) {
    Tensor last = for_loop(trips, x, [&](Tensor, Tensor s) {
      Tensor product = matmul(transpose(s), x) * 0.01 + b;
      return tanh(product - mean(product, {.axis = 0})) + to_host(sum(s)) * 1e-3;
    });
    return named("y", last);
  });
}

/// On the host.
Tensor centred(Tensor x) {
  const Scope host = place(Side::host);
  return x - mean(x, {.axis = 1, .keepdims = true});
}

/// The host sends and receives values in chunks while it computes on them.
Graph large_loop(int trips) {
  return trace("large", {{"x", "f32[900, 1000]"}}, [trips](Tensor x) {
    const Tensor last = for_loop(trips, x, [](Tensor, Tensor s) {
      const Tensor seen = to_accelerator(s) * 0.5F;
      return to_accelerator(centred(seen)) * 0.25F;
    });
    return named("y", last);
  });
}

/// The least number of allocations of a run, after two. How the threads of a run meet may cost a run one more.
std::int64_t allocations_of(const Graph& graph, const char* device) {
  CompileOptions options{.device = device, .placement = device == std::string_view("none") ? Policy::host : Policy::accelerator};
  const Executable program = compiled(graph, options);
  RunOptions run;
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::input) run.inputs.emplace(graph.values[node.results[0]].name, Array(graph.values[node.results[0]].type));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(program.run(run).ok());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = allocations;
    EXPECT_TRUE(program.run(run).ok());
    least = std::min<std::int64_t>(least, allocations - before);
  }
  return least;
}

TEST(SteadyState, StepsAllocateNothing) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer allocates for itself";
  for (const char* device : {"none", "simulated"})
    EXPECT_EQ(allocations_of(loop(10), device), allocations_of(loop(3000), device)) << device;
  EXPECT_EQ(allocations_of(large_loop(5), "simulated"), allocations_of(large_loop(60), "simulated")) << "values in parts";
}

TEST(SteadyState, RunsTouchNoNewPages) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has pages of its own";
  const Graph graph = trace("large", {{"x", "f32[1024, 1024]"}}, [](Tensor x) {
    Tensor product = exp(-x) * 0.5 + x;
    return std::tuple(named("y", product + transpose(product)), named("total", sum(product)));
  });
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  const Executable program = compiled(graph, {.device = "none"});
  RunOptions run;
  run.inputs.emplace("x", Array(TensorType{DType::f32, {1024, 1024}}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(program.run(run).ok());
  const auto before = faults();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(program.run(run).ok());
  EXPECT_LT(faults() - before, 100) << "a result is 1024 pages";
}

}  // namespace
}  // namespace cleave::testing

// Fusion: groups have the members that the planner announced, change no result, and need fewer launches and less memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "executor/cuda/back_end.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/memory/fusion.h"
#include "executor/memory/plan_memory.h"
#include "graph/passes/dataflow.h"
#include "partitioner/apply/kernel_rows.h"
#include "partitioner/machine/fusion.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Axes = std::vector<std::int64_t>;

class Model {
 public:
  Operand input(const char* name, Shape shape, DType dtype = DType::f32) {
    return tracer_.input(name, {dtype, std::move(shape)}, {}, line(1));
  }
  Operand operator()(const char* op, std::vector<Operand> inputs, Attributes attributes = {}) {
    return tracer_.call(*find_op(op), inputs, std::move(attributes), line(2));
  }
  void output(const char* name, const Operand& value) { tracer_.output(name, value, line(3)); }
  std::shared_ptr<const Graph> finish() { return std::make_shared<const Graph>(tracer_.finish()); }

 private:
  Tracer tracer_{"model"};
};

/// Each group as "multiply add -> add": its operations, and those whose results are read outside.
std::vector<std::string> groups_of(const std::shared_ptr<const Graph>& graph) {
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  std::vector<std::string> texts;
  for (const FusionGroup& group : find_fusion(*planned.program, kAccelerator, cuda::fuses).groups) {
    std::string text;
    for (const NodeId node : group.nodes) text += std::string(graph->nodes[node].op->name) + " ";
    text += "->";
    for (const ValueId result : group.results) text += " " + std::string(graph->nodes[graph->values[result].producer].op->name);
    texts.push_back(text);
  }
  return texts;
}

TEST(Fusion, TakesChainsAndTheReductionAtTheirEnd) {
  Model m;
  const Operand x = m.input("x", {8, 4}), b = m.input("b", {4});
  const Operand y = m("relu", {m("add", {m("multiply", {x, x}), b})});
  m.output("y", m("sum", {m("sqrt", {y})}, {{"axis", Axes{1}}}));
  EXPECT_THAT(groups_of(m.finish()), ElementsAre("multiply add relu sqrt sum -> sum"));
}

TEST(Fusion, WritesWhatOthersRead) {
  Model m;
  const Operand x = m.input("x", {8});
  const Operand a = m("exp", {x}), b = m("negative", {a});
  m.output("b", m("tanh", {b}));
  m.output("m", m("cumulative_sum", {a}));
  EXPECT_THAT(groups_of(m.finish()), ElementsAre("exp negative tanh -> exp tanh"));
}

TEST(Fusion, KeepsApartWhatHasNoOneKernel) {
  Model m;
  const Operand x = m.input("x", {8, 4}), y = m.input("y", {4}), z = m.input("z", {4});
  const Operand small = m("exp", {y});  // has another shape than the next operation
  const Operand wide = m("add", {x, small});
  const Operand sums = m("sum", {wide}, {{"axis", Axes{1}}});  // `wide` is read again: a reduction's kernel writes its result alone
  m.output("scaled", m("multiply", {wide, wide}));
  m.output("sums", sums);
  const Operand moved = m("flip", {z});  // not an element-wise operation
  m.output("moved", m("negative", {moved}));
  EXPECT_THAT(groups_of(m.finish()), ElementsAre("add multiply -> add multiply"));
}

TEST(Fusion, TakesTransposesFromWhereverTheyStand) {
  Model m;
  const Operand x = m.input("x", {8, 4}), w = m.input("w", {4, 3}), y = m.input("y", {8, 3});
  const Operand turned = m("transpose", {x});
  const Operand errors = m("subtract", {m("matmul", {x, w}), y});
  m.output("gradient", m("matmul", {turned, errors}));
  m.output("twice", m("matmul", {m("transpose", {errors}), m("transpose", {m("transpose", {y})})}));
  const Operand kept = m("transpose", {w});
  m.output("kept", kept);
  m.output("product", m("matmul", {y, kept}));
  EXPECT_THAT(groups_of(m.finish()), ElementsAre("transpose matmul -> matmul", "transpose transpose matmul -> matmul"));
}

TEST(Fusion, NeedsAConnection) {
  Model m;
  const Operand x = m.input("x", {8}), y = m.input("y", {8});
  const Operand a = m("exp", {x}), b = m("sin", {y});
  m.output("a", a);
  m.output("b", b);
  EXPECT_THAT(groups_of(m.finish()), IsEmpty());
}

/// Groups of random programs have the properties that fusion.h states.
TEST(Fusion, GroupsAreClosedNeighboursWithAllTheirReaders) {
  std::size_t groups = 0, hidden = 0;
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(random_graph(seed));
    const Planned planned = plan_on_cuda(graph, seed % 2 == 0 ? Where::accelerator : Where::random, seed);
    const DeviceProgram& device = planned.program->devices[kAccelerator];
    const Fusion fusion = find_fusion(*planned.program, kAccelerator, cuda::fuses);
    const MemoryPlan plan = plan_memory(*planned.program, kAccelerator, false, fusion);
    // A value of the group that is read by a step outside must be one of the group's results.
    const auto check_read = [&](ValueId value, NodeId reader) {
      const FusionGroup* group = fusion.group(graph->values[value].producer);
      if (!group) return;
      const bool inside = reader.valid() && fusion.group(reader) == group;
      const bool written = std::find(group->results.begin(), group->results.end(), value) != group->results.end();
      EXPECT_TRUE(inside || written);
    };
    for (const Block& block : device.blocks) {
      const FusionGroup* last = nullptr;
      std::set<const FusionGroup*> left;
      for (const Step& step : block.steps) {
        const NodeKind kind = graph->nodes[step.node].kind;
        if (step.kind == StepKind::send) check_read(step.value, {});
        if (step.kind == StepKind::compute)
          for (const ValueId input : graph->nodes[step.node].inputs) check_read(input, step.node);
        for (const std::vector<NodeId>* nodes : {&step.carried, &step.merges})
          for (const NodeId node : *nodes)
            for (const ValueId input : graph->nodes[node].inputs) check_read(input, {});
        if (step.kind == StepKind::compute && kind != NodeKind::operation && kind != NodeKind::counter) continue;
        const FusionGroup* group = step.kind == StepKind::compute ? fusion.group(step.node) : nullptr;
        // A value whose only reader is the next operation, such as a transpose before a product, may be computed anywhere before it.
        if (group && step.node != group->nodes.back() && !graph->nodes[step.node].op->elementwise() &&
            graph->nodes[step.node].inputs.size() == 1)
          continue;
        if (last && group != last) left.insert(last);
        EXPECT_FALSE(group && left.contains(group)) << "a group with something between its operations";
        last = group;
      }
    }
    for (const FusionGroup& group : fusion.groups) {
      ++groups;
      EXPECT_GE(group.nodes.size(), 2U);
      for (const NodeId node : group.nodes) {
        const ValueId result = graph->nodes[node].results[0];
        const bool written = std::find(group.results.begin(), group.results.end(), result) != group.results.end();
        EXPECT_EQ(plan.storage_of[result] != kNoStorage, written) << "what nobody else reads has memory, or what others read has none";
        hidden += written ? 0 : 1;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(groups, draws(100U));
  EXPECT_GT(hidden, draws(50U));
}

/// So a plan may rely on each part of a group being fusible.
TEST(Fusion, TheRuleTakesEveryPartOfWhatItTakes) {
  std::size_t parts = 0;
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_graph(seed);
    const std::vector<int> uses = count_uses(graph);
    for (const FusibleGroup& group : find_fusible(graph, Dataflow(graph), kAccelerator, cuda::fuses)) {
      const auto begin = group.nodes.begin();
      for (std::size_t first = 0; first < group.nodes.size(); ++first) {
        for (std::size_t end = std::max(first, group.pulled) + 2; end <= group.nodes.size(); ++end) {
          if (first > 0 && first < group.pulled) continue;
          const std::vector<NodeId> part(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end));
          EXPECT_TRUE(cuda::fuses(request_for(graph, make_group(graph, part, uses))));
          ++parts;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(parts, draws(200U));
}

/// Every saving of a placement corresponds to a kernel of the executor.
TEST(Fusion, IsWhatThePlanCountedOn) {
  std::size_t counted = 0, partial = 0;
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(random_graph(seed));
    Diagnostics diagnostics;
    const CostedProblem costed = make_problem(*graph, fused_costs(), diagnostics);
    const Placement placement = place(costed.problem, seed % 3 == 0 ? Where::optimal : Where::random, seed);
    const Transfers transfers = make_transfers(*graph, costed, placement);
    const Program program = split(graph, *costed.uses, placement, transfers, seed % 3, costed.fusible);
    const FusibleGroups counted_on = kernels_of(costed.fusible, placement);
    const auto all_stand = [&](DeviceId side) { return program.kernels[side].size() == counted_on[side].size(); };
    if (!all_stand(kHost) || !all_stand(kAccelerator)) continue;  // groups of the two sides waited for each other in a circle
    const Fusion fusion = find_fusion(program, kAccelerator, cuda::fuses);
    for (const PlacementProblem::Saving& saving : costed.problem.savings) {
      if (saving.accelerator_seconds <= 0) continue;
      const auto there = [&](std::int32_t node) { return placement.on_accelerator[node] && !(saving.alone && placement.on_host[node]); };
      if (!there(saving.node) || !std::all_of(saving.with.begin(), saving.with.end(), there)) continue;
      const FusionGroup* group = fusion.group(NodeId(static_cast<std::size_t>(saving.node)));
      ASSERT_TRUE(group) << print(program);
      for (const std::int32_t node : saving.with) ASSERT_EQ(fusion.group(NodeId(static_cast<std::size_t>(node))), group) << print(program);
      ++counted;
    }
    for (const FusibleGroup& group : costed.fusible[kAccelerator]) {
      const auto kernels = std::count_if(group.nodes.begin(), group.nodes.end(), [&](NodeId node) { return fusion.group(node); });
      partial += kernels > 0 && static_cast<std::size_t>(kernels) < group.nodes.size() ? 1 : 0;
    }
  }
  EXPECT_GT(counted, draws(300U));
  EXPECT_GT(partial, draws(20U));
}

/// The number of launches of a run, and its result.
std::pair<std::int64_t, RunResult> run_fused_on_fake(const Planned& planned, const RunOptions& options, bool fuse, std::uint64_t seed) {
  FakeDriver driver(static_cast<FakeDriver::Schedule>(seed % 3), seed);
  ExecutorSetup executor_options{{}, cuda::back_end(), 0};
  cuda::CudaOptions cuda_options;
  cuda_options.stream_mode = true;  // so that each launch is a call
  executor_options.back_end.open = driver.opener(cuda_options);
  executor_options.fuse = fuse;
  std::pair<std::int64_t, RunResult> all;
  {
    const std::unique_ptr<Executor> executor = executor_for(planned, executor_options);
    EXPECT_TRUE(executor->run(options).ok());
    const auto launches = [&] { return driver.count("cuLaunchKernel") + driver.count("cublasLtMatmul"); };
    const std::int64_t before = launches();
    Result<RunResult> result = executor->run(options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    if (result) all.second = *std::move(result);
    all.first = launches() - before;
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
  return all;
}

TEST(Fusion, ChangesNoBitOfTheResultsAndSavesLaunches) {
  std::int64_t alone = 0, together = 0;
  for (std::uint64_t seed = 0; seed < draws(40U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions graph_options;
    graph_options.effects = graph_options.host_functions = false;
    const auto graph = std::make_shared<const Graph>(random_graph(seed, graph_options));
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    if (!run_reference(*graph, options).ok()) continue;
    for (const Where where : {Where::accelerator, Where::random}) {
      const Planned planned = plan_with(fused_costs(), graph, where, seed);
      const auto [more, unfused] = run_fused_on_fake(planned, options, false, seed);
      const auto [fewer, fused] = run_fused_on_fake(planned, options, true, seed);
      ASSERT_EQ(fused.outputs.size(), unfused.outputs.size());
      for (std::size_t i = 0; i < fused.outputs.size(); ++i) EXPECT_TRUE(fused.outputs[i].second == unfused.outputs[i].second);
      EXPECT_LE(fewer, more);
      alone += more;
      together += fewer;
    }
  }
  EXPECT_LT(together, alone * 9 / 10) << together << " launches instead of " << alone;
}

TEST(Fusion, VerifyModeNamesTheOperationThatDiffers) {
  Model m;
  const Operand x = m.input("x", {8});
  m.output("y", m("tanh", {m("exp", {x})}));
  const auto graph = m.finish();
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  options.verify = true;
  for (const bool wrong : {false, true}) {
    FakeDriver driver;
    cuda::CudaOptions cuda_options;
    cuda_options.cache_folder.clear();
    cuda_options.source = [&](KernelRequest request, const cuda::Architecture& architecture) {
      if (wrong) request.steps.at(0).op = find_op("sin");
      return driver.source(request, architecture);
    };
    ExecutorSetup executor_options{{}, cuda::back_end(), 0};
    executor_options.back_end.open = [&](auto&&...) { return cuda::CudaDevice::open(FakeDriver::api(), cuda_options); };
    const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(graph, Where::accelerator), executor_options);
    ASSERT_TRUE(executor);
    const Result<RunResult> result = executor->run(options);
    ASSERT_EQ(result.ok(), !wrong) << (result.ok() ? "" : result.error().message);
    const std::string message = result.ok() ? "" : result.error().message;
    EXPECT_EQ(wrong, message.find("tanh` differs from its reference implementation") != std::string::npos) << message;
  }
}

// --- the kernels of groups -------------------------------------------------------------------------------------------

/// Intermediate values between small operands and a small result may have too many elements for narrow indices.
TEST(Fusion, CountsTheElementsInBetween) {
  Model m;
  const Operand product = m("multiply", {m.input("x", {20, 1}), m.input("y", {1, 20})});
  m.output("y", m("sum", {product}, {{"axis", Axes{0, 1}}}));
  const auto graph = m.finish();
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  const Fusion fusion = find_fusion(*planned.program, kAccelerator, cuda::fuses);
  ASSERT_EQ(fusion.groups.size(), 1U);
  const KernelRequest request = request_for(*graph, fusion.groups[0]);
  EXPECT_NE(cuda::kernel_source(request, {9, 0, 132, 399})->text.find("typedef i64 Index"), std::string::npos);
  EXPECT_EQ(cuda::kernel_source(request, {9, 0, 132, 400})->text.find("typedef i64 Index"), std::string::npos);
}

TEST(Fusion, KernelsOfGroupsAgreeWithTheReferences) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  KernelEmulator emulator;
  struct Case {
    std::shared_ptr<const Graph> graph;
    KernelRequest request;
    cuda::KernelSource source;
    std::uint64_t seed;
  };
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; cases.size() < 80; ++seed) {
    const auto graph = std::make_shared<const Graph>(random_graph(seed));
    const Planned planned = plan_on_cuda(graph, Where::accelerator);
    for (const FusionGroup& group : find_fusion(*planned.program, kAccelerator, cuda::fuses).groups) {
      KernelRequest request = request_for(*graph, group);
      if (cuda::has_matmul(request)) continue;  // cuBLASLt computes these
      ASSERT_TRUE(cuda::has_kernel(request));
      cases.push_back({graph, request, *cuda::kernel_source(request, {9, 0, 132}), seed});
      emulator.add(cases.back().source);
    }
  }
  for (const Case& each : cases) {
    SCOPED_TRACE("seed " + std::to_string(each.seed));
    std::mt19937_64 random(each.seed);
    std::vector<Array> inputs, results;
    for (const TensorType& type : each.request.input_types) {
      inputs.emplace_back(type);
      dispatch(type.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t i = 0; i < type.elements(); ++i)
          inputs.back().mutable_data<T>()[i] =
              static_cast<T>(static_cast<float>(random() % 1000) / 500 - (std::is_same_v<T, bool> ? 0 : 1));
      });
    }
    for (const TensorType& type : each.request.result_types) results.emplace_back(type);
    const Status status = emulator.run(each.source, inputs, results);
    ASSERT_TRUE(status.ok()) << status.error().message;
    const std::vector<Array> expected = reference_results(each.request, inputs);
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(difference(results[i], expected[i], 100).value_or(""), "") << each.source.text.substr(each.source.text.find("extern"));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::testing

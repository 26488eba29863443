// Plans in files: what is loaded computes the same bits as what was saved, has the same plan, and packs no weights again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "executor/api/executable.h"
#include "graph/base/diagnostic_text.h"
#include "graph/ops/ops.h"
#include "graph/states.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/all_models.h"
#include "tests/support/compiled.h"
#include "tests/support/model_sizes.h"
#include "tests/support/places.h"
#include "tests/support/plan_bytes.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

bool same_results(const RunResult& a, const RunResult& b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].first != b.outputs[i].first || !(a.outputs[i].second == b.outputs[i].second)) return false;
  return true;
}

RunOptions silent(const Executable::Inputs& inputs = {}) {
  RunOptions options;
  options.inputs = inputs;
  options.print = [](std::string_view) {};
  return options;
}

Executable loaded(const std::string& path, LoadOptions options = {}) {
  Result<Executable> program = load_plan(path, options);
  if (!program) ADD_FAILURE() << program.error().message;
  return *program;
}

/// Removes the ends of locations: they are known only where the source may be read, which a file in another folder does not allow.
void remove_ends(json& part) {
  if (part.is_object()) {
    part.erase("end_line");
    part.erase("end_column");
  }
  if (part.is_structured())
    for (json& item : part) remove_ends(item);
}

/// The parts that must be equal in the documents of a plan and of the same plan from a file.
json decided(const Executable& program) {
  const json document = json::parse(program.json());
  json parts;
  for (const char* part : {"nodes", "transfers", "channels", "round_trips", "totals"})
    if (document.contains(part)) parts[part] = document[part];
  remove_ends(parts);
  return parts;
}

/// Saves and loads the program, and compares the plans, and unless `plans_only` the results of a run. Nothing if the program cannot run
/// here.
void expect_same(const Graph& graph, CompileOptions options, const std::string& path, const Executable::Inputs& inputs = {},
                 bool plans_only = false) {
  options.executor.library_paths = {binary_dir() + "/lib"};
  const Result<Executable> compiled = compile(graph, options);
  if (!compiled && compiled.error().message.find("there is no library") != std::string::npos) return;
  ASSERT_TRUE(compiled) << compiled.error().message;
  const Status saved = compiled->save(path, &graph);
  ASSERT_TRUE(saved) << saved.error().message;
  LoadOptions load;
  load.executor = options.executor;
  load.accounts = load.checks_data = true;
  load.model = &graph;
  const Executable again = loaded(path, load);
  EXPECT_EQ(json::diff(decided(again), decided(*compiled)).dump(), "[]");
  if (plans_only) return;
  const Result<RunResult> expected = compiled->run(silent(inputs)), result = again.run(silent(inputs));
  ASSERT_EQ(result.ok(), expected.ok());
  if (!expected) return;
  EXPECT_TRUE(same_results(*result, *expected));
  EXPECT_EQ(result->host_to_accelerator.count, expected->host_to_accelerator.count);
  EXPECT_EQ(result->simulated_seconds > 0, expected->simulated_seconds > 0);
}

TEST(SavedPlan, EveryModelOfTheZooIsTheSameFromAFile) {
  const test::TemporaryFolder folder;
  for (const std::filesystem::path& path : zoo_models()) {
    if (kSanitized && path.stem() != "kmeans" && path.stem() != "pagerank") continue;  // they take five minutes together
    SCOPED_TRACE(path.string());
    const Graph graph = read_model(path.string(), {.dims = short_run(path.stem().string())});
    ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
    for (const char* device : {"none", "simulated"}) {
      SCOPED_TRACE(device);
      expect_same(graph, {.device = device}, folder.path("model.plan"));
    }
    for (const Policy policy : {Policy::fastest, Policy::accelerator})
      expect_same(graph, {.device = "simulated", .placement = policy}, folder.path("model.plan"), {}, true);
  }
}

/// A network whose first product packs its weights.
Graph network(float scale = 1) {
  Array weights({DType::f32, {512, 256}}), last({DType::f32, {512, 10}}), bias({DType::f32, {512}});
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.mutable_data<float>()[i] = scale * static_cast<float>(i % 251 - 125) / 128;
  for (std::int64_t i = 0; i < last.size(); ++i) last.mutable_data<float>()[i] = static_cast<float>(i % 127 - 63) / 64;
  for (std::int64_t i = 0; i < bias.size(); ++i) bias.mutable_data<float>()[i] = static_cast<float>(i % 7);
  return trace("network", {{"x", "f32[16, 256]"}}, [&](Tensor x) {
    const Tensor hidden = relu(matmul(x, transpose(constant(weights))) + constant(bias));
    return named("y", softmax(matmul(hidden, constant(last))));
  });
}

Executable::Inputs image() {
  Array x({DType::f32, {16, 256}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 33 - 16) / 16;
  return {{"x", x}};
}

TEST(SavedPlan, ANetworkIsTheSameFromAFile) {
  const test::TemporaryFolder folder;
  for (const char* device : {"none", "simulated"}) {
    SCOPED_TRACE(device);
    expect_same(network(), {.device = device}, folder.path("n.plan"), image());
    expect_same(network(), {.device = device, .placement = Policy::host}, folder.path("n.plan"), image());
  }
  CompileOptions options{.device = "simulated"};
  options.executor.fuse = false;
  options.executor.workers = 3;
  options.executor.channel_capacity = 5;
  options.accelerator_memory_bytes = 2e6;
  options.simplify = false;
  expect_same(network(), options, folder.path("n.plan"), image());
}

TEST(SavedPlan, KeypointsOfOnnxAreTheSameFromAFile) {
  const test::TemporaryFolder folder;
  for (const char* name : {"keypoints", "keypoints_local"}) {
    SCOPED_TRACE(name);
    const Graph graph = read_model(source_dir() + "/models/data/" + name + ".onnx", {.dims = {{"height", 64}, {"width", 64}}});
    ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
    Executable::Inputs inputs;
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::input) continue;
      const Value& value = graph.values[node.results[0]];
      Array array(value.type);
      if (value.type.dtype == DType::f32)
        for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i % 17) / 17;
      inputs.emplace(value.name, std::move(array));
    }
    for (const char* device : {"none", "simulated"}) expect_same(graph, {.device = device}, folder.path("k.plan"), inputs);
  }
}

TEST(SavedPlan, PackedWeightsAreReadFromTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("n.plan");
  const Graph graph = network();
  ASSERT_TRUE(compiled(graph, {.device = "none"}).save(path));
  PlanBytes bytes = PlanBytes::of(folder.read("n.plan"));
  const json document = json::parse(bytes.document);
  ASSERT_FALSE(document["derived"].empty()) << "no product packs weights";
  const json& first = document["derived"][0];
  EXPECT_THAT(first["form"].get<std::string>(), HasSubstr("panels"));
  EXPECT_TRUE(loaded(path, {.checks_data = true}).run(silent(image())));
  // With other packed weights in the file, a run gives other results: it has read them. `checks_data` finds them.
  std::memset(bytes.data.data() + first["begin"].get<std::size_t>(), 0, first["bytes"].get<std::size_t>());
  folder.write("zeros.plan", bytes.file());
  const Result<RunResult> right = loaded(path).run(silent(image())), wrong = loaded(folder.path("zeros.plan")).run(silent(image()));
  ASSERT_TRUE(right && wrong);
  EXPECT_FALSE(same_results(*right, *wrong));
  const Result<Executable> checked = load_plan(folder.path("zeros.plan"), {.checks_data = true});
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("an array is not what was written"));
}

TEST(SavedPlan, EqualConstantsAreInTheFileOnce) {
  const test::TemporaryFolder folder;
  Array a({DType::f32, {128, 128}});
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = static_cast<float>(i % 99);
  const Array b = Array::of<float>({128, 128}, a.values<float>());
  const Graph graph =
      trace("twice", {{"x", "f32[1, 128]"}}, [&](Tensor x) { return named("y", matmul(tanh(matmul(x, constant(a))), constant(b))); });
  CompileOptions options{.device = "none", .simplify = false};
  ASSERT_TRUE(compiled(graph, options).save(folder.path("t.plan")));
  EXPECT_EQ(json::parse(PlanBytes::of(folder.read("t.plan")).document)["arrays"].size(), 1U);
}

TEST(SavedPlan, StatesGoOnAsInAProgramThatWasCompiled) {
  const test::TemporaryFolder folder;
  Graph graph = trace("counter", {{"n", "f32[]"}, {"x", "f32[4]"}},
                      [](Tensor n, Tensor x) { return std::pair(named("next", n + 1), named("y", x * n)); });
  ASSERT_TRUE(keep_state(graph, "n", "next"));
  ASSERT_TRUE(compiled(graph, {.device = "simulated"}).save(folder.path("s.plan")));
  const Executable program = loaded(folder.path("s.plan"));
  const Array x = Array::of<float>({4}, {1, 2, 3, 4});
  ASSERT_TRUE(program.run({{"n", Array::scalar(5.0F)}, {"x", x}}));
  const Result<RunResult> second = program.run({{"x", x}});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(to_string(*second->output("y")), "[6.0, 12.0, 18.0, 24.0]");
  ASSERT_TRUE(program.save_states(folder.path("states")));
  EXPECT_EQ(to_string(*program.state("n")), "7.0");
}

TEST(SavedPlan, AProfileStaysWithItsPlan) {
  const test::TemporaryFolder folder;
  const Graph graph = read_model(source_dir() + "/models/power_iteration.yaml", {.dims = {{"n", 32}}});
  const Result<RunResult> observed = compiled(graph, {.device = "simulated"}).run([] {
    RunOptions options = silent();
    options.observe = true;
    return options;
  }());
  ASSERT_TRUE(observed);
  ASSERT_FALSE(observed->observed.host_seconds.empty() && observed->observed.expected.empty());
  expect_same(graph, {.device = "simulated", .profile = observed->observed}, folder.path("p.plan"));
}

TEST(SavedPlan, ALoadedPlanCanBeSavedAgain) {
  const test::TemporaryFolder folder;
  const Graph graph = network();
  ASSERT_TRUE(compiled(graph, {.device = "none"}).save(folder.path("a.plan")));
  ASSERT_TRUE(loaded(folder.path("a.plan")).save(folder.path("b.plan")));
  const Result<RunResult> first = loaded(folder.path("a.plan")).run(silent(image())),
                          second = loaded(folder.path("b.plan")).run(silent(image()));
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(same_results(*first, *second));
}

TEST(SavedPlan, RelativePathsOfDataAreThoseFromTheFile) {
  const test::TemporaryFolder folder;
  const Graph graph = read_model(source_dir() + "/models/kmeans.yaml");
  expect_same(graph, {.device = "simulated"}, folder.path("k.plan"));
}

// --- what cannot be saved, or not be loaded here ----------------------------------------------------------------------------------

TEST(SavedPlan, FunctionsOfTheProcessCannotBeSaved) {
  const test::TemporaryFolder folder;
  const auto twice = [](std::span<const float> x, std::span<float> y) { std::copy(x.begin(), x.end(), y.begin()); };
  const Graph graph = trace("calls", {{"x", "f32[4]"}}, [&](Tensor x) { return named("y", host_call("twice", {"f32[4]"}, twice, x)); });
  const Status saved = compiled(graph, {.device = "none"}).save(folder.path("c.plan"));
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, HasSubstr("`twice` is a function of this process"));
  EXPECT_EQ(folder.files(), 0U);
}

TEST(SavedPlan, TheNameOfAPlanFileEndsInPlan) {
  const test::TemporaryFolder folder;
  const Status saved = compiled(network(), {.device = "none"}).save(folder.path("n.bin"));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, ErrorKind::usage);
  EXPECT_FALSE(compiled(network(), {.device = "none"}).save("/nonexistent/n.plan"));
}

std::string refused(const std::string& path, const LoadOptions& options = {}) {
  const Result<Executable> program = load_plan(path, options);
  if (program) return "loaded";
  EXPECT_TRUE(program.error().kind == ErrorKind::file || program.error().kind == ErrorKind::user) << program.error().message;
  return program.error().message;
}

TEST(SavedPlan, AnotherDeviceMachineOrModelIsAnError) {
  const test::TemporaryFolder folder;
  const Graph graph = network();
  const std::string path = folder.path("n.plan"), h200 = folder.path("h.plan"), unknown = folder.path("u.plan");
  ASSERT_TRUE(compiled(graph, {.device = "simulated"}).save(path, &graph));
  EXPECT_THAT(refused(path, {.device = "none"}), HasSubstr("the plan is for the device `simulated`, not for `none`"));
  EXPECT_THAT(refused(path, {.machine = "h200"}), HasSubstr("the plan was made for the machine `simulated`, and this is `h200`"));
  const Graph other = network(2);
  EXPECT_THAT(refused(path, {.model = &other}), HasSubstr("the plan was made of another model"));
  EXPECT_EQ(refused(path, {.model = &graph}), "loaded");

  // A machine that the user named is a part of the plan.
  ASSERT_TRUE(compiled(graph, {.device = "simulated", .machine = "h200"}).save(h200));
  EXPECT_EQ(refused(h200), "loaded");
  EXPECT_EQ(loaded(h200).plan().machine.name, "h200");
  EXPECT_EQ(refused(h200, {.machine = "h200"}), "loaded");
  EXPECT_THAT(refused(h200, {.machine = "simulated"}), HasSubstr("the plan was made for the machine `h200`"));
  EXPECT_THAT(refused(h200, {.model = &graph}), HasSubstr("does not say of which model it was made"));

  // A machine file that has changed since.
  std::string yaml = to_yaml(*Machine::shipped("simulated"));
  const std::string machine = folder.write("m.yaml", yaml);
  ASSERT_TRUE(compiled(graph, {.device = "simulated", .machine = machine}).save(path));
  EXPECT_EQ(refused(path, {.machine = machine}), "loaded");
  Machine changed = *Machine::shipped("simulated");
  changed.host.bytes_per_second *= 2;
  folder.write("m.yaml", to_yaml(changed));
  EXPECT_THAT(refused(path, {.machine = machine}), HasSubstr("another state of the machine `simulated` than its machine file has now"));
}

TEST(SavedPlan, ThreadsMayDifferFromThoseOfThePlan) {
  const test::TemporaryFolder folder;
  const Graph graph = network();
  CompileOptions options{.device = "none"};
  options.executor.threads = 2;
  const Executable two = compiled(graph, options);
  ASSERT_TRUE(two.save(folder.path("n.plan")));
  LoadOptions load;
  load.executor.threads = 1;
  const Executable one = loaded(folder.path("n.plan"), load);
  EXPECT_EQ(one.plan().costed.host_threads, 2);  // so that the plan is the same
  EXPECT_TRUE(same_results(*one.run(silent(image())), *two.run(silent(image()))));
}

}  // namespace
}  // namespace cleave::testing

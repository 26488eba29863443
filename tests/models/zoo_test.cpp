// The shipped models: each reads without an error, gives exactly the expected warnings, makes the expected number of transfers, and
// computes the results given here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "executor/api/executable.h"
#include "executor/api/wiring.h"
#include "executor/check/reference.h"
#include "graph/array/npy.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(source_dir()) / "models";

Graph read(const std::string& name, const std::map<std::string, std::int64_t>& dims = {}) {
  Graph graph = read_model((kModels / (name + ".yaml")).string(), {dims});
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  return graph;
}

Plan planned(const std::string& name) {
  return plan(read(name), runtime::wire({.device = "simulated"})->plan);
}

RunResult run(const Graph& graph, std::vector<std::string>* lines = nullptr) {
  RunOptions options;
  options.print = [&](std::string_view line) {
    if (lines) lines->emplace_back(line);
  };
  Result<RunResult> result = run_reference(graph, options, {binary_dir() + "/lib"});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : RunResult{};
}

struct Expected {
  std::string model;
  std::vector<int> warnings;         ///< their lines; without launch-bound, whose line follows from the costs
  std::optional<std::size_t> sends;  ///< transfers that are neither arguments nor results; none: many small ones, as the costs are
  double speedup;                    ///< at least, over all-host and all-accelerator; 0: its loop is pinned
  bool launch_bound = false;         ///< whether its kernels are so small that starting them takes longest
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> table = {{"linear_regression", {}, 0, 1},
                                              {"cpu_only_loop", {23}, 1, 1.5},
                                              {"simulator_loop", {27}, 2, 1.5},
                                              {"kmeans", {24}, 3, 1.5},
                                              {"power_iteration", {}, 2, 1},
                                              {"mlp_inference", {}, 0, 1},
                                              {"naive_transfer", {13}, 1, 1},
                                              {"naive_transfer_after", {}, 0, 1},
                                              {"resident_embedding_before", {14}, 2, 1},
                                              {"resident_embedding", {}, 0, 1},
                                              {"digits_mlp", {}, 6, 1},
                                              {"digits_cnn", {}, 8, 1, true},
                                              {"char_transformer", {}, std::nullopt, 1, true},
                                              {"generate", {}, 1, 0, true},
                                              {"generate_before", {48}, 2, 1, true}};
  return table;
}

TEST(Zoo, EveryModelIsExpectedHere) {
  for (const auto& entry : fs::directory_iterator(kModels)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto known = [&](const Expected& expected) { return expected.model == entry.path().stem(); };
    EXPECT_TRUE(std::any_of(expectations().begin(), expectations().end(), known)) << entry.path();
  }
}

TEST(Zoo, WarnsMovesAndPaysAsWrittenDown) {
  for (const Expected& expected : expectations()) {
    SCOPED_TRACE(expected.model);
    const Plan plan = planned(expected.model);
    ASSERT_TRUE(plan.ok()) << to_text(plan.diagnostics);
    std::vector<int> lines;
    bool launch_bound = false;
    for (const Diagnostic& diagnostic : plan.diagnostics) {
      launch_bound |= diagnostic.kind == DiagnosticKind::launch_bound;
      if (diagnostic.kind == DiagnosticKind::launch_bound) continue;
      EXPECT_EQ(diagnostic.kind, expected.model == "naive_transfer" ? DiagnosticKind::invariant_host_work : DiagnosticKind::round_trip);
      lines.push_back(diagnostic.location.line);
    }
    EXPECT_EQ(lines, expected.warnings) << to_text(plan.diagnostics);
    EXPECT_EQ(launch_bound, expected.launch_bound);
    std::size_t sends = 0;
    for (const Transfer& transfer : plan.transfers.items) sends += transfer.kind == TransferKind::send;
    EXPECT_EQ(sends, expected.sends.value_or(sends));
    EXPECT_GE(plan.all_host_seconds, expected.speedup * plan.placement.objective_seconds * (1 - 1e-9));
    EXPECT_GE(plan.all_accelerator_seconds, expected.speedup * plan.placement.objective_seconds * (1 - 1e-9));
  }
}

TEST(Zoo, LinearRegressionFindsTheLine) {
  std::vector<std::string> lines;
  const RunResult result = run(read("linear_regression"), &lines);
  EXPECT_EQ(lines.size(), 10u);
  ASSERT_TRUE(result.output("w") && result.output("b"));
  EXPECT_NEAR(result.output("w")->at(0), 3, 0.01);
  EXPECT_NEAR(result.output("w")->at(1), -2, 0.01);
  EXPECT_NEAR(result.output("b")->at(0), 0.5, 0.01);
}

TEST(Zoo, KMeansLowersTheInertiaUntilItConverges) {
  std::vector<std::string> lines;
  const RunResult result = run(read("kmeans"), &lines);
  std::vector<double> inertia;
  for (const std::string& line : lines) {
    if (line.starts_with("inertia: ")) inertia.push_back(std::stod(line.substr(9)));
  }
  ASSERT_GT(inertia.size(), 5u);
  EXPECT_LT(inertia.size(), 50u);
  EXPECT_TRUE(std::is_sorted(inertia.rbegin(), inertia.rend()));
  EXPECT_LT(inertia.back(), 0.5 * inertia.front());
  ASSERT_TRUE(result.output("inertia"));
  EXPECT_NEAR(result.output("inertia")->at(0), inertia.back(), 0.01);
}

TEST(Zoo, PowerIterationGivesAnEigenvector) {
  const Graph graph = read("power_iteration", {{"n", 64}});
  const RunResult result = run(graph);
  ASSERT_TRUE(result.output("v") && result.output("eigenvalue"));
  double length = 0;
  for (std::int64_t i = 0; i < 64; ++i) length += result.output("v")->at(i) * result.output("v")->at(i);
  EXPECT_NEAR(length, 1, 1e-4);
  EXPECT_GT(result.output("eigenvalue")->at(0), 40);
}

TEST(Zoo, InferenceGivesClasses) {
  const RunResult result = run(read("mlp_inference", {{"hidden", 16}}));
  ASSERT_TRUE(result.output("classes"));
  EXPECT_EQ(to_string(result.output("classes")->type()), "i32[1500]");
  std::vector<int> seen(10);
  for (const std::int32_t digit : result.output("classes")->values<std::int32_t>()) {
    ASSERT_TRUE(digit >= 0 && digit < 10);
    seen[static_cast<std::size_t>(digit)] = 1;
  }
  EXPECT_GT(std::count(seen.begin(), seen.end(), 1), 1);
}

TEST(Zoo, DigitsAreLearned) {
  Result<Executable> program = compile(read("digits_mlp", {{"passes", 2}}), {.device = "none"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Result<RunResult> result = program->run({});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->output("accuracy")->at(0), 0.9);  // 60 passes: from 0.971 to 0.974 with seeds 0 to 4
}

TEST(Zoo, DigitsAreLearnedByConvolutions) {
  const Graph graph = read("digits_cnn", {{"passes", 2}, {"narrow", 8}, {"wide", 16}});
  Result<Executable> program = compile(graph, {.device = "none"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Result<RunResult> result = program->run({});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->output("accuracy")->at(0), 0.8);  // the whole network, 30 passes: from 0.984 to 0.991 with seeds 0 to 4
}

/// A net between the sizes of the zoo and of a test.
std::map<std::string, std::int64_t> with_small_net(std::map<std::string, std::int64_t> dims) {
  dims.insert({{"context", 32}, {"width", 32}, {"heads", 4}});
  return dims;
}

Executable compiled(const std::string& model, const std::map<std::string, std::int64_t>& dims, const std::string& device) {
  CompileOptions options{.device = device};
  options.executor.library_paths = {binary_dir() + "/lib"};
  Result<Executable> program = compile(read(model, dims), options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return *std::move(program);
}

/// The output `text` of a model that continues texts, by row.
std::vector<std::string> texts_of(const std::string& model, const std::map<std::string, std::int64_t>& dims,
                                  const RunOptions& options = {}) {
  const Result<RunResult> result = compiled(model, dims, "none").run(options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  std::vector<std::string> texts;
  if (!result.ok()) return texts;
  const Array& text = *result->output("text");
  for (std::int64_t i = 0; i < text.shape()[0]; ++i)
    texts.emplace_back(reinterpret_cast<const char*>(text.bytes()) + i * text.shape()[1], static_cast<std::size_t>(text.shape()[1]));
  return texts;
}

TEST(Zoo, TextIsLearnedAndContinued) {
  Result<Executable> program =
      compile(read("char_transformer", with_small_net({{"steps", 60}, {"batch", 8}, {"unseen", 16}})), {.device = "none"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Result<RunResult> result = program->run({});
  ASSERT_TRUE(result.ok()) << result.error().message;
  // 4.9 before the first step. The whole network: 2.53 after 100 steps, 2.44 after 200, 2.07 after 500.
  EXPECT_LT(result->output("validation")->at(0), 3.6);

  const test::TemporaryFolder folder;
  ASSERT_TRUE(program->save_states(folder.path("")));
  const std::map<std::string, std::int64_t> dims = with_small_net({{"texts", 6}, {"length", 24}});
  const Graph graph = read("generate", dims);
  RunOptions trained;
  trained.inputs.emplace("temperature", Array::scalar(0.5F));
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    Result<Array> array = read_array(folder.path("state.safetensors"), value.type, value.name);
    ASSERT_TRUE(array.ok()) << array.error().message;
    trained.inputs.emplace(value.name, *std::move(array));
  }
  const auto letters = [](const std::vector<std::string>& texts) {
    std::int64_t count = 0;
    for (const std::string& text : texts)
      count += std::count_if(text.begin() + 1, text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == ' ' || c == '\n'; });
    return count;
  };
  EXPECT_GT(letters(texts_of("generate", dims, trained)), 0.7 * 6 * 23);
  EXPECT_LT(letters(texts_of("generate", dims)), 0.5 * 6 * 23) << "by chance it is 28 of 128 bytes";
}

TEST(Zoo, HostAndOperationsDrawTheSameText) {
  const std::map<std::string, std::int64_t> dims = with_small_net({{"texts", 3}, {"length", 44}, {"given", 3}});
  RunOptions options;
  options.inputs.emplace("prompt", Array::of<std::uint8_t>({3}, {'A', 'B', 'C'}));
  const std::vector<std::string> after = texts_of("generate", dims, options);
  ASSERT_EQ(after.size(), 3U);
  for (const std::string& text : after) EXPECT_EQ(text.substr(0, 3), "ABC");
  EXPECT_NE(after[0], after[1]);
  EXPECT_EQ(after, texts_of("generate_before", dims, options));
}

// The virtual clock and the plan are those of the whole net, and few bytes are drawn.
TEST(Zoo, GeneratingTakesAsLongAsPredicted) {
  for (const char* model : {"generate", "generate_before"}) {
    SCOPED_TRACE(model);
    const Executable program = compiled(model, {{"texts", 4}, {"length", 6}}, "simulated");
    EXPECT_EQ(program.plan().round_trips.size(), model == std::string("generate") ? 0U : 1U);
    const Result<RunResult> result = program.run();
    ASSERT_TRUE(result.ok()) << result.error().message;
    const double predicted = program.plan().predicted_seconds;
    EXPECT_NEAR(result->simulated_seconds, predicted, 0.05 * predicted);
  }
}

TEST(Zoo, BeforeAndAfterComputeTheSame) {
  const std::map<std::string, std::int64_t> small_transfer = {{"rows", 32}, {"width", 8}};
  EXPECT_EQ(*run(read("naive_transfer", small_transfer)).output("w"), *run(read("naive_transfer_after", small_transfer)).output("w"));
  const std::map<std::string, std::int64_t> small_table = {{"words", 64}, {"width", 8}, {"batch", 16}};
  EXPECT_EQ(*run(read("resident_embedding_before", small_table)).output("table"),
            *run(read("resident_embedding", small_table)).output("table"));
}

TEST(Zoo, HostFunctionsAreLoadedFromTheExampleLibrary) {
  const RunResult decided = run(read("cpu_only_loop", {{"batch", 32}, {"width", 16}, {"units", 8}}));
  ASSERT_TRUE(decided.output("w"));
  for (std::int64_t i = 0; i < decided.output("w")->size(); ++i) EXPECT_LT(std::abs(decided.output("w")->at(i)), 10);
  const RunResult simulated = run(read("simulator_loop", {{"hidden", 16}}));
  ASSERT_TRUE(simulated.output("state") && simulated.output("reward"));
  EXPECT_NE(simulated.output("state")->at(0), 0);
  EXPECT_GT(simulated.output("reward")->at(0), 0);  // the loads swing, but hang
}

}  // namespace
}  // namespace cleave::testing

// The shipped models: each reads without an error, gives exactly the expected warnings, makes the expected number of transfers, and
// computes the results given here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>

#include "executor/api/executable.h"
#include "executor/api/wiring.h"
#include "executor/check/reference.h"
#include "graph/array/npy.h"
#include "graph/base/diagnostic_text.h"
#include "graph/ops/elementary.h"
#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/questions/lock.h"
#include "tests/support/golden.h"
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

struct Trained {
  RunResult result;
  std::vector<double> logged;  ///< the first number of each step
};

/// Runs a model by the kernels of the host, or of the device.
Trained train(const std::string& name, const std::map<std::string, std::int64_t>& dims, std::map<std::string, Array> inputs = {},
              CompileOptions options = {.device = "none"}) {
  options.executor.library_paths = {binary_dir() + "/lib"};
  Result<Executable> program = compile(read(name, dims), options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  if (!program.ok()) return {};
  Trained trained;
  RunOptions run;
  run.inputs = std::move(inputs);
  run.on_log = [&](const LoggedStep& step) { trained.logged.push_back(step.values.front().second.at(0)); };
  const Result<RunResult> result = program->run(run);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (result.ok()) trained.result = *result;
  return trained;
}

struct Expected {
  std::string model;
  std::vector<int> warnings;  ///< their lines; without launch-bound, whose line follows from the costs
  /// Transfers that are neither arguments nor results; none: many small ones, which the lock has.
  std::optional<std::size_t> sends;
  double speedup;                                    ///< at least, over all-host and all-accelerator; 0: its loop is pinned
  bool launch_bound = false;                         ///< whether its kernels are so small that starting them takes longest
  DiagnosticKind kind = DiagnosticKind::round_trip;  ///< of the other warnings
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> table = {
      {"linear_regression", {}, 0, 1},
      {"cpu_only_loop", {23}, 1, 1.5},
      {"simulator_loop", {27}, 2, 1.5},
      {"kmeans", {24}, 3, 1.5},
      {"power_iteration", {}, 2, 1},
      {"mlp_inference", {}, 0, 1},
      {"naive_transfer", {13}, 1, 1, false, DiagnosticKind::invariant_host_work},
      {"naive_transfer_after", {}, 0, 1},
      {"resident_embedding_before", {14}, 2, 1},
      {"resident_embedding", {}, 0, 1},
      {"digits_mlp", {}, 6, 1},
      {"digits_cnn", {}, 8, 1, true},
      {"digits_trees", {}, 2, 1},
      {"char_transformer", {}, std::nullopt, 1, true},
      {"generate", {}, 1, 0, true},
      {"generate_before", {48}, 2, 1, true},
      {"pagerank", {}, 3, 1.5},
      {"conjugate_gradient", {}, 2, 1, true},
      {"pinn", {}, 0, 1},
      {"policy_gradient", {42}, 11, 1.5},
      {"recommender", {}, 21, 1.5, true},
      {"neural_ode", {}, 0, 1},
  };
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
      EXPECT_EQ(diagnostic.kind, expected.kind);
      lines.push_back(diagnostic.location.line);
    }
    EXPECT_EQ(lines, expected.warnings) << to_text(plan.diagnostics);
    EXPECT_EQ(launch_bound, expected.launch_bound);
    std::size_t sends = 0;
    for (const Transfer& transfer : plan.transfers.items) sends += transfer.kind == TransferKind::send;
    EXPECT_EQ(sends, expected.sends.value_or(sends));
    EXPECT_GE(plan.all_host_seconds, expected.speedup * plan.placement.objective_seconds * (1 - 1e-9));
    EXPECT_GE(plan.all_accelerator_seconds, expected.speedup * plan.placement.objective_seconds * (1 - 1e-9));
    expect_golden("locks/" + expected.model + ".lock", planner::lock_text(plan));
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
  const Trained trained = train("digits_mlp", {{"passes", 2}});
  ASSERT_TRUE(trained.result.output("accuracy"));
  EXPECT_GT(trained.result.output("accuracy")->at(0), 0.9);  // 60 passes: from 0.971 to 0.974 with seeds 0 to 4
}

TEST(Zoo, TreesTellDigitsByFeaturesOfANetwork) {
  const RunResult result = run(read("digits_trees"));
  ASSERT_TRUE(result.output("accuracy"));
  EXPECT_NEAR(result.output("accuracy")->at(0), 0.9566, 0.001);  // what LightGBM says of the same digits
}

TEST(Zoo, PageRankIsTheFixedPointOfItsLinks) {
  constexpr std::int64_t kPages = 256, kLinks = 1500;
  const Trained found = train("pagerank", {{"pages", kPages}, {"links", kLinks}});
  ASSERT_TRUE(found.result.output("rank"));
  EXPECT_LT(found.logged.size(), 60u);
  EXPECT_LT(found.logged.back(), 1e-6);
  EXPECT_GT(found.logged[found.logged.size() - 2], 1e-6);

  const Graph draw = trace("links", [] {
    return std::tuple(named("source", random_integers({kLinks}, 0, kPages, {.seed = 1})),
                      named("u", random_uniform({kLinks}, 0, 1, {.seed = 2})));
  });
  const RunResult drawn = run(draw);
  ASSERT_TRUE(drawn.output("source") && drawn.output("u"));
  std::vector<std::size_t> source, target;
  std::vector<double> outgoing(kPages), rank(kPages, 1.0 / kPages);
  for (std::int64_t i = 0; i < kLinks; ++i) {
    const float u = drawn.output("u")->values<float>()[static_cast<std::size_t>(i)];
    source.push_back(static_cast<std::size_t>(drawn.output("source")->at(i)));
    target.push_back(static_cast<std::size_t>(static_cast<float>(kPages) * u * u * u));
    ++outgoing[source.back()];
  }
  for (int step = 0; step < 300; ++step) {
    double left = 0;
    for (std::size_t page = 0; page < rank.size(); ++page) left += outgoing[page] == 0 ? rank[page] / kPages : 0;
    std::vector<double> next(kPages, 0.15 / kPages + 0.85 * left);
    for (std::size_t i = 0; i < source.size(); ++i) next[target[i]] += 0.85 * rank[source[i]] / outgoing[source[i]];
    rank = next;
  }
  double difference = 0, sum = 0;
  for (std::int64_t page = 0; page < kPages; ++page) {
    difference += std::abs(found.result.output("rank")->at(page) - rank[static_cast<std::size_t>(page)]);
    sum += found.result.output("rank")->at(page);
  }
  EXPECT_LT(difference, 1e-6 * 0.85 / 0.15 + 1e-6);  // a change of d is at most d * 0.85 / 0.15 away from the fixed point
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Zoo, ConjugateGradientsSolveTheSystem) {
  constexpr std::int64_t kN = 32;
  std::mt19937 random(5);
  std::vector<float> b(kN * kN);
  for (float& value : b) value = static_cast<float>(random() % 1000) / 500 - 1;
  const Trained found = train("conjugate_gradient", {{"n", kN}}, {{"b", Array::of<float>({kN, kN}, b)}});
  ASSERT_TRUE(found.result.output("x"));
  const auto x = [&](std::int64_t i, std::int64_t j) {
    return i < 0 || j < 0 || i >= kN || j >= kN ? 0 : found.result.output("x")->at(i * kN + j);
  };
  double square = 0, residual = 0;
  for (std::int64_t i = 0; i < kN; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      const double right = b[static_cast<std::size_t>(i * kN + j)];
      const double left = 4 * x(i, j) - x(i - 1, j) - x(i + 1, j) - x(i, j - 1) - x(i, j + 1);
      square += right * right;
      residual += (left - right) * (left - right);
    }
  }
  EXPECT_LT(std::sqrt(residual / square), 2e-5);
  EXPECT_LT(found.logged.size(), 150u);
  EXPECT_LT(found.logged.back(), 1e-5 * std::sqrt(square));
  EXPECT_GE(found.logged[found.logged.size() - 2], 1e-5 * std::sqrt(square) * 0.999);
}

TEST(Zoo, ANetworkSolvesTheDifferentialEquation) {
  const Trained trained = train("pinn", {{"steps", 500}});
  ASSERT_TRUE(trained.result.output("error"));
  EXPECT_LT(trained.result.output("error")->at(0), 0.01);  // 0.002 to 0.004 with seeds 0 to 3; 2000 steps: at most 0.0006 with seeds 0 to 5
}

TEST(Zoo, APolicyLearnsToMoveCranes) {
  const Trained trained = train("policy_gradient", {{"cranes", 64}, {"steps", 50}, {"updates", 20}});
  ASSERT_TRUE(trained.result.output("reward"));
  EXPECT_LT(trained.logged.front(), -30);                  // forces by chance
  EXPECT_GT(trained.result.output("reward")->at(0), -20);  // -13 to -18 with seeds 0 to 3
}

TEST(Zoo, ARecommenderLearnsTastes) {
  const Trained trained =
      train("recommender", {{"users", 512}, {"items", 128}, {"width", 16}, {"hidden", 32}, {"size", 256}, {"steps", 200}});
  ASSERT_TRUE(trained.result.output("loss"));
  EXPECT_GT(trained.logged.front(), 0.56);  // the entropy of one in four
  EXPECT_LT(trained.result.output("loss")->at(0), 0.05);
}

/// Checks that all operations that read or change a table of at least `rows_least` rows are on the host, or all on the accelerator.
void expect_tables_on_host(const Plan& plan, std::int64_t rows_least, bool on_host) {
  int seen = 0;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    const Node& node = plan.graph->nodes[NodeId(i)];
    if (!node.op || (node.op->name != "take" && node.op->name != "scatter_add")) continue;
    const Shape& shape = plan.graph->values[node.inputs[0]].type.shape;
    if (shape.size() != 2 || shape[0] < rows_least) continue;
    ++seen;
    EXPECT_EQ(plan.placement.on_host[i] != 0, on_host) << i;
    EXPECT_EQ(plan.placement.on_accelerator[i] != 0, !on_host) << i;
  }
  EXPECT_GE(seen, 6);
}

TEST(Zoo, TablesLargerThanTheAcceleratorStayOnTheHost) {
  const Graph graph = read("recommender");
  CompileOptions options{.device = "simulated"};
  expect_tables_on_host(plan(graph, runtime::wire(options)->plan), 8192, false);

  options.accelerator_memory_bytes = 2 << 20;
  const Plan small = plan(graph, runtime::wire(options)->plan);
  expect_tables_on_host(small, 8192, true);
  for (const Transfer& transfer : small.transfers.items) {
    if (transfer.frequency <= 1) continue;
    EXPECT_LE(transfer.bytes, 512 * 64 * 4) << "more than the rows of a batch, from line " << transfer.location.line;
  }
  int fallbacks = 0;
  for (const Diagnostic& diagnostic : small.diagnostics) fallbacks += diagnostic.kind == DiagnosticKind::memory_fallback;
  EXPECT_EQ(fallbacks, 1);

  // What is learned there is what the host learns.
  const std::map<std::string, std::int64_t> dims = {{"size", 64}, {"steps", 20}};
  const double expected = train("recommender", dims).result.output("loss")->at(0);
  EXPECT_NEAR(train("recommender", dims, {}, options).result.output("loss")->at(0), expected, 1e-4);
}

TEST(Zoo, ANetworkLearnsTheEquationOfAPendulum) {
  const Trained trained = train("neural_ode", {{"updates", 100}});
  ASSERT_TRUE(trained.result.output("loss"));
  EXPECT_GT(trained.logged.front(), 1);
  EXPECT_LT(trained.result.output("loss")->at(0), 0.1);  // 0.02 to 0.055 with seeds 0 to 3; 1000 updates: at most 0.003
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

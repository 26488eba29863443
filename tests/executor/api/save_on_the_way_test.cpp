// States that are saved during a run: a run that is stopped anywhere and goes on from the file equals one that was not stopped, bit for
// bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "executor/api/executable.h"
#include "graph/array/safetensors.h"
#include "models/model.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

/// Two nested loops with states, a value that is carried besides, random numbers, and logged numbers.
constexpr const char* kTraining = R"(cleave: 1
inputs: {x: "f32[16, 4]", y: "f32[16]"}
parameters:
  w: {type: "f32[4]", uniform: [-1, 1], seed: 1}
  speed: {type: "f32[4]", value: 0}
  step: {type: "i32[]", value: 0}
  fixed: {type: "f32[4]", value: 0.01}
program:
  - best: 1000.0
  - log("before", sum(y))
  - for: epoch in 23
    do:
      - for: batch in 3
        do:
          - noise: random_normal([16], 0, 0.1, seed=3, step=step)
          - loss: mean(square(matmul(x, w) - y + noise)) + mean(fixed * w)
          - speed: 0.9 * speed - 0.05 * gradient(loss, w)
          - w: w + speed
          - step: step + 1
          - log("loss", loss)
      - best: minimum(best, loss_of(x, w, y) + 0.001 * epoch)
  - log("best", best)
functions:
  loss_of:
    takes: [x, w, y]
    do:
      - l: mean(square(matmul(x, w) - y))
    returns: l
outputs: [best]
resident: [w, speed, step, fixed]
)";

Graph training() {
  Graph graph = parse_model(kTraining, "m.yaml", {});
  for (const Diagnostic& each : graph.diagnostics) EXPECT_NE(each.severity, Severity::error) << each.message;
  return graph;
}

std::map<std::string, Array> training_data() {
  Array x({DType::f32, {16, 4}}), y({DType::f32, {16}});
  for (int i = 0; i < 64; ++i) x.mutable_data<float>()[i] = static_cast<float>(i * 37 % 17) / 8 - 1;
  for (int i = 0; i < 16; ++i) y.mutable_data<float>()[i] = static_cast<float>(i * 5 % 7) / 3;
  return {{"x", x}, {"y", y}};
}

std::string row_of(const LoggedStep& step) {
  std::string text = std::to_string(step.step);
  for (const auto& [label, value] : step.values) text += " " + std::string(label) + "=" + to_string(value);
  return text;
}

struct Ended {
  std::map<std::int64_t, std::string> rows;  ///< by step; later ones replace earlier ones
  std::vector<Array> values;                 ///< the states, and `best`
  bool stopped = false;                      ///< ended before its end and gone on
};

constexpr const char* kStates[] = {"w", "speed", "step", "fixed"};

Executable compiled_training(const std::string& device, int threads, const SaveOptions& save) {
  CompileOptions options{.device = device, .placement = device == "none" ? Policy::optimal : Policy::accelerator};
  options.executor.threads = threads;
  options.save = save;
  Result<Executable> program = compile(training(), options);
  EXPECT_TRUE(program) << program.error().message;
  return *std::move(program);
}

/// Runs, and requests a stop after `rows` more rows have been logged. True: the run went to its end.
bool run_training(const Executable& program, Ended& ended, std::int64_t rows = -1) {
  std::stop_source stop;
  RunOptions options;
  options.inputs = training_data();
  options.stop = stop.get_token();
  options.on_log = [&](const LoggedStep& step) {
    ended.rows[step.step] = row_of(step);
    if (--rows == 0) stop.request_stop();
  };
  const Result<RunResult> result = program.run(options);
  if (!result) return false;
  ended.values = {*result->output("best")};
  for (const char* name : kStates) ended.values.push_back(*program.state(name));
  return true;
}

void expect_equal(const Ended& a, const Ended& b) {
  EXPECT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) EXPECT_TRUE(a.values[i] == b.values[i]) << i;
}

TEST(SaveOnTheWay, ARunThatIsStoppedAnywhereGoesOnToTheSameBits) {
  std::mt19937_64 random(7);
  for (const char* device : {"none", "simulated"})
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(std::string(device) + ", threads: " + std::to_string(threads));
      Ended whole;
      ASSERT_TRUE(run_training(compiled_training(device, threads, {}), whole));
      EXPECT_EQ(whole.rows.size(), 70U);
      for (int round = 0; round < draws(20); ++round) {
        const test::TemporaryFolder folder;
        const SaveOptions save{.path = folder.path("states"), .every = 1 + round % 5};
        Ended stopped;
        const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 68);
        SCOPED_TRACE("stopped after " + std::to_string(rows) + " rows, saved every " + std::to_string(save.every));
        if (run_training(compiled_training(device, threads, save), stopped, rows)) continue;
        const Executable second = compiled_training(device, threads, save);
        if (std::filesystem::exists(folder.path("states/state.safetensors"))) {
          const Status loaded = second.load_states(folder.path("states"));
          ASSERT_TRUE(loaded) << loaded.error().message;
        }
        ASSERT_TRUE(run_training(second, stopped));
        expect_equal(stopped, whole);
      }
    }
}

/// A shuffled pass as the outermost loop; `rest` says what becomes of the last rows.
Executable compiled_pass(const std::string& device, const std::string& rest, const SaveOptions& save) {
  const Graph graph = parse_model(R"(cleave: 1
inputs: {x: "f32[16, 4]", y: "f32[16]"}
parameters:
  w: {type: "f32[4]", uniform: [-1, 1], seed: 1}
  speed: {type: "f32[4]", value: 0}
program:
  - best: 1000.0
  - for: (a, b)" + std::string(rest == "pad" ? ", real" : "") +
                                      R"() in batches(x, y, size=3, shuffle=7, remainder=)" + rest + R"()
    do:
      - loss: mean(square(matmul(a, w) - b)))" +
                                      (rest == "pad" ? " / astype(real, f32)" : "") + R"(
      - speed: 0.9 * speed - 0.05 * gradient(loss, w)
      - w: w + speed
      - best: minimum(best, loss)
      - log("loss", loss)
outputs: [best]
resident: [w, speed]
)",
                                  "m.yaml", {});
  for (const Diagnostic& each : graph.diagnostics) EXPECT_NE(each.severity, Severity::error) << each.message;
  CompileOptions options{.device = device, .placement = device == "none" ? Policy::optimal : Policy::accelerator};
  options.save = save;
  Result<Executable> program = compile(graph, options);
  EXPECT_TRUE(program) << program.error().message;
  return *std::move(program);
}

/// Two passes; the first one is stopped after `rows` rows, and goes on in another program from the file that was saved last.
Ended two_passes(const std::string& device, const std::string& rest, std::int64_t every, std::int64_t rows) {
  const test::TemporaryFolder folder;
  const SaveOptions save{.path = folder.path("states"), .every = every};
  Ended ended;
  RunOptions options;
  options.inputs = training_data();
  std::stop_source stop;
  options.stop = stop.get_token();
  options.on_log = [&](const LoggedStep& step) {
    ended.rows[step.step] = row_of(step);
    if (--rows == 0) stop.request_stop();
  };
  Executable program = compiled_pass(device, rest, save);
  Result<RunResult> first = program.run(options);
  if (!first) {
    ended.stopped = true;
    options.stop = {};
    program = compiled_pass(device, rest, save);
    const bool saved = std::filesystem::exists(folder.path("states/state.safetensors"));
    EXPECT_TRUE(!saved || program.load_states(folder.path("states")));
    first = program.run(options);
  }
  EXPECT_TRUE(first) << first.error().message;
  if (!first) return ended;
  ended.values = {*first->output("best")};
  for (const char* name : {"w", "speed", "pass.1"}) ended.values.push_back(*program.state(name));
  options.stop = {};
  options.first_step = first->steps;
  const Result<RunResult> second = program.run(options);
  EXPECT_TRUE(second) << second.error().message;
  if (!second) return ended;
  ended.values.push_back(*second->output("best"));
  for (const char* name : {"w", "speed", "pass.1"}) ended.values.push_back(*program.state(name));
  return ended;
}

TEST(SaveOnTheWay, AShuffledPassGoesOnInItsOrder) {
  int stopped = 0;
  for (const char* device : {"none", "simulated"})
    for (const char* rest : {"drop", "pad", "smaller"}) {
      const Ended whole = two_passes(device, rest, 0, -1);
      const std::size_t trips = rest == std::string("drop") ? 5 : 6;
      EXPECT_EQ(whole.rows.size(), 2 * trips);
      for (std::int64_t rows = 1; rows <= 5; rows += kSanitized ? 3 : 1)
        for (const std::int64_t every : {1, 2}) {
          SCOPED_TRACE(std::string(device) + ", " + rest + ", stopped after " + std::to_string(rows) + ", saved every " +
                       std::to_string(every));
          const Ended ended = two_passes(device, rest, every, rows);
          expect_equal(ended, whole);
          stopped += ended.stopped;
        }
    }
  EXPECT_GT(stopped, kSanitized ? 10 : 30);
}

TEST(SaveOnTheWay, TheLastFileSaysThatNoTripIsLeft) {
  const test::TemporaryFolder folder;
  Ended whole;
  ASSERT_TRUE(run_training(compiled_training("none", 1, {.path = folder.path("s"), .every = 5}), whole));
  const Result<SafeTensors> file = read_safetensors(folder.path("s/state.safetensors"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->metadata.at("position"), "23");
  EXPECT_EQ(file->metadata.at("step"), "69");
  EXPECT_EQ(file->metadata.at("format"), "cleave");
  Ended again;
  const Executable program = compiled_training("none", 1, {.continues = true});
  ASSERT_TRUE(program.load_states(folder.path("s")));
  ASSERT_TRUE(run_training(program, again));
  EXPECT_EQ(again.rows.size(), 1U);  // the row behind the loop
  again.rows = whole.rows;
  expect_equal(again, whole);
}

TEST(SaveOnTheWay, AProgramThatIsNotCompiledForItDoesNotGoOn) {
  const test::TemporaryFolder folder;
  Ended whole;
  ASSERT_TRUE(run_training(compiled_training("none", 1, {.path = folder.path("s"), .every = 10}), whole));
  const Status refused = compiled_training("none", 1, {}).load_states(folder.path("s"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_NE(refused.error().message.find("`continues` of CompileOptions::save"), std::string::npos) << refused.error().message;
}

TEST(SaveOnTheWay, APositionThatIsNoneIsRefused) {
  const test::TemporaryFolder folder;
  Ended whole;
  ASSERT_TRUE(run_training(compiled_training("none", 1, {.path = folder.path("s"), .every = 10}), whole));
  Result<SafeTensors> file = read_safetensors(folder.path("s/state.safetensors"));
  ASSERT_TRUE(file);
  for (const char* wrong : {"-1", "x", "nan", "1e300", ""}) {
    file->metadata["position"] = wrong;
    ASSERT_TRUE(write_safetensors(folder.path("wrong.safetensors"), *file));
    EXPECT_FALSE(compiled_training("none", 1, {.continues = true}).load_states(folder.path("wrong.safetensors"))) << wrong;
  }
}

TEST(SaveOnTheWay, AFileThatCannotBeWrittenIsAnErrorBeforeTheRun) {
  const Result<Executable> program = compile(training(), {.device = "none", .save = {.path = "/proc/no/folder", .every = 2}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, ErrorKind::file);
}

}  // namespace
}  // namespace cleave::testing

// The command line as a user meets it: exit codes, streams, JSON documents, errors. Runs the built program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/array/npy.h"
#include "graph/base/version.h"
#include "tests/support/command.h"
#include "tests/support/json_schema.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScale = R"(cleave: 1
model: scale
dims: {n: 3}
inputs:
  x: "f32[n]"
parameters:
  w: {type: "f32[n]", value: 2}
program:
  - y: x * w
  - print("sum", sum(y))
outputs: [y]
)";

class CliTest : public ::testing::Test {
 protected:
  CommandResult run(const std::string& arguments) { return run_command("cleave " + arguments, folder_.path("")); }
  std::string model(const std::string& text, const std::string& name = "model.yaml") {
    write_file(folder_.path(name), text);
    return name;
  }
  TemporaryFolder folder_;
};

TEST_F(CliTest, APlanSaysThatItUsesOneOfSeveralAccelerators) {
  const std::string path = model(kScale);
  const CommandResult several = run("explain " + path + " --machine simulated-4"), one = run("explain " + path);
  EXPECT_EQ(several.code, 0) << several.err;
  EXPECT_THAT(several.err,
              HasSubstr("machine `simulated-4` has 4 accelerators; this plan, its prediction and its bound are for the host and"));
  EXPECT_THAT(one.err, Not(HasSubstr("accelerators;")));
}

TEST_F(CliTest, HelpFitsOnAScreenAndHasAnExample) {
  for (const char* command : {"", "run", "explain", "check", "apply", "dot", "print", "plan", "devices", "calibrate", "completion"}) {
    const CommandResult help = run(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 76) << help.out;
    EXPECT_THAT(help.out, HasSubstr("Example: cleave"));
    EXPECT_EQ(help.err, "");
  }
}

TEST_F(CliTest, TheVersionNamesTheCommit) {
  const CommandResult version = run("--version");
  EXPECT_EQ(version.code, 0);
  const bool cloned = std::filesystem::exists(source_dir() + "/.git") && run_command("git --version").code == 0;
  EXPECT_THAT(version.out,
              ::testing::MatchesRegex(std::string("cleave ") + kVersion + (cloned ? " \\(commit [0-9a-f]{10}(-modified)?\\)\n" : "\n")));
}

TEST_F(CliTest, WrongUsageExitsWith2) {
  model(kScale);
  for (const char* arguments : {"fly",
                                "run",
                                "run model.yaml --colour",
                                "run model.yaml --placement best",
                                "run model.yaml --dim n",
                                "run model.yaml --dim n=x",
                                "run model.yaml -Wnonsense",
                                "dot model.yaml -o picture.gif",
                                "print model.yaml --stage final",
                                "run model.yaml --device tpu",
                                "explain model.yaml --top 0",
                                "explain model.yaml --top 3 --all",
                                "run model.yaml --schedule never",
                                "run model.yaml --runs 0",
                                "run model.yaml --schedule randomfoo",
                                "run model.yaml --schedule random:",
                                "run model.yaml --schedule random:1x",
                                "run model.yaml --schedule random:99999999999999999999",
                                "run model.yaml --seed 99999999999999999999",
                                "run model.yaml --seed 1x",
                                "run model.yaml --seed ''",
                                "run model.yaml --dim n=99999999999999999999",
                                "run model.yaml --runs 1e3",
                                "run model.yaml --precision tf32 --device none",
                                "explain model.yaml --precision bf16 --device none",
                                "run model.yaml --precision f16",
                                "completion tcsh"}) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.code, 2) << arguments << result.err;
    EXPECT_NE(result.err, "") << arguments;
    EXPECT_EQ(result.out, "") << arguments;
  }
}

TEST_F(CliTest, AMisspeltDiagnosticFlagIsSuggested) {
  model(kScale);
  for (const auto& [flag, said] : std::vector<std::pair<std::string, std::string>>{{"-Wround-trp", "did you mean `-Wround-trip`?"},
                                                                                   {"-Wno-roundtrip", "did you mean `-Wno-round-trip`?"},
                                                                                   {"-Werror=fallbak", "did you mean `-Werror=fallback`?"},
                                                                                   {"-Wal", "did you mean `-Wall`?"},
                                                                                   {"-Rround-trips", "did you mean `-Rround-trip`?"},
                                                                                   {"-Wno-shape", "`shape` is always an error"},
                                                                                   {"-Werror=limit", "`limit` is always an error"}}) {
    const CommandResult result = run("check model.yaml " + flag);
    EXPECT_EQ(result.code, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr(flag + ": ")) << flag;
    EXPECT_THAT(result.err, HasSubstr(said)) << flag;
  }
}

TEST_F(CliTest, RunPrintsOutputsAndSummary) {
  model(kScale);
  const CommandResult result = run("run model.yaml --input 'x=[1, 2, 3]'");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("sum: 12"));
  EXPECT_THAT(result.out, HasSubstr("y: [2"));
  EXPECT_THAT(result.out, HasSubstr("simulated"));
  EXPECT_EQ(without_account(result.err), "");
}

TEST_F(CliTest, PrecisionChangesProductsOfTheAcceleratorAndSaysSo) {
  model(R"(cleave: 1
model: product
inputs: {x: "f32[1, 1]"}
program:
  - y: matmul(x, x)
outputs: [y]
)");
  const std::string flags = " --input x=1.001953125 --placement accelerator --device simulated --json";  // 1 + 2^-9
  EXPECT_THAT(run("run model.yaml --precision tf32" + flags).out, HasSubstr("1.0039"));
  const CommandResult less = run("run model.yaml --precision bf16 --verify" + flags);
  EXPECT_EQ(less.code, 0) << less.err;
  EXPECT_EQ(json::parse(less.out)["outputs"]["y"]["data"], json({{1.0}}));
  EXPECT_THAT(run("explain model.yaml --precision bf16").out, HasSubstr("placement optimal, matrix products in bf16\n"));
  EXPECT_THAT(run("explain model.yaml --precision tf32 --device none").err, HasSubstr("the host computes them in f32"));
}

TEST_F(CliTest, RunJsonIsOneDocument) {
  model(kScale);
  const CommandResult result = run("run model.yaml --input x=0.5 --dim n=2 --json --placement accelerator");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("sum: 2"));
  const json document = json::parse(result.out);
  EXPECT_EQ(document["outputs"]["y"], json({{"type", "f32[2]"}, {"shape", {2}}, {"data", {1.0, 1.0}}}));
  EXPECT_EQ(document["transfers"]["host_to_accelerator"], json({{"count", 2}, {"bytes", 16}}));
  EXPECT_EQ(document["device"], "simulated");
  EXPECT_TRUE(document["diagnostics"].empty());
}

TEST_F(CliTest, InputsComeFromFilesAndAreChecked) {
  model(kScale);
  ASSERT_TRUE(write_npy(folder_.path("x.npy"), Array::of<float>({3}, {1, 2, 4})));
  write_file(folder_.path("x.csv"), "1,2,5\n");
  EXPECT_THAT(run("run model.yaml --input x=x.npy").out, HasSubstr("sum: 14"));
  EXPECT_THAT(run("run model.yaml --input x=x.csv").out, HasSubstr("sum: 16"));
  EXPECT_THAT(run("run model.yaml --input x=1 --param 'w=[1, 1, 1]'").out, HasSubstr("sum: 3"));
  const std::pair<const char*, const char*> wrong[] = {
      {"--input x=[1,2]", "`x` (f32[3]): 3 elements are expected, but 2 are given"},
      {"--input xx=1", "did you mean `x`"},
      {"--input factor=1", "no input or parameter `factor`; it has `x`, `w`"},
      {"--input x=missing.npy", "missing.npy"},
      {"--input x=hello", "neither"},
      {"--input 'x=[[1,2,3]]'", "`x` (f32[3]): 3 elements are expected, but 1 is given"},
      {"--input 'x=[1,[2],3]'", "`x` (f32[3]): one number is expected at [1], but a list is given"},
      {"--input 'x={\"a\": 1}'", "no value"},
      {"--input x=1e39", "`1e+39` is no value of type f32; f32 holds -3.4028235e+38 to 3.4028235e+38"},
      {"--input x=1e400", "`1e400` is no value of type f32; f32 holds"},
      {"--input x=[1,-1e39,0]", "`-1e+39` is no value of type f32"},
      {"",
       "the input `x` (f32[3]) is not given and the model has no default for it; give it with `--input x=VALUE` or `--input x=FILE.npy`"},
  };
  for (const auto& [arguments, message] : wrong) {
    const CommandResult result = run(std::string("run model.yaml ") + arguments);
    EXPECT_EQ(result.code, 1) << arguments << result.out;
    EXPECT_THAT(result.err, HasSubstr(message)) << arguments;
  }
}

TEST_F(CliTest, OutputsGoToFiles) {
  model(kScale);
  const CommandResult result = run("run model.yaml --input x=3 --output y=y.npy");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto array = read_npy(folder_.path("y.npy"));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(*array, Array::of<float>({3}, {6, 6, 6}));
  EXPECT_EQ(run("run model.yaml --input x=3 --output z=y.npy").code, 1);
  EXPECT_EQ(run("run model.yaml --input x=3 --output y=no/such/folder/y.npy").code, 1);
}

TEST_F(CliTest, StandardOutputThatTakesNothingIsAnError) {
  model(kScale);
  for (const char* command : {"run model.yaml --input x=1", "run model.yaml --input x=1 --json", "explain model.yaml", "dot model.yaml",
                              "print model.yaml", "devices", "--help"}) {
    for (const char* stream : {" >/dev/full", " >&-"}) {
      const CommandResult result = run(std::string(command) + stream);
      EXPECT_EQ(result.code, 1) << command << stream;
      EXPECT_THAT(result.err, HasSubstr("cannot write to standard output")) << command << stream;
    }
  }
  EXPECT_EQ(run("run model.yaml --input x=1 --output y=y.npy >&-").code, 1);
  EXPECT_TRUE(read_npy(folder_.path("y.npy")).ok()) << "nothing that is printed may end up in a file";
}

TEST_F(CliTest, ErrorsOfTheModelNameTheLine) {
  model("cleave: 1\nmodel: m\ninputs: {x: \"f32[2]\"}\nprogram:\n  - y: x + z\noutputs: [y]\n");
  for (const char* command : {"run", "explain", "check", "dot", "print"}) {
    const CommandResult result = run(std::string(command) + " model.yaml");
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_THAT(result.err, HasSubstr("model.yaml:5:")) << command;
    EXPECT_THAT(result.err, HasSubstr("`z`")) << command;
  }
  for (const char* command : {"run", "explain", "check"}) {
    const CommandResult result = run(std::string(command) + " model.yaml --json");
    EXPECT_EQ(result.code, 1);
    const json document = json::parse(result.out);
    EXPECT_TRUE(document.contains("cleave"));
    EXPECT_EQ(document["diagnostics"][0]["severity"], "error");
    EXPECT_EQ(document["diagnostics"][0]["location"]["line"], 5);
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(run("run nowhere.yaml").code, 1);
  EXPECT_EQ(run("run nowhere.graph").code, 1);
}

TEST_F(CliTest, ValuesThatCommandsWithoutARunAreGivenAreChecked) {
  model(kScale);
  for (const std::string command : {"explain", "check", "dot", "print", "print --stage placed"}) {
    EXPECT_EQ(run(command + " model.yaml --input x=1 --param w=2 --seed 3").code, 0) << command;
    EXPECT_EQ(run(command + " model.yaml --input x=[1,2]").code, 1) << command;
    EXPECT_EQ(run(command + " model.yaml --input xx=1").code, 1) << command;
  }
}

TEST_F(CliTest, PicturesAndStagesAreDocumentsToo) {
  model(kScale);
  EXPECT_THAT(json::parse(run("dot model.yaml --json").out)["dot"].get<std::string>(), HasSubstr("digraph"));
  EXPECT_EQ(json::parse(run("dot model.yaml --json -o m.dot").out)["file"], "m.dot");
  for (const char* stage : {"traced", "simplified", "placed", "partitioned"}) {
    const json document = json::parse(run(std::string("print model.yaml --json --stage ") + stage).out);
    EXPECT_THAT(document["text"].get<std::string>(), HasSubstr("multiply")) << stage;
    EXPECT_TRUE(document["diagnostics"].empty());
  }
}

TEST_F(CliTest, WhatIsTooMuchToBePlannedNamesTheLine) {
  model("cleave: 1\ninputs: {x: \"f32[]\"}\nprogram:\n  - while: x > 0\n    expect: 1e308\n    do:\n      - x: x - 1\noutputs: [x]\n");
  const CommandResult often = run("check model.yaml");
  EXPECT_EQ(often.code, 1);
  EXPECT_THAT(often.err, HasSubstr("model.yaml:4:5: error: by what is expected here and around, this runs 1e+308 times a run"));
  write_file(
      folder_.path("slow.graph"),
      "cleave-graph 1\nname \"g\"\nfile 0 \"a.yaml\"\n%x.0 = input : f32[]\n"
      "%1 = host_call(%x.0) {function=function \"f\" takes (f32[]) returns (f32[]) seconds 1e200} : f32[] @0:7:3\noutput \"y\" %1\n");
  const CommandResult slow = run("check slow.graph");
  EXPECT_EQ(slow.code, 1);
  EXPECT_THAT(slow.err, HasSubstr("a.yaml:7:3: error: `f` is said to take 1e+200 s"));
  model(kScale);
  write_file(folder_.path("machine.yaml"), read_file(source_dir() + "/partitioner/machine/machines/simulated.yaml") + "\n");
  for (const char* rate : {"1e-300", "1e300", "1e-320"}) {
    std::string machine = read_file(folder_.path("machine.yaml"));
    machine.replace(machine.find("bytes_per_second: 1.0e10"), 24, std::string("bytes_per_second: ") + rate);
    write_file(folder_.path("odd.yaml"), machine);
    const CommandResult odd = run("check model.yaml --machine odd.yaml");
    EXPECT_EQ(odd.code, 1) << rate;
    EXPECT_THAT(odd.err, HasSubstr("odd.yaml:8:21: error: `bytes_per_second` must")) << rate;
  }
}

TEST_F(CliTest, ExplainRunsWithoutInputs) {
  model(kScale);
  const CommandResult text = run("explain model.yaml");
  EXPECT_EQ(text.code, 0) << text.err;
  const CommandResult result = run("explain model.yaml --json --placement accelerator");
  ASSERT_EQ(result.code, 0);
  const json document = json::parse(result.out);
  EXPECT_EQ(document["model"], "scale");
  EXPECT_EQ(document["machine"], json({{"name", "simulated"}, {"provenance", "assumed"}}));
  EXPECT_GT(document["placement"]["gap"], 0) << "the optimum stays on the host";
  EXPECT_LT(json::parse(run("explain model.yaml --json").out)["placement"]["gap"], 1e-3);
}

TEST_F(CliTest, ExplainShowsMeasuredBesidePredictedCopies) {
  const std::string kmeans = source_dir() + "/models/kmeans.yaml";
  ASSERT_EQ(run("run " + kmeans + " --quiet --profile seen.json").code, 0);
  const json before = json::parse(run("explain " + kmeans + " --json").out),
             after = json::parse(run("explain " + kmeans + " --json --use-profile seen.json").out);
  for (const json& transfer : before["transfers"]) EXPECT_TRUE(transfer["measured_seconds"].is_null());
  int measured = 0;
  for (const json& transfer : after["transfers"]) {
    if (transfer["measured_seconds"].is_null()) continue;  // by the profile's host times, the plan may move other values
    ++measured;
    EXPECT_NEAR(transfer["measured_seconds"].get<double>(), transfer["seconds"].get<double>(), 0.02 * transfer["seconds"].get<double>())
        << "the simulated accelerator's clock goes by the plan";
  }
  EXPECT_GE(measured, 2);
  EXPECT_THAT(run("explain " + kmeans + " -w --use-profile seen.json").out, HasSubstr(", measured "));
}

TEST_F(CliTest, TablesShowTheCostliestRows) {
  const std::string kmeans = source_dir() + "/models/kmeans.yaml";
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const std::string usual = run("explain " + kmeans + " -w").out, few = run("explain " + kmeans + " -w --top 2").out,
                    all = run("explain " + kmeans + " -w --all").out;
  EXPECT_LT(lines(few), lines(usual));
  EXPECT_LT(lines(usual), lines(all));
  EXPECT_THAT(few, ::testing::ContainsRegex("\n  and [0-9]+ more, [0-9.]+ [mu]?s in sum \\(--all shows them\\)\n"));
  EXPECT_THAT(all, Not(HasSubstr("--all shows")));
  const std::string profile = "run " + kmeans + " --quiet --profile";
  EXPECT_THAT(run(profile + " --top 3").out, ::testing::ContainsRegex("\n  and [0-9]+ more: predicted [0-9.]+ [mu]?s, took "));
  EXPECT_THAT(run(profile + " --all").out, Not(HasSubstr("--all shows")));
}

TEST_F(CliTest, LimitsAndWarningsTurnedIntoErrorsFail) {
  const std::string loop = std::string(kScale) + "limits: {transfers: 0}\n";
  model(loop);
  const CommandResult result = run("check model.yaml --placement accelerator");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("limit"));
  EXPECT_EQ(run("run model.yaml --placement accelerator --input x=1").code, 1);
  EXPECT_EQ(run("check model.yaml --placement host").code, 0);
}

TEST_F(CliTest, StagesPrintAndGraphFilesWorkInPlaceOfModels) {
  model(kScale);
  for (const char* stage : {"traced", "simplified", "placed", "partitioned"}) {
    const CommandResult result = run(std::string("print model.yaml --stage ") + stage);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("multiply"));
  }
  write_file(folder_.path("saved.graph"), run("print model.yaml --stage traced").out);
  const CommandResult result = run("run saved.graph --input x=1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("sum: 6"));
  EXPECT_EQ(run("run saved.graph --input x=1 --dim n=5").code, 1);
  ASSERT_TRUE(std::filesystem::create_directories(folder_.path("elsewhere")));
  ASSERT_EQ(run("print model.yaml --stage traced -o elsewhere/saved.graph").code, 0);
  EXPECT_THAT(run("run elsewhere/saved.graph --input x=1").out, HasSubstr("sum: 6"));
}

TEST_F(CliTest, DotDraws) {
  model(kScale);
  EXPECT_THAT(run("dot model.yaml").out, HasSubstr("digraph"));
  ASSERT_EQ(run("dot model.yaml -o picture.svg").code, 0);
  EXPECT_THAT(read_file(folder_.path("picture.svg")), HasSubstr("<svg"));
  const CommandResult nowhere = run("dot model.yaml -o no/such/folder/picture.svg");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("`no/such/folder/picture.svg`"));
  EXPECT_THAT(run_command("ls", folder_.path("")).out, Not(HasSubstr("tmp")));
}

TEST_F(CliTest, ARunThatDiffersFromItsPredictionFails) {
  const std::string loop =
      "cleave: 1\nmodel: m\ninputs: {n: \"i32[]\"}\nprogram:\n  - i: 0\n  - while: i < n\n    expect: 10\n    do:\n      - i: i + 1\n"
      "outputs: [i]\nlimits:\n  round_trips: 0\n  prediction_error: 20%\n";
  model(loop);
  const CommandResult inside = run("run model.yaml --device simulated --input n=10");
  EXPECT_EQ(inside.code, 0) << inside.err;
  EXPECT_THAT(inside.err, Not(HasSubstr("prediction_error")));
  for (const std::string trips : {"100", "1"}) {
    const CommandResult outside = run("run model.yaml --device simulated --input n=" + trips);
    EXPECT_EQ(outside.code, 1);
    EXPECT_THAT(outside.out, HasSubstr("i: " + trips)) << "results are there";
    EXPECT_THAT(outside.err, HasSubstr("model.yaml:13:3: error: the run took "));
    EXPECT_THAT(outside.err, HasSubstr("predicted; the limit `prediction_error: 20%` is exceeded"));
    EXPECT_THAT(outside.err, HasSubstr("note: predicted by machine `simulated`, assumed"));
  }
  const json document = json::parse(run("run model.yaml --device simulated --input n=100 --json").out);
  EXPECT_EQ(document["diagnostics"].back()["kind"], "limit");
  EXPECT_EQ(document["diagnostics"].back()["location"]["line"], 13);
  EXPECT_EQ(document["outputs"]["i"]["data"], 100);
  EXPECT_THAT(run("run model.yaml --device simulated --input n=100 --diagnostics sarif").err, HasSubstr("\"ruleId\": \"limit\""));
  EXPECT_THAT(run("run model.yaml --device none --machine simulated --runs 4 --input n=" + std::string(kSanitized ? "5000" : "100000")).err,
              HasSubstr("the median of 3 runs is "));
  EXPECT_EQ(run("check model.yaml --device simulated").code, 0) << "it is a limit of runs";
  model(loop.substr(0, loop.rfind("20%")) + "-1%\n");
  EXPECT_THAT(run("check model.yaml").err, HasSubstr("`-1%` is out of range; `prediction_error` is a percentage above 0, as in `20%`"));
}

TEST_F(CliTest, ProfilesAreObservedAndUsed) {
  model("cleave: 1\nmodel: m\ninputs: {n: \"i32[]\"}\nprogram:\n  - i: 0\n  - while: i < n\n    do:\n      - i: i + 1\noutputs: [i]\n");
  EXPECT_THAT(run("explain model.yaml").out, HasSubstr("assumed"));
  const CommandResult printed = run("run model.yaml --input n=7 --profile");
  EXPECT_THAT(printed.out, HasSubstr("model.yaml:6"));
  EXPECT_THAT(printed.out, HasSubstr(" 7 trips\n"));
  EXPECT_THAT(printed.out, HasSubstr("beside predicted, for a run:\n"));
  const json observed = json::parse(run("run model.yaml --input n=7 --profile --json").out);
  EXPECT_EQ(observed["profile"]["expected"], json({{"while", 7}}));
  EXPECT_EQ(observed["profile"]["host_samples"].size(), observed["profile"]["host_seconds"].size());
  const json several = json::parse(run("run model.yaml --input n=7 --runs 3 --profile --json").out)["profile"];
  std::int64_t additions = 0;
  for (const auto& [key, samples] : several["host_samples"].items()) {
    EXPECT_LE(samples["minimum"], several["host_seconds"][key]);
    if (key.ends_with("add")) additions = samples["count"].get<std::int64_t>() + samples["preempted"].get<std::int64_t>();
  }
  EXPECT_EQ(additions, 3 * 7) << "samples of all runs: " << several["host_samples"];
  const json ledger = observed["profile"]["ledger"];
  EXPECT_EQ(ledger["rows"].size(), 2U) << ledger;  // the comparison, eight times, and the addition, seven times
  EXPECT_EQ(ledger["by_op"].size(), 2U);
  EXPECT_EQ(ledger["by_side"][0]["of"], "host");
  ASSERT_EQ(run("run --profile seen.json model.yaml --input n=7").code, 0);
  const json before = json::parse(run("explain model.yaml --json").out),
             after = json::parse(run("explain model.yaml --use-profile seen.json --json").out);
  EXPECT_EQ(before["regions"][1]["frequency"], 11);
  EXPECT_EQ(after["regions"][1]["frequency"], 8);
  const json ran = json::parse(run("run model.yaml --input n=7 --use-profile seen.json --json").out);
  const double predicted = after["placement"]["predicted_seconds"], simulated = ran["simulated_seconds"];
  EXPECT_NEAR(predicted, simulated, 0.02 * simulated) << "costs are made once, with the profile";
  EXPECT_EQ(run("explain model.yaml --use-profile missing.json").code, 1);
}

TEST_F(CliTest, AProfileMayBeNamedLikeAModel) {
  model("cleave: 1\nmodel: m\ninputs: {n: \"i32[]\"}\nprogram:\n  - y: n + 1\noutputs: [y]\n");
  const auto written = [&](const std::string& file) {
    const bool there = std::filesystem::exists(folder_.path(file));
    std::filesystem::remove(folder_.path(file));
    return there;
  };
  // Behind the model, before it, and with values of other flags around.
  for (const std::string words : {"model.yaml --profile p.yaml --input n=1", "--profile p.yaml model.yaml --input n=1",
                                  "--input n=1 model.yaml --quiet --profile p.yaml", "--profile=p.yaml --seed -3 model.yaml --input n=1"}) {
    const CommandResult result = run("run " + words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    EXPECT_TRUE(written("p.yaml")) << words;
  }
  // The only operand is the model.
  for (const std::string words : {"--profile model.yaml --input n=1", "--input n=1 --profile model.yaml",
                                  "--seed 3 --input n=1 --profile model.yaml", "-W all --input n=1 --profile model.yaml"}) {
    const CommandResult result = run("run " + words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    EXPECT_THAT(result.out, HasSubstr("y: 2")) << words;
  }
  // A file that is not a profile is not overwritten.
  write_file(folder_.path("other.yaml"), "cleave: 1\n");
  const CommandResult lost = run("run --profile other.yaml model.yaml --input n=1");
  EXPECT_EQ(lost.code, 2);
  EXPECT_EQ(lost.err, "error: `other.yaml` holds no profile, and `--profile` would replace it; name another file, or remove this one\n");
  EXPECT_EQ(run("explain model.yaml --advise 3").code, 0);
  EXPECT_EQ(run("explain --advise model.yaml").code, 0);
}

TEST_F(CliTest, DevicesAndTimeline) {
  const CommandResult devices = run("devices");
  EXPECT_EQ(devices.code, 0);
  EXPECT_THAT(devices.out, HasSubstr("simulated"));
  const json all = json::parse(run("devices --json").out)["devices"];
  EXPECT_TRUE(all.is_array());
  EXPECT_THAT(devices.out, HasSubstr("kernels for "));
  EXPECT_TRUE(all[0]["highway"].is_boolean());
  EXPECT_GE(all[0]["threads"].get<int>(), 1);
  EXPECT_NE(all[0]["instructions"].get<std::string>(), "");
  model(kScale);
  ASSERT_EQ(run("run model.yaml --input x=1 --trace trace.json --placement accelerator").code, 0);
  EXPECT_FALSE(json::parse(read_file(folder_.path("trace.json")))["traceEvents"].empty());
  EXPECT_EQ(run("run model.yaml --input x=1 --device cuda").code, 3);
}

TEST_F(CliTest, AFailureOfTheMachineIsOfItsOwnKind) {
  model(kScale);
  const std::string arguments = "run model.yaml --input x=1 --placement accelerator --inject kernel:1";
  const CommandResult text = run(arguments), result = run(arguments + " --json");
  EXPECT_EQ(text.code, 3) << text.err;
  EXPECT_EQ(result.code, 3);
  const json document = json::parse(result.out);
  ASSERT_EQ(document["diagnostics"].size(), 1u);
  EXPECT_EQ(document["diagnostics"][0]["kind"], "machine");
  EXPECT_EQ(document["diagnostics"][0]["location"]["line"], 9);
}

TEST_F(CliTest, JsonErrorsOfFilesAndNamesSayTheirKind) {
  model(kScale);
  write_file(folder_.path("broken.npy"), "nothing of the sort");
  write_file(folder_.path("broken.csv"), "1,2,x\n");
  const std::pair<const char*, const char*> cases[] = {
      {"run model.yaml --input x=missing.npy", "file"},
      {"run model.yaml --input x=broken.npy", "file"},
      {"run model.yaml --input x=missing.csv", "file"},
      {"run model.yaml --input x=broken.csv", "file"},
      {"run model.yaml --input x=1 --output y=missing/y.npy", "file"},
      {"run model.yaml --input x=1 --use-profile missing.json", "file"},
      {"run model.yaml --input x=1 --use-profile broken.npy", "file"},
      {"plan missing.json", "file"},
      {"run model.yaml --input xx=1", "unknown"},
      {"run model.yaml --param ww=1 --input x=1", "unknown"},
      {"run model.yaml --input x=1 --output yy=y.npy", "unknown"},
      {"run model.yaml --input x=[1]", "value"},
  };
  for (const auto& [arguments, kind] : cases) {
    const CommandResult result = run(std::string(arguments) + " --json");
    EXPECT_EQ(result.code, 1) << arguments;
    EXPECT_EQ(json::parse(result.out)["diagnostics"][0]["kind"], kind) << arguments;
  }
  EXPECT_THAT(run("run model.yaml --param ww=1 --input x=1").err, HasSubstr("no input or parameter `ww`; did you mean `w`?"));
}

TEST_F(CliTest, PassesAreShownTimedAndLeftOutByName) {
  const std::string file = model(
      "cleave: 1\nmodel: passes\ninputs: {x: \"f32[2]\"}\nprogram:\n  - y: x * sum([1.0, 4.0])\n  - z: x * sum([1.0, 4.0])\noutputs: [y, "
      "z]\n");
  const CommandResult all = run("print " + file + " --print-after fold-constants --print-after drop-dead");
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.err, HasSubstr("# after `fold-constants`"));
  EXPECT_THAT(all.err, HasSubstr("# after `drop-dead`"));
  EXPECT_THAT(all.err, Not(HasSubstr("# after `merge-equal`")));
  const auto count = [](const std::string& text, const std::string& word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count(all.out, "multiply"), 1U) << all.out;
  EXPECT_EQ(count(run("print " + file + " --disable-pass merge-equal").out, "multiply"), 2U);
  EXPECT_GT(count(run("print " + file + " --disable-pass fold-constants").out, "sum("), 0U);
  const CommandResult steps = run("explain " + file + " --print-after costs --print-after minimum-cut --print-after channel-depths");
  EXPECT_EQ(steps.code, 0);
  EXPECT_THAT(steps.err, HasSubstr("# after `costs`\n{"));
  EXPECT_THAT(steps.err, HasSubstr("# after `minimum-cut`\ncleave-graph"));
  EXPECT_THAT(steps.err, HasSubstr("# after `channel-depths`\n"));
  EXPECT_THAT(run("explain " + file + " --time-passes --disable-pass predict-baselines").err, Not(HasSubstr("predict-baselines")));
  EXPECT_THAT(run("explain " + file + " --disable-pass costs").err, HasSubstr("there is no pass `costs`"));
  const CommandResult timed = run("explain " + file + " --time-passes --device none");
  EXPECT_EQ(timed.code, 0);
  for (const char* step : {"fold-constants", "merge-equal", "drop-dead", "costs", "minimum-cut", "diagnostics"})
    EXPECT_THAT(timed.err, HasSubstr(step));
  for (const char* flag : {"--disable-pass", "--print-after"}) {
    const CommandResult wrong = run("explain " + file + " " + flag + " nothing");
    EXPECT_EQ(wrong.code, 2) << flag;
    EXPECT_THAT(wrong.err, HasSubstr("there is no pass `nothing`"));
  }
}

TEST_F(CliTest, WhatTheSimulatedAcceleratorAloneTakesIsWrongUsageElsewhere) {
  model(kScale);
  for (const char* flag : {"--inject kernel:1", "--check-memory", "--schedule latest"}) {
    const CommandResult result = run(std::string("run model.yaml --input x=1 --device none ") + flag);
    EXPECT_EQ(result.code, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr(": for the simulated accelerator only, and the device is none")) << flag;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(run("run model.yaml --input x=1 --device none --schedule eager").code, 0);
}

TEST_F(CliTest, VerifyingShowsNoProgressInAPipe) {
  model(kScale);
  const CommandResult result = run("run model.yaml --input x=1 --verify");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(without_account(result.err), "");
}

TEST_F(CliTest, NpyFilesAreWrittenWhereItRuns) {
  model("cleave: 1\ninputs: {x: \"f32[2]\"}\nprogram:\n  - write_npy(\"a.npy\", x)\n  - write_npy(x + 1, \"b.npy\")\n");
  EXPECT_EQ(run("run model.yaml --input 'x=[1, 2]' --quiet").code, 0);
  EXPECT_EQ(*read_npy(folder_.path("a.npy")), Array::of<float>({2}, {1, 2}));
  EXPECT_EQ(*read_npy(folder_.path("b.npy")), Array::of<float>({2}, {2, 3}));
}

TEST_F(CliTest, AnyBytesInNamesAndPathsGiveADocument) {
  write_file(folder_.path("bytes.graph"),
             "cleave-graph 1\nname \"g\\x1b[31m\"\nfile 0 \"a.yaml\"\n%0 = constant {value=f32[] (1.0)} : f32[] @0:1:1\n"
             "output \"\xff\xfe\x1b[2J\" %0 @0:1:1\n");
  const CommandResult result = run("run bytes.graph --json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["outputs"].begin().key(), "\xef\xbf\xbd\xef\xbf\xbd\x1b[2J");
  const CommandResult shown = run("run bytes.graph");
  EXPECT_THAT(shown.out, HasSubstr("\\xff\\xfe\\x1b[2J: 1"));
  for (const char* command : {"run bytes.graph", "explain bytes.graph", "print bytes.graph", "print bytes.graph --stage placed",
                              "print bytes.graph --stage partitioned", "dot bytes.graph"}) {
    const CommandResult text = run(command);
    EXPECT_EQ(text.out.find_first_of("\x1b\xff\xfe"), std::string::npos) << command << text.out;
  }
  const CommandResult printed = run("print bytes.graph --stage traced > again.graph; cleave run again.graph --json");
  EXPECT_EQ(json::parse(printed.out)["outputs"], json::parse(result.out)["outputs"]) << "what is escaped reads back";
  const std::string while_loop = "cleave: 1\ninputs: {x: \"f32[]\"}\nprogram:\n  - while: x > 0\n    do:\n      - x: x - 1\noutputs: [x]\n";
  ASSERT_EQ(run("--help > /dev/null; mkdir $'d\\xff'").code, 0);
  write_file(folder_.path("d\xff/loop.yaml"), while_loop);
  const CommandResult profile = run("run $'d\\xff/loop.yaml' --json --profile --input x=5");
  ASSERT_EQ(profile.code, 0) << profile.err;
  EXPECT_EQ(json::parse(profile.out)["profile"]["expected"], json({{"while", 5}}));
  ASSERT_EQ(run("run $'d\\xff/loop.yaml' --profile=seen.json --input x=5").code, 0);
  EXPECT_EQ(json::parse(run("explain $'d\\xff/loop.yaml' --use-profile seen.json --json").out)["regions"][1]["frequency"], 6);
  const CommandResult broken = run("run $'d\\xff/no\\x1b.yaml'");
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("d\\xff/no\\x1b.yaml"));
  EXPECT_TRUE(json::accept(run("run $'d\\xff/no.yaml' --json").out));
}

TEST_F(CliTest, PlanSolvesBareProblems) {
  write_file(folder_.path("problem.json"), R"({"regions": [{"parent": null, "frequency": 1}],
    "nodes": [{"name": "a", "region": 0, "host_seconds": 0, "accelerator_seconds": 0, "pin": "host", "replicable": false},
              {"name": "b", "region": 0, "host_seconds": 5, "accelerator_seconds": 1, "pin": null, "replicable": false}],
    "values": [{"node": 0, "region": 0, "host_to_accelerator_seconds": 2, "accelerator_to_host_seconds": 2}],
    "uses": [{"value": 0, "node": 1, "region": 0}]})");
  const CommandResult result = run("plan problem.json");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["objective_seconds"], 3);
  EXPECT_EQ(document["nodes"][1]["on"], json({"accelerator:0"}));
  EXPECT_EQ(document["transfers"], json::array({{{"value", 0}, {"direction", "host_to_accelerator"}, {"region", 0}}}));
  const CommandResult latency = run("plan problem.json --objective latency --accelerators 2");
  ASSERT_EQ(latency.code, 0) << latency.err;
  const json of_one_run = json::parse(latency.out);
  EXPECT_EQ(of_one_run["objective_seconds"], 3) << "a copy of 2 s and 1 s of work, against 5 s on the host";
  ASSERT_EQ(of_one_run["transfers"].size(), 1U);
  EXPECT_EQ(of_one_run["transfers"][0]["direction"], "host_to_accelerator");
  EXPECT_EQ(of_one_run["transfers"][0]["from"], "host");
  EXPECT_EQ(of_one_run["transfers"][0]["to"], of_one_run["nodes"][1]["on"][0]);
  EXPECT_EQ(run("plan problem.json --objective latency --contiguous").code, 2);
  write_file(folder_.path("bad.json"), R"({"regions": [{"parent": 0, "frequency": 1}], "nodes": [], "values": [], "uses": []})");
  const CommandResult bad = run("plan bad.json");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("regions[0]"));
}

TEST_F(CliTest, WhatIsReadIsBounded) {
  model(kScale);
  std::filesystem::create_symlink("/dev/zero", folder_.path("endless.graph"));
  std::filesystem::create_symlink("/dev/zero", folder_.path("endless.csv"));
  std::filesystem::create_symlink("/dev/zero", folder_.path("endless.npy"));
  std::filesystem::resize_file(folder_.path(model("", "large.json")), (std::uintmax_t{4} << 30) + 1);
  const std::pair<const char*, const char*> cases[] = {
      {"cleave run /dev/zero", "`/dev/zero`: the file is larger than 64 MiB"},
      {"yes 'a: 1' | cleave check /dev/stdin", "`/dev/stdin`: the file is larger than 64 MiB"},
      {"cleave explain endless.graph", "the file is larger than 512 MiB"},
      {"cleave check model.yaml --machine /dev/zero", "the file is larger than 64 MiB"},
      {"cleave check model.yaml --use-profile /dev/zero", "the file is larger than 64 MiB"},
      {"cleave run model.yaml --input x=endless.csv", "the file is larger than 1.0 MiB"},
      {"cleave run model.yaml --input x=endless.npy", "not an npy file"},
      {"cleave plan large.json", "the file is larger than 4.0 GiB"},
      {"cleave plan large.json --format device-placement", "the file is larger than 4.0 GiB"},
      {"cleave plan /dev/zero", "syntax error"}};
  for (const auto& [command, message] : cases) {
    const CommandResult result = run_command((kSanitized ? "" : "ulimit -v 4000000; ") + std::string(command), folder_.path(""));
    EXPECT_NE(result.code, 0) << command;
    EXPECT_LE(result.code, 2) << command << result.err;
    EXPECT_THAT(result.err, HasSubstr(message)) << command;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(CliTest, OutputPathsAreTestedBeforeTheRun) {
  model(kScale);
  std::filesystem::create_directory(folder_.path("folder"));
  write_file(folder_.path("locked.npy"), "old");
  std::filesystem::permissions(folder_.path("locked.npy"), std::filesystem::perms::owner_read);
  const auto files = folder_.files();
  for (const char* flag : {"--output y=", "--trace ", "--profile "}) {
    for (const auto& [path, why] : {std::pair("none/y.npy", "No such file or directory"),
                                    {"folder", "Is a directory"},
                                    {"locked.npy", "Permission denied"},
                                    {"model.yaml/y", "Not a directory"}}) {
      const CommandResult result = run(std::string("run model.yaml --input x=1 ") + flag + path);
      EXPECT_EQ(result.code, 1) << flag << path;
      EXPECT_EQ(result.out, "") << "it ran";
      EXPECT_EQ(result.err, std::string("error: cannot write `") + path + "`: " + why + "\n");
    }
  }
  EXPECT_EQ(run("dot model.yaml -o none/a.svg").err, "error: cannot write `none/a.svg`: No such file or directory\n");
  EXPECT_EQ(run("dot model.yaml -o none/a.dot").err, "error: cannot write `none/a.dot`: No such file or directory\n");
  EXPECT_EQ(run("calibrate -o folder").err, "error: cannot write `folder`: Is a directory\n");
  // A run that fails leaves nothing where its output would have been.
  EXPECT_EQ(run("run model.yaml --output y=y.npy --trace t.json").code, 1);
  EXPECT_EQ(folder_.files(), files);
}

TEST_F(CliTest, CalibrationEndsWhenItIsTold) {
  const CommandResult result = run("calibrate --device none --seconds 0 --time-limit 0.2 -o machine.yaml --json --even-if-busy");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_THAT(JsonSchema("calibrate").faults(document), ::testing::IsEmpty());
  EXPECT_GT(document["left_out"], 100) << "of some nine hundred tables";
  EXPECT_EQ(document["file"], "machine.yaml");
  EXPECT_GT(document["core_share"], 0);
  std::map<std::string, std::string> sources;
  for (const json& number : document["numbers"]) sources[number["name"]] = number["source"];
  EXPECT_EQ(sources.at("host.overhead_seconds"), "measured");
  EXPECT_EQ(sources.at("host.memory_bytes"), "measured");
  EXPECT_EQ(sources.at("accelerator.flops.f32"), "default");
  EXPECT_EQ(sources.at("link.host_to_accelerator.latency_seconds"), "default");
  const CommandResult told = run("calibrate --device none --seconds 0 --time-limit 0.2 -o machine.yaml --even-if-busy");
  EXPECT_THAT(told.out, HasSubstr(" an op (measured)\n"));
  EXPECT_THAT(told.out, ::testing::ContainsRegex("measuring the host got [0-9]+ % of a core"));
  EXPECT_THAT(told.out, ::testing::ContainsRegex("default, not measured: .*accelerator.flops.f32, "));
  const std::string file = read_file(folder_.path("machine.yaml"));
  EXPECT_THAT(file, ::testing::ContainsRegex("# measuring the host got [0-9]+ % of a core"));
  EXPECT_THAT(file, ::testing::ContainsRegex("# default, not measured: .*link.accelerator_to_host.bytes_per_second\n"));
}

TEST_F(CliTest, OutputsGoToStandardOutputBetweenItsLines) {
  model(kScale);
  const CommandResult result =
      run("run model.yaml --input x=1 --output y=/dev/stdout --quiet >all; echo end >>all; wc -c <all; head -c 9 all");
  EXPECT_EQ(result.out, std::to_string(9 + 128 + 12 + 4) + "\nsum: 6.0\n") << read_file(folder_.path("all"));
}

TEST_F(CliTest, APictureIsWholeOrNotThere) {
  model(kScale);
  std::filesystem::create_directory(folder_.path("bin"));
  write_file(folder_.path("bin/dot"), "#!/bin/sh\necho half\nexit 1\n");
  std::filesystem::permissions(folder_.path("bin/dot"), std::filesystem::perms::owner_all);
  const auto files = folder_.files();
  const CommandResult failed = run_command("PATH=$PWD/bin:$PATH cleave dot model.yaml -o a.png", folder_.path(""));
  EXPECT_EQ(failed.code, 3);
  EXPECT_EQ(failed.err, "error: Graphviz could not draw the picture; a .svg or .dot file needs no Graphviz\n");
  const CommandResult missing = run_command("PATH=${PATH%%:*} cleave dot model.yaml -o a.pdf", folder_.path(""));
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.err, "error: cannot run Graphviz (`dot`, package graphviz); a .svg or .dot file needs no Graphviz\n");
  EXPECT_EQ(folder_.files(), files);
  const CommandResult own = run_command("PATH=${PATH%%:*} cleave dot model.yaml -o a.svg", folder_.path(""));
  EXPECT_EQ(own.code, 0);
  EXPECT_EQ(own.err, "note: cannot run Graphviz (`dot`, package graphviz): laid out without it\n");
  EXPECT_THAT(read_file(folder_.path("a.svg")), HasSubstr("</svg>"));
}

TEST_F(CliTest, ATraceIsWholeAlsoOfARunThatFails) {
  model(kScale);
  const CommandResult failed = run("run model.yaml --input x=1 --placement accelerator --inject kernel:1 --trace t.json");
  EXPECT_EQ(failed.code, 3);
  EXPECT_TRUE(json::parse(read_file(folder_.path("t.json")), nullptr, false).contains("traceEvents")) << read_file(folder_.path("t.json"));
}

TEST_F(CliTest, ASignalInTheMiddleOfATraceLeavesTheOldOne) {
  model("cleave: 1\nmodel: long\nprogram:\n  - n: 0\n  - while: n >= 0\n    do:\n      - n: (n + 1) % 1000\n      - print(\"n\", n)\n");
  write_file(folder_.path("t.json"), "old");
  const auto files = folder_.files();
  const CommandResult signalled =
      run_command("cleave run model.yaml --trace t.json --device none >/dev/null & sleep 1; kill -TERM $!; wait $!; echo $?; cat t.json",
                  folder_.path(""));
  EXPECT_EQ(signalled.out, "143\nold");
  EXPECT_EQ(folder_.files(), files);
}

}  // namespace
}  // namespace cleave::testing

// Profiles: files and their mistakes, files of earlier versions, several runs in one file.
#include "partitioner/machine/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "partitioner/compile.h"
#include "partitioner/machine/sample_summary.h"
#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

class ProfileFileTest : public ::testing::Test {
 protected:
  Result<Profile> load(const std::string& text) {
    write_file(folder_.path("seen.json"), text);
    return Profile::load(folder_.path("seen.json"));
  }
  /// The mistake as text: "3: message".
  std::string mistake(const std::string& text) {
    const Result<Profile> profile = load(text);
    if (profile) return "";
    EXPECT_EQ(profile.error().kind, ErrorKind::file);
    EXPECT_EQ(profile.error().location.file_name(), folder_.path("seen.json"));
    return std::to_string(profile.error().location.line) + ": " + profile.error().message;
  }
  TemporaryFolder folder_;
};

/// A file with one time, whose samples are `samples`, each key on a line.
std::string with_samples(const std::string& samples) {
  return "{\"cleave_profile\": 2,\n\"host_seconds\": {\n\"y.add\": 0.5},\n\"host_samples\": {\n\"y.add\": " + samples + "}}\n";
}

TEST_F(ProfileFileTest, SamplesAreKept) {
  Profile profile;
  profile.expected["for"] = 3;
  profile.host_seconds["y.add"] = 0.5;
  profile.host_samples["y.add"] = {7, 0.4, 0.05, 2};
  profile.transfer_seconds["x"] = 0.25;
  profile.transfer_samples["x"] = {1, 0.25, 0, 0};
  ASSERT_TRUE(profile.save(folder_.path("seen.json")).ok());
  const Result<Profile> read = Profile::load(folder_.path("seen.json"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->expected, profile.expected);
  EXPECT_EQ(read->host_seconds, profile.host_seconds);
  EXPECT_EQ(read->host_samples, profile.host_samples);
  EXPECT_EQ(read->transfer_seconds, profile.transfer_seconds);
  EXPECT_EQ(read->transfer_samples, profile.transfer_samples);
}

TEST_F(ProfileFileTest, MistakesAreToldAtTheirLine) {
  EXPECT_TRUE(load(with_samples(R"({"count": 1, "minimum": 0.5, "spread": 0, "preempted": 0})")).ok());
  EXPECT_EQ(mistake(with_samples("3")), "5: `host_samples[\"y.add\"]` must be an object");
  EXPECT_EQ(mistake(with_samples(R"({"count": 1, "minimum": 0.5, "preempted": 0})")), "5: `host_samples[\"y.add\"]` has no `spread`");
  EXPECT_EQ(mistake(with_samples("{\"count\": 1,\n\"minimum\": -1,\n\"spread\": 0, \"preempted\": 0}")),
            "6: `host_samples[\"y.add\"]`: `minimum` must be a number that is not negative");
  EXPECT_EQ(mistake(with_samples(R"({"count": 1.5, "minimum": 0.5, "spread": 0, "preempted": 0})")),
            "5: `host_samples[\"y.add\"]`: `count` must be an integer of at most 1e15 that is not negative");
  EXPECT_NE(mistake(with_samples(R"({"count": 9223372036854775807, "minimum": 0, "spread": 0, "preempted": 1})")), "");
  EXPECT_EQ(mistake(with_samples(R"({"count": 0, "minimum": 0.5, "spread": 0, "preempted": 0})")),
            "5: `host_samples[\"y.add\"]` has a time of no samples");
  EXPECT_EQ(mistake("{\"cleave_profile\": 2,\n\"host_samples\": {\n\"z\": {}}}"), "3: `host_samples[\"z\"]` has no time in `host_seconds`");
  EXPECT_EQ(mistake("{\"cleave_profile\": 2,\n\"host_seconds\": {\"y\": 1,\n\"z\": \"soon\"}}"),
            "3: `host_seconds[\"z\"]` must be a number that is not negative");
  EXPECT_EQ(mistake("{\"cleave_profile\": 2,\n\n\"expected\": []}"), "3: `expected` must be an object");
  EXPECT_THAT(load("{\"cleave_profile\": 2,\n,}").error().message, HasSubstr("not a JSON object (parse error at line 2"));
}

TEST_F(ProfileFileTest, WithoutSamplesItIsReadAndSaidSo) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) { return exp(x); });
  const auto said = [&](const std::string& samples) {
    PlanOptions options;
    options.costs.machine = *Machine::shipped("simulated");
    const Result<Profile> read = load(R"({"cleave_profile": 2, "host_seconds": {"exp": 0.5})" +
                                      (samples.empty() ? "" : R"(, "host_samples": {"exp": )" + samples + "}") + "}");
    EXPECT_TRUE(read.ok()) << read.error().message;
    options.costs.profile = *read;
    std::string remarks;
    for (const Diagnostic& each : plan(graph, options).diagnostics)
      if (each.severity == Severity::remark) remarks += each.message + "\n";
    return remarks;
  };
  EXPECT_THAT(said(""), HasSubstr("1 of the 1 times of operations in the profile come without counts and spreads"));
  EXPECT_THAT(said(R"({"count": 0, "minimum": 0.5, "spread": 0, "preempted": 3})"),
              HasSubstr("1 of the 1 times of operations in the profile are of preempted samples alone"));
  EXPECT_EQ(said(R"({"count": 3, "minimum": 0.5, "spread": 0, "preempted": 3})"), "");
}

Profile seen(double seconds, SampleSummary samples) {
  Profile profile;
  profile.host_seconds["y"] = seconds;
  profile.host_samples["y"] = samples;
  return profile;
}

TEST(MergeProfiles, TheMedianOfSingleRunsIsTheirMedian) {
  std::vector<Profile> runs;
  for (const double seconds : {5.0, 1.0, 2.0, 100.0, 3.0}) runs.push_back(seen(seconds, {1, seconds, 0, 0}));
  const Profile merged = merge_profiles(runs);
  EXPECT_EQ(merged.host_seconds.at("y"), 3);
  EXPECT_EQ(merged.host_samples.at("y"), (SampleSummary{5, 1, 2, 0})) << "deviations 2, 2, 1, 97, 0";
}

TEST(MergeProfiles, ASummaryKeepsItsMedianAndSpreadAndWeighsAsItsSamples) {
  const Profile many = seen(10, {300, 7, 1, 4}), few = seen(30, {3, 20, 5, 1});
  const Profile same = merge_profiles(std::vector{many, many});
  EXPECT_EQ(same.host_seconds.at("y"), 10);
  EXPECT_EQ(same.host_samples.at("y"), (SampleSummary{600, 7, 1, 8}));
  const Profile merged = merge_profiles(std::vector{few, many});
  EXPECT_EQ(merged.host_seconds.at("y"), 10);
  EXPECT_EQ(merged.host_samples.at("y"), (SampleSummary{303, 7, 1, 5}));
}

TEST(MergeProfiles, PreemptedSamplesCountWhereThereIsNoOther) {
  const Profile preempted = seen(9, {0, 9, 0, 2}), other = seen(8, {0, 8, 0, 1}), kept = seen(20, {1, 20, 0, 0});
  const Profile all = merge_profiles(std::vector{preempted, kept, other});
  EXPECT_EQ(all.host_seconds.at("y"), 20);
  EXPECT_EQ(all.host_samples.at("y"), (SampleSummary{1, 20, 0, 3}));
  const Profile none = merge_profiles(std::vector{preempted, other});
  EXPECT_EQ(none.host_seconds.at("y"), 8);
  EXPECT_EQ(none.host_samples.at("y"), (SampleSummary{0, 8, 0, 3}));
}

TEST(MergeProfiles, ExpectationsAreMeansOfTheRunsThatHaveThem) {
  std::vector<Profile> runs(3);
  runs[0].expected = {{"for", 4}, {"if", 1}};
  runs[1].expected = {{"for", 8}};
  runs[2].host_seconds = {{"old", 2.0}};
  const Profile merged = merge_profiles(runs);
  EXPECT_EQ(merged.expected, (std::map<std::string, double>{{"for", 6}, {"if", 1}}));
  EXPECT_EQ(merged.host_samples.at("old"), (SampleSummary{1, 2, 0, 0})) << "a time without samples counts as one";
  EXPECT_TRUE(merge_profiles({}).host_seconds.empty());
}

TEST(SampleSummary, TheMedianIsWeighted) {
  using planner::weighted_median;
  EXPECT_EQ(weighted_median({{3, 1}}), 3);
  EXPECT_EQ(weighted_median({{4, 1}, {2, 1}}), 3) << "the mean of the two in the middle";
  EXPECT_EQ(weighted_median({{4, 2}, {2, 1}}), 4);
  EXPECT_EQ(weighted_median({{1, 1. / 3}, {2, 1. / 3}, {3, 1. / 3}, {9, 1}}), 6) << "thirds are a whole";
}

}  // namespace
}  // namespace cleave::testing

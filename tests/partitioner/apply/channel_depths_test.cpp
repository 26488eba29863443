// Planned depths of channels: loops whose host work comes in bursts, memory limits to the byte, and the messages about them.
#include "partitioner/apply/channel_depths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/apply/predict.h"
#include "partitioner/compile.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/explain.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/round_machine.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kSlot = 256 * 256 * 4;

/// A product takes 1 on the accelerator, a copy 0.01; of the host's functions `note` and `load` take 0.1, `archive` and `refill` 6.
Plan plan_bursty(const std::string& program, double memory_bytes = 0, int channel_depth = 0) {
  const std::string type = "\"f32[256, 256]\"", library = ": {library: ./l.so, takes: [";
  const std::string text = "cleave: 1\nmodel: m\nhost_functions:\n  note" + library + type + "], returns: [], seconds: 0.1}\n  archive" +
                           library + type + "], returns: [], seconds: 6}\n  refill" + library +
                           "\"i32[]\"], returns: [], seconds: 6}\n  load" + library + "\"i32[]\"], returns: " + type +
                           ", seconds: 0.1}\nparameters:\n  w: {type: " + type + ", value: 1}\nprogram:\n" + program + "outputs: [w]\n";
  PlanOptions options;
  options.costs.machine = round_machine(0, 0.01);
  options.costs.machine.host.memory_bytes = memory_bytes;
  options.channel_depth = channel_depth;
  Plan plan = planner::plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(plan.complete()) << text;
  EXPECT_EQ(verify(plan.program), std::vector<std::string>());
  return plan;
}

/// The host reads each product, and in every tenth iteration works on it for the time of six: on average it is the faster side.
constexpr const char* kBurstyConsumer =
    "  - for: i in 200\n    do:\n      - w: matmul(w, w)\n        place: accelerator\n      - note(w)\n      - if: i % 10 == 0\n        "
    "then:\n          - "
    "archive(w)\n";
constexpr const char* kBurstyProducer =
    "  - for: i in 200\n    do:\n      - if: i % 10 == 9\n        probability: 0.1\n        then:\n          - refill(i)\n      - x: "
    "load(i)\n"
    "      - w: matmul(w, x)\n        place: accelerator\n";

/// The only channel in a loop; the first one if there are several.
ChannelId loop_channel(const Plan& plan) {
  for (std::size_t c = 0; c < plan.program.channels.size(); ++c)
    if (plan.program.channels[ChannelId(c)].region != Graph::kRoot) return ChannelId(c);
  ADD_FAILURE() << "nothing crosses in a loop";
  return ChannelId(0);
}
int depth_of(const Plan& plan) {
  return plan.program.channels[loop_channel(plan)].depth;
}

ChannelUse use_at(const Plan& plan, int depth) {
  Program program = plan.program;
  set_depth(program, loop_channel(plan), depth);
  const auto use = predict_use(step_times(program, plan.costed), program, plan.transfers, plan.costed);
  EXPECT_TRUE(use);
  return *use;
}

TEST(ChannelDepths, BridgeBursts) {
  for (const char* program : {kBurstyConsumer, kBurstyProducer}) {
    SCOPED_TRACE(program);
    const Plan plan = plan_bursty(program);
    const ChannelId channel = loop_channel(plan);
    const int depth = depth_of(plan);
    // Six products are computed during a burst. Values sent to the accelerator have two further buffers there, and one value is in flight.
    EXPECT_GE(depth, plan.program.channels[channel].to == kHost ? 7 : 4);
    EXPECT_LE(depth, 9);
    EXPECT_TRUE(plan.depths.limited.empty());
    const ChannelUse use = use_at(plan, depth), before = use_at(plan, kDefaultDepth);
    EXPECT_NEAR(use.seconds, plan.predicted_seconds, 0.05 * use.seconds);
    EXPECT_NEAR(use.seconds, 200, 10) << "the products' time";
    EXPECT_GT(before.seconds, 1.15 * use.seconds);
    if (plan.program.channels[channel].to == kHost) {
      EXPECT_EQ(use.full_seconds[channel], 0);
      EXPECT_GT(use_at(plan, depth - 1).full_seconds[channel], 0) << "it is the smallest";
    }
    EXPECT_GT(use_at(plan, depth - 1).seconds, use.seconds) << "it is the smallest";
    EXPECT_GE(plan.depths.slot_bytes, depth * kSlot);
    EXPECT_THAT(explain_text(plan), HasSubstr("room for " + std::to_string(depth)));
    EXPECT_THAT(explain_json(plan), HasSubstr("\"depth\": " + std::to_string(depth)));
    EXPECT_THAT(print(plan.program), HasSubstr(", depth " + std::to_string(depth)));
  }
}

TEST(ChannelDepths, BridgeWorkBehindAnInnerLoop) {
  const Plan plan = plan_bursty(
      "  - for: k in 50\n    do:\n      - for: i in 10\n        do:\n          - w: matmul(w, w)\n            place: accelerator\n         "
      " - note(w)\n      - "
      "archive(w)\n");
  EXPECT_GE(depth_of(plan), 6);
  EXPECT_LE(depth_of(plan), 10);
  EXPECT_GT(use_at(plan, kDefaultDepth).seconds, 1.2 * use_at(plan, depth_of(plan)).seconds);
}

/// If one side is slower on average, the other waits for it whatever the depth.
TEST(ChannelDepths, StayWhereTheyCannotHelp) {
  for (const char* program : {"  - for: i in 200\n    do:\n      - w: matmul(w, w)\n        place: accelerator\n      - archive(w)\n",
                              "  - for: i in 200\n    do:\n      - w: matmul(w, w)\n        place: accelerator\n      - note(w)\n      - "
                              "if: i % 2 == 0\n        then:\n"
                              "          - archive(w)\n",
                              "  - for: i in 200\n    do:\n      - w: matmul(w, w)\n        place: accelerator\n      - note(w)\n"}) {
    const Plan plan = plan_bursty(program);
    for (const Channel& channel : plan.program.channels) EXPECT_EQ(channel.depth, kDefaultDepth) << program;
    EXPECT_THAT(explain_text(plan), Not(HasSubstr("room for")));
  }
}

TEST(ChannelDepths, FitIntoMemoryToTheByte) {
  const Plan free = plan_bursty(kBurstyConsumer);
  const int wanted = depth_of(free);
  const double peak = peak_without_sharing(free.program, kHost).bytes;
  for (int depth = kDefaultDepth; depth <= wanted; ++depth) {
    SCOPED_TRACE(depth);
    const double just = peak + free.depths.slot_bytes - (wanted - depth) * kSlot;
    const Plan fits = plan_bursty(kBurstyConsumer, just), less = plan_bursty(kBurstyConsumer, just - 1);
    EXPECT_EQ(depth_of(fits), depth);
    EXPECT_EQ(peak + fits.depths.slot_bytes, just);
    EXPECT_EQ(depth_of(less), std::max(kDefaultDepth, depth - 1));
    EXPECT_EQ(fits.depths.limited.empty(), depth == wanted);
    ASSERT_EQ(less.depths.limited.size(), 1U);
    EXPECT_EQ(less.depths.limited[0].wanted, wanted);
    EXPECT_NEAR(less.depths.lost_seconds, use_at(less, depth_of(less)).seconds - use_at(less, wanted).seconds, 1e-6);
  }
}

TEST(ChannelDepths, SayThatMemoryLimitsThem) {
  const Plan plan = plan_bursty(kBurstyConsumer, 1);
  const int wanted = depth_of(plan_bursty(kBurstyConsumer));
  const std::string limit =
      "memory has room for 2 values of `w` on their way, and " + std::to_string(wanted) + " would be needed: a run takes ";
  EXPECT_THAT(account_line(plan), HasSubstr(limit));
  EXPECT_THAT(explain_text(plan), HasSubstr("remark: " + limit));
  EXPECT_THAT(explain_json(plan), HasSubstr("\"depth_wanted\": " + std::to_string(wanted)));
  const std::string said = to_text(plan.diagnostics);
  EXPECT_THAT(said, HasSubstr("the accelerator waits while `archive` keeps the host from taking `w` [-Wslow-consumer]"));
  EXPECT_THAT(said, HasSubstr(limit));

  const std::string producer = to_text(plan_bursty(kBurstyProducer, 1).diagnostics);
  EXPECT_THAT(producer, HasSubstr("the accelerator waits for `x` while `refill` keeps the host [-Wslow-producer]"));
  EXPECT_THAT(to_text(plan_bursty(kBurstyConsumer).diagnostics), Not(HasSubstr("keeps the host")));
}

TEST(ChannelDepths, AreTheUsersIfGiven) {
  for (const int depth : {1, 2, 3, 20}) {
    const Plan plan = plan_bursty(kBurstyConsumer, 1, depth);
    for (const Channel& channel : plan.program.channels) EXPECT_EQ(channel.depth, depth);
    EXPECT_TRUE(plan.depths.limited.empty());
    EXPECT_EQ(plan.depths.slot_bytes, slot_bytes(plan.program));
  }
}

/// Checks that planned depths never make a run longer, and that none is larger than necessary.
void expect_sound(const Plan& plan, int& deeper) {
  EXPECT_EQ(verify(plan.program), std::vector<std::string>());
  const StepTimes times = step_times(plan.program, plan.costed);
  const auto use_of = [&](const Program& program) { return predict_use(times, program, plan.transfers, plan.costed); };
  const auto use = use_of(plan.program);
  Program shallow = plan.program;
  for (std::size_t c = 0; c < shallow.channels.size(); ++c) {
    const ChannelId channel(c);
    const int depth = plan.program.channels[channel].depth;
    EXPECT_GE(depth, kDefaultDepth);
    EXPECT_LE(depth, kMostDepth);
    shallow.channels[channel].depth = kDefaultDepth;
    if (depth == kDefaultDepth || follows(plan.program, channel)) continue;
    ++deeper;
    Program less = plan.program;
    set_depth(less, channel, depth - 1);
    const auto less_use = use_of(less);
    EXPECT_TRUE(less_use->full_seconds[channel] > 0 || less_use->seconds > use->seconds) << "channel " << c << " of depth " << depth;
  }
  const auto shallow_use = use_of(shallow);
  ASSERT_EQ(use.has_value(), shallow_use.has_value());
  if (!use) return;
  EXPECT_LE(use->seconds, shallow_use->seconds * (1 + 1e-9));
}

TEST(ChannelDepths, AreSoundInRandomPrograms) {
  int deeper = 0;
  for (std::uint64_t seed = 0; seed < draws<std::uint64_t>(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions graph_options;
    graph_options.movement = true;
    PlanOptions options;
    options.costs.machine = round_machine(static_cast<double>(seed % 3) * 0.4, 0.1);
    options.costs.policy = seed % 2 ? Policy::accelerator : Policy::optimal;
    const Plan plan = planner::plan(random_graph(seed, graph_options), options);
    if (plan.complete()) expect_sound(plan, deeper);
  }
}

/// Loops with random quick and slow host work before and behind the accelerator's.
std::string random_bursts(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const bool nested = below(3) == 0;
  const std::string in(nested ? 10 : 6, ' ');
  const std::uint64_t trips = 20 + below(300);
  std::string text = "  - for: i in " + std::to_string(trips) + "\n    do:\n";
  if (nested) text += "      - for: k in " + std::to_string(2 + below(20)) + "\n        do:\n";
  const auto seldom = [&](const std::string& call) {
    text += in + "- if: i % " + std::to_string(2 + below(20)) + " == 0\n" + in + "  then:\n" + in + "    - " + call + "\n";
  };
  if (below(2)) seldom("refill(i)");
  if (below(2)) text += in + "- x: load(i)\n" + in + "- w: w + x\n" + in + "  place: accelerator\n";
  text += in + "- w: matmul(w, w)\n" + in + "  place: accelerator\n";
  if (below(3) > 0) text += in + "- note(w)\n";
  if (below(2)) seldom("archive(w)");
  if (below(2)) text += in + "- v: tanh(w)\n" + in + "  place: accelerator\n" + in + "- note(v)\n";
  if (nested && below(2)) text += "      - archive(w)\n";
  return text;
}

TEST(ChannelDepths, AreSoundInRandomBursts) {
  int deeper = 0;
  for (std::uint64_t seed = 0; seed < draws<std::uint64_t>(200); ++seed) {
    std::mt19937_64 random(seed);
    const std::string program = random_bursts(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program);
    expect_sound(plan_bursty(program), deeper);
    expect_sound(plan_bursty(program, 2e6 + static_cast<double>(random() % 4000000)), deeper);
    if (HasFailure()) return;
  }
  EXPECT_GT(deeper, draws(20));
}

}  // namespace
}  // namespace cleave::testing

// Times that a device measured, as a track of the timeline: each time is assigned to the step of its label, and a wait is a gap in the
// compute stream.
#include "executor/run/clock/measured_track.h"

#include <gtest/gtest.h>

#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using namespace runtime;
using Seconds = std::chrono::seconds;
using What = TimelineEvent::What;

/// The clock of a device that gives the measurements that the test gives it.
class StubTimestamps final : public Timestamps {
 public:
  std::array<std::vector<Measured>, kStreamCount> known;
  std::array<std::uint64_t, kStreamCount> labels{};
  int asked = 0;

  Status prepare_to_measure() override { return {}; }
  Status measure() override { return {}; }
  void label(Stream stream, std::uint64_t label) override { labels[static_cast<std::size_t>(stream)] = label; }
  Status measured(Stream stream, bool, std::vector<Measured>& to) override {
    to = std::exchange(known[static_cast<std::size_t>(stream)], {});
    ++asked;
    return {};
  }
};

struct MeasuredTrackTest : ::testing::Test {
  StubTimestamps stub;
  StubTimestamps* const device = &stub;
  Track track;
  /// A start in the past, so that the length of a wait that ends now depends on nothing else.
  const RunState::Clock::time_point start = RunState::Clock::now() - Seconds(100);

  void SetUp() override {
    RunOptions options;
    options.timeline = true;
    track.begin(options);
  }
  [[nodiscard]] Measured at(std::uint64_t label, int begin, int work, int end) const {
    return {label, start + Seconds(begin), start + Seconds(work), start + Seconds(end)};
  }
  static MeasuredTrack::Note computing(std::size_t node) { return {What::compute, NodeId(node), {}, {}}; }
};

TEST_F(MeasuredTrackTest, GivesTimesToWhatTheirLabelsWereFor) {
  MeasuredTrack measured(kAccelerator, &stub, track);
  measured.reset();
  ASSERT_TRUE(measured.begin(start).ok());
  for (std::size_t node = 0; node < 4; ++node) ASSERT_TRUE(measured.expect(Stream::compute, computing(node)).ok());
  ASSERT_TRUE(measured.expect(Stream::compute, {}).ok());
  EXPECT_EQ(device->labels[0], 0U) << "what is no step has no label";
  device->known[0] = {at(1, 1, 1, 2), at(3, 4, 6, 7)};  // the second one had no work
  ASSERT_TRUE(measured.take(false).ok());
  device->known[0] = {at(4, 8, 8, 9)};
  ASSERT_TRUE(measured.take(true).ok());
  ASSERT_EQ(track.events().size(), 4U);
  const auto is = [&](std::size_t i, What what, std::size_t node, double from, double to) {
    const TimelineEvent& event = track.events()[i];
    EXPECT_EQ(event.what, what) << i;
    EXPECT_EQ(event.node, NodeId(node)) << i;
    EXPECT_DOUBLE_EQ(event.start_seconds, from) << i;
    EXPECT_DOUBLE_EQ(event.end_seconds, to) << i;
  };
  is(0, What::compute, 0, 1, 2);
  is(1, What::wait, 2, 4, 6);
  is(2, What::compute, 2, 6, 7);
  is(3, What::compute, 3, 8, 9);
}

TEST_F(MeasuredTrackTest, WaitsWhereTheComputeStreamHasNothingLeft) {
  for (const bool busy : {false, true}) {
    track.events().clear();
    MeasuredTrack measured(kAccelerator, &stub, track);
    measured.reset();
    ASSERT_TRUE(measured.begin(start).ok());
    ASSERT_TRUE(measured.expect(Stream::compute, computing(0)).ok());
    measured.waited(NodeId(7), start + Seconds(10));
    ASSERT_TRUE(measured.expect(Stream::compute, computing(1)).ok());
    device->known[0] = {at(1, 1, 1, busy ? 5000 : 20), at(2, 6000, 6000, 6001)};
    ASSERT_TRUE(measured.take(true).ok());
    ASSERT_EQ(track.events().size(), busy ? 2U : 3U);
    if (busy) continue;
    const TimelineEvent& wait = track.events()[1];
    EXPECT_EQ(wait.what, What::wait);
    EXPECT_EQ(wait.lane, TimelineEvent::Lane::waits);
    EXPECT_EQ(wait.node, NodeId(7));
    EXPECT_DOUBLE_EQ(wait.start_seconds, 20);
    EXPECT_GE(wait.end_seconds, 100);
    EXPECT_LT(wait.end_seconds, 6000);
  }
}

TEST_F(MeasuredTrackTest, AsksNowAndThenAndNothingBeforeItBegins) {
  MeasuredTrack measured(kAccelerator, &stub, track);
  measured.reset();
  ASSERT_TRUE(measured.expect(Stream::compute, computing(0)).ok());
  measured.waited(NodeId(0), start);
  ASSERT_TRUE(measured.take(true).ok());
  EXPECT_EQ(device->asked, 0);
  EXPECT_TRUE(track.events().empty());
  ASSERT_TRUE(measured.begin(start).ok());
  for (std::size_t node = 0; node < 200; ++node) ASSERT_TRUE(measured.expect(Stream::to_host, computing(node)).ok());
  EXPECT_EQ(device->asked, 3 * kStreamCount);
}

}  // namespace
}  // namespace cleave::testing

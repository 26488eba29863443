// Plan files that are cut off, damaged or lie: each is one Error with the file's name, whatever its bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "executor/api/executable.h"
#include "graph/base/version.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"
#include "tests/support/plan_bytes.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SavedPlanFile : public ::testing::Test {
 protected:
  SavedPlanFile() {
    Array weights({DType::f32, {32, 32}});
    for (std::int64_t i = 0; i < weights.size(); ++i) weights.mutable_data<float>()[i] = static_cast<float>(i % 13);
    const Graph graph = trace("loop", {{"x", "f32[4, 32]"}}, [&](Tensor x) {
      const Tensor y = for_loop(5, x, [&](Tensor, Tensor carried) { return tanh(matmul(carried, constant(weights)) + 1.0) * 0.5; });
      return named("y", exp(sort(y)) - 1.0);
    });
    EXPECT_TRUE(compiled(graph, {.device = "simulated", .placement = Policy::accelerator}).save(folder_.path("good.plan")));
    good_ = folder_.read("good.plan");
  }

  /// The Error for a file of these bytes.
  std::string refused(const std::string& bytes) {
    const std::string path = folder_.write("bad.plan", bytes);
    const Result<Executable> program = load_plan(path);
    if (program) return "loaded";
    EXPECT_EQ(program.error().kind, ErrorKind::file) << program.error().message;
    EXPECT_THAT(program.error().message, StartsWith(path));
    return program.error().message;
  }
  /// The Error for the good file with a changed document, and a header that is right.
  template <class Change>
  std::string refused_with(const Change& change) {
    PlanBytes bytes = PlanBytes::of(good_);
    json document = json::parse(bytes.document);
    change(document);
    bytes.document = document.dump();
    return refused(bytes.file());
  }

  const test::TemporaryFolder folder_;
  std::string good_;
};

TEST_F(SavedPlanFile, EveryCutIsAnError) {
  EXPECT_EQ(refused(good_), "loaded");
  for (std::size_t size = 0; size < good_.size(); size += 1 + size / 16) {
    SCOPED_TRACE(size);
    EXPECT_THAT(refused(good_.substr(0, size)), HasSubstr("plan file"));
  }
  EXPECT_THAT(refused(good_ + "x"), HasSubstr("cut off or has more at its end"));
}

TEST_F(SavedPlanFile, EveryFlippedBitInFrontOfTheDataIsAnError) {
  const PlanBytes bytes = PlanBytes::of(good_);
  const std::size_t front = 64 + bytes.document.size() + bytes.graph.size();
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string changed = good_;
    const std::size_t at = random() % front, bit = random() % 8;
    if (at >= 12 && at < 16) continue;  // reserved
    changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
    SCOPED_TRACE("byte " + std::to_string(at) + ", bit " + std::to_string(bit));
    EXPECT_NE(refused(changed), "loaded");
  }
}

TEST_F(SavedPlanFile, OtherFilesAndVersionsAreNamed) {
  EXPECT_THAT(refused(""), HasSubstr("not a plan file; `cleave compile MODEL -o FILE.plan` writes one"));
  EXPECT_THAT(refused("cleave: 1\nprogram: []\n"), HasSubstr("not a plan file"));
  std::string other = good_;
  other[8] = 77;
  EXPECT_THAT(refused(other), HasSubstr("has format 77, and this cleave reads format 1; `cleave compile` writes it again"));
  EXPECT_THAT(refused_with([](json& document) { document["cleave"] = "0.0.1"; }),
              HasSubstr(std::string("is of cleave 0.0.1, and this is cleave ") + kVersion));
  const Result<Executable> missing = load_plan(folder_.path("missing.plan"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::file);
  EXPECT_FALSE(load_plan("/dev/zero"));
}

TEST_F(SavedPlanFile, ADocumentThatLiesIsAnError) {
  const auto decisions = [&](const char* field, const json& value) {
    return refused_with([&](json& document) { document["decisions"][field] = value; });
  };
  const json document = json::parse(PlanBytes::of(good_).document);
  const auto sides = document["decisions"]["sides"].get<std::string>();
  EXPECT_THAT(decisions("sides", sides.substr(1)), HasSubstr("another number of nodes"));
  EXPECT_THAT(decisions("sides", sides + "h"), HasSubstr("another number of nodes"));
  EXPECT_THAT(decisions("sides", "x" + sides.substr(1)), HasSubstr("`sides` is missing or wrong"));
  EXPECT_THAT(decisions("sides", std::string(sides.size(), 'a')), HasSubstr("break a rule"));
  EXPECT_THAT(decisions("sides", std::string(sides.size(), 'h')), HasSubstr("break a rule"));
  EXPECT_THAT(decisions("depths", json::array({1, 2})), HasSubstr("depths of 2 channels"));
  json deep = document["decisions"]["depths"];
  ASSERT_FALSE(deep.empty());
  deep[0] = 0;
  EXPECT_THAT(decisions("depths", deep), HasSubstr("a channel has the depth 0"));
  EXPECT_THAT(decisions("depths", "2"), HasSubstr("`depths` is missing or wrong"));
  EXPECT_THAT(decisions("kept_off", json::array({9999})), HasSubstr("kept off"));
  EXPECT_THAT(decisions("program", "0123456789abcdef"), HasSubstr("another program"));
  EXPECT_THAT(decisions("bound_seconds", "none"), HasSubstr("`bound_seconds` is missing or wrong"));
  EXPECT_THAT(refused_with([](json& d) { d.erase("settings"); }), HasSubstr("`settings` is missing or wrong"));
  EXPECT_THAT(refused_with([](json& d) { d["settings"]["placement"] = "best"; }), HasSubstr("`placement` is missing or wrong"));
  EXPECT_THAT(refused_with([](json& d) { d["settings"]["device"] = "abacus"; }), HasSubstr("abacus"));
  EXPECT_THAT(refused_with([](json& d) { d["settings"]["machine"] = "{"; }), HasSubstr("its machine is damaged"));
  EXPECT_THAT(refused_with([](json& d) { d["settings"]["workers"] = -1; }), HasSubstr("`workers` is missing or wrong"));
  EXPECT_THAT(refused_with([](json& d) { d = json::array(); }), HasSubstr("missing or wrong"));
}

TEST_F(SavedPlanFile, KernelsThatCannotBeAreAnError) {
  const auto kernel = [&](const json& nodes, std::size_t pulled = 0, const char* waiting = "", const char* hide = "00") {
    const json group = {{"nodes", nodes}, {"pulled", pulled}, {"must_hide", hide}, {"waiting", waiting}};
    return refused_with([&](json& document) { document["decisions"]["kernels"] = json::array({json::array({group}), json::array()}); });
  };
  EXPECT_THAT(kernel({1}), HasSubstr("fewer than two"));
  EXPECT_THAT(kernel({9998, 9999}), HasSubstr("a node that the program lacks"));
  EXPECT_THAT(kernel({0, 1}), HasSubstr("break a rule"));
  EXPECT_THAT(kernel({1, 1}), HasSubstr("break a rule"));
  EXPECT_THAT(kernel({1, 2}, 5), HasSubstr("fewer than two"));
  EXPECT_THAT(kernel({1, 2}, 0, "01"), HasSubstr("ends with an operation that waits"));
  EXPECT_THAT(kernel({1, 2}, 0, "", "0"), HasSubstr("marks are incomplete"));
  EXPECT_THAT(refused_with([](json& document) { document["decisions"]["kernels"] = json::array(); }), HasSubstr("kernels of 0 sides"));
}

TEST_F(SavedPlanFile, ArraysOutsideOfTheFileAreAnError) {
  const auto array = [&](const char* field, const json& value) {
    return refused_with([&](json& document) { document["arrays"][0][field] = value; });
  };
  EXPECT_THAT(array("begin", 1), HasSubstr("lies outside"));
  EXPECT_THAT(array("begin", std::int64_t{1} << 62), HasSubstr("lies outside"));
  EXPECT_THAT(array("bytes", std::int64_t{1} << 62), HasSubstr("lies outside"));
  EXPECT_THAT(array("shape", json::array({32, 31})), HasSubstr("another size than its type"));
  EXPECT_THAT(array("shape", json::array({std::int64_t{1} << 40, std::int64_t{1} << 40})), HasSubstr("another size than its type"));
  EXPECT_THAT(array("dtype", "f31"), HasSubstr("`dtype` is missing or wrong"));
  EXPECT_THAT(array("dtype", "i32"), HasSubstr("its program is damaged"));
  EXPECT_THAT(refused_with([](json& document) { document["arrays"] = json::array(); }), HasSubstr("no array 0 beside it"));
  EXPECT_THAT(refused_with([](json& document) {
                for (int i = 0; i < 3; ++i) document["arrays"].push_back(document["arrays"][0]);
              }),
              HasSubstr("overlap"));
}

TEST_F(SavedPlanFile, RandomDamageNeverCrashes) {
  const PlanBytes bytes = PlanBytes::of(good_);
  for (std::uint64_t seed = 0; seed < draws(400U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PlanBytes changed = bytes;
    std::string& part = random() % 2 == 0 ? changed.document : changed.graph;
    for (std::size_t i = 0, count = 1 + random() % 3; i < count && !part.empty(); ++i) {
      const std::size_t at = random() % part.size();
      switch (random() % 3) {
        case 0: part[at] = static_cast<char>(random() % 128); break;
        case 1: part.erase(at, 1 + random() % 8); break;
        default: part.insert(at, part.substr(random() % part.size(), 1 + random() % 8));
      }
    }
    const Result<Executable> program = load_plan(folder_.write("bad.plan", changed.file()));
    EXPECT_TRUE(program || !program.error().message.empty());
  }
}

}  // namespace
}  // namespace cleave::testing

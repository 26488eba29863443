// The look-back of running sums (device/lookback.cuh) when it has to wait. The emulator runs one block after the other, so that the blocks
// of a real scan never wait. Here one warp looks back at entries that the other warps of its block post, late and in any order.
#include <gtest/gtest.h>

#include <numeric>

#include "executor/cuda/kernels/kernel_text.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr std::int64_t kParts = 130;  // parts of a line: four groups and two more parts
constexpr std::int64_t kGroups = 5;

/// `body`: a kernel of `warps` warps that sees the parts' sums in x0, `posts`, `warp` and `lane`, and writes to y0.
cuda::KernelSource kernel(const std::string& body, unsigned warps) {
  cuda::KernelSource source;
  source.text = std::string(cuda::device_text("elements")) + std::string(cuda::device_text("lines")) +
                std::string(cuda::device_text("lookback")) +
                "extern \"C\" __global__ void clear(const f64*, f64*, u8* scratch) {\n"
                "  for (int i = 0; i < 135; ++i) ((u32*)scratch)[i] = 0;\n}\n"
                "extern \"C\" __global__ void look(const f64* x0, f64* y0, u8* scratch) {\n"
                "  u32* const flags = (u32*)scratch;\n  u64* const sums = (u64*)(scratch + 1024);\n"
                "  const Posts<f64> posts = {flags, sums, flags + 130, sums + 130};\n"
                "  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;\n" +
                body + "}\n";
  source.launches.push_back({"clear", {1, 1, 1}, {1, 1, 1}, 0, {}});
  source.launches.push_back({"look", {1, 1, 1}, {32 * warps, 1, 1}, 0, {}});
  source.scratch_bytes = 1024 + (kParts + 2 * kGroups) * 8;
  return source;
}

/// Numbers whose sum depends on the order, since each addition rounds.
Array sums() {
  Array x(TensorType{DType::f64, {kParts}});
  for (std::int64_t i = 0; i < kParts; ++i)
    x.mutable_data<double>()[i] = (i % 3 == 0 ? -1e17 : 1e16 / 3) / static_cast<double>(1 + i * 7 % 13);
  return x;
}

/// The sum of 32 numbers in a warp's order: neighbors, then pairs of neighbors, and so on.
double in_pairs(std::vector<double> values) {
  for (std::size_t pairs = 16; pairs > 0; pairs /= 2)
    for (std::size_t i = 0; i < pairs; ++i) values[i] = values[2 * i] + values[2 * i + 1];
  return values[0];
}

/// The sum in front of each part, in the one allowed order of addition.
std::vector<double> fronts(const Array& x) {
  std::vector<double> fronts;
  double groups = 0;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const std::int64_t begin = part / 32 * 32;
    std::vector<double> values(32, 0.0);
    std::copy(x.data<double>() + begin, x.data<double>() + part, values.begin());
    const double before = in_pairs(values);
    fronts.push_back(groups + before);
    if (part % 32 == 31) groups += before + x.data<double>()[part];
  }
  return fronts;
}

class CudaLookBack : public ::testing::TestWithParam<KernelEmulator::Order> {
 protected:
  void SetUp() override {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
  std::vector<double> run(const cuda::KernelSource& source, const Array& x, std::int64_t results) {
    Array y(TensorType{DType::f64, {results}});
    const Status status = emulator_.run(source, std::span(&x, 1), std::span(&y, 1), GetParam());
    EXPECT_TRUE(status.ok()) << status.error().message;
    return {y.data<double>(), y.data<double>() + results};
  }
  KernelEmulator emulator_;
};

TEST_P(CudaLookBack, WaitsForThePartsInFront) {
  // A warp has every 32nd part; the warps with the last parts of a group come late.
  const Array x = sums();
  for (const char* part : {"trip * 32 + warp", "trip * 32 + 31 - warp", "trip * 32 + (warp + 11 * trip) % 32"}) {
    SCOPED_TRACE(part);
    const std::string body = "  for (int trip = 0; trip < 5; ++trip) {\n    const int part = " + std::string(part) +
                             ";\n    if (part >= 130) continue;\n"
                             "    for (int late = 0; late < (part % 32 == 31 ? 50 : part % 5); ++late) __syncwarp();\n"
                             "    const f64 front = front_of_part<Sum>(posts, x0[part], part, lane);\n"
                             "    if (lane == 0) y0[part] = front;\n  }\n";
    EXPECT_EQ(run(kernel(body, 32), x, kParts), fronts(x));
  }
}

TEST_P(CudaLookBack, AddsGroupsOneByOneFromTheNearestThatIsWhole) {
  // The first warp looks back from part 128; the other one posts the entries in front of it: for `whole` groups the sum up to their end,
  // for the others only their own sum.
  const Array x = sums();
  const std::vector<double> expected = fronts(x);
  for (int whole = 0; whole <= 4; ++whole) {
    const std::string body =
        "  if (warp == 0) {\n    const f64 front = front_of_part<Sum>(posts, x0[128], 128, lane);\n"
        "    if (lane == 0) y0[0] = front;\n  } else if (lane == 0) {\n    f64 all = 0;\n    for (int group = 0; group < 4; ++group) {\n"
        "      f64 pairs[32];\n      for (int i = 0; i < 32; ++i) pairs[i] = i < 31 ? x0[group * 32 + i] : 0;\n"
        "      for (int n = 16; n > 0; n /= 2)\n        for (int i = 0; i < n; ++i) pairs[i] = pairs[2 * i] + pairs[2 * i + 1];\n"
        "      const f64 sum = pairs[0] + x0[group * 32 + 31];\n      all += sum;\n"
        "      post(posts.group_sums + 2 * group, sum, posts.groups + group, 1);\n"
        "      if (group < " +
        std::to_string(whole) + ") post(posts.group_sums + 2 * group + 1, all, posts.groups + group, 2);\n    }\n  }\n";
    EXPECT_EQ(run(kernel(body, 2), x, 1), std::vector<double>{expected[128]}) << whole;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, CudaLookBack, ::testing::Values(KernelEmulator::Order::forward, KernelEmulator::Order::backward));

}  // namespace
}  // namespace cleave::testing

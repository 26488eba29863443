// The kernel emulator: the ways in which a block's threads may cooperate work, and forbidden behavior of a kernel is found and named.
#include <gmock/gmock.h>

#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using Order = KernelEmulator::Order;

class CudaEmulator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
  /// A kernel on `threads` threads and `blocks` blocks whose body sees `in`, `out` and `n`.
  static cuda::KernelSource kernel(const std::string& body, unsigned threads = 64, unsigned blocks = 1, std::int64_t n = 64,
                                   const std::string& before = "") {
    cuda::KernelSource source;
    source.text = before +
                  "extern \"C\" __global__ void __launch_bounds__(1024) kernel(const float* __restrict__ in, float* out, long long n) {\n" +
                  "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "\n}\n";
    source.launches.push_back({"kernel", {blocks, 1, 1}, {threads, 1, 1}, 0, {n}});
    return source;
  }
  static Array counting(std::int64_t n) {
    Array array(TensorType{DType::f32, {n}});
    for (std::int64_t i = 0; i < n; ++i) array.mutable_data<float>()[i] = static_cast<float>(i);
    return array;
  }
  Array run(const cuda::KernelSource& source, std::int64_t n, std::int64_t results, Order order = Order::forward) {
    const Array in = counting(n);
    Array out(TensorType{DType::f32, {results}});
    const Status status = emulator_.run(source, std::span(&in, 1), std::span(&out, 1), order);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return out;
  }
  std::string mistake(const cuda::KernelSource& source, std::int64_t n = 64) {
    const Array in = counting(n);
    Array out(TensorType{DType::f32, {n}});
    const Status status = emulator_.run(source, std::span(&in, 1), std::span(&out, 1));
    return status.ok() ? "" : status.error().message;
  }

  /// Kernels, each with a part of the expected error message; empty if the kernel is correct.
  void expect_mistakes(const std::vector<std::pair<cuda::KernelSource, std::string>>& cases) {
    for (const auto& [source, what] : cases) emulator_.add(source);
    for (const auto& [source, what] : cases) {
      const std::string found = mistake(source);
      if (what.empty()) {
        EXPECT_EQ(found, "") << source.text;
      }
      EXPECT_THAT(found, HasSubstr(what)) << source.text;
    }
  }

  KernelEmulator emulator_;
};

TEST_F(CudaEmulator, RunsEveryThreadOfEveryBlock) {
  const Array out = run(kernel("if (i < n) out[i] = 2 * in[i];", 48, 3, 130), 130, 130);
  for (int i = 0; i < 130; ++i) ASSERT_EQ(out.at(i), 2 * i);
}

TEST_F(CudaEmulator, ThreadsMeetAtBarriers) {
  for (const Order order : {Order::forward, Order::backward}) {
    const Array out =
        run(kernel("__shared__ float s[64];\n s[threadIdx.x] = in[i];\n __syncthreads();\n out[i] = s[63 - threadIdx.x];", 64, 2, 128), 128,
            128, order);
    for (int i = 0; i < 128; ++i) ASSERT_EQ(out.at(i), i / 64 * 64 + 63 - i % 64);
  }
}

TEST_F(CudaEmulator, DynamicSharedMemoryIsAsLargeAsTheLaunchSays) {
  cuda::KernelSource source =
      kernel("extern __shared__ float s[];\n s[threadIdx.x] = in[i];\n __syncthreads();\n out[i] = s[(threadIdx.x + 1) % 64];");
  source.launches[0].shared_bytes = 256;
  EXPECT_EQ(run(source, 64, 64).at(63), 0);
  source.launches[0].shared_bytes = 252;
  EXPECT_THAT(mistake(source), HasSubstr("writes 4 bytes outside of its memory"));
}

TEST_F(CudaEmulator, LanesExchangeValues) {
  const std::string all = "0xffffffff, in[i]";
  const auto sum = kernel("float x = in[i];\n for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);\n out[i] = x;");
  const auto up = kernel("out[i] = __shfl_up_sync(" + all + ", 1);"), flip = kernel("out[i] = __shfl_xor_sync(" + all + ", 5);");
  const auto narrow = kernel("out[i] = (float)__shfl_sync(0xffffffff, (double)in[i], 3, 8);");
  const auto vote = kernel("out[i] = (float)__ballot_sync(" + all + " > 60);");
  // A block whose size is not a multiple of a warp: missing lanes do not keep the others waiting.
  const auto part = kernel("out[i] = __shfl_xor_sync(" + all + ", 1);", 48);
  for (const auto& source : {sum, up, flip, narrow, vote, part}) emulator_.add(source);
  EXPECT_EQ(run(sum, 64, 64).at(32), (32 + 63) * 16);
  EXPECT_EQ(run(up, 64, 64).at(0), 0);
  EXPECT_EQ(run(up, 64, 64).at(40), 39);
  EXPECT_EQ(run(flip, 64, 64).at(33), 36);
  EXPECT_EQ(run(narrow, 64, 64).at(22), 19);
  EXPECT_EQ(run(vote, 64, 64).at(50), 0xE0000000);
  EXPECT_EQ(run(part, 64, 48).at(47), 46);
}

TEST_F(CudaEmulator, AtomicsAddUp) {
  const char* text =
      "__shared__ unsigned count;\n if (threadIdx.x == 0) count = 0;\n __syncthreads();\n atomicAdd(&count, 2u);\n"
      "__syncthreads();\n out[i] = (float)count;";
  EXPECT_EQ(run(kernel(text), 64, 64).at(17), 128);
}

TEST_F(CudaEmulator, ManyTextsOfOneNameAreCompiledTogether) {
  std::vector<cuda::KernelSource> sources;
  for (int k = 0; k < 20; ++k) {
    const std::string macro = "#define FACTOR " + std::to_string(k) + "\n";
    sources.push_back(
        kernel("out[i] = FACTOR * help(in[i]);", 64, 1, 64, macro + "__device__ __forceinline__ float help(float x) { return x + 1; }\n"));
    emulator_.add(sources.back());
  }
  ASSERT_TRUE(emulator_.compile().ok());
  for (int k = 0; k < 20; ++k) EXPECT_EQ(run(sources[static_cast<std::size_t>(k)], 64, 64).at(9), 10 * k);
}

TEST_F(CudaEmulator, SaysWhatDoesNotCompile) {
  EXPECT_THAT(mistake(kernel("out[i] = no_such_function(in[i]);")), HasSubstr("no_such_function"));
  cuda::KernelSource source = kernel("out[i] = in[i];");
  source.launches[0].constants.clear();
  EXPECT_THAT(mistake(source), HasSubstr("takes 3 parameters and gets 2"));
}

TEST_F(CudaEmulator, FindsAccessesOutsideOfTheMemory) {
  expect_mistakes({
      {kernel("out[i] = in[i + 1];"),
       "thread (63, 0, 0) of block (0, 0, 0) reads 4 bytes outside of its memory: at byte 256 of the 256 of operand 0"},
      {kernel("out[i + 1] = in[i];"), "writes 4 bytes outside"},
      {kernel("out[(long long)i - 1] = in[i];"), "thread (0, 0, 0)"},
      {kernel("((float*)in)[i] = out[i] = 1;"), "operand 0, which it may only read"},
      {kernel("if (i == 0) *(float4*)out = *(const float4*)(in + 1);"), "not aligned"},
      {kernel("__shared__ float s[8];\n s[threadIdx.x] = 1;\n out[i] = 0;"), "an index outside of its array"},
  });
}

TEST_F(CudaEmulator, FindsWhatNobodyWrote) {
  expect_mistakes({
      {kernel("out[i] += in[i];"), "reads what nobody wrote, in result 0"},
      {kernel("atomicExch((unsigned*)out + i, 1u);"), "reads what nobody wrote, in result 0"},
      {kernel("__nv_atomic_load_n((unsigned*)out + i, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);"), "reads what nobody wrote"},
      {kernel("__nv_atomic_store_n((unsigned*)out + i, 1u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);"), ""},
      {kernel("__shared__ float s[64];\n if (blockIdx.x == 0) s[threadIdx.x] = 1;\n __syncthreads();\n if (i % 64 == 3) out[i] = s[3];", 64,
              2),
       "block (1, 0, 0) reads what nobody wrote, in shared memory"},
  });
}

TEST_F(CudaEmulator, TakesWhatIsStoredAndLoadedAtomically) {
  const std::string store = "unsigned* const flag = (unsigned*)out;\n if (i == 1) ",
                    load = ";\n if (i == 40) out[1] = (float)__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);";
  expect_mistakes({
      {kernel(store + "__nv_atomic_store_n(flag, 3u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE)" + load), ""},
      {kernel(store + "*flag = 3" + load), "overwrites what thread 1 wrote"},
  });
}

TEST_F(CudaEmulator, FindsRaces) {
  const std::string shared = "__shared__ float s[64];\n s[threadIdx.x] = in[i];\n float x = __shfl_sync(0xffffffff, in[i], 0);\n";
  expect_mistakes({
      {kernel("__shared__ float s[64];\n s[threadIdx.x] = in[i];\n out[i] = s[threadIdx.x / 2];"), "with no barrier between"},
      {kernel("__shared__ float s[64];\n float x = 0;\n for (int k = 0; k < 3; ++k) {\n s[threadIdx.x] = in[i];\n __syncthreads();\n"
              "x += s[63 - threadIdx.x];\n }\n out[i] = x;"),
       "with no barrier between, in shared memory"},
      {kernel(shared + "out[i] = x + s[threadIdx.x ^ 1];"), "with no barrier between"},
      {kernel(shared + "__syncwarp();\n out[i] = s[threadIdx.x ^ 32];"), "with no barrier between"},
      {kernel(shared + "__syncwarp();\n out[i] = x + s[threadIdx.x ^ 1];"), ""},
      {kernel("out[0] = in[i];"), "overwrites what thread 0 wrote, with no barrier between, in result 0"},
      {kernel("if (threadIdx.x == 0) out[0] = in[i];", 32, 2), "of another block"},
  });
}

TEST_F(CudaEmulator, FindsThreadsThatDoNotMeet) {
  expect_mistakes({
      {kernel("if (i < 40) __syncthreads();\n out[i] = in[i];"), "waits at the barrier of line 3, thread 40 has ended"},
      {kernel("if (i < 40)\n __syncthreads();\n else\n __syncthreads();\n out[i] = in[i];"), "line 6"},
      {kernel("if (i == 5) return;\n out[i] = in[i];\n __syncthreads();"), "thread 5 has ended"},
      {kernel("if (i < 7) __syncwarp();\n else __syncthreads();\n out[i] = in[i];"), "waits for the lanes ffffffff to meet"},
      {kernel("out[i] = __shfl_sync(0xf, in[i], 0);"), "is not in the mask"},
  });
}

TEST_F(CudaEmulator, FindsUndefinedArithmetic) {
  expect_mistakes({
      {kernel("int x = 2147483600;\n out[i] = (float)(x + (int)n);"), "line 4: an addition overflows"},
      {kernel("out[i] = (float)(5 / ((int)n - 64));"), "a division by zero"},
      {kernel("out[i] = (float)(5u << n);"), "a shift too far"},
  });
}

TEST_F(CudaEmulator, TellsBadDataFromMistakes) {
  cuda::KernelSource source;
  source.text =
      "extern \"C\" __global__ void kernel(const float* in, float* out, unsigned long long* fault, unsigned long long ticket) {\n"
      "  out[threadIdx.x] = in[threadIdx.x];\n"
      "  if (in[threadIdx.x] > 40 && fault[0] == 0) { fault[1] = (unsigned long long)(long long)in[threadIdx.x]; fault[0] = ticket; }\n}\n";
  source.launches.push_back({"kernel", {1, 1, 1}, {64, 1, 1}, 0, {}});
  source.fault = "the number {} is too large";
  const Array in = counting(64);
  Array out(TensorType{DType::f32, {64}});
  const Status status = emulator_.run(source, std::span(&in, 1), std::span(&out, 1));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::user);
  EXPECT_EQ(status.error().message, "the number 41 is too large");
}

}  // namespace
}  // namespace cleave::testing

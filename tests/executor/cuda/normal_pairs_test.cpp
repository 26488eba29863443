// Normal random numbers as pairs of f32 (device/normal_pairs.cuh), compiled here as for a GPU, against the f64 values that the pairs
// represent: the error bounds hold for every random word, results that the code calls known are right, and the kernel draws the host's
// bits, also where the pair leaves them open.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "graph/ops/random_bits.h"
#include "tests/executor/cuda/kernel_samples.h"

namespace cleave::testing {
namespace {

// NOLINTBEGIN: the language of kernels
using f32 = float;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;
inline f32 __fmaf_rn(f32 a, f32 b, f32 c) {
  return __builtin_fmaf(a, b, c);
}
inline i32 __float_as_int(f32 x) {
  return std::bit_cast<i32>(x);
}
inline f32 __int_as_float(i32 bits) {
  return std::bit_cast<f32>(bits);
}
#include "executor/cuda/kernels/device/normal_pairs.cuh"
// NOLINTEND

NormalPair pair_of(double x) {
  const auto high = static_cast<float>(x);
  return {high, static_cast<float>(x - high)};
}
double unit(std::uint32_t word) {
  return (word + 0.5) * 0x1p-32;
}
/// A curve that numbers are drawn from.
struct Curve {
  double mean = 0, deviation = 1;
  NormalPair mean_pair{0, 0}, deviation_pair{1, 0};
  Curve(double m, double d) : mean(m), deviation(d), mean_pair(pair_of(m)), deviation_pair(pair_of(d)) {}
};

/// Statistics of a set of random words.
struct WordsSeen {
  double off = 0;  ///< the greatest error, as a fraction of its bound
  std::int64_t words = 0, open = 0, misplaced = 0, wrong = 0;
};

/// Every `step`th word from `first` on.
[[gnu::always_inline]] inline WordsSeen look(std::uint64_t first, std::uint64_t count, std::uint64_t step, const Curve& curve) {
  WordsSeen seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint32_t>(first + i * step);
    const double p = unit(word), z = random_bits::inverse_normal(p);
    const bool tail = word_in_tail(word);
    const NormalPair pair = tail ? normal_pair_in_tail(word) : normal_pair_in_middle(word);
    const float bound = tail ? tail_bound : middle_bound;
    seen.off = std::max(seen.off, std::abs((pair.high - z) + pair.low) / (std::abs(z) * bound));
    float drawn = 0;
    const bool known = round_normal(pair, bound, curve.mean_pair, curve.deviation_pair, drawn);
    seen.open += known ? 0 : 1;
    seen.wrong += known && drawn != static_cast<float>(random_bits::scaled(z, curve.mean, curve.deviation)) ? 1 : 0;
    seen.misplaced += tail == (p >= 0.02425 && p <= 1 - 0.02425) ? 1 : 0;
  }
  seen.words = static_cast<std::int64_t>(count);
  return seen;
}

using Look = WordsSeen (*)(std::uint64_t, std::uint64_t, std::uint64_t, const Curve&);
[[gnu::flatten]] WordsSeen look_anywhere(std::uint64_t first, std::uint64_t count, std::uint64_t step, const Curve& curve) {
  return look(first, count, step, curve);
}
#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx2,fma"), gnu::flatten]] WordsSeen look_fused(std::uint64_t first, std::uint64_t count, std::uint64_t step,
                                                               const Curve& curve) {
  return look(first, count, step, curve);
}
const Look fastest = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") ? look_fused : look_anywhere;
#else
const Look fastest = look_anywhere;
#endif

/// Checks all 2^32 words, or every `step`th, on all processors.
WordsSeen look_at_all(std::uint64_t step, const Curve& curve) {
  constexpr std::uint64_t kPieces = 256, kPiece = (std::uint64_t{1} << 32) / kPieces;
  std::vector<WordsSeen> seen(kPieces);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::size_t piece = next++; piece < kPieces; piece = next++) seen[piece] = fastest(piece * kPiece, kPiece / step, step, curve);
    });
  }
  for (std::thread& thread : threads) thread.join();
  WordsSeen all;
  for (const WordsSeen& each : seen) {
    all.off = std::max(all.off, each.off);
    all.words += each.words;
    all.open += each.open;
    all.misplaced += each.misplaced;
    all.wrong += each.wrong;
  }
  return all;
}

void expect_sound(const WordsSeen& seen) {
  EXPECT_LT(seen.off, 0.75) << "the bound leaves nothing for mean + deviation * z";
  EXPECT_EQ(seen.misplaced, 0);
  EXPECT_EQ(seen.wrong, 0);
}

/// With CLEAVE_TEST_ALL_WORDS, checks each of the 2^32 words, in some minutes.
TEST(CudaNormalPairs, BoundsHoldForEveryWord) {
  const std::uint64_t step = std::getenv("CLEAVE_TEST_ALL_WORDS") ? 1 : 2039;
  const WordsSeen seen = look_at_all(step, {0, 1});
  expect_sound(seen);
  EXPECT_GT(seen.off, 0.1) << "a much better bound would do";
  EXPECT_GT(seen.open, 0);
  EXPECT_LT(static_cast<double>(seen.open), 1e-4 * static_cast<double>(seen.words));
  std::cout << seen.open << " of " << seen.words << " words are left open, errors reach " << seen.off << " of their bounds\n";
}

TEST(CudaNormalPairs, BoundsHoldWhereTailsBegin) {
  constexpr std::uint64_t kAround = 1 << 16, kAll = std::uint64_t{1} << 32, kTail = 104152956;
  for (const std::uint64_t first :
       {std::uint64_t{0}, kTail - kAround / 2, kAll / 2 - kAround / 2, kAll - kTail - kAround / 2, kAll - kAround})
    expect_sound(fastest(first, kAround, 1, {0, 1}));
}

/// For any mean and deviation that the kernel accepts, also if these are not representable in f32, and if they cancel.
TEST(CudaNormalPairs, WhatIsKnownIsKnown) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-40, 40), part(-1, 1);
  std::vector<Curve> curves = {{0, 0.02}, {1, 1}, {1e-3, 1e-3}, {1e12, 1e-12}, {-1e-12, 1e12}, {3, 1.0 / 3}, {0, 0x1p40}, {0, 0x1p-40}};
  for (int n = 0; n < 40; ++n)
    curves.emplace_back(n % 4 == 0 ? 0 : part(random) * std::exp2(exponent(random)), std::exp2(exponent(random)));
  for (int n = 0; n < 40; ++n) {
    const double deviation = std::exp2(exponent(random) / 2);
    curves.emplace_back(3 * deviation * part(random), deviation);
  }
  std::int64_t open = 0;
  for (const Curve& curve : curves) {
    SCOPED_TRACE(std::to_string(curve.mean) + " + " + std::to_string(curve.deviation) + " z");
    const WordsSeen seen = fastest(random() % 9973, (std::uint64_t{1} << 32) / 99991, 99991, curve);
    expect_sound(seen);
    open += seen.open;
  }
  EXPECT_GT(open, 0);
}

/// A seed for which one of the first `count` numbers is left open by the pairs.
std::int64_t open_seed(std::uint64_t count, const Curve& curve) {
  for (std::int64_t seed = 0;; ++seed) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t word = random_bits::block(static_cast<unsigned long long>(seed), 0, i / 4).word[i % 4];
      float drawn = 0;
      if (!word_in_tail(word) && !round_normal(normal_pair_in_middle(word), middle_bound, curve.mean_pair, curve.deviation_pair, drawn))
        return seed;
    }
  }
}

TEST(CudaNormalPairs, KernelsDrawTheHostsBits) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({8, 9, 1, 1 << 30}), wide({12, 0, 1, 0});
  for (const Curve& curve : {Curve(0, 1), Curve(5, 0.3), Curve(-0.7, 2)}) {
    const Attributes drawn = {{"shape", Integers{515}}, {"mean", curve.mean}, {"std", curve.deviation}, {"seed", open_seed(512, curve)}};
    kernels.add(sample("random_normal", {}, drawn));
    wide.add(sample("random_normal", {}, drawn));
  }
  kernels.add(sample("random_normal", {Array::scalar<std::int64_t>(3)}, {{"shape", Integers{20001}}, {"seed", std::int64_t{11}}}));
  for (const double deviation : {0.0, 1e-30, 1e30})  // not for pairs
    kernels.add(sample("random_normal", {}, {{"shape", Integers{9}}, {"std", deviation}}));
  EXPECT_EQ(kernels.check(), 7U);
  EXPECT_EQ(wide.check(), 3U);
}

TEST(CudaNormalPairs, AreForGpusWithSlowF64) {
  const auto in_pairs = [](cuda::Architecture architecture, Attributes attributes) {
    attributes.set("shape", Integers{100});
    const OpSample drawn = sample("random_normal", {}, std::move(attributes));
    return cuda::kernel_source(request_for(drawn), architecture)->text.find("draw_normal_in_pairs(") != std::string::npos;
  };
  for (const auto& [major, minor] : {std::pair(7, 5), std::pair(8, 6), std::pair(8, 9), std::pair(10, 3), std::pair(12, 0)})
    EXPECT_TRUE(in_pairs({major, minor, 40}, {})) << major << "." << minor;
  for (const int major : {8, 9, 10}) EXPECT_FALSE(in_pairs({major, 0, 100}, {})) << major;
  EXPECT_FALSE(in_pairs({8, 9, 40}, {{"dtype", DType::f64}}));
  EXPECT_FALSE(in_pairs({8, 9, 40}, {{"mean", 1e20}}));
  EXPECT_FALSE(in_pairs({8, 9, 40}, {{"std", 0.0}}));
}

}  // namespace
}  // namespace cleave::testing

// specialize(): right results for every size, one program for each tuple of types, one remark when there are many, errors at their lines,
// calls from several threads.
#include "executor/api/specialized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <thread>

#include "graph/ops/ops.h"
#include "graph/shared_constants.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

Array numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return Array::of<float>({count}, std::span<const float>(values));
}

/// The sum of 1 … count, times `factor`, by a program of `Specialized`.
double total(const Specialized& program, std::int64_t count, float factor) {
  const Result<RunResult> result = program.run(numbers(count), Array::scalar(factor));
  if (!result) ADD_FAILURE() << to_string(result.error().location) << ": " << result.error().message;
  return result ? result->output("total")->at(0) : 0;
}

TEST(Specialized, CompilesOncePerTupleOfTypes) {
  int traced = 0;
  const Specialized program = specialize("total", {"x", "factor"}, [&](Tensor x, Tensor factor) {
    ++traced;
    return named("total", sum(x) * factor);
  });
  EXPECT_EQ(program.specializations(), 0u);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(total(program, 3, 2), 12);
    EXPECT_EQ(total(program, 100, 1), 5050);
    EXPECT_EQ(total(program, 1, 7), 7);
  }
  EXPECT_EQ(program.specializations(), 3u);
  EXPECT_EQ(traced, 3);

  const Result<RunResult> named_inputs = program.run({{"factor", Array::scalar(3.0F)}, {"x", numbers(3)}});
  ASSERT_TRUE(named_inputs.ok()) << named_inputs.error().message;
  EXPECT_EQ(named_inputs->output("total")->at(0), 18);
  const Specialized copy = program;
  EXPECT_EQ(total(copy, 100, 2), 10100);
  EXPECT_EQ(traced, 3) << "arrays by name and copies of the handle meet the same programs";

  const Result<RunResult> doubles = program.run(Array::of<double>({3}, {1, 2, 3}), Array::scalar(1.0));
  ASSERT_TRUE(doubles.ok()) << doubles.error().message;
  EXPECT_EQ(doubles->output("total")->dtype(), DType::f64);
  EXPECT_EQ(traced, 4) << "element types count, too";

  const Result<Executable> executable = program.executable({{DType::f32, {100}}, {DType::f32, {}}});
  ASSERT_TRUE(executable.ok());
  EXPECT_THAT(executable->explain(), HasSubstr("total"));
  EXPECT_EQ(traced, 4);
}

TEST(Specialized, TakesAVectorOfTensors) {
  const std::vector<std::string> names{"a", "b", "c"};
  const Specialized program =
      specialize("last", names, [](const std::vector<Tensor>& x) { return named("y", x[2] - x[0]); }, {.device = "none"});
  const Result<RunResult> result = program.run(Array::scalar(1.0F), Array::scalar(2.0F), Array::scalar(5.0F));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output("y")->at(0), 4);
}

TEST(Specialized, TakesParametersByName) {
  const Specialized program = specialize("biased", {"x"}, [](Tensor x) { return named("y", sum(x) + parameter("b", "f32[]", 10)); });
  const Result<RunResult> begun = program.run(numbers(2)), given = program.run({{"x", numbers(2)}, {"b", Array::scalar(1.0F)}});
  ASSERT_TRUE(begun.ok() && given.ok());
  EXPECT_EQ(begun->output("y")->at(0), 13);
  EXPECT_EQ(given->output("y")->at(0), 4);
  EXPECT_EQ(program.specializations(), 1u);
}

TEST(Specialized, SaysOnceThatThereAreMany) {
  std::vector<Diagnostic> said;
  const int made = __LINE__ + 1;
  const Specialized program = specialize(
      "total", {"x", "factor"}, [](Tensor x, Tensor factor) { return named("total", sum(x) * factor); }, {},
      [&](const Diagnostic& diagnostic) { said.push_back(diagnostic); });
  for (int count = 1; count <= 8; ++count) total(program, count, 1);
  total(program, 8, 2);
  EXPECT_TRUE(said.empty()) << said[0].message;
  const Result<RunResult> ninth = program.run(numbers(9), Array::scalar(1.0F));
  const int line = __LINE__ - 1;
  ASSERT_TRUE(ninth.ok()) << ninth.error().message;
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].severity, Severity::remark);
  EXPECT_THAT(said[0].message, ::testing::AllOf(HasSubstr("`total`"), HasSubstr("9 different"), HasSubstr("pad")));
  EXPECT_THAT(std::string(said[0].location.file_name()), HasSubstr("specialized_test.cpp"));
  EXPECT_EQ(said[0].location.line, line);
  ASSERT_EQ(said[0].notes.size(), 1u);
  EXPECT_EQ(said[0].notes[0].location.line, made);
  for (int count = 1; count <= 20; ++count) EXPECT_EQ(total(program, count, 1), count * (count + 1) / 2);
  EXPECT_EQ(program.specializations(), 20u);
  EXPECT_EQ(said.size(), 1u);
}

TEST(Specialized, GivesErrorsAtTheirLinesAndKeepsNone) {
  int traced = 0, line = 0;
  std::vector<Diagnostic> said;
  const Specialized program = specialize(
      "product", {"a", "b"},
      [&](Tensor a, Tensor b) {
        ++traced;
        line = __LINE__ + 1;
        return named("c", matmul(a, b));
      },
      {}, [&](const Diagnostic& diagnostic) { said.push_back(diagnostic); });
  const auto zeros = [](std::int64_t rows, std::int64_t columns) { return Array(TensorType{DType::f32, {rows, columns}}); };

  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Result<RunResult> bad = program.run(zeros(2, 3), zeros(4, 5));
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().location.line, line);
    EXPECT_THAT(std::string(bad.error().location.file_name()), HasSubstr("specialized_test.cpp"));
    EXPECT_EQ(traced, attempt);
    EXPECT_EQ(said.size(), static_cast<std::size_t>(attempt));
    EXPECT_EQ(said.back().kind, DiagnosticKind::shape);
  }
  EXPECT_EQ(program.specializations(), 0u);

  const Result<RunResult> few = program.run(zeros(2, 3));
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.error().kind, ErrorKind::usage);
  EXPECT_EQ(few.error().location.line, __LINE__ - 3);
  EXPECT_THAT(few.error().message, HasSubstr("takes 2 inputs (`a`, `b`) but is given 1"));
  const Result<RunResult> missing = program.run({{"a", zeros(2, 3)}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().location.line, __LINE__ - 2);
  EXPECT_THAT(missing.error().message, HasSubstr("`b`"));

  const Result<RunResult> good = program.run(zeros(2, 3), zeros(3, 5));
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good->output("c")->shape(), (Shape{2, 5}));
  EXPECT_EQ(program.specializations(), 1u);
}

TEST(Specialized, ThreadsShareThePrograms) {
  int traced = 0;  // unguarded: the function is called by one thread at a time
  std::atomic<int> said = 0, wrong = 0;
  const Specialized program = specialize(
      "total", {"x", "factor"},
      [&](Tensor x, Tensor factor) {
        ++traced;
        return named("total", sum(x) * factor);
      },
      {}, [&](const Diagnostic&) { ++said; });
  const auto work = [&] {
    for (int round = 0; round < 3; ++round)
      for (int count = 1; count <= 10; ++count) {
        const Result<RunResult> result = program.run(numbers(count), Array::scalar(2.0F));
        if (!result || result->output("total")->at(0) != count * (count + 1)) ++wrong;
      }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(said, 1);
  EXPECT_EQ(traced, 10);
  EXPECT_EQ(program.specializations(), 10u);
}

// --- memory ----------------------------------------------------------------------------------------------------------------------------

constexpr std::int64_t kWide = 1024, kLayers = 2;

/// Layers whose weights, of 4 MiB each, are made anew in each trace, as a file is read anew for each size.
Specialized layers(CompileOptions options, int* traced = nullptr) {
  options.device = "none";
  return specialize(
      "layers", {"x"},
      [traced](Tensor x) {
        if (traced) ++*traced;
        for (std::int64_t layer = 0; layer < kLayers; ++layer) {
          Array w(TensorType{DType::f32, {kWide, kWide}});
          for (std::int64_t i = 0; i < kWide * kWide; ++i) w.mutable_data<float>()[i] = static_cast<float>((i * 7 + layer) % 13 - 6) / 1024;
          x = matmul(x, transpose(constant(std::move(w))));
        }
        return named("y", x);
      },
      std::move(options));
}
Array ones(std::int64_t rows) {
  Array x(TensorType{DType::f32, {rows, kWide}});
  std::fill_n(x.mutable_data<float>(), x.size(), 1.0F);
  return x;
}
/// Bytes of memory that belong to this process alone, without those that the allocator keeps of what was freed.
std::int64_t private_bytes() {
  malloc_trim(0);
  std::ifstream map("/proc/self/smaps_rollup");
  std::int64_t bytes = 0, kilobytes = 0;
  for (std::string word; map >> word;)
    if ((word == "Private_Dirty:" || word == "Private_Clean:") && map >> kilobytes) bytes += 1024 * kilobytes;
  return bytes;
}

TEST(SpecializedMemory, HoldsTheWeightsOfAllSizesOnce) {
  const auto constants = std::make_shared<SharedConstants>();
  const Specialized program = layers({.constants = constants});
  const auto first_number = [&](std::int64_t rows) {
    const Result<RunResult> result = program.run(ones(rows));
    return result ? result->output("y")->at(0) : (ADD_FAILURE() << result.error().message, 0.0);
  };
  const double expected = first_number(1);
  first_number(2);
  const std::int64_t after_two = program.memory_bytes(), private_after_two = private_bytes();
  EXPECT_GE(after_two, kLayers * kWide * kWide * 4);
  EXPECT_GT(constants->derived_bytes(), 0) << "few rows and transposed weights: packed weights are kept";
  for (std::int64_t rows = 3; rows <= 10; ++rows) EXPECT_EQ(first_number(rows), expected);
  EXPECT_EQ(program.specializations(), 10u);
  EXPECT_LE(static_cast<double>(program.memory_bytes()), 1.1 * static_cast<double>(after_two));
  if (private_after_two > 0 && !kSanitized) {  // a sanitizer keeps memory that was given back
    EXPECT_LE(private_bytes() - private_after_two, after_two / 4) << "other memory of this process";
  }
}

TEST(SpecializedMemory, DiscardsTheProgramThatWasNotUsedForLongest) {
  int traced = 0;
  const Specialized unlimited = layers({});
  for (const std::int64_t rows : {64, 128}) ASSERT_TRUE(unlimited.run(ones(rows)));
  const auto limit = static_cast<double>(unlimited.memory_bytes());
  const Specialized program = layers({.memory_limit_bytes = limit}, &traced);
  const auto run = [&](std::int64_t rows) {
    const Result<RunResult> result = program.run(ones(rows));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_LE(static_cast<double>(program.memory_bytes()), limit);
  };
  run(64);
  run(128);
  EXPECT_EQ(traced, 2);
  run(64);
  EXPECT_EQ(traced, 2) << "both fit";
  run(96);  // discards 128, which was not used for longest
  EXPECT_EQ(program.specializations(), 2u);
  run(64);
  EXPECT_EQ(traced, 3);
  run(128);
  EXPECT_EQ(traced, 4);
}

TEST(SpecializedMemory, KeepsTheNewestProgramWhateverTheLimit) {
  const Specialized program = layers({.memory_limit_bytes = 1});
  for (const std::int64_t rows : {1, 2, 1}) {
    ASSERT_TRUE(program.run(ones(rows)));
    EXPECT_EQ(program.specializations(), 1u);
  }
}

}  // namespace
}  // namespace cleave::testing

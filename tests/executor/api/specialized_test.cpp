// specialize(): right results for every size, one program for each tuple of types, one remark when there are many, errors at their lines,
// calls from several threads.
#include "executor/api/specialized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "graph/ops/ops.h"
#include "tests/support/namespaces.h"

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

}  // namespace
}  // namespace cleave::testing

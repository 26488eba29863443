// Which values are computed again to save memory: against every choice of random small problems, and on chains with a known answer.
#include "partitioner/solver/saved_values.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using planner::choose_saved_values;
using planner::SavedValues;
using planner::SavedValuesProblem;
using How = planner::SavedValues::How;

/// The least seconds of all choices that fit; nothing if none does. A digit of the choice says how a value is had: kept, computed again,
/// fetched.
std::optional<double> least_seconds(const SavedValuesProblem& problem) {
  std::optional<double> least;
  const std::size_t count = problem.values.size();
  const bool fetched = std::any_of(problem.values.begin(), problem.values.end(),
                                   [](const auto& value) { return value.fetch_seconds < SavedValuesProblem::kNever; });
  const std::uint32_t ways = fetched ? 3 : 2;
  std::uint32_t choices = 1;
  for (std::size_t i = 0; i < count; ++i) choices *= ways;
  for (std::uint32_t choice = 0; choice < choices; ++choice) {
    double bytes = 0, seconds = 0;
    std::vector<bool> needed(count);
    std::uint32_t digits = choice;
    for (std::size_t i = count; i-- > 0; digits /= ways) {
      const SavedValuesProblem::Value& value = problem.values[i];
      if (!value.wanted && !needed[i]) continue;
      if (digits % ways == 0) {
        bytes += value.bytes;
        continue;
      }
      if (digits % ways == 2) {
        seconds += value.fetch_seconds;
        continue;
      }
      seconds += value.again_seconds;
      for (const std::int32_t operand : value.operands) needed[static_cast<std::size_t>(operand)] = true;
    }
    if (bytes <= problem.memory_bytes && seconds < SavedValuesProblem::kNever && (!least || seconds < *least)) least = seconds;
  }
  return least;
}

SavedValuesProblem random_problem(std::mt19937_64& random, bool fetched) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  SavedValuesProblem problem;
  problem.values.resize(3 + below(fetched ? 5 : 10));
  double all = 0;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    SavedValuesProblem::Value& value = problem.values[i];
    value.bytes = static_cast<double>(1 + below(20));
    if (below(5) > 0) value.again_seconds = static_cast<double>(below(30)) / 8;
    if (fetched && below(4) > 0) value.fetch_seconds = static_cast<double>(1 + below(40)) / 8;
    for (std::uint64_t k = 0; i > 0 && k < below(3); ++k) value.operands.push_back(static_cast<std::int32_t>(below(i)));
    value.wanted = below(3) > 0;
    all += value.wanted ? value.bytes : 0;
  }
  problem.memory_bytes = all * static_cast<double>(below(12)) / 10;
  return problem;
}

/// A chain in which each value is computed from the one before.
SavedValuesProblem chain(std::size_t length, double memory_bytes) {
  SavedValuesProblem problem;
  problem.memory_bytes = memory_bytes;
  for (std::size_t i = 0; i < length; ++i) {
    SavedValuesProblem::Value value{10, 1, SavedValuesProblem::kNever, {}, true};
    if (i > 0) value.operands.push_back(static_cast<std::int32_t>(i - 1));
    problem.values.push_back(std::move(value));
  }
  return problem;
}

/// Whether values may be fetched from the host, too.
class SavedValuesOf : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Each, SavedValuesOf, ::testing::Bool());

TEST_P(SavedValuesOf, EveryChoiceOfRandomProblems) {
  constexpr int kProblems = 5000;
  std::mt19937_64 random(20261127);
  int some = 0, exact = 0, closed = 0;
  double excess = 0, sum = 0;
  for (int n = 0; n < kProblems; ++n) {
    const SavedValuesProblem problem = random_problem(random, GetParam());
    const std::optional<double> least = least_seconds(problem);
    const std::optional<SavedValues> chosen = choose_saved_values(problem);
    ASSERT_EQ(chosen.has_value(), least.has_value()) << "problem " << n;
    if (!chosen) continue;
    ++some;
    EXPECT_LE(chosen->bytes, problem.memory_bytes) << "problem " << n;
    EXPECT_GE(chosen->seconds, *least - 1e-9) << "problem " << n;
    EXPECT_LE(chosen->bound_seconds, *least + 1e-9) << "problem " << n;
    exact += chosen->seconds <= *least + 1e-9;
    closed += chosen->bound_seconds >= chosen->seconds - 1e-9;
    excess += chosen->seconds - *least;
    sum += *least;
  }
  RecordProperty("exact", exact);
  RecordProperty("closed", closed);
  EXPECT_GT(some, kProblems / 2);
  RecordProperty("solvable", some);
  EXPECT_GT(exact, some * 99 / 100) << "of " << some;
  EXPECT_GT(closed, some * 95 / 100) << "proved, of " << some;
  EXPECT_LT(excess, 0.001 * sum);
}

TEST(SavedValues, EverythingIsKeptWhereItFits) {
  const std::optional<SavedValues> chosen = choose_saved_values(chain(8, 80));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->seconds, 0);
  EXPECT_EQ(chosen->how, std::vector<How>(8, How::kept));
}

TEST(SavedValues, AsManyAreComputedAgainAsDoNotFit) {
  for (int kept = 0; kept <= 8; ++kept) {
    const std::optional<SavedValues> chosen = choose_saved_values(chain(8, 10.0 * kept + 5));
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->seconds, 8 - kept);
    EXPECT_LE(chosen->bound_seconds, 8 - kept);
    EXPECT_GE(chosen->bound_seconds, 8 - kept - 0.5001);
  }
}

TEST(SavedValues, WhatNobodyWantsIsKeptOnlyForWhatReadsIt) {
  // A small value from which a large one is made again, and whose own making costs too much.
  SavedValuesProblem problem;
  constexpr double kNever = SavedValuesProblem::kNever;
  problem.values = {{1, 100, kNever, {}, false}, {50, 1, kNever, {0}, true}, {7, 100, kNever, {}, false}};
  problem.memory_bytes = 10;
  const std::optional<SavedValues> chosen = choose_saved_values(problem);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->how, (std::vector<How>{How::kept, How::again, How::dropped}));
  EXPECT_EQ(chosen->bytes, 1);
  EXPECT_EQ(chosen->seconds, 1);
}

TEST(SavedValues, TheCheaperOfTheHostAndOfComputingAgainIsChosenForEach) {
  SavedValuesProblem problem;
  problem.values = {{50, 3, 2, {}, true}, {50, 2, 3, {}, true}, {50, 9, 9, {}, true}};
  problem.memory_bytes = 50;
  const std::optional<SavedValues> chosen = choose_saved_values(problem);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->how, (std::vector<How>{How::host, How::again, How::kept}));
  EXPECT_EQ(chosen->seconds, 4);
  EXPECT_EQ(chosen->bytes, 50);
}

TEST(SavedValues, NothingIsSaidToFitThatDoesNot) {
  SavedValuesProblem problem;
  problem.values = {{50, SavedValuesProblem::kNever, SavedValuesProblem::kNever, {}, true}};
  problem.memory_bytes = 10;
  EXPECT_FALSE(choose_saved_values(problem));
}

}  // namespace
}  // namespace cleave::testing

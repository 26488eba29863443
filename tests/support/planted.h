// Models with round trips planted at known lines, among host work that makes none. The generator knows the definition in
// docs/diagnostics.md, and nothing of the search for them.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "partitioner/compile.h"

namespace cleave::testing {

/// Options with the machine and the operations that planted models are planned for: `sort` has no accelerator kernel.
planner::PlanOptions planted_options(Policy policy);

/// A model, built line by line, and the expected warnings: the line of each, with the cause of the accelerator's wait.
class Planted {
 public:
  explicit Planted(std::uint64_t seed);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::map<int, std::string>& expected() const { return expected_; }

 private:
  /// The control flow around a block.
  struct Around {
    bool started = false;  ///< a condition computed on the accelerator starts each execution of the block
    bool repeats = false;  ///< a loop repeats it
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  std::string any_tensor();
  std::string fresh() { return "t" + std::to_string(names_++); }
  void head();
  int line(int depth, const std::string& statement);
  std::string work();
  void use(int depth, const std::string& name);
  void block(int depth, int statements, bool in_loop);
  void block_within(Around around, int depth, int statements);
  void statement(int depth, bool in_loop);
  void by_data(int depth);
  void by_op(int depth);
  void by_pin(int depth);
  void by_chain(int depth);
  void by_two_readers(int depth);
  void by_branch(int depth);
  void by_effect(int depth);
  void from_host_data(int depth);
  void not_needed(int depth);
  void loop(int depth);
  void host_driven_loop(int depth);
  void accelerator_driven_loop(int depth);
  void given_branch(int depth);
  void accelerator_branch(int depth);

  std::mt19937_64 random_;
  std::string text_;
  std::map<int, std::string> expected_;
  Around around_;
  int names_ = 0;
};

}  // namespace cleave::testing

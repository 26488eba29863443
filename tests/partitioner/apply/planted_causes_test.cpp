// Programs with round trips planted at known lines, among host work that is none: every one must be found, at its own line, for its own
// reason, and nothing else. The generator knows the definition of docs/diagnostics.md, and nothing of how they are found.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

/// A model, line by line, and what must be warned of: by line, through what the accelerator waits.
class Planted {
 public:
  explicit Planted(std::uint64_t seed) : random_(seed) {
    head();
    text_ += "program:\n";
    block(1, 3 + pick(5), false);
    for (int i = 0; i < kTensors; ++i) text_ += std::string(i == 0 ? "outputs: [" : ", ") + tensor(i);
    text_ += "]\n";
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::map<int, std::string>& expected() const { return expected_; }

 private:
  static constexpr int kTensors = 3;
  static constexpr const char* kType = "\"f32[1024, 1024]\"";

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  static std::string tensor(int i) { return std::string("w") + static_cast<char>('0' + i); }
  std::string any_tensor() { return tensor(pick(kTensors)); }
  std::string fresh() { return "t" + std::to_string(names_++); }

  void head() {
    text_ = "cleave: 1\nmodel: planted\ninputs:\n  s: " + std::string(kType) + "\n  given: \"bool[]\"\nparameters:\n";
    for (int i = 0; i < kTensors; ++i) text_ += "  " + tensor(i) + ": {type: " + kType + ", value: 0.5}\n";
    text_ += "host_functions:\n";
    const auto function = [&](const char* name, const std::string& takes, const std::string& returns, bool pure) {
      text_ += std::string("  ") + name + ": {library: ./l.so, symbol: s, takes: [" + takes + "], returns: " + returns +
               ", seconds: 1.0e-4, pure: " + (pure ? "true" : "false") + "}\n";
    };
    function("f", kType, kType, true);
    function("both", std::string(kType) + ", " + kType, kType, true);
    function("decide", kType, "\"bool[]\"", true);
    function("log_to", kType, "[]", false);
    function("observe", "", kType, false);
  }

  int line(int depth, const std::string& statement) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + statement + "\n";
    return static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
  }
  /// Work of the accelerator on its own values.
  std::string work() { return "tanh(matmul(" + any_tensor() + ", " + any_tensor() + "))"; }
  void use(int depth, const std::string& name) {
    const std::string into = any_tensor();
    line(depth, "- " + into + ": matmul(" + into + ", " + name + ") * 0.5");
  }

  void block(int depth, int statements, bool in_loop) {
    for (int i = 0; i < statements; ++i) statement(depth, in_loop);
    line(depth, "- " + any_tensor() + ": " + work());  // no block is without accelerator work
  }

  void statement(int depth, bool in_loop) {
    const int most = depth < 6 ? 13 : 10;
    switch (pick(most)) {
      case 0:
      case 1: line(depth, "- " + any_tensor() + ": " + work()); return;
      case 2: return by_data(depth);
      case 3: return by_chain(depth);
      case 4: return by_two_readers(depth);
      case 5: return by_branch(depth);
      case 6: line(depth, "- print(\"loss\", max(" + any_tensor() + "))"); return;  // only leaves
      case 7: return from_host_data(depth);
      case 8: return not_needed(depth);
      case 9: return in_loop ? by_data(depth) : by_effect(depth);
      case 10: return loop(depth);
      case 11: return host_driven_loop(depth);
      default: return given_branch(depth);
    }
  }

  void by_data(int depth) {
    const std::string name = fresh();
    expected_[line(depth, "- " + name + ": f(" + work() + ")")] = "data";
    use(depth, name);
  }
  /// The first of a chain reads; what it gives the others is theirs.
  void by_chain(int depth) {
    const std::string first = fresh(), second = fresh();
    expected_[line(depth, "- " + first + ": f(" + work() + ")")] = "data";
    line(depth, "- " + second + ": f(" + first + ")");
    use(depth, second);
  }
  /// Two causes, although one line of accelerator work needs both.
  void by_two_readers(int depth) {
    const std::string first = fresh(), second = fresh();
    expected_[line(depth, "- " + first + ": f(" + work() + ")")] = "data";
    expected_[line(depth, "- " + second + ": f(" + work() + ")")] = "data";
    const std::string into = any_tensor();
    line(depth, "- " + into + ": matmul(" + first + ", " + second + ")");
  }
  void by_branch(int depth) {
    const std::string name = fresh();
    expected_[line(depth, "- " + name + ": decide(" + work() + ")")] = "control";
    line(depth, "- if: " + name);
    line(depth + 1, "then:");
    line(depth + 2, "- " + tensor(0) + ": " + work());
  }
  void from_host_data(int depth) {
    const std::string name = fresh();
    line(depth, "- " + name + ": f(f(s))");
    use(depth, name);
  }
  void not_needed(int depth) {
    const std::string name = fresh();
    line(depth, "- " + name + ": f(" + work() + ")");
    line(depth, "- print(\"for people\", " + name + ")");
  }
  /// Outside of loops alone, where the order of effects is that of the lines: every log before an observation holds it up.
  void by_effect(int depth) {
    const std::string name = fresh();
    expected_[line(depth, "- log_to(" + work() + ")")] = "effect";
    line(depth, "- " + name + ": observe()");
    use(depth, name);
  }
  void loop(int depth) {
    line(depth, "- for: " + fresh() + " in " + std::to_string(2 + pick(20)));
    line(depth + 1, "do:");
    block(depth + 2, 1 + pick(4), true);
  }
  /// `decide` reads what the accelerator made in the trip before, and decides whether there is another.
  void host_driven_loop(int depth) {
    expected_[line(depth, "- while: decide(" + any_tensor() + ")")] = "control";
    line(depth + 1, "do:");
    for (int i = 0; i < kTensors; ++i) line(depth + 2, "- " + tensor(i) + ": tanh(matmul(" + tensor(i) + ", " + tensor(i) + "))");
    block(depth + 2, 1 + pick(3), true);
  }
  void given_branch(int depth) {
    line(depth, "- if: given");
    line(depth + 1, "then:");
    block(depth + 2, 1 + pick(3), true);
  }

  std::mt19937_64 random_;
  std::string text_;
  std::map<int, std::string> expected_;
  int names_ = 0;
};

PlanOptions options_under(Policy policy) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  options.simplify = false;  // equal calls stay two
  return options;
}

TEST(PlantedCauses, AreFoundAtTheirLinesAndNothingElseIs) {
  const PlanOptions options = options_under(Policy::accelerator);
  std::map<std::string, int> kinds;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Planted planted(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + planted.text());
    const Plan plan = planner::plan(parse_model(planted.text(), "planted.yaml"), options);
    ASSERT_TRUE(plan.ok()) << to_text(plan.diagnostics);
    std::map<int, std::string> found;
    for (const RoundTrip& trip : plan.round_trips) {
      if (!trip.warned()) continue;  // a name that is cheaper kept on the host
      const bool first = found.emplace(plan.graph->nodes[trip.blamed].location.line, std::string(to_string(trip.via))).second;
      EXPECT_TRUE(first) << "two at one line";
    }
    ASSERT_EQ(found, planted.expected());
    for (const auto& [line, via] : found) ++kinds[via];
  }
  for (const char* via : {"data", "control", "effect"}) EXPECT_GT(kinds[via], 200) << via;
}

/// Whatever the optimum moves to the host because that is cheaper there: the lines that are named are those of the causes.
TEST(PlantedCauses, AreNamedUnderTheOptimumToo) {
  const PlanOptions options = options_under(Policy::optimal);
  std::size_t named = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Planted planted(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + planted.text());
    const Plan plan = planner::plan(parse_model(planted.text(), "planted.yaml"), options);
    ASSERT_TRUE(plan.ok()) << to_text(plan.diagnostics);
    for (const RoundTrip& trip : plan.round_trips) {
      if (!trip.warned()) continue;
      const int line = plan.graph->nodes[trip.blamed].location.line;
      ASSERT_TRUE(planted.expected().contains(line)) << line;
      ++named;
    }
  }
  EXPECT_GT(named, 500u);
}

}  // namespace
}  // namespace cleave::testing

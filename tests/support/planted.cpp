#include "tests/support/planted.h"

#include <algorithm>
#include <utility>

#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr int kTensors = 3;
constexpr const char* kType = "\"f32[1024, 1024]\"";

std::string tensor(int i) {
  return std::string("w") + static_cast<char>('0' + i);
}

}  // namespace

PlanOptions planted_options(Policy policy) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  options.costs.supported = [](const Graph& graph, NodeId id) { return graph.nodes[id].op->name != "sort"; };
  options.simplify = false;  // equal calls must stay two calls
  return options;
}

Planted::Planted(std::uint64_t seed) : random_(seed) {
  head();
  text_ += "program:\n";
  block(1, 3 + pick(5), false);
  for (int i = 0; i < kTensors; ++i) text_ += std::string(i == 0 ? "outputs: [" : ", ") + tensor(i);
  text_ += "]\n";
}

std::string Planted::any_tensor() {
  return tensor(pick(kTensors));
}

void Planted::head() {
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

int Planted::line(int depth, const std::string& statement) {
  text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + statement + "\n";
  return static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
}

/// An accelerator operation on accelerator values.
std::string Planted::work() {
  return "tanh(matmul(" + any_tensor() + ", " + any_tensor() + "))";
}

void Planted::use(int depth, const std::string& name) {
  const std::string into = any_tensor();
  line(depth, "- " + into + ": matmul(" + into + ", " + name + ") * 0.5");
}

void Planted::block(int depth, int statements, bool in_loop) {
  for (int i = 0; i < statements; ++i) statement(depth, in_loop);
  line(depth, "- " + any_tensor() + ": " + work());  // every block has accelerator work
}
void Planted::block_within(Around around, int depth, int statements) {
  const Around outer = std::exchange(around_, around);
  block(depth, statements, true);
  around_ = outer;
}

void Planted::statement(int depth, bool in_loop) {
  const int most = depth < 6 ? 17 : 12;
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
    case 10: return by_op(depth);
    case 11: return by_pin(depth);
    case 12: return loop(depth);
    case 13: return host_driven_loop(depth);
    case 14: return given_branch(depth);
    case 15: return accelerator_driven_loop(depth);
    default: return accelerator_branch(depth);
  }
}

void Planted::by_data(int depth) {
  const std::string name = fresh();
  expected_[line(depth, "- " + name + ": f(" + work() + ")")] = "data";
  use(depth, name);
}
void Planted::by_op(int depth) {
  const std::string name = fresh();
  expected_[line(depth, "- " + name + ": sort(" + work() + ")")] = "data";
  use(depth, name);
}
void Planted::by_pin(int depth) {
  const std::string made = fresh(), name = fresh();
  line(depth, "- " + made + ": " + work());
  expected_[line(depth, "- " + name + ": exp(" + made + ") + 1")] = "data";
  line(depth + 1, "place: host");
  use(depth, name);
}
/// Only the first call of a chain reads an accelerator value; the others read host values.
void Planted::by_chain(int depth) {
  const std::string first = fresh(), second = fresh();
  expected_[line(depth, "- " + first + ": f(" + work() + ")")] = "data";
  line(depth, "- " + second + ": f(" + first + ")");
  use(depth, second);
}

/// Two causes, although one line of accelerator work needs both.
void Planted::by_two_readers(int depth) {
  const std::string first = fresh(), second = fresh();
  expected_[line(depth, "- " + first + ": f(" + work() + ")")] = "data";
  expected_[line(depth, "- " + second + ": f(" + work() + ")")] = "data";
  const std::string into = any_tensor();
  line(depth, "- " + into + ": matmul(" + first + ", " + second + ")");
}

void Planted::by_branch(int depth) {
  const std::string name = fresh();
  expected_[line(depth, "- " + name + ": decide(" + work() + ")")] = "control";
  line(depth, "- if: " + name);
  line(depth + 1, "then:");
  line(depth + 2, "- " + tensor(0) + ": " + work());
}

/// If a condition on the accelerator starts this statement, the accelerator waits for it. In a loop the statement could be hoisted, which
/// is another message.
void Planted::from_host_data(int depth) {
  const std::string name = fresh();
  const int where = line(depth, "- " + name + ": f(f(s))");
  if (around_.started && !around_.repeats) expected_[where] = "control";
  use(depth, name);
}

void Planted::not_needed(int depth) {
  const std::string name = fresh();
  line(depth, "- " + name + ": f(" + work() + ")");
  line(depth, "- print(\"for people\", " + name + ")");
}

/// Used only outside of loops, where the order of effects is that of the lines: every log before an observation delays it.
void Planted::by_effect(int depth) {
  const std::string name = fresh();
  expected_[line(depth, "- log_to(" + work() + ")")] = "effect";
  line(depth, "- " + name + ": observe()");
  use(depth, name);
}

void Planted::loop(int depth) {
  line(depth, "- for: " + fresh() + " in " + std::to_string(2 + pick(20)));
  line(depth + 1, "do:");
  block_within({false, true}, depth + 2, 1 + pick(4));
}

/// `decide` reads the accelerator's values of the previous iteration, and decides whether there is another iteration.
void Planted::host_driven_loop(int depth) {
  expected_[line(depth, "- while: decide(" + any_tensor() + ")")] = "control";
  line(depth + 1, "do:");
  for (int i = 0; i < kTensors; ++i) line(depth + 2, "- " + tensor(i) + ": tanh(matmul(" + tensor(i) + ", " + tensor(i) + "))");
  block_within({false, true}, depth + 2, 1 + pick(3));
}
/// The accelerator's value decides whether there is another iteration, and so whether the host observes once more.
void Planted::accelerator_driven_loop(int depth) {
  const std::string name = fresh();
  line(depth, "- while: max(" + any_tensor() + ") > 0.25");
  line(depth + 1, "do:");
  for (int i = 0; i < kTensors; ++i) line(depth + 2, "- " + tensor(i) + ": tanh(matmul(" + tensor(i) + ", " + tensor(i) + "))");
  expected_[line(depth + 2, "- " + name + ": observe()")] = "control";
  use(depth + 2, name);
  block_within({true, true}, depth + 2, 1 + pick(2));
}

void Planted::given_branch(int depth) {
  line(depth, "- if: given");
  line(depth + 1, "then:");
  block_within({around_.started, false}, depth + 2, 1 + pick(3));
}
void Planted::accelerator_branch(int depth) {
  const std::string name = fresh();
  line(depth, "- " + name + ": any(" + any_tensor() + " > 0.25)");
  line(depth, "- if: " + name);
  line(depth + 1, "then:");
  block_within({true, false}, depth + 2, 1 + pick(3));
}

}  // namespace cleave::testing

// Properties of every op of the vocabulary. A new op with a sample (tests/support/op_samples) is tested here automatically.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tests/support/empty_samples.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

/// The parts of a signature "name(a, [b], c?)".
struct Signature {
  struct Parameter {
    std::string name;
    bool optional = false, list = false;
  };
  std::string name;
  std::vector<Parameter> parameters;
};

Signature parse(const std::string& text) {
  const std::size_t open = text.find('(');
  Signature signature{text.substr(0, open), {}};
  std::string word;
  for (const char c : text.substr(open + 1)) {
    if (c != ',' && c != ')') {
      if (c != ' ') word += c;
      continue;
    }
    if (word.empty()) continue;
    Signature::Parameter parameter;
    if (word.back() == '?') parameter.optional = true, word.pop_back();
    if (word.front() == '[') parameter.list = true, word = word.substr(1, word.size() - 2);
    parameter.name = std::exchange(word, "");
    signature.parameters.push_back(parameter);
  }
  return signature;
}

const AttributeDef* find_attribute(const OpDef& op, const std::string& name) {
  for (const AttributeDef& def : op.attributes) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

TEST(OpContract, TheTableIsSortedAndFound) {
  const auto all = all_ops();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(all[i - 1]->name, all[i]->name);
    }
    EXPECT_EQ(find_op(all[i]->name), all[i]);
  }
  for (const char* name : {"", "ad", "addd", "Add", "zzz"}) EXPECT_EQ(find_op(name), nullptr) << name;
}

TEST(OpContract, RecordsAreComplete) {
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(op->type_rule && op->cost && op->reference);
    EXPECT_FALSE(op->summary.empty());
    EXPECT_TRUE(op->summary.find('\n') == std::string::npos && op->summary.back() != '.');
    EXPECT_EQ(op->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
    EXPECT_TRUE(op->max_inputs == -1 || op->min_inputs <= op->max_inputs);
    EXPECT_EQ(op->scalar.empty(), op->scalar_integer.empty());
    std::set<std::string> names;
    for (const AttributeDef& def : op->attributes) {
      EXPECT_TRUE(names.insert(std::string(def.name)).second) << def.name;
      EXPECT_FALSE(def.required && def.fallback) << def.name;
    }
    if (op->elementwise()) {
      EXPECT_TRUE(op->min_inputs == op->max_inputs && op->min_inputs >= 1 && op->min_inputs <= 3);
    }
  }
}

TEST(OpContract, OtherNamesAreOfOneFunctionAndOfNone) {
  std::set<std::string> names;
  for (const OpDef* function : all_functions()) {
    std::istringstream list{std::string(function->also_called)};
    for (std::string name; std::getline(list >> std::ws, name, ',');) {
      EXPECT_EQ(find_function(name), nullptr) << name;
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
  EXPECT_GE(names.size(), 30u);
}

TEST(OpContract, SignaturesAgreeWithOperandsAndAttributes) {
  for (const OpDef* op : all_functions()) {
    SCOPED_TRACE(op->signature);
    const Signature signature = parse(std::string(op->signature));
    EXPECT_EQ(signature.name, op->name);
    int least = 0, most = 0;
    std::set<std::string> named;
    for (const auto& parameter : signature.parameters) {
      EXPECT_TRUE(named.insert(parameter.name).second) << parameter.name;
      if (const AttributeDef* def = find_attribute(*op, parameter.name)) {
        EXPECT_EQ(def->required, !parameter.optional) << parameter.name;
      } else if (parameter.list) {
        most = -1;
      } else {
        EXPECT_GE(most, 0) << "an operand behind a list";
        least += parameter.optional ? 0 : 1;
        most += 1;
      }
    }
    EXPECT_EQ(most, op->max_inputs);
    if (most >= 0) {
      EXPECT_EQ(least, op->min_inputs);
    }
    for (const AttributeDef& def : op->attributes) EXPECT_TRUE(named.contains(std::string(def.name))) << def.name;
  }
}

TEST(OpContract, EveryOpHasSamplesOfTwoSizes) {
  std::map<const OpDef*, std::set<double>> sizes;
  for (const OpSample& sample : op_samples()) {
    double bytes = 0;
    for (const Array& input : sample.inputs) bytes += static_cast<double>(input.type().bytes());
    const auto results = infer(*sample.op, types_of(sample.inputs), sample.attributes);
    ASSERT_EQ(results.index(), 0U) << describe(sample) << ": " << std::get<TypeError>(results).message;
    for (const TensorType& result : std::get<0>(results)) bytes += static_cast<double>(result.bytes());
    sizes[sample.op].insert(bytes);
  }
  for (const OpDef* op : all_ops()) EXPECT_GE(sizes[op].size(), 2U) << op->name;
}

TEST(OpContract, MeaningsFillTheirResultsTheSameWayTwice) {
  for (const OpSample& sample : op_samples()) {
    SCOPED_TRACE(describe(sample));
    std::vector<std::string> first_lines, second_lines;
    const auto first = call_op(*sample.op, sample.inputs, sample.attributes, &first_lines);
    const auto second = call_op(*sample.op, sample.inputs, sample.attributes, &second_lines);
    ASSERT_TRUE(first.ok()) << first.error().message;
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(*first, *second);
    EXPECT_EQ(first_lines, second_lines);
    const auto types = infer(*sample.op, types_of(sample.inputs), sample.attributes);
    EXPECT_EQ(types_of(*first), std::get<0>(types)) << "a reference implementation changed the type of its result";
  }
}

Cost cost_of(const OpSample& sample, double* bytes) {
  const auto inputs = types_of(sample.inputs);
  const auto results = std::get<0>(infer(*sample.op, inputs, sample.attributes));
  *bytes = 0;
  for (const TensorType& type : inputs) *bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : results) *bytes += static_cast<double>(type.bytes());
  return sample.op->cost(inputs, results, sample.attributes);
}

TEST(OpContract, ZeroSizedAxesAreComputedOrRefusedAsData) {
  std::map<const OpDef*, int> calls;
  for (const OpSample& sample : empty_samples()) {
    if (sample.op->composite()) continue;
    SCOPED_TRACE(describe(sample));
    ++calls[sample.op];
    const auto first = call_op(*sample.op, sample.inputs, sample.attributes);
    const auto second = call_op(*sample.op, sample.inputs, sample.attributes);
    ASSERT_EQ(first.ok(), second.ok());
    double bytes = 0;
    const Cost cost = cost_of(sample, &bytes);
    EXPECT_TRUE(cost.flops >= 0 && cost.bytes >= 0 && std::isfinite(cost.flops + cost.bytes));
    if (!first.ok()) {
      EXPECT_TRUE(sample.op->may_fail) << first.error().message;
      continue;
    }
    EXPECT_EQ(*first, *second);
    EXPECT_EQ(types_of(*first), std::get<0>(infer(*sample.op, types_of(sample.inputs), sample.attributes)));
  }
  for (const OpSample& sample : op_samples()) {
    const bool has_axes = std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const Array& x) { return x.type().rank() > 0; });
    if (has_axes && !sample.attributes.find("function")) {
      EXPECT_GE(calls[sample.op], 1) << sample.op->name;
    }
  }
}

TEST(OpContract, NormalizedAttributesStayAsTheyAre) {
  for (const OpSample& sample : op_samples()) {
    Attributes again = sample.attributes;
    EXPECT_FALSE(normalize_call(*sample.op, sample.inputs.size(), again));
    EXPECT_EQ(again, sample.attributes) << describe(sample);
    for (const AttributeDef& def : sample.op->attributes) {
      EXPECT_TRUE(again.find(def.name) || (!def.required && !def.fallback)) << describe(sample) << " " << def.name;
    }
  }
}

TEST(OpContract, CostsAreFiniteAndGrow) {
  struct Extremes {
    double smallest = INFINITY, largest = -1;
    Cost cheap, dear;
  };
  std::map<const OpDef*, Extremes> all;
  for (const OpSample& sample : op_samples()) {
    double bytes = 0;
    const Cost cost = cost_of(sample, &bytes);
    EXPECT_TRUE(cost.flops >= 0 && cost.bytes >= 0 && std::isfinite(cost.flops) && std::isfinite(cost.bytes)) << describe(sample);
    Extremes& e = all[sample.op];
    if (bytes < e.smallest) e.smallest = bytes, e.cheap = cost;
    if (bytes > e.largest) e.largest = bytes, e.dear = cost;
  }
  for (const auto& [op, e] : all) {
    if (op->moves_to != Side::none) continue;  // an explicit transfer costs its transfer, which depends on the machine
    EXPECT_GE(e.dear.flops, e.cheap.flops) << op->name;
    EXPECT_GT(e.dear.flops + e.dear.bytes, e.cheap.flops + e.cheap.bytes) << op->name;
  }
}

TEST(OpContract, WrongNumbersOfOperandsAreRefused) {
  for (const OpSample& sample : op_samples()) {
    Attributes attributes = sample.attributes;
    const OpDef& op = *sample.op;
    if (op.min_inputs > 0) {
      const auto error = normalize_call(op, static_cast<std::size_t>(op.min_inputs) - 1, attributes);
      ASSERT_TRUE(error) << op.name;
      EXPECT_NE(error->message.find("`" + std::string(op.name) + "` takes "), std::string::npos) << error->message;
    }
    if (op.max_inputs >= 0) {
      EXPECT_TRUE(normalize_call(op, static_cast<std::size_t>(op.max_inputs) + 1, attributes)) << op.name;
    }
  }
}

TEST(OpContract, WrongAttributesAreRefused) {
  for (const OpSample& sample : op_samples()) {
    Attributes misspelt = sample.attributes;
    misspelt.set("no_such_attribute", true);
    const auto error = normalize_call(*sample.op, sample.inputs.size(), misspelt);
    ASSERT_TRUE(error) << describe(sample);
    EXPECT_EQ(error->kind, DiagnosticKind::unknown);
    for (const AttributeDef& def : sample.op->attributes) {
      Attributes wrong = sample.attributes;
      wrong.set(std::string(def.name), std::vector<TensorType>{});  // no op takes types
      if (def.type != AttributeDef::Type::any) {
        EXPECT_TRUE(normalize_call(*sample.op, sample.inputs.size(), wrong)) << describe(sample) << " " << def.name;
      }
      Attributes missing = sample.attributes;
      missing.erase(def.name);
      EXPECT_EQ(normalize_call(*sample.op, sample.inputs.size(), missing).has_value(), def.required) << describe(sample) << " " << def.name;
    }
  }
}

/// Operands that no op of this arity may accept: incompatible shapes, and element types that cannot be combined.
TEST(OpContract, ElementwiseOpsRefuseShapesThatDoNotBroadcast) {
  for (const OpSample& sample : op_samples()) {
    if (!sample.op->elementwise() || sample.inputs.size() < 2) continue;
    auto types = types_of(sample.inputs);
    types[0].shape = {2, 3};
    types[1].shape = {2, 4};
    const auto result = infer(*sample.op, types, sample.attributes);
    ASSERT_EQ(result.index(), 1U) << describe(sample);
    EXPECT_EQ(std::get<TypeError>(result).kind, DiagnosticKind::shape);
    EXPECT_EQ(std::get<TypeError>(result).message.find("`" + std::string(sample.op->name) + "` of "), 0U)
        << std::get<TypeError>(result).message;
  }
}

TEST(OpContract, OpsOfSeveralOperandsRefuseMixedElementTypes) {
  for (const OpSample& sample : op_samples()) {
    if (sample.op->promotion != Promotion::common || sample.inputs.size() < 2) continue;
    auto types = types_of(sample.inputs);
    types.back().dtype = types.back().dtype == DType::i64 ? DType::i32 : DType::i64;
    const auto result = infer(*sample.op, types, sample.attributes);
    ASSERT_EQ(result.index(), 1U) << describe(sample);
    EXPECT_EQ(std::get<TypeError>(result).kind, DiagnosticKind::type);
  }
}

/// Calls near the samples: other element types, shapes from empty to absurdly large, other numbers. If the rules accept a call, its types
/// and cost must be of reasonable size, and small calls must run.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  OpSample mutate(OpSample sample) {
    for (Array& input : sample.inputs) types_.push_back(input.type());
    for (TensorType& type : types_) {
      if (chance(3)) type.dtype = static_cast<DType>(below(kDTypeCount));
      if (chance(2)) mutate(type.shape);
    }
    Attributes attributes;
    for (const auto& [name, value] : sample.attributes) attributes.set(name, chance(2) ? mutated(value) : value);
    sample.attributes = std::move(attributes);
    return sample;
  }
  std::vector<TensorType> take_types() { return std::exchange(types_, {}); }

 private:
  std::mt19937_64 random_;
  std::vector<TensorType> types_;

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int n) { return below(n) == 0; }
  std::int64_t number() {
    const std::int64_t choices[] = {below(5),
                                    -below(5),
                                    below(40),
                                    std::int64_t{1} << below(63),
                                    std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()};
    return choices[below(10) < 7 ? below(3) : 3 + below(3)];
  }
  void mutate(Shape& shape) {
    const std::int64_t what = below(5);
    if (what == 0 && !shape.empty()) shape.pop_back();
    if (what == 1) shape.push_back(below(4));
    if (what == 2) shape.resize(static_cast<std::size_t>(below(33)), 1);
    if (what >= 3 && !shape.empty())
      shape[below(static_cast<std::int64_t>(shape.size()))] = chance(2) ? below(6) : std::int64_t{1} << below(40);
    if (!checked_bytes({DType::f64, shape})) shape = {1};  // a Graph holds no such type
  }
  AttributeValue mutated(const AttributeValue& value) {
    if (std::holds_alternative<bool>(value)) return chance(2);
    if (std::holds_alternative<std::int64_t>(value)) return number();
    if (std::holds_alternative<double>(value)) return chance(4) ? NAN : static_cast<double>(number());
    if (std::holds_alternative<DType>(value)) return static_cast<DType>(below(kDTypeCount));
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      auto changed = *list;
      if (chance(3)) changed.push_back(number());
      if (chance(3) && !changed.empty()) changed.pop_back();
      if (!changed.empty()) changed[below(static_cast<std::int64_t>(changed.size()))] = number();
      return changed;
    }
    return value;
  }
};

std::int64_t total_elements(std::span<const TensorType> types) {
  std::int64_t total = 0;
  for (const TensorType& type : types) total = std::min<std::int64_t>(total + std::min<std::int64_t>(type.elements(), 1 << 20), 1 << 20);
  return total;
}

TEST(OpContract, NoCallCrashesOrGivesAnAbsurdType) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Mutator mutator(seed);
  int accepted = 0, refused = 0;
  for (const OpSample& original : op_samples()) {
    if (original.op->purity_for(original.attributes) == Purity::effect || original.op->name == "host_call") continue;
    for (int round = 0; round < 8; ++round) {
      const OpSample sample = mutator.mutate(original);
      const std::vector<TensorType> inputs = mutator.take_types();
      const auto found = infer(*sample.op, inputs, sample.attributes);
      if (const auto* error = std::get_if<TypeError>(&found)) {
        ++refused;
        EXPECT_FALSE(error->message.empty());
        continue;
      }
      ++accepted;
      const auto& results = std::get<0>(found);
      for (const TensorType& result : results) EXPECT_TRUE(checked_bytes(result) && result.rank() <= 32) << describe(sample);
      Attributes attributes = sample.attributes;
      EXPECT_FALSE(normalize_call(*sample.op, inputs.size(), attributes));
      const Cost cost = sample.op->cost(inputs, results, attributes);
      EXPECT_TRUE(cost.flops >= 0 && cost.bytes >= 0 && std::isfinite(cost.flops + cost.bytes)) << describe(sample);
      constexpr double kMostFlops = 1e8;
      if (total_elements(inputs) + total_elements(results) > 4096 || cost.flops > kMostFlops) continue;
      std::vector<Array> data;
      for (const TensorType& type : inputs) data.emplace_back(type);
      const auto run = call_op(*sample.op, data, attributes);
      if (!run.ok()) {
        EXPECT_TRUE(sample.op->may_fail) << run.error().message;  // index 0 of an empty axis, a matrix of zeros
      }
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace cleave::testing

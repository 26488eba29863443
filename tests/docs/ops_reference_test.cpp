// docs/ops.md is generated from the records of the ops and the devices' own tables: CLEAVE_UPDATE_GOLDEN=1 rewrites it, otherwise the test
// fails if it is out of date. The accepted element types are found by trying every type in each op's type rule, on the ops' samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "executor/api/back_ends.h"
#ifdef CLEAVE_HAS_CUDA
#include "executor/cuda/back_end.h"
#include "tests/support/fake_driver.h"
#endif
#include "graph/base/number_text.h"
#include "graph/ops/op_table.h"
#include "graph/trace/tracer.h"
#include "graph/vocabulary.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using Types = std::set<DType>;
constexpr DType kAllTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
                               DType::u32,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

std::string in_words(const Types& types) {
  const auto all_that = [&](auto&& belongs) {
    return std::all_of(std::begin(kAllTypes), std::end(kAllTypes), [&](DType type) { return types.contains(type) == belongs(type); });
  };
  if (all_that([](DType) { return true; })) return "any";
  if (all_that([](DType type) { return type != DType::boolean; })) return "numbers";
  if (all_that([](DType type) { return is_floating(type); })) return "floating";
  if (all_that([](DType type) { return is_integer(type); })) return "integers";
  if (all_that([](DType type) { return !is_floating(type); })) return "integers, bool";
  std::string text;
  for (const DType type : kAllTypes) {
    if (types.contains(type)) text += (text.empty() ? "" : ", ") + std::string(to_string(type));
  }
  return text;
}

std::vector<TensorType> types_of(const OpSample& sample) {
  std::vector<TensorType> types;
  for (const Array& input : sample.inputs) types.push_back(input.type());
  return types;
}

bool accepts(const OpDef& op, const std::vector<TensorType>& inputs, const Attributes& attributes) {
  return op.type_rule(inputs, attributes).index() == 0;
}

/// The element types that operand `k` may have: alone, or together with those that it is promoted with.
Types types_of_operand(const std::vector<OpSample>& samples, std::size_t k) {
  Types accepted;
  for (const OpSample& sample : samples) {
    if (k >= sample.inputs.size()) continue;
    const auto promoted = static_cast<std::size_t>(sample.op->promote_from);
    for (const DType type : kAllTypes) {
      std::vector<TensorType> alone = types_of(sample), together = alone;
      alone[k].dtype = type;
      for (std::size_t other = promoted; other < together.size(); ++other) together[other].dtype = type;
      if (accepts(*sample.op, alone, sample.attributes) || (k >= promoted && accepts(*sample.op, together, sample.attributes)))
        accepted.insert(type);
    }
  }
  return accepted;
}

/// The parameters of `print(label, x)` that are operands: those that are no attributes.
std::vector<std::string> operand_names(const OpDef& op) {
  std::vector<std::string> names;
  std::stringstream parameters(std::string(op.signature).substr(op.signature.find('(') + 1));
  for (std::string name; std::getline(parameters, name, ',');) {
    name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return std::string_view(" ?[])").find(c) != std::string_view::npos; }),
               name.end());
    const bool attribute =
        std::any_of(op.attributes.begin(), op.attributes.end(), [&](const AttributeDef& each) { return each.name == name; });
    if (!name.empty() && !attribute) names.push_back(name);
  }
  return names;
}

std::string element_types(const OpDef& op, const std::vector<OpSample>& samples) {
  for (const AttributeDef& attribute : op.attributes) {
    if (attribute.type == AttributeDef::Type::function) return "as declared";
  }
  if (op.promotion == Promotion::floating) return "any; integers and bool become f32";  // the tracer promotes them before the type rule
  const std::vector<std::string> names = operand_names(op);
  std::vector<std::string> words;
  for (std::size_t k = 0; k < names.size(); ++k) words.push_back(in_words(types_of_operand(samples, k)));
  const bool one = std::adjacent_find(words.begin(), words.end(), std::not_equal_to<>()) == words.end();
  if (one && !words.empty() && names[0] != "step") return words[0];
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k) text += (k > 0 ? "; " : "") + ("`" + names[k] + "`: " + words[k]);
  return text;
}

std::string text_of(const AttributeValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return shortest_text(*number);
  if (const auto* type = std::get_if<DType>(&value)) return std::string(to_string(*type));
  if (const auto* text = std::get_if<std::string>(&value)) return "\"" + *text + "\"";
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list && list->empty()) return "none";
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list && list->size() == 1) return std::to_string(list->front());
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  ADD_FAILURE() << "a default that this test cannot write";
  return "";
}

/// The form of an attribute in a model file.
std::string kind_of(const AttributeDef& attribute, const std::vector<OpSample>& samples) {
  using enum AttributeDef::Type;
  switch (attribute.type) {
    case boolean: return "bool";
    case integer: return "integer";
    case number: return "number";
    case text: return "text";
    case integers: return "integers";
    case numbers: return "numbers";
    case shape: return "shape";
    case array: return "array";
    case types: return "types";
    case function: return "function";
    case any: return "bool, integer or number";
    case dtype: break;
  }
  Types accepted;
  for (const OpSample& sample : samples) {
    for (const DType type : kAllTypes) {
      Attributes attributes = sample.attributes;
      attributes.set(std::string(attribute.name), type);
      if (accepts(*sample.op, types_of(sample), attributes)) accepted.insert(type);
    }
  }
  return "element type (" + in_words(accepted) + ")";
}

std::string attributes_of(const OpDef& op, const std::vector<OpSample>& samples) {
  std::string text;
  for (const AttributeDef& attribute : op.attributes) {
    text += (text.empty() ? "`" : "; `") + std::string(attribute.name) + "`: " + kind_of(attribute, samples);
    if (attribute.fallback) text += ", default " + text_of(to_value(*attribute.fallback));
    if (!attribute.fallback && !attribute.required) text += ", optional";
  }
  return text;
}

/// Whether the device has a kernel for the call of a sample.
bool supports(const BackEnd& back_end, const OpSample& sample) {
  Tracer tracer("one");
  std::vector<Operand> operands;
  for (const TensorType& type : types_of(sample)) operands.push_back(tracer.input("x" + std::to_string(operands.size()), type, {}, {}));
  tracer.call(*sample.op, operands, sample.attributes, {});
  const Graph graph = tracer.finish();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[NodeId(n)].op == sample.op) return back_end.supports(graph, NodeId(n));
  }
  return false;
}

std::string places_of(const std::vector<OpSample>& samples, const std::vector<BackEnd>& devices) {
  std::string text = "host";
  for (const BackEnd& device : devices) {
    const auto supported = std::count_if(samples.begin(), samples.end(), [&](const OpSample& sample) { return supports(device, sample); });
    if (supported == 0) continue;
    text += ", " + std::string(device.name) + (supported < static_cast<std::ptrdiff_t>(samples.size()) ? " (in part)" : "");
  }
  return text;
}

using DocumentRow = std::array<std::string, 5>;

/// The rows as Markdown, without empty columns.
std::string table(const std::vector<DocumentRow>& rows) {
  std::string text;
  for (const DocumentRow& row : rows) {
    text += "|";
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (std::all_of(rows.begin() + 2, rows.end(), [&](const DocumentRow& each) { return each[k].empty(); })) continue;
      std::string cell = row[k];
      for (std::size_t at = cell.find('|'); at != std::string::npos; at = cell.find('|', at + 2)) cell.insert(at, "\\");
      text += cell == "---" ? "---|" : cell.empty() ? " |" : " " + cell + " |";
    }
    text += "\n";
  }
  return text;
}

using SamplesByOp = std::map<const OpDef*, std::vector<OpSample>>;

std::string section(const ops::OpFamily& family, SamplesByOp& samples, const std::vector<BackEnd>& devices) {
  std::vector<DocumentRow> rows = {{"op", "gives", "attributes", "element types", "runs on"}, {"---", "---", "---", "---", "---"}};
  for (const OpDef* each : family.ops) {
    const OpDef& op = *each;
    const std::vector<OpSample>& own = samples[&op];
    rows.push_back({"`" + std::string(op.signature) + "`", std::string(op.summary), attributes_of(op, own), element_types(op, own),
                    op.composite() ? "" : places_of(own, devices)});
  }
  return (family.ops[0]->composite() ? "\n### " : "\n## ") + std::string(family.title) + "\n\n" + table(rows);
}

std::string reference(const std::vector<BackEnd>& devices) {
  SamplesByOp samples;
  for (auto some : {op_samples, composite_samples}) {
    for (OpSample& sample : some()) samples[sample.op].push_back(std::move(sample));
  }
  std::string text =
      "# The vocabulary\n\n"
      "Written from the ops' records; the test `docs_ops_reference_test` keeps it up to date.\n\n"
      "Names and meaning follow the Python array API standard where it has them. `x?` may be left out, `[xs]` is a list of\n"
      "tensors. Shapes broadcast as in NumPy. Mixed element types promote (bool < integers < f16, bf16 < f32 < f64; of\n"
      "integers the smallest type that holds both, and none for u64 with a signed one); math functions and `/` turn integers\n"
      "into f32. Integers wrap and never trap. f16 and bf16 compute in f32. An axis below 0 counts from the end.\n\n"
      "Element types are those of the operands: *numbers* are all but bool, *floating* is f16, bf16, f32 and f64, *integers*\n"
      "are i8 to i64 and u8 to u64. An op runs where it says: on the host, on the simulated accelerator, on a GPU (cuda).\n"
      "What runs on the host alone makes the accelerator wait for it; `cleave explain` shows where.\n";
  for (const ops::OpFamily& family : ops::op_families()) text += section(family, samples, devices);
  text += "\n## Gradients\n\nReplaced by the operations that compute them, before a program is planned.\n\n";
  std::vector<DocumentRow> rows = {{"call", "gives"}, {"---", "---"}};
  for (const OpDef* each : {&op::gradient, &op::stop_gradient})
    rows.push_back({"`" + std::string(each->signature) + "`", std::string(each->summary)});
  text += table(rows);
  text +=
      "\n## Composite functions\n\n"
      "Called like ops, and traced into ops: these fuse, and each runs where it is cheapest. Messages, pictures and paths show\n"
      "the parts inside of a scope with the function's name.\n";
  for (const ops::OpFamily& family : ops::composite_families()) text += section(family, samples, devices);
  return text;
}

TEST(OpsReference, IsUpToDate) {
  std::vector<BackEnd> devices;
  for (BackEnd& each : back_ends()) {
#ifdef CLEAVE_HAS_CUDA
    if (each.name == "cuda") each = cuda::back_end(FakeDriver::libraries());  // as if every library were installed here
#endif
    if (each.open) devices.insert(devices.begin(), std::move(each));  // the simulated device comes first, since it is always available
  }
  const std::vector<OpSample> samples = op_samples();
  for (const BackEnd& device : devices) {
    const bool any = std::any_of(samples.begin(), samples.end(), [&](const OpSample& sample) { return supports(device, sample); });
    if (!any) GTEST_SKIP() << "this build has no kernels for " << device.name;
  }
  const std::string path = source_dir() + "/docs/ops.md", expected = reference(devices);
  if (std::getenv("CLEAVE_UPDATE_GOLDEN")) {
    std::ofstream(path, std::ios::binary) << expected;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream actual;
  actual << file.rdbuf();
  EXPECT_EQ(actual.str(), expected) << "run this test with CLEAVE_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace cleave::testing

// Reads the initial value of a parameter: `value`, `file`, or a distribution.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "graph/array/range.h"
#include "graph/trace/distribution.h"
#include "models/reader/declarations.h"

namespace cleave::models {
namespace {

constexpr double kExactIntegers = 9007199254740992;  // 2^53: beyond it a double skips integers

/// A number, an expression of numbers, or nested YAML lists of them. The YAML reader bounds the nesting depth.
std::optional<LiteralList> read_literals(const YamlNode& node, Evaluator& evaluator) {
  if (!node.list()) {
    const auto expression = parse_expression(node, evaluator.errors, "a number or a list of numbers");
    return expression ? evaluator.literals(*expression, "a value") : std::nullopt;
  }
  LiteralList list;
  for (const YamlNode& item : node.items) {
    const auto part = read_literals(item, evaluator);
    if (!part) return std::nullopt;
    if (append(list, *part)) continue;
    evaluator.fail(DiagnosticKind::shape, item.span, "the parts of a list must all have the same shape");
    return std::nullopt;
  }
  if (node.items.empty()) list.shape = {0};
  return list;
}

void read_value(const YamlNode& node, const Name& name, const TensorType& type, Attributes& attributes, Evaluator& evaluator) {
  const auto list = read_literals(node, evaluator);
  if (!list) return;
  const std::string described = "`" + name.text + "` (" + to_string(type) + ")";
  const bool one_for_all = list->shape.empty();
  if (!one_for_all && list->shape != type.shape) {
    const bool plain = list->shape.size() == 1 && type.shape.size() == 1;
    const std::string given = plain ? std::to_string(list->shape[0]) + (list->shape[0] == 1 ? " is given" : " are given")
                                    : "the list has the shape " + to_string(list->shape);
    const std::string takes =
        plain ? "`" + name.text + "` takes " + std::to_string(type.shape[0]) + (type.shape[0] == 1 ? " element" : " elements") : described;
    return evaluator.fail(DiagnosticKind::shape, node.span, takes + (plain ? "; " : ": ") + given);
  }
  const auto too_large = [&](const Literal& literal) {
    return literal.type != Literal::Type::boolean && out_of_range(to_double(literal), type.dtype);
  };
  const bool range = type.dtype != DType::boolean && std::any_of(list->values.begin(), list->values.end(), too_large);
  const auto misfit = [&](const std::string& number) {
    evaluator.fail(DiagnosticKind::value, node.span,
                   "`" + number + "` is no value of " + described + (range ? "; " + range_text(type.dtype) : ""));
  };
  const Literal* one = one_for_all ? &list->values.front() : nullptr;
  if (one && !fits(*one, type.dtype)) return misfit(spelled(*one));
  if (one && (!is_integer(type.dtype) || std::abs(to_double(*one)) < kExactIntegers)) return attributes.set("value", to_double(*one));
  if (one) return attributes.set("value", one->integer);
  std::string wrong;
  auto array = to_array(*list, type.dtype, &wrong);
  if (!array) return misfit(wrong);
  attributes.set("value", *std::move(array));
}

/// How a model writes the distribution: "`uniform: [low, high]`".
std::string form_of(const Distribution& distribution) {
  const std::string numbers = distribution.numbers() == 1
                                  ? std::string(distribution.first)
                                  : "[" + std::string(distribution.first) + ", " + std::string(distribution.second) + "]";
  return "`" + std::string(distribution.key) + ": " + numbers + "`";
}

void read_distribution(const YamlEntry& entry, const Distribution& distribution, const Name& name, const TensorType& type,
                       Attributes& attributes, Evaluator& evaluator) {
  const auto list = read_literals(entry.value, evaluator);
  if (!list) return;
  const Shape wanted = distribution.numbers() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(distribution.numbers())};
  const std::string form = form_of(distribution);
  if (list->shape != wanted || common_dtype(list->values) == DType::boolean || !common_dtype(list->values)) {
    return evaluator.fail(DiagnosticKind::type, entry.value.span,
                          (distribution.numbers() == 1 ? "one number is" : "two numbers are") + std::string(" expected: ") + form);
  }
  const double first = to_double(list->values.front()), second = to_double(list->values.back());
  if (std::string wrong = wrong_numbers(distribution, first, second); !wrong.empty())
    return evaluator.fail(DiagnosticKind::value, entry.value.span, std::move(wrong));
  if (!is_floating(type.dtype)) {
    return evaluator.fail(DiagnosticKind::type, entry.key.span,
                          "random numbers are floating; `" + name.text + "` is " + to_string(type) +
                              "; draw integers in the program: `random_integers(" + to_string(type.shape) + ", 0, 10, seed=1)`");
  }
  for (const Literal& literal : list->values) {
    if (fits(literal, type.dtype)) continue;
    return evaluator.fail(DiagnosticKind::value, entry.value.span,
                          "`" + spelled(literal) + "` in " + form + " is out of range; " + range_text(type.dtype));
  }
  set_distribution(attributes, distribution, first, second);
}

}  // namespace

Attributes read_initial_value(const YamlEntry& entry, const Name& name, const TensorType& type, std::int64_t position,
                              Evaluator& evaluator) {
  Attributes attributes;
  const YamlEntry* first = nullptr;
  bool random = false;
  for (const YamlEntry& inner : entry.value.entries) {
    const std::string& key = inner.key.text;
    const Distribution* distribution = find_distribution(key);
    if (key != "value" && key != "file" && !distribution) continue;
    if (first) {
      evaluator.fail(DiagnosticKind::value, inner.key.span, "`" + name.text + "` begins as `" + first->key.text + "` already",
                     {evaluator.errors.note(first->key.span, "here")});
      continue;
    }
    first = &inner;
    random = distribution != nullptr;
    if (key == "value") read_value(inner.value, name, type, attributes, evaluator);
    if (key == "file") read_file_key(inner.value, attributes, evaluator.errors);
    if (distribution) read_distribution(inner, *distribution, name, type, attributes, evaluator);
  }
  if (random) attributes.set("seed", position);
  const YamlEntry* seed = entry.value.find("seed");
  if (!seed) return attributes;
  if (!random) evaluator.fail(DiagnosticKind::value, seed->key.span, "`seed` belongs to a distribution such as `uniform` or `normal`");
  const auto expression = parse_expression(seed->value, evaluator.errors, "an integer");
  const auto number = expression ? evaluator.integer(*expression, "`seed`") : std::nullopt;
  if (number && random) attributes.set("seed", *number);
  return attributes;
}

}  // namespace cleave::models

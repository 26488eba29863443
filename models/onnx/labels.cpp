// Lowerings of the operators of ai.onnx.ml that exchange labels and categories, by tables.
#include <algorithm>
#include <numeric>

#include "graph/ops/wrapping.h"
#include "models/onnx/lookups.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

}  // namespace

Part look_up(Call& c, const Part& x, const Array& keys, const Part& values, const Part& fallback, bool nan) {
  const std::int64_t count = keys.size();
  if (count == 0) return c(op::broadcast_to, {fallback}, {{"shape", x.shape()}});
  Integers order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  bool has_nan = false;
  dispatch(keys.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* key = keys.data<T>();
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const auto p = ops::load(key[a]), q = ops::load(key[b]);
      return p < q || (p == p && q != q);
    });
    has_nan = ops::load(key[order.back()]) != ops::load(key[order.back()]);
  });
  const Attributes first{{"axis", std::int64_t{0}}};
  const bool sorted = std::is_sorted(order.begin(), order.end());
  const auto in_order = [&](const Part& list) { return sorted ? list : c(op::take, {list, c.integers_constant(order)}, first); };
  const Part all_keys = c.reshape(c.constant(keys), {count});
  const Part sorted_keys = in_order(all_keys), sorted_values = in_order(values);
  const Part place = c(op::minimum, {c(op::searchsorted, {sorted_keys, x}), static_cast<std::int32_t>(count - 1)});
  const Part key = c(op::take, {sorted_keys, place}, first);
  Part found = c(op::equal, {key, x});
  if (has_nan && nan) {
    const Part both = c(op::logical_and, {c(op::isnan, {key}), c(op::isnan, {x})});
    found = c(op::logical_or, {found, both});
  }
  return c(op::where, {found, c(op::take, {sorted_values, place}, first), fallback});
}

namespace {

/// One side of a table: texts or numbers.
struct TableSide {
  std::optional<Strings> texts;
  std::optional<Array> numbers;
  [[nodiscard]] bool given() const { return texts || numbers; }
  [[nodiscard]] std::int64_t size() const { return texts ? static_cast<std::int64_t>(texts->size()) : numbers ? numbers->size() : 0; }
};

Array integer_array(const Integers& numbers) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, std::span<const std::int64_t>(numbers));
}

/// `keys_strings`, `keys_int64s`, `keys_floats` or `keys_tensor`, for the prefix "keys".
TableSide side_of(Call& c, const std::string& prefix) {
  TableSide side;
  side.texts = c.texts(prefix + "_strings");
  if (const auto integers = c.integers(prefix + "_int64s")) side.numbers = integer_array(*integers);
  if (const auto numbers = c.numbers(prefix + "_floats")) {
    const std::vector<float> floats(numbers->begin(), numbers->end());
    side.numbers = Array::of<float>({static_cast<std::int64_t>(floats.size())}, std::span<const float>(floats));
  }
  if (const auto texts = c.text_tensor(prefix + "_tensor"))
    side.texts = *texts->texts;
  else if (c.has_attribute(prefix + "_tensor"))
    side.numbers = c.tensor(prefix + "_tensor");
  return side;
}

/// What stands for keys that the table lacks.
TableSide fallback_of(Call& c, const TableSide& values) {
  const std::string text = c.text("default_string", "_Unused");
  const std::int64_t integer = c.integer("default_int64", -1);
  const double number = c.number("default_float", -0.0);
  TableSide fallback;
  if (const auto texts = c.text_tensor("default_tensor"))
    fallback.texts = *texts->texts;
  else if (c.has_attribute("default_tensor"))
    fallback.numbers = c.tensor("default_tensor");
  if (fallback.given()) return fallback;
  if (values.texts) fallback.texts = Strings{text};
  if (values.numbers && values.numbers->dtype() == DType::i64) fallback.numbers = integer_array({integer});
  if (values.numbers && values.numbers->dtype() == DType::f32) fallback.numbers = Array::of<float>({1}, {static_cast<float>(number)});
  if (values.numbers && !fallback.numbers) fallback.numbers = Array(TensorType{values.numbers->dtype(), {1}});
  return fallback;
}

/// The exchange of x by a table. Texts are exchanged when the file is read: what is computed are their indices.
Values exchanged(Call& c, const TableSide& keys, const TableSide& values, const TableSide& fallback) {
  const Value& x = c.value(0);
  const std::string op = "`" + std::string(c.op()) + "`";
  const bool fits = keys.given() && values.given() && keys.size() == values.size() && fallback.size() == 1 &&
                    fallback.texts.has_value() == values.texts.has_value() &&
                    (values.texts || fallback.numbers->dtype() == values.numbers->dtype());
  if (!fits) return c.mistake(DiagnosticKind::value, op + ": keys, values and the default do not fit");
  if (keys.texts.has_value() != (x.texts != nullptr))
    return c.mistake(DiagnosticKind::type,
                     op + (x.texts ? " has numbers as keys, and is given texts" : " has texts as keys, and is given numbers"));
  // The values as a table with the default behind them; of texts, their indices.
  const std::int64_t count = values.size();
  std::shared_ptr<const Strings> texts;
  Part table, other;
  if (values.texts) {
    Strings all = *values.texts;
    all.push_back(fallback.texts->front());
    texts = std::make_shared<const Strings>(std::move(all));
    Integers places(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    table = c.integers_constant(places);
    other = c.scalar(count);
  } else {
    table = c.reshape(c.constant(*values.numbers), {count});
    other = c.reshape(c.constant(*fallback.numbers), {});
  }
  Value result;
  if (keys.texts) {
    Integers places;
    for (const std::string& text : *x.texts)
      places.push_back(std::find(keys.texts->begin(), keys.texts->end(), text) - keys.texts->begin());
    const Part all = c(op::concat, Parts{table, c.reshape(other, {1})}, {{"axis", std::int64_t{0}}});
    const Part by_text = c(op::take, {all, c.integers_constant(places)}, {{"axis", std::int64_t{0}}});
    result = Value(c(op::take, {by_text, x.part}, {{"axis", std::int64_t{0}}}));
  } else {
    if (keys.numbers->dtype() != x.part.dtype())
      return c.mistake(DiagnosticKind::type,
                       op + " has keys of " + std::string(to_string(keys.numbers->dtype())) + ", and is given " + to_string(x.part.type()));
    // In ONNX Runtime, NaN is a key since version 4.
    result = Value(look_up(c, x.part, *keys.numbers, table, other, c.version() >= 4));
  }
  result.texts = texts;
  return {result};
}

/// A list of texts and the integers that are their places, in the direction that x asks for.
Values between_texts_and(Call& c, const Strings& texts, const Integers& integers, std::int64_t default_integer,
                         const std::string& default_text) {
  TableSide first{texts, {}}, second{{}, integer_array(integers)};
  if (c.value(0).texts) return exchanged(c, first, second, TableSide{{}, integer_array({default_integer})});
  return exchanged(c, second, first, TableSide{Strings{default_text}, {}});
}

Values label_encoder(Call& c) {
  if (const auto classes = c.texts("classes_strings")) {  // version 1
    Integers places(classes->size());
    std::iota(places.begin(), places.end(), 0);
    const std::int64_t integer = c.integer("default_int64", -1);
    return between_texts_and(c, *classes, places, integer, c.text("default_string", "_Unused"));
  }
  const TableSide keys = side_of(c, "keys"), values = side_of(c, "values");
  return exchanged(c, keys, values, fallback_of(c, values));
}

Values category_mapper(Call& c) {
  const auto texts = c.texts("cats_strings");
  const auto integers = c.integers("cats_int64s");
  const std::int64_t integer = c.integer("default_int64", -1);
  const std::string text = c.text("default_string", "_Unused");
  if (!texts || !integers) return c.mistake(DiagnosticKind::value, "`CategoryMapper` needs `cats_strings` and `cats_int64s`");
  return between_texts_and(c, *texts, *integers, integer, text);
}

/// The map of each row is left out: its values are the operand.
Values zip_map(Call& c) {
  const auto texts = c.texts("classlabels_strings");
  const auto integers = c.integers("classlabels_int64s");
  std::string names;
  if (texts && !texts->empty()) {
    names = named_indices(*texts);
  } else {
    Strings numbers;
    for (const std::int64_t each : integers.value_or(Integers{})) numbers.push_back(std::to_string(each));
    names = named_indices(numbers);
  }
  c.remark("`ZipMap` gives its operand as it is, not a map for each row; the labels of its columns are " + names);
  return {c.value(0)};
}

Values of_maps(Call& c) {
  return c.unsupported("of a map; give the model the array that the map would become, and cut the file behind this node,");
}

}  // namespace

std::span<const Lowering> label_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ai.onnx.ml.CastMap", 1, of_maps},        {"ai.onnx.ml.CategoryMapper", 1, category_mapper, {}, false, false, Texts::read},
      {"ai.onnx.ml.DictVectorizer", 1, of_maps}, {"ai.onnx.ml.LabelEncoder", 1, label_encoder, {}, false, false, Texts::read},
      {"ai.onnx.ml.ZipMap", 1, zip_map},
  };
  return kRows;
}

}  // namespace cleave::models::onnx

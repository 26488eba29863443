// Tables of graph/vocabulary.list: by family, and by name.
#include "graph/ops/op_table.h"

#include <algorithm>
#include <array>

#include "graph/vocabulary.h"

namespace cleave {
namespace ops {
namespace {

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) &op::name,
#define CLEAVE_COMPOSITE(name) &op::name,
constexpr auto kFunctions = std::to_array<const OpDef*>({
#include "graph/vocabulary.list"
});

#define CLEAVE_TRANSFORM(name) &op::name,
constexpr auto kTransforms = std::to_array<const OpDef*>({
#include "graph/vocabulary.list"
});

/// The line of a family, or one of its functions.
struct ListLine {
  std::string_view file, title;
};
#define CLEAVE_FAMILY(file, title) ListLine{#file, title},
#define CLEAVE_OP(name) ListLine{},
#define CLEAVE_COMPOSITE(name) ListLine{},
constexpr auto kLines = std::to_array<ListLine>({
#include "graph/vocabulary.list"
});
// NOLINTEND(cppcoreguidelines-macro-usage)

std::vector<OpFamily> families(bool composite) {
  std::vector<OpFamily> found;
  std::size_t begin = 0;
  for (auto line = kLines.begin(); line != kLines.end();) {
    const auto next = std::find_if(line + 1, kLines.end(), [](const ListLine& each) { return !each.file.empty(); });
    const auto size = static_cast<std::size_t>(next - line) - 1;
    if (size > 0 && kFunctions.at(begin)->composite() == composite)
      found.push_back({line->file, line->title, std::span(kFunctions).subspan(begin, size)});
    begin += size;
    line = next;
  }
  return found;
}

using Ops = std::vector<const OpDef*>;

Ops by_name(bool composite) {
  Ops sorted;
  for (const OpDef* op : kFunctions)
    if (composite || !op->composite()) sorted.push_back(op);
  std::sort(sorted.begin(), sorted.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return sorted;
}

const OpDef* find(std::span<const OpDef* const> all, std::string_view name) {
  const auto found =
      std::lower_bound(all.begin(), all.end(), name, [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return found != all.end() && (*found)->name == name ? *found : nullptr;
}

const OpDef* find_transform(std::string_view name) {
  const auto found = std::find_if(kTransforms.begin(), kTransforms.end(), [&](const OpDef* op) { return op->name == name; });
  return found == kTransforms.end() ? nullptr : *found;
}

}  // namespace

std::span<const OpFamily> op_families() {
  static const std::vector<OpFamily> found = families(false);
  return found;
}

std::span<const OpFamily> composite_families() {
  static const std::vector<OpFamily> found = families(true);
  return found;
}

}  // namespace ops

std::span<const OpDef* const> all_ops() {
  static const ops::Ops sorted = ops::by_name(false);
  return sorted;
}

std::span<const OpDef* const> all_functions() {
  static const ops::Ops sorted = ops::by_name(true);
  return sorted;
}

const OpDef* find_op(std::string_view name) {
  const OpDef* op = ops::find(all_ops(), name);
  return op ? op : ops::find_transform(name);
}

const OpDef* find_function(std::string_view name) {
  const OpDef* function = ops::find(all_functions(), name);
  return function ? function : ops::find_transform(name);
}

}  // namespace cleave

// Samples of decision trees.
#include <functional>

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

/// Random trees over `width` features, none deeper than `depth`; one in eight nodes is a leaf already.
struct Forest {
  std::vector<std::int64_t> roots, features, children;
  std::int64_t leaves = 0;

  Forest(Samples& s, int trees, int depth, int width, bool missing) {
    const auto below = [&](std::uint64_t count) { return s.indices(i64, {}, count).data<std::int64_t>()[0]; };
    const std::function<std::int64_t(int)> grow = [&](int left) -> std::int64_t {
      if (left == 0 || below(8) == 0) return -1 - leaves++;
      const auto node = static_cast<std::int64_t>(features.size());
      features.push_back(below(static_cast<std::uint64_t>(width)));
      const std::size_t columns = missing ? 3 : 2, at = children.size();
      children.resize(at + columns);
      const std::int64_t first = grow(left - 1), second = grow(left - 1);
      children[at] = first, children[at + 1] = second;
      if (missing) children[at + 2] = below(2) == 0 ? first : second;
      return node;
    };
    for (int tree = 0; tree < trees; ++tree) roots.push_back(grow(depth));
  }

  [[nodiscard]] std::vector<Array> operands(Samples& s, DType dtype, Shape x, std::int64_t outputs, bool missing) const {
    const auto integers = [](const std::vector<std::int64_t>& list, DType to, Shape shape) {
      Array array(TensorType{to, std::move(shape)});
      dispatch(to, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < list.size(); ++i) array.mutable_data<T>()[i] = ops::convert<T>(list[i]);
      });
      return array;
    };
    const auto nodes = static_cast<std::int64_t>(features.size()), trees = static_cast<std::int64_t>(roots.size());
    return {s.numbers(dtype, std::move(x)),
            integers(roots, i32, {trees}),
            integers(features, i64, {nodes}),
            s.numbers(dtype, {nodes}),
            integers(children, i32, {nodes, missing ? 3 : 2}),
            s.numbers(dtype, outputs == 0 ? Shape{leaves} : Shape{leaves, outputs})};
  }
};

}  // namespace

void add_trees(Samples& s) {
  for (const DType dtype : {f32, f64}) {
    for (const char* aggregate : {"sum", "mean", "min", "max"}) {
      for (const bool strict : {false, true}) {
        const Attributes attributes{{"aggregate", std::string(aggregate)}, {"strict", strict}};
        const Forest forest(s, 9, 4, 5, strict);
        s.add("tree_ensemble", forest.operands(s, dtype, {11, 5}, 3, strict), attributes);
        s.add("tree_ensemble", forest.operands(s, dtype, {2, 2, 5}, 0, strict), attributes);
      }
    }
    const Forest targeted(s, 12, 5, 4, false);
    std::vector<Array> operands = targeted.operands(s, dtype, {21, 4}, 0, false);
    operands.push_back(s.indices(i32, {targeted.leaves}, 3));
    s.add("tree_ensemble", operands, {{"outputs", std::int64_t{3}}, {"aggregate", std::string("mean")}});
    std::vector<Array> special = Forest(s, 7, 4, 1, true).operands(s, dtype, {1, 1}, 0, true);
    const Array values = special_values(dtype, 0, 2);
    special[0] = Array(TensorType{dtype, {values.size(), 1}});
    std::copy(values.bytes(), values.bytes() + values.type().bytes(), special[0].mutable_bytes());
    for (const bool strict : {false, true}) s.add("tree_ensemble", special, {{"strict", strict}}, true);
  }
  s.add("tree_ensemble", Forest(s, 300, 6, 8, false).operands(s, f32, {8}, 0, false));      // one row
  s.add("tree_ensemble", Forest(s, 300, 6, 8, true).operands(s, f32, {3, 8}, 2, true));     // few rows
  s.add("tree_ensemble", Forest(s, 20, 6, 8, false).operands(s, f32, {700, 8}, 0, false));  // several pieces
  s.add("tree_ensemble", Forest(s, 3, 0, 2, false).operands(s, f32, {5, 2}, 2, false));     // leaves alone
  s.add("tree_ensemble", Forest(s, 0, 3, 2, false).operands(s, f32, {5, 2}, 2, false));     // no trees
}

}  // namespace cleave::testing

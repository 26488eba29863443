// Lowerings of the tree ensembles of ai.onnx.ml. Every test of a node becomes one or several of the form x <= threshold, as the
// vocabulary's `tree_ensemble` has them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "models/onnx/class_scores.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

/// In the order of ONNX's numbers for them.
enum class Mode : std::uint8_t { leq, lt, gte, gt, eq, neq, member };
constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

/// A node of the file. Children and roots: a node, or -1 - k for leaf k.
struct TreeNode {
  Mode mode = Mode::leq;
  bool missing_passes = false;  ///< NaN goes where numbers go that pass the test
  std::int64_t feature = 0, passed = 0, failed = 0;
  double threshold = 0;
  Numbers members = {};

  /// The number of nodes of the vocabulary that do its test.
  [[nodiscard]] std::int64_t steps() const {
    if (mode == Mode::member) return std::max<std::int64_t>(1, 2 * static_cast<std::int64_t>(members.size()));
    return mode == Mode::eq || mode == Mode::neq ? 2 : 1;
  }
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  Integers roots;
  std::vector<std::vector<std::pair<std::int64_t, double>>> leaves;  ///< of each, the targets and what they get
  std::int64_t outputs = 1;
};

void say(Call& c, const std::string& what) {
  c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: " + what);
}

/// The nodes that the roots reach, each behind its parents. Nothing if there is a cycle, which is reported.
std::optional<Integers> sorted_nodes(Call& c, const Ensemble& trees) {
  enum : char { fresh, open, closed };
  std::vector<char> states(trees.nodes.size(), fresh);
  Integers closing, stack;
  for (auto root = trees.roots.rbegin(); root != trees.roots.rend(); ++root) {
    if (*root >= 0 && states[static_cast<std::size_t>(*root)] == fresh) stack.push_back(*root);
    while (!stack.empty()) {
      const std::int64_t node = stack.back();
      char& state = states[static_cast<std::size_t>(node)];
      if (state != fresh) {
        if (state == open) closing.push_back(node);
        state = closed;
        stack.pop_back();
        continue;
      }
      state = open;
      const TreeNode& tests = trees.nodes[static_cast<std::size_t>(node)];
      for (const std::int64_t child : {tests.passed, tests.failed}) {
        if (child < 0) continue;
        if (states[static_cast<std::size_t>(child)] == open) {
          say(c, "the node " + std::to_string(child) + " of all is its own descendant");
          return std::nullopt;
        }
        if (states[static_cast<std::size_t>(child)] == fresh) stack.push_back(child);
      }
    }
  }
  std::reverse(closing.begin(), closing.end());
  return closing;
}

/// The nodes of the vocabulary: of each, the feature, the threshold and three children.
class NodeSteps {
 public:
  NodeSteps(const Ensemble& trees, const Integers& order, bool wide) : wide_(wide), first_(trees.nodes.size(), -1) {
    std::int64_t count = 0;
    for (const std::int64_t node : order) {
      first_[static_cast<std::size_t>(node)] = count;
      count += trees.nodes[static_cast<std::size_t>(node)].steps();
    }
    for (const std::int64_t node : order) add(trees.nodes[static_cast<std::size_t>(node)]);
    for (const std::int64_t root : trees.roots) roots_.push_back(place(root));
  }

  Parts operands(Call& c, DType dtype) const {
    const auto count = static_cast<std::int64_t>(features_.size());
    const bool third = std::any_of(missing_first_.begin(), missing_first_.end(), [](bool first) { return first; });
    Integers children;
    for (std::size_t i = 0; i < features_.size(); ++i) {
      children.insert(children.end(), {first_children_[i], second_children_[i]});
      if (third) children.push_back(missing_first_[i] ? first_children_[i] : second_children_[i]);
    }
    const Part flat = c.integers_constant(children, DType::i32);
    return {c.integers_constant(roots_, DType::i32), c.integers_constant(features_, DType::i32),
            c.numbers_constant(thresholds_, dtype, {count}), c.reshape(flat, {count, third ? 3 : 2})};
  }

 private:
  [[nodiscard]] std::int64_t place(std::int64_t node) const { return node < 0 ? node : first_[static_cast<std::size_t>(node)]; }

  void put(std::int64_t feature, double threshold, std::int64_t first, std::int64_t second, bool missing_first) {
    features_.push_back(feature);
    thresholds_.push_back(threshold);
    first_children_.push_back(first);
    second_children_.push_back(second);
    missing_first_.push_back(missing_first);
  }

  /// x < y is x <= below(y).
  [[nodiscard]] double below(double y) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (y == -infinity) return std::numeric_limits<double>::quiet_NaN();
    return wide_ ? std::nextafter(y, -infinity) : static_cast<double>(std::nextafterf(static_cast<float>(y), -HUGE_VALF));
  }

  void add(const TreeNode& node) {
    const std::int64_t passed = place(node.passed), failed = place(node.failed);
    const bool missing = node.missing_passes;
    switch (node.mode) {
      case Mode::leq: return put(node.feature, node.threshold, passed, failed, missing);
      case Mode::lt: return put(node.feature, below(node.threshold), passed, failed, missing);
      case Mode::gte: return put(node.feature, below(node.threshold), failed, passed, !missing);
      case Mode::gt: return put(node.feature, node.threshold, failed, passed, !missing);
      case Mode::eq: return equal(node.feature, node.threshold, passed, failed, missing);
      case Mode::neq: return equal(node.feature, node.threshold, failed, passed, false);  // NaN is not equal
      case Mode::member: break;
    }
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      const bool last = i + 1 == node.members.size();
      equal(node.feature, node.members[i], passed, last ? failed : static_cast<std::int64_t>(features_.size()) + 2, missing && i == 0);
    }
    if (node.members.empty()) put(node.feature, std::numeric_limits<double>::quiet_NaN(), passed, failed, missing);
  }

  void equal(std::int64_t feature, double value, std::int64_t passed, std::int64_t failed, bool missing) {
    put(feature, value, static_cast<std::int64_t>(features_.size()) + 1, failed, missing);
    put(feature, below(value), failed, passed, false);
  }

  bool wide_;       ///< f64
  Integers first_;  ///< of each node of the file, the first of its steps
  Integers features_, first_children_, second_children_, roots_;
  std::vector<bool> missing_first_;
  Numbers thresholds_;
};

enum class Aggregate : std::uint8_t { mean, sum, min, max };  // in the order of ONNX's numbers for them

/// The aggregated scores [rows, outputs] of an ensemble.
Part ensemble_scores(Call& c, const Part& x, const Ensemble& trees, Aggregate aggregate) {
  const std::int64_t width = x.shape().back();
  for (const TreeNode& node : trees.nodes)
    if (node.feature < 0 || node.feature >= width) {
      say(c, "a node tests the feature " + std::to_string(node.feature) + ", and there are " + std::to_string(width));
      return {};
    }
  const std::optional<Integers> order = sorted_nodes(c, trees);
  if (!order) return {};
  Parts operands{x};
  const Parts steps = NodeSteps(trees, *order, x.dtype() == DType::f64).operands(c, x.dtype());
  operands.insert(operands.end(), steps.begin(), steps.end());
  const auto count = static_cast<std::int64_t>(trees.leaves.size());
  const bool dense = std::any_of(trees.leaves.begin(), trees.leaves.end(), [](const auto& leaf) { return leaf.size() > 1; });
  const bool extreme = aggregate == Aggregate::min || aggregate == Aggregate::max;
  constexpr const char* kNames[] = {"mean", "sum", "min", "max"};
  Attributes attributes{{"aggregate", std::string(kNames[static_cast<std::size_t>(aggregate)])}};
  if (extreme && trees.outputs > 1) {
    c.unsupported("with MIN or MAX of several targets");
    return {};
  }
  if (dense && trees.outputs > 1) {
    Numbers values(static_cast<std::size_t>(count * trees.outputs), 0);
    for (std::size_t leaf = 0; leaf < trees.leaves.size(); ++leaf)
      for (const auto& [target, value] : trees.leaves[leaf])
        values[leaf * static_cast<std::size_t>(trees.outputs) + static_cast<std::size_t>(target)] += value;
    operands.push_back(c.numbers_constant(values, x.dtype(), {count, trees.outputs}));
    return c(op::tree_ensemble, operands, std::move(attributes));
  }
  Numbers values;
  Integers targets;
  for (const auto& leaf : trees.leaves) {
    double sum = 0;
    for (const auto& [target, value] : leaf) sum += value;
    values.push_back(sum);
    targets.push_back(leaf.empty() ? 0 : leaf.front().first);
  }
  operands.push_back(c.numbers_constant(values, x.dtype(), {count}));
  if (trees.outputs == 1) return c.reshape(c(op::tree_ensemble, operands, std::move(attributes)), {x.shape()[0], 1});
  operands.push_back(c.integers_constant(targets, DType::i32));
  attributes.set("outputs", trees.outputs);
  return c(op::tree_ensemble, operands, std::move(attributes));
}

// --- versions 1 and 3 --------------------------------------------------------------------------------------------------------------------

/// Numbers from a list, or from the tensor of twice the precision that version 3 has beside it.
std::optional<Numbers> wide_numbers(Call& c, const std::string& name) {
  if (const auto tensor = c.tensor(name + "_as_tensor")) {
    Numbers numbers;
    for (std::int64_t i = 0; i < tensor->size(); ++i) numbers.push_back(tensor->at(i));
    return numbers;
  }
  return c.numbers(name);
}

/// The lists of one attribute an aspect. `weights`: the prefix of those about leaves ("class", "target").
std::optional<Ensemble> read_lists(Call& c, const std::string& weights) {
  c.ignore({"nodes_hitrates", "nodes_hitrates_as_tensor"});
  const auto list = [&](const std::string& name) { return c.integers(name).value_or(Integers{}); };
  const Integers ids = list("nodes_nodeids"), tree_ids = list("nodes_treeids"), features = list("nodes_featureids"),
                 passed = list("nodes_truenodeids"), failed = list("nodes_falsenodeids"), missing = list("nodes_missing_value_tracks_true");
  const auto modes = c.texts("nodes_modes");
  const auto thresholds = wide_numbers(c, "nodes_values");
  const std::size_t count = ids.size();
  if (!modes || !thresholds || modes->size() != count || thresholds->size() != count || tree_ids.size() != count ||
      features.size() != count || passed.size() != count || failed.size() != count || (!missing.empty() && missing.size() != count))
    return say(c, "the lists about nodes are not all of one length"), std::nullopt;
  Ensemble trees;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> places;  // of nodes and leaves, by tree and number
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> leaves;
  Integers inner;  // the position in the lists of each node
  for (std::size_t i = 0; i < count; ++i) {
    const std::pair key(tree_ids[i], ids[i]);
    const bool leaf = (*modes)[i] == "LEAF";
    const std::int64_t place = leaf ? -1 - static_cast<std::int64_t>(leaves.size()) : static_cast<std::int64_t>(inner.size());
    if (!places.emplace(key, place).second)
      return say(c, "tree " + std::to_string(key.first) + " has two nodes " + std::to_string(key.second)), std::nullopt;
    if (leaf)
      leaves.emplace(key, leaves.size());
    else
      inner.push_back(static_cast<std::int64_t>(i));
    if (i == 0 || tree_ids[i] != tree_ids[i - 1]) trees.roots.push_back(place);
  }
  for (const std::int64_t at : inner) {
    const auto i = static_cast<std::size_t>(at);
    const auto* mode = std::find(std::begin(kModes), std::end(kModes), (*modes)[i]);
    const auto passes = places.find({tree_ids[i], passed[i]}), fails = places.find({tree_ids[i], failed[i]});
    if (mode == std::end(kModes)) return say(c, "there is no mode `" + (*modes)[i] + "`"), std::nullopt;
    if (passes == places.end() || fails == places.end())
      return say(c, "tree " + std::to_string(tree_ids[i]) + " has no node " +
                        std::to_string(passes == places.end() ? passed[i] : failed[i]) + ", which is a child of its node " +
                        std::to_string(ids[i])),
             std::nullopt;
    trees.nodes.push_back({static_cast<Mode>(mode - std::begin(kModes)), !missing.empty() && missing[i] != 0, features[i], passes->second,
                           fails->second, (*thresholds)[i]});
  }
  trees.leaves.resize(leaves.size());
  const Integers weight_trees = list(weights + "_treeids"), weight_nodes = list(weights + "_nodeids"), targets = list(weights + "_ids");
  const auto values = wide_numbers(c, weights + "_weights");
  if (!values || weight_trees.size() != values->size() || weight_nodes.size() != values->size() || targets.size() != values->size())
    return say(c, "the lists about " + weights + " weights are not all of one length"), std::nullopt;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const auto leaf = leaves.find({weight_trees[i], weight_nodes[i]});
    if (leaf == leaves.end()) {
      if (places.contains({weight_trees[i], weight_nodes[i]})) continue;  // a weight of an inner node is never reached
      return say(c, "a weight is that of node " + std::to_string(weight_nodes[i]) + " of tree " + std::to_string(weight_trees[i]) +
                        ", which does not exist"),
             std::nullopt;
    }
    trees.leaves[leaf->second].emplace_back(targets[i], (*values)[i]);
  }
  return trees;
}

bool targets_exist(Call& c, const Ensemble& trees) {
  constexpr std::int64_t kMostOutputs = 1 << 20;
  if (trees.outputs > kMostOutputs) return say(c, "there are too many outputs, " + std::to_string(trees.outputs)), false;
  for (const auto& leaf : trees.leaves)
    for (const auto& [target, value] : leaf)
      if (target < 0 || target >= trees.outputs)
        return say(c, "a leaf has a weight for output " + std::to_string(target) + ", and there are " + std::to_string(trees.outputs)),
               false;
  return true;
}

DType working_type(const Part& x) {
  return x.dtype() == DType::f64 ? DType::f64 : DType::f32;
}

/// Rows, and integers as f32: ONNX Runtime compares them as such.
Values regressor(Call& c) {
  std::optional<Ensemble> trees = read_lists(c, "target");
  const auto transform = post_transform(c);
  const std::string aggregate = c.text("aggregate_function", "SUM");
  const auto base = wide_numbers(c, "base_values");
  const Part x = feature_rows(c, working_type(c[0]));
  if (!trees || !transform || x.operand().poisoned()) return c.poison();
  trees->outputs = c.integer("n_targets", 1);
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* name = std::find(std::begin(kNames), std::end(kNames), aggregate);
  if (name == std::end(kNames) || trees->outputs < 1)
    return c.mistake(DiagnosticKind::value,
                     "`TreeEnsembleRegressor`: there are no `" + aggregate + "` of " + std::to_string(trees->outputs) + " targets");
  if (!targets_exist(c, *trees)) return c.poison();
  Part scores = ensemble_scores(c, x, *trees, static_cast<Aggregate>(name - std::begin(kNames)));
  if (scores.operand().poisoned()) return c.poison();
  if (base && static_cast<std::int64_t>(base->size()) == trees->outputs)
    scores = c.add(scores, c.numbers_constant(*base, x.dtype(), {trees->outputs}));
  // Scores are f32; older versions of skl2onnx state f64 for rows of f64.
  const bool wide = x.dtype() == DType::f64 && c.stated_dtype(0) == DType::f64;
  return {c.as(wide ? DType::f64 : DType::f32, transformed_scores(c, scores, *transform))};
}

/// ONNX Runtime's rules for two classes, in which it matters which of them have weights at all.
struct TwoClasses {
  Part scores;    ///< [rows, 1] or [rows, 2]
  Part decisive;  ///< [rows, 1]: the second class, if it is above a limit
  SecondScore second = SecondScore::none;
};
TwoClasses two_classes(Call& c, const Part& sums, const std::set<std::int64_t>& weighted, bool positive, const Numbers& base) {
  const auto column = [&](std::int64_t k) { return piece(c, sums, 1, k, k + 1); };
  const auto plus = [&](const Part& score, double number) { return number == 0 ? score : c.add(score, number); };
  const auto pair = [&](const Part& first, const Part& second) { return c(op::concat, Parts{first, second}, {{"axis", std::int64_t{1}}}); };
  if (!weighted.contains(1)) {
    const Part score = plus(column(0), base.empty() ? 0 : base[0]);
    if (base.size() == 2) return {pair(score, c.multiply(score, 0)), score};
    return {score, score, positive ? SecondScore::complement : SecondScore::opposite};
  }
  Part first = column(0), second = column(1);
  if (base.size() == 2) {
    second = plus(first, base[1]);
    first = weighted.contains(0) ? c(op::negative, {second}) : c.multiply(second, 0);
  } else if (base.size() == 1 && weighted.contains(0)) {
    first = plus(first, base[0]);
  }
  return {pair(first, second), second};
}

Values classifier(Call& c) {
  std::optional<Ensemble> trees = read_lists(c, "class");
  const auto transform = post_transform(c);
  const auto labels = class_labels(c, "classlabels_int64s");
  const Numbers base = wide_numbers(c, "base_values").value_or(Numbers{});
  const Part x = feature_rows(c, working_type(c[0]));
  if (!trees || !transform || !labels || x.operand().poisoned()) return c.poison();
  trees->outputs = static_cast<std::int64_t>(labels->size());
  if (!targets_exist(c, *trees)) return c.poison();
  std::set<std::int64_t> weighted;
  bool positive = true;
  for (const auto& leaf : trees->leaves)
    for (const auto& [target, value] : leaf) {
      weighted.insert(target);
      positive = positive && value >= 0;
    }
  Part scores = ensemble_scores(c, x, *trees, Aggregate::sum);
  if (scores.operand().poisoned()) return c.poison();
  const std::int64_t rows = x.shape()[0];
  const auto label = [&](const Part& decisive, double limit) { return c.reshape(c(op::greater, {decisive, limit}), {rows}); };
  const auto finish = [&](const Value& chosen, const Part& all, SecondScore second) {
    return Values{chosen, c.as(DType::f32, transformed_scores(c, all, *transform, second))};
  };
  if (trees->outputs == 2) {
    const TwoClasses two = two_classes(c, scores, weighted, positive, base);
    const bool single = weighted.size() == 1;
    const Part second = label(two.decisive, single && positive ? 0.5 : 0);
    return finish(single ? labels->second_where(c, second) : ClassLabels{{}, labels->texts}.at(c, c.as(DType::i64, second)), two.scores,
                  two.second);
  }
  if (!base.empty()) {
    Numbers added = base;
    added.resize(static_cast<std::size_t>(trees->outputs), 0);
    scores = c.add(scores, c.numbers_constant(added, x.dtype(), {trees->outputs}));
  }
  if (trees->outputs == 1) return finish(labels->second_where(c, label(scores, 0)), scores, SecondScore::none);
  Part compared = scores;
  if (base.empty() && static_cast<std::int64_t>(weighted.size()) < trees->outputs) {  // a class without weights is never chosen
    Numbers without(static_cast<std::size_t>(trees->outputs), -std::numeric_limits<double>::infinity());
    for (const std::int64_t k : weighted) without[static_cast<std::size_t>(k)] = 0;
    compared = c.add(scores, c.numbers_constant(without, x.dtype(), {trees->outputs}));
  }
  return finish(labels->at(c, best_class(c, compared)), scores, SecondScore::none);
}

// --- version 5 ---------------------------------------------------------------------------------------------------------------------------

std::optional<Numbers> tensor_numbers(Call& c, std::string_view name) {
  const auto tensor = c.tensor(name);
  if (!tensor) return std::nullopt;
  Numbers numbers;
  for (std::int64_t i = 0; i < tensor->size(); ++i) numbers.push_back(tensor->at(i));
  return numbers;
}

/// Nodes and leaves are lists of their own.
std::optional<Ensemble> read_arrays(Call& c) {
  c.ignore({"nodes_hitrates"});
  const auto list = [&](std::string_view name) { return c.integers(name).value_or(Integers{}); };
  const Integers roots = list("tree_roots"), features = list("nodes_featureids"), passed = list("nodes_truenodeids"),
                 failed = list("nodes_falsenodeids"), passed_leaves = list("nodes_trueleafs"), failed_leaves = list("nodes_falseleafs"),
                 missing = list("nodes_missing_value_tracks_true"), targets = list("leaf_targetids");
  const auto modes = tensor_numbers(c, "nodes_modes"), splits = tensor_numbers(c, "nodes_splits"),
             weights = tensor_numbers(c, "leaf_weights");
  const Numbers members = tensor_numbers(c, "membership_values").value_or(Numbers{});
  const std::size_t count = features.size();
  if (!modes || !splits || !weights || modes->size() != count || splits->size() != count || passed.size() != count ||
      failed.size() != count || passed_leaves.size() != count || failed_leaves.size() != count ||
      (!missing.empty() && missing.size() != count) || weights->size() != targets.size())
    return say(c, "the lists about nodes, or those about leaves, are not all of one length"), std::nullopt;
  Ensemble trees;
  std::size_t member = 0;
  const auto child = [&](std::int64_t place, bool leaf) -> std::optional<std::int64_t> {
    if (place < 0 || place >= static_cast<std::int64_t>(leaf ? targets.size() : count)) return std::nullopt;
    return leaf ? -1 - place : place;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const double mode = (*modes)[i];
    const auto passes = child(passed[i], passed_leaves[i] != 0), fails = child(failed[i], failed_leaves[i] != 0);
    if (!(mode >= 0 && mode <= static_cast<double>(Mode::member)))
      return say(c, "the mode of node " + std::to_string(i) + " is not one of 0 to 6"), std::nullopt;
    if (!passes || !fails) return say(c, "a child of node " + std::to_string(i) + " does not exist"), std::nullopt;
    TreeNode node{static_cast<Mode>(mode), !missing.empty() && missing[i] != 0, features[i], *passes, *fails, (*splits)[i]};
    if (node.mode == Mode::member) {  // the lists of all nodes in order, each ended by NaN
      while (member < members.size() && !std::isnan(members[member])) node.members.push_back(members[member++]);
      ++member;
      std::sort(node.members.begin(), node.members.end());
    }
    trees.nodes.push_back(std::move(node));
  }
  for (const std::int64_t root : roots) {
    // A tree of one leaf is a node whose children are that leaf.
    if (root < 0 || root >= static_cast<std::int64_t>(count)) return say(c, "there is no root " + std::to_string(root)), std::nullopt;
    trees.roots.push_back(root);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) trees.leaves.push_back({{targets[i], (*weights)[i]}});
  return trees;
}

Values tree_ensemble(Call& c) {
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  std::optional<Ensemble> trees = read_arrays(c);
  const std::int64_t transform = c.integer("post_transform", 0), aggregate = c.integer("aggregate_function", 1),
                     outputs = c.integer("n_targets", 1);
  const Part x = feature_rows(c, working_type(c[0]));
  if (!trees || x.operand().poisoned()) return c.poison();
  if (transform < 0 || transform > 4 || aggregate < 0 || aggregate > 3 || outputs < 1)
    return c.mistake(DiagnosticKind::value,
                     "`TreeEnsemble`: `post_transform` is 0 to 4, `aggregate_function` 0 to 3, and `n_targets` 1 or more");
  trees->outputs = outputs;
  if (!targets_exist(c, *trees)) return c.poison();
  const Part scores = ensemble_scores(c, x, *trees, static_cast<Aggregate>(aggregate));
  if (scores.operand().poisoned()) return c.poison();
  return {c.as(c[0].dtype(), transformed_scores(c, scores, kTransforms[transform]))};
}

}  // namespace

std::span<const Lowering> tree_ensemble_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ai.onnx.ml.TreeEnsemble", 5, tree_ensemble},
      {"ai.onnx.ml.TreeEnsembleClassifier", 1, classifier},
      {"ai.onnx.ml.TreeEnsembleRegressor", 1, regressor},
  };
  return kRows;
}

}  // namespace cleave::models::onnx

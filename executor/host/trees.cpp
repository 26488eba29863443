// tree_ensemble: several rows, or several trees for one row, walk side by side, so that their loads overlap. Records of nodes hold what a
// step needs: the two children of a node are neighbors, and the record of a leaf leads to itself, so that a step has no branch.
#include <cmath>
#include <limits>
#include <vector>

#include "executor/host/kernels.h"
#include "graph/base/stop.h"
#include "graph/ops/tree_rules.h"

namespace cleave::runtime::host {
namespace {

constexpr int kWalks = 8;                                         ///< walks side by side
constexpr int kSteps = 4;                                         ///< steps between two questions whether all walks have ended
constexpr std::int64_t kLeastTreeRows = 32, kMostTreeRows = 256;  ///< of a piece of the work
constexpr std::int64_t kTreeRowBytes = 1 << 15;                   ///< of the rows of a piece, which stay in the first cache
constexpr std::int64_t kTrees = 256;                              ///< walks of a piece where rows are few
constexpr std::int64_t kTreePieces = 16;                          ///< into which rows are cut, unless pieces become too small or too large

constexpr std::int32_t kNaNSecond = -1, kNaNFirst = -2;

template <class T>
struct Record {
  T threshold;           ///< NaN at a leaf: no number passes
  std::int32_t feature;  ///< 0 at a leaf
  std::int32_t next;     ///< the record of the first child; the second is behind it. At a leaf, the record before its own
  std::int32_t leaf;     ///< kNaNSecond or kNaNFirst at a node
};

/// The number that x <= threshold has to be compared with for x < `threshold`.
template <class T>
T below(T threshold) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return threshold == -infinity ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(threshold, -infinity);
}

/// Records: the roots of all trees, then two for each node, its children.
template <class T>
class Forest {
 public:
  Status make(const KernelCall& call, bool strict) {
    for (auto* all : {&indices_.roots, &indices_.features, &indices_.children, &indices_.targets}) all->clear();
    const auto integers = [&](std::size_t input, std::vector<std::int64_t>& all) {
      if (input < call.inputs.size()) ops::append_integers(*call.inputs[input].type, call.inputs[input].data, all);
    };
    integers(ops::kTreeRoots, indices_.roots), integers(ops::kTreeFeatures, indices_.features),
        integers(ops::kTreeChildren, indices_.children), integers(ops::kTreeTargets, indices_.targets);
    indices_.columns = call.inputs[ops::kTreeChildren].type->shape[1];
    indices_.leaves = call.inputs[ops::kTreeLeaves].type->shape[0];
    indices_.width = call.inputs[0].type->shape.back();
    indices_.outputs = call.attributes.get_or<std::int64_t>("outputs", 1);
    if (Status valid = ops::check_trees(indices_); !valid) return valid;
    pack(call.inputs[ops::kTreeThresholds].as<const T>(), strict);
    return {};
  }

  [[nodiscard]] std::int64_t target(std::int32_t leaf) const { return indices_.targets[static_cast<std::size_t>(leaf)]; }
  [[nodiscard]] bool nan_first() const { return nan_first_; }

  /// Moves `lanes` walks from the records `at` on to their leaves; `rows` has their rows of x.
  template <bool nan, int lanes>
  void walk(std::int32_t* at, const T* const* rows) const {
    const Record<T>* records = records_.data();
    bool inside = true;
    while (inside) {
      for (int step = 0; step < kSteps; ++step) {
        for (int lane = 0; lane < lanes; ++lane) {
          const Record<T>& record = records[at[lane]];
          const T x = rows[lane][record.feature];
          bool first = x <= record.threshold;
          if constexpr (nan) first |= (x != x) & (record.leaf == kNaNFirst);
          at[lane] = record.next + (first ? 0 : 1);
        }
      }
      inside = false;
      for (int lane = 0; lane < lanes; ++lane) inside |= records[at[lane]].leaf < 0;
    }
    for (int lane = 0; lane < lanes; ++lane) at[lane] = records[at[lane]].leaf;
  }

 private:
  void pack(const T* thresholds, bool strict) {
    const std::size_t trees = indices_.roots.size(), nodes = indices_.features.size();
    records_.resize(trees + 2 * nodes);
    nan_first_ = false;
    StopLooks looks;
    const auto put = [&](std::size_t place, std::int64_t child) {
      looks.worked();
      if (child < 0) {
        records_[place] = {std::numeric_limits<T>::quiet_NaN(), 0, static_cast<std::int32_t>(place) - 1,
                           static_cast<std::int32_t>(-1 - child)};
        return;
      }
      const std::int64_t* children = &indices_.children[static_cast<std::size_t>(child * indices_.columns)];
      const bool nan_first = indices_.columns == 3 && children[2] == children[0] && children[0] != children[1];
      nan_first_ |= nan_first;
      records_[place] = {strict ? below(thresholds[child]) : thresholds[child],
                         static_cast<std::int32_t>(indices_.features[static_cast<std::size_t>(child)]),
                         static_cast<std::int32_t>(trees + 2 * static_cast<std::size_t>(child)), nan_first ? kNaNFirst : kNaNSecond};
    };
    for (std::size_t tree = 0; tree < trees; ++tree) put(tree, indices_.roots[tree]);
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t k = 0; k < 2; ++k)
        put(trees + 2 * node + k, indices_.children[node * static_cast<std::size_t>(indices_.columns) + k]);
  }

  ops::TreeIndices indices_;
  std::vector<Record<T>> records_;
  bool nan_first_ = false;  ///< some node sends NaN to its first child
};

enum class Aggregate : std::uint8_t { sum, mean, min, max };

Aggregate aggregate_of(const Attributes& attributes) {
  const auto& name = attributes.get<std::string>("aggregate");
  return name == "sum" ? Aggregate::sum : name == "mean" ? Aggregate::mean : name == "min" ? Aggregate::min : Aggregate::max;
}

template <class T>
class TreesKernel final : public HostKernel {
 public:
  explicit TreesKernel(const KernelRequest& request)
      : width_(request.input_types[0].shape.back()),
        trees_(request.input_types[ops::kTreeRoots].shape[0]),
        values_(request.input_types[ops::kTreeLeaves].rank() == 2 ? request.input_types[ops::kTreeLeaves].shape[1] : 1),
        outputs_(request.attributes->get_or<std::int64_t>("outputs", values_)),
        rows_(outputs_ == 0 ? 0 : request.result_types[0].elements() / outputs_),
        targeted_(request.input_types.size() > ops::kTreeTargets),
        strict_(request.attributes->get<bool>("strict")),
        aggregate_(aggregate_of(*request.attributes)) {
    if (rows_ < kWalks) leaves_.resize(static_cast<std::size_t>(rows_ * trees_));
  }

  Status run(const KernelCall& call) override {
    if (!is_kept(call)) {
      kept_.clear();
      if (Status made = forest_.make(call, strict_); !made) return made;
      keep(call);
    }
    const T* x = width_ == 0 ? &nothing_ : call.inputs[0].as<const T>();
    const T* values = call.inputs[ops::kTreeLeaves].template as<const T>();
    T* out = call.results[0].template as<T>();
    if (rows_ < kWalks)
      few_rows(call.workers, x, values, out);
    else
      many_rows(call.workers, x, values, out);
    return {};
  }

 private:
  /// Whether the packed trees are those of this call: all their operands are constant, and at the addresses of the last call.
  [[nodiscard]] bool is_kept(const KernelCall& call) const {
    if (kept_.size() != call.inputs.size()) return false;
    for (std::size_t i = 1; i < kept_.size(); ++i)
      if (kept_[i] != call.inputs[i].data || !call.keeps(i)) return false;
    return true;
  }

  void keep(const KernelCall& call) {
    for (std::size_t i = 1; i < call.inputs.size(); ++i)
      if (!call.keeps(i)) return;
    for (const TensorView& input : call.inputs) kept_.push_back(input.data);
  }

  template <int lanes>
  void walk(std::int32_t* at, const T* const* rows) const {
    if (forest_.nan_first())
      forest_.template walk<true, lanes>(at, rows);
    else
      forest_.template walk<false, lanes>(at, rows);
  }

  /// Adds a leaf to the results of a row, in the order of the trees.
  void take_leaf(std::int32_t leaf, const T* values, T* out, bool first) const {
    const T* value = values + leaf * values_;
    if (targeted_) out += forest_.target(leaf);
    if (aggregate_ == Aggregate::min || aggregate_ == Aggregate::max) {
      const bool least = aggregate_ == Aggregate::min;
      for (std::int64_t k = 0; k < values_; ++k) out[k] = first || (least ? value[k] < out[k] : value[k] > out[k]) ? value[k] : out[k];
      return;
    }
    for (std::int64_t k = 0; k < values_; ++k) out[k] += value[k];
  }

  void finish(T* out, std::int64_t count) const {
    if (aggregate_ != Aggregate::mean || trees_ == 0) return;
    for (std::int64_t i = 0; i < count; ++i) out[i] /= static_cast<T>(trees_);
  }

  /// One tree after the other for the rows of a piece.
  void many_rows(Workers& workers, const T* x, const T* values, T* out) const {
    const std::int64_t bytes = std::max<std::int64_t>(1, width_) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t most = std::clamp<std::int64_t>(kTreeRowBytes / bytes, kWalks, kMostTreeRows);
    const std::int64_t piece = std::clamp<std::int64_t>(rows_ / kTreePieces, std::min(kLeastTreeRows, most), most) / kWalks * kWalks;
    workers.each_part(rows_, piece, [&](std::int64_t begin, std::int64_t end) {
      StopLooks looks;
      T* mine = out + begin * outputs_;
      std::fill(mine, out + end * outputs_, T(0));
      std::int32_t at[kWalks];
      const T* rows[kWalks];
      for (std::int64_t tree = 0; tree < trees_; ++tree) {
        looks.worked((end - begin) * (kWalks + values_));
        for (std::int64_t row = begin; row < end; row += kWalks) {
          const std::int64_t count = std::min<std::int64_t>(kWalks, end - row);
          for (std::int64_t lane = 0; lane < kWalks; ++lane) {  // lanes without a row repeat the last
            at[lane] = static_cast<std::int32_t>(tree);
            rows[lane] = x + (row + std::min(lane, count - 1)) * width_;
          }
          walk<kWalks>(at, rows);
          for (std::int64_t lane = 0; lane < count; ++lane) take_leaf(at[lane], values, out + (row + lane) * outputs_, tree == 0);
        }
      }
      finish(mine, (end - begin) * outputs_);
    });
  }

  /// First all leaves, by pieces of trees; then their sums.
  void few_rows(Workers& workers, const T* x, const T* values, T* out) {
    const std::int64_t pieces = (trees_ + kTrees - 1) / kTrees;
    workers.each(rows_ * pieces, [&](std::int64_t piece) {
      const std::int64_t row = piece / pieces, begin = piece % pieces * kTrees, end = std::min(trees_, begin + kTrees);
      std::int32_t* leaves = leaves_.data() + row * trees_;
      const T* rows[kWalks];
      std::fill(rows, rows + kWalks, x + row * width_);
      for (std::int64_t tree = begin; tree < end; ++tree) leaves[tree] = static_cast<std::int32_t>(tree);
      std::int64_t tree = begin;
      for (; tree + kWalks <= end; tree += kWalks) walk<kWalks>(leaves + tree, rows);
      for (; tree < end; ++tree) walk<1>(leaves + tree, rows);
    });
    StopLooks looks;
    std::fill(out, out + rows_ * outputs_, T(0));
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t tree = 0; tree < trees_; ++tree) {
        looks.worked(values_);
        take_leaf(leaves_[static_cast<std::size_t>(row * trees_ + tree)], values, out + row * outputs_, tree == 0);
      }
    finish(out, rows_ * outputs_);
  }

  std::int64_t width_, trees_, values_, outputs_, rows_;
  bool targeted_, strict_;
  Aggregate aggregate_;
  T nothing_ = 0;  ///< stands for a row of no features
  Forest<T> forest_;
  std::vector<const std::byte*> kept_;  ///< the addresses of the operands whose trees are packed; empty: to be packed in each call
  std::vector<std::int32_t> leaves_;    ///< of few rows, by row and tree
};

std::unique_ptr<HostKernel> prepare_trees(const KernelRequest& request) {
  if (request.input_types[0].dtype == DType::f64) return std::make_unique<TreesKernel<double>>(request);
  return std::make_unique<TreesKernel<float>>(request);
}

Status trees_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return prepare_trees(request)->run(call);
}

}  // namespace

constexpr KernelRow rows::tree_ensemble{trees_kernel, prepare_trees};

}  // namespace cleave::runtime::host

#include "tools/calibration/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include "graph/vocabulary.h"

#include "partitioner/machine/point_key.h"

namespace cleave::calibration {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t root_of(double value, double degree) {
  return std::max<std::int64_t>(1, std::llround(std::pow(value, 1 / degree)));
}

/// Makes one call. If no inputs and attributes are set, there is no such call.
class SampleMaker {
 public:
  SampleMaker(const OpDef& op, DType type, const std::string& form, std::int64_t extent, std::int64_t elements)
      : type_(type), form_(form), extent_(extent), elements_(elements) {
    sample_.op = &op;
  }

  std::optional<Sample> make() {
    if (!form_.empty() && extent_ * 2 > elements_) return std::nullopt;
    if (!shape()) return std::nullopt;
    std::optional<Sample> made = finish();
    return made && made->work.form.name == form_ ? std::move(made) : std::nullopt;
  }

  std::optional<Sample> product_of(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    take({rows, depth});
    take({depth, columns});
    return finish();
  }

 private:
  std::optional<Sample> finish() {
    const OpDef& op = *sample_.op;
    if (normalize_call(op, sample_.inputs.size(), sample_.attributes)) return std::nullopt;
    TypeResult results = op.type_rule(sample_.inputs, sample_.attributes);
    if (std::holds_alternative<TypeError>(results)) return std::nullopt;
    sample_.results = std::get<0>(std::move(results));
    sample_.work = planner::work_of(op, sample_.inputs, sample_.results, sample_.attributes);
    if (sample_.work.type != type_) return std::nullopt;
    return std::move(sample_);
  }

  void set(const char* name, AttributeValue value) { sample_.attributes.set(name, std::move(value)); }
  void take(Shape shape) { sample_.inputs.push_back({type_, std::move(shape)}); }
  [[nodiscard]] std::int64_t rows() const { return elements_ / extent_; }
  /// A shape with `elements` elements: flat, or for a form in rows of `extent`.
  [[nodiscard]] Shape lines() const { return form_.empty() ? Shape{elements_} : Shape{rows(), extent_}; }

  bool shape() {
    switch (sample_.op->cost_class) {
      case CostClass::bookkeeping: return effect();
      case CostClass::arithmetic:
      case CostClass::division:
      case CostClass::transcendental:
      case CostClass::comparison: return elementwise();
      case CostClass::reduction:
      case CostClass::scan:
      case CostClass::softmax:
      case CostClass::sort: return along_axis();
      case CostClass::product: return product();
      case CostClass::movement: return movement();
      case CostClass::gather: return gather();
      case CostClass::factorization: return factorization();
      case CostClass::transform: return transform();
      case CostClass::random: return random();
      case CostClass::creation: return creation();
    }
    return false;
  }

  bool effect() {
    if (sample_.op != &op::print && sample_.op != &op::write_npy) return false;
    if (sample_.op == &op::print) set("label", std::string("value"));
    if (sample_.op == &op::write_npy) set("path", std::string("value.npy"));
    take({elements_});
    return form_.empty();
  }

  bool elementwise() {
    const OpDef& op = *sample_.op;
    if (&op == &op::astype) set("dtype", type_ == DType::f32 ? DType::i32 : DType::f32);
    if (&op == &op::lstm_cell || &op == &op::gru_cell) {  // with a state of `elements`
      for (int i = 0; i < 2; ++i) take({(&op == &op::lstm_cell ? 4 : 3) * elements_});
      take({elements_});
      return form_.empty();
    }
    if (!form_.empty() && (form_ != "run" || op.min_inputs < 2)) return false;
    for (int i = 0; i < op.min_inputs; ++i)
      sample_.inputs.push_back({i < op.promote_from ? DType::boolean : type_, !form_.empty() && i > 0 ? Shape{extent_} : lines()});
    return true;
  }

  /// Channels of 28 x 28 elements and windows of 3 x 3.
  bool pool() {
    constexpr std::int64_t kSide = 28;
    if (!form_.empty()) return false;
    const std::int64_t side = std::min(kSide, root_of(static_cast<double>(elements_), 2));
    set("kernel_shape", Integers{3});
    set("pads", Integers{1});
    if (sample_.op == &op::avg_pool_gradient) set("extents", Integers{side});
    const bool two = sample_.op == &op::max_pool_gradient || sample_.op == &op::max_pool_gather;  // x, and as many gradients or values
    for (int i = 0; i < (two ? 2 : 1); ++i) take({1, std::max<std::int64_t>(1, elements_ / side / side), side, side});
    return true;
  }

  /// Rows of 16 features, and 64 trees of one node each: roots and features may be any small integers.
  bool stumps() {
    constexpr std::int64_t kFeatures = 16, kTrees = 64;
    take({std::max<std::int64_t>(1, elements_ / kFeatures), kFeatures});
    for (int i = 0; i < 2; ++i) sample_.inputs.push_back({DType::i32, {kTrees}});
    take({kTrees});
    take_indices({kTrees, 2}, -2 * kTrees);  // children that are leaves
    take({2 * kTrees});
    return form_.empty();
  }

  bool along_axis() {
    const OpDef& op = *sample_.op;
    for (const OpDef* each : {&op::max_pool, &op::avg_pool, &op::max_pool_gradient, &op::max_pool_gather, &op::avg_pool_gradient})
      if (&op == each) return pool();
    if (&op == &op::tree_ensemble) return stumps();
    if (&op == &op::searchsorted) {
      take({1024});
      take({elements_});
      return form_.empty();
    }
    if (!form_.empty() && form_ != "inner" && form_ != "outer") return false;
    if (&op == &op::top_k) set("k", std::min<std::int64_t>(5, form_.empty() ? elements_ : extent_));
    if (!form_.empty()) {
      const std::int64_t axis = form_ == "inner" ? 1 : 0;
      const bool has_axis =
          std::any_of(op.attributes.begin(), op.attributes.end(), [](const AttributeDef& each) { return each.name == "axis"; });
      if (!has_axis && axis == 0) return false;
      if (has_axis) set("axis", axis);
    }
    take(lines());
    return true;
  }

  /// A convolution of `elements` multiplications, on images of 28 x 28 elements with windows of 3 x 3.
  bool convolution() {
    constexpr std::int64_t kSide = 28, kWindow = 3;
    const bool depthwise = form_ == "depth" && extent_ == kWindow * kWindow;
    const bool by_input = sample_.op == &op::conv_input_gradient, by_weight = sample_.op == &op::conv_weight_gradient;
    const bool quantized = sample_.op == &op::quantized_conv;
    if (!form_.empty() && (!depthwise || by_input || by_weight)) return false;
    const std::int64_t places = elements_ / (kWindow * kWindow);
    const std::int64_t side = std::clamp<std::int64_t>(root_of(static_cast<double>(places) / (depthwise ? 8 : 64), 2), 1, kSide);
    const std::int64_t channels =
        depthwise ? std::max<std::int64_t>(1, places / side / side)
                  : std::max<std::int64_t>(8, root_of(static_cast<double>(places) / static_cast<double>(side * side), 2));
    set("pads", Integers{1});
    if (depthwise) set("group", channels);
    if (by_input) set("extents", Integers{side});
    if (by_weight) set("kernel_shape", Integers{kWindow});
    take({1, channels, side, side});
    if (by_weight)
      take({1, channels, side, side});
    else
      take({channels, depthwise ? 1 : channels, kWindow, kWindow});
    for (int zeros = 0; quantized && zeros < 2; ++zeros) take({});
    return true;
  }

  /// A product of `elements` multiplications.
  bool product() {
    if (sample_.op == &op::attention || sample_.op == &op::attention_gradient) return attention();
    for (const OpDef* each : {&op::conv, &op::quantized_conv, &op::conv_input_gradient, &op::conv_weight_gradient})
      if (sample_.op == each) return convolution();
    const auto amount = static_cast<double>(elements_);
    std::int64_t rows = root_of(amount, 3), columns = rows, depth = rows;
    const std::int64_t side = form_.empty() ? 0 : root_of(amount / static_cast<double>(extent_), 2);
    if (!form_.empty()) {
      if (side <= extent_) return false;
      rows = columns = depth = side;
      (form_ == "rows" ? rows : form_ == "columns" ? columns : depth) = extent_;
    }
    take({rows, depth});
    take({depth, columns});
    for (int zeros = 0; sample_.op == &op::quantized_matmul && zeros < 2; ++zeros) take({});
    return true;
  }

  /// Attention of `elements` multiplications, with heads of depth 64: 128 queries each, or `extent`.
  bool attention() {
    if (!form_.empty() && form_ != "rows") return false;
    constexpr std::int64_t kDepth = 64, kLength = 128, kKeys = 1024;
    const std::int64_t scores = std::max<std::int64_t>(1, elements_ / (2 * kDepth)), queries = form_.empty() ? kLength : extent_;
    const std::int64_t keys = std::clamp<std::int64_t>(scores / queries, 1, form_.empty() ? kLength : kKeys);
    const std::int64_t heads = std::max<std::int64_t>(1, scores / (queries * keys));
    take({heads, queries, kDepth});
    for (int i = 0; i < 2; ++i) take({heads, keys, kDepth});
    if (sample_.op == &op::attention_gradient) take({heads, queries, kDepth});
    return true;
  }

  /// Two extents whose product is about `elements`, of similar size.
  [[nodiscard]] Shape rectangle(std::int64_t elements) const {
    const std::int64_t height = root_of(static_cast<double>(elements), 2);
    return {height, std::max<std::int64_t>(1, elements / height)};
  }

  bool movement() {
    const OpDef* const op = sample_.op;
    if (!form_.empty() && form_ != "run") return false;
    const bool runs = !form_.empty();
    if (op == &op::transpose) {
      take(runs ? rectangle(elements_) : Shape{1, elements_});
      return !runs || extent_ == 1;
    }
    if (op == &op::permute_dims) {
      Shape shape = runs ? rectangle(rows()) : Shape{elements_};
      if (runs && extent_ > 1) shape.push_back(extent_);
      set("axes", !runs ? Integers{0} : extent_ > 1 ? Integers{1, 0, 2} : Integers{1, 0});
      take(std::move(shape));
      return true;
    }
    if (op == &op::slice) {
      take(runs ? Shape{rows(), 2 * extent_} : Shape{2 * elements_});
      set("starts", runs ? Integers{0, 0} : Integers{0});
      set("stops", runs ? Integers{rows(), extent_} : Integers{elements_});
      return true;
    }
    if (op == &op::broadcast_to) {
      set("shape", runs ? Integers{rows(), extent_} : Integers{elements_});
      take(runs ? Shape{extent_} : Shape{1});
      return true;
    }
    if (op == &op::concat || op == &op::stack) {
      const std::int64_t half = std::max<std::int64_t>(1, elements_ / 2);
      const Shape shape = runs ? Shape{std::max<std::int64_t>(1, rows() / 2), extent_} : Shape{half};
      set("axis", std::int64_t{runs ? 1 : 0});
      for (int i = 0; i < 2; ++i) take(shape);
      return true;
    }
    if (runs) return false;
    if (op == &op::reshape) set("shape", Integers{elements_});
    if (op == &op::bitcast) set("dtype", type_);
    if (op == &op::squeeze) set("axis", Integers{0});
    if (op == &op::pad) set("widths", Integers{1});
    if (op == &op::repeat) set("repeats", std::int64_t{2});
    if (op == &op::tile) set("repetitions", Integers{2});
    const bool doubles = op == &op::repeat || op == &op::tile;
    take(op == &op::squeeze ? Shape{1, elements_} : Shape{doubles ? std::max<std::int64_t>(1, elements_ / 2) : elements_});
    return true;
  }

  /// Adds an operand of integers from 0 to `extent` - 1.
  void take_indices(Shape shape, std::int64_t extent) {
    sample_.contents.below = extent;
    sample_.special = sample_.inputs.size();
    sample_.inputs.push_back({DType::i32, std::move(shape)});
  }

  bool gather() {
    if (sample_.op == &op::one_hot) {
      constexpr std::int64_t kDepth = 16;
      set("depth", kDepth);
      take_indices({std::max<std::int64_t>(1, elements_ / kDepth)}, kDepth);
      return form_.empty();
    }
    if (sample_.op == &op::dynamic_slice || sample_.op == &op::dynamic_update_slice) {
      take({2 * elements_});
      if (sample_.op == &op::dynamic_update_slice) take({elements_});
      take_indices({}, 1);
      if (sample_.op == &op::dynamic_slice) set("sizes", Integers{elements_});
      return form_.empty();
    }
    if (sample_.op == &op::roi_align || sample_.op == &op::grid_sample || sample_.op == &op::non_max_suppression) return pictures();
    if (sample_.op != &op::take) return scatters();
    if (!form_.empty() && form_ != "run") return false;
    const std::int64_t run = form_.empty() ? std::min<std::int64_t>(64, elements_) : extent_, lines = elements_ / run;
    take({lines, run});
    take_indices({lines}, lines);
    set("axis", std::int64_t{0});
    return true;
  }

  /// Gathers or scatters `elements` elements, at as many positions.
  bool scatters() {
    const OpDef* const op = sample_.op;
    if (op == &op::nonzero) {
      take({elements_});
      return form_.empty();
    }
    const bool by_tuples = op == &op::gather_nd || op == &op::scatter_nd;
    take({elements_});
    take_indices(by_tuples ? Shape{elements_, 1} : Shape{elements_}, elements_);
    if (op->name.starts_with("scatter")) take({elements_});
    return form_.empty();
  }

  /// `elements` elements in 16 channels of 28 x 28, or boxes of which 100 are kept.
  bool pictures() {
    constexpr std::int64_t kChannels = 16, kSide = 28, kBins = 7, kKept = 100;
    const OpDef* const op = sample_.op;
    if (op == &op::non_max_suppression) {
      take({1, elements_, 4});
      take({1, 1, elements_});
      set("max_output_boxes_per_class", kKept);
      set("iou_threshold", 0.5);
      return form_.empty();
    }
    take({1, kChannels, kSide, kSide});
    if (op == &op::grid_sample) {
      take({1, std::max<std::int64_t>(1, elements_ / (kChannels * kSide)), kSide, 2});
      return form_.empty();
    }
    const std::int64_t regions = std::max<std::int64_t>(1, elements_ / (kChannels * kBins * kBins));
    set("output_height", kBins);
    set("output_width", kBins);
    set("sampling_ratio", std::int64_t{2});
    take({regions, 4});
    take_indices({regions}, 1);
    return form_.empty();
  }

  /// A square matrix of about `elements` elements.
  bool factorization() {
    const std::int64_t side = root_of(static_cast<double>(elements_), 2);
    sample_.contents.side = side;
    take({side, side});
    if (sample_.op == &op::solve) take({side, 1});
    return form_.empty();
  }

  /// One line of `elements` numbers, complex if the operation takes complex numbers.
  bool transform() {
    const std::int64_t pairs = std::max<std::int64_t>(1, elements_ / 2);
    take(sample_.op == &op::rfft ? Shape{elements_} : sample_.op == &op::irfft ? Shape{pairs + 1, 2} : Shape{pairs, 2});
    return form_.empty();
  }

  bool random() {
    if (sample_.op == &op::random_integers) {
      set("low", std::int64_t{0});
      set("high", std::int64_t{100});
    }
    if (sample_.op == &op::random_permutation) {
      set("n", elements_);
      return form_.empty() && type_ == DType::i32;
    }
    set("shape", Integers{elements_});
    set("dtype", type_);
    return form_.empty();
  }

  bool creation() {
    const OpDef* const op = sample_.op;
    if (op == &op::eye) {
      set("rows", root_of(static_cast<double>(elements_), 2));
    } else if (op == &op::arange) {
      set("start", elements_);
    } else {
      set("shape", Integers{elements_});
      if (op == &op::full) set("value", 1.5);
    }
    if (op != &op::arange) set("dtype", type_);
    return form_.empty();
  }

  const DType type_;
  const std::string& form_;
  const std::int64_t extent_, elements_;
  Sample sample_;
};

// --- the measured tables ---------------------------------------------------------------------------------------------------------------

struct FormRow {
  const char *op, *form;
  std::vector<std::int64_t> extents;
  std::vector<DType> types = {DType::f32};
};

const std::vector<FormRow>& forms() {
  static const std::vector<FormRow> rows = {{"add", "run", {2, 8, 128}},
                                            {"sum", "inner", {2, 8, 64, 512}},
                                            {"sum", "outer", {8, 512}},
                                            {"max", "inner", {8, 64}},
                                            {"max", "outer", {8, 512}},
                                            {"argmax", "inner", {8, 64}},
                                            {"argmax", "outer", {512}},
                                            {"softmax", "inner", {2, 8, 64, 1024}},
                                            {"softmax", "outer", {64}},
                                            {"attention", "rows", {1, 8}},
                                            {"cumulative_sum", "inner", {64}},
                                            {"cumulative_sum", "outer", {64}},
                                            {"sort", "inner", {16, 256}},
                                            {"sort", "outer", {256}},
                                            {"argsort", "inner", {16, 256}},
                                            {"top_k", "inner", {16, 256}},
                                            {"matmul", "rows", {1, 8, 64}, {DType::f32, DType::f64, DType::i32}},
                                            {"matmul", "columns", {1, 8, 64}, {DType::f32, DType::f64, DType::i32}},
                                            {"matmul", "depth", {1, 8, 64}, {DType::f32}},
                                            {"conv", "depth", {9}, {DType::f32}},
                                            {"quantized_conv", "depth", {9}, {DType::u8}},
                                            {"transpose", "run", {1}, {DType::f32, DType::f64, DType::u8}},
                                            {"permute_dims", "run", {1, 64}},
                                            {"slice", "run", {4, 64}},
                                            {"broadcast_to", "run", {4, 64}},
                                            {"concat", "run", {4, 64}},
                                            {"take", "run", {1, 8}}};
  return rows;
}

/// Examples of each class: only these are measured with all types and with one thread.
constexpr std::array<std::string_view, 23> kExamples = {
    "add",  "pow", "floor_divide",   "any",     "multiply", "divide",  "sqrt",  "exp",  "tanh", "less",           "where",
    "sum",  "max", "cumulative_sum", "softmax", "matmul",   "reshape", "slice", "take", "sort", "random_uniform", "random_integers",
    "zeros"};
constexpr std::array kAllTypes = {DType::f32, DType::f64, DType::i32, DType::i64, DType::f16, DType::bf16, DType::u8, DType::boolean};

bool is_example(const OpDef& op) {
  return std::find(kExamples.begin(), kExamples.end(), op.name) != kExamples.end();
}

/// Sides of products: every combination of three up to kLargestProduct is measured.
constexpr std::array<std::int64_t, 10> kSides = {1, 2, 4, 16, 64, 256, 512, 1024, 2048, 4096};
constexpr std::int64_t kLargestProduct = std::int64_t{1} << 30;  ///< multiplications

/// One element, and sizes from `first` to `last`, each `step` times the one before.
std::vector<std::int64_t> sizes(std::int64_t first, std::int64_t last, std::int64_t step = 8) {
  std::vector<std::int64_t> all = {1};
  for (std::int64_t each = first; each <= last; each *= step) all.push_back(each);
  return all;
}

class SamplePlan {
 public:
  SamplePlan(int threads, std::int64_t most, bool small) : threads_(threads), most_(most), small_(small) {}

  std::vector<Table> make() {
    for (const OpDef* op : all_ops()) {
      if (op->purity != Purity::pure) continue;
      add_types(*op);
      if (op->elementwise() && !small_) add_fused(*op);
    }
    if (!small_) {
      add_sides();
      for (const DType type : kAllTypes) add({find_op("print"), type, "", 0, 0, 0, Table::How::plain, {1, 8, 64, 512, 999, 1001}});
      add({find_op("write_npy"), DType::f32, "", 0, 0, 0, Table::How::plain, {1, 1 << 10, 1 << 16, 1 << 20}});
    }
    for (const FormRow& row : forms())
      for (const DType type : row.types)
        for (const std::int64_t extent : row.extents)
          add({find_op(row.op), type, row.form, extent, 0, 0, Table::How::plain, sizes(64, most_)});
    if (threads_ > 1 && !small_)
      for (const std::string_view example : kExamples)
        add({find_op(example), DType::f32, "", 0, 0, 0, Table::How::one_thread, sizes(4096, std::min<std::int64_t>(most_, 1 << 21))});
    order();
    return std::move(tables_);
  }

 private:
  /// Orders tables by importance, since the last ones are left out when time is short. First come the tables from which others are derived,
  /// then products by sides, the thin ones before the others.
  void order() {
    std::set<const OpDef*> known;
    std::vector<std::pair<int, Table>> ranked;
    for (Table& table : tables_) {
      constexpr std::int64_t kThin = 16;
      const bool plain = table.how == Table::How::plain && table.form.empty() && table.rows == 0;
      // On an accelerator, products decide: they come first, in all types.
      const bool first = plain && known.insert(table.op).second;
      const int rank = plain && first_of_all(table)     ? -1
                       : first                          ? 0
                       : table.rows > 0                 ? (std::min(table.rows, table.columns) <= kThin ? 1 : 2)
                       : !table.form.empty()            ? 2
                       : table.how != Table::How::plain ? 3
                                                        : 4;
      ranked.emplace_back(rank, std::move(table));
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    tables_.clear();
    for (auto& [rank, table] : ranked) tables_.push_back(std::move(table));
  }

  [[nodiscard]] bool first_of_all(const Table& table) const { return small_ && table.op->cost_class == CostClass::product; }

  void add(Table table) {
    if (table.op && table.sample(1 << 12)) tables_.push_back(std::move(table));
  }

  void add_sides() {
    for (const std::int64_t rows : kSides) {
      for (const std::int64_t columns : kSides) {
        Table table{find_op("matmul"), DType::f32, "", 0, rows, columns, Table::How::plain, {}};
        for (const std::int64_t depth : kSides)
          if (rows * columns * depth <= std::min(kLargestProduct, 64 * most_)) table.elements.push_back(depth);
        add(std::move(table));
      }
    }
  }

  [[nodiscard]] std::int64_t most_elements(const OpDef& op, bool first) const {
    // Products are counted in multiplications: 1024^3 and, on an accelerator, more.
    if (op.cost_class == CostClass::product) return 64 * most_;
    if (op.cost_class == CostClass::factorization) return std::min<std::int64_t>(most_, 1 << 18);  // time grows with the cube of the side
    return first ? most_ : std::min<std::int64_t>(most_, 1 << 21);
  }

  void add_types(const OpDef& op) {
    const std::size_t before = tables_.size();
    for (const DType type : kAllTypes) {
      const bool first = tables_.size() == before;
      // f64 functions have algorithms other than those of f32.
      const bool own = op.elementwise() || op.cost_class == CostClass::factorization || op.cost_class == CostClass::transform;
      if (!first && !is_example(op) && !(type == DType::f64 && own && !small_)) continue;
      const std::int64_t most = most_elements(op, first);
      // Sums show the bandwidth of memory and of each cache, and so the cache sizes.
      const std::int64_t step = &op == &op::sum && first && !small_ ? 2 : op.cost_class == CostClass::sort ? 4 : 8;
      add({&op, type, "", 0, 0, 0, Table::How::plain, sizes(small_ ? 4096 : first ? 512 : 4096, most, step)});
    }
  }

  void add_fused(const OpDef& op) {
    for (const DType type : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
      const std::size_t before = tables_.size();
      add({&op, type, "", 0, 0, 0, Table::How::fused, {4096, 1 << 18}});
      if (tables_.size() > before && !is_example(op)) return;
    }
  }

  const int threads_;
  const std::int64_t most_;
  const bool small_;
  std::vector<Table> tables_;
};

}  // namespace

std::int64_t Sample::bytes() const {
  std::int64_t sum = 0;
  for (const auto* types : {&inputs, &results})
    for (const TensorType& type : *types) sum += type.bytes();
  return sum;
}

std::optional<Sample> sample(const OpDef& op, DType type, const std::string& form, std::int64_t extent, std::int64_t elements) {
  return SampleMaker(op, type, form, extent, elements).make();
}

std::optional<Sample> sample_of_sides(const OpDef& op, DType type, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  static const std::string kNone;
  return SampleMaker(op, type, kNone, 0, 0).product_of(rows, columns, depth);
}

std::optional<Sample> Table::sample(std::int64_t amount) const {
  return rows > 0 ? sample_of_sides(*op, type, rows, columns, amount) : calibration::sample(*op, type, form, extent, amount);
}

std::string Table::key() const {
  const std::string variant = how == How::one_thread ? "one_thread"
                              : how == How::fused    ? "fused"
                              : rows > 0             ? "rows_" + std::to_string(rows) + "_columns_" + std::to_string(columns)
                              : form.empty()         ? ""
                                                     : form + "_" + std::to_string(extent);
  return planner::point_key(*op, type, variant);
}

std::vector<Table> tables(int threads, std::int64_t most_elements, bool small) {
  return SamplePlan(threads, most_elements, small).make();
}

}  // namespace cleave::calibration

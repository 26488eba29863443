// attention_gradient: some queries at a time, whose scores with all keys are computed again, as FlashAttention does (Dao et al., 2022). Of
// each score only its block exists. Queries of all heads that share keys are rows of one matrix. Work is divided by the shape alone, and
// sums of parts are added in order, so results are bit for bit equal for every number of threads.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "executor/host/attention_mask.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/matmul/code.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/simd/attention.h"
#include "graph/base/stop.h"
#include "graph/ops/attention_shape.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kRowsOfBlock = 64, kRowsIfCausal = 32;  ///< fewer rows see fewer keys that their neighbours do not see
constexpr std::int64_t kLeastBlock = 8;
constexpr std::int64_t kScoresOfBlock = 1 << 17;
constexpr std::int64_t kKeysPacked = 768;       ///< a multiple of every panel width
constexpr std::int64_t kPartsOfWork = 16;       ///< aimed at, if there are enough rows
constexpr std::int64_t kMostPartial = 1 << 24;  ///< limit on the elements of the sums of parts after the first
constexpr std::int64_t kNarrowPiece = 1 << 15;

/// Computes in T, float or double.
template <class T>
class AttentionGradient final : public HostKernel {
 public:
  explicit AttentionGradient(const KernelRequest& request)
      : shape_(ops::attention_shape(ops::attention_of_gradient(request.input_types), *request.attributes)),
        stored_(request.input_types[0].dtype),
        code_(product_code<T>()),
        weigh_(score_loop<T>()),
        differentiate_(score_gradient_loop<T>()),
        mask_{shape_, shape_.mask.empty() ? DType::boolean : request.input_types[4].dtype, nullptr} {
    if (size_of(stored_) < static_cast<std::int64_t>(sizeof(T))) {
      mask_.widen = convert_loop(stored_, DTypeOf<T>::value);
      narrow_ = convert_loop(DTypeOf<T>::value, stored_);
    }
    rows_ = shape_.group() * shape_.queries;
    units_ = shape_.batches() * shape_.key_heads;
    const std::int64_t most = shape_.causal ? kRowsIfCausal : kRowsOfBlock;
    block_ = std::clamp(kScoresOfBlock / std::max<std::int64_t>(1, shape_.keys) / kLeastBlock * kLeastBlock, kLeastBlock, most);
    const std::int64_t blocks = (rows_ + block_ - 1) / block_;
    const std::int64_t of_part = units_ * shape_.keys * (shape_.depth + shape_.width);
    const std::int64_t most_parts = std::min(std::max<std::int64_t>(1, blocks), 1 + kMostPartial / std::max<std::int64_t>(1, of_part));
    parts_ = std::clamp<std::int64_t>(kPartsOfWork / std::max<std::int64_t>(1, units_), 1, most_parts);
    blocks_of_part_ = (blocks + parts_ - 1) / parts_;
    stride_ = (shape_.keys + kScorePad - 1) / kScorePad * kScorePad + kScorePad;
    lay_out();
  }

  Status run(const KernelCall& call) override {
    Arrays arrays{call, {}, {}};
    for (std::size_t i = 0; i < 4; ++i) arrays.in[i] = operand(call, i);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t count = call.results[i].type->elements();
      if (narrow_ != nullptr) wide_results_[i].resize(static_cast<std::size_t>(count));
      arrays.out[i] = narrow_ != nullptr ? wide_results_[i].data() : call.results[i].template as<T>();
    }
    if (call.inputs[3].type->elements() == 0 || shape_.keys == 0) {
      for (std::size_t i = 0; i < 3; ++i) fill_long(arrays.out[i], call.results[i].type->elements(), T(0));
    } else {
      compute(arrays);
    }
    for (std::size_t i = 0; narrow_ != nullptr && i < 3; ++i)
      convert_all(call.workers, narrow_, reinterpret_cast<const std::byte*>(arrays.out[i]), sizeof(T), call.results[i]);
    return {};
  }

 private:
  struct Arrays {
    const KernelCall& call;
    std::array<const T*, 4> in;  ///< query, key, value, gradient
    std::array<T*, 3> out;
  };
  /// The queries that share a head of the keys.
  struct Unit {
    std::int64_t head = 0;
    const T *query, *keys, *values, *g;
    const std::byte* mask;
    T *query_out, *keys_out, *values_out;
  };

  void lay_out() {
    const auto take = [this](std::int64_t count) {
      const std::int64_t at = size_;
      size_ += (count + 15) / 16 * 16;
      return at;
    };
    const std::int64_t packed = packed_columns(shape_.keys, code_.width) + shape_.keys / kKeysPacked * code_.width;
    scores_at_ = take(block_ * stride_);
    products_at_ = take(block_ * stride_);
    keys_at_ = take(packed * shape_.depth + code_.width);
    values_at_ = take(packed * shape_.width + code_.width);
    edge_at_ = take(code_.width * (std::max(std::min(shape_.keys, kKeysPacked), block_) + 1));
    mask_at_ = take(shape_.mask.empty() ? 0 : stride_);
  }

  /// Converts all elements of `from`, of `size` bytes each, to those of `to`.
  static void convert_all(Workers& workers, RowLoop loop, const std::byte* from, std::int64_t size, const TensorView& to) {
    const std::int64_t into = size_of(to.type->dtype);
    workers.each_part(to.type->elements(), kNarrowPiece, [&](std::int64_t begin, std::int64_t end) {
      const std::byte* operands[3] = {from + begin * size, nullptr, nullptr};
      const std::int64_t steps[3] = {1, 1, 1};
      loop(operands, steps, to.data + begin * into, end - begin);
    });
  }
  const T* operand(const KernelCall& call, std::size_t index) {
    const TensorView& view = call.inputs[index];
    if (narrow_ == nullptr) return view.template as<T>();
    wide_[index].resize(static_cast<std::size_t>(view.type->elements()));
    const TensorType wide{DTypeOf<T>::value, view.type->shape};
    convert_all(call.workers, mask_.widen, view.data, size_of(stored_), {&wide, reinterpret_cast<std::byte*>(wide_[index].data())});
    return wide_[index].data();
  }

  void compute(const Arrays& arrays) {
    const std::int64_t of_keys = shape_.keys * shape_.depth, of_values = shape_.keys * shape_.width;
    scratch_.reserve(arrays.call.workers.threads(), size_);
    if (parts_ > 1 && !partial_)  // each part sets its own to zero
      partial_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(units_ * (parts_ - 1) * (of_keys + of_values)));
    arrays.call.workers.each(units_ * parts_, [&](std::int64_t piece) {
      const typename Scratch<T>::Part room(scratch_);
      const std::int64_t index = piece / parts_, part = piece % parts_;
      Unit unit = unit_of(arrays, index);
      if (part > 0) {
        unit.keys_out = partial_.get() + (index * (parts_ - 1) + part - 1) * (of_keys + of_values);
        unit.values_out = unit.keys_out + of_keys;
      }
      some_rows(unit, part * blocks_of_part_ * block_, std::min(rows_, (part + 1) * blocks_of_part_ * block_), room.data());
    });
    if (parts_ == 1) return;
    arrays.call.workers.each(units_, [&](std::int64_t index) {
      const Unit unit = unit_of(arrays, index);
      for (std::int64_t part = 1; part < parts_; ++part) {
        const T* from = partial_.get() + (index * (parts_ - 1) + part - 1) * (of_keys + of_values);
        add_long(unit.keys_out, from, of_keys);
        add_long(unit.values_out, from + of_keys, of_values);
      }
    });
  }
  static void add_long(T* to, const T* from, std::int64_t count) {
    each_long(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    });
  }

  Unit unit_of(const Arrays& arrays, std::int64_t index) const {
    const std::int64_t batch = index / shape_.key_heads, head = index % shape_.key_heads;
    const auto in = [&](std::size_t operand, const ops::Strides& strides, std::int64_t inside) {
      return arrays.in[operand] + ops::batch_offset(shape_.batch, strides, batch) + head * inside;
    };
    const std::byte* mask = shape_.mask.empty()
                                ? nullptr
                                : arrays.call.inputs[4].data + ops::batch_offset(shape_.batch, shape_.mask, batch) * size_of(mask_.type);
    return {head,
            in(0, shape_.query_batch, rows_ * shape_.depth),
            in(1, shape_.key_batch, shape_.keys * shape_.depth),
            in(2, shape_.value_batch, shape_.keys * shape_.width),
            arrays.in[3] + index * rows_ * shape_.width,
            mask,
            arrays.out[0] + index * rows_ * shape_.depth,
            arrays.out[1] + index * shape_.keys * shape_.depth,
            arrays.out[2] + index * shape_.keys * shape_.width};
  }

  [[nodiscard]] std::int64_t seen(std::int64_t r) const { return shape_.seen(r % shape_.queries); }

  void some_rows(const Unit& unit, std::int64_t first, std::int64_t end, T* scratch) const {
    fill_long(unit.keys_out, shape_.keys * shape_.depth, T(0));
    fill_long(unit.values_out, shape_.keys * shape_.width, T(0));
    if (first >= end) return;
    pack(unit.keys, shape_.depth, scratch + keys_at_);
    pack(unit.values, shape_.width, scratch + values_at_);
    for (; first < end; first += block_) {
      look_at_stop();
      block(unit, first, std::min(block_, end - first), scratch);
    }
  }

  /// Packs lines, one for each key, as the right operand of a product that gives a column for each key.
  void pack(const T* lines, std::int64_t length, T* to) const {
    if (length == 0) return;
    for (std::int64_t key = 0; key < shape_.keys; key += kKeysPacked) {
      look_at_stop();
      const std::int64_t count = std::min(kKeysPacked, shape_.keys - key);
      code_.pack_b({lines + key * length, 1, length}, count, length, to);
      to += packed_columns(count, code_.width) * length;
    }
  }

  /// to = rows x transpose(lines that `pack` has packed), for the first `visible` keys.
  void by_keys(const T* rows, std::int64_t count, std::int64_t length, const T* packed, std::int64_t visible, T* to) const {
    for (std::int64_t r = 0; length == 0 && r < count; ++r) std::fill_n(to + r * stride_, visible, T(0));
    for (std::int64_t key = 0; length > 0 && key < visible; key += kKeysPacked) {
      look_at_stop();
      // Panel by panel, as they were divided when they were packed; the last one may give some more columns, for which there is room.
      for (std::int64_t left = std::min(kKeysPacked, shape_.keys - key), at = key; left > 0 && at < visible;) {
        const std::int64_t width = panel_width(left, code_.width);
        code_.block({count, width, length, {rows, length, 1}, false, {packed, 0, 1}, true, {to + at, stride_, 1}, false, nullptr});
        packed += width * length;
        at += width;
        left -= width;
      }
    }
  }

  /// to += transpose(weights) x lines: for each of `visible` keys the sum over `rows` queries, some keys at a time.
  void add_by_keys(std::int64_t visible, std::int64_t rows, const T* weights, const T* lines, std::int64_t columns, T* to, T* edge) const {
    for (std::int64_t key = 0; key < visible; key += kKeysPacked) {
      look_at_stop();
      const std::int64_t count = std::min(kKeysPacked, visible - key);
      multiply(count, rows, {weights + key, 1, stride_}, lines, columns, to + key * columns, true, edge);
    }
  }

  /// to = a x lines, or to += a x lines; the lines have `columns` elements each.
  void multiply(std::int64_t rows, std::int64_t inner, const Matrix<const T>& a, const T* lines, std::int64_t columns, T* to, bool add,
                T* edge) const {
    const std::int64_t whole = columns - columns % code_.width;
    const Matrix<const T> right{lines, columns, 1};
    const Matrix<T> result{to, columns, 1};
    if (whole > 0) code_.block({rows, whole, inner, a, false, right, false, result, add, nullptr});
    if (whole == columns) return;
    code_.pack_b(right.from(0, whole), columns - whole, inner, edge);
    code_.block({rows, columns - whole, inner, a, false, {edge, 0, 1}, true, result.from(0, whole), add, nullptr});
  }

  void block(const Unit& unit, std::int64_t first, std::int64_t rows, T* scratch) const {
    const std::int64_t depth = shape_.depth, width = shape_.width;
    const T *query = unit.query + first * depth, *g = unit.g + first * width;
    T* query_out = unit.query_out + first * depth;
    std::int64_t visible = 0;
    for (std::int64_t r = 0; r < rows; ++r) visible = std::max(visible, seen(first + r));
    if (visible == 0) {
      std::fill_n(query_out, rows * depth, T(0));
      return;
    }
    T *scores = scratch + scores_at_, *products = scratch + products_at_, *edge = scratch + edge_at_;
    by_keys(query, rows, depth, scratch + keys_at_, visible, scores);
    by_keys(g, rows, width, scratch + values_at_, visible, products);
    for (std::int64_t r = 0; r < rows; ++r) {
      look_at_stop();
      ScoreRow<T> row{scores + r * stride_, std::min(seen(first + r), visible), visible, static_cast<T>(shape_.scale), nullptr, nullptr};
      if (unit.mask != nullptr) mask_.find(unit.mask, unit.head, first + r, 0, row, scratch + mask_at_);
      ScoreState<T> state{-std::numeric_limits<T>::infinity(), 0};
      weigh_(row, state);
      const T share = state.sum == 0 ? T(0) : static_cast<T>(1 / state.sum);
      differentiate_(row.scores, products + r * stride_, visible, share, static_cast<T>(shape_.scale));
    }
    if (width > 0) add_by_keys(visible, rows, scores, g, width, unit.values_out, edge);
    if (depth == 0) return;
    add_by_keys(visible, rows, products, query, depth, unit.keys_out, edge);
    for (std::int64_t key = 0; key < visible; key += kKeysPacked) {
      look_at_stop();
      const std::int64_t count = std::min(kKeysPacked, visible - key);
      multiply(rows, count, {products + key, stride_, 1}, unit.keys + key * depth, depth, query_out, key > 0, edge);
    }
  }

  const ops::AttentionShape shape_;
  const DType stored_;
  const ProductCode<T>& code_;
  const ScoreLoop<T> weigh_;
  const ScoreGradientLoop<T> differentiate_;
  AttentionMask mask_;
  RowLoop narrow_ = nullptr;  ///< null: elements are stored in the type of computation
  std::int64_t rows_ = 0, units_ = 0;
  std::int64_t block_ = 1, parts_ = 1, blocks_of_part_ = 1;  ///< rows of a block; parts of a unit
  std::int64_t stride_ = 1;                                  ///< elements between rows of scores
  std::int64_t size_ = 0;                                    ///< elements of a thread's scratch memory; below, the offsets of its areas
  std::int64_t scores_at_ = 0, products_at_ = 0, keys_at_ = 0, values_at_ = 0, edge_at_ = 0, mask_at_ = 0;
  Scratch<T> scratch_;
  std::unique_ptr<T[]> partial_;  ///< gradients of keys and values of the parts after the first
  std::array<std::vector<T>, 4> wide_;
  std::array<std::vector<T>, 3> wide_results_;
};

std::unique_ptr<HostKernel> prepare_attention_gradient(const KernelRequest& request) {
  if (request.input_types[0].dtype == DType::f64) return std::make_unique<AttentionGradient<double>>(request);
  return std::make_unique<AttentionGradient<float>>(request);
}

Status attention_gradient_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  return prepare_attention_gradient(request)->run(call);
}

}  // namespace

constexpr KernelRow rows::attention_gradient{attention_gradient_kernel, prepare_attention_gradient};

}  // namespace cleave::runtime::host

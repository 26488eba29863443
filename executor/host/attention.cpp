// attention by FlashAttention (Dao et al., 2022): a block of queries is multiplied with the keys tile by tile; scores exist for one tile
// only, and the accumulated sums are rescaled when a larger score appears. Queries of all heads that share keys are rows of one matrix.
// Products use the micro-kernels of matmul/code.h. Work is divided by the shape alone, so results are bit for bit equal for every number of
// threads.
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "executor/host/attention_mask.h"
#include "executor/host/kernels.h"
#include "executor/host/matmul/code.h"
#include "executor/host/rows.h"
#include "executor/host/scratch.h"
#include "executor/host/simd/attention.h"
#include "graph/base/stop.h"
#include "graph/ops/attention_shape.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kMostRows = 128;  ///< rows of a block of queries
constexpr std::int64_t kLeastRows = 32;
constexpr std::int64_t kPieces = 16;      ///< blocks aimed at, if there are enough rows
constexpr std::int64_t kTile = 256;       ///< keys of a tile
constexpr std::int64_t kFew = 8;          ///< rows for which packing the keys does not pay
constexpr std::int64_t kLongTile = 1024;  ///< keys of a tile for these

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}
constexpr std::int64_t round_up(std::int64_t x, std::int64_t to) {
  return ceil_div(x, to) * to;
}

void convert(RowLoop loop, const std::byte* from, std::int64_t count, std::byte* to) {
  const std::byte* operands[3] = {from, from, from};
  const std::int64_t steps[3] = {1, 1, 1};
  loop(operands, steps, to, count);
}

/// Computes in T, float or double.
template <class T>
class Attention final : public HostKernel {
 public:
  explicit Attention(const KernelRequest& request)
      : shape_(ops::attention_shape(request.input_types, *request.attributes)),
        stored_(request.input_types[0].dtype),
        mask_(shape_.mask.empty() ? DType::boolean : request.input_types[3].dtype),
        narrow_(size_of(stored_) < static_cast<std::int64_t>(sizeof(T))),
        code_(product_code<T>()),
        weigh_(score_loop<T>()) {
    if (narrow_) {
      widen_ = convert_loop(stored_, DTypeOf<T>::value);
      narrow_loop_ = convert_loop(DTypeOf<T>::value, stored_);
    }
    const std::int64_t rows = shape_.group() * shape_.queries, matrices = std::max<std::int64_t>(1, shape_.batches() * shape_.key_heads);
    block_ = std::clamp(round_up(ceil_div(rows, ceil_div(kPieces, matrices)), code_.rows), kLeastRows, kMostRows);
    if (rows > 0) block_ = ceil_div(rows, ceil_div(rows, block_));
    tile_ = std::min(block_ <= kFew ? kLongTile : kTile, std::max<std::int64_t>(1, shape_.keys));
    stride_ = round_up(tile_, kScorePad) + kScorePad;
    lay_out();
  }

  Status run(const KernelCall& call) override {
    if (call.results[0].type->elements() == 0) return {};
    scratch_.reserve(call.workers.threads(), size_);
    const std::int64_t blocks = ceil_div(shape_.group() * shape_.queries, block_);
    const double work = static_cast<double>(shape_.batches() * shape_.heads * shape_.queries) * static_cast<double>(shape_.keys) *
                        static_cast<double>(shape_.depth + shape_.width);
    Workers& workers = work < 1 << 16 ? Workers::none() : call.workers;
    workers.each(shape_.batches() * shape_.key_heads * blocks, [&](std::int64_t piece) {
      const typename Scratch<T>::Part part(scratch_);
      block(call, piece / blocks, piece % blocks * block_, part.data());
    });
    return {};
  }

 private:
  /// One block of queries: its operands and its result, in the type of computation.
  struct Block {
    std::int64_t batch = 0, head = 0;  ///< of the keys and values
    std::int64_t first = 0, rows = 0;  ///< among the queries of all heads that share the keys
    const T* query = nullptr;
    const std::byte *keys = nullptr, *values = nullptr, *mask = nullptr;
    T* out = nullptr;
  };

  void lay_out() {
    const auto take = [this](std::int64_t count) {
      const std::int64_t at = size_;
      size_ += round_up(count, 16);
      return at;
    };
    const bool few = block_ <= kFew;
    scores_at_ = take(block_ * stride_);
    packed_at_ = take(few ? 0 : packed_columns(tile_, code_.width) * shape_.depth + code_.width);
    edge_at_ = take(few ? 0 : code_.width * tile_ + code_.width);
    mask_at_ = take(shape_.mask.empty() ? 0 : stride_);
    sums_at_ = take(few ? block_ * shape_.width : 0);
    out_at_ = take(narrow_ ? block_ * shape_.width : 0);
    query_at_ = take(narrow_ ? block_ * shape_.depth : 0);
    keys_at_ = take(narrow_ ? tile_ * shape_.depth : 0);
    values_at_ = take(narrow_ ? tile_ * shape_.width : 0);
  }

  void block(const KernelCall& call, std::int64_t matrix, std::int64_t first, T* scratch) const {
    const std::int64_t size = size_of(stored_);
    Block at{matrix / shape_.key_heads, matrix % shape_.key_heads, first, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
    at.rows = std::min(block_, shape_.group() * shape_.queries - first);
    const std::int64_t row = at.head * shape_.group() * shape_.queries + first;  // among the queries of the batch
    const auto operand = [&](std::size_t index, const ops::Strides& strides, std::int64_t inside) {
      return call.inputs[index].data + (ops::batch_offset(shape_.batch, strides, at.batch) + inside) * size;
    };
    at.query = widened(widen_, operand(0, shape_.query_batch, row * shape_.depth), at.rows * shape_.depth, scratch + query_at_);
    at.keys = operand(1, shape_.key_batch, at.head * shape_.keys * shape_.depth);
    at.values = operand(2, shape_.value_batch, at.head * shape_.keys * shape_.width);
    if (!shape_.mask.empty()) at.mask = call.inputs[3].data + ops::batch_offset(shape_.batch, shape_.mask, at.batch) * size_of(mask_);
    std::byte* result = call.results[0].data + (at.batch * shape_.heads * shape_.queries + row) * shape_.width * size;
    at.out = narrow_ ? scratch + out_at_ : reinterpret_cast<T*>(result);
    attend(at, scratch);
    if (narrow_) convert(narrow_loop_, reinterpret_cast<const std::byte*>(at.out), at.rows * shape_.width, result);
  }

  void attend(const Block& at, T* scratch) const {
    std::array<ScoreState<T>, kMostRows> states;
    states.fill({-std::numeric_limits<T>::infinity(), 0});
    const AttentionMask mask{shape_, mask_, widen_};
    std::int64_t visible = 0;
    for (std::int64_t r = 0; r < at.rows; ++r) visible = std::max(visible, seen(at, r));
    for (std::int64_t key = 0; key < visible; key += tile_) {
      look_at_stop();
      const std::int64_t count = std::min(tile_, visible - key);
      score(at, key, count, scratch);
      for (std::int64_t r = 0; r < at.rows; ++r) {
        ScoreRow<T> row{scratch + scores_at_ + r * stride_,
                        std::clamp<std::int64_t>(seen(at, r) - key, 0, count),
                        count,
                        static_cast<T>(shape_.scale),
                        nullptr,
                        nullptr};
        if (at.mask != nullptr) mask.find(at.mask, at.head, at.first + r, key, row, scratch + mask_at_);
        const T by = weigh_(row, states[static_cast<std::size_t>(r)]);
        if (key > 0 && by != 1) multiply(at.out + r * shape_.width, by);
      }
      add_values(at, key, count, scratch);
    }
    for (std::int64_t r = 0; r < at.rows; ++r) {
      const double sum = states[static_cast<std::size_t>(r)].sum;
      T* out = at.out + r * shape_.width;
      if (visible == 0 || sum == 0) {
        std::fill_n(out, shape_.width, T(0));
      } else {
        multiply(out, static_cast<T>(1 / sum));
      }
    }
  }

  [[nodiscard]] std::int64_t seen(const Block& at, std::int64_t r) const { return shape_.seen((at.first + r) % shape_.queries); }
  void multiply(T* row, T by) const {
    for (std::int64_t i = 0; i < shape_.width; ++i) row[i] *= by;
  }

  void score(const Block& at, std::int64_t key, std::int64_t count, T* scratch) const {
    const std::int64_t depth = shape_.depth;
    const T* keys = widened(widen_, at.keys + key * depth * size_of(stored_), count * depth, scratch + keys_at_);
    const Matrix<const T> query{at.query, depth, 1};
    const Matrix<T> scores{scratch + scores_at_, stride_, 1};
    if (depth == 0) {
      for (std::int64_t r = 0; r < at.rows; ++r) std::fill_n(scores.at + r * stride_, count, T(0));
    } else if (block_ <= kFew) {
      code_.dots(at.rows, count, depth, query, {keys, depth, 1}, scores);
    } else {
      T* packed = scratch + packed_at_;
      code_.pack_b({keys, 1, depth}, count, depth, packed);
      code_.block({at.rows, count, depth, query, false, {packed, 0, 0}, true, scores, false});
    }
  }

  /// Computes out = weights x values for the first tile, and adds the product to `out` for later ones.
  void add_values(const Block& at, std::int64_t key, std::int64_t count, T* scratch) const {
    const std::int64_t width = shape_.width;
    const T* values = widened(widen_, at.values + key * width * size_of(stored_), count * width, scratch + values_at_);
    const Matrix<const T> weights{scratch + scores_at_, stride_, 1}, lines{values, width, 1};
    const Matrix<T> out{at.out, width, 1};
    if (block_ <= kFew) {
      T* sums = scratch + sums_at_;
      code_.combine(at.rows, width, count, weights, lines, {key == 0 ? at.out : sums, width, 1});
      for (std::int64_t i = 0; key > 0 && i < at.rows * width; ++i) at.out[i] += sums[i];
      return;
    }
    const std::int64_t whole = width - width % code_.width;
    if (whole > 0) code_.block({at.rows, whole, count, weights, false, lines, false, out, key > 0});
    if (whole == width) return;
    T* edge = scratch + edge_at_;
    code_.pack_b(lines.from(0, whole), width - whole, count, edge);
    code_.block({at.rows, width - whole, count, weights, false, {edge, 0, 0}, true, out.from(0, whole), key > 0});
  }

  const ops::AttentionShape shape_;
  const DType stored_, mask_;
  const bool narrow_;
  const ProductCode<T>& code_;
  const ScoreLoop<T> weigh_;
  RowLoop widen_ = nullptr, narrow_loop_ = nullptr;
  std::int64_t block_ = 1, tile_ = 1, stride_ = 1;  ///< rows of a block, keys of a tile, elements between rows of scores
  std::int64_t size_ = 0;                           ///< elements of a thread's scratch memory; below, the offsets of its areas
  std::int64_t scores_at_ = 0, packed_at_ = 0, edge_at_ = 0, mask_at_ = 0, sums_at_ = 0, out_at_ = 0, query_at_ = 0, keys_at_ = 0,
               values_at_ = 0;
  Scratch<T> scratch_;
};

std::unique_ptr<HostKernel> prepare_attention(const KernelRequest& request) {
  if (request.input_types[0].dtype == DType::f64) return std::make_unique<Attention<double>>(request);
  return std::make_unique<Attention<float>>(request);
}

Status attention_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  return prepare_attention(request)->run(call);
}

}  // namespace

constexpr KernelRow rows::attention{attention_kernel, prepare_attention};

}  // namespace cleave::runtime::host

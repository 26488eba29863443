// attention by the FlashAttention algorithm (Dao et al., 2022): a block of threads holds some queries of all heads that share keys, and
// goes through the keys tile by tile in shared memory. Scores stay on the chip; the sums so far are rescaled when a larger score appears.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/attention_shape.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kRows = 16, kPlaces = 16;  ///< queries of a block, and threads for each query
constexpr std::int64_t kMostColumns = 128;        ///< columns of the values in one block: a tile of 32 KiB in f64

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

class AttentionKernelWriter {
 public:
  AttentionKernelWriter(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        shape_(ops::attention_shape(request.input_types, *request.attributes)),
        rows_(shape_.group() * shape_.queries),
        columns_(std::min(shape_.width, kMostColumns)),
        kernel_("attention", needs_wide_indices(request, architecture)) {}

  KernelSource write() {
    if (request_.result_types[0].elements() == 0) return {};
    const std::int64_t blocks = ceil_div(rows_, kRows);
    kernel_.launch.block = {static_cast<unsigned>(kRows * kPlaces), 1, 1};
    kernel_.launch.grid = {static_cast<unsigned>(blocks * shape_.batches() * shape_.key_heads),
                           static_cast<unsigned>(ceil_div(shape_.width, columns_)), 1};
    declare(blocks);
    kernel_ << "  for (Index from = 0; from < visible; from += 32) {\n";
    score();
    weigh();
    add_values();
    kernel_ << "  }\n  if (there)\n#pragma unroll\n    for (int k = 0; k < " << held()
            << "; ++k) {\n      const int column = place + k * 16;\n"
            << "      if (column < " << std::to_string(columns_) << " && first_column + column < width)\n"
            << "        y0[(row_of_result + r) * width + first_column + column] = store<" << element()
            << ">(sum == 0 ? (Number)0 : held[k] / sum);\n    }\n";
    return assemble(request_, kernel_, device_text("lines"));
  }

 private:
  [[nodiscard]] std::string element() const { return name_of(request_.input_types[0].dtype); }
  /// The number of results that one thread holds.
  [[nodiscard]] std::string held() const { return std::to_string(ceil_div(columns_, kPlaces)); }

  void declare(std::int64_t blocks) {
    const std::string columns = std::to_string(columns_);
    kernel_ << "  typedef Compute<" << element() << "> Number;\n"
            << "  __shared__ Number queries_here[16][33], keys_here[32][33], weights[16][33], values_here[32][" << columns << "];\n"
            << "  const Number lowest = (Number)-__longlong_as_double(0x7ff0000000000000LL), scale = (Number)" << literal(shape_.scale)
            << ";\n"
            << "  const int place = (int)threadIdx.x % 16, own = (int)threadIdx.x / 16;\n";
    const auto name = [&](const char* what, std::int64_t value) {
      kernel_ << "  const Index " << what << " = " << kernel_.index(value) << ";\n";
    };
    name("rows", rows_);
    name("queries", shape_.queries);
    name("keys", shape_.keys);
    name("depth", shape_.depth);
    name("width", shape_.width);
    kernel_ << "  const Index matrix = " << kernel_.quotient("(Index)blockIdx.x", blocks) << ", first = ((Index)blockIdx.x - matrix * "
            << kernel_.index(blocks) << ") * 16;\n  const Index batch = " << kernel_.quotient("matrix", shape_.key_heads)
            << ", head = matrix - batch * " << kernel_.index(shape_.key_heads) << ";\n";
    std::vector<ops::Strides> strides{shape_.query_batch, shape_.key_batch, shape_.value_batch};
    if (!shape_.mask.empty())
      strides.emplace_back(shape_.mask.begin(), shape_.mask.begin() + static_cast<std::ptrdiff_t>(shape_.batch.size()));
    kernel_.locate(make_walk(shape_.batch, strides), "batch");
    kernel_
        << "  const Index row_of_result = batch * " << kernel_.index(shape_.heads * shape_.queries) << " + head * rows;\n"
        << "  const Index query_at = at0 + head * rows * depth, key_at = at1 + head * keys * depth, value_at = at2 + head * keys * width;\n"
        << "  const Index first_column = (Index)blockIdx.y * " << columns << ", r = first + own;\n  const bool there = r < rows;\n"
        << "  const Index member = r / queries, query = r - member * queries;\n";
    if (shape_.causal) {
      kernel_ << "  const Index later = query + 1 + keys - queries, seen = later < 0 ? 0 : later < keys ? later : keys;\n"
              << "  const Index end = first + 15 < rows ? first + 15 : rows - 1, last = end / queries, reach = end - last * queries + 1 + "
                 "keys - "
                 "queries;\n"
              << "  const Index visible = last != first / queries ? keys : reach < 0 ? 0 : reach;\n";
    } else {
      kernel_ << "  const Index seen = keys, visible = keys;\n";
    }
    if (!shape_.mask.empty()) {
      const std::size_t axes = shape_.batch.size();
      kernel_ << "  const Index mask_at = at3 + (head * " << kernel_.index(shape_.group()) << " + member) * "
              << kernel_.index(shape_.mask[axes]) << " + query * " << kernel_.index(shape_.mask[axes + 1]) << ";\n";
    }
    kernel_ << "  Number largest = lowest, sum = 0, held[" << held() << "];\n#pragma unroll\n  for (int k = 0; k < " << held()
            << "; ++k) held[k] = 0;\n";
  }

  /// A thread computes two scores: of its query with keys `place` and `place + 16` of the tile.
  void score() {
    kernel_ << R"(    Number near = 0, far = 0;
    for (Index inner = 0; inner < depth; inner += 32) {
      for (int t = (int)threadIdx.x; t < 16 * 32; t += 256)
        queries_here[t / 32][t % 32] = first + t / 32 < rows && inner + t % 32 < depth
            ? load(x0[query_at + (first + t / 32) * depth + inner + t % 32]) : (Number)0;
      for (int t = (int)threadIdx.x; t < 32 * 32; t += 256)
        keys_here[t / 32][t % 32] = from + t / 32 < keys && inner + t % 32 < depth
            ? load(x1[key_at + (from + t / 32) * depth + inner + t % 32]) : (Number)0;
      __syncthreads();
#pragma unroll 8
      for (int k = 0; k < 32; ++k) {
        near += queries_here[own][k] * keys_here[place][k];
        far += queries_here[own][k] * keys_here[place + 16][k];
      }
      __syncthreads();
    }
    near *= scale;
    far *= scale;
    bool sees_near = there && from + place < seen, sees_far = there && from + place + 16 < seen;
)";
    if (shape_.mask.empty()) return;
    const std::string step = kernel_.index(shape_.mask.back());
    const bool keeps = request_.input_types[3].dtype == DType::boolean;
    for (const auto& [which, key] : {std::pair("near", "from + place"), std::pair("far", "from + place + 16")}) {
      const std::string mask = std::string("x3[mask_at + (") + key + ") * " + step + "]", name = which;
      if (keeps) {
        kernel_ << "    if (sees_" << name << ") sees_" << name << " = " << mask << ";\n";
      } else {
        kernel_ << "    if (sees_" << name << ") " << name << " += load(" << mask << ");\n";
      }
    }
  }

  void weigh() {
    kernel_ << R"(    if (!sees_near) near = lowest;
    if (!sees_far) far = lowest;
    Number top = largest;
    if (top < near) top = near;
    if (top < far) top = far;
    top = merge_in_warp<Larger, 16, 1>(top);
    const Number by = top == largest ? (Number)1 : exp(largest - top), shift = top == lowest ? (Number)0 : top;
    largest = top;
    near = exp(near - shift);
    far = exp(far - shift);
    sum = sum * by + merge_in_warp<Sum, 16, 1>(near + far);
    weights[own][place] = near;
    weights[own][place + 16] = far;
)";
  }

  void add_values() {
    const std::string columns = std::to_string(columns_);
    kernel_ << "    for (int t = (int)threadIdx.x; t < 32 * " << columns << "; t += 256) {\n      const int line = t / " << columns
            << ", column = t % " << columns << ";\n"
            << "      values_here[line][column] = from + line < keys && first_column + column < width\n"
            << "          ? load(x2[value_at + (from + line) * width + first_column + column]) : (Number)0;\n    }\n    __syncthreads();\n"
            << "#pragma unroll\n    for (int k = 0; k < " << held() << "; ++k) {\n      const int column = place + k * 16;\n"
            << "      held[k] *= by;\n      if (column < " << columns << ")\n"
            << "        for (int line = 0; line < 32; ++line) held[k] += weights[own][line] * values_here[line][column];\n    }\n"
            << "    __syncthreads();\n";
  }

  const KernelRequest& request_;
  const ops::AttentionShape shape_;
  const std::int64_t rows_;     ///< queries of all heads that share keys
  const std::int64_t columns_;  ///< columns of the values in one block
  KernelText kernel_;
};

KernelSource build_attention(const KernelRequest& request, const Architecture& architecture) {
  return AttentionKernelWriter(request, architecture).write();
}

}  // namespace

constexpr KernelRow rows::attention{build_attention};

}  // namespace cleave::runtime::cuda

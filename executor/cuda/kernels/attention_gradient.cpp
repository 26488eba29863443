// attention_gradient by three kernels, none of which stores scores. The first has some queries in each block of threads: it goes through
// the keys tile by tile, twice, for the sums of each query's softmax, which it leaves in scratch memory, and for the gradient by the
// queries. The others have some keys in each block and go through the queries: for the gradient by the keys, and for that by the values.
#include <algorithm>
#include <array>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/attention_shape.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kLines = 16, kThreadsOfLine = 16;  ///< lines of a block, and threads for each
constexpr std::int64_t kMostHeld = 64;                    ///< columns of a result in one block: a tile of 16 KiB in f64

constexpr std::int64_t blocks_of(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

/// Lines of one operand that share a head of the keys.
struct LinesOf {
  std::string array, at, count, length;  ///< names in the text: operand, offset of the first line, number of lines, elements of each
  [[nodiscard]] std::string element(const std::string& line, const std::string& column) const {
    return "load(" + array + "[" + at + " + (" + line + ") * " + length + " + " + column + "])";
  }
};
const LinesOf kQueries{"x0", "query_at", "rows", "depth"}, kKeys{"x1", "key_at", "keys", "depth"};
const LinesOf kValues{"x2", "value_at", "keys", "width"}, kGradients{"x3", "g_at", "rows", "width"};

class AttentionGradientWriter {
 public:
  AttentionGradientWriter(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        shape_(ops::attention_shape(ops::attention_of_gradient(request.input_types), *request.attributes)),
        rows_(shape_.group() * shape_.queries),
        units_(shape_.batches() * shape_.key_heads),
        wide_(needs_wide_indices(request, architecture)) {}

  KernelSource write() {
    std::vector<KernelText> kernels;
    const bool has_keys = units_ * shape_.keys * shape_.depth > 0, has_values = units_ * shape_.keys * shape_.width > 0;
    // The sums of the softmax, which the first kernel leaves, are read by the others.
    if (units_ * rows_ > 0 && (shape_.depth > 0 || has_values)) kernels.push_back(by_queries());
    if (has_keys) kernels.push_back(by_keys());
    if (has_values) kernels.push_back(by_values());
    if (kernels.empty()) return {};
    constexpr std::int64_t kNumbers = 3, kBytes = 8;
    return assemble(request_, device_text("lines"), kernels, std::max<std::int64_t>(1, units_ * rows_) * kNumbers * kBytes);
  }

 private:
  [[nodiscard]] std::string element() const { return name_of(request_.input_types[0].dtype); }
  static std::string held(std::int64_t length) {
    return std::to_string(blocks_of(std::clamp<std::int64_t>(length, 1, kMostHeld), kThreadsOfLine));
  }

  /// A kernel whose blocks have some of `lines` lines each, and some of the `length` columns of a result.
  KernelText begin(const char* name, std::int64_t lines, std::int64_t length) {
    KernelText kernel(name, wide_);
    const std::int64_t blocks = blocks_of(lines, kLines), columns = std::clamp<std::int64_t>(length, 1, kMostHeld);
    kernel.launch.block = {static_cast<unsigned>(kLines * kThreadsOfLine), 1, 1};
    kernel.launch.grid = {static_cast<unsigned>(blocks * units_),
                          static_cast<unsigned>(std::max<std::int64_t>(1, blocks_of(length, columns))), 1};
    kernel << "  typedef Compute<" << element() << "> Number;\n"
           << "  __shared__ Number own_here[16][33], others_here[32][33], weights[16][33], lines_here[32][" << std::to_string(columns)
           << "];\n"
           << "  const Number lowest = (Number)-__longlong_as_double(0x7ff0000000000000LL), scale = (Number)" << literal(shape_.scale)
           << ";\n"
           << "  const int place = (int)threadIdx.x % 16, own = (int)threadIdx.x / 16;\n";
    const auto constant = [&](const char* what, std::int64_t value) {
      kernel << "  const Index " << what << " = " << kernel.index(value) << ";\n";
    };
    constant("rows", rows_);
    constant("queries", std::max<std::int64_t>(1, shape_.queries));
    constant("keys", shape_.keys);
    constant("depth", shape_.depth);
    constant("width", shape_.width);
    constant("all_rows", units_ * rows_);
    kernel << "  const Index unit = " << kernel.quotient("(Index)blockIdx.x", blocks) << ", first = ((Index)blockIdx.x - unit * "
           << kernel.index(blocks) << ") * 16;\n  const Index batch = " << kernel.quotient("unit", shape_.key_heads)
           << ", head = unit - batch * " << kernel.index(shape_.key_heads) << ";\n";
    std::vector<ops::Strides> strides{shape_.query_batch, shape_.key_batch, shape_.value_batch};
    if (!shape_.mask.empty())
      strides.emplace_back(shape_.mask.begin(), shape_.mask.begin() + static_cast<std::ptrdiff_t>(shape_.batch.size()));
    kernel.locate(make_walk(shape_.batch, strides), "batch");
    kernel
        << "  const Index query_at = at0 + head * rows * depth, key_at = at1 + head * keys * depth, value_at = at2 + head * keys * width;\n"
        << "  const Index g_at = unit * rows * width, first_column = (Index)blockIdx.y * " << std::to_string(columns) << ";\n"
        << "  Number* const shifts = (Number*)scratch + unit * rows;\n"
        << "  Number* const shares = shifts + all_rows;\n  Number* const means = shares + all_rows;\n"
        << "  Number held[" << held(length) << "];\n#pragma unroll\n  for (int k = 0; k < " << held(length) << "; ++k) held[k] = 0;\n";
    return kernel;
  }

  /// Declares NAME_near and NAME_far: the products of the thread's line with the lines `from + place` and `from + place + 16` of others.
  static void dots(KernelText& kernel, const std::string& name, const LinesOf& own, const LinesOf& others) {
    kernel << "    Number " << name << "_near = 0, " << name << "_far = 0;\n    for (Index inner = 0; inner < " << own.length
           << "; inner += 32) {\n"
           << "      for (int t = (int)threadIdx.x; t < 16 * 32; t += 256)\n"
           << "        own_here[t / 32][t % 32] = first + t / 32 < " << own.count << " && inner + t % 32 < " << own.length
           << "\n            ? " << own.element("first + t / 32", "inner + t % 32") << " : (Number)0;\n"
           << "      for (int t = (int)threadIdx.x; t < 32 * 32; t += 256)\n"
           << "        others_here[t / 32][t % 32] = from + t / 32 < " << others.count << " && inner + t % 32 < " << own.length
           << "\n            ? " << others.element("from + t / 32", "inner + t % 32") << " : (Number)0;\n"
           << "      __syncthreads();\n#pragma unroll 8\n      for (int k = 0; k < 32; ++k) {\n"
           << "        " << name << "_near += own_here[own][k] * others_here[place][k];\n"
           << "        " << name << "_far += own_here[own][k] * others_here[place + 16][k];\n      }\n      __syncthreads();\n    }\n";
  }

  /// Makes scores of products: scaled, with the mask, and the lowest number where the query does not see the key.
  void mask(KernelText& kernel, bool own_is_query) {
    for (const auto& [which, other] : {std::pair("near", "from + place"), std::pair("far", "from + place + 16")}) {
      const std::string score = std::string("score_") + which, own = "first + own";
      kernel << "    {\n      const Index row = " << (own_is_query ? own : other) << ", key = " << (own_is_query ? other : own) << ";\n"
             << "      bool sees = row < rows && key < keys;\n      " << score << " *= scale;\n";
      const bool masked = !shape_.mask.empty();
      if (shape_.causal || masked) kernel << "      const Index member = row / queries, query = row - member * queries;\n";
      if (shape_.causal) kernel << "      sees = sees && key < query + 1 + keys - queries;\n";
      if (masked) {
        const std::size_t axes = shape_.batch.size();
        const std::string at = "x4[at3 + (head * " + kernel.index(shape_.group()) + " + member) * " + kernel.index(shape_.mask[axes]) +
                               " + query * " + kernel.index(shape_.mask[axes + 1]) + " + key * " + kernel.index(shape_.mask.back()) + "]";
        if (request_.input_types[4].dtype == DType::boolean) {
          kernel << "      if (sees) sees = " << at << ";\n";
        } else {
          kernel << "      if (sees) " << score << " += load(" << at << ");\n";
        }
      }
      kernel << "      if (!sees) " << score << " = lowest;\n    }\n";
    }
  }

  /// Adds to the held columns the lines of a tile, each times its weight.
  static void accumulate(KernelText& kernel, const LinesOf& lines, std::int64_t length) {
    const std::string columns = std::to_string(std::clamp<std::int64_t>(length, 1, kMostHeld));
    kernel << "    for (int t = (int)threadIdx.x; t < 32 * " << columns << "; t += 256) {\n      const int line = t / " << columns
           << ", column = t % " << columns << ";\n      lines_here[line][column] = from + line < " << lines.count
           << " && first_column + column < " << lines.length << "\n          ? " << lines.element("from + line", "first_column + column")
           << " : (Number)0;\n    }\n    __syncthreads();\n#pragma unroll\n    for (int k = 0; k < " << held(length)
           << "; ++k) {\n      const int column = place + k * 16;\n      if (column < " << columns
           << ")\n        for (int line = 0; line < 32; ++line) held[k] += weights[own][line] * lines_here[line][column];\n    }\n"
           << "    __syncthreads();\n";
  }
  static void store(KernelText& kernel, const std::string& element, const char* result, const LinesOf& lines, std::int64_t length) {
    kernel << "  if (first + own < " << lines.count << ")\n#pragma unroll\n    for (int k = 0; k < " << held(length)
           << "; ++k) {\n      const int column = place + k * 16;\n      if (column < "
           << std::to_string(std::clamp<std::int64_t>(length, 1, kMostHeld)) << " && first_column + column < " << lines.length
           << ")\n        " << result << "[(unit * " << lines.count << " + first + own) * " << lines.length
           << " + first_column + column] = store<" << element << ">(held[k]);\n    }\n";
  }

  KernelText by_queries() {
    KernelText kernel = begin("attention_gradient_by_queries", rows_, shape_.depth);
    kernel << "  Number largest = lowest, sum = 0, mean = 0;\n  for (Index from = 0; from < keys; from += 32) {\n";
    dots(kernel, "score", kQueries, kKeys);
    dots(kernel, "product", kGradients, kValues);
    mask(kernel, true);
    kernel << R"(    Number top = largest;
    if (top < score_near) top = score_near;
    if (top < score_far) top = score_far;
    top = merge_in_warp<Larger, 16, 1>(top);
    const Number by = top == largest ? (Number)1 : exp(largest - top), base = top == lowest ? (Number)0 : top;
    largest = top;
    score_near = exp(score_near - base);
    score_far = exp(score_far - base);
    sum = sum * by + merge_in_warp<Sum, 16, 1>(score_near + score_far);
    mean = mean * by + merge_in_warp<Sum, 16, 1>(score_near * product_near + score_far * product_far);
  }
  const Number shift = largest == lowest ? (Number)0 : largest, share = sum == 0 ? (Number)0 : 1 / sum;
  mean *= share;
  if (first + own < rows && place == 0 && blockIdx.y == 0) {
    shifts[first + own] = shift;
    shares[first + own] = share;
    means[first + own] = mean;
  }
  for (Index from = 0; from < keys; from += 32) {
)";
    dots(kernel, "score", kQueries, kKeys);
    dots(kernel, "product", kGradients, kValues);
    mask(kernel, true);
    kernel << R"(    weights[own][place] = exp(score_near - shift) * share * (product_near - mean) * scale;
    weights[own][place + 16] = exp(score_far - shift) * share * (product_far - mean) * scale;
)";
    accumulate(kernel, kKeys, shape_.depth);
    kernel << "  }\n";
    store(kernel, element(), "y0", kQueries, shape_.depth);
    return kernel;
  }

  /// The weights of the thread's key for the queries of a tile; 0 for a query that does not exist.
  static void weigh(KernelText& kernel, const std::string& factor) {
    for (const auto& [which, other] : {std::pair("near", "place"), std::pair("far", "place + 16")}) {
      const std::string row = std::string("from + ") + other, score = std::string("score_") + which;
      kernel << "    weights[own][" << other << "] = 0;\n    if (" << row << " < rows)\n      weights[own][" << other << "] = exp(" << score
             << " - shifts[" << row << "]) * shares[" << row << "]";
      if (!factor.empty()) kernel << " * (" << factor << "_" << which << " - means[" << row << "]) * scale";
      kernel << ";\n";
    }
  }

  KernelText by_keys() {
    KernelText kernel = begin("attention_gradient_by_keys", shape_.keys, shape_.depth);
    kernel << "  for (Index from = 0; from < rows; from += 32) {\n";
    dots(kernel, "score", kKeys, kQueries);
    dots(kernel, "product", kValues, kGradients);
    mask(kernel, false);
    weigh(kernel, "product");
    accumulate(kernel, kQueries, shape_.depth);
    kernel << "  }\n";
    store(kernel, element(), "y1", kKeys, shape_.depth);
    return kernel;
  }

  KernelText by_values() {
    KernelText kernel = begin("attention_gradient_by_values", shape_.keys, shape_.width);
    kernel << "  for (Index from = 0; from < rows; from += 32) {\n";
    dots(kernel, "score", kKeys, kQueries);
    mask(kernel, false);
    weigh(kernel, "");
    accumulate(kernel, kGradients, shape_.width);
    kernel << "  }\n";
    store(kernel, element(), "y2", kValues, shape_.width);
    return kernel;
  }

  const KernelRequest& request_;
  const ops::AttentionShape shape_;
  const std::int64_t rows_, units_;  ///< queries of all heads that share keys; heads of keys in all batches
  const bool wide_;
};

KernelSource build_attention_gradient(const KernelRequest& request, const Architecture& architecture) {
  return AttentionGradientWriter(request, architecture).write();
}

}  // namespace

constexpr KernelRow rows::attention_gradient{build_attention_gradient};

}  // namespace cleave::runtime::cuda

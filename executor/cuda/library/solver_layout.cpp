#include "executor/cuda/library/solver_layout.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kAreaAlignment = 256, kCopyThreads = 256, kMostCopyBlocks = 4096;

constexpr std::pair<std::string_view, SolverOp> kOps[] = {{"solve", SolverOp::solve},       {"inv", SolverOp::inverse},
                                                          {"det", SolverOp::determinant},   {"slogdet", SolverOp::log_determinant},
                                                          {"cholesky", SolverOp::cholesky}, {"qr", SolverOp::qr},
                                                          {"eigh", SolverOp::eigen},        {"eigvalsh", SolverOp::eigenvalues},
                                                          {"svd", SolverOp::svd},           {"svdvals", SolverOp::singular_values}};

Shape result_shape(const KernelRequest& request) {
  return request.input_types.size() > 1 ? request.result_types[0].shape : Shape();
}
struct Operand {
  Shape extents;
  [[nodiscard]] const Shape& shape() const { return extents; }
};
ops::MatrixBatch batch_of(const KernelRequest& request) {
  std::vector<Operand> operands;
  for (const TensorType& type : request.input_types) operands.push_back({type.shape});
  return {result_shape(request), operands};
}

/// The text of `Size from0(Size i)`: the number of elements before matrix i in an operand.
std::string offset_text(const KernelRequest& request, const ops::MatrixBatch& batch, std::size_t operand) {
  const Shape& result = request.result_types[0].shape;
  Shape axes = request.input_types.size() == 1      ? ops::batch_of(request.input_types[0].shape)
               : request.input_types[1].rank() == 1 ? Shape(result.begin(), result.end() - 1)
                                                    : ops::batch_of(result);
  std::string text = "__device__ Size from" + std::to_string(operand) + "(Size i) {\n  Size at = 0;\n";
  std::int64_t inner = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); inner *= *axis++) {
    const std::int64_t stride = *axis > 1 ? batch.offset(operand, inner) : 0;
    text += "  at += i % " + std::to_string(*axis) + " * " + std::to_string(stride) + ";\n  i /= " + std::to_string(*axis) + ";\n";
  }
  return text + "  return at;\n}\n";
}

/// The texts of the kernels' bodies. Each is the work of one thread, for element e of matrix i.
struct Bodies {
  std::string before, between, behind;
  std::int64_t before_count = 0, between_count = 0, behind_count = 0;
  bool fault = false;
};

constexpr const char* kSingularIf = "  if (e == 0 && info[i] != 0) BAD(i);\n";

Bodies bodies_of(const SolverLayout& l) {
  const std::int64_t square = l.n * l.n, all = l.m * l.n;
  switch (l.op) {
    // The library sees our A as A', and so solves with the transposed flag. The right-hand side is transposed, and the result back.
    case SolverOp::solve:
      return {
          "  if (e < n * n) a[i * n * n + e] = x0[from0(i) + e];\n"
          "  if (e < n * sides) b[i * n * sides + e % sides * n + e / sides] = x1[from1(i) + e];\n",
          {},
          "  y0[i * n * sides + e] = b[i * n * sides + e % sides * n + e / sides];\n" + std::string(kSingularIf),
          std::max(square, l.n * l.sides),
          0,
          l.n * l.sides,
          true};
    // The library sees A', whose column-major inverse is the row-major inverse of A: nothing is transposed.
    case SolverOp::inverse:
      return {"  a[i * n * n + e] = x0[from0(i) + e];\n  y0[i * n * n + e] = e / n == e % n ? (Real)1 : (Real)0;\n",
              {},
              "  if (e == 0 && info[i] != 0) BAD(i);\n",
              square,
              0,
              1,
              true};
    // A and A' have the same determinant.
    case SolverOp::determinant:
    case SolverOp::log_determinant: {
      std::string text = R"(  double logarithm = 0;
  int sign = info[i] != 0 ? 0 : 1;
  for (Size j = 0; j < n; ++j) {
    const Real pivot = a[i * n * n + j * n + j];
    if ((pivots[i * n + j] != (int)j + 1) != (pivot < 0)) sign = -sign;
    logarithm += log(fabs((double)pivot));
  }
)";
      text += l.op == SolverOp::determinant ? "  y0[i] = sign == 0 ? (Real)0 : (Real)(sign * exp(logarithm));\n"
                                            : "  y0[i] = (Real)sign;\n  y1[i] = sign == 0 ? (Real)log(0.0) : (Real)logarithm;\n";
      return {"  a[i * n * n + e] = x0[from0(i) + e];\n", {}, std::move(text), square, 0, 1, false};
    }
    // The lower triangle is mirrored. The library's column-major U then is our row-major L, and is written where it belongs.
    case SolverOp::cholesky:
      return {"  const Size r = e / n, c = e % n;\n  y0[i * n * n + e] = x0[from0(i) + (r > c ? e : c * n + r)];\n",
              {},
              std::string("  const Size r = e / n, c = e % n;\n  if (") + (l.upper ? "c < r" : "c > r") +
                  ") y0[i * n * n + e] = 0;\n  if ((r == c && !(y0[i * n * n + e] > 0)) || info[i] != 0) BAD(i);\n",
              square,
              0,
              square,
              true};
    // A is transposed. R is read before Q overwrites it. Both get the signs that make R's diagonal positive.
    case SolverOp::qr:
      return {"  a[i * m * n + e % n * m + e / n] = x0[from0(i) + e];\n",
              "  const Size r = e / n, c = e % n;\n  const Real sign = a[i * m * n + r * m + r] < 0 ? (Real)-1 : (Real)1;\n"
              "  y1[i * k * n + e] = c < r ? (Real)0 : sign * a[i * m * n + c * m + r];\n  if (c == 0) s[i * k + r] = sign;\n",
              "  const Size r = e / k, c = e % k;\n  y0[i * m * k + e] = s[i * k + c] * a[i * m * n + c * m + r];\n",
              all,
              l.k * l.n,
              l.m * l.k,
              false};
    // The mirrored lower triangle is its own transpose. Eigenvectors are columns, and so are transposed.
    case SolverOp::eigen:
    case SolverOp::eigenvalues: {
      std::string before = R"(  const Size r = e / n, c = e % n;
  const Real value = x0[from0(i) + (r > c ? e : c * n + r)];
  const bool finite = value - value == 0;
  a[i * n * n + e] = finite ? value : (Real)0;
  if (!finite) BAD(i);
)";
      const std::string lost = "  if (e == 0 && info[i] != 0) BAD(-1 - i);\n";
      if (l.op == SolverOp::eigenvalues) return {std::move(before), {}, lost, square, 0, 1, true};
      return {std::move(before), {}, R"(  const Real* column = a + i * n * n + e * n;
  const bool turned = WRONG(n, column, 1);
  for (Size r = 0; r < n; ++r) y1[i * n * n + r * n + e] = turned ? -column[r] : column[r];
)" + lost, square, 0, l.n, true};
    }
    // The library requires at least as many rows as columns: a tall A is transposed; a wide A is passed unchanged, which the library sees
    // as A'.
    case SolverOp::svd:
    case SolverOp::singular_values: {
      std::string before = std::string("  const Real value = x0[from0(i) + e];\n  const bool finite = value - value == 0;\n") +
                           (l.tall() ? "  a[i * m * n + e % n * m + e / n]" : "  a[i * m * n + e]") +
                           " = finite ? value : (Real)0;\n  if (!finite) BAD(i);\n";
      const std::string lost = "  if (e == 0 && info[i] != 0) BAD(-1 - i);\n";
      if (l.op == SolverOp::singular_values) return {std::move(before), {}, lost, all, 0, 1, true};
      // Column e of u and row e of vh get the same sign. Tall: from column-major U and V'. Wide: the library's U and V', read row-major,
      // are our V' and U.
      std::string behind = l.tall() ? R"(  const Real *left = b + i * m * k + e * m, *right = vt + i * k * n + e;
  const Size step = 1, far = k;
)"
                                    : R"(  const Real *left = vt + i * m * k + e, *right = b + i * n * k + e * n;
  const Size step = k, far = 1;
)";
      behind += R"(  const bool turned = WRONG(m, left, step);
  for (Size r = 0; r < m; ++r) y0[i * m * k + r * k + e] = turned ? -left[r * step] : left[r * step];
  for (Size c = 0; c < n; ++c) y2[i * k * n + e * n + c] = turned ? -right[c * far] : right[c * far];
)";
      return {std::move(before), {}, behind + lost, all, 0, l.k, true};
    }
  }
  return {};
}

std::string kernel_text(const SolverLayout& l, const KernelRequest& request, const char* entry, const std::string& body, bool fault) {
  std::string text = std::string("\nextern \"C\" __global__ void ") + entry + "(";
  for (std::size_t i = 0; i < request.input_types.size(); ++i) text += "const Real* x" + std::to_string(i) + ", ";
  for (std::size_t i = 0; i < request.result_types.size(); ++i) text += "Real* y" + std::to_string(i) + ", ";
  text += "char* scratch, ";
  if (fault) text += "Size* fault, Size ticket, ";
  text += "Size total, Size each) {\n";
  const auto number = [&](const char* name, std::int64_t value) {
    text += std::string("  const Size ") + name + " = " + std::to_string(value) + ";\n";
  };
  number("m", l.m), number("n", l.n), number("k", l.k), number("sides", l.sides);
  const auto part = [&](const char* type, const char* name, std::int64_t at) {
    text += std::string("  ") + type + "* const " + name + " = (" + type + "*)(scratch + " + std::to_string(at) + ");\n";
  };
  part("Real", "a", l.a), part("Real", "b", l.b), part("Real", "vt", l.vt), part("Real", "s", l.s);
  part("int", "pivots", l.pivots), part("int", "info", l.info);
  text += "  (void)m, (void)n, (void)k, (void)sides, (void)a, (void)b, (void)vt, (void)s, (void)pivots, (void)info;\n";
  text += "  for (Size at = blockIdx.x * (Size)blockDim.x + threadIdx.x; at < total; at += (Size)gridDim.x * blockDim.x) {\n";
  text += "  const Size i = at / each, e = at % each;\n" + body + "  }\n}\n";
  return text;
}

}  // namespace

std::optional<SolverOp> solver_op(const OpDef& op) {
  for (const auto& [name, known] : kOps)
    if (name == op.name) return known;
  return std::nullopt;
}

SolverLayout::SolverLayout(const KernelRequest& request) : op(*solver_op(*request.op)) {
  const TensorType& x = request.input_types[0];
  wide = x.dtype == DType::f64;
  upper = request.attributes->get_or("upper", false);
  const ops::MatrixBatch batch = batch_of(request);
  count = batch.count();
  m = batch.extents(0).first, n = batch.extents(0).second;
  k = std::min(m, n);
  if (request.input_types.size() > 1) sides = batch.extents(1).second;
  std::int64_t end = 0;
  const auto take = [&](std::int64_t& at, std::int64_t bytes) {
    at = end;
    end += (count * bytes + kAreaAlignment - 1) / kAreaAlignment * kAreaAlignment;
  };
  take(a, m * n * element());
  take(b, std::max(n * sides, std::max(m, n) * k) * element());
  take(vt, k * k * element());
  take(s, k * element());
  take(tau, k * element());
  take(pivots, n * 4);
  take(info, 2 * 4);  // one word more: the info of getrs, which is not read
  work = end;
}

KernelSource solver_kernels(const SolverLayout& layout, const KernelRequest& request) {
  KernelSource source;
  const Bodies bodies = bodies_of(layout);
  const ops::MatrixBatch batch = batch_of(request);
  source.text = std::string("typedef ") + (layout.wide ? "double" : "float") + " Real;\ntypedef long long Size;\n";
  source.text += R"(
#define BAD(number) do { if (fault[0] == 0) { fault[1] = (number); __threadfence_system(); fault[0] = ticket; } } while (0)

/// Of each vector the first component that is at least half as large as the largest is to be positive.
__device__ bool WRONG(Size count, const Real* vector, Size step) {
  Real largest = 0;
  for (Size j = 0; j < count; ++j) largest = fabs(vector[j * step]) > largest ? fabs(vector[j * step]) : largest;
  for (Size j = 0; j < count; ++j)
    if (fabs(vector[j * step]) >= largest / 2) return vector[j * step] < 0;
  return false;
}
)";
  for (std::size_t i = 0; i < request.input_types.size(); ++i) source.text += offset_text(request, batch, i);
  const auto add = [&](const char* entry, const std::string& body, std::int64_t each) {
    if (each == 0) return;
    source.text += kernel_text(layout, request, entry, body, bodies.fault);
    KernelLaunch launch;
    launch.entry = entry;
    const std::int64_t total = layout.count * each;
    launch.grid[0] = static_cast<unsigned>(std::min(kMostCopyBlocks, (total + kCopyThreads - 1) / kCopyThreads));
    launch.block[0] = static_cast<unsigned>(kCopyThreads);
    launch.constants = {total, each};
    source.launches.push_back(std::move(launch));
  };
  add("before", bodies.before, bodies.before_count);
  add("between", bodies.between, bodies.between_count);
  add("behind", bodies.behind, bodies.behind_count);
  if (!bodies.fault) return source;
  const char* wrong = layout.op == SolverOp::solve || layout.op == SolverOp::inverse ? ops::kSingular
                      : layout.op == SolverOp::cholesky                              ? ops::kNotPositiveDefinite
                                                                                     : ops::kNotFinite;
  source.fault = "`" + std::string(request.op->name) + "`: the matrix " + wrong;
  source.describe_fault = [batch, wrong, op = std::string(request.op->name)](std::int64_t number) {
    return "`" + op +
           "`: " + (number >= 0 ? batch.problem(number, wrong) : batch.problem(-1 - number, "has values that cuSOLVER did not find"));
  };
  return source;
}

}  // namespace cleave::runtime::cuda

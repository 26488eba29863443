// Measures the speed that matrix products can reach: cuBLASLt, called directly, with the best of its proposed algorithms.
#include "executor/cuda/matmul/matmul_choice.h"
#include "tools/gpu/probe/gpu.h"

namespace cleave::probe {

using runtime::MatmulPlan;

namespace {

constexpr std::int64_t kWorkspace = 32 << 20;
constexpr int kMostAlgorithms = 8;

struct Kind {
  const char* name;
  DType type;
  Precision precision;
  std::uint64_t base, mask, sign;  ///< parameters for random numbers' bits (kernels.cpp: fill)
};
constexpr Kind kKinds[] = {{"f32", DType::f32, Precision::f32, 0x3E000000, 0x00FFFFFF, 0x80000000},
                           {"tf32", DType::f32, Precision::tf32, 0x3E000000, 0x00FFFFFF, 0x80000000},
                           {"bf16", DType::bf16, Precision::f32, 0x3E003E00, 0x00FF00FF, 0x80008000},
                           {"f16", DType::f16, Precision::f32, 0x30003000, 0x07FF07FF, 0x80008000}};

class Products {
 public:
  Products(Gpu& gpu, const BlasApi& blas) : gpu_(gpu), blas_(blas) {}
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products() {
    if (handle_ && !gpu_.context().stuck()) blas_.cublasLtDestroy(handle_);
  }

  Status make(std::int64_t elements) {
    if (Status status = check(blas_, "cublasLtCreate", blas_.cublasLtCreate(&handle_)); !status) return status;
    const Result<CUfunction> fill = gpu_.function("fill");
    if (!fill) return fill.error();
    fill_ = *fill;
    words_ = static_cast<std::uint64_t>(elements);
    for (auto& [memory, bytes] : {std::pair(&a_, 4 * elements), {&b_, 4 * elements}, {&c_, 4 * elements}, {&workspace_, kWorkspace}}) {
      Result<DeviceMemory> made = make_device_memory(gpu_.context(), bytes);
      if (!made) return made.error();
      *memory = *std::move(made);
    }
    return {};
  }

  Status take_numbers(const Kind& kind) {
    for (const CUdeviceptr memory : {a_.get(), b_.get()})
      if (Status status = gpu_.launch(fill_, 1024, 256, {memory, words_, kind.base, kind.mask, kind.sign}); !status) return status;
    return gpu_.wait();
  }

  Result<nlohmann::ordered_json> measure(const Kind& kind, const MatmulPlan& plan) {
    const Result<MatmulDescription> product = MatmulDescription::make(blas_, plan, kind.precision);
    if (!product) return product.error();
    const Result<std::vector<cublasLtMatmulHeuristicResult_t>> named = algorithms(*product);
    if (!named) return named.error();
    const cublasLtMatmulHeuristicResult_t* best = nullptr;
    double least = 0;
    for (const cublasLtMatmulHeuristicResult_t& each : *named) {
      if (!multiply(*product, each, 1)) continue;  // the library sometimes proposes algorithms that do not run
      const double before = calibration::now();
      if (Status status = multiply(*product, each, 3); !status) return status.error();
      const double taken = calibration::now() - before;
      if (!best || taken < least) best = &each, least = taken;
    }
    if (!best) return Error{std::string("cuBLASLt has no algorithm for ") + kind.name + " " + to_string(plan), {}, ErrorKind::machine};
    const Result<Times> times = gpu_.time([&](int calls) { return multiply(*product, *best, calls); });
    if (!times) return times.error();
    const double flops = 2.0 * static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k);
    return nlohmann::ordered_json{{"type", kind.name},
                                  {"m", plan.m},
                                  {"n", plan.n},
                                  {"k", plan.k},
                                  {"seconds", times->in_a_row},
                                  {"seconds_alone", times->alone},
                                  {"flops_per_second", flops / times->in_a_row},
                                  {"algorithms", named->size()},
                                  {"best", best - named->data()}};
  }

 private:
  Result<std::vector<cublasLtMatmulHeuristicResult_t>> algorithms(const MatmulDescription& product) const {
    BlasPreference preference;
    Status status = runtime::cuda::make(blas_, preference, "cublasLtMatmulPreferenceCreate",
                                        [&](cublasLtMatmulPreference_t* made) { return blas_.cublasLtMatmulPreferenceCreate(made); });
    const std::uint64_t bytes = kWorkspace;
    if (status)
      status = check(
          blas_, "cublasLtMatmulPreferenceSetAttribute",
          blas_.cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    if (!status) return status.error();
    std::vector<cublasLtMatmulHeuristicResult_t> found(kMostAlgorithms);
    int count = 0;
    status = check(blas_, "cublasLtMatmulAlgoGetHeuristic",
                   blas_.cublasLtMatmulAlgoGetHeuristic(handle_, product.product.get(), product.a.get(), product.b.get(), product.c.get(),
                                                        product.c.get(), preference.get(), kMostAlgorithms, found.data(), &count));
    if (!status) return status.error();
    found.resize(static_cast<std::size_t>(count));
    return found;
  }

  /// Makes `calls` products, and waits. The library is column-major: our b is its a.
  Status multiply(const MatmulDescription& product, const cublasLtMatmulHeuristicResult_t& with, int calls) {
    const float one = 1, zero = 0;
    const auto memory = [](const DeviceMemory& m) { return reinterpret_cast<void*>(m.get()); };
    for (int i = 0; i < calls; ++i) {
      const cublasStatus_t result =
          blas_.cublasLtMatmul(handle_, product.product.get(), &one, memory(b_), product.a.get(), memory(a_), product.b.get(), &zero,
                               memory(c_), product.c.get(), memory(c_), product.c.get(), &with.algo, memory(workspace_), with.workspaceSize,
                               reinterpret_cast<cudaStream_t>(gpu_.stream()));
      if (Status status = check(blas_, "cublasLtMatmul", result); !status) return status;
    }
    return gpu_.wait();
  }

  Gpu& gpu_;
  const BlasApi& blas_;
  cublasLtHandle_t handle_ = nullptr;
  CUfunction fill_ = nullptr;
  std::uint64_t words_ = 0;
  DeviceMemory a_, b_, c_, workspace_;
};

}  // namespace

Status measure_products(Gpu& gpu, const BlasApi& blas, const ProbeOptions& options, Rows& rows) {
  std::int64_t largest = 1;  // elements of the largest operand
  for (const auto& [m, n, k] : options.products) largest = std::max({largest, m * n, m * k, n * k});
  Products products(gpu, blas);
  if (Status status = products.make(largest); !status) return status;
  for (const Kind& kind : kKinds) {
    if (Status status = products.take_numbers(kind); !status) return status;
    for (const auto& [m, n, k] : options.products) {
      if (!rows.another()) return {};
      MatmulPlan plan;
      plan.dtype = kind.type;
      plan.m = m;
      plan.n = n;
      plan.k = k;
      Result<nlohmann::ordered_json> row = products.measure(kind, plan);
      if (!row) return row.error();
      rows.add(*std::move(row));
    }
  }
  return {};
}

}  // namespace cleave::probe

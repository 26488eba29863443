#include "tests/support/fake_blas.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/array/tensor_type.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct FakeMatmul {
  bool transpose_a = false, transpose_b = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;  ///< type of alpha and beta
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  CUdeviceptr bias = 0;
};

namespace {

/// The fake's content of cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t mark = 0;  ///< marks the algorithm as the fake's
  std::uint64_t index = 0, workspace = 0;
  std::uint64_t product = 0;  ///< a hash of the product that it was made for
  std::uint32_t alignment[4] = {};
  std::uint64_t unused[2] = {};
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint64_t kMark = 0xB1A5'A160;

/// The fake's algorithms. Their order follows the library's own estimate, which is wrong.
struct Known {
  double seconds = 0;
  std::uint64_t workspace = 0;
  std::uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  bool runs = true;
};
constexpr Known kAlgorithms[] = {{3e-6, 1 << 20, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, true},
                                 {1e-6, 0, CUBLASLT_REDUCTION_SCHEME_INPLACE, true},
                                 {1e-6, 1 << 28, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, true},
                                 {1e-6, 0, CUBLASLT_REDUCTION_SCHEME_NONE, false},
                                 {2e-6, 4096, CUBLASLT_REDUCTION_SCHEME_NONE, true},
                                 {2.5e-6, 0, CUBLASLT_REDUCTION_SCHEME_NONE, true}};

std::size_t width(int type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double load(int type, const std::byte* from) {
  switch (type) {
    case CUDA_R_64F: return read<double>(from);
    case CUDA_R_16F: return static_cast<float>(read<Half>(from));
    case CUDA_R_16BF: return static_cast<float>(read<BFloat16>(from));
    default: return read<float>(from);
  }
}

void store(int type, std::byte* to, double value) {
  const auto narrow = static_cast<float>(value);
  const Half half(narrow);
  const BFloat16 brain(narrow);
  const void* from = &narrow;
  if (type == CUDA_R_64F) from = &value;
  if (type == CUDA_R_16F) from = &half;
  if (type == CUDA_R_16BF) from = &brain;
  std::memcpy(to, from, width(type));
}

/// An operand as the tensor cores round it.
double rounded(cublasComputeType_t compute, double value) {
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return static_cast<float>(BFloat16(static_cast<float>(value)));
  if (compute != CUBLAS_COMPUTE_32F_FAST_TF32) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(mantissa * 2048) / 2048, exponent);
}

/// The offset of an element, in bytes.
std::size_t place(const FakeMatrix& matrix, std::int64_t batch, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(batch * matrix.stride + column * matrix.leading + row) * width(matrix.type);
}

std::size_t size(const FakeMatrix& matrix) {
  return place(matrix, matrix.batch - 1, matrix.rows - 1, matrix.columns - 1) + width(matrix.type);
}

double finished(cublasLtEpilogue_t epilogue, double value) {
  if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) return value > 0 ? value : 0;
  if (epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
    return 0.5 * value * (1 + std::tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
  return value;
}

bool has_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

struct Operand {
  FakeMatrix shape;
  std::byte* data = nullptr;
  [[nodiscard]] double at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return load(shape.type, data + place(shape, batch, row, column));
  }
};

void multiply(const FakeMatmul& product, double alpha, const Operand& a, const Operand& b, const Operand& d, const std::byte* bias) {
  const std::int64_t inner = product.transpose_a ? a.shape.rows : a.shape.columns;
  for (std::int64_t batch = 0; batch < d.shape.batch; ++batch) {
    for (std::int64_t i = 0; i < d.shape.rows; ++i) {
      for (std::int64_t j = 0; j < d.shape.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += rounded(product.compute, product.transpose_a ? a.at(batch, k, i) : a.at(batch, i, k)) *
                 rounded(product.compute, product.transpose_b ? b.at(batch, j, k) : b.at(batch, k, j));
        sum *= alpha;
        if (bias) sum += load(d.shape.type, bias + static_cast<std::size_t>(i) * width(d.shape.type));
        store(d.shape.type, d.data + place(d.shape, batch, i, j), finished(product.epilogue, sum));
      }
    }
  }
}

std::uint64_t mix(std::uint64_t sum, std::int64_t value) {
  return (sum ^ static_cast<std::uint64_t>(value)) * 0x100000001b3U;
}

/// A hash of the product and shapes that an algorithm is made for.
std::uint64_t hash(const FakeMatmul& product, const FakeMatrix (&shapes)[3]) {
  std::uint64_t sum = mix(mix(mix(0xcbf29ce484222325U, product.transpose_a), product.transpose_b), product.compute);
  sum = mix(mix(sum, product.scale), product.epilogue);
  for (const FakeMatrix& m : shapes) {
    for (const std::int64_t part : {static_cast<std::int64_t>(m.type), m.rows, m.columns, m.leading, m.batch, m.stride})
      sum = mix(sum, part);
  }
  return sum;
}

/// The reason why the library rejects a matrix; null if it accepts it.
const char* problem(const FakeMatrix& m) {
  if (m.rows <= 0 || m.columns <= 0) return "a matrix without elements";
  if (m.leading < m.rows) return "a leading dimension below the number of rows";
  if (m.batch < 1) return "a batch of no matrices";
  if (m.batch == 1 && m.stride != 0) return "a stride without a batch";
  if (m.stride < 0 || (m.stride > 0 && m.stride < m.leading * (m.columns - 1) + m.rows)) return "a batch of matrices that overlap";
  return nullptr;
}

/// The reason why the library rejects a product; null if it accepts it.
const char* problem(const FakeMatmul& product, const FakeMatrix (&shapes)[3]) {
  const auto& [a, b, d] = shapes;
  for (const FakeMatrix& m : shapes) {
    if (const char* found = problem(m)) return found;
    const bool narrow = &m != &d && m.type == CUDA_R_16BF && d.type == CUDA_R_32F && product.compute == CUBLAS_COMPUTE_32F;
    if (m.type != d.type && !narrow) return "operands of a type that does not go with the result's";
    if (m.batch != d.batch) return "batches of different lengths";
  }
  if (a.type != b.type) return "operands of different types";
  if (d.batch > 1 && d.stride == 0) return "results on top of each other";
  const auto rows = [](const FakeMatrix& m, bool transposed) { return transposed ? m.columns : m.rows; };
  const auto columns = [](const FakeMatrix& m, bool transposed) { return transposed ? m.rows : m.columns; };
  if (rows(a, product.transpose_a) != d.rows || columns(b, product.transpose_b) != d.columns) return "a result of the wrong shape";
  if (columns(a, product.transpose_a) != rows(b, product.transpose_b)) return "inner extents that differ";
  const bool wide = d.type == CUDA_R_64F, single = d.type == CUDA_R_32F;
  if (product.scale != (wide ? CUDA_R_64F : CUDA_R_32F)) return "a scale of the wrong type";
  const cublasComputeType_t compute = product.compute;
  const bool fast = compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16BF;
  if (compute != (wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F) && !(single && fast))
    return "a compute type that does not go with the data";
  if (wide && product.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return "an epilogue on f64";
  return nullptr;
}

}  // namespace

struct FakeBlas {
  using D = FakeDriver;

  template <class Act>
  static cublasStatus_t call(const char* name, Act&& act) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    if (d.enter(name) != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
    return act(d);
  }
  template <class Live, class Handle>
  static cublasStatus_t give_back(const char* name, Live D::*live, Handle handle) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    const CUresult result = d.enter(name);
    if ((d.*live).erase(static_cast<void*>(handle)) == 0) d.misuse(std::string(name) + " of what is not there");
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  }
  static cublasStatus_t refuse(D& d, const char* why, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
    d.misuse(std::string("cuBLASLt is given ") + why);
    return status;
  }

  /// Copies `value` into `to`, whose size must be the attribute's.
  template <class T, class To>
  static cublasStatus_t take(D& d, const void* value, std::size_t bytes, To& to) {
    if (!value || bytes != sizeof(T)) return refuse(d, "an attribute of the wrong size");
    to = static_cast<To>(read<T>(value));
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t set(D& d, FakeMatrix& matrix, cublasLtMatrixLayoutAttribute_t attribute, const void* value, std::size_t bytes) {
    switch (attribute) {
      case CUBLASLT_MATRIX_LAYOUT_LD: return take<std::int64_t>(d, value, bytes, matrix.leading);
      case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return take<std::int32_t>(d, value, bytes, matrix.batch);
      case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return take<std::int64_t>(d, value, bytes, matrix.stride);
      default: return refuse(d, "an attribute of matrices that the fake does not know");
    }
  }
  static cublasStatus_t set(D& d, FakeMatmul& product, cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes) {
    int operation = CUBLAS_OP_N;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_TRANSA:
        status = take<std::int32_t>(d, value, bytes, operation);
        product.transpose_a = operation == CUBLAS_OP_T;
        return status;
      case CUBLASLT_MATMUL_DESC_TRANSB:
        status = take<std::int32_t>(d, value, bytes, operation);
        product.transpose_b = operation == CUBLAS_OP_T;
        return status;
      case CUBLASLT_MATMUL_DESC_EPILOGUE: return take<std::uint32_t>(d, value, bytes, product.epilogue);
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take<CUdeviceptr>(d, value, bytes, product.bias);
      default: return refuse(d, "an attribute of products that the fake does not know");
    }
  }
  static cublasStatus_t set(D& d, FakePreference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                            std::size_t bytes) {
    switch (attribute) {
      case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return take<std::uint64_t>(d, value, bytes, preference.workspace);
      case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return take<std::uint32_t>(d, value, bytes, preference.schemes);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return take<std::uint32_t>(d, value, bytes, preference.alignment[0]);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return take<std::uint32_t>(d, value, bytes, preference.alignment[1]);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return take<std::uint32_t>(d, value, bytes, preference.alignment[2]);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return take<std::uint32_t>(d, value, bytes, preference.alignment[3]);
      default: return refuse(d, "an attribute of preferences that the fake does not know");
    }
  }
  template <class Held, class Handle, class Attribute>
  static cublasStatus_t set_attribute(const char* name, Held D::*held, Handle handle, Attribute attribute, const void* value,
                                      std::size_t bytes) {
    return call(name, [&](D& d) {
      auto* found = d.find(d.*held, handle, "handle of cuBLASLt");
      if (!found) return CUBLAS_STATUS_INVALID_VALUE;
      if constexpr (std::is_same_v<std::remove_pointer_t<decltype(found)>, std::shared_ptr<FakeMatmul>>) {
        return set(d, **found, attribute, value, bytes);
      } else {
        return set(d, *found, attribute, value, bytes);
      }
    });
  }

  /// A product and its matrices as the library sees them, or the reason why it rejects them.
  struct Seen {
    FakeMatmul product;
    FakeMatrix shapes[3];
  };
  static cublasStatus_t look(D& d, cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const cublasLtMatrixLayout_t (&layouts)[4],
                             Seen& seen) {
    if (!d.blas_handles_.contains(handle)) return refuse(d, "no handle", CUBLAS_STATUS_NOT_INITIALIZED);
    const auto* product = d.find(d.products_, operation, "product");
    const FakeMatrix* shapes[4];
    for (std::size_t i = 0; i < 4; ++i) shapes[i] = d.find(d.matrices_, layouts[i], "matrix");
    if (!product || std::find(shapes, shapes + 4, nullptr) != shapes + 4) return CUBLAS_STATUS_INVALID_VALUE;
    if (layouts[2] != layouts[3]) return refuse(d, "a c that is not d");
    seen = {**product, {*shapes[0], *shapes[1], *shapes[3]}};
    const char* why = problem(seen.product, seen.shapes);
    return why ? refuse(d, why) : CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const cublasLtMatrixLayout_t (&layouts)[4],
                                  cublasLtMatmulPreference_t preference, int most, cublasLtMatmulHeuristicResult_t* results, int* count) {
    return call("cublasLtMatmulAlgoGetHeuristic", [&](D& d) {
      Seen seen;
      if (const cublasStatus_t status = look(d, handle, operation, layouts, seen); status != CUBLAS_STATUS_SUCCESS) return status;
      const FakePreference* wanted = d.find(d.preferences_, preference, "preference");
      if (!wanted || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
      *count = 0;
      if (d.offered_ == D::Algorithms::none) return CUBLAS_STATUS_NOT_SUPPORTED;
      for (std::size_t i = 0; i < std::size(kAlgorithms) && *count < most; ++i) {
        const Known& known = kAlgorithms[i];
        if (known.workspace > wanted->workspace || (known.scheme != 0 && (known.scheme & wanted->schemes) == 0)) continue;
        Algorithm algorithm{kMark, i, known.workspace, hash(seen.product, seen.shapes), {}, {}};
        std::copy_n(wanted->alignment, 4, algorithm.alignment);
        cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
        result = {};
        std::memcpy(&result.algo, &algorithm, sizeof algorithm);
        result.workspaceSize = known.workspace;
        result.state = CUBLAS_STATUS_SUCCESS;
      }
      return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    });
  }

  /// Whether the fake offered this algorithm for this product.
  static bool fits(const Algorithm& algorithm, const Seen& seen) {
    return algorithm.mark == kMark && algorithm.index < std::size(kAlgorithms) && algorithm.product == hash(seen.product, seen.shapes) &&
           algorithm.workspace == kAlgorithms[algorithm.index].workspace;
  }

  static cublasStatus_t algorithm_check(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const cublasLtMatrixLayout_t (&layouts)[4],
                                        const cublasLtMatmulAlgo_t* chosen, cublasLtMatmulHeuristicResult_t* result) {
    return call("cublasLtMatmulAlgoCheck", [&](D& d) {
      Seen seen;
      if (const cublasStatus_t status = look(d, handle, operation, layouts, seen); status != CUBLAS_STATUS_SUCCESS) return status;
      const auto algorithm = read<Algorithm>(chosen);
      if (!fits(algorithm, seen)) return CUBLAS_STATUS_NOT_SUPPORTED;
      result->workspaceSize = algorithm.workspace;
      result->state = CUBLAS_STATUS_SUCCESS;
      return CUBLAS_STATUS_SUCCESS;
    });
  }

  struct Arguments {
    const void *alpha, *beta;
    const void* operands[4];  ///< a, b, c, d
    const cublasLtMatmulAlgo_t* algorithm;
    void* workspace;
    std::size_t workspace_bytes;
    cudaStream_t stream;
  };

  static cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const cublasLtMatrixLayout_t (&layouts)[4],
                               const Arguments& with) {
    return call("cublasLtMatmul", [&](D& d) {
      Seen seen;
      if (const cublasStatus_t status = look(d, handle, operation, layouts, seen); status != CUBLAS_STATUS_SUCCESS) return status;
      if (with.operands[2] != with.operands[3]) return refuse(d, "a product that is not in place");
      if (!with.algorithm) return refuse(d, "no algorithm");
      const auto algorithm = read<Algorithm>(with.algorithm);
      if (!fits(algorithm, seen)) return refuse(d, "an algorithm of another product");
      if (algorithm.workspace > with.workspace_bytes || (algorithm.workspace > 0 && !with.workspace))
        return refuse(d, "too small a workspace");
      for (std::size_t i = 0; i < 4; ++i) {
        if (reinterpret_cast<std::uintptr_t>(with.operands[i]) % algorithm.alignment[i] != 0)
          return refuse(d, "an operand that is less aligned than was said");
      }
      if (has_bias(seen.product.epilogue) && seen.product.bias == 0) return refuse(d, "no bias");
      if (!kAlgorithms[algorithm.index].runs || d.offered_ == D::Algorithms::broken) return CUBLAS_STATUS_NOT_SUPPORTED;
      const auto* stream = d.find(d.streams_, with.stream, "stream");
      const bool first = d.called_.emplace(algorithm.index, algorithm.product).second;
      if (first && stream && (*stream)->captured) d.misuse("an algorithm called for the first time in a capture");
      ++d.algorithms_[algorithm.index];
      return put(d, seen, algorithm, with);
    });
  }

  static cublasStatus_t put(D& d, const Seen& seen, const Algorithm& algorithm, const Arguments& with) {
    const bool wide = seen.product.scale == CUDA_R_64F;
    const double scale = wide ? read<double>(with.alpha) : read<float>(with.alpha);
    if ((wide ? read<double>(with.beta) : read<float>(with.beta)) != 0) return refuse(d, "a product that adds to something");
    const auto address = [](const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); };
    const std::array<CUdeviceptr, 3> addresses = {address(with.operands[0]), address(with.operands[1]), address(with.operands[3])};
    for (std::size_t i = 0; i < 2; ++i) {
      if (addresses[i] < addresses[2] + size(seen.shapes[2]) && addresses[2] < addresses[i] + size(seen.shapes[i]))
        return refuse(d, "a result on top of an operand");
    }
    const auto action = [&d, seen, scale, addresses, workspace = address(with.workspace), bytes = algorithm.workspace] {
      if (!d.computes_) return;
      Operand operands[3];
      for (std::size_t i = 0; i < 3; ++i) operands[i] = {seen.shapes[i], d.resolve(addresses[i], size(seen.shapes[i]))};
      const auto bias_bytes = static_cast<std::size_t>(seen.shapes[2].rows) * width(seen.shapes[2].type);
      const std::byte* bias = has_bias(seen.product.epilogue) ? d.resolve(seen.product.bias, bias_bytes) : nullptr;
      if (std::byte* scratch = bytes > 0 ? d.resolve(workspace, bytes) : nullptr) std::memset(scratch, 0xFF, bytes);
      if (!operands[0].data || !operands[1].data || !operands[2].data) return;
      for (const Operand& operand : {operands[0], operands[1]}) d.products_of_nan_ += std::isnan(operand.at(0, 0, 0)) ? 1 : 0;
      multiply(seen.product, scale, operands[0], operands[1], operands[2], bias);
    };
    const CUresult result =
        d.enqueue(reinterpret_cast<CUstream>(with.stream), {action, nullptr, 0, false, kAlgorithms[algorithm.index].seconds, "matmul"});
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  }

  static void fill_handles(cuda::BlasApi& t) {
    t.cublasLtCreate = [](cublasLtHandle_t* handle) {
      return call("cublasLtCreate", [&](D& d) {
        d.blas_handles_.insert(*handle = static_cast<cublasLtHandle_t>(d.new_handle()));
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtDestroy = [](cublasLtHandle_t handle) { return give_back("cublasLtDestroy", &D::blas_handles_, handle); };
    t.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* preference) {
      return call("cublasLtMatmulPreferenceCreate", [&](D& d) {
        *preference = static_cast<cublasLtMatmulPreference_t>(d.new_handle());
        d.preferences_[*preference] = {};
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t preference) {
      return give_back("cublasLtMatmulPreferenceDestroy", &D::preferences_, preference);
    };
    t.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                                                const void* value, std::size_t bytes) {
      return set_attribute("cublasLtMatmulPreferenceSetAttribute", &D::preferences_, preference, attribute, value, bytes);
    };
    t.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                      std::int64_t leading) {
      return call("cublasLtMatrixLayoutCreate", [&](D& d) {
        *layout = static_cast<cublasLtMatrixLayout_t>(d.new_handle());
        d.matrices_[*layout] = {type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading, 1, 0};
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t layout) {
      return give_back("cublasLtMatrixLayoutDestroy", &D::matrices_, layout);
    };
    t.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                            std::size_t bytes) {
      return set_attribute("cublasLtMatrixLayoutSetAttribute", &D::matrices_, layout, attribute, value, bytes);
    };
  }

  static void fill_products(cuda::BlasApi& t) {
    t.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* product, cublasComputeType_t compute, cudaDataType_t scale) {
      return call("cublasLtMatmulDescCreate", [&](D& d) {
        *product = static_cast<cublasLtMatmulDesc_t>(d.new_handle());
        d.products_[*product] = std::make_shared<FakeMatmul>();
        d.products_[*product]->compute = compute;
        d.products_[*product]->scale = scale;
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t product) {
      return give_back("cublasLtMatmulDescDestroy", &D::products_, product);
    };
    t.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const void* value,
                                          std::size_t bytes) {
      return set_attribute("cublasLtMatmulDescSetAttribute", &D::products_, product, attribute, value, bytes);
    };
    t.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                          cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                          cublasLtMatmulPreference_t preference, int most, cublasLtMatmulHeuristicResult_t* results,
                                          int* count) {
      return heuristic(handle, product, {a, b, c, d}, preference, most, results, count);
    };
    t.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                   const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
      return algorithm_check(handle, product, {a, b, c, d}, algorithm, result);
    };
    t.cublasLtMatmul = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                          cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                          cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                          void* workspace, std::size_t bytes, cudaStream_t stream) {
      return matmul(handle, product, {a_layout, b_layout, c_layout, d_layout},
                    {alpha, beta, {a, b, c, d}, algorithm, workspace, bytes, stream});
    };
  }
};

void fill_fake_blas(cuda::BlasApi& t) {
  t.cublasLtGetVersion = [] { return std::size_t{130000}; };
  t.cublasLtGetStatusName = [](cublasStatus_t) { return "as asked of the fake cuBLASLt"; };
  FakeBlas::fill_handles(t);
  FakeBlas::fill_products(t);
}

}  // namespace cleave::testing

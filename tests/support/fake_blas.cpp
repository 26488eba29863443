#include "tests/support/fake_blas.h"

#include <cmath>
#include <cstring>

#include "graph/tensor_type.h"
#include "tests/support/fake_driver.h"

namespace cleave::testing {

struct FakeMatmul {
  bool transpose_a = false, transpose_b = false;
  bool in_double = false;  ///< alpha and beta
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  CUdeviceptr bias = 0;
};

namespace {

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

/// Where an element is, in bytes.
std::size_t place(const FakeMatrix& matrix, std::int64_t batch, std::int64_t row, std::int64_t column) {
  const std::int64_t inside = matrix.row_major ? row * matrix.leading + column : column * matrix.leading + row;
  return static_cast<std::size_t>(batch * matrix.stride + inside) * width(matrix.type);
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
          sum +=
              (product.transpose_a ? a.at(batch, k, i) : a.at(batch, i, k)) * (product.transpose_b ? b.at(batch, j, k) : b.at(batch, k, j));
        sum *= alpha;
        if (bias) sum += load(d.shape.type, bias + static_cast<std::size_t>(i) * width(d.shape.type));
        store(d.shape.type, d.data + place(d.shape, batch, i, j), finished(product.epilogue, sum));
      }
    }
  }
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

  static cublasStatus_t set(D& d, FakeMatrix& matrix, cublasLtMatrixLayoutAttribute_t attribute, const void* value) {
    switch (attribute) {
      case CUBLASLT_MATRIX_LAYOUT_ORDER: matrix.row_major = read<std::int32_t>(value) == CUBLASLT_ORDER_ROW; break;
      case CUBLASLT_MATRIX_LAYOUT_LD: matrix.leading = read<std::int64_t>(value); break;
      case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: matrix.batch = read<std::int32_t>(value); break;
      case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: matrix.stride = read<std::int64_t>(value); break;
      default: d.misuse("an attribute of matrices that the fake does not know"); return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t set(D& d, FakeMatmul& product, cublasLtMatmulDescAttributes_t attribute, const void* value) {
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_TRANSA: product.transpose_a = read<std::int32_t>(value) == CUBLAS_OP_T; break;
      case CUBLASLT_MATMUL_DESC_TRANSB: product.transpose_b = read<std::int32_t>(value) == CUBLAS_OP_T; break;
      case CUBLASLT_MATMUL_DESC_EPILOGUE: product.epilogue = read<cublasLtEpilogue_t>(value); break;
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER: product.bias = read<CUdeviceptr>(value); break;
      default: d.misuse("an attribute of products that the fake does not know"); return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                               cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                               const void*, cublasLtMatrixLayout_t, void* to, cublasLtMatrixLayout_t layout, cudaStream_t stream) {
    return call("cublasLtMatmul", [&](D& d) {
      const auto* product = d.find(d.products_, operation, "product");
      const FakeMatrix* shapes[] = {d.find(d.matrices_, a_layout, "matrix"), d.find(d.matrices_, b_layout, "matrix"),
                                    d.find(d.matrices_, layout, "matrix")};
      if (!d.blas_handles_.contains(handle)) d.misuse("a product without a handle");
      if (!product || !shapes[0] || !shapes[1] || !shapes[2]) return CUBLAS_STATUS_INVALID_VALUE;
      const bool wide = (*product)->in_double;
      const double scale = wide ? read<double>(alpha) : read<float>(alpha);
      if ((wide ? read<double>(beta) : read<float>(beta)) != 0) d.misuse("a product that adds to something");
      const CUdeviceptr addresses[] = {reinterpret_cast<CUdeviceptr>(a), reinterpret_cast<CUdeviceptr>(b),
                                       reinterpret_cast<CUdeviceptr>(to)};
      Operand operands[3] = {{*shapes[0], nullptr}, {*shapes[1], nullptr}, {*shapes[2], nullptr}};
      const auto action = [&d, now = **product, scale, operands, addresses = std::to_array(addresses)]() mutable {
        for (std::size_t i = 0; i < 3; ++i) operands[i].data = d.resolve(addresses[i], size(operands[i].shape));
        const auto bytes = static_cast<std::size_t>(operands[2].shape.rows) * width(operands[2].shape.type);
        const std::byte* bias = has_bias(now.epilogue) ? d.resolve(now.bias, bytes) : nullptr;
        if (operands[0].data && operands[1].data && operands[2].data) multiply(now, scale, operands[0], operands[1], operands[2], bias);
      };
      return d.enqueue(reinterpret_cast<CUstream>(stream), {action, nullptr, 0, false}) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                                                                                        : CUBLAS_STATUS_EXECUTION_FAILED;
    });
  }

  /// Handles and preferences: nothing is asked of them but to be there.
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
        d.blas_handles_.insert(*preference = static_cast<cublasLtMatmulPreference_t>(d.new_handle()));
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t preference) {
      return give_back("cublasLtMatmulPreferenceDestroy", &D::blas_handles_, preference);
    };
    t.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void*,
                                                std::size_t) {
      return call("cublasLtMatmulPreferenceSetAttribute", [](D&) { return CUBLAS_STATUS_SUCCESS; });
    };
    t.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                      std::int64_t leading) {
      return call("cublasLtMatrixLayoutCreate", [&](D& d) {
        *layout = static_cast<cublasLtMatrixLayout_t>(d.new_handle());
        d.matrices_[*layout] = {type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading, 1, 0, false};
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t layout) {
      return give_back("cublasLtMatrixLayoutDestroy", &D::matrices_, layout);
    };
    t.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                            std::size_t) {
      return call("cublasLtMatrixLayoutSetAttribute", [&](D& d) {
        FakeMatrix* matrix = d.find(d.matrices_, layout, "matrix");
        return matrix ? set(d, *matrix, attribute, value) : CUBLAS_STATUS_INVALID_VALUE;
      });
    };
  }

  static void fill_products(cuda::BlasApi& t) {
    t.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* product, cublasComputeType_t, cudaDataType_t scale) {
      return call("cublasLtMatmulDescCreate", [&](D& d) {
        *product = static_cast<cublasLtMatmulDesc_t>(d.new_handle());
        d.products_[*product] = std::make_shared<FakeMatmul>();
        d.products_[*product]->in_double = scale == CUDA_R_64F;
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t product) {
      return give_back("cublasLtMatmulDescDestroy", &D::products_, product);
    };
    t.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute, const void* value,
                                          std::size_t) {
      return call("cublasLtMatmulDescSetAttribute", [&](D& d) {
        const auto* product = d.find(d.products_, handle, "product");
        return product ? set(d, **product, attribute, value) : CUBLAS_STATUS_INVALID_VALUE;
      });
    };
    t.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                          cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                          cublasLtMatmulHeuristicResult_t* results, int* count) {
      return call("cublasLtMatmulAlgoGetHeuristic", [&](D&) {
        results[0] = {};
        *count = 1;
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*,
                                   cublasLtMatmulHeuristicResult_t* result) {
      return call("cublasLtMatmulAlgoCheck", [&](D&) {
        *result = {};
        return CUBLAS_STATUS_SUCCESS;
      });
    };
    t.cublasLtMatmul = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                          cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                          cublasLtMatrixLayout_t c_layout, void* to, cublasLtMatrixLayout_t layout, const cublasLtMatmulAlgo_t*, void*,
                          std::size_t, cudaStream_t stream) {
      return matmul(handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, to, layout, stream);
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

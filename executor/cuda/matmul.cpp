#include "executor/cuda/matmul.h"

namespace cleave::cuda {

bool has_matmul(const KernelRequest&) {
  return false;
}

MatmulPlan matmul_plan(const KernelRequest&) {
  return {};
}

Result<std::unique_ptr<Matmul>> Matmul::prepare(const BlasApi&, cublasLtHandle_t, const MatmulPlan&, Precision, std::int64_t,
                                                const std::string&) {
  return Error{"matrix products have no CUDA kernel yet", {}, ErrorKind::machine};
}

}  // namespace cleave::cuda

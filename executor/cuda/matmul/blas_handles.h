// BlasHandles: what cuBLASLt hands out, given back when its owner ends, and the check that its calls go through.
#pragma once

#include <memory>
#include <string>

#include "executor/cuda/matmul/blas_api.h"

namespace cleave::runtime::cuda {

/// Success, or what went wrong in `call` as an Error (machine).
inline Status check(const BlasApi& api, const char* call, cublasStatus_t result) {
  if (result == CUBLAS_STATUS_SUCCESS) return {};
  return Error{std::string(call) + " failed: " + api.cublasLtGetStatusName(result), {}, ErrorKind::machine};
}

/// Gives `Handle` back by the call `Destroy`.
template <class Handle, auto Destroy>
struct BlasRelease {
  using pointer = Handle;
  const BlasApi* api = nullptr;
  void operator()(Handle handle) const { (api->*Destroy)(handle); }
};
template <class Handle, auto Destroy>
using BlasOwned = std::unique_ptr<std::remove_pointer_t<Handle>, BlasRelease<Handle, Destroy>>;

using BlasProduct = BlasOwned<cublasLtMatmulDesc_t, &BlasApi::cublasLtMatmulDescDestroy>;
using BlasMatrix = BlasOwned<cublasLtMatrixLayout_t, &BlasApi::cublasLtMatrixLayoutDestroy>;
using BlasPreference = BlasOwned<cublasLtMatmulPreference_t, &BlasApi::cublasLtMatmulPreferenceDestroy>;

/// Sets `owned` to what `make(&handle)`, the library's `call`, hands out.
template <class Handle, auto Destroy, class Make>
Status make(const BlasApi& api, std::unique_ptr<std::remove_pointer_t<Handle>, BlasRelease<Handle, Destroy>>& owned, const char* call,
            Make&& make) {
  Handle handle = nullptr;
  if (Status status = check(api, call, make(&handle)); !status) return status;
  owned = {handle, BlasRelease<Handle, Destroy>{&api}};
  return {};
}

}  // namespace cleave::runtime::cuda

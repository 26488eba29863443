// BlasHandles: owning handles of cuBLASLt's descriptors, and `check` for the results of its calls.
#pragma once

#include <memory>
#include <string>

#include "executor/cuda/matmul/blas_api.h"

namespace cleave::runtime::cuda {

/// Success, or an Error (machine) that says why `call` failed.
inline Status check(const BlasApi& api, const char* call, cublasStatus_t result) {
  if (result == CUBLAS_STATUS_SUCCESS) return {};
  return Error{std::string(call) + " failed: " + api.cublasLtGetStatusName(result), {}, ErrorKind::machine};
}

/// A deleter that releases `Handle` by the call `Destroy`.
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

/// Sets `owned` to the handle that `make(&handle)`, the library's `call`, creates.
template <class Handle, auto Destroy, class Make>
Status make(const BlasApi& api, std::unique_ptr<std::remove_pointer_t<Handle>, BlasRelease<Handle, Destroy>>& owned, const char* call,
            Make&& make) {
  Handle handle = nullptr;
  if (Status status = check(api, call, make(&handle)); !status) return status;
  owned = {handle, BlasRelease<Handle, Destroy>{&api}};
  return {};
}

}  // namespace cleave::runtime::cuda

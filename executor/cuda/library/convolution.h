// conv by cuDNN. What it has no algorithm for is left to the kernel of our own (kernels/convolution.cpp). Knows no device: memory comes
// with each call.
#pragma once

#include "executor/cuda/library/library_op.h"

namespace cleave::runtime::cuda {

/// What one device's convolutions share: the library's handle.
class Dnn {
 public:
  static Result<std::shared_ptr<Dnn>> open(const DnnApi& api, const Context& context);
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;
  ~Dnn();

  [[nodiscard]] const DnnApi& api() const { return api_; }
  [[nodiscard]] DnnHandle handle() const { return handle_; }
  [[nodiscard]] bool stuck() const { return context_.stuck(); }
  /// Success, or what went wrong in `call`.
  [[nodiscard]] Status check(const char* call, DnnResult result) const;

 private:
  Dnn(const DnnApi& api, const Context& context) : api_(api), context_(context) {}

  const DnnApi& api_;
  const Context& context_;
  DnnHandle handle_ = nullptr;
};

/// Of floating types, with as much padding behind as before as far as windows see it, in numbers that fit into 32 bits.
bool has_convolution(const KernelRequest& request);
/// Nothing: the library refuses it.
Result<std::optional<LibraryOp>> prepare_convolution(const std::shared_ptr<Dnn>& dnn, const KernelRequest& request);

}  // namespace cleave::runtime::cuda

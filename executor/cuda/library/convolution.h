// `conv` by cuDNN: `prepare_convolution`. Convolutions for which cuDNN has no algorithm run on cleave's own kernel
// (kernels/convolution.cpp). Knows no device: memory is passed with each call.
#pragma once

#include "executor/cuda/library/library_op.h"

namespace cleave::runtime::cuda {

/// The library handle that one device's convolutions share.
class Dnn {
 public:
  static Result<std::shared_ptr<Dnn>> open(const DnnApi& api, const Context& context);
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;
  ~Dnn();

  [[nodiscard]] const DnnApi& api() const { return api_; }
  [[nodiscard]] DnnHandle handle() const { return handle_; }
  [[nodiscard]] bool stuck() const { return context_.stuck(); }
  /// Success, or an Error that says why `call` failed.
  [[nodiscard]] Status check(const char* call, DnnResult result) const;

 private:
  Dnn(const DnnApi& api, const Context& context) : api_(api), context_(context) {}

  const DnnApi& api_;
  const Context& context_;
  DnnHandle handle_ = nullptr;
};

/// True if cuDNN may take the convolution: floating types, symmetric padding (as far as windows reach into it), and numbers that fit into
/// 32 bits.
bool has_convolution(const KernelRequest& request);
/// Nothing if the library refuses the convolution.
Result<std::optional<LibraryOp>> prepare_convolution(const std::shared_ptr<Dnn>& dnn, const KernelRequest& request);

}  // namespace cleave::runtime::cuda

#include "executor/cuda/library/convolution.h"

#include <algorithm>
#include <limits>

#include "graph/ops/convolution.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostWork = std::size_t{256} << 20;  ///< bytes of workspace; algorithms that need more are skipped
constexpr int kMostOffers = 8;

DnnType type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return DnnType::f64;
    case DType::f16: return DnnType::f16;
    case DType::bf16: return DnnType::bf16;
    default: return DnnType::f32;
  }
}

/// True if the library does not support the request. That is no error, because cleave's own kernel takes it.
bool refuses(DnnResult result) {
  const int code = static_cast<int>(result);
  constexpr int kBadParameter8 = 3, kNotSupported8 = 9;  // cuDNN 8's codes; cuDNN 9 numbers kinds of errors by thousands
  return code == kBadParameter8 || code == kNotSupported8 || (code >= 2000 && code < 4000);
}

std::vector<int> strides_of(const std::vector<int>& extents) {
  std::vector<int> strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * extents[i + 1];
  return strides;
}

/// The library's descriptors of one convolution, destroyed with this object.
class Descriptions {
 public:
  explicit Descriptions(std::shared_ptr<Dnn> dnn) : dnn_(std::move(dnn)) {}
  Descriptions(const Descriptions&) = delete;
  Descriptions& operator=(const Descriptions&) = delete;
  ~Descriptions() {
    if (dnn_->stuck()) return;
    for (DnnTensor tensor : {x, y, bias})
      if (tensor) api().cudnnDestroyTensorDescriptor(tensor);
    if (weights) api().cudnnDestroyFilterDescriptor(weights);
    if (convolution) api().cudnnDestroyConvolutionDescriptor(convolution);
  }

  /// Creates the descriptors; `failed` becomes the name of the first call that failed.
  DnnResult make(const KernelRequest& request, const char*& failed) {
    const ops::Convolution conv = ops::convolution_of(request.input_types, *request.attributes);
    const DType dtype = request.result_types[0].dtype;
    const DnnType type = type_of(dtype);
    const std::size_t first = conv.window[0].in == 1 && conv.window[0].kernel == 1 && conv.window[0].out == 1 ? 1 : 0;
    const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
    std::vector<int> ins = {as_int(conv.batch), as_int(conv.groups * conv.channels)},
                     outs = {as_int(conv.batch), as_int(conv.groups * conv.outputs)};
    std::vector<int> taps = {as_int(conv.groups * conv.outputs), as_int(conv.channels)}, biases = {1, outs[1]};
    std::vector<int> pads, strides, dilations;
    for (std::size_t a = first; a < conv.window.size(); ++a) {
      const ops::WindowAxis& axis = conv.window[a];
      ins.push_back(as_int(axis.in)), outs.push_back(as_int(axis.out)), taps.push_back(as_int(axis.kernel)), biases.push_back(1);
      pads.push_back(as_int(axis.before)), strides.push_back(as_int(axis.stride)), dilations.push_back(as_int(axis.dilation));
    }
    DnnResult result = DnnResult::success;
    const auto then = [&](const char* call, auto&& act) {
      if (result != DnnResult::success) return;
      result = act();
      if (result != DnnResult::success) failed = call;
    };
    const auto tensor = [&](DnnTensor& made, const std::vector<int>& extents) {
      then("cudnnCreateTensorDescriptor", [&] { return api().cudnnCreateTensorDescriptor(&made); });
      then("cudnnSetTensorNdDescriptor", [&] {
        return api().cudnnSetTensorNdDescriptor(made, type, as_int(static_cast<std::int64_t>(extents.size())), extents.data(),
                                                strides_of(extents).data());
      });
    };
    tensor(x, ins);
    tensor(y, outs);
    if (request.input_types.size() > 2) tensor(bias, biases);
    then("cudnnCreateFilterDescriptor", [&] { return api().cudnnCreateFilterDescriptor(&weights); });
    then("cudnnSetFilterNdDescriptor", [&] {
      return api().cudnnSetFilterNdDescriptor(weights, type, DnnFormat::channels_first, as_int(static_cast<std::int64_t>(taps.size())),
                                              taps.data());
    });
    then("cudnnCreateConvolutionDescriptor", [&] { return api().cudnnCreateConvolutionDescriptor(&convolution); });
    then("cudnnSetConvolutionNdDescriptor", [&] {
      return api().cudnnSetConvolutionNdDescriptor(convolution, as_int(static_cast<std::int64_t>(pads.size())), pads.data(), strides.data(),
                                                   dilations.data(), DnnMode::cross_correlation,
                                                   dtype == DType::f64 ? DnnType::f64 : DnnType::f32);
    });
    then("cudnnSetConvolutionGroupCount", [&] { return api().cudnnSetConvolutionGroupCount(convolution, as_int(conv.groups)); });
    then("cudnnSetConvolutionMathType", [&] { return api().cudnnSetConvolutionMathType(convolution, math_of(dtype)); });
    return result;
  }

  /// Keeps f32 true f32: by default the library would round operands to TF32.
  static DnnMath math_of(DType dtype) { return dtype == DType::f32 || dtype == DType::f64 ? DnnMath::multiply_add : DnnMath::tensor_cores; }

  [[nodiscard]] const DnnApi& api() const { return dnn_->api(); }

  DnnTensor x = nullptr, y = nullptr, bias = nullptr;
  DnnFilter weights = nullptr;
  DnnConvolution convolution = nullptr;

 private:
  const std::shared_ptr<Dnn> dnn_;
};

class ConvolutionCall final : public LibraryCall {
 public:
  ConvolutionCall(const std::shared_ptr<Dnn>& dnn, DType dtype) : dnn_(dnn), d_(dnn), dtype_(dtype) {}

  /// False if the library refuses the convolution.
  Result<bool> make(const KernelRequest& request) {
    const char* failed = nullptr;
    const DnnResult result = d_.make(request, failed);
    if (refuses(result)) return false;
    if (Status status = dnn_->check(failed, result); !status) return status.error();
    return choose();
  }

  [[nodiscard]] std::size_t work_bytes() const { return work_bytes_; }

  Status enqueue(CUstream stream, const OperandAddresses& operands) override {
    const auto memory = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    const float narrow[] = {1, 0};
    const double wide[] = {1, 0};
    const bool f64 = dtype_ == DType::f64;
    const void *const one = f64 ? static_cast<const void*>(&wide[0]) : &narrow[0], *const zero = f64 ? static_cast<const void*>(&wide[1])
                                                                                                     : &narrow[1];
    void* const y = memory(operands.results[0]);
    const DnnApi& api = dnn_->api();
    Status status = dnn_->check("cudnnSetStream", api.cudnnSetStream(dnn_->handle(), stream));
    if (status) {
      status = dnn_->check("cudnnConvolutionForward",
                           api.cudnnConvolutionForward(dnn_->handle(), one, d_.x, memory(operands.inputs[0]), d_.weights,
                                                       memory(operands.inputs[1]), d_.convolution, algorithm_,
                                                       work_bytes_ > 0 ? memory(operands.scratch) : nullptr, work_bytes_, zero, d_.y, y));
    }
    if (status && d_.bias) {
      status = dnn_->check("cudnnAddTensor", api.cudnnAddTensor(dnn_->handle(), one, d_.bias, memory(operands.inputs[2]), one, d_.y, y));
    }
    return status;
  }

 private:
  /// Takes the first of the library's proposals, best first, that is deterministic and uses no other arithmetic than was asked for.
  Result<bool> choose() {
    const DnnApi& api = dnn_->api();
    DnnOffer offers[kMostOffers];
    int count = 0;
    const DnnResult asked =
        api.cudnnGetConvolutionForwardAlgorithm_v7(dnn_->handle(), d_.x, d_.weights, d_.convolution, d_.y, kMostOffers, &count, offers);
    if (refuses(asked)) return false;
    if (Status status = dnn_->check("cudnnGetConvolutionForwardAlgorithm_v7", asked); !status) return status.error();
    const bool exact = Descriptions::math_of(dtype_) == DnnMath::multiply_add;
    for (int i = 0; i < count; ++i) {
      const DnnOffer& offer = offers[i];
      const bool rounds = offer.math == DnnMath::tensor_cores || offer.math == DnnMath::tensor_cores_with_rounding;
      if (offer.status != DnnResult::success || offer.deterministic == 0 || offer.work_bytes > kMostWork || (exact && rounds)) continue;
      // If tensor cores are allowed, the descriptor's math type must be the one that the proposal is for.
      const DnnMath math = exact ? DnnMath::multiply_add : offer.math;
      Status status = dnn_->check("cudnnSetConvolutionMathType", api.cudnnSetConvolutionMathType(d_.convolution, math));
      if (!status) return status.error();
      std::size_t bytes = 0;
      const DnnResult sized =
          api.cudnnGetConvolutionForwardWorkspaceSize(dnn_->handle(), d_.x, d_.weights, d_.convolution, d_.y, offer.algorithm, &bytes);
      if (refuses(sized) || (sized == DnnResult::success && bytes > kMostWork)) continue;
      if (status = dnn_->check("cudnnGetConvolutionForwardWorkspaceSize", sized); !status) return status.error();
      algorithm_ = offer.algorithm;
      work_bytes_ = bytes;
      return true;
    }
    return false;
  }

  const std::shared_ptr<Dnn> dnn_;
  Descriptions d_;
  const DType dtype_;
  DnnAlgorithm algorithm_{};
  std::size_t work_bytes_ = 0;
};

}  // namespace

Status Dnn::check(const char* call, DnnResult result) const {
  if (result == DnnResult::success) return {};
  return Error{std::string(call) + " failed: " + api_.cudnnGetErrorString(result), {}, ErrorKind::machine};
}

Result<std::shared_ptr<Dnn>> Dnn::open(const DnnApi& api, const Context& context) {
  std::shared_ptr<Dnn> dnn(new Dnn(api, context));
  if (Status status = dnn->check("cudnnCreate", api.cudnnCreate(&dnn->handle_)); !status) return status.error();
  return dnn;
}

Dnn::~Dnn() {
  if (handle_ && !stuck()) api_.cudnnDestroy(handle_);
}

bool has_convolution(const KernelRequest& request) {
  if (request.op != &op::conv) return false;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const DType dtype = request.result_types[0].dtype;
  if (!is_floating(dtype) || request.result_types[0].elements() == 0) return false;
  for (const TensorType& type : request.input_types)
    if (type.dtype != dtype || type.elements() == 0 || type.elements() > kMost) return false;
  if (request.result_types[0].elements() > kMost) return false;
  const ops::Convolution conv = ops::convolution_of(request.input_types, *request.attributes);
  return std::all_of(conv.window.begin(), conv.window.end(), [&](const ops::WindowAxis& axis) {
    const bool small = std::max({axis.before, axis.after, axis.stride, axis.dilation}) <= kMost / 4 && axis.span() <= kMost / 4;
    // The library pads both ends equally, and computes as many windows as fit.
    return small && axis.before >= 0 && (axis.in + 2 * axis.before - axis.span()) / axis.stride + 1 == axis.out &&
           axis.in + 2 * axis.before >= axis.span();
  });
}

Result<std::optional<LibraryOp>> prepare_convolution(const std::shared_ptr<Dnn>& dnn, const KernelRequest& request) {
  auto call = std::make_shared<ConvolutionCall>(dnn, request.result_types[0].dtype);
  Result<bool> made = call->make(request);
  if (!made) return made.error();
  if (!*made) return std::optional<LibraryOp>();
  LibraryOp op;
  op.around.scratch_bytes = static_cast<std::int64_t>(call->work_bytes());
  op.calls.push_back({0, std::move(call)});
  return std::optional(std::move(op));
}

}  // namespace cleave::runtime::cuda

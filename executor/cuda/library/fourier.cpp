// One cuFFT plan transforms all lines of a tensor. A plan has one stride and one distance between lines. Lines with other axes both before
// and after their axis therefore are copied end to end into scratch memory first, and back afterwards.
#include "executor/cuda/library/fourier.h"
#include "graph/vocabulary.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kThreads = 256, kMostBlocks = 4096;

enum class FourierKind : std::uint8_t { forward, backward, from_real, to_real };

std::optional<FourierKind> kind_of(const OpDef& op) {
  if (&op == &op::fft) return FourierKind::forward;
  if (&op == &op::ifft) return FourierKind::backward;
  if (&op == &op::rfft) return FourierKind::from_real;
  if (&op == &op::irfft) return FourierKind::to_real;
  return std::nullopt;
}

/// The layout of an operand: `before` times `behind` lines, whose numbers are `behind` apart. A (real, imaginary) pair is one number of two
/// `parts`.
struct Side {
  std::int64_t before = 1, extent = 1, behind = 1, parts = 1;

  Side(const Shape& shape, bool pairs, std::int64_t axis) : parts(pairs ? 2 : 1) {
    const auto rank = static_cast<std::int64_t>(shape.size()) - (pairs ? 1 : 0);
    if (axis < 0) axis += rank;
    for (std::int64_t a = 0; a < rank; ++a) (a < axis ? before : a > axis ? behind : extent) *= shape[static_cast<std::size_t>(a)];
  }
  [[nodiscard]] std::int64_t numbers() const { return before * extent * behind * parts; }
};

struct Transform {
  FourierKind kind;
  bool wide;  ///< f64
  Side in, out;

  explicit Transform(const KernelRequest& request)
      : kind(*kind_of(*request.op)),
        wide(request.input_types[0].dtype == DType::f64),
        in(request.input_types[0].shape, kind != FourierKind::from_real, request.attributes->get_or<std::int64_t>("axis", -1)),
        out(request.result_types[0].shape, kind != FourierKind::to_real, request.attributes->get_or<std::int64_t>("axis", -1)) {}

  [[nodiscard]] std::int64_t length() const { return kind == FourierKind::to_real ? out.extent : in.extent; }
  [[nodiscard]] std::int64_t lines() const { return in.before * in.behind; }
  [[nodiscard]] bool between() const { return in.before > 1 && in.behind > 1; }
  /// True if the input is copied first. A transform to real numbers overwrites its input, and its input must not have the imaginary parts
  /// that a real signal's transform cannot have.
  [[nodiscard]] bool gathers() const { return between() || kind == FourierKind::to_real; }
  [[nodiscard]] bool scatters() const { return between(); }
  [[nodiscard]] bool scales() const { return kind == FourierKind::backward || kind == FourierKind::to_real; }
  [[nodiscard]] std::int64_t bytes(const Side& side) const {
    return (side.numbers() * (wide ? 8 : 4) + kAlignment - 1) / kAlignment * kAlignment;
  }
  [[nodiscard]] FftType type() const {
    if (kind == FourierKind::from_real) return wide ? FftType::d2z : FftType::r2c;
    if (kind == FourierKind::to_real) return wide ? FftType::z2d : FftType::c2r;
    return wide ? FftType::z2z : FftType::c2c;
  }
};

// --- the kernels before and after the plan -----------------------------------------------------------------------------------------------

struct KernelText {
  const char* entry;
  const char* text;
};
constexpr KernelText kKernels[] = {{"gather", R"(
extern "C" __global__ void gather(const Real* x, Real* y, Real* lines, Size count, Size extent, Size behind, Size parts, Size length) {
  for (Size i = blockIdx.x * (Size)blockDim.x + threadIdx.x; i < count; i += (Size)gridDim.x * blockDim.x) {
    const Size k = i / parts % extent;
    const bool real = length > 0 && i % parts == 1 && (k == 0 || 2 * k == length);
    lines[i] = real ? (Real)0 : x[place(i, extent, behind, parts)];
  }
}
)"},
                                   {"scatter", R"(
extern "C" __global__ void scatter(const Real* x, Real* y, const Real* scratch, Size from, Size count, Size extent, Size behind, Size parts,
                                   Size length) {
  for (Size i = blockIdx.x * (Size)blockDim.x + threadIdx.x; i < count; i += (Size)gridDim.x * blockDim.x)
    y[place(i, extent, behind, parts)] = (Real)(scratch[from + i] / (double)length);
}
)"},
                                   {"scale", R"(
extern "C" __global__ void scale(const Real* x, Real* y, const Real* scratch, Size count, Size length) {
  for (Size i = blockIdx.x * (Size)blockDim.x + threadIdx.x; i < count; i += (Size)gridDim.x * blockDim.x)
    y[i] = (Real)(y[i] / (double)length);
}
)"}};

/// The text of the kernels that `launches` name.
std::string text_for(const Transform& transform, const std::vector<KernelLaunch>& launches) {
  std::string text = std::string("typedef ") + (transform.wide ? "double" : "float") + " Real;\ntypedef long long Size;\n";
  // place(): maps the index `i` of the end-to-end lines to the tensor's index; a pair has two indices.
  text += R"(
__device__ Size place(Size i, Size extent, Size behind, Size parts) {
  const Size number = i / parts, line = number / extent;
  return ((line / behind * extent + number % extent) * behind + line % behind) * parts + i % parts;
}
)";
  for (const KernelLaunch& launch : launches) {
    for (const auto& [entry, kernel] : kKernels) {
      if (launch.entry == entry) text += kernel;
    }
  }
  return text;
}

KernelLaunch launch_of(const char* entry, std::int64_t count, std::vector<std::int64_t> constants) {
  KernelLaunch launch;
  launch.entry = entry;
  launch.grid[0] = static_cast<unsigned>(std::min(kMostBlocks, (count + kThreads - 1) / kThreads));
  launch.block[0] = static_cast<unsigned>(kThreads);
  launch.constants = std::move(constants);
  return launch;
}

// --- the plan ----------------------------------------------------------------------------------------------------------------------------

Status check(const char* call, FftResult result) {
  if (result == FftResult::success) return {};
  static constexpr std::pair<int, const char*> names[] = {
      {0x1, "CUFFT_INVALID_PLAN"},   {0x2, "CUFFT_ALLOC_FAILED"}, {0x3, "CUFFT_INVALID_TYPE"}, {0x4, "CUFFT_INVALID_VALUE"},
      {0x5, "CUFFT_INTERNAL_ERROR"}, {0x6, "CUFFT_EXEC_FAILED"},  {0x7, "CUFFT_SETUP_FAILED"}, {0x8, "CUFFT_INVALID_SIZE"}};
  const int code = static_cast<int>(result);
  const auto* const name = std::find_if(std::begin(names), std::end(names), [&](const auto& known) { return known.first == code; });
  const std::string what = name == std::end(names) ? "cuFFT's error " + std::to_string(code) : name->second;
  return Error{std::string(call) + " failed: " + what, {}, ErrorKind::machine};
}

void* memory(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

class FourierCall final : public LibraryCall {
 public:
  FourierCall(const FftApi& api, const Context& context, const Transform& transform)
      : api_(api), context_(context), transform_(transform) {}
  FourierCall(const FourierCall&) = delete;
  FourierCall& operator=(const FourierCall&) = delete;
  ~FourierCall() override {
    if (made_ && !context_.stuck()) api_.cufftDestroy(handle_);
  }

  Status make() {
    Status status = check("cufftCreate", api_.cufftCreate(&handle_));
    if (!status) return status;
    made_ = true;
    status = check("cufftSetAutoAllocation", api_.cufftSetAutoAllocation(handle_, 0));
    if (!status) return status;
    const auto step = [](const Side& side, bool end_to_end) {  // the distances between numbers and between lines
      return end_to_end || side.behind == 1 ? std::pair<long long, long long>(1, side.extent)
                                            : std::pair<long long, long long>(side.behind, 1);
    };
    const auto [in_stride, in_distance] = step(transform_.in, transform_.gathers());
    const auto [out_stride, out_distance] = step(transform_.out, transform_.scatters());
    long long length = transform_.length(), in_extent = transform_.in.extent, out_extent = transform_.out.extent;
    return check("cufftMakePlanMany64",
                 api_.cufftMakePlanMany64(handle_, 1, &length, &in_extent, in_stride, in_distance, &out_extent, out_stride, out_distance,
                                          transform_.type(), transform_.lines(), &work_bytes_));
  }

  [[nodiscard]] std::int64_t scratch_bytes() const { return work_at() + std::max(static_cast<std::int64_t>(work_bytes_), kAlignment); }
  [[nodiscard]] std::int64_t out_at() const { return transform_.gathers() ? transform_.bytes(transform_.in) : 0; }

  Status enqueue(CUstream stream, const OperandAddresses& operands) override {
    const auto scratch = [&](std::int64_t offset) { return memory(operands.scratch + static_cast<CUdeviceptr>(offset)); };
    Status status = check("cufftSetStream", api_.cufftSetStream(handle_, stream));
    if (status) status = check("cufftSetWorkArea", api_.cufftSetWorkArea(handle_, scratch(work_at())));
    if (!status) return status;
    void* const in = transform_.gathers() ? scratch(0) : memory(operands.inputs[0]);
    void* const out = transform_.scatters() ? scratch(out_at()) : memory(operands.results[0]);
    const int direction = transform_.kind == FourierKind::forward ? kFftForward : kFftInverse;
    switch (transform_.type()) {
      case FftType::r2c: return check("cufftExecR2C", api_.cufftExecR2C(handle_, in, out));
      case FftType::c2r: return check("cufftExecC2R", api_.cufftExecC2R(handle_, in, out));
      case FftType::c2c: return check("cufftExecC2C", api_.cufftExecC2C(handle_, in, out, direction));
      case FftType::d2z: return check("cufftExecD2Z", api_.cufftExecD2Z(handle_, in, out));
      case FftType::z2d: return check("cufftExecZ2D", api_.cufftExecZ2D(handle_, in, out));
      case FftType::z2z: break;
    }
    return check("cufftExecZ2Z", api_.cufftExecZ2Z(handle_, in, out, direction));
  }

 private:
  [[nodiscard]] std::int64_t work_at() const { return out_at() + (transform_.scatters() ? transform_.bytes(transform_.out) : 0); }

  const FftApi& api_;
  const Context& context_;
  const Transform transform_;
  FftHandle handle_ = 0;
  bool made_ = false;
  std::size_t work_bytes_ = 0;
};

}  // namespace

bool has_fourier(const KernelRequest& request) {
  return kind_of(*request.op).has_value();
}

Result<LibraryOp> prepare_fourier(const FftApi& api, const Context& context, const KernelRequest& request) {
  LibraryOp op;
  if (request.result_types[0].elements() == 0) return op;
  const Transform transform(request);
  auto plan = std::make_shared<FourierCall>(api, context, transform);
  if (Status status = plan->make(); !status) return status.error();
  const Side &in = transform.in, &out = transform.out;
  const std::int64_t divisor = transform.scales() ? out.extent : 1;
  op.around.scratch_bytes = plan->scratch_bytes();
  if (transform.gathers()) {
    op.around.launches.push_back(launch_of(
        "gather", in.numbers(), {in.numbers(), in.extent, in.behind, in.parts, transform.kind == FourierKind::to_real ? out.extent : 0}));
  }
  op.calls.push_back({op.around.launches.size(), plan});
  if (transform.scatters()) {
    const std::int64_t from = plan->out_at() / (transform.wide ? 8 : 4);
    op.around.launches.push_back(launch_of("scatter", out.numbers(), {from, out.numbers(), out.extent, out.behind, out.parts, divisor}));
  } else if (transform.scales()) {
    op.around.launches.push_back(launch_of("scale", out.numbers(), {out.numbers(), divisor}));
  }
  if (!op.around.launches.empty()) op.around.text = text_for(transform, op.around.launches);
  return op;
}

}  // namespace cleave::runtime::cuda

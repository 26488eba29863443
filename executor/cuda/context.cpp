#include "executor/cuda/context.h"

#include <utility>

namespace cleave::runtime::cuda {

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

namespace {

Error lost_earlier(int ordinal, const std::string& why = {}) {
  return {"GPU " + std::to_string(ordinal) + " was lost earlier in this process, and only a new process can use it again" + why,
          {},
          ErrorKind::machine};
}

}  // namespace

Status check(const DriverApi& api, const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  api.cuGetErrorName(result, &name);
  api.cuGetErrorString(result, &text);
  std::string message = std::string(call) + " failed: " + (name ? std::string(name) : "CUDA error " + std::to_string(result));
  if (text) message += std::string(" (") + text + ")";
  return Error{std::move(message), {}, ErrorKind::machine};
}

Status Context::check(const char* call, CUresult result) const {
  if (result == CUDA_SUCCESS) return {};
  Error error = cuda::check(api_, call, result).error();
  if (is_sticky(result)) {
    lost_.store(true, std::memory_order_release);
    error.message += "; the GPU is lost, and only a new process can use it again";
  }
  return error;
}

Result<std::shared_ptr<Context>> Context::open(const DriverApi& api, int ordinal) {
  std::shared_ptr<Context> context(new Context(api));
  if (Status status = context->check("cuInit", api.cuInit(0)); !status) return status.error();
  int count = 0;
  if (Status status = context->check("cuDeviceGetCount", api.cuDeviceGetCount(&count)); !status) return status.error();
  if (ordinal < 0 || ordinal >= count) {
    std::string there = count == 0   ? "there is no GPU"
                        : count == 1 ? "there is one GPU, 0"
                                     : "there are GPUs 0 to " + std::to_string(count - 1);
    return Error{"no GPU " + std::to_string(ordinal) + ": " + there, {}, ErrorKind::machine};
  }
  if (Status status = context->check("cuDeviceGet", api.cuDeviceGet(&context->device_, ordinal)); !status) return status.error();
  if (Status status = context->read_architecture(); !status) return status.error();
  if (Status status = context->describe(); !status) return status.error();
  CUcontext primary = nullptr;
  Status status = context->check("cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain(&primary, context->device_));
  if (!status) return status.error();
  context->context_ = primary;
  const Visit visit(*context);
  if (!visit.status()) return visit.status().error();
  // The primary context is shared by the whole process, so that any call shows an earlier loss.
  std::size_t free = 0, total = 0;
  const CUresult healthy = api.cuMemGetInfo(&free, &total);
  if (is_sticky(healthy)) {
    context->lost_ = true;
    return lost_earlier(ordinal, " (" + cuda::check(api, "cuMemGetInfo", healthy).error().message + ")");
  }
  if (status = context->check("cuMemGetInfo", healthy); !status) return status.error();
  return context;
}

Context::Visit::Visit(const Context& context) : api_(context.api()) {
  CUcontext current = nullptr;  // null if the driver does not say; the context is then pushed in any case
  if (api_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.handle()) return;
  status_ = context.check("cuCtxPushCurrent", api_.cuCtxPushCurrent(context.handle()));
  pushed_ = status_.ok();
}

Context::Visit::~Visit() {
  CUcontext ours = nullptr;
  if (pushed_) api_.cuCtxPopCurrent(&ours);
}

Result<std::shared_ptr<Context>> Contexts::open(int ordinal) {
  if (used_.exchange(true) && !born_.here())
    return Error{
        "a child made by fork cannot use CUDA that its parent has used; start it as a new process (in Python: the start method `spawn`)",
        {},
        ErrorKind::machine};
  const std::lock_guard lock(mutex_);
  if (const auto known = open_.find(ordinal); known != open_.end()) {
    if (known->second->lost()) return lost_earlier(ordinal);
    return known->second;
  }
  Result<std::shared_ptr<Context>> context = Context::open(api_, ordinal);
  if (context) open_.emplace(ordinal, *context);
  return context;
}

Status Context::read_architecture() {
  const std::pair<CUdevice_attribute, int*> facts[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &architecture_.major},
                                                       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &architecture_.minor},
                                                       {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &architecture_.multiprocessors},
                                                       {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, &waits_for_words_}};
  for (const auto& [attribute, value] : facts) {
    Status status = check("cuDeviceGetAttribute", api_.cuDeviceGetAttribute(value, attribute, device_));
    if (!status) return status;
  }
  return {};
}

Status Context::describe() {
  char name[256] = {};
  int version = 0;
  Status status = check("cuDeviceGetName", api_.cuDeviceGetName(name, sizeof name - 1, device_));
  if (status) status = check("cuDriverGetVersion", api_.cuDriverGetVersion(&version));
  const Architecture& a = architecture_;
  description_ = std::string(name) + " " + std::to_string(a.major) + "." + std::to_string(a.minor) + " with " +
                 std::to_string(a.multiprocessors) + " multiprocessors, driver " + std::to_string(version);
  return status;
}

Context::~Context() {
  // A lost context is not released: the driver would make it anew, but NVIDIA says that a process cannot continue after such an error.
  if (context_ && !lost()) api_.cuDevicePrimaryCtxRelease(device_);
}

}  // namespace cleave::runtime::cuda

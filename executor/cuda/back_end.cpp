// The CUDA back end of a build with the toolkit's headers: opens the libraries, lists the GPUs, opens a device.
#include "executor/cuda/back_end.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "executor/cuda/cuda_device.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/cuda/page_locked.h"
#include "executor/device/mailbox.h"
#include "graph/graph.h"

namespace cleave::runtime::cuda {
namespace {

using SharedLibraries = std::shared_ptr<const Libraries>;

Result<Api> load() {
  Result<DriverApi> driver = DriverApi::load();
  if (!driver) return driver.error();
  Result<CompilerApi> compiler = CompilerApi::load();
  if (!compiler) return compiler.error();
  Result<BlasApi> blas = BlasApi::load();
  if (!blas) return blas.error();
  return Api{*driver, *compiler, *blas, nullptr, std::make_shared<Contexts>(*driver)};
}

/// The libraries and contexts of the process, opened once. They are never released, because drivers do not survive that at process exit.
const Result<Api>& api_of_process() {
  static const auto* const api = new Result<Api>(load());
  return *api;
}

Result<int> count_devices(const DriverApi& api) {
  if (Status status = check(api, "cuInit", api.cuInit(0)); !status) return status.error();
  int count = 0;
  if (Status status = check(api, "cuDeviceGetCount", api.cuDeviceGetCount(&count)); !status) return status.error();
  if (count == 0) return Error{"the NVIDIA driver finds no GPU", {}, ErrorKind::machine};
  return count;
}

/// The driver's version number as text: 13000 is 13.0.
std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// The versions of the libraries; the reason for each missing one is appended to `why`.
std::string library_versions(const DriverApi& driver, std::string& why) {
  int number = 0;
  std::string versions;
  if (driver.cuDriverGetVersion(&number) == CUDA_SUCCESS) versions = "driver for CUDA " + version(number);
  const auto missing = [&](const Error& error) { why += (why.empty() ? "" : "; ") + error.message; };
  if (Result<CompilerApi> compiler = CompilerApi::load()) {
    int major = 0, minor = 0;
    compiler->nvrtcVersion(&major, &minor);
    versions += ", NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  } else {
    missing(compiler.error());
  }
  if (Result<BlasApi> blas = BlasApi::load()) {
    const std::size_t all = blas->cublasLtGetVersion();  // 130100 is 13.1.0
    versions += ", cuBLASLt " + std::to_string(all / 10000) + "." + std::to_string(all / 100 % 100) + "." + std::to_string(all % 100);
  } else {
    missing(blas.error());
  }
  return versions;
}

Result<FoundDevice> describe(const DriverApi& api, int ordinal) {
  FoundDevice found;
  found.name = "cuda:" + std::to_string(ordinal);
  found.kind = "NVIDIA GPU";
  CUdevice device = 0;
  char name[256] = {};
  std::size_t bytes = 0;
  int major = 0, minor = 0;
  Status status = check(api, "cuDeviceGet", api.cuDeviceGet(&device, ordinal));
  if (status) status = check(api, "cuDeviceGetName", api.cuDeviceGetName(name, sizeof name - 1, device));
  if (status) status = check(api, "cuDeviceTotalMem", api.cuDeviceTotalMem(&bytes, device));
  if (status)
    status = check(api, "cuDeviceGetAttribute", api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  if (status)
    status = check(api, "cuDeviceGetAttribute", api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  if (!status) return status.error();
  found.description = std::string(name) + ", compute capability " + std::to_string(major) + "." + std::to_string(minor);
  found.memory_bytes = static_cast<double>(bytes);
  return found;
}

FoundDevice not_there(std::string name, const Error& why, std::string versions = {}) {
  return {std::move(name), "NVIDIA GPU", why.message, {}, std::move(versions), 0};
}

/// Lists the GPUs without opening a context or allocating memory.
std::vector<FoundDevice> find() {
  Result<DriverApi> driver = DriverApi::load();
  if (!driver) return {not_there("cuda", driver.error())};
  std::string why;
  const std::string versions = library_versions(*driver, why);
  Result<int> count = count_devices(*driver);
  if (!count) return {not_there("cuda", count.error(), versions)};
  std::vector<FoundDevice> all;
  for (int i = 0; i < *count; ++i) {
    Result<FoundDevice> found = describe(*driver, i);
    all.push_back(found ? *std::move(found) : not_there("cuda:" + std::to_string(i), found.error()));
    all.back().versions = versions;
    if (all.back().why.empty()) all.back().why = why;
  }
  return all;
}

/// True if the driver's kernel module has left its files in the file system (Jetson and WSL have other names for them). No library is
/// opened, so that planning on a machine without a GPU runs no code of some library called libcuda.so.1.
bool present() {
  constexpr const char* kSigns[] = {"/dev/nvidiactl",      "/dev/dxg",           "/dev/nvmap",        "/dev/nvhost-ctrl-gpu",
                                    "/proc/driver/nvidia", "/sys/module/nvidia", "/sys/module/nvgpu", "/sys/bus/pci/drivers/nvidia"};
  std::error_code ignored;
  return std::any_of(std::begin(kSigns), std::end(kSigns), [&](const char* sign) { return std::filesystem::exists(sign, ignored); });
}

Status usable() {
  const Result<Api>& api = api_of_process();
  if (!api) return api.error();
  Result<int> count = count_devices(api->driver);
  if (!count) return count.error();
  return {};
}

Result<std::unique_ptr<Device>> open(int ordinal, const ExecutorOptions& options, const SharedLibraries& libraries) {
  if (!api_of_process()) return api_of_process().error();
  Api api = *api_of_process();
  api.libraries = libraries;
  CudaOptions cuda_options;
  cuda_options.ordinal = ordinal;
  cuda_options.precision = options.precision;
  cuda_options.stream_mode = options.stream_mode;
  cuda_options.threads = options.threads;
  return CudaDevice::open(api, std::move(cuda_options));
}

Result<Array> page_locked_by(TensorType type, int ordinal) {
  const Result<Api>& api = api_of_process();
  if (!api) return api.error();
  Result<std::shared_ptr<Context>> context = api->contexts->open(ordinal);
  if (!context) return context.error();
  return page_locked(*std::move(context), std::move(type));
}

KernelRequest request_for(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  KernelRequest request{id, node.op, &node.attributes, {}, {}, {}, {}};
  for (const ValueId input : node.inputs) request.input_types.push_back(graph.values[input].type);
  for (const ValueId result : node.results) request.result_types.push_back(graph.values[result].type);
  return request;
}

bool supports(const Graph& graph, NodeId id, const Libraries& libraries) {
  const Node& node = graph.nodes[id];
  if (node.kind != NodeKind::operation) return true;
  if (graph.purity(id) != Purity::pure || node.op->moves_to == Side::host) return false;
  const KernelRequest request = request_for(graph, id);
  return has_kernel(request) || has_matmul(request) || has_library_op(libraries, request);
}

/// True if the node is an f32 product on cuBLASLt, to which the precision setting applies.
bool in_precision(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.kind != NodeKind::operation || node.results.empty()) return false;
  return graph.values[node.results[0]].type.dtype == DType::f32 && has_matmul(request_for(graph, id));
}

}  // namespace

BackEnd back_end() {
  return back_end(std::make_shared<const Libraries>());
}

BackEnd back_end(SharedLibraries libraries) {
  BackEnd record;
  record.name = "cuda";
  record.numbered = true;
  record.machine = "h200";
  record.calibrated = "cuda";
  record.present = present;
  record.usable = usable;
  record.find = find;
  record.open = [libraries](int ordinal, const ExecutorOptions& options) { return open(ordinal, options, libraries); };
  record.supports = [libraries](const Graph& graph, NodeId id) { return supports(graph, id, *libraries); };
  record.in_precision = in_precision;
  record.fuses = fuses;
  record.copied_from = Mailbox::kMostBytes + 1;
  record.page_locked = page_locked_by;
  return record;
}

}  // namespace cleave::runtime::cuda

#include "tools/bench/stub_gpu.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "graph/base/check.h"
#include "tools/bench/stub_calls.h"

namespace cleave::bench {

using namespace runtime;
namespace {

cuda::Api api() {
  cuda::Api api;
  fill_device(api.driver);
  fill_memory(api.driver);
  fill_streams(api.driver);
  fill_kernels(api.driver);
  fill_graphs(api.driver);
  fill_compiler(api.compiler);
  return api;
}

}  // namespace

double thread_seconds() {
  return processor_seconds_of(gettid());
}

StubGpu::StubGpu(const StubTraits& traits) : traits_(traits), streams_(traits) {
  CLEAVE_CHECK(!stub().streams, "two stubs at once");
  stub().traits = &traits_;
  stub().streams = &streams_;
}

StubGpu::~StubGpu() {
  stub().streams = nullptr;
}

std::function<Result<std::unique_ptr<Device>>(int, const ExecutorOptions&)> StubGpu::opener(cuda::CudaOptions options) {
  options.cache_folder.clear();
  return [options](int, const ExecutorOptions&) { return cuda::CudaDevice::open(api(), options); };
}

double StubGpu::other_threads_seconds() const {
  double seconds = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int thread = std::atoi(entry.path().filename().c_str());
    if (thread != streams_.thread()) seconds += processor_seconds_of(thread);
  }
  return seconds;
}

StubGpu::Counts StubGpu::counts() {
  Counts counts;
  for (std::size_t i = 0; i < std::size(kStubCallNames); ++i)
    if (const std::int64_t made = stub().counts[i]; made > 0) counts.emplace(kStubCallNames[i], made);
  return counts;
}

StubGpu::CallSeconds StubGpu::measure_calls(StubTraits traits) {
  constexpr int kRounds = 100, kCalls = 500;
  traits.launch_seconds = std::min(traits.launch_seconds, 1e-9);  // nonzero if it was, so that the clock is read as in the measured calls
  const StubGpu gpu(traits);
  const cuda::DriverApi driver = api().driver;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUfunction function = nullptr;
  driver.cuStreamCreate(&stream, 0);
  driver.cuEventCreate(&event, 0);
  driver.cuModuleGetFunction(&function, nullptr, "kernel");
  CallSeconds least{1, 1};
  const auto time = [](double& least_so_far, const auto& call) {
    const double start = thread_seconds();
    for (int i = 0; i < kCalls; ++i) call();
    least_so_far = std::min(least_so_far, (thread_seconds() - start) / kCalls);
  };
  for (int round = 0; round < kRounds; ++round) {
    time(least.enqueues, [&] { driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); });
    driver.cuEventRecord(event, stream);
    driver.cuEventSynchronize(event);
    time(least.others, [&] { driver.cuEventQuery(event); });
  }
  driver.cuEventDestroy(event);
  driver.cuStreamDestroy(stream);
  return least;
}

double StubGpu::seconds_of(const Counts& counts, const CallSeconds& each) {
  double seconds = 0;
  for (const auto& [name, number] : counts) {
    const bool other = name.starts_with("cuCtx") || name == "cuEventQuery" || name == "cuGraphExecKernelNodeSetParams";
    if (name != "cuEventSynchronize") seconds += static_cast<double>(number) * (other ? each.others : each.enqueues);
  }
  return seconds;
}

}  // namespace cleave::bench

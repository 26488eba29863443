// Measures launches, graphs, and a ping-pong of flags between the host and a persistent kernel.
#include <atomic>
#include <new>

#include "tools/gpu/probe/gpu.h"

namespace cleave::probe {

Status measure_launches(Gpu& gpu, Rows& rows) {
  const Result<CUfunction> nothing = gpu.function("nothing");
  if (!nothing) return nothing.error();
  double enqueued = 0;
  const Result<Times> times = gpu.time([&](int calls) -> Status {
    const double before = calibration::now();
    for (int i = 0; i < calls; ++i)
      if (Status status = gpu.launch(*nothing, 1, 1); !status) return status;
    enqueued = (calibration::now() - before) / calls;
    return gpu.wait();
  });
  if (!times) return times.error();
  rows.add({{"seconds", times->alone}, {"seconds_in_a_row", times->in_a_row}, {"enqueue_seconds", enqueued}});
  return {};
}

namespace {

/// A graph of `nodes` empty kernels, one after the other.
Result<GraphExecHandle> make_graph(Gpu& gpu, CUfunction kernel, int nodes) {
  const DriverApi& driver = gpu.driver();
  const Result<GraphHandle> graph =
      GraphHandle::make(gpu.context(), "cuGraphCreate", [&](CUgraph* g) { return driver.cuGraphCreate(g, 0); });
  if (!graph) return graph.error();
  CUgraphNode last = nullptr;
  for (int i = 0; i < nodes; ++i) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = kernel;
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    const CUgraphNode before = last;
    const CUresult added = driver.cuGraphAddKernelNode(&last, graph->get(), &before, i > 0 ? 1 : 0, &node);
    if (Status status = gpu.context().check("cuGraphAddKernelNode", added); !status) return status.error();
  }
  Result<GraphExecHandle> made = GraphExecHandle::make(gpu.context(), "cuGraphInstantiate",
                                                       [&](CUgraphExec* exec) { return driver.cuGraphInstantiate(exec, graph->get(), 0); });
  if (!made) return made.error();
  Status status = gpu.context().check("cuGraphUpload", driver.cuGraphUpload(made->get(), gpu.stream()));
  if (status) status = gpu.wait();
  if (!status) return status.error();
  return made;
}

}  // namespace

Status measure_graphs(Gpu& gpu, Rows& rows) {
  const Result<CUfunction> nothing = gpu.function("nothing");
  if (!nothing) return nothing.error();
  for (const int nodes : {1, 10, 100}) {
    if (!rows.another()) break;
    const Result<GraphExecHandle> graph = make_graph(gpu, *nothing, nodes);
    if (!graph) return graph.error();
    double enqueued = 0;
    const Result<Times> times = gpu.time([&](int calls) -> Status {
      const double before = calibration::now();
      for (int i = 0; i < calls; ++i) {
        const CUresult launched = gpu.driver().cuGraphLaunch(graph->get(), gpu.stream());
        if (Status status = gpu.context().check("cuGraphLaunch", launched); !status) return status;
      }
      enqueued = (calibration::now() - before) / calls;
      return gpu.wait();
    });
    if (!times) return times.error();
    rows.add({{"nodes", nodes}, {"seconds", times->alone}, {"seconds_in_a_row", times->in_a_row}, {"enqueue_seconds", enqueued}});
  }
  return {};
}

namespace {

constexpr std::size_t kApart = 256;  ///< bytes between the two words, to avoid false sharing

/// Makes `rounds` round trips, and gives the seconds of all but the first, which includes the launch. Nothing if an answer took too long.
std::optional<double> ask(std::atomic<std::uint32_t>& asked, const std::atomic<std::uint32_t>& answered, std::uint32_t rounds,
                          double limit) {
  const double launched = calibration::now();
  double start = launched;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    asked.store(round, std::memory_order_release);
    for (std::uint32_t turn = 1; answered.load(std::memory_order_acquire) != round; ++turn)
      if (turn % 256 == 0 && calibration::now() - launched > limit) return std::nullopt;
    if (round == 1) start = calibration::now();
  }
  return calibration::now() - start;
}

}  // namespace

Status measure_ping_pong(Gpu& gpu, const ProbeOptions& options, Rows& rows) {
  const Result<CUfunction> answer = gpu.function("answer");
  if (!answer) return answer.error();
  const Result<HostMemory> words = make_host_memory(gpu.context(), 2 * kApart);
  if (!words) return words.error();
  CUdeviceptr seen = 0;
  Status status = gpu.context().check("cuMemHostGetDevicePointer", gpu.driver().cuMemHostGetDevicePointer(&seen, words->get(), 0));
  if (!status) return status;
  auto* const bytes = static_cast<std::byte*>(words->get());
  auto* const asked = new (bytes) std::atomic<std::uint32_t>(0);
  auto* const answered = new (bytes + kApart) std::atomic<std::uint32_t>(0);
  const double limit = options.patience / 4;  // the host's limit; the kernel's own limit is a little later
  const auto rounds = static_cast<std::uint32_t>(options.round_trips);
  std::vector<double> times;
  for (int i = 0; i < 5 && rows.another(); ++i) {
    asked->store(0);
    answered->store(0);
    status = gpu.launch(*answer, 1, 1, {seen, seen + kApart, rounds, static_cast<std::uint64_t>(1.5e9 * limit)});
    if (!status) return status;
    const std::optional<double> taken = ask(*asked, *answered, rounds, limit);
    if (status = gpu.wait(); !status) return status;
    if (!taken) return Error{"a kernel and the host do not see each other's words in mapped memory", {}, ErrorKind::machine};
    times.push_back(*taken / (rounds - 1));
  }
  if (!times.empty()) rows.add({{"round_trips", rounds}, {"seconds", calibration::undisturbed(std::move(times))}});
  return {};
}

}  // namespace cleave::probe

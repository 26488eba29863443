// The stub's driver calls for kernels: compiling, loading and launching them, singly or in a graph.
#include <cstring>

#include "executor/cuda/handover.h"
#include "tools/bench/stub_calls.h"

namespace cleave::bench {

using namespace runtime;
namespace {

/// The objects behind the driver's handles.
struct StubFunction {
  bool hands_over = false;
};
struct StubGraph {
  int kernels = 0;
};

/// The kernel that hands values over works; any other kernel only takes time.
CUresult launch(CUfunction function, CUstream stream, void** parameters) {
  StubCommand command;
  command.seconds = stub().traits->launch_seconds;
  if (reinterpret_cast<const StubFunction*>(function)->hands_over) {
    cuda::Handover what;
    std::uint64_t* const values[] = {&what.to, &what.from, &what.bytes, &what.note, &what.command, &what.word, &what.number};
    for (std::size_t i = 0; i < std::size(values); ++i) std::memcpy(values[i], parameters[i], sizeof *values[i]);
    command.to = at<std::byte>(what.to);
    command.from = at<const std::byte>(what.from);
    command.bytes = what.bytes;
    command.note = at<std::uint64_t>(what.note);
    command.command = what.command;
    command.word = at<std::uint64_t>(what.word);
    command.number = what.number;
    command.seconds += stub().streams->copy_seconds(what.bytes);
  }
  return put(stream, command);
}
}  // namespace

void fill_kernels(cuda::DriverApi& t) {
  t.cuModuleLoadData = [](CUmodule* module, const void*) { return *module = as_handle<CUmodule>(&stub()), CUDA_SUCCESS; };
  t.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char* entry) {
    static StubFunction plain, hands_over{true};
    *function = as_handle<CUfunction>(entry == cuda::handover_launch(1).entry ? &hands_over : &plain);
    return CUDA_SUCCESS;
  };
  t.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int, std::size_t) { return *blocks = 8, CUDA_SUCCESS; };
  t.cuLaunchKernel = [](CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream stream,
                        void** parameters, void**) {
    count(StubCall::cuLaunchKernel);
    return launch(function, stream, parameters);
  };
}

void fill_graphs(cuda::DriverApi& t) {
  t.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; };
  t.cuStreamEndCapture = [](CUstream, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; };
  t.cuGraphCreate = [](CUgraph* graph, unsigned) { return *graph = as_handle<CUgraph>(new StubGraph), CUDA_SUCCESS; };
  t.cuGraphDestroy = [](CUgraph graph) {
    delete reinterpret_cast<StubGraph*>(graph);
    return CUDA_SUCCESS;
  };
  t.cuGraphAddKernelNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS*) {
    *node = reinterpret_cast<CUgraphNode>(static_cast<std::uintptr_t>(++reinterpret_cast<StubGraph*>(graph)->kernels));
    return CUDA_SUCCESS;
  };
  t.cuGraphAddMemcpyNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t, const CUDA_MEMCPY3D*, CUcontext) {
    *node = reinterpret_cast<CUgraphNode>(graph);
    return CUDA_SUCCESS;
  };
  t.cuGraphAddChildGraphNode = [](CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUgraph) { return CUDA_ERROR_NOT_SUPPORTED; };
  t.cuGraphInstantiate = [](CUgraphExec* made, CUgraph graph, unsigned long long) {
    *made = as_handle<CUgraphExec>(new StubGraph(*reinterpret_cast<StubGraph*>(graph)));
    return CUDA_SUCCESS;
  };
  t.cuGraphExecDestroy = [](CUgraphExec exec) {
    delete reinterpret_cast<StubGraph*>(exec);
    return CUDA_SUCCESS;
  };
  t.cuGraphLaunch = [](CUgraphExec exec, CUstream stream) {
    count(StubCall::cuGraphLaunch);
    StubCommand command;
    command.seconds = stub().traits->launch_seconds * reinterpret_cast<StubGraph*>(exec)->kernels;
    return put(stream, command);
  };
}

void fill_compiler(cuda::CompilerApi& t) {
  t.nvrtcVersion = [](int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; };
  t.nvrtcGetErrorString = [](nvrtcResult) { return "the stub's compiler"; };
  t.nvrtcCreateProgram = [](nvrtcProgram* program, const char*, const char*, int, const char* const*, const char* const*) {
    return *program = as_handle<nvrtcProgram>(&stub()), NVRTC_SUCCESS;
  };
  t.nvrtcDestroyProgram = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
  t.nvrtcCompileProgram = [](nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; };
  t.nvrtcGetProgramLogSize = [](nvrtcProgram, std::size_t* size) { return *size = 0, NVRTC_SUCCESS; };
  t.nvrtcGetProgramLog = [](nvrtcProgram, char*) { return NVRTC_SUCCESS; };
  t.nvrtcGetCUBINSize = [](nvrtcProgram, std::size_t* size) { return *size = 1, NVRTC_SUCCESS; };
  t.nvrtcGetCUBIN = [](nvrtcProgram, char* image) { return *image = 0, NVRTC_SUCCESS; };
}

}  // namespace cleave::bench

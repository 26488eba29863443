"""Stub libraries of CUDA, cuBLAS, cuDNN and TensorRT, with which `onnxruntime-gpu` from PyPI creates sessions on a machine without a GPU.

`build(folder, onnxruntime, headers)` writes them; a process finds them by LD_LIBRARY_PATH. ONNX Runtime's CUDA provider then registers its
kernels, places each node and inserts its copies. Nothing can be computed: all functions do nothing but return what their callers check.
Needs gcc and nm, and the headers of CUDA's runtime (package nvidia-cuda-runtime)."""
import re
import subprocess

# Functions whose results are read. All others return 0, which is success in each of these libraries.
HEAD = r"""
#include <stdlib.h>
#include <string.h>
#include "driver_types.h"
"""
RUNTIME = r"""
int cudaGetDeviceCount(int *count) { *count = 1; return 0; }
int cudaGetDevice(int *device) { *device = 0; return 0; }
int cudaDriverGetVersion(int *version) { *version = CUDART_VERSION_OF_STUB; return 0; }
int cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION_OF_STUB; return 0; }
int cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "stub");
  p->major = 9, p->totalGlobalMem = 80ull << 30, p->multiProcessorCount = 132, p->warpSize = 32;
  p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 232448, p->sharedMemPerMultiprocessor = 233472, p->regsPerBlock = 65536;
  p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048, p->l2CacheSize = 50 << 20;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  return 0;
}
int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    default: *value = 1024;
  }
  return 0;
}
static int allocate(void **p, size_t bytes) { return posix_memalign(p, 256, bytes ? bytes : 256) ? 2 : 0; }
int cudaMalloc(void **p, size_t bytes) { return allocate(p, bytes); }
int cudaMallocHost(void **p, size_t bytes) { return allocate(p, bytes); }
int cudaHostAlloc(void **p, size_t bytes, unsigned flags) { return allocate(p, bytes); }
int cudaMallocFromPoolAsync(void **p, size_t bytes, void *pool, void *stream) { return allocate(p, bytes); }
int cudaFree(void *p) { free(p); return 0; }
int cudaFreeHost(void *p) { free(p); return 0; }
int cudaFreeAsync(void *p, void *stream) { free(p); return 0; }
int cudaMemGetInfo(size_t *available, size_t *total) { *available = 79ull << 30, *total = 80ull << 30; return 0; }
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) { memcpy(to, from, bytes); return 0; }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) { memcpy(to, from, bytes); return 0; }
int cudaMemset(void *p, int value, size_t bytes) { memset(p, value, bytes); return 0; }
int cudaMemsetAsync(void *p, int value, size_t bytes, void *stream) { memset(p, value, bytes); return 0; }
int cudaStreamIsCapturing(void *stream, int *status) { *status = 0; return 0; }
int cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) { memset(a, 0, sizeof *a); return 0; }
int cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) { memset(a, 0, sizeof *a); a->maxThreadsPerBlock = 1024; return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int block, size_t bytes, unsigned flags) { *n = 1; return 0; }
int cudaEventElapsedTime(float *milliseconds, void *begin, void *end) { *milliseconds = 1; return 0; }
int cudaMemPoolGetAttribute(void *pool, int attribute, void *value) { *(unsigned long long *)value = 0; return 0; }
static int nothing() { return 0; }
int cudaGetDriverEntryPointByVersion(const char *name, void **p, unsigned version, unsigned long long flags, int *result) {
  *p = (void *)nothing;
  if (result) *result = 0;
  return 0;
}
const char *cudaGetErrorString(int error) { return "stub"; }
const char *cudaGetErrorName(int error) { return "stub"; }
void **__cudaRegisterFatBinary(void *binary) { return calloc(1, 64); }
"""
CUBLAS = r"""
int cublasGetMathMode(void *handle, int *mode) { *mode = 0; return 0; }
const char *cublasGetStatusName(int status) { return "stub"; }
const char *cublasGetStatusString(int status) { return "stub"; }
"""
CUDNN = r"""
size_t cudnnGetVersion(void) { return 91400; }
const char *cudnnGetErrorString(int error) { return "stub"; }
void cudnnGetLastErrorString(char *text, size_t size) { if (size) *text = 0; }
int cudnnDropoutGetStatesSize(void *handle, size_t *bytes) { *bytes = 64; return 0; }
int cudnnGetRNNTempSpaceSizes(void *h, void *d, int mode, void *x, size_t *work, size_t *reserve) {
  if (work) *work = 64;
  if (reserve) *reserve = 64;
  return 0;
}
int cudnnGetReductionWorkspaceSize(void *h, void *r, void *a, void *c, size_t *bytes) { *bytes = 64; return 0; }
int cudnnGetReductionIndicesSize(void *h, void *r, void *a, void *c, size_t *bytes) { *bytes = 64; return 0; }
int cudnnGetRNNWeightSpaceSize(void *h, void *d, size_t *bytes) { *bytes = 1 << 24; return 0; }
int cudnnGetRNNWeightParams(void *h, void *d, int layer, size_t bytes, void *w, int id, void *md, void **matrix, void *bd, void **bias) {
  *matrix = w, *bias = w;
  return 0;
}
int cudnnGetTensorNdDescriptor(void *d, int rank, int *type, int *count, int *sizes, int *strides) {
  *type = 0, *count = rank;
  for (int i = 0; i < rank; ++i) sizes[i] = strides[i] = 1;
  return 0;
}
"""
BODIES = {"libcudart": RUNTIME, "libcublas": CUBLAS, "libcudnn": CUDNN}
# Libraries that the providers open by name, or whose symbols have no version: the prefixes of their functions.
PREFIXES = {"libcuda": "cu(Tensor|Get|Init|Ctx|Device)", "libcurand": "curand", "libcudnn": "cudnn", "libcufft": "cufft",
            "libnvinfer": "createInfer|getPluginRegistry|getInferLib|initLibNv", "libnvonnxparser": "createNvOnnx"}
CREATES = re.compile(r"^(cuda(Stream|Event|MemPool)Create|cudnnCreate|cublas(Lt\w*)?Create|cudaLibrary(LoadData|GetKernel)$)")


def _output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _needed(provider):
    """The sonames of NVIDIA's libraries that a provider is linked with."""
    names = re.findall(r"NEEDED\s+(\S+)", _output("objdump", "-p", str(provider)))
    return [name for name in names if re.match(r"lib(cu|nv)", name)]


def build(folder, onnxruntime, headers):
    """Writes stub libraries for the installed package `onnxruntime` (its folder) into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    providers = [onnxruntime / "capi" / f"libonnxruntime_providers_{name}.so" for name in ("cuda", "tensorrt")]
    sonames, undefined, texts = {"libcudnn.so.9", "libcufft.so.12"}, set(), set()
    for provider in providers:
        sonames.update(_needed(provider))
        undefined.update(line.split()[-1] for line in _output("nm", "-D", "--undefined-only", str(provider)).splitlines())
        texts.update(re.findall(rb"\0((?:cudnn|cufft)[A-Z]\w+)\0", provider.read_bytes()))
    names = {symbol.partition("@")[0] for symbol in undefined} | {text.decode() for text in texts}
    major = next((re.search(r"\d+$", each).group() for each in sonames if each.startswith("libcudart")), "12")
    for soname in sorted(sonames):
        library = soname.split(".")[0]
        versioned = {symbol.partition("@")[0] for symbol in undefined if symbol.partition("@")[2].lstrip("@") == soname}
        prefix = PREFIXES.get(library)
        wanted = sorted(versioned | {name for name in names if prefix and re.match(prefix, name)})
        body = BODIES.get(library, "")
        defined = set(re.findall(r"(\w+)\(", body))
        source = HEAD + body.replace("CUDART_VERSION_OF_STUB", f"{major}000")
        for name in wanted:
            if name not in defined:
                source += f"int {name}(void **p) {{ *p = calloc(1, 256); return 0; }}\n" if CREATES.match(name) else f"long {name}() {{ return 0; }}\n"
        base = folder / library
        base.with_suffix(".c").write_text(source)
        base.with_suffix(".map").write_text(f"{soname} {{ global: *; }};\n")
        version = [f"-Wl,--version-script={base.with_suffix('.map')}"] if versioned else []
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", f"-I{headers}", "-o", str(folder / soname), str(base.with_suffix(".c")),
                        f"-Wl,-soname,{soname}", *version], check=True)

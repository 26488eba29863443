// Where CUDA's libraries are looked for: what the user names, the loader's places, and the folders that NVIDIA's Python packages are
// unpacked in, which no loader knows.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cleave::runtime::cuda {

/// An environment variable's value, empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

/// The process's own.
std::string environment_of_process(const char* name);

/// What to hand to dlopen() for a library, most wanted first; only the loader's own names (without a folder) need not exist:
/// 1. the folders that CLEAVE_CUDA_LIBRARIES names, separated by colons;
/// 2. `lib64` and `lib` of CUDA_HOME and CUDA_PATH;
/// 3. what the loader finds (LD_LIBRARY_PATH, ld.so.cache);
/// 4. `nvidia/*/lib` of Python's site-packages: of VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH, of each python3 on PATH, and of the user;
/// 5. /usr/local/cuda.
/// `names`: its versions, most wanted first; a place's versions are tried before the next place.
std::vector<std::string> library_places(const std::vector<std::string>& names, const Environment& environment = environment_of_process);

}  // namespace cleave::runtime::cuda

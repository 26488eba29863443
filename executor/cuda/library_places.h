// The search path of CUDA's libraries: folders that the user names, the loader's places, and the folders of NVIDIA's Python packages,
// which no loader knows.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cleave::runtime::cuda {

/// Gives an environment variable's value; empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

/// The variables of this process.
std::string environment_of_process(const char* name);

/// The arguments for dlopen() to try for a library, in order of preference. All exist except bare names, which the loader looks up:
/// 1. the folders that CLEAVE_CUDA_LIBRARIES names, separated by colons;
/// 2. `lib64` and `lib` of CUDA_HOME and CUDA_PATH;
/// 3. bare names, which the loader finds (LD_LIBRARY_PATH, ld.so.cache);
/// 4. `nvidia/*/lib` of Python's site-packages: of VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH, of each python3 on PATH, and of the user;
/// 5. /usr/local/cuda.
/// `names` are the file names of the library's versions, in order of preference. All versions in one place come before the next place.
std::vector<std::string> library_places(const std::vector<std::string>& names, const Environment& environment = environment_of_process);

}  // namespace cleave::runtime::cuda

// gpu_probe of a build without CUDA's headers: says so.
#include <cstdio>

int main() {
  std::fputs("gpu_probe: this build of cleave has no CUDA: its headers were not there\n", stderr);
  return 1;
}

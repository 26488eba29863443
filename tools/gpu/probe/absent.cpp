// gpu_probe in a build without CUDA's headers: it only reports that.
#include <cstdio>

int main() {
  std::fputs("gpu_probe: this build of cleave has no CUDA: its headers were not there\n", stderr);
  return 1;
}

// searchsorted: a binary search by one thread for each value.
#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

KernelSource build_search(const KernelRequest& request, const Architecture& architecture) {
  const std::int64_t count = request.input_types[1].elements();
  if (count == 0) return {};
  const bool right = request.attributes->get_or<std::string>("side", "left") == "right";
  const std::string type = name_of(request.input_types[0].dtype);
  KernelText kernel("search", needs_wide_indices(request, architecture));
  kernel.begin_loop(count, architecture);
  kernel << "    const Compute<" << type
         << "> value = load(x1[i]);\n    Index from = 0, extent = " << kernel.index(request.input_types[0].shape[0])
         << ";\n    while (extent > 0) {\n      const Index half = extent / 2;\n      const Compute<" << type
         << "> middle = load(x0[from + half]);\n      const bool behind = "
         << (right ? "!(value < middle || (value == value && middle != middle))" : "middle < value || (middle == middle && value != value)")
         << ";\n      from = behind ? from + half + 1 : from;\n      extent = behind ? extent - half - 1 : half;\n    }\n"
         << "    y0[i] = (i32)from;\n";
  kernel.end_loop();
  return assemble(request, kernel);
}

}  // namespace

constexpr KernelRow rows::searchsorted{build_search};

}  // namespace cleave::runtime::cuda

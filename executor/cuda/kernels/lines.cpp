#include "executor/cuda/kernels/lines.h"

namespace cleave::runtime::cuda {

Lines lines_along(const TensorType& type, int axis) {
  Lines lines;
  for (int k = 0; k < type.rank(); ++k)
    (k < axis ? lines.before : k == axis ? lines.length : lines.behind) *= type.shape[static_cast<std::size_t>(k)];
  return lines;
}

void declare_team(KernelText& kernel, const Lines& lines, const LineTeam& team, std::int64_t numbers_a_thread) {
  const std::string along = std::to_string(team.along), across = std::to_string(team.across);
  const auto [place, of] = team.along_first ? std::pair(" % " + along, " / " + along) : std::pair(" / " + across, " % " + across);
  kernel << "  __shared__ u64 room[" << std::to_string(kLineBlock * numbers_a_thread) << "];\n";
  kernel << "  const int place = (int)threadIdx.x" << place << ";\n  const Index line = (Index)blockIdx.x * " << across
         << " + (int)threadIdx.x" << of << ";\n  const bool there = line < " << kernel.index(lines.count()) << ";\n";
  const std::string front = kernel.quotient("line", lines.behind);
  kernel << "  const Index base = " << front << " * " << kernel.index(lines.length * lines.behind);
  if (lines.behind > 1) kernel << " + line - " << front << " * " << kernel.index(lines.behind);
  kernel << ";\n";
  kernel.launch.block = {static_cast<unsigned>(kLineBlock), 1, 1};
  kernel.launch.grid[0] = static_cast<unsigned>((lines.count() + team.across - 1) / team.across);
}

}  // namespace cleave::runtime::cuda

// softmax and log_softmax along any axis. A line is read once, and kept in registers, where it is not too long for its team; sums are taken
// in f64.
#include <algorithm>
#include <bit>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMostHeld = 32;  ///< elements in the registers of one thread
constexpr std::int64_t kElementsAThread = 4;
constexpr std::int64_t kFewestAlong = 8;

std::int64_t up_to_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

/// Neighbouring threads read neighbouring elements: along the line, or across lines where these lie side by side.
LineTeam team_for(const Lines& lines) {
  LineTeam team;
  team.along_first = lines.behind == 1;
  if (team.along_first) {
    team.along = std::clamp(up_to_power((lines.length + kElementsAThread - 1) / kElementsAThread), kFewestAlong, kLineBlock);
  } else {
    team.along = std::min(kLineBlock / std::min<std::int64_t>(32, up_to_power(lines.behind)), up_to_power(lines.length));
  }
  team.across = kLineBlock / team.along;
  return team;
}

class Writer {
 public:
  Writer(const KernelRequest& request, const Architecture& architecture, bool logarithm)
      : request_(request),
        lines_(lines_along(request.input_types[0],
                           *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", -1), request.input_types[0].rank()))),
        team_(team_for(lines_)),
        held_((lines_.length + team_.along - 1) / team_.along),
        logarithm_(logarithm),
        kernel_("softmax", needs_wide_indices(request, architecture)) {}

  KernelSource write() {
    if (lines_.count() * lines_.length == 0) return {};
    const bool keeps = held_ <= kMostHeld;
    kernel_ << "  typedef Compute<" << name_of(request_.input_types[0].dtype) << "> V;\n";
    declare_team(kernel_, lines_, team_);
    at_ = "base + i" + (lines_.behind > 1 ? " * " + kernel_.index(lines_.behind) : "");
    length_ = kernel_.index(lines_.length);
    const std::string element = "load(x0[" + at_ + "])", v = keeps ? "held[k]" : element;
    kernel_ << "  const V lowest = (V)-__longlong_as_double(0x7ff0000000000000LL);\n  V largest = lowest;\n  f64 sum = 0;\n";
    if (keeps) kernel_ << "  V held[" << std::to_string(held_) << "];\n";
    loop(keeps, (keeps ? "held[k] = " + element + "; " : "") + "if (largest < " + v + ") largest = " + v + ";");
    merge("largest", "Larger");
    if (!logarithm_ && keeps) loop(keeps, "held[k] = exp(held[k] - largest); sum += held[k];");
    if (logarithm_ || !keeps) loop(keeps, "sum += exp(" + v + " - largest);");
    merge("sum", "Sum");
    const std::string power = keeps ? "held[k]" : "exp(" + element + " - largest)";
    kernel_ << (logarithm_ ? "  sum = log(sum);\n" : "  const V scale = (V)(1 / sum);\n");
    loop(keeps, "y0[" + at_ + "] = store<" + name_of(request_.result_types[0].dtype) + ">(" +
                    (logarithm_ ? "(V)((f64)" + v + " - (f64)largest - sum)" : power + " * scale") + ");");
    return assemble(request_, kernel_, device_text("lines"));
  }

 private:
  /// Does `what` for each of the thread's elements `i`, the `k`th of them if they are kept.
  void loop(bool keeps, const std::string& what) {
    const std::string along = std::to_string(team_.along);
    if (keeps) {
      kernel_ << "#pragma unroll\n  for (int k = 0; k < " << std::to_string(held_) << "; ++k) {\n    const Index i = place + k * " << along
              << ";\n    if (there && i < " << length_ << ") { " << what << " }\n  }\n";
    } else {
      kernel_ << "  if (there)\n    for (Index i = place; i < " << length_ << "; i += " << along << ") { " << what << " }\n";
    }
  }
  void merge(const std::string& value, const std::string& op) {
    if (team_.along == 1) return;
    kernel_ << "  " << value << " = merge_all<" << op << ", " << std::to_string(team_.along) << ", "
            << std::to_string(team_.along_first ? 1 : team_.across) << ">(" << value << ", place, room);\n";
  }

  const KernelRequest& request_;
  const Lines lines_;
  const LineTeam team_;
  const std::int64_t held_;  ///< elements of one thread
  const bool logarithm_;
  KernelText kernel_;
  std::string at_, length_;
};

template <bool logarithm>
KernelSource build(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture, logarithm).write();
}

}  // namespace

std::span<const KernelRow> softmax_kernels() {
  static constexpr KernelRow rows[] = {{"log_softmax", build<true>}, {"softmax", build<false>}};
  return rows;
}

}  // namespace cleave::runtime::cuda

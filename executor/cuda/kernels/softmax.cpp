// softmax and log_softmax along any axis (device/softmax.cuh). A line that fits into its team's registers is read once; the team of a short
// line is some lanes of one warp. Longer lines are read twice.
//
// Packs have 16 bytes if the axis is the last one, else one element. In a pass over long lines a thread has 8 packs of f32 in flight (4 of
// other types, which take more registers); of a held line at most as many. With two or more blocks of 256 threads, a multiprocessor then
// has at least 32 KiB in flight.
#include <algorithm>
#include <bit>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kPackBytes = 16;
constexpr std::int64_t kPacksAThread = 4;  ///< desired number
constexpr std::int64_t kMostHeld = 128;    ///< bytes in the registers of one thread, in the type of the computation
constexpr std::int64_t kFewestAlong = 8;   ///< neighboring threads that read 128 bytes together

std::int64_t up_to_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
std::int64_t divide_up(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

class SoftmaxKernelWriter {
 public:
  SoftmaxKernelWriter(const KernelRequest& request, const Architecture& architecture, bool logarithm)
      : request_(request),
        lines_(lines_along(request.input_types[0],
                           *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", -1), request.input_types[0].rank()))),
        logarithm_(logarithm),
        kernel_("softmax", needs_wide_indices(request, architecture)) {
    const std::int64_t element = size_of(request.input_types[0].dtype);
    lanes_ = lines_.behind == 1 ? kPackBytes / element : 1;
    whole_ = lines_.length % lanes_ == 0;
    most_packs_ = kMostHeld / std::max<std::int64_t>(element, 4) / lanes_;
    // A line that begins inside a pack may touch one pack more than its length suggests.
    all_packs_ = whole_ ? lines_.length / lanes_ : divide_up(lines_.length + lanes_ - 1, lanes_);
    passing_packs_ = lanes_ == 1 ? 16 : element == 4 ? 8 : 4;
    find_team();
  }

  KernelSource write() {
    if (lines_.count() * lines_.length == 0) return {};
    const std::int64_t packs = divide_up(all_packs_, team_.along);
    const bool held = packs <= most_packs_;
    declare_team(kernel_, lines_, team_, 2);
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    const std::string length = kernel_.index(lines_.length), step = kernel_.index(lines_.behind);
    kernel_ << "  const Index first = " << (whole_ ? "0" : "base % " + number(lanes_)) << ", end = there ? first + " << length << " : 0;\n"
            << (held ? "  softmax_held<" : "  softmax_passing<") << number(lanes_) << (whole_ ? ", true, " : ", false, ")
            << number(held ? packs : passing_packs_) << ", " << number(team_.along) << ", " << number(team_.along_first ? 1 : team_.across)
            << (logarithm_ ? ", true" : ", false") << ">(x0 + (base - first), y0 + (base - first), first, end, " << step
            << ", place, room);\n";
    return assemble(request_, kernel_, std::string(device_text("lines")) + std::string(device_text("softmax")));
  }

 private:
  /// Chooses the team so that neighboring threads read neighboring elements: along the line, or across lines if these are interleaved.
  void find_team() {
    team_.along_first = lines_.behind == 1;
    if (!team_.along_first) {
      team_.along = std::min(kLineBlock / std::min<std::int64_t>(32, up_to_power(lines_.behind)), up_to_power(lines_.length));
    } else if (all_packs_ <= 32 * most_packs_) {  // some lanes of a warp
      team_.along =
          std::clamp<std::int64_t>(up_to_power(divide_up(all_packs_, kPacksAThread)), std::min(kFewestAlong, up_to_power(all_packs_)), 32);
    } else {
      team_.along = std::min(up_to_power(divide_up(all_packs_, kPacksAThread)), kLineBlock);
    }
    team_.across = kLineBlock / team_.along;
  }

  const KernelRequest& request_;
  const Lines lines_;
  const bool logarithm_;
  std::int64_t lanes_ = 1;          ///< elements of a pack
  bool whole_ = true;               ///< every line begins and ends with a pack
  std::int64_t all_packs_ = 1;      ///< packs of a line
  std::int64_t most_packs_ = 1;     ///< most packs that a thread holds
  std::int64_t passing_packs_ = 1;  ///< packs in flight of a thread for a line that is not held
  LineTeam team_;
  KernelText kernel_;
};

template <bool logarithm>
KernelSource build(const KernelRequest& request, const Architecture& architecture) {
  return SoftmaxKernelWriter(request, architecture, logarithm).write();
}

}  // namespace

constexpr KernelRow rows::log_softmax{build<true>};
constexpr KernelRow rows::softmax{build<false>};

}  // namespace cleave::runtime::cuda

// cumulative_sum and cumulative_prod along any axis: a team of threads goes along its line round by round. Lines too few to fill the
// machine are cut into chunks: their sums first, then the sums in front of each, then the elements; of products likewise. They are taken in
// f64 or in 64-bit integers that wrap, always in the same order.
#include <algorithm>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kElementsAThread = 4;  ///< in a round
constexpr std::int64_t kSideBySide = 32;      ///< that many lines side by side are read together, a thread each
constexpr std::int64_t kShortLine = 64;
constexpr std::int64_t kFewestRounds = 8;  ///< of a chunk
constexpr std::int64_t kBlocksWanted = 4;  ///< on a multiprocessor
constexpr std::int64_t kMostChunks = 1024;

class Writer {
 public:
  Writer(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        total_(is_floating(request.input_types[0].dtype) ? "f64" : "u64"),
        lines_(lines_along(request.input_types[0],
                           *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), request.input_types[0].rank()))),
        op_(request.op->name == "cumulative_prod" ? "Product" : "Sum"),
        merges_(request.op->name == "cumulative_prod" ? " * " : " + "),
        start_(request.op->name == "cumulative_prod" ? "1" : "0"),
        exclusive_(request.attributes->get_or("exclusive", false)),
        reverse_(request.attributes->get_or("reverse", false)),
        wide_(needs_wide_indices(request, architecture)) {
    const std::int64_t machine = architecture.multiprocessors * kBlocksWanted;
    serial_ = lines_.behind >= kSideBySide && (lines_.count() >= machine * kSideBySide || lines_.length <= kShortLine);
    if (serial_) return;
    while (team_.along < kLineBlock && team_.along * kElementsAThread < lines_.length) team_.along *= 2;
    team_.across = kLineBlock / team_.along;
    const std::int64_t blocks = (lines_.count() + team_.across - 1) / team_.across, round = team_.along * kElementsAThread;
    const std::int64_t chunks = std::clamp<std::int64_t>(
        std::min(machine / std::max<std::int64_t>(blocks, 1), lines_.length / (round * kFewestRounds)), 1, kMostChunks);
    chunk_ = (lines_.length + chunks - 1) / chunks;
    chunk_ = (chunk_ + round - 1) / round * round;
    chunks_ = lines_.length == 0 ? 1 : (lines_.length + chunk_ - 1) / chunk_;
  }

  KernelSource write() {
    if (lines_.count() * lines_.length == 0) return {};
    if (serial_) return assemble(request_, write_serial(), device_text("lines"));
    if (chunks_ == 1) return assemble(request_, write_rounds("scan", true), device_text("lines"));
    const std::vector<KernelText> kernels = {write_rounds("sum_chunks", false), write_fronts(), write_rounds("scan", true)};
    return assemble(request_, device_text("lines"), kernels, lines_.count() * chunks_ * 8);
  }

 private:
  [[nodiscard]] std::string store(const std::string& sum) const {
    return "store<" + name_of(request_.result_types[0].dtype) + ">(Wide<" + name_of(request_.input_types[0].dtype) + ">(" + sum + "))";
  }
  /// Where the element `i` of the line is, from `base` on.
  [[nodiscard]] std::string place(KernelText& kernel, const std::string& i) const {
    return reverse_ ? "(" + kernel.index(lines_.length - 1) + " - (" + i + "))" + step(kernel) : "(" + i + ")" + step(kernel);
  }
  [[nodiscard]] std::string step(KernelText& kernel) const { return lines_.behind > 1 ? " * " + kernel.index(lines_.behind) : ""; }

  /// A thread a line.
  KernelText write_serial() {
    KernelText kernel("scan", wide_);
    declare_team(kernel, lines_, {});
    const std::string at = "base + " + place(kernel, "i"), write = "      y0[" + at + "] = " + store("sum") + ";\n";
    kernel << "  " << total_ << " sum = " << start_ << ";\n  if (there)\n    for (Index i = 0; i < " << kernel.index(lines_.length)
           << "; ++i) {\n"
           << (exclusive_ ? "      const " + total_ + " here = (" + total_ + ")plain(widen(x0[" + at + "]));\n" + write : "")
           << "      sum = sum" << merges_ << (exclusive_ ? "here" : "(" + total_ + ")plain(widen(x0[" + at + "]))") << ";\n"
           << (exclusive_ ? "" : write) << "    }\n";
    return kernel;
  }

  /// A team a line, or a chunk of one: writes the elements' sums if `scans`, else only the sum of the chunk, to scratch [line, chunk].
  KernelText write_rounds(std::string entry, bool scans) {
    KernelText kernel(std::move(entry), wide_);
    const std::string along = std::to_string(team_.along), each = std::to_string(kElementsAThread),
                      round = std::to_string(team_.along * kElementsAThread);
    declare_team(kernel, lines_, team_);
    const std::string length = kernel.index(lines_.length), at = "base + " + place(kernel, "i + k");
    kernel << "  typedef " << total_ << " Total;\n";
    if (chunks_ > 1) {
      kernel << "  Total* const slot = (Total*)scratch + line * " << kernel.index(chunks_)
             << " + blockIdx.y;\n  const Index begin = (Index)blockIdx.y * " << kernel.index(chunk_) << ", limit = begin + "
             << kernel.index(chunk_) << ", end = limit < " << length << " ? limit : " << length << ";\n";
      kernel.launch.grid[1] = static_cast<unsigned>(chunks_);
    } else {
      kernel << "  const Index begin = 0, end = " << length << ";\n";
    }
    kernel << "  Total carry = " << (chunks_ > 1 && scans ? "there ? *slot : (Total)" + start_ : start_)
           << ";\n  for (Index from = begin; from < end; from += " << round << ") {\n    const Index i = from + place * " << each
           << ";\n    Total sums[" << each << "], sum = " << start_ << ";\n#pragma unroll\n    for (int k = 0; k < " << each << "; ++k) {\n"
           << (exclusive_ ? "      sums[k] = sum;\n" : "") << "      if (there && i + k < end) sum = sum" << merges_
           << "(Total)plain(widen(x0[" << at << "]));\n"
           << (exclusive_ ? "" : "      sums[k] = sum;\n") << "    }\n";
    if (scans) {
      kernel << "    Total total;\n    const Total front = carry" << merges_ << "merge_in_front<" << op_ << ", " << along
             << ">(sum, place, room, total);\n    carry = carry" << merges_ << "total;\n#pragma unroll\n"
             << "    for (int k = 0; k < " << each << "; ++k)\n      if (there && i + k < end) y0[" << at
             << "] = " << store("front" + merges_ + "sums[k]") << ";\n  }\n";
    } else {
      kernel << "    carry = carry" << merges_ << "merge_all<" << op_ << ", " << along
             << ", 1>(sum, place, room);\n  }\n  if (there && place == 0) *slot = carry;\n";
    }
    return kernel;
  }

  /// Of the sums of a line's chunks, makes the sums in front of each, a thread a line.
  KernelText write_fronts() {
    KernelText kernel("sum_fronts", wide_);
    const std::string chunks = kernel.index(chunks_);
    kernel.begin_loop(lines_.count(), {});
    kernel << "    " << total_ << "* const sums = (" << total_ << "*)scratch + i * " << chunks << ";\n    " << total_
           << " front = " << start_ << ";\n    for (Index c = 0; c < " << chunks << "; ++c) {\n      const " << total_
           << " here = sums[c];\n      sums[c] = front;\n      front = front" << merges_ << "here;\n    }\n";
    kernel.end_loop();
    return kernel;
  }

  const KernelRequest& request_;
  const std::string total_;  ///< the type of sums
  const Lines lines_;
  const std::string op_, merges_, start_;  ///< as device/lines.cuh has it, an operator, what it leaves as it is
  const bool exclusive_, reverse_, wide_;
  bool serial_ = false;
  LineTeam team_;
  std::int64_t chunks_ = 1, chunk_ = 1;
};

KernelSource build_scan(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture).write();
}

}  // namespace

std::span<const KernelRow> scan_kernels() {
  static constexpr KernelRow rows[] = {{"cumulative_prod", build_scan}, {"cumulative_sum", build_scan}};
  return rows;
}

}  // namespace cleave::runtime::cuda

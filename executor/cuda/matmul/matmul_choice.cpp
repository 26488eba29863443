#include "executor/cuda/matmul/matmul_choice.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>

namespace cleave::runtime::cuda {
namespace {

constexpr int kCandidates = 8;
constexpr double kWorthwhile = 0.98;             ///< a later candidate wins if its time is below this part of the best time so far
constexpr std::int64_t kOperandAlignment = 256;  ///< bytes; the memory plan aligns each operand's first element so
/// The allowed reduction schemes: unsplit sums, or partial sums in the accumulator's type that a separate step adds. The other schemes
/// round partial sums to the result's type, or add in place.
constexpr std::uint32_t kSchemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

class Chooser {
 public:
  Chooser(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulDescription& description)
      : setting_(setting), api_(*setting.api), plan_(plan), description_(description) {}

  Result<std::optional<MatmulChoice>> run(const MatmulTests& tests) {
    const auto runs = [&](const MatmulChoice& choice) { return !tests.runs || tests.runs(choice); };
    const std::string key = this->key();
    if (const std::optional<MatmulChoice> kept = read(setting_.kept.find(key)); kept && runs(*kept)) return kept;
    const Result<std::vector<MatmulChoice>> candidates = this->candidates();
    if (!candidates) return candidates.error();
    if (tests.measure && setting_.kept.on() && candidates->size() > 1) {
      const std::optional<MatmulChoice> best = fastest(*candidates, tests.measure);
      if (!best) return best;
      if (const std::optional<MatmulChoice> kept = read(setting_.kept.keep(key, write(*best))); kept && runs(*kept)) return kept;
    }
    const auto first = std::find_if(candidates->begin(), candidates->end(), runs);
    return first == candidates->end() ? std::nullopt : std::optional(*first);
  }

 private:
  /// The cache key: everything that the choice depends on.
  [[nodiscard]] std::string key() const {
    return "cuBLASLt " + std::to_string(api_.cublasLtGetVersion()) + ", " + setting_.machine + "\n" + to_string(plan_) + ", precision " +
           std::to_string(static_cast<int>(setting_.precision)) + ", operands " + std::string(to_string(operands())) + ", workspace " +
           std::to_string(setting_.workspace_bytes) + "\n";
  }

  /// The library's proposals, best first by its own estimate.
  [[nodiscard]] Result<std::vector<MatmulChoice>> candidates() const {
    BlasPreference preference;
    if (Status status = make_preference(preference); !status) return status.error();
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
    int count = 0;
    const cublasStatus_t result = api_.cublasLtMatmulAlgoGetHeuristic(setting_.handle, description_.product.get(), description_.a.get(),
                                                                      description_.b.get(), description_.c.get(), description_.c.get(),
                                                                      preference.get(), kCandidates, found.data(), &count);
    std::vector<MatmulChoice> all;
    if (result == CUBLAS_STATUS_NOT_SUPPORTED) return all;
    if (Status status = check(api_, "cublasLtMatmulAlgoGetHeuristic", result); !status) return status.error();
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& each = found[static_cast<std::size_t>(i)];
      if (each.state == CUBLAS_STATUS_SUCCESS && fits(each.workspaceSize)) all.push_back({each.algo, each.workspaceSize});
    }
    return all;
  }

  [[nodiscard]] bool fits(std::size_t workspace) const { return workspace <= static_cast<std::size_t>(setting_.workspace_bytes); }

  Status make_preference(BlasPreference& preference) const {
    Status status = make(api_, preference, "cublasLtMatmulPreferenceCreate",
                         [&](cublasLtMatmulPreference_t* p) { return api_.cublasLtMatmulPreferenceCreate(p); });
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      if (!status) return;
      status = check(api_, "cublasLtMatmulPreferenceSetAttribute",
                     api_.cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(setting_.workspace_bytes));
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kSchemes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(&MatmulPlan::Repeat::stride_b, operands()));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(&MatmulPlan::Repeat::stride_a, operands()));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(&MatmulPlan::Repeat::stride_c, plan_.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(&MatmulPlan::Repeat::stride_c, plan_.dtype));
    return status;
  }

  [[nodiscard]] DType operands() const { return operand_type(plan_.dtype, setting_.precision); }

  /// The alignment in bytes that an operand, or the result, has in all launches: a power of two.
  [[nodiscard]] std::uint32_t alignment(std::int64_t MatmulPlan::Repeat::*stride, DType type) const {
    std::int64_t bytes = kOperandAlignment;
    for (const MatmulPlan::Repeat& repeat : plan_.repeats) bytes = std::gcd(bytes, repeat.*stride * size_of(type));
    return static_cast<std::uint32_t>(bytes);
  }

  /// The fastest candidate; candidates that fail to run are skipped.
  static std::optional<MatmulChoice> fastest(const std::vector<MatmulChoice>& candidates,
                                             const std::function<Result<double>(const MatmulChoice&)>& measure) {
    const MatmulChoice* best = nullptr;
    double least = 0;
    for (const MatmulChoice& candidate : candidates) {
      const Result<double> seconds = measure(candidate);
      if (!seconds || (best && *seconds >= kWorthwhile * least)) continue;
      best = &candidate;
      least = *seconds;
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  static std::string write(const MatmulChoice& choice) {
    std::string text(sizeof choice.algorithm + sizeof choice.workspace_bytes, '\0');
    std::memcpy(text.data(), &choice.algorithm, sizeof choice.algorithm);
    std::memcpy(text.data() + sizeof choice.algorithm, &choice.workspace_bytes, sizeof choice.workspace_bytes);
    return text;
  }

  /// The cached choice, if the library still accepts it.
  [[nodiscard]] std::optional<MatmulChoice> read(const std::optional<std::string>& text) const {
    MatmulChoice choice;
    if (!text || text->size() != sizeof choice.algorithm + sizeof choice.workspace_bytes) return std::nullopt;
    std::memcpy(&choice.algorithm, text->data(), sizeof choice.algorithm);
    std::memcpy(&choice.workspace_bytes, text->data() + sizeof choice.algorithm, sizeof choice.workspace_bytes);
    cublasLtMatmulHeuristicResult_t now{};
    const cublasStatus_t status =
        api_.cublasLtMatmulAlgoCheck(setting_.handle, description_.product.get(), description_.a.get(), description_.b.get(),
                                     description_.c.get(), description_.c.get(), &choice.algorithm, &now);
    if (status != CUBLAS_STATUS_SUCCESS || !fits(now.workspaceSize)) return std::nullopt;
    choice.workspace_bytes = now.workspaceSize;
    return choice;
  }

  const MatmulSetting& setting_;
  const BlasApi& api_;
  const MatmulPlan& plan_;
  const MatmulDescription& description_;
};

}  // namespace

Result<std::optional<MatmulChoice>> choose(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulDescription& description,
                                           const MatmulTests& tests) {
  return Chooser(setting, plan, description).run(tests);
}

}  // namespace cleave::runtime::cuda

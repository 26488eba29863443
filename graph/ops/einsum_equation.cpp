#include "graph/ops/einsum_equation.h"

#include <algorithm>
#include <cctype>

namespace cleave::ops {
namespace {

constexpr std::string_view kDots = "...";

class EquationReader {
 public:
  EquationReader(std::string_view text, Types inputs) : inputs_(inputs) {
    for (const char c : text) {
      if (c != ' ') text_ += c;
    }
  }

  std::variant<EinsumEquation, TypeError> read() {
    const std::size_t arrow = text_.find("->");
    const std::string_view all = text_, operands = all.substr(0, arrow);
    std::vector<std::string_view> terms;
    for (std::size_t begin = 0; begin <= operands.size();) {
      const std::size_t comma = std::min(operands.find(',', begin), operands.size());
      terms.push_back(operands.substr(begin, comma - begin));
      begin = comma + 1;
    }
    if (terms.size() != inputs_.size())
      fail(DiagnosticKind::value, "`" + text_ + "` is of " + counted(terms.size(), "operand") + ", and " + std::to_string(inputs_.size()) +
                                      (inputs_.size() == 1 ? " is given" : " are given"));
    for (std::size_t i = 0; i < terms.size() && !error_; ++i) read_operand(i, terms[i]);
    if (!error_ && arrow != std::string::npos) read_result(all.substr(arrow + 2));
    if (!error_ && arrow == std::string::npos) find_result();
    if (error_) return *std::move(error_);
    return std::move(equation_);
  }

 private:
  static std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  }
  static std::string name(Label label) { return label > 0 ? "`" + std::string(1, static_cast<char>(label)) + "`" : "an axis of `...`"; }
  void fail(DiagnosticKind kind, const std::string& reason) {
    if (!error_) error_ = refuse(kind, "einsum", inputs_, reason);
  }

  /// The labels of a term, with `dots` axes in place of `...`.
  Labels labels_of(std::string_view term, std::size_t dots, bool& has_dots) {
    Labels labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
        labels.push_back(term[i]);
      } else if (term.substr(i, kDots.size()) == kDots && !has_dots) {
        has_dots = true;
        for (std::size_t axis = dots; axis > 0; --axis) labels.push_back(-static_cast<Label>(axis));
        i += kDots.size() - 1;
      } else {
        fail(DiagnosticKind::value, "`" + std::string(term) + "` in `" + text_ + "` is not made of letters and at most one `...`");
        break;
      }
    }
    return labels;
  }

  void read_operand(std::size_t index, std::string_view term) {
    const TensorType& type = inputs_[index];
    const auto rank = static_cast<std::size_t>(type.rank());
    const std::size_t letters = term.find(kDots) == std::string_view::npos ? term.size() : term.size() - kDots.size();
    bool has_dots = false;
    Labels labels = labels_of(term, rank > letters ? rank - letters : 0, has_dots);
    if (error_) return;
    if (labels.size() != rank) {
      const std::string wanted = has_dots ? " or more" : "";
      return fail(DiagnosticKind::shape, "operand " + std::to_string(index + 1) + ", " + to_string(type) + ", has " +
                                             (rank == 1 ? "one axis" : std::to_string(rank) + " axes") + ", and `" + std::string(term) +
                                             "` names " + std::to_string(letters) + wanted);
    }
    for (std::size_t axis = 0; axis < rank && !error_; ++axis) meet(labels, axis, type.shape[axis], index);
    equation_.operands.push_back(std::move(labels));
  }

  /// Records the extent of a label and checks it against earlier ones. An extent of 1 matches any other, except on a diagonal.
  void meet(const Labels& labels, std::size_t axis, std::int64_t extent, std::size_t index) {
    const Label label = labels[axis];
    const auto before = std::find(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(axis), label);
    if (before != labels.begin() + static_cast<std::ptrdiff_t>(axis)) {
      const std::int64_t other = inputs_[index].shape[static_cast<std::size_t>(before - labels.begin())];
      if (other != extent)
        return fail(DiagnosticKind::shape, name(label) + " is " + std::to_string(other) + " and " + std::to_string(extent) +
                                               " in operand " + std::to_string(index + 1));
    }
    const auto [known, is_new] = equation_.extents.emplace(label, extent);
    if (is_new || extent == 1 || known->second == extent) return;
    if (known->second != 1)
      return fail(DiagnosticKind::shape, name(label) + " is " + std::to_string(known->second) + " in one operand and " +
                                             std::to_string(extent) + " in operand " + std::to_string(index + 1));
    known->second = extent;
  }

  [[nodiscard]] std::size_t dots() const {
    return static_cast<std::size_t>(
        std::count_if(equation_.extents.begin(), equation_.extents.end(), [](const auto& each) { return each.first < 0; }));
  }

  void read_result(std::string_view term) {
    bool has_dots = false;
    equation_.result = labels_of(term, dots(), has_dots);
    if (error_) return;
    if (dots() > 0 && !has_dots) return fail(DiagnosticKind::value, "the result of `" + text_ + "` lacks the `...` of its operands");
    for (std::size_t i = 0; i < equation_.result.size(); ++i) {
      const Label label = equation_.result[i];
      if (std::count(equation_.result.begin(), equation_.result.end(), label) > 1)
        return fail(DiagnosticKind::value, name(label) + " stands twice in the result of `" + text_ + "`");
      if (!equation_.extents.contains(label))
        return fail(DiagnosticKind::value, name(label) + " of the result stands in no operand of `" + text_ + "`");
    }
  }

  void find_result() {
    std::map<Label, int> times;
    for (const Labels& labels : equation_.operands) {
      for (const Label label : labels) ++times[label];
    }
    for (const auto& [label, count] : times) {  // axes of `...` come first, and in order
      if (label < 0 || count == 1) equation_.result.push_back(label);
    }
  }

  std::string text_;
  const Types inputs_;
  EinsumEquation equation_;
  std::optional<TypeError> error_;
};

}  // namespace

std::variant<EinsumEquation, TypeError> read_equation(std::string_view text, Types inputs) {
  return EquationReader(text, inputs).read();
}

}  // namespace cleave::ops

// Arms of `If` that cannot be read, where which arm is taken is known at run time only. A mistake in one is kept until a run takes it: the
// model is read once more, and in the arm's place stands a function of the host that fails with the mistake.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/trace/tracer.h"

namespace cleave::models::onnx {

/// An arm of an `If` of the file: the nodes that hold it, from outside in, by where they stand in the file. All inlinings of them are one.
struct ArmKey {
  std::vector<const char*> nodes;
  bool then = false;
  friend auto operator<=>(const ArmKey&, const ArmKey&) = default;
};

struct ArmMistake {
  std::string arm;     ///< "the then arm of `choose`"
  Diagnostic mistake;  ///< the first in it
  std::size_t more = 0;
  std::string advice;  ///< what would choose an arm while the model is read, or empty
};
using ArmMistakes = std::map<ArmKey, ArmMistake>;

class BrokenArms {
 public:
  explicit BrokenArms(const Tracer& tracer) : tracer_(tracer) {}

  /// What earlier readings found.
  void replace(ArmMistakes known) { known_ = std::move(known); }
  /// Which of these an arm of the innermost node is, or null.
  const ArmMistake* replaced(bool then);

  // While nodes are read.
  void enter(const char* node) { path_.push_back(node); }
  void leave() { path_.pop_back(); }
  /// A mistake that the Tracer is not told of yet.
  void add(Diagnostic mistake);
  /// How many mistakes and arms there are so far.
  struct Mark {
    std::size_t mistakes = 0, arms = 0;
  };
  Mark mark();
  /// Whether there are mistakes since then that no arm excuses.
  [[nodiscard]] bool broken(Mark since);
  /// The innermost node was read: `title` is its name, the mistakes before `middle` lie in its then arm, those behind it in the other one.
  /// Where one arm is whole, those of the other are excused.
  void judge(const std::string& title, Mark begin, Mark middle, const std::string& advice);

  /// The arms to be replaced, if all mistakes lie in them; else nothing.
  [[nodiscard]] ArmMistakes excused();
  /// One for each arm that was replaced.
  [[nodiscard]] Diagnostics warnings() const;
  /// The mistakes that were reported, with what would choose an arm where the whole lies in one.
  [[nodiscard]] Diagnostics with_advice() const;

 private:
  struct Mistake {
    Diagnostic said;
    std::optional<std::size_t> number;  ///< among those of the Tracer
    bool excused = false;
  };
  void look();
  [[nodiscard]] std::vector<Mistake*> open(std::size_t begin, std::size_t end);

  const Tracer& tracer_;
  std::vector<const char*> path_;
  std::vector<Mistake> mistakes_;
  std::size_t seen_ = 0;        ///< of the Tracer's
  bool beyond_excuse_ = false;  ///< more mistakes than anybody looks at, or one of the machine and not of an arm
  ArmMistakes known_;
  std::set<ArmKey> replaced_;
  std::vector<std::pair<ArmKey, ArmMistake>> found_;
  std::map<std::size_t, std::string> advice_;  ///< by number of the mistake
};

}  // namespace cleave::models::onnx

// Arms of `If` that cannot be read, in nodes whose condition is known only at run time. A mistake in such an arm is deferred until a run
// takes the arm: the model is read again, and a host function that fails with the mistake replaces the arm.
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

/// Identifies an arm of an `If`: the nodes that contain it, outermost first, by the address of their bytes in the file. All inlinings of an
/// arm have the same key.
struct ArmKey {
  std::vector<const char*> nodes;
  bool then = false;
  friend auto operator<=>(const ArmKey&, const ArmKey&) = default;
};

struct ArmMistake {
  std::string arm;     ///< "the then arm of `choose`"
  Diagnostic mistake;  ///< the first mistake in the arm
  std::size_t more = 0;
  std::string advice;  ///< how to make the condition known while the model is read, or empty
};
using ArmMistakes = std::map<ArmKey, ArmMistake>;

class BrokenArms {
 public:
  explicit BrokenArms(const Tracer& tracer) : tracer_(tracer) {}

  /// Sets the arms to replace, as found by earlier readings.
  void replace(ArmMistakes known) { known_ = std::move(known); }
  /// The mistake of an arm of the innermost node, if that arm is to be replaced; else null.
  const ArmMistake* replaced(bool then);

  // To be called while nodes are read.
  void enter(const char* node) { path_.push_back(node); }
  void leave() { path_.pop_back(); }
  /// Adds a mistake that is not yet reported to the Tracer.
  void add(Diagnostic mistake);
  /// The numbers of mistakes and arms found so far.
  struct Mark {
    std::size_t mistakes = 0, arms = 0;
  };
  Mark mark();
  /// Whether there are mistakes since that mark that no arm excuses.
  [[nodiscard]] bool broken(Mark since);
  /// Judges the innermost node after it was read. `title` is its name; mistakes between `begin` and `middle` are in its then arm, later
  /// ones in its else arm. If one arm has no mistakes, those of the other are excused.
  void judge(const std::string& title, Mark begin, Mark middle, const std::string& advice);

  /// The arms to replace in the next reading, if all mistakes are in such arms; else nothing.
  [[nodiscard]] ArmMistakes excused();
  /// One warning for each arm that was replaced.
  [[nodiscard]] Diagnostics warnings() const;
  /// The reported mistakes. One in an arm has a note that says how to choose an arm while the model is read.
  [[nodiscard]] Diagnostics with_advice() const;

 private:
  struct Mistake {
    Diagnostic said;
    std::optional<std::size_t> number;  ///< its index in the Tracer's diagnostics
    bool excused = false;
  };
  void look();
  [[nodiscard]] std::vector<Mistake*> open(std::size_t begin, std::size_t end);

  const Tracer& tracer_;
  std::vector<const char*> path_;
  std::vector<Mistake> mistakes_;
  std::size_t seen_ = 0;        ///< diagnostics of the Tracer that were looked at
  bool beyond_excuse_ = false;  ///< there are more mistakes than are examined, or one of the machine, which no arm causes
  ArmMistakes known_;
  std::set<ArmKey> replaced_;
  std::vector<std::pair<ArmKey, ArmMistake>> found_;
  std::map<std::size_t, std::string> advice_;  ///< by index of the mistake
};

}  // namespace cleave::models::onnx

#include "models/onnx/broken_arms.h"

#include <utility>

namespace cleave::models::onnx {
namespace {

constexpr std::size_t kMostMistakes = 200;

}  // namespace

const ArmMistake* BrokenArms::replaced(bool then) {
  const auto found = known_.find({path_, then});
  if (found == known_.end()) return nullptr;
  replaced_.insert(found->first);
  return &found->second;
}

void BrokenArms::look() {
  const Diagnostics& said = tracer_.graph().diagnostics;
  for (; seen_ < said.size(); ++seen_) {
    mistakes_.push_back({said.begin()[static_cast<std::ptrdiff_t>(seen_)], seen_});
    beyond_excuse_ = beyond_excuse_ || mistakes_.back().said.kind == DiagnosticKind::machine;
  }
}

void BrokenArms::add(Diagnostic mistake) {
  look();
  beyond_excuse_ = beyond_excuse_ || mistakes_.size() >= kMostMistakes;
  if (!beyond_excuse_) mistakes_.push_back({std::move(mistake), std::nullopt});
}

BrokenArms::Mark BrokenArms::mark() {
  look();
  return {mistakes_.size(), found_.size()};
}

std::vector<BrokenArms::Mistake*> BrokenArms::open(std::size_t begin, std::size_t end) {
  std::vector<Mistake*> open;
  for (std::size_t i = begin; i < end; ++i)
    if (!mistakes_[i].excused) open.push_back(&mistakes_[i]);
  return open;
}

bool BrokenArms::broken(Mark since) {
  look();
  return !open(since.mistakes, mistakes_.size()).empty();
}

void BrokenArms::judge(const std::string& title, Mark begin, Mark middle, const std::string& advice) {
  look();
  const std::vector<Mistake*> first = open(begin.mistakes, middle.mistakes), second = open(middle.mistakes, mistakes_.size());
  for (const std::vector<Mistake*>* arm : {&first, &second}) {
    if (!arm->empty() && arm->front()->number && !advice.empty()) advice_.try_emplace(*arm->front()->number, advice);
  }
  if (first.empty() == second.empty()) return;
  const bool then = second.empty();
  const std::vector<Mistake*>& arm = then ? first : second;
  // Broken arms nested in this arm are covered by it.
  const auto from = found_.begin() + static_cast<std::ptrdiff_t>(then ? begin.arms : middle.arms);
  found_.erase(from, then ? found_.begin() + static_cast<std::ptrdiff_t>(middle.arms) : found_.end());
  found_.emplace_back(ArmKey{path_, then}, ArmMistake{std::string("the ") + (then ? "then" : "else") + " arm of " + title,
                                                      arm.front()->said, arm.size() - 1, advice});
  for (Mistake* mistake : arm) mistake->excused = true;
}

ArmMistakes BrokenArms::excused() {
  if (beyond_excuse_ || broken({})) return {};
  ArmMistakes all = known_;
  for (const auto& [key, mistake] : found_) all.try_emplace(key, mistake);
  return all.size() > known_.size() ? all : ArmMistakes();
}

Diagnostics BrokenArms::warnings() const {
  Diagnostics warnings;
  for (const ArmKey& key : replaced_) {
    const ArmMistake& arm = known_.at(key);
    Diagnostic warning{arm.mistake.kind, Severity::warning, arm.arm + " cannot run: " + arm.mistake.message, arm.mistake.location, 0,
                       arm.mistake.notes};
    if (arm.more > 0)
      warning.notes.push_back(
          {arm.more == 1 ? "there is 1 more mistake in it" : "there are " + std::to_string(arm.more) + " more mistakes in it", {}, 0});
    warning.notes.push_back({"a run that takes it ends with this error", {}, 0});
    if (!arm.advice.empty()) warning.notes.push_back({arm.advice, {}, 0});
    warnings.add(std::move(warning));
  }
  return warnings;
}

Diagnostics BrokenArms::with_advice() const {
  Diagnostics all = tracer_.graph().diagnostics;
  for (const auto& [number, advice] : advice_)
    all.begin()[static_cast<std::ptrdiff_t>(number)].notes.push_back({"this lies in an arm of `If`; " + advice, {}, 0});
  return all;
}

}  // namespace cleave::models::onnx

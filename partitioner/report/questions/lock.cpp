// Writing: one line for each entry, sorted. Reading: the same lines, each checked. Comparing: all differences of one statement form one
// message, and transfers are reported only for values whose producers stayed on their side.
#include "partitioner/report/questions/lock.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "partitioner/report/placed_things.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr int kLockVersion = 1;
constexpr std::string_view kHead = "# cleave plan lock, version ";
constexpr std::string_view kEnd = "# end of lock";
constexpr std::size_t kMostSaid = 20;  ///< most changes that are errors of their own
constexpr std::size_t kMostNamed = 6;

struct Lock {
  std::map<std::string, Sides> operations;
  std::set<PlacedThings::Move> moves;
};

// --- reading ----------------------------------------------------------------------------------------------------------------------

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

class LockReader {
 public:
  explicit LockReader(std::string file) : file_(std::make_shared<const std::string>(std::move(file))) {}

  Result<Lock> read(std::string_view text) {
    bool ended = false;
    for (; !text.empty(); ++line_) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line_ == 1) {
        if (Status known = head(line); !known) return known.error();
      } else if (line == kEnd) {
        ended = true;
      } else if (!line.empty() && !line.starts_with("# ")) {
        if (Status fine = thing(line); !fine) return fine.error();
      }
    }
    if (line_ == 1) return error("it is empty");
    if (!ended) return error("it is cut off: its last line, `" + std::string(kEnd) + "`, is missing");
    return std::move(lock_);
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return {"not a lock of a plan: " + what + "; write it anew with --update-lock", {file_, line_, 0, nullptr}, ErrorKind::file};
  }

  Status head(std::string_view line) const {
    int version = 0;
    if (!line.starts_with(kHead)) return error("it does not begin with `" + std::string(kHead) + std::to_string(kLockVersion) + "`");
    const std::string_view digits = line.substr(kHead.size());
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
    if (code != std::errc() || end != digits.data() + digits.size() || version < 1) return error("its version is no number");
    if (version > kLockVersion)
      return error("it is of version " + std::to_string(version) + ", and this cleave knows " + std::to_string(kLockVersion));
    return {};
  }

  Status thing(std::string_view line) {
    const std::vector<std::string_view> words = split_at(line, ' ');
    const auto is_side = [](std::string_view side) { return side == to_string(kHost) || side == to_string(kAccelerator); };
    bool fine = false;
    if (words.size() == 3 && words[1] == "on") {
      const std::vector<std::string_view> sides = split_at(words[2], ',');
      fine = !sides.empty() && std::all_of(sides.begin(), sides.end(), is_side) &&
             lock_.operations.emplace(std::string(words[0]), std::string(words[2])).second;
    } else if (words.size() == 5 && words[1] == "to" && words[3] == "in") {
      fine = is_side(words[2]) && lock_.moves.insert({std::string(words[0]), std::string(words[2]), std::string(words[4])}).second;
    }
    const bool conflict = line.starts_with("<<<<<<<") || line.starts_with("=======") || line.starts_with(">>>>>>>");
    if (fine) return {};
    return error(conflict ? "there is a conflict of a merge" : "`" + std::string(line) + "` says nothing, or the same again");
  }

  std::shared_ptr<const std::string> file_;
  int line_ = 1;
  Lock lock_;
};

// --- comparing --------------------------------------------------------------------------------------------------------------------

class Comparison {
 public:
  Comparison(const Plan& plan, const Lock& lock, std::string file)
      : plan_(plan), graph_(*plan.graph), lock_(lock), file_(std::move(file)), things_(placed_things(plan)) {}

  Diagnostics run() {
    operations();
    gone();
    moves();
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return before(a.location, b.location); });
    if (changes_.size() > kMostSaid) {
      const std::size_t more = changes_.size() - kMostSaid;
      changes_.resize(kMostSaid);
      say({}, std::to_string(more) + " more changes against the lock `" + file_ + "`");
    }
    if (!changes_.empty()) changes_.back().notes.push_back({"if this is meant, write the lock anew with --update-lock", {}, 0});
    Diagnostics result;
    for (Diagnostic& change : changes_) result.add(std::move(change));
    return result;
  }

 private:
  /// Operations of one statement with the same change.
  struct Group {
    std::string file;
    int line;
    const SourceFrame* via;
    Sides was, is;
    friend auto operator<=>(const Group&, const Group&) = default;
  };

  void say(const SourceLocation& location, std::string message, std::vector<Note> notes = {}) {
    changes_.push_back({DiagnosticKind::limit, Severity::error, std::move(message), location, 0, std::move(notes)});
  }

  void operations() {
    std::map<Group, std::vector<NodeId>> groups;
    for (const auto& [path, node] : things_.operations) {
      const auto locked = lock_.operations.find(path);
      const Sides was = locked == lock_.operations.end() ? "" : locked->second, is = sides_of(plan_, node);
      if (was == is) continue;
      changed_.insert(path);
      const SourceLocation& place = graph_.nodes[node].location;
      groups[{std::string(place.file_name()), place.line, place.via.get(), was, is}].push_back(node);
    }
    for (auto& [group, nodes] : groups) std::sort(nodes.begin(), nodes.end());
    std::vector<const std::pair<const Group, std::vector<NodeId>>*> in_order;  // in program order; `groups` is ordered by addresses
    for (const auto& each : groups) in_order.push_back(&each);
    std::sort(in_order.begin(), in_order.end(), [](const auto* x, const auto* y) { return x->second.front() < y->second.front(); });
    for (const auto* each : in_order) {
      const auto& [group, nodes] = *each;
      const std::string run = nodes.size() == 1 ? " runs " : " run ";
      const std::string message = group.was.empty() ? names(nodes) + run + side_phrase(group.is) +
                                                          (nodes.size() == 1 ? ", and is" : ", and are") + " not in the lock"
                                                    : names(nodes) + run + side_phrase(group.is) + " now; the lock has " +
                                                          (nodes.size() == 1 ? "it " : "them ") + side_phrase(group.was);
      say(graph_.nodes[nodes.front()].location, message, why(nodes.front()));
    }
  }

  std::string names(const std::vector<NodeId>& nodes) const {
    std::string text;
    for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) {
      const bool last = i + 1 == nodes.size();
      text += (i == 0 ? "`" : last ? " and `" : ", `") + things_.paths[nodes[i]] + "`";
    }
    return nodes.size() <= kMostNamed ? text : text + " and " + std::to_string(nodes.size() - kMostNamed) + " more";
  }

  std::vector<Note> why(NodeId node) const {
    if (!plan_.placement.has_copy(node.index, kHost)) return {};
    if (plan_.policy == Policy::host) return {{"on the host is everything under `--placement host`", {}, 0}};
    return {{"runs on the host because " + cause_phrase(plan_.costed.forced[node.index], plan_.graph->nodes[node]), {}, 0}};
  }

  void gone() {
    std::vector<std::string> paths;
    for (const auto& [path, sides] : lock_.operations)
      if (!things_.operations.contains(path)) paths.push_back(path);
    for (const std::string& path : paths) changed_.insert(path);
    if (paths.empty()) return;
    std::string text;
    for (std::size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i) text += (i == 0 ? "`" : ", `") + paths[i] + "`";
    if (paths.size() > kMostNamed) text += " and " + std::to_string(paths.size() - kMostNamed) + " more";
    say({}, text + (paths.size() == 1 ? " is" : " are") + " in the lock `" + file_ + "`, and no longer in the program");
  }

  /// The path of the operation that produces the value with this path.
  static std::string producer(const std::string& path) { return path.substr(0, path.find_last_of(':')); }

  void moves() {
    for (std::size_t i = 0; i < things_.moves.size(); ++i) {
      const PlacedThings::Move& move = things_.moves[i];
      if (lock_.moves.contains(move) || changed_.contains(producer(move.path))) continue;
      const Transfer& t = plan_.transfers.items[i];
      say(t.location, value_phrase(graph_, t.value) + " moves to the " + device_word(move.to) + " now, " +
                          times_phrase(graph_, t.region, t.frequency) + where(move.within) + "; the lock has no such transfer");
    }
    const std::set<PlacedThings::Move> moves(things_.moves.begin(), things_.moves.end());
    for (const PlacedThings::Move& move : lock_.moves) {
      if (moves.contains(move) || changed_.contains(producer(move.path))) continue;
      const auto node = std::find(things_.paths.begin(), things_.paths.end(), producer(move.path));
      const bool found = node != things_.paths.end();
      const NodeId id(static_cast<std::size_t>(node - things_.paths.begin()));
      say(found ? graph_.nodes[id].location : SourceLocation(), "`" + (found ? graph_.display_name(id) : move.path) +
                                                                    "` no longer moves to the " + device_word(move.to) +
                                                                    where(move.within) + "; the lock has that transfer");
    }
  }

  static std::string device_word(const std::string& device) { return device == "host" ? "host" : "accelerator"; }
  static std::string where(const std::string& within) { return within == "program" ? "" : " in `" + within + "`"; }

  const Plan& plan_;
  const Graph& graph_;
  const Lock& lock_;
  const std::string file_;
  const PlacedThings things_;
  std::set<std::string> changed_;  ///< paths of operations that were reported
  std::vector<Diagnostic> changes_;
};

}  // namespace

std::string lock_text(const Plan& plan) {
  const PlacedThings things = placed_things(plan);
  std::set<std::string> lines;
  for (const auto& [path, node] : things.operations) lines.insert(path + " on " + sides_of(plan, node));
  for (const PlacedThings::Move& move : things.moves) lines.insert(move.path + " to " + move.to + " in " + move.within);
  std::string text = std::string(kHead) + std::to_string(kLockVersion) + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text + std::string(kEnd) + "\n";
}

Result<Diagnostics> differences_from_lock(const Plan& plan, std::string_view text, const std::string& file) {
  const Result<Lock> lock = LockReader(file).read(text);
  if (!lock) return lock.error();
  return Comparison(plan, *lock, file).run();
}

}  // namespace cleave::planner

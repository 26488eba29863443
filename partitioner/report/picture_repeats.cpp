// Folds repetitions: layers that follow each other with equal operations, types, sides and causes are drawn once. It searches lists for
// stretches that equal the preceding one, from the innermost boxes outward, so equal scopes and loops are repetitions, too.
#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "partitioner/report/picture_tree.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kWorthFolding = 6;        ///< leaves saved by a repetition that is worth folding
constexpr std::size_t kMostWork = 100'000'000;  ///< limit on comparisons for one list

/// items[begin .. begin + times * period) consists of `times` equal stretches.
struct Repeat {
  std::size_t begin = 0, period = 0, times = 0, saved = 0;
};

/// The name without digits: "layer3" and "layer12" become equal.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

class Folding {
 public:
  Folding(const Plan& plan, const NodeFacts& facts) : graph_(*plan.graph), facts_(facts) {}

  /// Folds the lists in the box, then the box's own list. Returns the number of the box's structure; equal numbers mean equal structure.
  int fold(PictureItem& box) {
    std::vector<int> words;
    for (PictureItem& item : box.items) words.push_back(item.is_box ? fold(item) : word_of(item.leaf));
    fold_list(box.items, words);
    std::vector<std::string> word{"box", std::to_string(static_cast<int>(box.box.kind)), without_numbers(box.box.label),
                                  std::to_string(box.box.times)};
    for (const int inner : words) word.push_back(std::to_string(inner));
    return number_of(word);
  }

 private:
  int number_of(const std::vector<std::string>& word) { return words_.emplace(word, static_cast<int>(words_.size())).first->second; }

  int word_of(const PictureNode& leaf) {
    std::vector<std::string> word{std::to_string(static_cast<int>(leaf.kind)), leaf.round_trips.empty() ? "" : "round trip"};
    for (const Cause cause : leaf.causes) word.emplace_back(to_string(cause));
    for (const NodeId id : leaf.nodes) {
      const Node& node = graph_.nodes[id];
      word.emplace_back(to_string(node.kind));
      if (facts_.single[id.index]) word.push_back("node " + std::to_string(id.index));
      if (node.op) word.push_back(culprit_name(graph_, id));
      for (const ValueId result : node.results) word.push_back(to_string(graph_.values[result].type));
    }
    // Outputs are never equal, since users look for them by name.
    for (const std::size_t output : leaf.outputs) word.push_back("output " + std::to_string(output));
    return number_of(word);
  }

  void fold_list(std::vector<PictureItem>& items, std::vector<int>& words) {
    std::vector<std::size_t> sizes;
    for (const PictureItem& item : items) sizes.push_back(leaves(item));
    std::vector<Repeat> chosen = choose(words, sizes);
    if (chosen.empty()) return;
    std::vector<PictureItem> kept;
    std::vector<int> kept_words;
    std::size_t next = 0;
    const auto keep_until = [&](std::size_t end) {
      for (; next < end; ++next) {
        kept.push_back(std::move(items[next]));
        kept_words.push_back(words[next]);
      }
    };
    for (const Repeat& repeat : chosen) {
      keep_until(repeat.begin);
      PictureItem folded = merged(items, words, repeat);
      kept_words.push_back(number_of({"repeat", std::to_string(repeat.times), std::to_string(last_word_)}));
      kept.push_back(std::move(folded));
      next = repeat.begin + repeat.period * repeat.times;
    }
    keep_until(items.size());
    items = std::move(kept);
    words = std::move(kept_words);
  }

  // --- finding

  /// The repetitions to fold, chosen greedily by the number of leaves they save. They do not overlap and are in order.
  static std::vector<Repeat> choose(const std::vector<int>& words, const std::vector<std::size_t>& sizes) {
    const std::size_t size = words.size();
    std::vector<std::size_t> before(size + 1, 0);  // number of leaves before an item
    for (std::size_t i = 0; i < size; ++i) before[i + 1] = before[i] + sizes[i];
    std::vector<Repeat> all;
    const std::size_t longest = std::min(size / 2, size == 0 ? 0 : kMostWork / size);
    for (std::size_t period = 1; period <= longest; ++period) {
      for (std::size_t i = 0, equal = 0; i + period <= size; ++i) {
        const bool same = i + period < size && words[i] == words[i + period];
        if (same) {
          ++equal;
          continue;
        }
        if (equal >= period) add(all, i - equal, period, equal / period + 1, before);
        equal = 0;
      }
    }
    std::sort(all.begin(), all.end(), [](const Repeat& a, const Repeat& b) {
      return a.saved != b.saved ? a.saved > b.saved : a.period != b.period ? a.period < b.period : a.begin < b.begin;
    });
    std::map<std::size_t, Repeat> taken;  // by `begin`
    for (Repeat repeat : all) {
      if (fit(repeat, taken, before)) taken.emplace(repeat.begin, repeat);
    }
    std::vector<Repeat> chosen;
    for (const auto& [begin, repeat] : taken) chosen.push_back(repeat);
    return chosen;
  }

  static void add(std::vector<Repeat>& all, std::size_t begin, std::size_t period, std::size_t times,
                  const std::vector<std::size_t>& before) {
    const Repeat repeat{begin, period, times, saved_by(begin, period, times, before)};
    if (repeat.saved >= kWorthFolding) all.push_back(repeat);
  }

  static std::size_t saved_by(std::size_t begin, std::size_t period, std::size_t times, const std::vector<std::size_t>& before) {
    return before[begin + period * times] - before[begin + period];
  }

  /// Cuts off the parts that overlap chosen repetitions. Returns false if too little remains.
  static bool fit(Repeat& repeat, const std::map<std::size_t, Repeat>& taken, const std::vector<std::size_t>& before) {
    std::size_t begin = repeat.begin, end = repeat.begin + repeat.period * repeat.times;
    auto after = taken.upper_bound(begin);
    if (after != taken.begin()) {
      const Repeat& left = std::prev(after)->second;
      begin = std::max(begin, left.begin + left.period * left.times);
    }
    if (after != taken.end()) end = std::min(end, after->first);
    if (end < begin || (end - begin) / repeat.period < 2) return false;
    repeat = {begin, repeat.period, (end - begin) / repeat.period, 0};
    repeat.saved = saved_by(repeat.begin, repeat.period, repeat.times, before);
    return repeat.saved >= kWorthFolding;
  }

  // --- folding

  static void merge(PictureItem& into, PictureItem& other) {
    if (!into.is_box) {
      PictureNode& leaf = into.leaf;
      leaf.nodes.insert(leaf.nodes.end(), other.leaf.nodes.begin(), other.leaf.nodes.end());
      std::vector<std::size_t>& trips = leaf.round_trips;
      trips.insert(trips.end(), other.leaf.round_trips.begin(), other.leaf.round_trips.end());
      std::sort(trips.begin(), trips.end());
      trips.erase(std::unique(trips.begin(), trips.end()), trips.end());
      return;
    }
    for (std::size_t i = 0; i < into.items.size(); ++i) merge(into.items[i], other.items[i]);
  }

  static void multiply(PictureItem& item, std::size_t times) {
    if (!item.is_box) item.leaf.times *= times;
    for (PictureItem& inner : item.items) multiply(inner, times);
  }

  /// Merges all stretches of a repetition into its first one, and returns that as one item.
  PictureItem merged(std::vector<PictureItem>& items, const std::vector<int>& words, const Repeat& repeat) {
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(repeat.begin);
    const std::string last_label = (first + static_cast<std::ptrdiff_t>(repeat.period * repeat.times - 1))->box.label;
    std::vector<PictureItem> one(std::make_move_iterator(first),
                                 std::make_move_iterator(first + static_cast<std::ptrdiff_t>(repeat.period)));
    std::vector<int> inner(words.begin() + static_cast<std::ptrdiff_t>(repeat.begin),
                           words.begin() + static_cast<std::ptrdiff_t>(repeat.begin + repeat.period));
    for (std::size_t i = 0; i < one.size(); ++i) {
      for (std::size_t k = 1; k < repeat.times; ++k) merge(one[i], items[repeat.begin + k * repeat.period + i]);
      multiply(one[i], repeat.times);
    }
    PictureItem folded;
    if (one.size() == 1) {
      last_word_ = inner[0];
      folded = std::move(one[0]);
      if (folded.is_box) folded.box.times *= repeat.times;
      if (folded.is_box && folded.box.label != last_label) folded.box.label += " … " + last_label;
      return folded;
    }
    const DeviceId device = one[0].is_box ? one[0].box.device : one[0].leaf.device;
    fold_list(one, inner);  // also folds repetitions within the stretch
    std::vector<std::string> word{"list"};
    for (const int part : inner) word.push_back(std::to_string(part));
    last_word_ = number_of(word);
    folded.is_box = true;
    folded.box.kind = PictureBox::Kind::repeated;
    folded.box.device = device;
    folded.box.times = repeat.times;
    folded.items = std::move(one);
    return folded;
  }

  const Graph& graph_;
  const NodeFacts& facts_;
  std::map<std::vector<std::string>, int> words_;
  int last_word_ = 0;  ///< the structure number of the last result of merged()
};

}  // namespace

void fold_repeats(PictureItem& root, const Plan& plan, const NodeFacts& facts) {
  Folding(plan, facts).fold(root);
}

}  // namespace cleave::planner

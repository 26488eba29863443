// Turns advice into edits of the text; the entry point is find_fixes. It gives a fix only if the text alone shows that the edit does what
// the advice says; `cleave apply` plans the edited model again before it writes the file.
#include "models/fixes.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/base/text_hash.h"
#include "models/reader/statement_sites.h"
#include "models/reader/yaml_edits.h"

namespace cleave {
namespace {

using namespace models;
using Action = Advice::Action;

/// The operands of a call. Those inside a list, as in `concat([a, b])`, count as the call's own.
std::vector<const ExpressionNode*> operands_of(const Expression& expression, const ExpressionNode& node) {
  std::vector<const ExpressionNode*> operands;
  for (const std::uint32_t part : node.parts) {
    if (part == ExpressionNode::kNone) continue;
    const ExpressionNode& operand = expression.nodes[part];
    operands.push_back(&operand);
    if (operand.kind == ExpressionNode::Kind::list)
      for (const ExpressionNode* inner : operands_of(expression, operand)) operands.push_back(inner);
  }
  return operands;
}

/// The value that a loop or branch reads before it begins: a predicate or count. (The condition of a `while`, tested in each iteration,
/// stays an operation if it is marked.)
std::vector<const ExpressionNode*> read_by_head(const StatementSite& site) {
  const bool before = site.head->key.text == "if" || site.head->key.text == "for";
  if (!before || site.expressions.empty()) return {};
  return {&site.expressions.front().root()};
}

class FixWriter {
 public:
  FixWriter(const YamlNode& root, const Source& source, const std::string& file)
      : root_(root), source_(source), file_(file), sites_(root, source), editor_(source) {
    index_names();
  }

  std::optional<Fix> write(const Advice& advice) {
    if (advice.places.empty()) return std::nullopt;
    for (const Advice::Place& place : advice.places)
      if (place.at.file_name() != file_) return std::nullopt;
    replacements_.clear();
    hash_ = TextHash();
    Fix fix;
    fix.file = file_;
    fix.saved_seconds = advice.saved_seconds;
    fix.note = advice.note;
    fix.said = advice.said;
    const std::optional<std::string> title = make(advice);
    if (!title) return std::nullopt;
    fix.title = *title;
    fix.id = hash_.text();
    std::stable_sort(replacements_.begin(), replacements_.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
    for (const Replacement& replacement : replacements_) fix.edits.push_back(editor_.edit(replacement));
    return fix;
  }

 private:
  using Title = std::optional<std::string>;

  Title make(const Advice& advice) {
    switch (advice.action) {
      case Action::remove_pin: return remove_pin(advice);
      case Action::mark_to_host: return mark(advice, "to_host");
      case Action::mark_to_accelerator: return mark(advice, "to_accelerator");
      case Action::move_out: return move_out(advice);
      case Action::remove_statement: return remove_statement(advice);
    }
    return std::nullopt;
  }

  static std::string quoted_name(const std::string& name) { return "`" + name + "`"; }

  /// Possible only if the pin of the one advised line is that of the whole statement, and no other pin affects or comes from it.
  Title remove_pin(const Advice& advice) {
    const auto found = sites_.operation_at(advice.places[0].at);
    const YamlEntry* place = found ? found->site->key("place") : nullptr;
    if (!place || sites_.calls_function(*found->site) || placed_.contains(found->site->function)) return std::nullopt;
    const int line = advice.places[0].at.line;
    for (const Expression& expression : found->site->expressions)
      for (const ExpressionNode& node : expression.nodes)
        if (source_.location(node.span.begin).line != line) return std::nullopt;
    const auto without = editor_.without_entry(*found->site->item, *place);
    if (!without) return std::nullopt;
    replacements_.push_back(*without);
    hash_.add("remove-pin");
    hash_.add(found->site->path);
    return "remove `place: " + place->value.text + "` of " + quoted_name(found->site->name);
  }

  Title mark(const Advice& advice, const std::string& function) {
    hash_.add(function);
    std::string marked;
    std::set<std::size_t> done;
    for (const Advice::Place& place : advice.places) {
      const auto found = sites_.operation_at(place.at);
      const StatementSite* site = found ? found->site : sites_.head_at(place.at);
      if (!site || !sites_.at_one_place(*site)) return std::nullopt;
      const std::string& reader = found ? found->node->text : site->head->key.text;
      bool any = false;
      for (const ExpressionNode* operand : found ? operands_of(*found->expression, *found->node) : read_by_head(*site)) {
        if (!is_value(*operand, *site, place)) continue;
        any = true;
        const std::string text(source_.at(operand->extent));
        if (!done.insert(operand->extent.begin).second) continue;
        replacements_.push_back({{operand->extent.begin, operand->extent.begin}, function + "("});
        replacements_.push_back({{operand->extent.end, operand->extent.end}, ")"});
        hash_.add(site->path);
        hash_.add(reader);
        hash_.add(text);
        const std::string shown = quoted_name(text.find('\n') == std::string::npos ? text : reader);
        if (marked.find(shown) == std::string::npos) marked += (marked.empty() ? "" : ", ") + shown;
      }
      if (!any) return std::nullopt;
    }
    return "mark " + marked + " with " + function + "()";
  }

  /// Whether `operand` is the advised value. A function's parameter stands for the argument of the function's only call.
  [[nodiscard]] bool is_value(const ExpressionNode& operand, const StatementSite& site, const Advice::Place& place) const {
    if (operand.kind != ExpressionNode::Kind::name) return source_.location(operand.span.begin) == place.made;
    if (!place.name.empty() && operand.text == place.name) return true;
    const auto given = sites_.argument(site.function, operand.text);
    return given && is_value(*given->node, *given->site, place);
  }

  /// Removes a statement whose name is bound nowhere else and read nowhere. The statement must call no function of the model and no host
  /// function, since those may have effects.
  Title remove_statement(const Advice& advice) {
    const auto found = sites_.operation_at(advice.places[0].at);
    if (!found || found->site->bound.size() != 1 || found->site->key("do") || found->site->list->flow) return std::nullopt;
    const StatementSite& site = *found->site;
    const std::string& name = site.bound[0];
    if (sites_.calls_function(site) || declared(name) || bindings(name, site.function) != 1 || site.list->items.size() < 2)
      return std::nullopt;
    if (named_in("outputs", name) || named_in("resident", name) || returned(name)) return std::nullopt;
    if (read_.contains(name)) return std::nullopt;
    const auto lines = editor_.lines_of_item(*site.item);
    if (!lines || source_.at({lines->begin, lines->end}).find('#') != std::string_view::npos) return std::nullopt;  // a comment would go
    replacements_.push_back({without_lines(*lines), ""});
    hash_.add("remove");
    hash_.add(site.path);
    return "remove " + quoted_name(name) + ", which nothing reads";
  }

  /// Whether a section or key lists `name`: `outputs: [a, b]`, `returns: a`.
  static bool lists(const YamlEntry* entry, const std::string& name) {
    if (!entry) return false;
    const YamlNode& value = entry->value;
    const auto is = [&](const YamlNode& item) { return item.text == name || item.text.starts_with(name + "."); };
    if (value.scalar()) return value.text.find(name) != std::string::npos;
    return std::any_of(value.items.begin(), value.items.end(), is) ||
           std::any_of(value.entries.begin(), value.entries.end(), [&](const YamlEntry& each) { return is(each.key) || is(each.value); });
  }
  [[nodiscard]] bool named_in(const char* section, const std::string& name) const { return lists(root_.find(section), name); }
  [[nodiscard]] bool returned(const std::string& name) const {
    const YamlEntry* functions = root_.find("functions");
    return functions && std::any_of(functions->value.entries.begin(), functions->value.entries.end(),
                                    [&](const YamlEntry& function) { return lists(function.value.find("returns"), name); });
  }

  // --- moving statements --------------------------------------------------------------------------------------------------------------

  Title move_out(const Advice& advice) {
    const StatementSite* loop = advice.loop.file_name() == file_ ? sites_.head_at(advice.loop) : nullptr;
    if (!loop || !sites_.at_one_place(*loop)) return std::nullopt;
    std::set<std::size_t> moved;  // in order
    for (const Advice::Place& place : advice.places) {
      const auto found = sites_.operation_at(place.at);
      if (!found || !sites_.inside(*found->site, *loop)) return std::nullopt;
      moved.insert(sites_.index(*found->site));
    }
    std::string names, text;
    const auto before = editor_.lines_of_item(*loop->item);
    if (!before) return std::nullopt;
    hash_.add("move-out");
    hash_.add(loop->path);
    for (const std::size_t index : moved) {
      const StatementSite& site = sites_.all()[index];
      const auto lines = may_move(site, *loop, moved) ? editor_.lines_of_item(*site.item) : std::nullopt;
      if (!lines || lines->begin <= before->begin) return std::nullopt;
      const Lines all = editor_.with_comments_above(*lines);
      const std::size_t deep = editor_.indentation(lines->begin), wanted = editor_.indentation(before->begin);
      if (deep < wanted) return std::nullopt;
      text += editor_.moved_left(all, deep - wanted);
      replacements_.push_back({without_lines(all), ""});
      hash_.add(site.path);
      names += (names.empty() ? "" : ", ") + quoted_name(site.name);
    }
    const std::size_t at = editor_.with_comments_above(*before).begin;
    replacements_.push_back({{at, at}, text});
    return "move " + names + " in front of the loop";
  }

  /// The span of `lines`; if the file does not end with a line break, it includes the line break before them instead.
  [[nodiscard]] Span without_lines(Lines lines) const {
    if (lines.end < source_.text().size() || source_.text().ends_with('\n')) return {lines.begin, lines.end};
    return {lines.begin - editor_.line_break(0).size(), lines.end};
  }

  /// Whether a statement may move in front of `loop`: each of its names is bound once, it reads no name that the loop binds (except in
  /// statements that move along), and other statements remain in its list.
  [[nodiscard]] bool may_move(const StatementSite& site, const StatementSite& loop, const std::set<std::size_t>& moved) const {
    if (!site.head || site.bound.empty() || site.key("do") || sites_.calls_function(site) || site.list->flow) return false;
    std::size_t others = 0;
    for (const StatementSite& each : sites_.all()) others += each.list == site.list && !moved.contains(sites_.index(each)) ? 1 : 0;
    if (others == 0) return false;
    for (const std::string& name : site.bound)
      if (declared(name) || bindings(name, site.function) != 1) return false;
    for (const StatementSite& each : sites_.all()) {
      const bool inside = &each == &loop || sites_.inside(each, loop);
      if (!inside || moved.contains(sites_.index(each))) continue;
      for (const std::string& name : each.bound)
        if (reads(site, name)) return false;
    }
    return true;
  }

  [[nodiscard]] bool declared(const std::string& name) const {
    for (const char* section : {"dims", "inputs", "parameters"}) {
      const YamlEntry* entry = root_.find(section);
      if (entry && entry->value.find(name)) return true;
    }
    const YamlEntry* functions = root_.find("functions");
    if (!functions) return false;
    return std::any_of(functions->value.entries.begin(), functions->value.entries.end(),
                       [&](const YamlEntry& function) { return lists(function.value.find("takes"), name); });
  }

  [[nodiscard]] std::size_t bindings(const std::string& name, const std::string& function) const {
    const auto found = bound_.find({function, name});
    return found == bound_.end() ? 0 : found->second;
  }
  void index_names() {
    for (const StatementSite& site : sites_.all()) {
      for (const std::string& name : site.bound) ++bound_[{site.function, name}];
      for (const Expression& expression : site.expressions)
        for (const ExpressionNode& node : expression.nodes)
          if (node.kind == ExpressionNode::Kind::name) add_read(node.text);
    }
  }
  /// Marks a name as read; `a.b.c` reads `a` and `a.b` too.
  void add_read(const std::string& name) {
    read_.insert(name);
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) read_.insert(name.substr(0, dot));
  }

  static bool reads(const StatementSite& site, const std::string& name) {
    for (const Expression& expression : site.expressions)
      for (const ExpressionNode& node : expression.nodes)
        if (node.kind == ExpressionNode::Kind::name && (node.text == name || node.text.starts_with(name + "."))) return true;
    return false;
  }

  const YamlNode& root_;
  const Source& source_;
  const std::string& file_;
  const StatementSites sites_;
  const std::set<std::string> placed_ = sites_.placed_functions();
  const YamlEditor editor_;
  std::set<std::string> read_;                                        ///< names that some expression reads
  std::map<std::pair<std::string, std::string>, std::size_t> bound_;  ///< by function and name: the number of statements that bind it
  std::vector<Replacement> replacements_;
  TextHash hash_;
};

/// Sets the number of digits shown of each ID to the fewest that distinguish it from all others.
void show_shortest(std::vector<Fix>& fixes) {
  std::set<std::string> ids;
  for (const Fix& fix : fixes) ids.insert(fix.id);
  const auto common = [](const std::string& a, const std::string& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  };
  for (Fix& fix : fixes) {
    const auto at = ids.find(fix.id);
    if (at != ids.begin()) fix.shown_digits = std::max(fix.shown_digits, common(*std::prev(at), *at) + 1);
    if (std::next(at) != ids.end()) fix.shown_digits = std::max(fix.shown_digits, common(*std::next(at), *at) + 1);
  }
}

/// The byte offset of `line` and `column`, given the offsets of line starts.
std::size_t offset_of(const std::vector<std::size_t>& lines, int line, int column) {
  return lines[static_cast<std::size_t>(line) - 1] + static_cast<std::size_t>(column) - 1;
}

}  // namespace

std::vector<Fix> find_fixes(const std::vector<Advice>& advice, std::string_view text, const std::string& file) {
  std::vector<Fix> fixes;
  if (advice.empty()) return fixes;
  const Source source(text, file);
  Errors ignored(source);
  const auto root = parse_yaml(source, ignored);
  if (!root || !root->map()) return fixes;
  FixWriter writer(*root, source, file);
  for (const Advice& each : advice)
    if (std::optional<Fix> fix = writer.write(each)) fixes.push_back(*std::move(fix));
  show_shortest(fixes);
  return fixes;
}

std::string edited(std::string_view text, const std::vector<TextEdit>& edits) {
  std::vector<std::size_t> lines{0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lines.push_back(i + 1);
  std::string result;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    const std::size_t begin = offset_of(lines, edit.line, edit.column);
    result += text.substr(at, begin - at);
    result += edit.text;
    at = offset_of(lines, edit.end_line, edit.end_column);
  }
  return result += text.substr(at);
}

}  // namespace cleave

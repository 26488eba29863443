// Specialized: the cache of programs by the types of their inputs. A hit holds a lock for one lookup; tracing and compiling hold another.
#include "executor/api/specialized.h"

#include <mutex>
#include <optional>

#include "executor/api/executable_state.h"
#include "graph/base/exceptions.h"
#include "graph/base/forks.h"
#include "graph/shared_constants.h"
#include "graph/states.h"

namespace cleave {
namespace {

/// If a function has more programs than this, the caller gets a diagnostic.
constexpr std::size_t kFew = 8;

/// The types as one text: the key of a program.
std::string key_of(const std::vector<TensorType>& types) {
  std::string key;
  for (const TensorType& type : types) key += to_string(type) + ' ';
  return key;
}

}  // namespace

struct Specialized::State {
  std::string name;
  std::vector<std::string> inputs;
  Record record;
  CompileOptions options;
  DiagnosticSink sink;
  Here here;

  struct Programs {
    std::mutex making;  ///< held while the function or the sink is called; taken before `mutex`
    std::mutex mutex;
    struct Kept {
      Executable program;
      std::uint64_t used = 0;  ///< the number of its last use
    };
    std::map<std::string, Kept> by_types;
    std::uint64_t uses = 0;
    std::size_t made = 0;
  };
  PerProcess<Programs> programs{take_over};

  /// The child of a fork takes over its parent's programs, unless a thread of the parent was adding one.
  static std::unique_ptr<Programs> take_over(Programs* of_parent) {
    auto made = std::make_unique<Programs>();
    if (!of_parent) return made;
    const std::unique_lock lock(of_parent->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return made;
    made->by_types = of_parent->by_types;
    made->uses = of_parent->uses;
    made->made = of_parent->made;
    return made;
  }

  [[nodiscard]] std::optional<Executable> find(const std::string& key) {
    Programs& mine = *programs;
    const std::lock_guard lock(mine.mutex);
    const auto found = mine.by_types.find(key);
    if (found == mine.by_types.end()) return std::nullopt;
    found->second.used = ++mine.uses;
    return found->second.program;
  }
  /// Returns the number of programs that were made so far.
  std::size_t keep(const std::string& key, Executable program) {
    Programs& mine = *programs;
    const std::lock_guard lock(mine.mutex);
    mine.by_types.emplace(key, Programs::Kept{std::move(program), ++mine.uses});
    while (options.memory_limit_bytes > 0 && static_cast<double>(bytes_of(mine)) > options.memory_limit_bytes) {
      if (!discard_oldest(mine, key)) break;
    }
    return ++mine.made;
  }

  /// Discards the program that was not used for the longest time, other than `newest` and those with states; false if there is none.
  static bool discard_oldest(Programs& mine, const std::string& newest) {
    auto oldest = mine.by_types.end();
    for (auto each = mine.by_types.begin(); each != mine.by_types.end(); ++each) {
      if (each->first == newest || !states_of(*each->second.program.plan().graph).empty()) continue;
      if (oldest == mine.by_types.end() || each->second.used < oldest->second.used) oldest = each;
    }
    if (oldest == mine.by_types.end()) return false;
    mine.by_types.erase(oldest);
    return true;
  }

  [[nodiscard]] std::int64_t bytes_of(const Programs& mine) const {
    std::vector<const Graph*> graphs;
    std::int64_t bytes = options.constants->derived_bytes();
    for (const auto& [key, kept] : mine.by_types) {
      graphs.push_back(kept.program.plan().graph.get());
      bytes += kept.program.memory_bytes();
    }
    return bytes + constant_bytes(graphs);
  }

  Result<Executable> make(const std::vector<TensorType>& types) {
    std::vector<Input> typed;
    for (std::size_t i = 0; i < types.size(); ++i) typed.emplace_back(inputs[i], types[i], here);
    Graph graph = record(typed);
    options.constants->share(graph);  // so that duplicates are gone before others are made
    return compile(graph, options, sink);
  }

  Status report_many(std::size_t count, const SourceLocation& caller) const {
    const std::string text = "`" + name + "` was compiled for " + std::to_string(count) +
                             " different tuples of input types; pad the inputs to a few fixed sizes if more are to come";
    const char* note = "each new size of an input traces and compiles the function given here once more";
    return runtime::tell(sink, {DiagnosticKind::value, Severity::remark, text, caller, 0, {{note, SourceLocation::from(here), 0}}});
  }

  [[nodiscard]] Error wrong_number(std::size_t given, const SourceLocation& caller) const {
    std::string names;
    for (const std::string& input : inputs) names += (names.empty() ? " (`" : ", `") + input + "`";
    if (!names.empty()) names += ")";
    return {"`" + name + "` takes " + std::to_string(inputs.size()) + " inputs" + names + " but is given " + std::to_string(given), caller,
            ErrorKind::usage};
  }
};

Specialized::Specialized(std::string name, std::vector<std::string> inputs, Record record, CompileOptions options, DiagnosticSink sink,
                         Here here)
    : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->inputs = std::move(inputs);
  state_->record = std::move(record);
  state_->options = std::move(options);
  if (!state_->options.constants) state_->options.constants = std::make_shared<SharedConstants>();
  state_->sink = std::move(sink);
  state_->here = here;
}

Result<Executable> Specialized::find_or_make(const std::vector<TensorType>& types, const SourceLocation& caller) const {
  if (types.size() != state_->inputs.size()) return state_->wrong_number(types.size(), caller);
  const std::string key = key_of(types);
  if (std::optional<Executable> known = state_->find(key)) return *std::move(known);

  const std::lock_guard lock(state_->programs->making);
  if (std::optional<Executable> known = state_->find(key)) return *std::move(known);  // another thread has compiled it meanwhile
  Result<Executable> program = state_->make(types);
  if (!program || state_->keep(key, *program) != kFew + 1) return program;
  if (Status told = state_->report_many(kFew + 1, caller); !told) return told.error();
  return program;
}

Result<Executable> Specialized::executable(const std::vector<TensorType>& types, Here here) const {
  return detail::guard_memory([&] { return find_or_make(types, SourceLocation::from(here.of("executable"))); });
}

Result<RunResult> Specialized::run(std::map<std::string, Array> inputs, Here here) const {
  return detail::guard_memory([&]() -> Result<RunResult> {
    const SourceLocation caller = SourceLocation::from(here.of("run"));
    std::vector<TensorType> types;
    for (const std::string& name : state_->inputs) {
      const auto given = inputs.find(name);
      if (given == inputs.end()) return Error{"input `" + name + "` of `" + state_->name + "` is missing", caller, ErrorKind::usage};
      types.push_back(given->second.type());
    }
    Result<Executable> program = find_or_make(types, caller);
    if (!program) return program.error();
    return program->run(std::move(inputs));
  });
}

Result<RunResult> Specialized::run_in_order(std::vector<Array> arrays, Here here) const {
  return detail::guard_memory([&]() -> Result<RunResult> {
    std::vector<TensorType> types;
    for (const Array& array : arrays) types.push_back(array.type());
    Result<Executable> program = find_or_make(types, SourceLocation::from(here));
    if (!program) return program.error();
    std::map<std::string, Array> inputs;
    for (std::size_t i = 0; i < arrays.size(); ++i) inputs.emplace(state_->inputs[i], std::move(arrays[i]));
    return program->run(std::move(inputs));
  });
}

std::int64_t Specialized::memory_bytes() const {
  State::Programs& here = *state_->programs;
  const std::lock_guard lock(here.mutex);
  return state_->bytes_of(here);
}

std::size_t Specialized::specializations() const {
  State::Programs& here = *state_->programs;
  const std::lock_guard lock(here.mutex);
  return here.by_types.size();
}

}  // namespace cleave

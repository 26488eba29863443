// Supervision of random programs. The door is supervise(). It starts no thread and runs no program itself, so that it may fork at any time.
#include "tests/random/supervisor.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "graph/array/npy.h"
#include "graph/base/file.h"
#include "graph/text/text.h"
#include "partitioner/machine/machine.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostFunctions = 1024;

/// A child's report to the supervisor, in shared memory.
struct Report {
  std::atomic<std::uint64_t> seed = 0;      ///< seed of the current program
  std::atomic<std::uint64_t> programs = 0;  ///< checked so far
  std::atomic<std::uint64_t> refused = 0;   ///< number of these programs that the Tracer refused
  std::atomic<std::uint64_t> drawn[kMostFunctions] = {};
  char what[4000] = {};
};

struct Failure {
  std::uint64_t seed = 0;
  std::set<std::string> skipped;
  std::string what;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options) : options_(std::move(options)), begin_(Clock::now()) {
    void* memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CLEAVE_CHECK(memory != MAP_FAILED, "no shared memory");
    report_ = new (memory) Report;
    Machine machine = *Machine::shipped("simulated");
    machine.accelerators[0].control_flow = "device_loops";
    options_.check.device_loops = folder_.write("device_loops.yaml", to_yaml(machine));
  }

  int run() {
    std::uint64_t failed = 0;
    std::uint64_t seed = options_.seed;
    const std::uint64_t count = options_.only ? 1 : options_.count;
    while (failed < options_.failures) {
      const std::optional<Failure> failure = batch(seed, count);
      if (!failure) break;
      ++failed;
      tell(options_.only ? *failure : shrunk(*failure));
      seed = failure->seed + 1;
      if (options_.only) break;
    }
    const std::uint64_t programs = report_->programs;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::printf("%llu programs in %.1f s (%.0f a second), %llu refused while traced, %llu failed\n",
                static_cast<unsigned long long>(programs), seconds, static_cast<double>(programs) / seconds,
                static_cast<unsigned long long>(report_->refused.load()), static_cast<unsigned long long>(failed));
    const bool covered = options_.only || programs < 2000 || all_drawn();
    return failed > 0 || !covered ? 1 : 0;
  }

 private:
  [[nodiscard]] bool over() const { return std::chrono::duration<double>(Clock::now() - begin_).count() >= options_.seconds; }

  [[nodiscard]] GeneratedProgram program_of(std::uint64_t seed, const std::set<std::string>& skipped) const {
    return generate(vocabulary_, {seed, skipped, folder_.path("")});
  }

  /// In a child: checks one program and reports.
  std::optional<std::string> checked(std::uint64_t seed, const std::set<std::string>& skipped) {
    report_->seed = seed;
    const GeneratedProgram program = program_of(seed, skipped);
    ++report_->programs;
    if (!program.graph) {
      ++report_->refused;
      return std::nullopt;
    }
    const auto functions = all_functions();
    for (std::size_t i = 0; i < functions.size(); ++i)
      if (program.drawn.contains(functions[i])) ++report_->drawn[i];
    return check(program, seed, options_.check);
  }

  /// Runs `work` in a child; returns the reason of its failure, or nothing.
  template <class Work>
  std::optional<std::string> in_child(const Work& work) {
    std::fflush(nullptr);
    const pid_t child = fork();
    CLEAVE_CHECK(child >= 0, "no process");
    if (child == 0) {
      const std::optional<std::string> what = work();
      if (what) std::strncpy(report_->what, what->c_str(), sizeof report_->what - 1);
      std::fflush(nullptr);
      _exit(what ? 1 : 0);
    }
    return awaited(child);
  }

  std::optional<std::string> awaited(pid_t child) {
    std::uint64_t seed = report_->seed, programs = report_->programs;
    auto since = Clock::now();
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (report_->seed != seed || report_->programs != programs) {
        seed = report_->seed, programs = report_->programs;
        since = Clock::now();
      } else if (std::chrono::duration<double>(Clock::now() - since).count() > options_.hang_seconds) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return "hangs";
      }
    }
    if (WIFSIGNALED(status)) return std::string("crashes: ") + strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) == 0) return std::nullopt;
    return WEXITSTATUS(status) == 1 ? report_->what : "crashes: exit code " + std::to_string(WEXITSTATUS(status));
  }

  /// Checks programs from `seed` on until one fails or the time is up.
  std::optional<Failure> batch(std::uint64_t seed, std::uint64_t count) {
    const auto work = [&]() -> std::optional<std::string> {
      for (;; ++seed) {
        if (count > 0 ? seed >= options_.seed + count : over()) return std::nullopt;
        if (count > 0 && !options_.only && over() && options_.seconds > 0) return std::nullopt;
        if (auto what = checked(seed, options_.skipped)) return what;
      }
    };
    if (auto what = in_child(work)) return Failure{report_->seed, options_.skipped, *what};
    return std::nullopt;
  }

  /// The kind of a failure: shrinking must preserve it.
  static std::string kind_of(const std::string& what) {
    for (const char* mark :
         {"crashes", "hangs", "differs from its reference implementation", "against the reference", "does not compile", "fails", "text"}) {
      if (what.find(mark) != std::string::npos) return mark;
    }
    return "differs";
  }

  /// Leaves out statements and outputs as long as the program still fails in the same way.
  Failure shrunk(Failure failure) {
    const std::string kind = kind_of(failure.what);
    const auto until = Clock::now() + std::chrono::seconds(60);
    for (bool smaller = true; smaller && Clock::now() < until;) {
      smaller = false;
      std::vector<std::string> paths = program_of(failure.seed, failure.skipped).statements;
      std::reverse(paths.begin(), paths.end());
      for (const std::string& path : paths) {
        if (Clock::now() > until) break;
        std::set<std::string> skipped = failure.skipped;
        skipped.insert(path);
        const auto what = in_child([&] { return checked(failure.seed, skipped); });
        if (!what || kind_of(*what) != kind) continue;
        failure = {failure.seed, skipped, *what};
        smaller = true;
      }
    }
    return failure;
  }

  void tell(const Failure& failure) {
    std::string again = options_.program + " --only " + std::to_string(failure.seed);
    std::string skipped;
    for (const std::string& path : failure.skipped) skipped += (skipped.empty() ? " --skip " : ",") + path;
    again += skipped;
    const GeneratedProgram program = program_of(failure.seed, failure.skipped);
    const std::string text = program.graph ? print(*program.graph, {.locations = false}) : "";
    std::printf("FAILED: seed %llu: %s\nrepeat: %s\n", static_cast<unsigned long long>(failure.seed), failure.what.c_str(), again.c_str());
    std::printf("%s\n", text.size() < 6000 || options_.keep.empty() ? text.c_str() : "(the program is long; see the folder)");
    if (!options_.keep.empty() && program.graph) keep(failure, program, again);
    std::fflush(stdout);
  }

  void keep(const Failure& failure, const GeneratedProgram& program, const std::string& again) const {
    const std::filesystem::path folder = std::filesystem::path(options_.keep) / ("seed_" + std::to_string(failure.seed));
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    std::string command = "cleave run program.graph";
    for (const auto& [name, array] : program.inputs) {
      if (!write_npy((folder / (name + ".npy")).string(), array)) continue;
      command += " --input " + name + "=" + name + ".npy";
    }
    (void)program.graph->save((folder / "program.graph").string());
    (void)write_file((folder / "README").string(), {failure.what, "\n", again, "\n", command, "\n"});
    std::printf("kept in %s\n", folder.c_str());
  }

  [[nodiscard]] bool all_drawn() const {
    bool all = true;
    const auto functions = all_functions();
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const auto is_it = [&](const LeftOut& each) { return each.function == functions[i]->name; };
      const bool is_left_out = std::any_of(left_out().begin(), left_out().end(), is_it);
      if ((report_->drawn[i] == 0) == is_left_out) continue;
      std::printf("FAILED: `%s` is %s\n", std::string(functions[i]->name).c_str(),
                  is_left_out ? "left out, but can be drawn" : "never drawn");
      all = false;
    }
    return all;
  }

  SupervisorOptions options_;
  Clock::time_point begin_;
  test::TemporaryFolder folder_;
  Vocabulary vocabulary_;
  Report* report_ = nullptr;
};

}  // namespace

int supervise(SupervisorOptions options) {
  return Supervisor(std::move(options)).run();
}

}  // namespace cleave::testing

// FakeDriver: an imaginary GPU behind the function tables of the driver and of the compiler (executor/cuda/driver_api.h). It checks what
// the real driver silently accepts: device memory has its own address range, enqueued work runs only when a seeded scheduler lets it,
// handles are tracked from creation to destruction, and every call can be made to fail. A launch runs the host's kernel of the operation
// that the launched text was generated for, on the addresses that the launch was given.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "executor/cuda/cuda_device.h"
#include "executor/cuda/deciding.h"
#include "executor/cuda/handover.h"
#include "executor/cuda/kernel_source.h"
#include "executor/cuda/matmul/matmul.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The descriptions of a product and of a matrix that cuBLASLt is given (fake_blas.cpp).
struct FakeMatmul;
struct FakeMatrix {
  int type = 0;
  std::int64_t rows = 0, columns = 0, leading = 0, batch = 1, stride = 0;
};
/// A cuDNN descriptor and the values set in it (fake_dnn.cpp).
struct FakeDnnDescription {
  std::string kind;
  std::vector<int> extents, strides, dilations;  ///< convolutions: the padding instead of extents
  int type = 0, groups = 1, math = 0;
  void* stream = nullptr;
};
/// A cuFFT plan's description (fake_fft.cpp).
struct FakeFftPlan {
  bool made = false, automatic = true;
  int type = 0;
  std::int64_t length = 0, in_stride = 0, in_distance = 0, out_stride = 0, out_distance = 0, lines = 0;
  CUdeviceptr work = 0;
  void* stream = nullptr;
};
struct FakePreference {
  std::uint64_t workspace = 0;
  std::uint32_t schemes = ~0U;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

class KernelEmulator;

class FakeDriver {
 public:
  /// When enqueued work executes: at once (eager); not before a call waits for it or queries it (latest); at any time that the order allows
  /// (random).
  enum class Schedule { eager, latest, random };

  /// Only one may exist in a process at a time: the driver's functions find it through a global.
  explicit FakeDriver(Schedule schedule = Schedule::random, std::uint64_t seed = 0);
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver();

  [[nodiscard]] static cuda::Api api();
  /// Fakes of the optional CUDA libraries. The kernels around their calls run as texts, so this needs `run_texts`.
  [[nodiscard]] static std::shared_ptr<const cuda::Libraries> libraries();
  /// The function tables on a machine that has none of these libraries.
  [[nodiscard]] static std::shared_ptr<const cuda::Libraries> no_libraries();
  /// From now on, launches execute the texts that cleave generates instead of the operations' host kernels. `emulator` outlives the driver.
  void run_texts(KernelEmulator& emulator);
  /// For CudaOptions::source: the text that cleave generates, or a placeholder if it generates none. The fake knows the operation of
  /// either. Nullopt for a matrix product without a text: a library computes it.
  std::optional<cuda::KernelSource> source(const KernelRequest& request, const cuda::Architecture& architecture);
  /// For CudaOptions::coalesced_copy.
  cuda::KernelSource coalesced_copy(std::span<const Piece> pieces, bool unpacks);
  /// The effect of a kernel that belongs to no operation; `values`: its parameters. Runs when the stream reaches it, so it must not wait.
  using Act = std::function<void(const std::vector<std::uint64_t>& values)>;
  void teach(const std::string& text, const std::string& entry, std::size_t parameters, Act act);
  /// From now on, copies may use pageable host memory, which the driver allows and the executor avoids.
  void allow_pageable() { pageable_ = true; }
  /// Page-locked memory stays readable until the fake ends, although it is freed: for kernels that continue after that.
  void keep_page_locked() { keeps_page_locked_ = true; }
  /// From now on, products and launches without a registered effect leave memory unchanged; any text may be launched.
  void compute_nothing() { computes_ = false; }
  /// The memory that the device reports, which also limits allocations.
  void set_memory(std::size_t bytes) { memory_bytes_ = bytes; }
  /// For BackEnd::open.
  std::function<Result<std::unique_ptr<runtime::Device>>(int, const ExecutorOptions&)> opener(
      cuda::CudaOptions options = {}, std::shared_ptr<const cuda::Libraries> libraries = nullptr);

  /// Simulates a GPU that cannot wait for words in memory.
  void wait_for_no_words() { waits_for_words_ = false; }
  /// The context stack of the calling thread, the current context last. The caller may push other contexts.
  std::vector<CUcontext>& contexts();

  // --- faults -----------------------------------------------------------------------------------------------------------------------
  /// The `call`th call from now on, counted from 1, fails; if the driver would be sticky, so do all after it.
  void fail_call(std::int64_t call, CUresult result);
  /// The `command`th command executed on any stream from now on breaks the context.
  void fail_command(std::int64_t command) { fail_command_ = executed_ + command; }
  /// The `command`th command executed on any stream from now on never completes.
  void stall_command(std::int64_t command) { stall_command_ = executed_ + command; }

  /// Advances the device's clock.
  void pass(double seconds) { clock_ += seconds; }

  /// Sets how many blocks of a kernel can be resident on a multiprocessor at once.
  void hold_blocks(int blocks) { blocks_held_ = blocks; }

  /// The algorithms that cuBLASLt offers for products from now on: valid ones; none; some that fail when they are run.
  enum class Algorithms { some, none, broken };
  void offer(Algorithms algorithms) { offered_ = algorithms; }

  // --- observations -----------------------------------------------------------------------------------------------------------------
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  [[nodiscard]] std::int64_t count(const std::string& call) const;
  [[nodiscard]] const std::map<std::string, std::int64_t>& counts() const { return counts_; }
  /// Each graph that was instantiated: one line per node, with the nodes that it depends on.
  [[nodiscard]] const std::vector<std::string>& graphs() const { return graph_texts_; }
  /// The largest number of blocks in a kernel launch, single or in a graph.
  [[nodiscard]] unsigned widest_grid() const { return widest_grid_; }
  /// Launches of each of the fake cuBLASLt's algorithms.
  [[nodiscard]] const std::map<std::uint64_t, std::int64_t>& algorithms() const { return algorithms_; }
  /// The number of kernel launches by operation name; a fused kernel counts for its last operation.
  [[nodiscard]] const std::map<std::string, std::int64_t>& launches() const { return launches_; }
  /// The number of recorded events that measure time.
  [[nodiscard]] std::int64_t times_taken() const { return times_taken_; }
  /// Launches that pass a small value through page-locked memory, or signal that it has arrived.
  [[nodiscard]] std::int64_t handed_over() const { return handed_over_; }
  /// Iterations of graphs' WHILE nodes.
  [[nodiscard]] std::int64_t trips() const { return trips_; }
  /// Simulates a driver that has no conditional nodes.
  void know_no_conditions() { conditional_ = false; }
  /// Operands of products whose first element was NaN, as in uninitialized memory.
  [[nodiscard]] std::int64_t products_of_nan() const { return products_of_nan_; }
  /// The call that `fail_call` made fail; empty if it has not been reached.
  [[nodiscard]] const std::string& failed() const { return failed_; }
  /// Whether that failure may have no effect on the run: the call releases a resource, or may belong to a thread that only sleeps and
  /// notices the failure later by itself. (Continuing there without a context is a misuse.)
  [[nodiscard]] bool failed_without_harm() const;
  /// The resources that were not released, as "2 event, 1 stream".
  [[nodiscard]] std::string leaks() const;
  /// Calls that no correct program makes, one line each.
  [[nodiscard]] const std::vector<std::string>& misuses() const { return misuses_; }

 private:
  friend struct FakeCalls;
  friend struct FakeBlas;
  friend struct FakeDnn;
  friend struct FakeFft;
  template <class>
  friend struct FakeSolver;
  friend struct FakeGraphs;
  friend void fill_fake_graphs(cuda::DriverApi&);
  static FakeDriver& current();
  struct FakeEvent {
    std::uint64_t recorded = 0, done = 0;  ///< numbers of the last record and of the last completed one
    void* stream = nullptr;                ///< the stream that recorded it last
    double time = 0;                       ///< when it completed
    bool takes_time = false;               ///< whether its time may be queried
  };
  struct Item {
    std::function<void()> action;  ///< null: a wait or a record of an event
    FakeEvent* event = nullptr;
    std::uint64_t version = 0;
    bool waits = false;
    double seconds = 1e-6;                ///< actions: the duration by the fake's clock
    std::string label;                    ///< actions: the label in the texts of graphs
    const std::uint64_t* word = nullptr;  ///< waits until this word is at least `version`, instead of for an event
  };
  struct FakeGraph {
    struct Node {
      std::string label;
      std::function<void()> action;
      std::vector<std::size_t> after;
      void* handle = nullptr;
    };
    std::vector<Node> nodes;
    std::vector<void*> bodies;  ///< the body graphs of its conditional nodes; they are destroyed with it
    void* around = nullptr;     ///< of a body: the graph that contains it, with which it is destroyed
    bool uploaded = false;
    int in_flight = 0;
  };
  struct FakeStream {
    std::deque<Item> items;
    std::unique_ptr<FakeGraph> captured;  ///< during stream capture: enqueued work becomes its nodes, in sequence
  };
  struct Function {
    std::string text, entry;
  };
  struct Taught {
    std::size_t parameters = 0;
    Act act;
  };
  struct Request {
    struct Step {
      const OpDef* op = nullptr;
      Attributes attributes;
      std::vector<std::size_t> operands;  ///< indices into the inputs followed by the earlier steps
      std::vector<TensorType> results;
      friend bool operator==(const Step&, const Step&) = default;
    };
    std::vector<TensorType> inputs, results;
    std::vector<Step> steps;           ///< one step, unless the kernel is fused
    std::vector<std::size_t> written;  ///< result i is the first of step written[i]; empty: the one step's results
    [[nodiscard]] std::string name() const { return std::string(steps.back().op->name); }
    friend bool operator==(const Request&, const Request&) = default;
  };
  static Request request_of(const KernelRequest& request);
  /// The effect of launching a certain text with certain constants.
  struct KernelRecord {
    Request request;
    std::vector<std::int64_t> constants;
    bool last = true, scratch = false, fault = false;
    std::shared_ptr<const cuda::KernelSource> source;  ///< in text mode, the source of a text that cleave generated
    std::size_t number = 0;                            ///< the index of the launch within the source
    bool around = false;                               ///< part of a library call: these launches do no operation by themselves
  };

  /// Records the call; returns the error that it must return if it is chosen to fail.
  CUresult enter(const char* call, bool needs_context = true);
  void misuse(std::string what) { misuses_.push_back(std::move(what)); }
  template <class Map>
  auto* find(Map& map, const void* handle, const char* kind) {
    const auto found = map.find(const_cast<void*>(handle));
    if (found != map.end()) return &found->second;
    misuse(std::string("no such ") + kind);
    return static_cast<decltype(&found->second)>(nullptr);
  }
  void* new_handle() { return reinterpret_cast<void*>(next_handle_ += 16); }
  std::size_t number_of(const KernelRequest& request);
  void teach(const KernelRequest& request, cuda::KernelSource& source, const std::shared_ptr<const cuda::KernelSource>& generated,
             bool around = false);
  /// The host memory behind the device address `address`; null, and a misuse, if there is none.
  std::byte* resolve(CUdeviceptr address, std::size_t bytes);
  [[nodiscard]] bool page_locked(const void* memory, std::size_t bytes) const;
  CUresult enqueue(CUstream stream, Item item);
  /// Fills `item` with the effect of launching `function` with these parameters.
  CUresult explain(CUfunction function, void** parameters, Item& item);
  bool runnable(const FakeStream& stream) const;
  static bool may_begin(const Item& item);
  void run_head(FakeStream& stream);
  bool run_any();
  void run_until_done(const FakeEvent& event);
  void hand_over(const std::vector<std::uint64_t>& values);
  /// The kernel that evaluates the conditions of loops and branches inside graphs.
  void decide(const std::vector<std::uint64_t>& values);
  bool stops(cuda::LaunchWords& launch, const cuda::Deciding& what);
  /// The words that a ticket points to; null if the ticket is a plain number.
  cuda::LaunchWords* launch_of(std::uint64_t ticket);
  void launch(const KernelRecord& record, const std::vector<std::uint64_t>& parameters);
  static Status run(const Request& request, std::vector<std::byte*> operands);
  /// Launches a kernel of `coalesced_copy`.
  void launch_coalesced_copy(bool unpacks, const std::vector<std::uint64_t>& values);
  void launch_text(const KernelRecord& record, const std::vector<std::uint64_t>& parameters);

  KernelEmulator* emulator_ = nullptr;  ///< in text mode
  const Schedule schedule_;
  std::mt19937_64 random_;
  mutable std::mutex mutex_;
  std::uintptr_t next_handle_ = 0x1000;
  std::uint64_t next_address_ = 0x7000'0000'0000;
  int contexts_ = 0;
  CUcontext primary_ = nullptr;
  const std::uint64_t number_;  ///< the number of this fake among all in the process
  std::map<void*, std::unique_ptr<FakeStream>> streams_;
  std::map<void*, std::unique_ptr<FakeEvent>> events_;
  std::map<void*, std::string> modules_;
  std::map<void*, Function> functions_;
  std::map<void*, std::shared_ptr<FakeGraph>> graphs_, graph_execs_;
  std::map<CUgraphConditionalHandle, unsigned> conditions_;
  std::map<CUgraphConditionalHandle, void*> condition_of_;  ///< the graph that a condition was created for, until a node uses it
  std::int64_t trips_ = 0;
  std::vector<std::string> graph_texts_;
  std::map<void*, std::string> programs_;
  std::map<void*, std::shared_ptr<FakeMatmul>> products_;
  std::map<void*, FakeMatrix> matrices_;
  std::map<void*, FakePreference> preferences_;
  std::set<void*> blas_handles_;
  std::map<void*, FakeDnnDescription> dnn_;
  std::map<int, FakeFftPlan> fft_plans_;
  std::map<void*, void*> solvers_;  ///< handles of cuSOLVER with their streams
  std::map<std::uint64_t, std::int64_t> algorithms_;
  std::map<std::string, std::int64_t> launches_;
  std::int64_t products_of_nan_ = 0;
  double clock_ = 0;
  std::map<CUdeviceptr, std::vector<std::byte>> device_memory_;
  std::map<const std::byte*, std::vector<std::byte>> host_memory_;
  bool keeps_page_locked_ = false;
  std::vector<std::vector<std::byte>> kept_;
  std::vector<Request> requests_;
  std::map<std::pair<std::string, std::string>, std::vector<KernelRecord>> records_;
  std::map<std::pair<std::string, std::string>, Taught> taught_;
  bool pageable_ = false, computes_ = true, waits_for_words_ = true, conditional_ = true;
  std::size_t memory_bytes_ = std::size_t{1} << 30;
  std::int64_t own_texts_ = 0;
  std::int64_t calls_ = 0, executed_ = 0, fail_call_ = 0, fail_command_ = 0, stall_command_ = 0;
  CUresult failure_ = CUDA_SUCCESS, sticky_ = CUDA_SUCCESS;
  bool stalled_ = false;
  int blocks_held_ = 8;
  unsigned widest_grid_ = 0;
  Algorithms offered_ = Algorithms::some;
  std::set<std::pair<std::uint64_t, std::uint64_t>> called_;  ///< pairs of algorithm and product that have been launched
  std::atomic<bool> closing_ = false;
  std::atomic<int> sleepers_ = 0;  ///< threads in cuEventSynchronize
  std::string failed_;
  std::map<std::string, std::int64_t> counts_;
  std::int64_t handed_over_ = 0, times_taken_ = 0;
  std::vector<std::string> misuses_;
};

}  // namespace cleave::testing

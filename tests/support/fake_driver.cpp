#include "tests/support/fake_driver.h"

#include <algorithm>
#include <cstring>

#include "executor/cuda/deciding.h"
#include "executor/cuda/handover.h"
#include "executor/device/kernel.h"
#include "tests/support/fake_blas.h"
#include "tests/support/fake_dnn.h"
#include "tests/support/fake_fft.h"
#include "tests/support/fake_graphs.h"
#include "tests/support/fake_solver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

FakeDriver* the_driver = nullptr;  // the driver's functions have no handle that could lead here
std::atomic<std::uint64_t> drivers = 0;

/// The contexts of a thread for one fake driver.
struct ThreadContexts {
  std::uint64_t driver = 0;
  std::vector<CUcontext> stack;
};

constexpr std::byte kPoison{0xFF};

}  // namespace

FakeDriver::FakeDriver(Schedule schedule, std::uint64_t seed) : schedule_(schedule), random_(seed), number_(++drivers) {
  CLEAVE_CHECK(!the_driver, "two fake drivers at once");
  the_driver = this;
  teach(cuda::handover_text(), cuda::handover_launch(1).entry, 7, [this](const std::vector<std::uint64_t>& values) { hand_over(values); });
  teach(cuda::deciding_text(), cuda::deciding_launch().entry, cuda::kDecidingParameters,
        [this](const std::vector<std::uint64_t>& values) { decide(values); });
}

bool FakeDriver::stops(cuda::LaunchWords& launch, const cuda::Deciding& what) {
  auto* host = reinterpret_cast<std::uint64_t*>(resolve(what.host, sizeof(cuda::HostWords)));
  if (host && std::atomic_ref(host[0]).load() != 0) launch.stopped = 1;
  if (host) std::atomic_ref(host[1]).fetch_add(1);
  return launch.stopped != 0;
}

/// The kernel of executor/cuda/deciding.cpp in C++.
void FakeDriver::decide(const std::vector<std::uint64_t>& values) {
  cuda::Deciding what;
  std::memcpy(static_cast<void*>(&what), values.data(), sizeof what);
  auto* launch = reinterpret_cast<cuda::LaunchWords*>(resolve(what.launch, sizeof(cuda::LaunchWords)));
  if (!launch) return;
  const auto does = static_cast<cuda::Decides>(what.what);
  const auto set = [this](std::uint64_t condition, bool value) {
    if (!conditions_.contains(condition)) return misuse("a condition set that is none");
    conditions_[condition] = value ? 1 : 0;
  };
  const auto* predicate = what.predicate != 0 ? resolve(what.predicate, 1) : nullptr;
  const bool holds = predicate && *predicate != std::byte{0};
  if (does == cuda::Decides::open) {
    *launch = {what.command, what.count, 0, 0};
    return;
  }
  if (does == cuda::Decides::branch) {
    if (what.taken != 0) set(what.taken, holds);
    if (what.otherwise != 0) set(what.otherwise, !holds);
    return;
  }
  auto* trip = reinterpret_cast<std::uint64_t*>(resolve(what.trip, 8));
  auto* counter = reinterpret_cast<std::int32_t*>(what.counter != 0 ? resolve(what.counter, 4) : nullptr);
  if (!trip) return;
  if (does != cuda::Decides::number) *trip = does == cuda::Decides::first ? 0 : *trip + 1;
  if (counter) *counter = static_cast<std::int32_t>(*trip);
  if (does == cuda::Decides::number) return;
  bool more = *trip < (what.count == ~std::uint64_t{0} ? launch->count : what.count);
  if (predicate && !(does == cuda::Decides::first && what.ends == 1)) more = more && holds != (what.ends == 1);
  if (does == cuda::Decides::again) more = !stops(*launch, what) && more;
  set(what.taken, more && launch->stopped == 0);
}

cuda::LaunchWords* FakeDriver::launch_of(std::uint64_t ticket) {
  if ((ticket & cuda::kTicketInMemory) == 0) return nullptr;
  return reinterpret_cast<cuda::LaunchWords*>(resolve(ticket & ~cuda::kTicketInMemory, sizeof(cuda::LaunchWords)));
}

/// The kernel that moves small values to and from page-locked memory; it belongs to no operation.
void FakeDriver::hand_over(const std::vector<std::uint64_t>& values) {
  const cuda::Handover what{values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
  ++handed_over_;
  if (what.to % 16 != 0 || what.from % 16 != 0) misuse("a value handed over that is not aligned");
  std::byte* to = what.bytes > 0 ? resolve(what.to, what.bytes) : nullptr;
  const std::byte* from = what.bytes > 0 ? resolve(what.from, what.bytes) : nullptr;
  auto* note = what.note != 0 ? reinterpret_cast<std::uint64_t*>(resolve(what.note, 8)) : nullptr;
  auto* word = reinterpret_cast<std::uint64_t*>(resolve(what.word, 8));
  if (!word) return;
  if (to && from) std::memcpy(to, from, what.bytes);
  if (note) *note = what.command;
  std::atomic_ref(*word).store(what.number, std::memory_order_release);
}

FakeDriver::~FakeDriver() {
  closing_ = true;
  while (sleepers_ > 0) std::this_thread::yield();
  the_driver = nullptr;
}

FakeDriver& FakeDriver::current() {
  CLEAVE_CHECK(the_driver, "a call of the fake driver after its end");
  return *the_driver;
}

std::vector<CUcontext>& FakeDriver::contexts() {
  static thread_local ThreadContexts mine;
  if (mine.driver != number_) mine = {number_, {}};
  return mine.stack;
}

std::function<Result<std::unique_ptr<runtime::Device>>(int, const ExecutorOptions&)> FakeDriver::opener(
    cuda::CudaOptions options, std::shared_ptr<const cuda::Libraries> libraries) {
  options.cache_folder.clear();
  options.source = [this](const KernelRequest& request, const cuda::Architecture& a) { return source(request, a); };
  options.product = [this](const KernelRequest& request, const cuda::Architecture& a) {
    cuda::KernelSource source = cuda::product_source(request, a);
    std::shared_ptr<const cuda::KernelSource> generated;
    if (emulator_) {
      generated = std::make_shared<const cuda::KernelSource>(source);
      emulator_->add(*generated);
    }
    teach(request, source, generated);
    return source;
  };
  options.coalesced_copy = [this](std::span<const Piece> pieces, bool unpacks) { return coalesced_copy(pieces, unpacks); };
  options.around = [this](const KernelRequest& request, cuda::KernelSource& source) {
    CLEAVE_CHECK(emulator_, "kernels around a library's calls, and nothing to run them");
    const auto generated = std::make_shared<const cuda::KernelSource>(source);
    emulator_->add(*generated);
    teach(request, source, generated, true);
  };
  return [options, libraries](int, const ExecutorOptions&) {
    cuda::Api table = api();
    table.libraries = libraries;
    return cuda::CudaDevice::open(table, options);
  };
}

std::optional<cuda::KernelSource> FakeDriver::source(const KernelRequest& request, const cuda::Architecture& architecture) {
  std::optional<cuda::KernelSource> source = cuda::kernel_source(request, architecture);
  if (!source && cuda::has_matmul(request)) return std::nullopt;
  std::shared_ptr<const cuda::KernelSource> generated;
  if (source && emulator_) {
    generated = std::make_shared<const cuda::KernelSource>(*source);
    emulator_->add(*generated);
  }
  if (!source) {
    std::lock_guard lock(mutex_);
    source.emplace();
    source->text = "// our own text " + std::to_string(++own_texts_) + ", for " + std::string(request.op->name);
    source->launches.push_back({"reference", {1, 1, 1}, {1, 1, 1}, 0, {}});
    source->fault = "bad data for " + std::string(request.op->name);
  }
  teach(request, *source, generated);
  return source;
}

FakeDriver::Request FakeDriver::request_of(const KernelRequest& request) {
  Request result{request.input_types, request.result_types, {}, request.written};
  for (const FusedStep& step : request.steps) result.steps.push_back({step.op, *step.attributes, step.operands, {step.type}});
  if (!request.steps.empty()) return result;
  result.steps.push_back({request.op, *request.attributes, {}, request.result_types});
  for (std::size_t i = 0; i < request.input_types.size(); ++i) result.steps[0].operands.push_back(i);
  return result;
}

std::size_t FakeDriver::number_of(const KernelRequest& request) {
  Request wanted = request_of(request);
  const auto known = std::find(requests_.begin(), requests_.end(), wanted);
  if (known != requests_.end()) return static_cast<std::size_t>(known - requests_.begin());
  requests_.push_back(std::move(wanted));
  return requests_.size() - 1;
}

void FakeDriver::teach(const KernelRequest& request, cuda::KernelSource& source, const std::shared_ptr<const cuda::KernelSource>& generated,
                       bool around) {
  std::lock_guard lock(mutex_);
  // Several operations may have the same text, and a launch does not name the operation: a comment added to the text does.
  source.text += "\n// request " + std::to_string(number_of(request)) + "\n";
  for (std::size_t i = 0; i < source.launches.size(); ++i) {
    const cuda::KernelLaunch& launch = source.launches[i];
    std::vector<KernelRecord>& known = records_[{source.text, launch.entry}];
    KernelRecord record{requests_[number_of(request)],
                        launch.constants,
                        i + 1 == source.launches.size(),
                        source.scratch_bytes > 0,
                        !source.fault.empty(),
                        generated,
                        i,
                        around};
    const bool found = std::any_of(known.begin(), known.end(), [&](const KernelRecord& m) { return m.constants == record.constants; });
    if (!found) known.push_back(std::move(record));
  }
}

cuda::KernelSource FakeDriver::coalesced_copy(std::span<const Piece> pieces, bool unpacks) {
  cuda::KernelSource source = cuda::coalesced_copy_source(pieces, unpacks);
  if (emulator_) emulator_->add(source);
  teach(source.text, source.launches[0].entry, 1 + 2 * cuda::coalesced_copy_room(pieces.size()),
        [this, unpacks](const std::vector<std::uint64_t>& values) { launch_coalesced_copy(unpacks, values); });
  return source;
}

void FakeDriver::teach(const std::string& text, const std::string& entry, std::size_t parameters, Act act) {
  const std::lock_guard lock(mutex_);
  taught_[{text, entry}] = {parameters, std::move(act)};
}

void FakeDriver::fail_call(std::int64_t call, CUresult result) {
  fail_call_ = calls_ + call;
  failure_ = result;
}

std::int64_t FakeDriver::count(const std::string& call) const {
  const auto found = counts_.find(call);
  return found == counts_.end() ? 0 : found->second;
}

bool FakeDriver::failed_without_harm() const {
  const auto names = {"Destroy", "Free", "Unload", "Release", "cuEventSynchronize", "cuCtxSet", "cuCtxGet", "cuCtxPop"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return failed_.find(name) != std::string::npos; });
}

std::string FakeDriver::leaks() const {
  std::string text;
  const std::size_t contexts = sticky_ == CUDA_SUCCESS ? static_cast<std::size_t>(contexts_) : 0;  // a lost context is kept on purpose
  const std::pair<const char*, std::size_t> live[] = {{"context", contexts},
                                                      {"stream", streams_.size()},
                                                      {"event", events_.size()},
                                                      {"module", modules_.size()},
                                                      {"graph", graphs_.size() + graph_execs_.size()},
                                                      {"program", programs_.size()},
                                                      {"product", products_.size()},
                                                      {"matrix", matrices_.size()},
                                                      {"preference", preferences_.size()},
                                                      {"handle of cuBLASLt", blas_handles_.size()},
                                                      {"handle of cuDNN", dnn_.size()},
                                                      {"plan of cuFFT", fft_plans_.size()},
                                                      {"handle of cuSOLVER", solvers_.size()},
                                                      {"device memory", device_memory_.size()},
                                                      {"page-locked memory", host_memory_.size()}};
  for (const auto& [kind, number] : live) {
    if (number > 0) text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + kind;
  }
  return text;
}

CUresult FakeDriver::enter(const char* call, bool needs_context) {
  ++calls_;
  ++counts_[call];
  if (needs_context && contexts().empty()) misuse(std::string(call) + " on a thread without a context");
  if (needs_context && !contexts().empty() && contexts().back() != primary_) misuse(std::string(call) + " in a context of somebody else's");
  if (schedule_ == Schedule::random) {
    for (auto i = random_() % 3; i > 0; --i) run_any();
  }
  if (schedule_ == Schedule::eager) {  // a word that the host has written since
    while (run_any()) {
    }
  }
  if (calls_ == fail_call_) {
    failed_ = call;
    const bool on_context = needs_context || failed_.starts_with("cuCtx");
    if (on_context && cuda::is_sticky(failure_) && failed_.starts_with("cu")) sticky_ = failure_;
    return failure_;
  }
  return needs_context ? sticky_ : CUDA_SUCCESS;
}

// --- memory ----------------------------------------------------------------------------------------------------------------------------

std::byte* FakeDriver::resolve(CUdeviceptr address, std::size_t bytes) {
  auto block = device_memory_.upper_bound(address);
  if (block != device_memory_.begin()) {
    --block;
    if (address + bytes <= block->first + block->second.size()) return block->second.data() + (address - block->first);
  }
  auto* host = reinterpret_cast<std::byte*>(address);  // page-locked memory has one address on both sides
  if (page_locked(host, bytes)) return host;
  misuse("no memory at a device address");
  return nullptr;
}

bool FakeDriver::page_locked(const void* memory, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(memory);
  auto block = host_memory_.upper_bound(begin);
  if (block == host_memory_.begin()) return false;
  --block;
  return begin + bytes <= block->first + block->second.size();
}

// --- streams ---------------------------------------------------------------------------------------------------------------------------

CUresult FakeDriver::enqueue(CUstream stream, Item item) {
  std::unique_ptr<FakeStream>* found = find(streams_, stream, "stream");
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (FakeGraph* captured = (*found)->captured.get()) {
    if (!item.action) misuse("an event in a capture");
    const std::size_t index = captured->nodes.size();
    captured->nodes.push_back({item.label, item.action, index > 0 ? std::vector{index - 1} : std::vector<std::size_t>(), nullptr});
    return CUDA_SUCCESS;
  }
  (*found)->items.push_back(std::move(item));
  if (schedule_ == Schedule::eager) {
    while (run_any()) {
    }
  }
  return CUDA_SUCCESS;
}

bool FakeDriver::runnable(const FakeStream& stream) const {
  if (stalled_ || sticky_ != CUDA_SUCCESS || stream.items.empty()) return false;
  return may_begin(stream.items.front());
}

bool FakeDriver::may_begin(const Item& item) {
  if (!item.waits) return true;
  if (item.word) return std::atomic_ref(*const_cast<std::uint64_t*>(item.word)).load(std::memory_order_acquire) >= item.version;
  return item.event->done >= item.version;
}

void FakeDriver::run_head(FakeStream& stream) {
  Item item = std::move(stream.items.front());
  stream.items.pop_front();
  if (!item.action) {
    if (item.waits) return;
    item.event->done = std::max(item.event->done, item.version);
    item.event->time = clock_;
    return;
  }
  ++executed_;
  if (executed_ == fail_command_) {
    sticky_ = CUDA_ERROR_LAUNCH_FAILED;
  } else if (executed_ == stall_command_) {
    stalled_ = true;
  } else {
    clock_ += item.seconds;
    item.action();
  }
}

bool FakeDriver::run_any() {
  std::vector<FakeStream*> ready;
  for (const auto& [handle, stream] : streams_) {
    if (runnable(*stream)) ready.push_back(stream.get());
  }
  if (ready.empty()) return false;
  run_head(*ready[random_() % ready.size()]);
  return true;
}

/// Executes no more work than the event needs.
void FakeDriver::run_until_done(const FakeEvent& event) {
  while (event.done < event.recorded) {
    const FakeEvent* wanted = &event;
    FakeStream* stream = nullptr;
    while (true) {
      const auto found = streams_.find(wanted->stream);
      if (found == streams_.end() || found->second->items.empty()) return;
      stream = found->second.get();
      const Item& head = stream->items.front();
      if (may_begin(head)) break;
      if (head.word) return;
      wanted = head.event;
    }
    if (!runnable(*stream)) return;
    run_head(*stream);
  }
}

void FakeDriver::launch(const KernelRecord& record, const std::vector<std::uint64_t>& parameters) {
  if (record.last) ++launches_[record.request.name()];
  if (record.source) return launch_text(record, parameters);
  if (!record.last) return;  // the last launch of an operation computes all of it
  const Request& request = record.request;
  std::vector<std::byte*> operands;
  for (const std::vector<TensorType>* types : {&request.inputs, &request.results}) {
    for (const TensorType& type : *types) {
      const std::uint64_t address = parameters[operands.size()];
      operands.push_back(type.bytes() > 0 ? resolve(address, static_cast<std::size_t>(type.bytes())) : nullptr);
      if (!operands.back() && type.bytes() > 0) return;
    }
  }
  const std::size_t next = operands.size() + (record.scratch ? 1 : 0);
  const Status status = run(request, std::move(operands));
  if (status) return;
  if (!record.fault) return misuse(request.name() + " found bad data but has no words to say so: " + status.error().message);
  auto* words = reinterpret_cast<std::uint64_t*>(resolve(parameters[next], 2 * sizeof(std::uint64_t)));
  const std::uint64_t ticket = parameters[next + 1];
  cuda::LaunchWords* loops = launch_of(ticket);
  if (words && words[0] == 0) words[0] = loops ? loops->command : ticket;
  if (loops) loops->stopped = 1;
}

CUresult FakeDriver::explain(CUfunction handle, void** parameters, Item& item) {
  const Function* function = find(functions_, handle, "function");
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (const auto taught = taught_.find({function->text, function->entry}); taught != taught_.end()) {
    std::vector<std::uint64_t> values(taught->second.parameters);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], parameters[i], sizeof values[i]);
    item.action = [act = taught->second.act, values] { act(values); };
    item.label = function->entry;
    return CUDA_SUCCESS;
  }
  if (!computes_) {
    item.action = [] {};
    item.label = function->entry;
    return CUDA_SUCCESS;
  }
  const auto known = records_.find({function->text, function->entry});
  if (known == records_.end()) {
    misuse("a launch of a text that nobody explained");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  for (const KernelRecord& record : known->second) {
    const std::size_t operands =
        record.request.inputs.size() + record.request.results.size() + (record.scratch ? 1 : 0) + (record.fault ? 2 : 0);
    std::vector<std::uint64_t> values(operands + record.constants.size());
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], parameters[i], sizeof values[i]);
    if (!std::equal(record.constants.begin(), record.constants.end(), values.begin() + static_cast<std::ptrdiff_t>(operands),
                    [](std::int64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; }))
      continue;
    item.action = [this, record, values] { launch(record, values); };
    item.label = record.request.name();
    return CUDA_SUCCESS;
  }
  misuse("a launch with constants that nobody explained");
  return CUDA_ERROR_INVALID_VALUE;
}

/// The host's kernels, one step after the other. `operands`: inputs, then results.
Status FakeDriver::run(const Request& request, std::vector<std::byte*> operands) {
  const OpContext context{[](std::string_view) {}};
  std::vector<TensorView> known;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) known.push_back({&request.inputs[i], operands[i]});
  std::vector<std::vector<std::byte>> own;  // intermediate values between fused steps
  for (const Request::Step& step : request.steps) {
    std::vector<TensorView> inputs, results;
    for (const std::size_t operand : step.operands) inputs.push_back(known[operand]);
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      std::byte* to = operands[request.inputs.size() + i];
      if (request.steps.size() > 1) to = own.emplace_back(static_cast<std::size_t>(step.results[i].bytes())).data();
      results.push_back({&step.results[i], to});
    }
    if (Status status = run_guarded(host_kernel(*step.op), {*step.op, step.attributes, inputs, results, context}); !status) return status;
    known.insert(known.end(), results.begin(), results.end());
  }
  for (std::size_t i = 0; i < request.written.size(); ++i) {  // written last, since a result may share memory with an input
    const TensorView& from = known[request.inputs.size() + request.written[i]];
    if (from.type->bytes() > 0) std::memcpy(operands[request.inputs.size() + i], from.data, static_cast<std::size_t>(from.type->bytes()));
  }
  return {};
}

// --- the calls -------------------------------------------------------------------------------------------------------------------------

/// One function for each driver call; each holds the driver's lock.
struct FakeCalls {
  using D = FakeDriver;
  static std::unique_lock<std::mutex> lock() { return std::unique_lock(driver().mutex_); }
  static FakeDriver& driver() { return FakeDriver::current(); }

  /// A call that changes state: executes `act(driver)` unless it is chosen to fail.
  template <class Act>
  static CUresult call(const char* name, Act&& act, bool needs_context = true) {
    FakeDriver& d = driver();
    std::lock_guard guard(d.mutex_);
    if (const CUresult result = d.enter(name, needs_context); result != CUDA_SUCCESS) return result;
    return act(d);
  }
  /// A call that releases a resource: it does so even if it fails.
  template <class Act>
  static CUresult give_back(const char* name, Act&& act, bool needs_context = true) {
    FakeDriver& d = driver();
    std::lock_guard guard(d.mutex_);
    const CUresult result = d.enter(name, needs_context);
    const CUresult done = act(d);
    return result != CUDA_SUCCESS ? result : done;
  }

  static CUresult error_name(CUresult error, const char** name) {
    switch (error) {
      case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
      case CUDA_ERROR_INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
      case CUDA_ERROR_LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
      case CUDA_ERROR_INVALID_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
      default: *name = nullptr; return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  }

  static CUresult synchronize(CUevent event);
  static void fill_device(cuda::DriverApi& t);
  static void fill_contexts(cuda::DriverApi& t);
  static void fill_memory(cuda::DriverApi& t);
  static void fill_streams(cuda::DriverApi& t);
  static void fill_clock(cuda::DriverApi& t);
  static void fill_modules(cuda::DriverApi& t);
  static void fill_compiler(cuda::CompilerApi& t);
  static CUresult copy(const char* name, CUdeviceptr to, CUdeviceptr from, const void* host, std::size_t bytes, CUstream stream);
  static CUresult copy_pageable(D& d, CUdeviceptr to, CUdeviceptr from, const void* host, std::size_t bytes, CUstream stream);
  static CUresult launch_kernel(CUfunction function, CUstream stream, void** parameters);
};

void FakeCalls::fill_device(cuda::DriverApi& t) {
  t.cuInit = [](unsigned) {
    return call(
        "cuInit", [](D&) { return CUDA_SUCCESS; }, false);
  };
  t.cuDriverGetVersion = [](int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
  };
  t.cuGetErrorName = error_name;
  t.cuGetErrorString = [](CUresult, const char** text) {
    *text = "as asked of the fake driver";
    return CUDA_SUCCESS;
  };
  t.cuDeviceGetCount = [](int* count) {
    *count = 1;
    return call(
        "cuDeviceGetCount", [](D&) { return CUDA_SUCCESS; }, false);
  };
  t.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return call(
        "cuDeviceGet", [&](D&) { return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }, false);
  };
  t.cuDeviceGetName = [](char* name, int size, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  t.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) {
    *bytes = driver().memory_bytes_;
    return CUDA_SUCCESS;
  };
  t.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
    const bool major = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    const bool words = attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
    *value = major ? 9 : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0 : words ? driver().waits_for_words_ : 132;
    return call(
        "cuDeviceGetAttribute", [](D&) { return CUDA_SUCCESS; }, false);
  };
  t.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    return call(
        "cuDevicePrimaryCtxRetain",
        [&](D& d) {
          if (!d.primary_) d.primary_ = static_cast<CUcontext>(d.new_handle());
          *context = d.primary_;
          ++d.contexts_;
          return CUDA_SUCCESS;
        },
        false);
  };
  t.cuDevicePrimaryCtxRelease = [](CUdevice) {
    return give_back(
        "cuDevicePrimaryCtxRelease",
        [](D& d) {
          if (--d.contexts_ < 0) d.misuse("a context released twice");
          const bool empty = d.streams_.empty() && d.events_.empty() && d.device_memory_.empty() && d.host_memory_.empty();
          if (d.contexts_ == 0 && !empty) d.misuse("a context released before what is in it");
          if (d.contexts_ == 0) d.sticky_ = CUDA_SUCCESS;  // the next context is created anew
          return CUDA_SUCCESS;
        },
        false);
  };
}

void FakeCalls::fill_contexts(cuda::DriverApi& t) {
  t.cuCtxGetCurrent = [](CUcontext* context) {
    return call(
        "cuCtxGetCurrent",
        [&](D& d) {
          *context = d.contexts().empty() ? nullptr : d.contexts().back();
          return CUDA_SUCCESS;
        },
        false);
  };
  t.cuCtxSetCurrent = [](CUcontext context) {
    return call(
        "cuCtxSetCurrent",
        [&](D& d) {
          if (!d.contexts().empty()) d.contexts().pop_back();
          d.contexts().push_back(context);
          return CUDA_SUCCESS;
        },
        false);
  };
  t.cuCtxPushCurrent = [](CUcontext context) {
    return call(
        "cuCtxPushCurrent",
        [&](D& d) {
          d.contexts().push_back(context);
          return CUDA_SUCCESS;
        },
        false);
  };
  t.cuCtxPopCurrent = [](CUcontext* context) {
    return give_back(
        "cuCtxPopCurrent",
        [&](D& d) {
          if (d.contexts().empty()) {
            d.misuse("a context taken from a thread that has none");
            return CUDA_ERROR_INVALID_CONTEXT;
          }
          *context = d.contexts().back();
          d.contexts().pop_back();
          return CUDA_SUCCESS;
        },
        false);
  };
}

void FakeCalls::fill_memory(cuda::DriverApi& t) {
  t.cuMemGetInfo = [](std::size_t* available, std::size_t* total) {
    return call("cuMemGetInfo", [&](D& d) {
      *available = *total = d.memory_bytes_;
      return CUDA_SUCCESS;
    });
  };
  t.cuMemAlloc = [](CUdeviceptr* address, std::size_t bytes) {
    return call("cuMemAlloc", [&](D& d) {
      if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
      if (bytes > d.memory_bytes_) return CUDA_ERROR_OUT_OF_MEMORY;
      *address = d.next_address_;
      d.next_address_ += (bytes + 0xFFFF) / 0x10000 * 0x10000 + 0x10000;
      d.device_memory_[*address].assign(bytes, kPoison);
      return CUDA_SUCCESS;
    });
  };
  t.cuMemFree = [](CUdeviceptr address) {
    return give_back("cuMemFree", [&](D& d) {
      if (d.device_memory_.erase(address) == 0) d.misuse("device memory freed twice");
      return CUDA_SUCCESS;
    });
  };
  t.cuMemHostAlloc = [](void** memory, std::size_t bytes, unsigned) {
    return call("cuMemHostAlloc", [&](D& d) {
      std::vector<std::byte> block(bytes, kPoison);
      *memory = block.data();
      const std::byte* key = block.data();
      d.host_memory_.emplace(key, std::move(block));
      return CUDA_SUCCESS;
    });
  };
  t.cuMemFreeHost = [](void* memory) {
    return give_back("cuMemFreeHost", [&](D& d) {
      auto freed = d.host_memory_.extract(static_cast<const std::byte*>(memory));
      if (!freed) d.misuse("page-locked memory freed twice");
      if (freed && d.keeps_page_locked_) d.kept_.push_back(std::move(freed.mapped()));
      return CUDA_SUCCESS;
    });
  };
  t.cuMemHostGetDevicePointer = [](CUdeviceptr* address, void* memory, unsigned) {
    return call("cuMemHostGetDevicePointer", [&](D& d) {
      if (!d.page_locked(memory, 1)) d.misuse("a device pointer of memory that is not page-locked");
      *address = reinterpret_cast<CUdeviceptr>(memory);
      return CUDA_SUCCESS;
    });
  };
  t.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    return copy("cuMemcpyHtoDAsync", to, reinterpret_cast<CUdeviceptr>(from), from, bytes, stream);
  };
  t.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy("cuMemcpyDtoHAsync", reinterpret_cast<CUdeviceptr>(to), from, to, bytes, stream);
  };
  t.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return copy("cuMemcpyDtoDAsync", to, from, nullptr, bytes, stream);
  };
  t.cuMemsetD32Async = [](CUdeviceptr to, unsigned value, std::size_t words, CUstream stream) {
    return call("cuMemsetD32Async", [&](D& d) {
      return d.enqueue(stream, {[&d, to, value, words] {
                                  std::byte* memory = d.resolve(to, 4 * words);
                                  for (std::size_t i = 0; memory && i < words; ++i) std::memcpy(memory + 4 * i, &value, 4);
                                },
                                nullptr, 0, false});
    });
  };
}

/// `host`: the side that is in host memory, if any. Memory is looked up when the copy is executed.
CUresult FakeCalls::copy(const char* name, CUdeviceptr to, CUdeviceptr from, const void* host, std::size_t bytes, CUstream stream) {
  return call(name, [&](D& d) {
    if (bytes == 0) d.misuse(std::string(name) + " of nothing");
    const bool pageable = host && !d.page_locked(host, bytes);
    if (pageable && d.pageable_) return copy_pageable(d, to, from, host, bytes, stream);
    if (pageable) d.misuse(std::string(name) + " with memory that is not page-locked");
    return d.enqueue(stream, {[&d, to, from, bytes] {
                                std::byte* target = d.resolve(to, bytes);
                                const std::byte* source = d.resolve(from, bytes);
                                if (target && source) std::memmove(target, source, bytes);
                              },
                              nullptr, 0, false});
  });
}

/// Data to the device is read at once; data from the device has arrived when the call returns.
CUresult FakeCalls::copy_pageable(D& d, CUdeviceptr to, CUdeviceptr from, const void* host, std::size_t bytes, CUstream stream) {
  if (reinterpret_cast<CUdeviceptr>(host) == from) {
    const auto* first = static_cast<const std::byte*>(host);
    return d.enqueue(stream, {[&d, to, sent = std::vector(first, first + bytes)] {
                                if (std::byte* target = d.resolve(to, sent.size())) std::copy(sent.begin(), sent.end(), target);
                              },
                              nullptr, 0, false});
  }
  bool done = false;
  const CUresult result = d.enqueue(stream, {[&d, &done, to, from, bytes] {
                                               const std::byte* source = d.resolve(from, bytes);
                                               if (source) std::memcpy(reinterpret_cast<void*>(to), source, bytes);
                                               done = true;
                                             },
                                             nullptr, 0, false});
  while (result == CUDA_SUCCESS && !done && d.run_any()) {
  }
  return done ? CUDA_SUCCESS : result != CUDA_SUCCESS ? result : CUDA_ERROR_LAUNCH_FAILED;
}

void FakeCalls::fill_streams(cuda::DriverApi& t) {
  t.cuStreamCreate = [](CUstream* stream, unsigned flags) {
    return call("cuStreamCreate", [&](D& d) {
      if (flags != CU_STREAM_NON_BLOCKING) d.misuse("a stream that waits for the default stream");
      *stream = static_cast<CUstream>(d.new_handle());
      d.streams_[*stream] = std::make_unique<D::FakeStream>();
      return CUDA_SUCCESS;
    });
  };
  t.cuStreamDestroy = [](CUstream stream) {
    return give_back("cuStreamDestroy", [&](D& d) {
      const auto* found = d.find(d.streams_, stream, "stream");
      if (found && !(*found)->items.empty() && d.sticky_ == CUDA_SUCCESS) d.misuse("a stream destroyed with work in flight");
      if (found && (*found)->captured) d.misuse("a stream destroyed in a capture");
      d.streams_.erase(stream);
      return CUDA_SUCCESS;
    });
  };
  t.cuEventCreate = [](CUevent* event, unsigned flags) {
    return call("cuEventCreate", [&](D& d) {
      *event = static_cast<CUevent>(d.new_handle());
      d.events_[*event] = std::make_unique<D::FakeEvent>();
      d.events_[*event]->takes_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
      return CUDA_SUCCESS;
    });
  };
  t.cuEventDestroy = [](CUevent event) {
    return give_back("cuEventDestroy", [&](D& d) {
      if (!d.find(d.events_, event, "event")) return CUDA_ERROR_INVALID_HANDLE;
      d.events_.erase(event);
      return CUDA_SUCCESS;
    });
  };
  t.cuEventRecord = [](CUevent event, CUstream stream) {
    return call("cuEventRecord", [&](D& d) {
      auto* found = d.find(d.events_, event, "event");
      if (!found) return CUDA_ERROR_INVALID_HANDLE;
      D::FakeEvent* e = found->get();
      if (e->done < e->recorded) d.misuse("an event recorded anew while somebody may wait for it");
      e->stream = stream;
      if (e->takes_time) ++d.times_taken_;
      return d.enqueue(stream, {nullptr, e, ++e->recorded, false});
    });
  };
  t.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned) {
    return call("cuStreamWaitEvent", [&](D& d) {
      auto* found = d.find(d.events_, event, "event");
      if (!found) return CUDA_ERROR_INVALID_HANDLE;
      if ((*found)->recorded == 0) d.misuse("a wait for an event that was never recorded");
      return d.enqueue(stream, {nullptr, found->get(), (*found)->recorded, true});
    });
  };
  t.cuStreamWaitValue64 = [](CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return call("cuStreamWaitValue64", [&](D& d) {
      const auto* word = reinterpret_cast<const std::uint64_t*>(address);
      if (flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_INVALID_VALUE;
      if (address % 8 != 0 || !d.page_locked(word, sizeof *word)) d.misuse("a wait for a word that is not in page-locked memory");
      return d.enqueue(stream, {nullptr, nullptr, value, true, 0, {}, word});
    });
  };
  t.cuEventSynchronize = synchronize;
  t.cuEventQuery = [](CUevent event) {
    return call("cuEventQuery", [&](D& d) {
      auto* found = d.find(d.events_, event, "event");
      if (!found) return CUDA_ERROR_INVALID_HANDLE;
      D::FakeEvent& e = **found;
      if (d.schedule_ == D::Schedule::latest && d.random_() % 2 == 0) d.run_until_done(e);
      if (d.schedule_ == D::Schedule::random) d.run_any();
      if (d.sticky_ != CUDA_SUCCESS) return d.sticky_;
      return e.done >= e.recorded ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
  };
}

/// Blocks until the event completes; if it never does, until the driver is destroyed.
CUresult FakeCalls::synchronize(CUevent event) {
  D& d = driver();
  ++d.sleepers_;
  std::uint64_t version = 0;
  CUresult result = call("cuEventSynchronize", [&](D&) {
    auto* found = d.find(d.events_, event, "event");
    if (!found) return CUDA_ERROR_INVALID_HANDLE;
    version = (*found)->recorded;
    return CUDA_ERROR_NOT_READY;
  });
  while (result == CUDA_ERROR_NOT_READY) {
    {
      const std::lock_guard guard(d.mutex_);
      const auto found = d.events_.find(event);
      if (d.closing_) {
        result = CUDA_ERROR_DEINITIALIZED;
      } else if (d.sticky_ != CUDA_SUCCESS) {
        result = d.sticky_;
      } else if (found == d.events_.end()) {
        d.misuse("an event destroyed while somebody sleeps for it");
        result = CUDA_ERROR_INVALID_HANDLE;
      } else {
        d.run_until_done(*found->second);
        if (found->second->done >= version) result = CUDA_SUCCESS;
      }
    }
    if (result == CUDA_ERROR_NOT_READY) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  --d.sleepers_;
  return result;
}

void FakeCalls::fill_clock(cuda::DriverApi& t) {
  t.cuEventElapsedTime = [](float* milliseconds, CUevent begin, CUevent end) {
    return call("cuEventElapsedTime", [&](D& d) {
      auto *first = d.find(d.events_, begin, "event"), *last = d.find(d.events_, end, "event");
      if (!first || !last) return CUDA_ERROR_INVALID_HANDLE;
      const bool timed = (*first)->takes_time && (*last)->takes_time && (*first)->recorded > 0 && (*last)->recorded > 0;
      if (!timed) d.misuse("a time asked of an event that has none");
      if (!timed) return CUDA_ERROR_INVALID_HANDLE;
      if ((*first)->done < (*first)->recorded || (*last)->done < (*last)->recorded) return CUDA_ERROR_NOT_READY;
      *milliseconds = static_cast<float>(1000 * ((*last)->time - (*first)->time));
      return CUDA_SUCCESS;
    });
  };
}

CUresult FakeCalls::launch_kernel(CUfunction function, CUstream stream, void** parameters) {
  return call("cuLaunchKernel", [&](D& d) {
    D::Item item;
    const CUresult result = d.explain(function, parameters, item);
    return result == CUDA_SUCCESS ? d.enqueue(stream, std::move(item)) : result;
  });
}

void FakeCalls::fill_modules(cuda::DriverApi& t) {
  t.cuModuleLoadData = [](CUmodule* module, const void* image) {
    return call("cuModuleLoadData", [&](D& d) {
      *module = static_cast<CUmodule>(d.new_handle());
      d.modules_[*module] = static_cast<const char*>(image);
      return CUDA_SUCCESS;
    });
  };
  t.cuModuleUnload = [](CUmodule module) {
    return give_back("cuModuleUnload", [&](D& d) {
      if (d.modules_.erase(module) == 0) d.misuse("a module unloaded twice");
      return CUDA_SUCCESS;
    });
  };
  t.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char* entry) {
    return call("cuModuleGetFunction", [&](D& d) {
      const std::string* text = d.find(d.modules_, module, "module");
      if (!text) return CUDA_ERROR_INVALID_HANDLE;
      *function = static_cast<CUfunction>(d.new_handle());
      d.functions_[*function] = {*text, entry};
      return CUDA_SUCCESS;
    });
  };
  t.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return call("cuFuncSetAttribute", [](D&) { return CUDA_SUCCESS; }); };
  t.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction function, int threads, std::size_t) {
    return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&](D& d) {
      if (!d.find(d.functions_, function, "function") || threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
      *blocks = d.blocks_held_;
      return CUDA_SUCCESS;
    });
  };
  t.cuLaunchKernel = [](CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned,
                        CUstream stream, void** parameters, void**) {
    {
      const auto guard = lock();
      driver().widest_grid_ = std::max(driver().widest_grid_, gx * gy * gz);
    }
    if (gx * gy * gz == 0 || bx * by * bz == 0 || bx * by * bz > 1024) driver().misuse("a launch with an impossible shape");
    return launch_kernel(function, stream, parameters);
  };
}

/// The compiler runs on the host: its calls need no context.
void FakeCalls::fill_compiler(cuda::CompilerApi& t) {
  const auto as_nvrtc = [](CUresult result) { return result == CUDA_SUCCESS ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR; };
  static const auto plain = as_nvrtc;
  t.nvrtcVersion = [](int* major, int* minor) {
    *major = 13;
    *minor = 0;
    return plain(call(
        "nvrtcVersion", [](D&) { return CUDA_SUCCESS; }, false));
  };
  t.nvrtcGetErrorString = [](nvrtcResult) { return "as asked of the fake compiler"; };
  t.nvrtcCreateProgram = [](nvrtcProgram* program, const char* text, const char*, int, const char* const*, const char* const*) {
    return plain(call(
        "nvrtcCreateProgram",
        [&](D& d) {
          *program = static_cast<nvrtcProgram>(d.new_handle());
          d.programs_[*program] = text;
          return CUDA_SUCCESS;
        },
        false));
  };
  t.nvrtcDestroyProgram = [](nvrtcProgram* program) {
    return plain(give_back(
        "nvrtcDestroyProgram",
        [&](D& d) {
          if (d.programs_.erase(*program) == 0) d.misuse("a program destroyed twice");
          *program = nullptr;
          return CUDA_SUCCESS;
        },
        false));
  };
  t.nvrtcCompileProgram = [](nvrtcProgram, int, const char* const*) {
    return plain(call(
        "nvrtcCompileProgram", [](D&) { return CUDA_SUCCESS; }, false));
  };
  t.nvrtcGetProgramLogSize = [](nvrtcProgram, std::size_t* size) {
    *size = 8;
    return NVRTC_SUCCESS;
  };
  t.nvrtcGetProgramLog = [](nvrtcProgram, char* log) {
    std::memcpy(log, "the log", 8);
    return NVRTC_SUCCESS;
  };
  t.nvrtcGetCUBINSize = [](nvrtcProgram program, std::size_t* size) {
    return plain(call(
        "nvrtcGetCUBINSize",
        [&](D& d) {
          *size = d.programs_.at(program).size() + 1;
          return CUDA_SUCCESS;
        },
        false));
  };
  t.nvrtcGetCUBIN = [](nvrtcProgram program, char* image) {
    return plain(call(
        "nvrtcGetCUBIN",
        [&](D& d) {
          std::memcpy(image, d.programs_.at(program).c_str(), d.programs_.at(program).size() + 1);
          return CUDA_SUCCESS;
        },
        false));
  };
}

namespace {

template <class Api>
cuda::OptionalLibrary<Api> filled_by(void (*fill)(Api&)) {
  return cuda::OptionalLibrary<Api>([fill] {
    Api table;
    fill(table);
    return Result<Api>(table);
  });
}
template <class Api>
cuda::OptionalLibrary<Api> not_there() {
  return cuda::OptionalLibrary<Api>([] { return Result<Api>(Error{"it is not there", {}, ErrorKind::machine}); });
}

}  // namespace

std::shared_ptr<const cuda::Libraries> FakeDriver::libraries() {
  return std::shared_ptr<const cuda::Libraries>(
      new cuda::Libraries{filled_by(fill_fake_fft), filled_by(fill_fake_solver), filled_by(fill_fake_dnn)});
}

std::shared_ptr<const cuda::Libraries> FakeDriver::no_libraries() {
  return std::shared_ptr<const cuda::Libraries>(
      new cuda::Libraries{not_there<cuda::FftApi>(), not_there<cuda::SolverApi>(), not_there<cuda::DnnApi>()});
}

cuda::Api FakeDriver::api() {
  cuda::Api api;
  FakeCalls::fill_device(api.driver);
  FakeCalls::fill_contexts(api.driver);
  FakeCalls::fill_memory(api.driver);
  FakeCalls::fill_streams(api.driver);
  FakeCalls::fill_clock(api.driver);
  FakeCalls::fill_modules(api.driver);
  FakeCalls::fill_compiler(api.compiler);
  fill_fake_graphs(api.driver);
  fill_fake_blas(api.blas);
  return api;
}

}  // namespace cleave::testing

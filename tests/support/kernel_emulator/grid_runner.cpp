#include "tests/support/kernel_emulator/grid_runner.h"
#include "tests/support/namespaces.h"

#include <algorithm>
#include <cstring>

namespace cleave::testing {
namespace {

constexpr std::size_t kStack = 64 << 10;
constexpr int kPoison = 0xFF;                             // as a number: NaN, or -1
constexpr int kSyncWarp = 0, kExchange = 1, kBallot = 2;  // as in shim.h

EmulatorIndex index_of(unsigned number, const EmulatorIndex& extent) {
  return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y};
}

std::string to_text(const EmulatorIndex& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

std::uint64_t number(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

/// Static storage, since the compiled text's hooks have no handle that could lead here.
constinit thread_local GridRunner* GridRunner::running_ = nullptr;

Status GridRunner::run(const CompiledKernel& kernel, const GridShape& shape, const unsigned long long* parameters, MemoryChecker& memory,
                       Order order) {
  kernel_ = &kernel;
  shape_ = shape;
  parameters_ = parameters;
  memory_ = &memory;
  order_ = order;
  wrong_.clear();
  threads_ = shape.block.x * shape.block.y * shape.block.z;
  active_ = kernel.meets ? threads_ : 1;
  if (fibers_.size() < active_) fibers_.resize(active_);
  dynamic_.resize(shape.dynamic_shared_bytes / sizeof(Line) + 1);
  memory.begin_launch();
  memory.add_shared(number(kernel.shared_begin), kernel.shared_end - kernel.shared_begin, "shared memory");
  memory.add_shared(number(dynamic_.data()), shape.dynamic_shared_bytes, "dynamic shared memory");
  running_ = this;
  *kernel.hooks = {&thread_, &block_, &shape_.block, &shape_.grid, on_access, on_barrier, on_collective, on_dynamic_shared, on_undefined};
  const unsigned blocks = shape.grid.x * shape.grid.y * shape.grid.z;
  for (unsigned i = 0; i < blocks && wrong_.empty(); ++i) {
    block_ = index_of(order == Order::forward ? i : blocks - 1 - i, shape.grid);
    run_block();
  }
  running_ = nullptr;
  if (wrong_.empty()) return {};
  return Error{wrong_, {}, ErrorKind::machine};
}

// --- fibers ------------------------------------------------------------------------------------------------------------------------------

void GridRunner::set_thread(unsigned thread) {
  thread_ = index_of(thread, shape_.block);
}

void GridRunner::run_threads() {
  GridRunner& self = *running_;
  Fiber& fiber = *self.current_;
  for (unsigned i = 0, first = fiber.thread, count = fiber.end - first; i < count; ++i) {
    fiber.thread = self.order_ == Order::forward ? first + i : first + count - 1 - i;
    self.set_thread(fiber.thread);
    self.kernel_->entry(self.parameters_);
  }
  fiber.state = State::done;
  self.yield();
}

void GridRunner::start_fiber(Fiber& fiber, unsigned thread) {
  if (!fiber.stack) fiber.stack = std::make_unique_for_overwrite<std::byte[]>(kStack);
  fiber.state = State::ready;
  fiber.thread = thread;
  fiber.end = kernel_->meets ? thread + 1 : threads_;
  fiber.place_on_stack.begin(fiber.stack.get(), kStack, run_threads);
}

void GridRunner::resume(Fiber& fiber) {
  current_ = &fiber;
  set_thread(fiber.thread);
  scheduler_.switch_to(fiber.place_on_stack);
  current_ = nullptr;
}

void GridRunner::yield() {
  current_->place_on_stack.switch_to(scheduler_);
}

void GridRunner::run_block() {
  const std::ptrdiff_t shared = kernel_->shared_end - kernel_->shared_begin;
  if (shared > 0) std::memset(kernel_->shared_begin, kPoison, static_cast<std::size_t>(shared));
  std::memset(dynamic_.data(), kPoison, dynamic_.size() * sizeof(Line));
  memory_->begin_block();
  for (unsigned i = 0; i < active_; ++i) start_fiber(fibers_[i], i);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < active_; ++i) {
      Fiber& fiber = fibers_[order_ == Order::forward ? i : active_ - 1 - i];
      if (fiber.state != State::ready) continue;
      resume(fiber);
      if (!wrong_.empty()) return;
      moved = true;
    }
    for (unsigned warp = 0; warp * MemoryChecker::kWarp < active_; ++warp) moved |= release_warp(warp);
    if (!moved) moved = release_block();
    if (!wrong_.empty()) return;
  }
  const auto all = std::span(fibers_).first(active_);
  const bool done = std::all_of(all.begin(), all.end(), [](const Fiber& f) { return f.state == State::done; });
  if (!done) wrong_ = "block " + to_text(block_) + ": " + divergence();
}

void GridRunner::stop(const std::string& what) {
  wrong_ = "thread " + to_text(thread_) + " of block " + to_text(block_) + " " + what;
  yield();  // never resumed
}

// --- synchronization of threads ----------------------------------------------------------------------------------------------------------

std::span<GridRunner::Fiber> GridRunner::warp_of(unsigned warp) {
  const std::size_t first = std::size_t{warp} * MemoryChecker::kWarp;
  return std::span(fibers_).subspan(first, std::min<std::size_t>(MemoryChecker::kWarp, active_ - first));
}

/// The lanes that take part in the warp operation of `mask` at `place`; nothing while one of them is missing. Lanes that have ended are not
/// awaited.
std::optional<unsigned> GridRunner::meeting(std::span<const Fiber> lanes, unsigned mask, int place) {
  unsigned together = 0;
  for (unsigned lane = 0; lane < lanes.size(); ++lane) {
    const Fiber& fiber = lanes[lane];
    if ((mask >> lane & 1) == 0 || fiber.state == State::done) continue;
    if (fiber.state != State::in_warp || fiber.place != place || fiber.mask != mask) return std::nullopt;
    together |= 1U << lane;
  }
  return together;
}

/// Resumes the lanes of each mask once all of them have reached the same operation.
bool GridRunner::release_warp(unsigned warp) {
  const std::span<Fiber> lanes = warp_of(warp);
  bool released = false;
  for (const Fiber& leader : lanes) {
    if (leader.state != State::in_warp) continue;
    const int place = leader.place;
    const std::optional<unsigned> together = meeting(lanes, leader.mask, place);
    if (!together) continue;
    std::array<unsigned long long, MemoryChecker::kWarp> values;
    values.fill(~0ULL);  // lanes that do not take part have an arbitrary value
    unsigned long long ballot = 0;
    for (unsigned lane = 0; lane < lanes.size(); ++lane) {
      if ((*together >> lane & 1) == 0) continue;
      values[lane] = lanes[lane].value;
      if (values[lane] != 0) ballot |= 1ULL << lane;
    }
    for (unsigned lane = 0; lane < lanes.size(); ++lane) {
      if ((*together >> lane & 1) == 0) continue;
      lanes[lane].state = State::ready;
      lanes[lane].value = place == kBallot ? ballot : values[lanes[lane].source % MemoryChecker::kWarp];
    }
    if (place == kSyncWarp) memory_->warp_barrier(warp);
    released = true;
  }
  return released;
}

/// Resumes the block once all of its threads wait at one barrier.
bool GridRunner::release_block() {
  const auto all = std::span(fibers_).first(active_);
  const bool meet =
      std::all_of(all.begin(), all.end(), [&](const Fiber& f) { return f.state == State::at_barrier && f.place == all[0].place; });
  if (!meet) return false;
  for (Fiber& fiber : all) fiber.state = State::ready;
  memory_->block_barrier();
  return true;
}

/// Describes where each thread waits, in a block in which no thread can continue.
std::string GridRunner::divergence() const {
  const auto where = [](const Fiber& fiber) -> std::string {
    if (fiber.state == State::done) return "has ended";
    if (fiber.state == State::at_barrier) return "waits at the barrier of line " + std::to_string(fiber.place);
    char mask[16];
    std::snprintf(mask, sizeof mask, "%08x", fiber.mask);
    return std::string("waits for the lanes ") + mask +
           (fiber.place == kExchange ? " to exchange"
            : fiber.place == kBallot ? " to vote"
                                     : " to meet");
  };
  std::string text = "thread 0 " + where(fibers_[0]);
  for (std::size_t i = 1; i < active_; ++i) {
    if (where(fibers_[i]) != where(fibers_[0])) return text + ", thread " + std::to_string(i) + " " + where(fibers_[i]);
  }
  return text;
}

// --- hooks: on a fiber's stack -----------------------------------------------------------------------------------------------------------

void GridRunner::on_access(const void* address, unsigned long bytes, int access) {
  GridRunner& self = *running_;
  const auto* at = static_cast<const std::byte*>(address);
  const std::byte* stack = self.current_->stack.get();
  if (at >= stack && at < stack + kStack) return;
  const CompiledKernel& kernel = *self.kernel_;
  const bool constant = at >= kernel.image_begin && at < kernel.image_end && (at < kernel.shared_begin || at >= kernel.shared_end);
  if (constant && access == 0) return;
  const unsigned thread = self.current_->thread;
  const auto how = static_cast<MemoryChecker::Access>(access);
  if (!self.memory_->allows(thread, number(address), bytes, how)) self.stop(self.memory_->error(thread, number(address), bytes, how));
}

void GridRunner::on_barrier(int line) {
  GridRunner& self = *running_;
  CLEAVE_CHECK(self.kernel_->meets, "a barrier in a text that has none");
  self.current_->state = State::at_barrier;
  self.current_->place = line;
  self.yield();
}

unsigned long long GridRunner::on_collective(int kind, unsigned mask, unsigned long long value, unsigned source) {
  GridRunner& self = *running_;
  CLEAVE_CHECK(self.kernel_->meets, "lanes meet in a text where they do not");
  Fiber& fiber = *self.current_;
  if ((mask >> fiber.thread % MemoryChecker::kWarp & 1) == 0) self.stop("is not in the mask of what its warp does");
  fiber.state = State::in_warp;
  fiber.place = kind;
  fiber.mask = mask;
  fiber.value = value;
  fiber.source = source;
  self.yield();
  return fiber.value;
}

void* GridRunner::on_dynamic_shared() {
  return running_->dynamic_.data();
}

void GridRunner::on_undefined(const char* what, unsigned line) {
  running_->stop(std::string("in line ") + std::to_string(line) + ": " + what);
}

}  // namespace cleave::testing

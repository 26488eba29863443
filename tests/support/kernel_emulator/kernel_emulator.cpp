#include "tests/support/kernel_emulator/kernel_emulator.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr std::size_t kTextsPerUnit = 100;
// Each operation rounds once, as on the device. Each access and each undefined operation calls the shim, which defines the called
// functions.
constexpr const char* kOptions =
    " -std=c++17 -O1" CLEAVE_EMULATOR_OPTIONS
    " -w -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-strict-aliasing -ffp-contract=off -fsanitize=thread"
    " -fsanitize=signed-integer-overflow,integer-divide-by-zero,shift,bounds -fno-sanitize-recover=all ";

/// Whether threads synchronize anywhere in `text`: only then they must be able to wait for each other.
bool meets(const std::string& text) {
  constexpr std::string_view kWords[] = {"__sync", "__shfl_", "__ballot_", "__any_", "__all_"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// The prefix of every text's key: the compiler, its options and the prelude. A replaced compiler counts as another one.
const ContentKey& key_of_makers() {
  static const ContentKey key = [] {
    std::error_code ignored;
    const std::filesystem::path compiler = std::filesystem::canonical(CLEAVE_CXX_COMPILER, ignored);
    ContentKey made;
    made.add(compiler.string());
    made.add(std::to_string(std::filesystem::file_size(compiler, ignored)));
    made.add(std::to_string(std::filesystem::last_write_time(compiler, ignored).time_since_epoch().count()));
    made.add(kOptions);
    made.add(unit_makers());
    return made;
  }();
  return key;
}

std::string name(const char* what, std::size_t text) {
  return what + std::to_string(text);
}

template <class T>
T* symbol(void* library, const std::string& name) {
  return reinterpret_cast<T*>(dlsym(library, name.c_str()));
}

}  // namespace

std::string KernelEmulator::unavailable() {
  if (access(CLEAVE_CXX_COMPILER, X_OK) == 0) return {};
  return "the compiler " CLEAVE_CXX_COMPILER ", which would compile the kernels for the emulator, is not here";
}

KernelEmulator::KernelEmulator(const std::string& folder) : cache_(folder, folder_.path(".")) {}

KernelEmulator::~KernelEmulator() {
  for (const auto& [path, library] : libraries_) {
    if (library) dlclose(library);
  }
  if (compiled_ > 0) cache_.prune();
}

void KernelEmulator::add(const cuda::KernelSource& source) {
  const auto [place, added] = texts_.try_emplace(source.text);
  Text& text = place->second;
  if (added) pending_.push_back(&place->first);
  for (const cuda::KernelLaunch& launch : source.launches) {
    const bool compiled = text.compiled;
    CLEAVE_CHECK(!compiled || text.entries.contains(launch.entry), "a text is compiled with all the entries that it will be launched by");
    text.entries.try_emplace(launch.entry);
  }
}

UnitPiece KernelEmulator::piece_of(const std::string& text) const {
  UnitPiece piece{&text, {}, {}};
  ContentKey key = key_of_makers();
  key.add(text);
  for (const auto& [entry, kernel] : texts_.at(text).entries) {
    piece.entries.push_back(entry);
    key.add(entry);
  }
  piece.key = key.text();
  return piece;
}

Status KernelEmulator::compile() {
  std::vector<UnitPiece> missing;
  for (const std::string* text : std::exchange(pending_, {})) {
    UnitPiece piece = piece_of(*text);
    if (const std::string unit = cache_.find(piece.key); unit.empty() || !load(unit, {piece})) missing.push_back(std::move(piece));
  }
  if (missing.empty()) return {};
  compiled_ += missing.size();
  const std::size_t processes = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t each = std::min(kTextsPerUnit, std::max<std::size_t>(8, (missing.size() + processes - 1) / processes));
  std::vector<std::pair<std::string, std::vector<UnitPiece>>> units;
  std::string commands;
  for (std::size_t i = 0; i < missing.size(); i += each) {
    const auto first = missing.begin() + static_cast<std::ptrdiff_t>(i);
    units.emplace_back(cache_.place(),
                       std::vector<UnitPiece>(first, first + static_cast<std::ptrdiff_t>(std::min(each, missing.size() - i))));
    const std::string base = name("unit", units.size());
    folder_.write(base + ".cpp", unit_text(units.back().second));
    commands += "(" CLEAVE_CXX_COMPILER + (kOptions + ("-c -o " + base)) + ".o " + base + ".cpp && " CLEAVE_CXX_COMPILER " -shared -o '" +
                units.back().first + "' " + base + ".o)" + (units.size() % processes == 0 ? " & wait\n" : " &\n");
  }
  const CommandResult result = run_command(commands + "wait", folder_.path("."));
  for (const auto& [place, pieces] : units) {
    std::vector<std::string> keys;
    for (const UnitPiece& piece : pieces) keys.push_back(piece.key);
    const std::string path = cache_.put(place, keys);
    if (path.empty()) return Error{"a kernel's text does not compile:\n" + result.err.substr(0, 2000), {}, ErrorKind::machine};
    if (Status status = load(path, pieces); !status) return status;
  }
  return {};
}

Status KernelEmulator::load(const std::string& path, const std::vector<UnitPiece>& pieces) {
  void*& library = libraries_[path];
  if (!library) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Error{std::string("a compiled text does not load: ") + dlerror(), {}, ErrorKind::machine};
  auto* image = symbol<std::byte* const>(library, "cleave_image");
  for (const UnitPiece& piece : pieces) {
    Text& text = texts_.at(*piece.text);
    auto* shared = symbol<std::byte* const>(library, "bounds_" + piece.key);
    if (!image || !shared) return Error{"a compiled unit lacks the text of " + piece.key, {}, ErrorKind::machine};
    std::size_t i = 0;
    for (auto& [entry, kernel] : text.entries) {
      kernel.entry = symbol<unsigned long(const unsigned long long*)>(library, "entry_" + piece.key + name("_", i++));
      kernel.hooks = symbol<EmulatorHooks>(library, "cleave_hooks");
      kernel.meets = meets(*piece.text);
      kernel.shared_begin = shared[0];
      kernel.shared_end = shared[1];
      kernel.image_begin = image[0];
      kernel.image_end = image[1];
    }
    text.compiled = true;
  }
  return {};
}

Status KernelEmulator::launch(const cuda::KernelSource& source, std::size_t number, std::span<const unsigned long long> parameters,
                              MemoryChecker& memory, Order order) {
  add(source);
  if (Status status = compile(); !status) return status;
  const cuda::KernelLaunch& launch = source.launches[number];
  const Text& text = texts_.at(source.text);
  if (!text.compiled) return Error{"its text did not compile", {}, ErrorKind::machine};
  const CompiledKernel& kernel = text.entries.at(launch.entry);
  if (kernel.entry(nullptr) != parameters.size())
    return Error{
        launch.entry + " takes " + std::to_string(kernel.entry(nullptr)) + " parameters and gets " + std::to_string(parameters.size()),
        {},
        ErrorKind::machine};
  ++launches_;
  const auto index = [](const std::array<unsigned, 3>& a) { return EmulatorIndex{a[0], a[1], a[2]}; };
  static std::mutex one_at_a_time;  // emulators that loaded the same unit share its hooks
  const std::lock_guard lock(one_at_a_time);
  Status status = runner_.run(kernel, {index(launch.grid), index(launch.block), launch.shared_bytes}, parameters.data(), memory, order);
  if (!status) return Error{launch.entry + ": " + status.error().message, {}, ErrorKind::machine};
  return status;
}

namespace {

/// Memory as aligned as the device's.
struct alignas(256) Piece {
  std::byte bytes[256];
};
using Block = std::vector<Piece>;

}  // namespace

Status KernelEmulator::run(const cuda::KernelSource& source, std::span<const Array> inputs, std::span<Array> results, Order order) {
  MemoryChecker memory;
  std::vector<Block> blocks;
  std::vector<unsigned long long> parameters;
  const auto give = [&](std::int64_t bytes, std::int64_t element, std::string name, const std::byte* content, bool racy) {
    Block& block = blocks.emplace_back(static_cast<std::size_t>(bytes) / sizeof(Piece) + 1);
    std::memset(block.data(), 0xFF, block.size() * sizeof(Piece));
    if (content) std::memcpy(block.data(), content, static_cast<std::size_t>(bytes));
    const auto address = reinterpret_cast<std::uint64_t>(block.data());
    memory.add({address, bytes, element, std::move(name), content || racy, !content, racy});
    parameters.push_back(address);
    return reinterpret_cast<std::byte*>(block.data());
  };
  for (const Array& input : inputs)
    give(input.type().bytes(), size_of(input.dtype()), name("operand ", parameters.size()), input.bytes(), false);
  for (std::size_t i = 0; i < results.size(); ++i)
    give(results[i].type().bytes(), size_of(results[i].dtype()), name("result ", i), nullptr, false);
  if (source.scratch_bytes > 0) give(source.scratch_bytes, 4, "scratch", nullptr, false);
  unsigned long long* fault = nullptr;
  if (!source.fault.empty()) {
    fault = reinterpret_cast<unsigned long long*>(give(16, 8, "fault", nullptr, true));
    fault[0] = 0;
    parameters.push_back(7);  // the ticket
  }
  const std::size_t operands = parameters.size();
  for (std::size_t i = 0; i < source.launches.size(); ++i) {
    parameters.resize(operands);
    for (const std::int64_t constant : source.launches[i].constants) parameters.push_back(static_cast<unsigned long long>(constant));
    if (Status status = launch(source, i, parameters, memory, order); !status) return status;
  }
  if (fault && fault[0] != 0) {
    if (fault[0] != 7) return Error{"a fault with a wrong ticket", {}, ErrorKind::machine};
    std::string text = source.fault;
    if (const std::size_t place = text.find("{}"); place != std::string::npos)
      text.replace(place, 2, std::to_string(static_cast<long long>(fault[1])));
    return Error{text, {}, ErrorKind::user};
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(results[i].type().bytes());
    if (bytes > 0) std::memcpy(results[i].mutable_bytes(), blocks[inputs.size() + i].data(), bytes);
  }
  return {};
}

}  // namespace cleave::testing

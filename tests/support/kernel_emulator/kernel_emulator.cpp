#include "tests/support/kernel_emulator/kernel_emulator.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <regex>
#include <thread>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

constexpr std::size_t kTextsPerUnit = 100;
// One rounding an operation, as on the device; each access and each undefined operation calls the shim, which defines what is called.
constexpr const char* kOptions =
    " -std=c++17 -O1 -w -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-strict-aliasing -ffp-contract=off -fsanitize=thread"
    " -fsanitize=signed-integer-overflow,integer-divide-by-zero,shift,bounds -fno-sanitize-recover=all ";

/// Whether threads meet anywhere in `text`: only then they need to be able to wait for each other.
bool meets(const std::string& text) {
  static const std::regex words("__sync|__shfl_|__ballot_|__any_|__all_");
  return std::regex_search(text, words);
}

/// CUDA's words that a macro cannot take out of C++'s way.
std::string rewritten(const std::string& text) {
  static const std::regex linkage("extern\\s+\"C\"");
  static const std::regex dynamic(
      "extern\\s+__shared__\\s+(__align__\\([0-9]+\\)\\s+)?([a-zA-Z_][a-zA-Z_0-9 ]*?)\\s+([a-zA-Z_0-9]+)\\s*\\[\\s*\\]");
  return std::regex_replace(std::regex_replace(text, linkage, ""), dynamic, "$2* const $3 = ($2*)cleave_emulator::dynamic_shared()");
}

std::vector<std::string> macros(const std::string& text) {
  static const std::regex define("(^|\n)\\s*#\\s*define\\s+([a-zA-Z_0-9]+)");
  std::vector<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), define), end; i != end; ++i) names.push_back((*i)[2]);
  return names;
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

KernelEmulator::~KernelEmulator() {
  for (void* library : libraries_) dlclose(library);
}

void KernelEmulator::add(const cuda::KernelSource& source) {
  const auto [place, added] = texts_.try_emplace(source.text);
  Text& text = place->second;
  if (added) {
    text.number = texts_.size();
    pending_.push_back(&place->first);
  }
  for (const cuda::KernelLaunch& launch : source.launches) {
    const bool compiled = text.compiled;
    CLEAVE_CHECK(!compiled || text.entries.contains(launch.entry), "a text is compiled with all the entries that it will be launched by");
    text.entries.try_emplace(launch.entry);
  }
}

std::string KernelEmulator::translation_unit(std::span<const std::string* const> texts) const {
  std::string unit = "#include \"" + source_dir() + "/tests/support/kernel_emulator/shim.h\"\n";
  unit += "extern char __ehdr_start, _end;\nCLEAVE_VISIBLE char* const cleave_image[2] = {&__ehdr_start, &_end};\n";
  for (const std::string* text : texts) {
    const auto& [number, compiled, entries] = texts_.at(*text);
    const std::string space = name("text_", number), shared = name("shared_", number);
    unit += "#undef CLEAVE_SHARED_SECTION\n#define CLEAVE_SHARED_SECTION \"" + shared + "\"\n";
    unit += "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) char __start_" + shared + "[], __stop_" + shared + "[];\n";
    unit += "CLEAVE_VISIBLE char* const " + name("bounds_", number) + "[2] = {__start_" + shared + ", __stop_" + shared + "};\n";
    unit += "namespace { namespace " + space + " {\n#line 1 \"" + space + "\"\n" + rewritten(*text) + "\n}}\n";
    std::size_t i = 0;
    for (const auto& [entry, kernel] : entries)
      unit += "CLEAVE_VISIBLE CLEAVE_UNSEEN unsigned long " + name("entry_", number) + name("_", i++) +
              "(const unsigned long long* p) { return cleave_emulator::call(" + space + "::" + entry + ", p); }\n";
    for (const std::string& macro : macros(*text)) unit += "#undef " + macro + "\n";
  }
  return unit;
}

Status KernelEmulator::compile() {
  std::vector<std::span<const std::string* const>> units;
  const std::span<const std::string* const> all = pending_;
  const std::size_t processes = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t each = std::min(kTextsPerUnit, std::max<std::size_t>(8, (all.size() + processes - 1) / processes));
  for (std::size_t i = 0; i < all.size(); i += each) units.push_back(all.subspan(i, std::min(each, all.size() - i)));
  std::string commands;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::string base = name("unit", libraries_.size() + i);
    folder_.write(base + ".cpp", translation_unit(units[i]));
    commands += "(" CLEAVE_CXX_COMPILER + (kOptions + ("-c -o " + base)) + ".o " + base + ".cpp && " CLEAVE_CXX_COMPILER " -shared -o " +
                base + ".so " + base + ".o)" + ((i + 1) % processes == 0 ? " & wait\n" : " &\n");
  }
  if (units.empty()) return {};
  const CommandResult result = run_command(commands + "wait", folder_.path("."));
  pending_.clear();
  for (const auto& texts : units) {
    if (Status status = load(folder_.path(name("unit", libraries_.size()) + ".so"), texts); !status)
      return Error{status.error().message + "\n" + result.err.substr(0, 2000), {}, ErrorKind::machine};
  }
  return {};
}

Status KernelEmulator::load(const std::string& path, std::span<const std::string* const> texts) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Error{std::string("a kernel's text does not compile: ") + dlerror(), {}, ErrorKind::machine};
  libraries_.push_back(library);
  auto* image = symbol<std::byte* const>(library, "cleave_image");
  for (const std::string* source : texts) {
    Text& text = texts_.at(*source);
    auto* shared = symbol<std::byte* const>(library, name("bounds_", text.number));
    std::size_t i = 0;
    for (auto& [entry, kernel] : text.entries) {
      kernel.entry = symbol<unsigned long(const unsigned long long*)>(library, name("entry_", text.number) + name("_", i++));
      kernel.hooks = symbol<EmulatorHooks>(library, "cleave_hooks");
      kernel.meets = meets(*source);
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

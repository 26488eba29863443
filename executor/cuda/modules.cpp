#include "executor/cuda/modules.h"

#include <algorithm>
#include <optional>

#include "executor/device/workers.h"

namespace cleave::runtime::cuda {
namespace {

constexpr unsigned kSharedWithoutAsking = 48 << 10;

}  // namespace

void CudaModules::compile(std::vector<std::string> texts, int threads) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::erase_if(texts, [this](const std::string& text) { return modules_.contains(text) || compiled_.contains(text); });
  std::vector<std::optional<Result<std::string>>> images(texts.size());
  Workers::of(threads)->each(static_cast<std::int64_t>(texts.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    images[at] = compiler_.image(texts[at]);
  });
  for (std::size_t i = 0; i < texts.size(); ++i) compiled_.emplace(std::move(texts[i]), *std::move(images[i]));
}

Result<CUfunction> CudaModules::function(const std::string& text, const KernelLaunch& launch) {
  auto known = modules_.find(text);
  if (known == modules_.end()) {
    auto compiled = compiled_.extract(text);
    Result<std::string> image = compiled.empty() ? compiler_.image(text) : std::move(compiled.mapped());
    if (!image) return image.error();
    Result<ModuleHandle> module = make_module(context_, image->data());
    if (!module) return module.error();
    known = modules_.emplace(text, *std::move(module)).first;
  }
  const DriverApi& driver = context_.api();
  CUfunction entry = nullptr;
  Status status = context_.check("cuModuleGetFunction", driver.cuModuleGetFunction(&entry, known->second.get(), launch.entry.c_str()));
  if (status && launch.shared_bytes > kSharedWithoutAsking) {
    status = context_.check("cuFuncSetAttribute", driver.cuFuncSetAttribute(entry, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                                            static_cast<int>(launch.shared_bytes)));
  }
  if (!status) return status.error();
  return entry;
}

Status CudaModules::fit_grid(PreparedLaunch& launch) const {
  unsigned& blocks_asked = launch.shape.grid[0];
  const auto& block = launch.shape.block;
  const auto multiprocessors = static_cast<unsigned>(context_.architecture().multiprocessors);
  if (!launch.shape.any_grid || blocks_asked <= multiprocessors) return {};
  int blocks = 0;
  const auto threads = static_cast<int>(block[0] * block[1] * block[2]);
  Status status = context_.check(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      context_.api().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.function, threads, launch.shape.shared_bytes));
  if (status) blocks_asked = std::min(blocks_asked, static_cast<unsigned>(std::max(blocks, 1)) * multiprocessors);
  return status;
}

}  // namespace cleave::runtime::cuda

#include "executor/cuda/library_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace cleave::runtime::cuda {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t colon = list.find(':');
    if (colon != 0) parts.emplace_back(list.substr(0, colon));
    list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
  }
  return parts;
}

/// The folders in a folder, sorted; none if it cannot be read.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end; entry.increment(unreadable)) {
    std::error_code gone;
    if (entry->is_directory(gone)) all.push_back(entry->path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// `site-packages` and Debian's `dist-packages` below an installation's root.
void add_site_packages(const fs::path& root, std::vector<fs::path>& sites) {
  for (const fs::path& version : folders_in(root / "lib")) {
    if (!version.filename().string().starts_with("python3")) continue;
    sites.push_back(version / "site-packages");
    sites.push_back(version / "dist-packages");
  }
}

std::vector<fs::path> python_sites(const Environment& environment) {
  std::vector<fs::path> sites;
  for (const std::string& folder : parts_of(environment("PYTHONPATH"))) sites.emplace_back(folder);
  for (const char* root : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string folder = environment(root); !folder.empty()) add_site_packages(folder, sites);
  }
  // The link itself is not resolved: a virtual environment's python3 links to a python3 in another folder.
  for (const std::string& folder : parts_of(environment("PATH"))) {
    const fs::path python = fs::path(folder) / "python3";
    std::error_code missing;
    if (fs::exists(python, missing)) add_site_packages(python.parent_path().parent_path(), sites);
  }
  if (const std::string home = environment("HOME"); !home.empty()) add_site_packages(fs::path(home) / ".local", sites);
  return sites;
}

}  // namespace

std::string environment_of_process(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> library_places(const std::vector<std::string>& names, const Environment& environment) {
  std::vector<std::string> places;
  const auto add_folder = [&](const fs::path& folder) {
    for (const std::string& name : names) {
      std::error_code missing;
      const std::string file = (folder / name).string();
      if (fs::exists(file, missing) && std::find(places.begin(), places.end(), file) == places.end()) places.push_back(file);
    }
  };
  const auto add_toolkit = [&](const fs::path& root) {
    add_folder(root / "lib64");
    add_folder(root / "lib");
  };
  for (const std::string& folder : parts_of(environment("CLEAVE_CUDA_LIBRARIES"))) add_folder(folder);
  for (const char* root : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string folder = environment(root); !folder.empty()) add_toolkit(folder);
  }
  places.insert(places.end(), names.begin(), names.end());
  for (const fs::path& site : python_sites(environment)) {
    for (const fs::path& package : folders_in(site / "nvidia")) add_folder(package / "lib");
  }
  add_toolkit("/usr/local/cuda");
  return places;
}

}  // namespace cleave::runtime::cuda

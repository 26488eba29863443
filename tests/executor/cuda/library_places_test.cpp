// The folders in which CUDA's libraries are searched for, on folder trees made for this test.
#include "executor/cuda/library_places.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/shared_library.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

class LibraryPlaces : public ::testing::Test {
 protected:
  std::string place(const std::string& file) {
    const std::filesystem::path path = root_.path(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "";
    return path.string();
  }
  std::string folder(const std::string& name) { return root_.path(name); }
  std::vector<std::string> look() {
    std::vector<std::string> found =
        cuda::library_places({"libleaf.so.2", "libleaf.so.1"}, [this](const char* name) { return set_[name]; });
    std::erase_if(found, [](const std::string& file) { return file.starts_with("/usr/local/cuda/"); });
    return found;
  }

  test::TemporaryFolder root_;
  std::map<std::string, std::string> set_;
};

TEST_F(LibraryPlaces, AreTheLoadersWhereNothingIsSet) {
  EXPECT_THAT(look(), ElementsAre("libleaf.so.2", "libleaf.so.1"));
}

TEST_F(LibraryPlaces, PutWhatTheUserNamesFirstThenTheToolkitThenTheLoaderThenPython) {
  const std::string pip = place("env/lib/python3.12/site-packages/nvidia/cu13/lib/libleaf.so.2");
  const std::string old = place("env/lib/python3.12/site-packages/nvidia/leaf/lib/libleaf.so.1");
  place("env/bin/python3");
  const std::string toolkit = place("toolkit/lib64/libleaf.so.1");
  const std::string named = place("named/libleaf.so.1");
  place("named/libother.so.1");
  set_ = {{"CLEAVE_CUDA_LIBRARIES", folder("nowhere") + "::" + folder("named") + ":"},
          {"CUDA_HOME", folder("toolkit")},
          {"CUDA_PATH", folder("toolkit")},
          {"PATH", "/nowhere:" + folder("env/bin")}};
  EXPECT_THAT(look(), ElementsAre(named, toolkit, "libleaf.so.2", "libleaf.so.1", pip, old));
}

TEST_F(LibraryPlaces, KnowEnvironmentsPathsAndTheUsersPackagesOfPython) {
  const std::string activated = place("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libleaf.so.2");
  const std::string conda = place("conda/lib/python3.10/site-packages/nvidia/cuda_nvrtc/lib/libleaf.so.2");
  const std::string listed = place("extra/nvidia/cu13/lib/libleaf.so.2");
  const std::string user = place("home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libleaf.so.2");
  const std::string debian = place("usr/lib/python3/dist-packages/nvidia/cu13/lib/libleaf.so.2");
  place("usr/bin/python3");
  set_ = {{"PYTHONPATH", folder("extra")},
          {"VIRTUAL_ENV", folder("venv")},
          {"CONDA_PREFIX", folder("conda")},
          {"HOME", folder("home")},
          {"PATH", folder("usr/bin/")}};
  EXPECT_THAT(look(), ElementsAre("libleaf.so.2", "libleaf.so.1", listed, activated, conda, debian, user));
}

TEST(SharedLibraries, ThatAreThereButCannotBeOpenedAreNamed) {
  const test::TemporaryFolder folder;
  const std::string broken = folder.path("libbroken.so.1"), other = folder.path("libother.so.1");
  for (const std::string& file : {broken, other}) std::ofstream(file) << "no library";
  const Result<cuda::SharedLibrary> library = cuda::SharedLibrary::open({"libnowhere.so.1", broken, other}, "the tea kettle");
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message, ::testing::StartsWith("the tea kettle cannot be opened: " + broken + ": "));
}

/// A folder that is not on the loader's path, like pip's. Like NVRTC, the stand-in opens its builtins by name alone when it compiles.
TEST(LibraryFolders, OfNvrtcHaveItsBuiltins) {
  const char* given = std::getenv("CLEAVE_CUDA_LIBRARIES");
  const std::string before = given ? given : "";
  setenv("CLEAVE_CUDA_LIBRARIES", (binary_dir() + "/stand_in_cuda").c_str(), 1);
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (given) {
    setenv("CLEAVE_CUDA_LIBRARIES", before.c_str(), 1);
  } else {
    unsetenv("CLEAVE_CUDA_LIBRARIES");
  }
  ASSERT_TRUE(api.ok()) << api.error().message;
  int major = 0, minor = 0;
  api->nvrtcVersion(&major, &minor);
  ASSERT_EQ(major, 99) << "another NVRTC was found";
  EXPECT_EQ(api->nvrtcCompileProgram(nullptr, 0, nullptr), NVRTC_SUCCESS) << "its builtins cannot be opened";
}

}  // namespace
}  // namespace cleave::testing

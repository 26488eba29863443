# The recipe for Spack: the command line, the C++ library and, with +python, the Python package.
from spack.package import *


class Cleave(CMakePackage):
    """Places a whole dataflow graph on host and accelerator by an exact minimum cut, and runs it."""

    homepage = "https://example.org/cleave"
    git = "https://example.org/cleave.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("python", default=False, description="Build the Python package")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("boost +graph")
    depends_on("yaml-cpp")
    depends_on("nlohmann-json")
    depends_on("cli11@2.1:")
    depends_on("highway")
    depends_on("xbyak", when="target=x86_64:")
    depends_on("graphviz", type="run")
    with when("+python"):
        extends("python@3.10:")
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-numpy@1.26:", type=("build", "run"))

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("CLEAVE_BUILD_TESTS", False),
            self.define("CLEAVE_BUILD_TOOLS", True),
            self.define_from_variant("CLEAVE_BUILD_PYTHON", "python"),
        ]

    @run_after("install")
    def install_python_package(self):
        if self.spec.satisfies("+python"):
            cmake("--install", self.build_directory, "--component", "python", "--prefix", python_platlib)

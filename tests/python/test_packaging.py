"""The recipes in packaging/ and the package's metadata name what the project needs, links reach the outside, and the sdist has no tests."""
import email
import os
import re
import subprocess
import sys
import tarfile

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib

BACK_END = "import scikit_build_core.build as back_end, sys; print(getattr(back_end, sys.argv[1])(sys.argv[2]))"


@pytest.fixture(scope="module")
def settings():
    import conftest

    return tomllib.loads((conftest.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages(root, name):
    """The Debian packages of a set of tools/packages."""
    return re.search(rf"^{name}: (.*)$", (root / "tools/packages").read_text(), re.MULTILINE).group(1).split()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    pytest.importorskip("scikit_build_core")
    pytest.importorskip("hatch_fancy_pypi_readme")
    import conftest

    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-c", BACK_END, "build_sdist", str(folder)]
    made = subprocess.run(command, cwd=conftest.ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return folder / made.stdout.split()[-1]


def test_the_sdist_builds_the_package_and_has_no_tests(sdist, root):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CMakeLists.txt", "pyproject.toml", "VERSION", "README.md", "LICENSE", "tools/python/CMakeLists.txt", "graph/graph.h"} <= names
    unwanted = [name for name in names if name.startswith(("tests/", "build", ".git", ".ci", "packaging/", "tools/bench/", "docs/reference/"))]
    assert unwanted == []
    assert os.path.getsize(sdist) < 5e6
    # Every folder that a build of the package enters is there.
    for name in [each for each in names if each.endswith("CMakeLists.txt")]:
        text = (root / name).read_text()
        for folder in re.findall(r"^add_subdirectory\((\w+)\)", text, re.MULTILINE):
            parent = os.path.dirname(name)
            assert os.path.join(parent, folder, "CMakeLists.txt") in names, name


def test_links_of_the_metadata_are_absolute(sdist, settings):
    with tarfile.open(sdist) as archive:
        name = next(name for name in archive.getnames() if name.endswith("/PKG-INFO"))
        metadata = email.message_from_bytes(archive.extractfile(name).read())
    text = metadata.get_payload()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not re.match(r"https://|#", link)] == []
    assert metadata["Description-Content-Type"] == "text/markdown" and metadata["License-Expression"] == "Apache-2.0"
    assert all(url.partition(", ")[2].startswith("https://") for url in metadata.get_all("Project-URL"))


def test_links_of_the_metadata_lead_to_files(root):
    for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", (root / "README.md").read_text(encoding="utf-8")):
        assert (root / link).exists(), link


def test_the_build_folder_stays_and_is_ignored(settings, root):
    folder = settings["tool"]["scikit-build"]["build-dir"]
    assert re.match(r"build-\w+/\{wheel_tag\}", folder), "inside of the tree, so that ccache sees the same paths"
    assert "/build*/" in (root / ".gitignore").read_text().splitlines()


def test_wheels_are_for_every_supported_version(settings):
    oldest = settings["project"]["requires-python"]
    assert oldest == ">=3.10"
    tags = settings["tool"]["cibuildwheel"]["build"]
    stable = settings["tool"]["scikit-build"]["wheel"]["py-api"]
    assert tags == ["cp310-*", "cp311-*", f"{stable}-*"] and stable == "cp312"
    assert settings["tool"]["cibuildwheel"]["archs"] == ["x86_64", "aarch64"]


def test_cibuildwheel_takes_its_settings(root):
    pytest.importorskip("cibuildwheel")
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux", "--archs", "x86_64,aarch64"]
    told = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == [f"cp3{minor}-manylinux_{arch}" for minor in (10, 11, 12) for arch in ("x86_64", "aarch64")] or \
        sorted(told.stdout.split()) == sorted(f"cp3{minor}-manylinux_{arch}" for minor in (10, 11, 12) for arch in ("x86_64", "aarch64"))


LIBRARIES = {  # a Debian package of tools/packages, and its names elsewhere: in packaging/wheels/prepare, conda-forge, Spack
    "libboost-graph-dev": ("boost", "libboost-headers", "boost"),
    "libyaml-cpp-dev": ("yaml-cpp", "yaml-cpp", "yaml-cpp"),
    "nlohmann-json3-dev": ("json", "nlohmann_json", "nlohmann-json"),
    "libcli11-dev": ("CLI11", "cli11", "cli11"),
    "libhwy-dev": ("highway", "libhwy", "highway"),
    "libxbyak-dev": ("xbyak", "xbyak", "xbyak"),
}


def test_every_recipe_has_every_library(root):
    needed = {name for name in packages(root, "build") if name.startswith("lib") or name.endswith("-dev")}
    assert needed == set(LIBRARIES), "a library came or went: change the recipes"
    prepare = (root / "packaging/wheels/prepare").read_text()
    conda = (root / "packaging/conda/recipe.yaml").read_text()
    spack = (root / "packaging/spack/package.py").read_text()
    for wheels_name, conda_name, spack_name in LIBRARIES.values():
        assert re.search(rf"^{wheels_name}[ =]", prepare, re.MULTILINE), wheels_name
        assert re.search(rf"^    - {conda_name}$", conda, re.MULTILINE), conda_name
        assert re.search(rf'depends_on\("{spack_name}[" @]', spack), spack_name


def test_the_scripts_of_the_recipes_are_sound(root):
    subprocess.run(["bash", "-n", str(root / "packaging/wheels/prepare")], check=True)
    compile((root / "packaging/spack/package.py").read_text(), "package.py", "exec")
    options = set(re.findall(r"^(?:option|set)\((CLEAVE_\w+)", (root / "CMakeLists.txt").read_text(), re.MULTILINE))
    for recipe in ("packaging/spack/package.py", "packaging/Containerfile", "pyproject.toml"):
        used = set(re.findall(r"CLEAVE_(?:BUILD|PORTABLE|INSTALL)\w*", (root / recipe).read_text()))
        assert used and used <= options, recipe


def test_the_image_has_what_the_command_line_needs(root):
    text = (root / "packaging/Containerfile").read_text()
    for source in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE):
        for name in source.split():
            assert (root / name).exists(), name
    installed = set(re.search(r"--no-install-recommends (.*) \\$", text, re.MULTILINE).group(1).split())
    assert "libyaml-cpp0.7" in installed and "graphviz" in installed, "as CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS says"
    assert "--component runtime" in text

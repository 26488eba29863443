"""The wheel: what it needs of a machine, how large it is, and that it runs in a root folder with Python and NumPy only.

CLEAVE_WHEEL names the wheel, as `tools/test python` sets it."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import numpy
import pytest

GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.fixture(scope="module")
def wheel():
    path = os.environ.get("CLEAVE_WHEEL")
    if not path:
        pytest.skip("CLEAVE_WHEEL names no wheel")
    return pathlib.Path(path).resolve()


@pytest.fixture(scope="module")
def module(wheel, tmp_path_factory):
    """The extension module of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return next((folder / "cleave").glob("_cleave*.so"))


def needed(file):
    """The libraries that a program or library names."""
    told = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))


def closure(*files):
    """The libraries that the files need, as files, and the loader."""
    told = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", told, re.MULTILINE))


def test_the_module_needs_glibc_only(module):
    assert needed(module) <= GLIBC


def test_the_module_exports_one_function(module):
    told = subprocess.run(["nm", "-D", "--defined-only", str(module)], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in told.splitlines()] == ["PyInit__cleave"]


def test_the_wheel_is_small_and_complete(wheel):
    assert wheel.stat().st_size < 12e6, "the aim is 10 MB"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"cleave/__init__.py", "cleave/functions.py", "cleave/_cleave.pyi", "cleave/py.typed", "cleave/_html.py"} <= set(names)
    assert [name for name in names if not name.startswith("cleave")] == [], "nothing beside the package and its metadata"
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def bring(file, folder):
    target = folder / os.path.relpath(file, "/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(file, target)


@pytest.fixture
def bare_root(wheel, root, tmp_path):
    """A root folder with Python's interpreter and library, NumPy, what these need, and the wheel."""
    folder = tmp_path / "root"
    for name in ("tmp", "dev", "opt/site"):
        (folder / name).mkdir(parents=True)
    (folder / "dev/null").touch()
    python = os.path.realpath(sys.executable)
    library = sysconfig.get_path("stdlib")
    unneeded = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "site-packages", "dist-packages", "config-*", "*.a", "lib2to3")
    shutil.copytree(library, folder / library[1:], ignore=unneeded)
    site = pathlib.Path(numpy.__file__).parents[1]
    shutil.copytree(site / "numpy", folder / "opt/site/numpy", ignore=shutil.ignore_patterns("tests", "*.a", "include"))
    if (site / "numpy.libs").is_dir():
        shutil.copytree(site / "numpy.libs", folder / "opt/site/numpy.libs")
    modules = glob.glob(os.path.join(library, "lib-dynload", "*.so"))
    numpys = [str(each) for each in (site / "numpy").rglob("*.so")]
    for file in closure(python, *modules, *numpys) | {python}:
        if "/numpy.libs/" not in file:
            bring(file, folder)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "opt/site")
    shutil.copy2(root / "packaging/wheels/check.py", folder / "opt/check.py")
    shutil.copy2(root / "README.md", folder / "opt/README.md")
    return folder, python


def test_the_readme_runs_in_a_bare_root(bare_root):
    folder, python = bare_root
    assert list(folder.rglob("libyaml-cpp*")) == [] and list(folder.rglob("libboost*")) == []
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
    unshare = shutil.which("unshare", path="/usr/bin:/bin")
    enter = [chroot] if os.geteuid() == 0 else [unshare, "--user", "--map-root-user", chroot]
    environment = {"PYTHONPATH": "/opt/site", "PYTHONHOME": sys.base_prefix, "HOME": "/tmp", "PATH": "/usr/bin"}
    run = subprocess.run([*enter, str(folder), python, "/opt/check.py", "/opt/README.md"], env=environment, capture_output=True, text=True)
    if enter[0] == unshare and "unshare failed" in run.stderr:
        pytest.skip("no user namespaces, and not root")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "print what stands below them" in run.stdout


def test_the_audit_of_the_wheel_finds_nothing_to_bundle(wheel):
    pytest.importorskip("auditwheel")
    told = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    text = " ".join(told.stdout.split())
    assert re.search(r'manylinux_2_\d+_\w+', text), text
    assert "external shared libraries" not in text or "requires no external shared libraries" in text, text

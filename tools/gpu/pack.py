"""The programs of a check: built here, or packed into an archive for a machine that has only glibc, Python and the CUDA libraries."""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

PROGRAMS = {"cleave": "tools/cleave", "device_test": "tests/device_test", "device_bench": "tools/gpu/device_bench",
            "gpu_probe": "tools/gpu/gpu_probe"}
LIBRARY = "lib/libcleave_examples.so"
LARGEST = 60_000_000  # bytes of an archive


class Unusable(Exception):
    """The programs cannot be had, for the given reason."""


def build(root):
    """Builds the programs for any processor; returns their folder."""
    folder = os.path.join(root, "build-portable")
    os.makedirs(folder, exist_ok=True)
    configure = ["cmake", "-S", root, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCLEAVE_PORTABLE=ON",
                 "-DCLEAVE_BUILD_BENCHMARKS=ON"]
    make = ["cmake", "--build", folder, "--target", *PROGRAMS, "cleave_examples"]
    log = os.path.join(folder, "build.log")
    with open(log, "wb") as out:
        for command in (configure, make):
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode:
                with open(log, encoding="utf-8", errors="replace") as text:
                    sys.stderr.writelines(text.readlines()[-30:])
                raise Unusable(f"the build failed; all of it is in {log}")
    return folder


def stage(root, built, folder, copy):
    """Lays out the files of a check: bin, lib, models, tools, commit. `copy(from, to)` copies or links a file or folder."""
    for sub in ("bin", "lib", "tools/bench"):
        os.makedirs(os.path.join(folder, sub), exist_ok=True)
    for name, where in PROGRAMS.items():
        copy(os.path.join(built, where), os.path.join(folder, "bin", name))
    copy(os.path.join(built, LIBRARY), os.path.join(folder, LIBRARY))
    for name in ("models", "tools/gpu", "tools/gpu-check", "tools/bench/device_bench_torch.py"):
        copy(os.path.join(root, name), os.path.join(folder, name))
    known = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    with open(os.path.join(root, "VERSION"), encoding="utf-8") as version, open(os.path.join(folder, "commit"), "w", encoding="utf-8") as file:
        file.write(known.stdout if known.returncode == 0 else version.read())


def _copied(source, target):
    if os.path.isdir(source):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def pack(root, archive):
    """Builds and packs; returns the archive's size in bytes."""
    if subprocess.run([os.path.join(root, "tools/install-packages"), "build", "test", "bench"]).returncode:
        raise Unusable("the packages for building could not be installed")
    size = write(root, build(root), archive)
    if size >= LARGEST:
        raise Unusable(f"{archive} has {size} bytes, more than {LARGEST}")
    return size


def write(root, built, archive):
    """Packs the programs; returns the archive's size in bytes. It is compressed if its name says so."""
    with tempfile.TemporaryDirectory() as folder:
        stage(root, built, folder, _copied)
        for sub in ("bin", "lib"):
            for name in os.listdir(os.path.join(folder, sub)):
                subprocess.run(["strip", os.path.join(folder, sub, name)], check=True)
        with tarfile.open(archive, "w:gz" if archive.endswith("gz") else "w") as file:
            file.add(folder, arcname=".")
    return os.path.getsize(archive)


def unpack(binaries, folder):
    """Returns the folder with the programs: an archive of `pack` is unpacked, a folder is taken as it is."""
    if os.path.isfile(binaries):
        try:
            with tarfile.open(binaries) as file:
                file.extractall(folder)
        except (tarfile.TarError, OSError) as error:
            raise Unusable(f"{binaries} is no archive of `pack`: {error}") from error
        binaries = folder
    for name in PROGRAMS:
        if not os.access(os.path.join(binaries, "bin", name), os.X_OK):
            raise Unusable(f"there is no {binaries}/bin/{name}; --binaries takes what `pack` made")
    return os.path.abspath(binaries)


def here(root, folder):
    """Builds in the source tree, and lays out links to it."""
    stage(root, build(root), folder, os.symlink)
    return folder

"""The environment of the measuring scripts: a virtual environment with the peers, and a build of cleave. Each is made if missing."""
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "cleave" / "peers"


def pinned(names):
    lines = [line.split("#")[0].strip() for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and line.split("==")[0] in names]


def enter(cache, names):
    """Continues in an interpreter that has the packages `names`: this one, or that of the environment in `cache`, made or completed now."""
    if all(importlib.util.find_spec(name) for name in names):
        return
    folder = cache / "venv"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        if not python.exists():
            print(f"making an environment in {folder}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    else:
        print(f"installing {', '.join(names)} (once)", file=sys.stderr)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *pinned(names)], check=True)
        importlib.invalidate_caches()
        missing = [name for name in names if not importlib.util.find_spec(name)]
        if missing:
            sys.exit(f"{folder} has no {', '.join(missing)} after the installation")
        return
    os.execv(str(python), [str(python), *sys.argv])


def build(folder):
    """Builds the measured programs in `folder`, optimized, as tools/benchmark does."""
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run([str(ROOT / "tools" / "install-packages"), "build", "bench"], check=True)
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCLEAVE_BUILD_BENCHMARKS=ON"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "--target", "cleave", "host_bench", "cleave_examples", "--", "--quiet"], check=True)


def commit():
    """The commit that is measured, with a + if files differ from it."""
    found = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"

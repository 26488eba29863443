#!/usr/bin/env python3
"""Runs tools/gpu-check from its pack in a root folder with glibc, Python, and CUDA libraries in Python's packages only, as on a rented
machine. The GPU is the fake driver (tests/support/fake_cuda_library.cpp), which computes nothing or hangs; the check has to detect either.

Arguments: the build folder, the fake's library. What the programs of this build need beside glibc is brought along: those of a pack have it
in them. Needs chroot, or user namespaces."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "gpu"))
sys.dont_write_bytecode = True

import pack  # noqa: E402
import parts  # noqa: E402

ENVIRONMENT = "/opt/env"  # the Python environment, as pip fills it
PIP = f"{ENVIRONMENT}/lib/python3.{sys.version_info.minor}/site-packages/nvidia/cu13/lib"
BUILTINS = re.compile(r"libnvrtc-builtins\.so\.\d+\.\d+")

GLIBC = ("libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")  # CUDA's libraries name them, though all is in libc.so.6 today


def needed(*files):
    """Returns the libraries that the files need, and the loader."""
    told = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", told, re.M))


class BareRoot:
    """A folder that becomes the root of programs."""

    def __init__(self, folder, archive, built, fake):
        self.folder = folder
        for name in ("tmp", "dev", "usr/lib", PIP[1:], ENVIRONMENT[1:] + "/bin"):
            os.makedirs(self.path(name), exist_ok=True)
        open(self.path("dev/null"), "wb").close()  # a device would need more rights
        python = os.path.realpath(sys.executable)
        library = sysconfig.get_path("stdlib")
        unneeded = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "site-packages", "dist-packages", "config-*", "*.a")
        shutil.copytree(library, self.path(library), ignore=unneeded, symlinks=True)
        modules = glob.glob(os.path.join(sysconfig.get_path("stdlib"), "lib-dynload", "*.so"))
        programs = [os.path.join(built, where) for where in pack.PROGRAMS.values()]
        files = needed(python, *modules, *programs, os.path.join(built, pack.LIBRARY), fake)
        glibc = os.path.dirname(next(file for file in files if os.path.basename(file) == "libc.so.6"))
        for file in files | {python} | {os.path.join(glibc, name) for name in GLIBC}:
            self.bring(file, file)
        os.symlink(python, self.path(f"{ENVIRONMENT}/bin/python3"))
        self.bring(fake, "/usr/lib/libcuda.so.1")
        self.bring(archive, "/pack.tar")
        for name in ("libnvrtc.so.13", "libcublasLt.so.13"):
            os.symlink("/usr/lib/libcuda.so.1", self.path(f"{PIP}/{name}"))
        # The pack contains the script, too, and its own copy is the first program to run on a machine.
        self.bring(os.path.join(ROOT, "tools/gpu-check"), "/tools/gpu-check")
        shutil.copytree(os.path.join(ROOT, "tools/gpu"), self.path("/tools/gpu"), ignore=shutil.ignore_patterns("__pycache__"))

    def path(self, inside):
        return os.path.join(self.folder, inside.lstrip("/"))

    def bring(self, file, inside):
        os.makedirs(os.path.dirname(self.path(inside)), exist_ok=True)
        if not os.path.exists(self.path(inside)):
            shutil.copy2(os.path.realpath(file), self.path(inside))

    @staticmethod
    def way_in():
        """Returns the command that makes a folder the root, or None."""
        places = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
        chroot, unshare = shutil.which("chroot", path=places), shutil.which("unshare", path=places)
        ways = [[chroot]] if chroot else []
        if chroot and unshare:
            ways.append([unshare, "--user", "--map-root-user", chroot])
        return next((way for way in ways if subprocess.run([*way, "/", "true"], capture_output=True, timeout=20).returncode == 0), None)

    def start(self, *command, **environment):
        known = {"PATH": f"{ENVIRONMENT}/bin:/usr/bin", "HOME": "/tmp", "CLEAVE_TEST_SEEDS": "10", "CLEAVE_GPU_CHECK_SILENCE": "2",
                 "CLEAVE_FAKE_REPORT": "/tmp/report"}
        return subprocess.Popen([*self.way_in(), self.folder, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env={**known, **environment})

    def check(self, *words, **environment):
        """Runs the check; returns its document, its exit code and its output."""
        for left in ("result.json", "tmp/report"):
            if os.path.exists(self.path(left)):
                os.remove(self.path(left))
        running = self.start("/opt/env/bin/python3", "/tools/gpu-check", "--binaries", "/pack.tar", "--out", "/result.json", "--small",
                             "--repeat", "0.01", *words, **environment)
        said = running.communicate(timeout=200)[0]
        try:
            with open(self.path("/result.json"), encoding="utf-8") as file:
                return json.load(file), running.returncode, said
        except OSError:
            raise AssertionError(f"no document:\n{said}") from None


@unittest.skipUnless(BareRoot.way_in(), "neither chroot nor user namespaces are allowed here")
class BareRootTest(unittest.TestCase):
    built, fake = "", ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        archive = os.path.join(folder.name, "pack.tar")
        pack.write(ROOT, cls.built, archive)
        cls.root = BareRoot(os.path.join(folder.name, "root"), archive, cls.built, cls.fake)

    def test_a_gpu_that_computes_nothing_is_measured_and_found_out(self):
        result, code, said = self.root.check("--seconds", "60")
        self.assertEqual(list(parts.PARTS), [name for name in result if name in parts.PARTS], said)
        self.assertTrue(result["complete"])
        self.assertFalse(result["passed"])
        self.assertEqual(code, 1)
        states = {name: result[name]["state"] for name in parts.PARTS}
        whys = {name: result[name].get("why") for name in parts.PARTS}
        for name in ("devices", "probe", "calibrate", "bench"):
            self.assertEqual(states[name], "passed", f"{name}: {json.dumps(result[name], indent=1)[-3000:]}\n{said}")
        self.assertEqual(states["peers"], "skipped", whys)
        self.assertIn(states["sanitizer"], ("skipped", "not run"), whys)
        gpu = [each for each in result["devices"]["result"]["devices"] if each["name"] == "cuda:0"][0]
        self.assertIn("Fake GPU", gpu["description"])
        self.assertEqual((states["smoke"], states["tests"]), ("failed", "failed"))
        self.assertIn(states["random"], ("failed", "not run"), whys)
        failed = {each["test"]: each["message"] for each in result["smoke"]["result"]["failed"]}
        self.assertIn("Each/DeviceOp.EqualsTheReference/add", failed)
        self.assertNotIn("DeviceErrors.WhatCannotFitIsRefusedBeforeAnythingRuns", failed)
        self.assertEqual(result["smoke"]["result"]["not_run"], [])
        self.assertEqual(len(result["probe"]["result"]["graph"]), 3)
        self.assertTrue(all("error" not in row and row["seconds"] > 0 for row in result["bench"]["result"]["programs"]))
        self.assertTrue(any(row.get("share_of_link") for row in result["bench"]["result"]["programs"]))
        of = {row["name"]: row for row in result["bench"]["result"]["programs"]}
        self.assertIn("product", [each["family"] for each in of["mlp_inference"]["bound"]["families"]])
        self.assertGreater(of["mlp_inference"]["reached"]["flops_per_second"], 0)
        measured = result["calibrate"]["result"]
        self.assertTrue(measured["copies"] and measured["kernels"])
        if "left_out" not in result["probe"]["result"]:  # unless the machine was too busy
            for row in measured["copies"] + measured["kernels"]:
                self.assertGreater(row.get("share_of_limit", 0), 0, row)
        with open(self.root.path("machine.yaml"), encoding="utf-8") as file:
            self.assertIn("provenance: measured", file.read())
        with open(self.root.path("tmp/report"), encoding="utf-8") as file:
            report = file.read()
        self.assertIn("device_bench: ", report)
        self.assertEqual([line for line in report.splitlines() if line.startswith("  ")], [], "misuses of the driver")

    def test_a_gpu_that_hangs_loses_nothing_and_ends_in_time(self):
        start, hung = time.monotonic(), ("smoke", "probe", "calibrate", "bench")
        result, code, said = self.root.check("--seconds", "13", *hung, CLEAVE_FAKE_STALL="20", CLEAVE_GPU_CHECK_SILENCE="0.5")
        self.assertLess(time.monotonic() - start, 30, said)
        self.assertEqual((code, result["complete"], result["passed"]), (1, True, False))
        self.assertEqual(result["devices"]["state"], "passed")
        self.assertTrue(any("hangs: ended" in each["message"] for each in result["smoke"]["result"]["failed"]), said)
        for part in hung:
            self.assertEqual(result[part]["state"], "failed", part)
            self.assertGreater(result[part]["seconds"], 0)
        self.assertIn("did not end within", result["calibrate"]["why"])

    def test_the_real_nvrtc_compiles_from_where_pip_puts_it(self):
        real = next((place for place in ("/usr/local/cuda/lib64", os.environ.get("CUDA_HOME", "") + "/lib64")
                     if os.path.exists(f"{place}/libnvrtc.so.13")), None)
        if not real:
            self.skipTest("no libnvrtc.so.13 on this machine")
        fake = self.root.path(f"{PIP}/libnvrtc.so.13")
        os.remove(fake)
        for file in os.listdir(real):
            if file == "libnvrtc.so.13" or BUILTINS.fullmatch(file):
                self.root.bring(os.path.join(real, file), f"{PIP}/{file}")
        try:
            result, _, said = self.root.check("--seconds", "110", "smoke", HOME="/tmp/real")  # no cached kernels that the fake compiled
        finally:
            os.remove(fake)
            os.symlink("/usr/lib/libcuda.so.1", fake)
        messages = "\n".join(each["message"] for each in result["smoke"]["result"]["failed"])
        self.assertNotIn("nvrtc", messages, said)
        self.assertTrue(any(file.endswith(".kernel") for _, _, files in os.walk(self.root.path("tmp/real")) for file in files), "nothing was compiled")
        # The fake launches but computes nothing: all results are present, and wrong.
        self.assertIn("Each/DeviceOp.EqualsTheReference/add", [each["test"] for each in result["smoke"]["result"]["failed"]])


if __name__ == "__main__":
    BareRootTest.fake = sys.argv.pop()
    BareRootTest.built = sys.argv.pop()
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Runs tools/gpu-check on stand-ins for its programs, which hang, crash, lose the GPU or exceed their time, as on real hardware."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tools", "gpu"), os.path.join(ROOT, "tools", "bench")]

import device_bench_torch  # noqa: E402 - none of the functions called here needs PyTorch
import parts  # noqa: E402

CLEAVE = """
if sys.argv[1] == "devices":
    why = os.environ.get("STAND_IN_WHY")
    print(json.dumps({"devices": [dict(name="cuda:0", usable=not why, **({"why": why} if why else {}))]}))
else:
    open(sys.argv[sys.argv.index("-o") + 1], "w").write("name: measured")
    print(json.dumps({"copies": [dict(direction="to_device", memory="page-locked", bytes=4096, seconds=0.005)],
                      "kernels": [dict(family="arithmetic", bytes_per_second=30.0)]}))
"""

# Each test is named after its outcome.
DEVICE_TEST = """
TESTS = os.environ.get("STAND_IN_TESTS", "good other").split()
pattern = next(word for word in sys.argv if word.startswith("--gtest_filter=")).split("=", 1)[1]
if "--gtest_list_tests" in sys.argv:
    print("DeviceOp.")
    for name in TESTS:
        print("  " + name + "  # GetParam() = x")
    sys.exit()
for name in pattern.split(":"):
    print(f"[ RUN      ] {name}", flush=True)
    kind = name.split(".")[1]
    if kind.startswith("hang"):
        time.sleep(600)
    if kind.startswith("crash"):
        os.abort()
    if kind.startswith("fail"):
        print("Failure: 1 is not 2")
    if kind.startswith("lost"):
        print("Failure: cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS; the GPU is lost, and only a new process can use it again")
    if kind.startswith("skip"):
        print("Skipped" + chr(10) + "no device: the driver is too old")
    word = "  FAILED  " if kind.startswith(("fail", "lost")) else "  SKIPPED " if kind.startswith("skip") else "       OK "
    print(f"[{word}] {name} (1 ms)", flush=True)
    if kind.startswith("lost"):
        time.sleep(600)  # a process that has lost its GPU says nothing of use any more
"""

DEVICE_BENCH = """
out = sys.argv[sys.argv.index("--out") + 1]
names = [sys.argv[sys.argv.index("--only") + 1]] if "--only" in sys.argv else ["ping_pong", "tiny_ops", "branch_on_data"]
rows = [{"name": name, "sizes": {"steps": 2}} for name in names]
if "--list" not in sys.argv:
    for row in rows:
        row["seconds"] = 0.5
    rows[0]["bound"] = {"transfers": [{"direction": way, "bytes": size, "count": 10}
                                      for way, size in (("to_device", 2048), ("to_device", 8192), ("to_host", 64))]}
open(out, "w").write(json.dumps({"programs": rows}))
if os.environ.get("STAND_IN_BENCH") == "hangs" and "--list" not in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
"""

GPU_PROBE = """
rows = [{"memory": "page-locked", "direction": way, "bytes": size, "seconds_in_a_row": seconds}
        for way in ("to_device", "to_host") for size, seconds in ((1024, 0.001), (4096, 0.004))]
memory = [{"access": "read", "bytes_per_second": 20.0}, {"access": "read", "bytes_per_second": 40.0}]
open(sys.argv[sys.argv.index("--out") + 1], "w").write(json.dumps({"link": rows, "memory": memory}))
"""

TORCH = """
known = {"tiny_ops": dict(reduce_overhead=3.0, graph=1.0, jax=0.25),
         "branch_on_data": dict(reduce_overhead=1.5, graph=None, graph_why="the host takes part", jax=None, jax_why="JAX is missing")}
rows = [dict(row, eager=2.0, **known.get(row["name"], {})) for row in json.load(open(sys.argv[1]))["programs"]]
if os.environ.get("STAND_IN_TORCH") == "other sizes":
    rows = [dict(row, sizes={"steps": 3}) for row in rows]
document = {"skipped": "PyTorch is not installed"} if os.environ.get("STAND_IN_TORCH") == "missing" else {"programs": rows}
open(sys.argv[sys.argv.index("--out") + 1], "w").write(json.dumps(document))
"""


def processes_of(folder):
    """Returns the command lines of all processes that name the folder."""
    found = []
    for process in os.listdir("/proc"):
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                line = file.read()
        except (OSError, ValueError):
            continue
        if folder in line:
            found.append(line)
    return found


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        head = f"#!{sys.executable}\nimport json, os, signal, sys, time\n"
        for name, text in {"bin/cleave": CLEAVE, "bin/device_test": DEVICE_TEST, "bin/device_bench": DEVICE_BENCH,
                           "bin/gpu_probe": GPU_PROBE,
                           "tools/bench/device_bench_torch.py": TORCH, "commit": "abc"}.items():
            file = os.path.join(self.folder, "here", name)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(head + text if name != "commit" else text)
            os.chmod(file, 0o755)

    def check(self, *words, code=0, **environment):
        """Runs the check; returns its document."""
        out = os.path.join(self.folder, "result.json")
        command = [sys.executable, os.path.join(ROOT, "tools/gpu-check"), "--binaries", os.path.join(self.folder, "here"), "--out", out]
        ran = subprocess.run([*command, *words], capture_output=True, text=True, timeout=100,
                             env={**os.environ, "CLEAVE_GPU_CHECK_SILENCE": "1", **environment})
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.said = ran.stderr
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def test_everything_passes(self):
        result = self.check()
        self.assertTrue(result["complete"] and result["passed"])
        self.assertEqual(result["commit"], "abc")
        for part in ("devices", "smoke", "probe", "calibrate", "bench", "loops", "peers", "tests", "random"):
            self.assertEqual(result[part]["state"], "passed", part)
        self.assertEqual(result["tests"]["result"]["passed"], 2)
        self.assertEqual(result["peers"]["result"]["programs"][0]["ratio"], {"eager": 4.0})
        with open(os.path.join(self.folder, "machine.yaml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "name: measured")

    def loops(self, **environment):
        """Returns the programs of the part by name."""
        result = self.check("calibrate", "bench", "loops", "peers", **environment)
        return {row["name"]: row for row in result["loops"]["result"]["programs"]}

    def test_loops_stand_beside_jax_and_the_fastest_graph(self):
        rows = self.loops()
        self.assertEqual(sorted(rows), ["branch_on_data", "matmul_chain_bf16", "tiny_ops"])
        self.assertEqual(rows["tiny_ops"]["us_a_trip"], 250000.0)
        self.assertEqual(rows["tiny_ops"]["peers"],
                         {"jax": {"mode": "jax", "seconds": 0.25, "us_a_trip": 125000.0, "ratio": 0.5},
                          "best_graph": {"mode": "graph", "seconds": 1.0, "us_a_trip": 500000.0, "ratio": 2.0}})
        self.assertEqual(rows["branch_on_data"]["peers"]["best_graph"]["mode"], "reduce_overhead")

    def test_loops_without_a_peer_say_why(self):
        rows = self.loops()
        branch = rows["branch_on_data"]["peers"]
        self.assertEqual((branch["jax"], branch["jax_why"]), (None, "jax: JAX is missing"))
        nothing = {"jax": None, "jax_why": "not measured", "best_graph": None, "best_graph_why": "not measured"}
        self.assertEqual(rows["matmul_chain_bf16"]["peers"], nothing, "the stand-in times none of that name")
        self.assertEqual(self.loops(STAND_IN_TORCH="other sizes")["tiny_ops"]["peers"], nothing)
        self.assertEqual(self.loops(STAND_IN_TORCH="missing")["tiny_ops"]["peers"]["jax_why"], "PyTorch is not installed")

    def test_every_loop_is_written_in_jax(self):
        self.assertLessEqual(set(parts.LOOPS), set(device_bench_torch.JAX_PROGRAMS))
        self.assertLessEqual(set(device_bench_torch.JAX_PROGRAMS), set(device_bench_torch.PROGRAMS))

    def test_what_the_host_takes_part_in_is_not_written_in_jax(self):
        for name in ("ping_pong", "kmeans", "embedding"):
            with self.assertRaisesRegex(ValueError, "the host takes part"):
                device_bench_torch.jax_caller(name, {}, [], "cuda")

    def test_transfers_are_held_against_the_link(self):
        row = self.check("bench", "probe")["bench"]["result"]["programs"][0]
        shares = [round(transfer["share_of_run"], 6) for transfer in row["bound"]["transfers"]]
        self.assertEqual(shares, [0.04, 0.16, 0.02])  # between two sizes, above all, below all
        self.assertAlmostEqual(row["share_of_link"], 0.2)
        self.assertNotIn("share_of_link", self.check("bench")["bench"]["result"]["programs"][0])

    def test_what_calibration_measured_is_held_against_the_probe(self):
        measured = self.check("calibrate", "probe")["calibrate"]["result"]
        self.assertAlmostEqual(measured["copies"][0]["share_of_limit"], 0.8)
        self.assertAlmostEqual(measured["kernels"][0]["share_of_limit"], 0.75)
        self.assertNotIn("share_of_limit", self.check("calibrate")["calibrate"]["result"]["kernels"][0])

    def test_without_a_gpu_it_says_what_is_missing_and_stops(self):
        result = self.check(code=1, STAND_IN_WHY="NVRTC cannot be opened")
        self.assertNotIn("smoke", result)
        self.assertIn("no device `cuda`: NVRTC cannot be opened", self.said)
        self.assertIn("NVRTC cannot be opened", result["devices"]["why"])

    def test_skipped_for_want_of_the_device_is_a_failure(self):
        result = self.check("tests", code=1, STAND_IN_TESTS="skip skip2")
        self.assertEqual(result["tests"]["why"], "no test ran")
        self.assertEqual(self.check("tests", code=1, STAND_IN_TESTS="good skip")["tests"]["result"]["passed"], 1)

    def test_whatever_becomes_of_a_test_the_rest_is_run(self):
        names = "fail good1 crash good2 hang good3 lost good4 good5"
        result = self.check("tests", code=1, STAND_IN_TESTS=names)["tests"]["result"]
        self.assertEqual((result["passed"], result["not_run"]), (5, []))
        messages = {each["test"].split(".")[1]: each["message"] for each in result["failed"]}
        self.assertEqual(sorted(messages), ["crash", "fail", "hang", "lost"])
        self.assertIn("1 is not 2", messages["fail"])
        self.assertIn("crashes: exit code -6", messages["crash"])
        self.assertIn("hangs: ended after 1 s", messages["hang"])
        self.assertIn("the GPU is lost", messages["lost"])

    def test_a_program_that_never_ends_loses_nothing(self):
        start = time.monotonic()
        result = self.check("bench", "tests", "--seconds", "12", code=1, STAND_IN_BENCH="hangs")
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(result["bench"]["state"], "failed")
        self.assertIn("did not end within", result["bench"]["why"])
        self.assertEqual(result["bench"]["result"]["programs"][0]["seconds"], 0.5)
        self.assertEqual(result["tests"]["state"], "passed", "each part has its share of the time")

    def test_without_time_nothing_is_run(self):
        result = self.check("bench", "--seconds", "0.5", code=1)
        self.assertEqual((result["bench"]["state"], result["bench"]["why"]), ("not run", "no time was left"))
        self.assertTrue(result["complete"] and not result["passed"])

    def test_peers_alone(self):
        result = self.check("peers")
        self.assertEqual(result["peers"]["result"]["programs"][0]["eager"], 2.0)
        self.assertNotIn("bench", result)

    def test_the_document_is_there_while_it_runs(self):
        out = os.path.join(self.folder, "result.json")
        running = subprocess.Popen([sys.executable, os.path.join(ROOT, "tools/gpu-check"), "--binaries", os.path.join(self.folder, "here"),
                                    "--out", out, "bench"], stderr=subprocess.DEVNULL, env={**os.environ, "STAND_IN_BENCH": "hangs"})
        try:
            for _ in range(100):
                time.sleep(0.1)
                try:
                    with open(out, encoding="utf-8") as file:
                        result = json.load(file)
                except OSError:
                    continue
                if (result.get("bench") or {}).get("result"):
                    break
            self.assertEqual((result["bench"]["state"], result["complete"]), ("running", False))
            self.assertEqual(result["bench"]["result"]["programs"][0]["name"], "ping_pong")
        finally:
            running.terminate()
            self.assertEqual(running.wait(20), 143)
        self.assertEqual(processes_of(os.path.join(self.folder, "here")), [], "what it started is still there")

    def test_mistakes_of_the_user(self):
        for words, said in ((["fancy"], "there is no part `fancy`"), (["--binaries", "/nowhere"], "there is no /nowhere/bin/cleave")):
            ran = subprocess.run([sys.executable, os.path.join(ROOT, "tools/gpu-check"), *words], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(said, ran.stderr)


if __name__ == "__main__":
    unittest.main()

"""The parts of a check, in the order in which they run: quick and telling ones first, long ones last."""
import os
import shutil

import process
import suite
from document import read_json

SMOKE = ":".join(["*DeviceErrors*"] +
                 [f"*DeviceOp.EqualsTheReference/{op}" for op in ("add", "matmul", "sum", "softmax", "take", "transpose", "cumulative_sum")] +
                 ["*DeviceModel*/mlp_inference", "*DeviceModel*/naive_transfer"])
LOOPS = ("tiny_ops", "branch_on_data", "matmul_chain_bf16")  # programs of device_programs.cpp whose loops have no host work inside
USUAL = 540  # s of a whole check; the parts' limits are given for this length and scaled
SANITIZED = "*matmul*:*sum*:*softmax*:*take*:*transpose*:*DeviceRandom*/0:*DeviceErrors*-*DeviceLarge*"


class Check:
    """State that the parts share. `folder` is for their files, `binaries` has the programs, `given` are the user's arguments."""

    def __init__(self, binaries, folder, document, given):
        self.binaries, self.folder, self.document = binaries, folder, document
        self.device, self.repeat = given.device, given.repeat
        self.on_gpu = self.device.startswith("cuda")
        self.small = given.small or not self.on_gpu
        self.deadline = process.Deadline(given.seconds)
        self._scale = given.seconds / USUAL
        self.machine = None  # the machine file, once it is measured
        self.environment = dict(os.environ, CLEAVE_TEST_DEVICE=self.device, CLEAVE_TEST_SOURCE=binaries,
                                CLEAVE_TEST_LIBRARIES=os.path.join(binaries, "lib"))
        paths = [os.path.join(binaries, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)

    def program(self, name):
        return os.path.join(self.binaries, "bin", name)

    def share(self, seconds):
        """Scales `seconds` of a usual check to the time of this one."""
        return seconds * self._scale

    def run(self, part, limit, command, out=None, environment=None):
        """Runs a program for at most `limit` seconds of a usual check; `out`: the file in which the program keeps its result so far."""
        seen = [None]

        def tick():
            stamp = os.stat(out).st_mtime_ns if os.path.exists(out) else None
            if stamp != seen[0]:
                seen[0] = stamp
                self.document.part(part, result=read_json(out))

        limit = min(self.share(limit), self.deadline.left())
        ended = process.run(command, self.folder, part, limit, environment or self.environment, tick if out else None)
        if out:
            self.document.part(part, result=read_json(out))
        return ended

    def size(self):
        """Returns the programs' arguments for their sizes."""
        return ["--small"] if self.small else []

    def verdict(self, ended):
        return {"state": "failed", "why": ended.why, "errors": ended.errors[-4000:]} if ended.why else {"state": "passed"}


def devices(check):
    """Lists the devices. If no GPU can be used, the check ends."""
    file = os.path.join(check.folder, "devices.json")
    ended = check.run("devices", 60, [check.program("cleave"), "devices", "--json"])
    with open(file, "w", encoding="utf-8") as out:
        out.write(ended.out)
    found = read_json(file)
    if ended.why or not found:
        return {**check.verdict(ended), "state": "failed", "stop": f"`cleave devices` failed ({ended.why or 'no JSON'})"}
    same = [each for each in found["devices"] if each["name"].split(":")[0] == check.device.split(":")[0]]
    usable = [each for each in same if each.get("usable")]
    if usable:
        return {"state": "passed", "result": found}
    why = same[0].get("why", "it is not usable") if same else "this build of cleave knows no such device"
    return {"state": "failed", "result": found, "stop": f"no device `{check.device}`: {why}"}


def _suite(check, part, limit, pattern):
    program = check.program("device_test")
    tests = suite.list_tests(program, pattern, check.environment)
    if not tests:
        return {"state": "failed", "why": f"{program} has no tests {pattern}"}
    running = suite.Suite(program, tests, check.deadline, check.share(limit), check.environment)
    known = [None]

    def tick():
        result = running.result
        if result != known[0]:
            known[0] = result
            check.document.part(part, result=result)

    running.run(suite.workers(), tick)
    entry = {"state": "passed" if running.passed else "failed", "result": running.result}
    if not running.result["passed"]:
        entry["why"] = "no test ran"
    elif running.result["not_run"] and not running.result["failed"]:
        entry["why"] = f"{len(running.result['not_run'])} tests had no time left"
    return entry


def smoke(check):
    return _suite(check, "smoke", 60, SMOKE)


def probe(check):
    """Probes the limits of the machine, to which the other parts are compared."""
    if not check.on_gpu:
        return {"state": "skipped", "why": "the device is no GPU"}
    out = os.path.join(check.folder, "probe.json")
    command = [check.program("gpu_probe"), "--device", check.device, "--seconds", str(check.share(40)), "--out", out]
    return check.verdict(check.run("probe", 60, command + check.size(), out))


def calibrate(check):
    file = os.path.join(check.folder, "machine.yaml")
    command = [check.program("cleave"), "calibrate", "--device", check.device, "-o", file, "--json", "--even-if-busy"]
    ended = check.run("calibrate", 150, command + ["--time-limit", str(check.share(100))])
    entry = check.verdict(ended)
    result = os.path.join(check.folder, "calibrate.out")
    entry["result"] = read_json(result)
    if not ended.why:
        check.machine = file
        shutil.copy(file, os.path.join(os.path.dirname(os.path.abspath(check.document.file)), "machine.yaml"))
    return entry


def _programs(check):
    """Returns the command that starts device_bench for this device."""
    return [check.program("device_bench"), "--device", check.device] + check.size()


def bench(check):
    out = os.path.join(check.folder, "bench.json")
    command = _programs(check) + ["--seconds", str(check.repeat), "--out", out]
    if check.machine:
        command += ["--machine", check.machine]
    return check.verdict(check.run("bench", 180, command, out))


def loops(check):
    """Times programs with loops again, with the loops decided by the device; the document puts them beside their peers."""
    if not check.machine:
        return {"state": "skipped", "why": "no machine file was measured"}
    machine = os.path.join(check.folder, "device_loops.yaml")
    with open(check.machine, encoding="utf-8") as file:
        text = file.read()
    with open(machine, "w", encoding="utf-8") as file:
        file.write(text.replace("control_flow: none", "control_flow: device_loops"))
    rows = []
    for name in LOOPS:
        out = os.path.join(check.folder, f"loops_{name}.json")
        command = _programs(check) + ["--machine", machine, "--only", name, "--seconds", str(check.repeat), "--out", out]
        ended = check.run("loops", 20, command)
        rows += (read_json(out) or {}).get("programs", [])
        check.document.part("loops", result={"programs": rows})
        if ended.why:
            return check.verdict(ended)
    return check.verdict(ended)


def peers(check):
    """Times the peers of the programs that the part `bench` times."""
    programs = os.path.join(check.folder, "bench.json")
    if not (read_json(programs) or {}).get("programs"):
        ended = check.run("peers", 60, _programs(check) + ["--list", "--out", programs])
        if ended.why:
            return check.verdict(ended)
    out = os.path.join(check.folder, "peers.json")
    script = os.path.join(check.binaries, "tools/bench/device_bench_torch.py")
    device = "cuda" if check.on_gpu else "cpu"
    command = ["python3", script, programs, "--seconds", str(check.repeat), "--device", device, "--out", out]
    entry = check.verdict(check.run("peers", 150, command, out))
    skipped = (read_json(out) or {}).get("skipped")
    return {"state": "skipped", "why": skipped} if skipped else entry


def tests(check):
    return _suite(check, "tests", 300, "*:-*DeviceRandom*")


def random(check):
    return _suite(check, "random", 200, "*DeviceRandom*")


def sanitizer(check):
    places = [os.path.join(folder, "compute-sanitizer") for folder in ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer")]
    tool = shutil.which("compute-sanitizer") or next((place for place in places if os.path.exists(place)), None)
    if not tool or not check.on_gpu:
        return {"state": "skipped", "why": "no compute-sanitizer" if not tool else "the device is no GPU"}
    environment = dict(check.environment, CLEAVE_TEST_SEEDS="10")
    for kind in ("memcheck", "racecheck"):
        ended = check.run("sanitizer", 120, [tool, "--tool", kind, "--error-exitcode", "9", check.program("device_test"),
                                             f"--gtest_filter={SANITIZED}", "--gtest_brief=1"], environment=environment)
        if ended.why:
            return {**check.verdict(ended), "why": f"{kind}: {ended.why}", "result": ended.out[-4000:]}
    return {"state": "passed"}


PARTS = {part.__name__: part for part in (devices, smoke, probe, calibrate, bench, loops, peers, tests, random, sanitizer)}

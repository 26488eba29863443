"""Runs tests of a GoogleTest program in several processes, each of which may crash, hang or lose the GPU: the test is reported, and a new
process goes on with the remaining ones."""
import os
import queue
import re
import subprocess
import threading
import time

from process import end

SILENCE = float(os.environ.get("CLEAVE_GPU_CHECK_SILENCE", 60))  # s that one test may take
# The device's messages if only a new process can use the GPU again (executor/cuda/context.cpp).
LOST = re.compile(r"the GPU is lost|was lost earlier in this process")
LINE = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] ([^ ,\n]+)")


def list_tests(program, pattern, environment=None):
    """Returns the names of the tests that match the pattern."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"], capture_output=True, text=True, timeout=60,
                            env=environment)
    names, group = [], ""
    for line in listed.stdout.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith(" "):
            names.append(group + word.strip())
        elif word.endswith("."):
            group = word
    return names


class Suite:
    """`result` may be read at any time: passed (a number), failed (test, message), skipped (test, reason), not_run (tests)."""

    def __init__(self, program, tests, deadline, limit, environment=None):
        self.program, self.environment = program, environment
        self._left = queue.Queue()
        self._end = time.monotonic() + min(limit, deadline.left())
        self._lock = threading.Lock()
        self._all = tests
        self._done = {}  # name: (state, message)
        self._processes = 0
        self._running = set()

    @property
    def result(self):
        with self._lock:
            done = dict(self._done)
            processes = self._processes
        def of(state):
            return [{"test": name, "message": message} for name, (kind, message) in done.items() if kind == state]

        return {"passed": len(of("OK")), "failed": of("FAILED"), "skipped": of("SKIPPED"), "processes": processes,
                "not_run": [name for name in self._all if name not in done]}

    @property
    def passed(self):
        """Whether tests ran, none failed, and none was skipped because the device is missing."""
        result = self.result
        no_device = [each for each in result["skipped"] if "no device: " in each["message"]]
        return bool(result["passed"]) and not result["failed"] and not no_device and not result["not_run"]

    def run(self, workers, tick=None):
        """Runs the tests in chunks, so that a few long tests do not hold up the rest; a chunk is worth the start of a process."""
        size = max(1, len(self._all) // (4 * workers))
        for first in range(0, len(self._all), size):
            self._left.put(self._all[first:first + size])
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                if tick:
                    tick()
                time.sleep(0.2)
        finally:
            self._end = 0
            for process in list(self._running):
                end(process)

    def _work(self):
        while time.monotonic() < self._end:
            try:
                tests = self._left.get_nowait()
            except queue.Empty:
                return
            while tests and time.monotonic() < self._end:
                self._one_process(tests)
                before = len(tests)
                tests = [name for name in tests if name not in self._done]
                if len(tests) == before:  # the process ended before its first test
                    self._note(tests[0], "FAILED", "the program ended before its first test")

    def _note(self, name, state, message=""):
        with self._lock:
            self._done.setdefault(name, (state, message))

    def _one_process(self, tests):
        """Runs one process, up to the last test or the first that crashes, hangs or loses the GPU."""
        with self._lock:
            self._processes += 1
        command = [self.program, "--gtest_filter=" + ":".join(tests), "--gtest_brief=0", "--gtest_color=no"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", env=self.environment, start_new_session=True)
        self._running.add(process)
        try:
            self._follow(process)
        finally:
            self._running.discard(process)

    def _follow(self, process):
        heard = queue.Queue()
        threading.Thread(target=_listen, args=(process.stdout, heard), daemon=True).start()
        current, lines, since = None, [], time.monotonic()
        while True:
            try:
                line = heard.get(timeout=0.2)
            except queue.Empty:
                late = time.monotonic() > self._end
                if late or time.monotonic() - since > SILENCE:
                    end(process)
                    if current and not late:
                        self._note(current, "FAILED", f"hangs: ended after {SILENCE:.0f} s\n" + "".join(lines[-20:]))
                    return
                continue
            if line is None:
                break
            told = LINE.match(line)
            if not told:
                lines.append(line)
            elif told[1] == "RUN":
                current, lines, since = told[2], [], time.monotonic()
            elif current == told[2]:
                message = "".join(lines)[-2000:] if told[1] != "OK" else ""
                self._note(current, told[1], message)
                current = None
                if told[1] == "FAILED" and LOST.search(message):
                    end(process)
                    return
        process.wait()
        if current:
            self._note(current, "FAILED", f"crashes: exit code {process.returncode}\n" + "".join(lines[-20:]))


def _listen(stream, heard):
    for line in stream:
        heard.put(line)
    heard.put(None)


def workers():
    """Returns the number of processes: one for each processor, since most of the time is compilation of kernels; at most 12."""
    return min(12, os.cpu_count() or 1)

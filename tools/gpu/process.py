"""Runs programs with a time limit: one that hangs is ended with all processes that it started, and the check goes on."""
import os
import signal
import subprocess
import time

TICK = 0.1  # s between two polls
MERCY = 2   # s from SIGTERM to SIGKILL


class Deadline:
    """The end of the whole check, by the monotonic clock."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        """Returns the seconds that are left, 0 after the end."""
        return max(0.0, self._end - time.monotonic())


class Ended:
    """How a program ended: its exit code (None: it was ended after `seconds`), what it printed."""

    def __init__(self, code, seconds, out, errors):
        self.code, self.seconds, self.out, self.errors = code, seconds, out, errors

    @property
    def why(self):
        """Returns the reason of a failure in words, or None if the program passed."""
        if self.code == 0:
            return None
        if self.code is None:
            return f"did not end within {self.seconds:.0f} s"
        return f"killed by signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


def end(process):
    """Ends a process and all of its session. A process that the kernel holds, as with a hung driver, is left behind."""
    for number, patience in ((signal.SIGTERM, MERCY), (signal.SIGKILL, MERCY)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue


def run(command, folder, name, limit, environment=None, tick=None):
    """Runs a program for at most `limit` seconds; `tick` is called while it runs. Its output is kept in `folder`, as `name`."""
    files = [os.path.join(folder, name + ending) for ending in (".out", ".err")]
    start = time.monotonic()
    with open(files[0], "wb") as out, open(files[1], "wb") as err:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       start_new_session=True)
        except OSError as error:
            return Ended(127, 0, "", str(error))
        code = None
        try:
            while time.monotonic() - start < limit:
                code = process.poll()
                if code is not None:
                    break
                if tick:
                    tick()
                time.sleep(TICK)
        finally:
            if code is None:
                end(process)
    texts = []
    for file in files:
        with open(file, encoding="utf-8", errors="replace") as opened:
            texts.append(opened.read())
    return Ended(code, time.monotonic() - start, *texts)

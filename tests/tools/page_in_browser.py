#!/usr/bin/env python3
"""Opens a page of `cleave explain --html` in headless Chromium and uses it as a reader does: page_in_browser.py CHROMIUM PAGE.

Talks to the browser over its debugging pipe. Prints each fault and exits 1: a request that leaves the file, an error of the script, a link
whose goal is not on screen afterwards, a column that does not sort, text that cannot be told from its ground in light or dark, a page that
is empty without scripts.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

DEADLINE = 240  # seconds for the whole run


class Browser:
    def __init__(self, program, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def wire():  # the browser reads commands from descriptor 3 and answers on 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
                 "--disable-background-networking", "--disable-ipc-flooding-protection", f"--user-data-dir={profile}", "--window-size=1400,900", "about:blank"]
        self.process = subprocess.Popen([program, *flags], preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.events, self.session = b"", 0, [], None
        self.end = time.monotonic() + DEADLINE
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def receive(self):
        os.set_blocking(self.read_end, False)
        while b"\0" not in self.rest:
            if time.monotonic() > self.end:
                raise TimeoutError("the browser does not answer")
            try:
                piece = os.read(self.read_end, 1 << 20)
                if not piece:
                    raise EOFError("the browser ended")
                self.rest += piece
            except BlockingIOError:
                time.sleep(0.005)
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event):
        while not any(seen.get("method") == event for seen in self.events):
            self.events.append(self.receive())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def open(self, url):
        self.events = [event for event in self.events if event.get("method") != "Page.loadEventFired"]
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def close(self):
        self.process.kill()
        self.process.wait()


# Follows each link of the page; the faults, and how many there are of each sort.
FOLLOW_LINKS = """(async () => {
  const faults = [];
  const links = Array.from(document.querySelectorAll('a[href]'));
  const step = Math.ceil(links.length / 400);  // of a long page some
  let followed = 0, roundTrips = 0;
  for (let i = 0; i < links.length; ++i) {
    const goal = links[i].getAttribute('href');
    const roundTrip = goal.startsWith('#round-trip-') || links[i].closest('#round-trips') !== null;
    if (i % step) continue;
    links[i].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
    await new Promise((resolve) => setTimeout(resolve, 0));
    const element = document.getElementById(goal.slice(1));
    const where = element && element.getBoundingClientRect();
    if (location.hash !== goal) faults.push(goal + ' is not where its link leads');
    else if (!where || where.height === 0 || where.bottom < 0 || where.top > innerHeight) faults.push(goal + ' is not on screen');
    else if (element.matches(':target') === false) faults.push(goal + ' is no target');
    ++followed;
    roundTrips += roundTrip ? 1 : 0;
  }
  return {faults, followed, roundTrips};
})()"""

# Clicks each head of each table twice.
SORT_TABLES = """(() => {
  const faults = [];
  let sorted = 0;
  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = Array.from(table.tHead.rows[0].cells), before = table.tBodies[0].rows.length;
    heads.forEach((head, column) => {
      const name = table.closest('section').id + ', ' + head.textContent, orders = [];
      for (let i = 0; i < 2; ++i) {
        const button = head.querySelector('button');
        if (!button) { faults.push(name + ': no button'); return; }
        button.click();
        const order = head.getAttribute('aria-sort'), rows = Array.from(table.tBodies[0].rows);
        orders.push(order);
        const keys = rows.map((row) => row.cells[column]).map((cell) => 'v' in cell.dataset ? Number(cell.dataset.v) : cell.textContent);
        if (rows.length !== before) faults.push(name + ': rows are lost');
        for (let r = 1; r < keys.length; ++r)
          if (order === 'ascending' ? keys[r] < keys[r - 1] : keys[r] > keys[r - 1]) { faults.push(name + ': not ' + order); break; }
      }
      if (new Set(orders).size !== 2 || !orders.includes('ascending') || !orders.includes('descending')) faults.push(name + ': ' + orders);
      if (table.querySelectorAll('[aria-sort]').length !== 1) faults.push(name + ': not the one sorted column');
      ++sorted;
    });
  }
  return {faults, sorted};
})()"""

# Contrast of text to its ground, by WCAG: of a sample of elements with text of their own.
CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const c = parse(getComputedStyle(element).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const faults = new Set();
  for (const element of document.querySelectorAll('h1, h2, h3, p, a, dt, dd, td, th, code, button, footer')) {
    if (!element.textContent.trim() || element.closest('svg')) continue;
    const a = light(parse(getComputedStyle(element).color)), b = light(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 3) faults.add(element.tagName + '.' + element.className + ' has a contrast of ' + ratio.toFixed(1));
  }
  return {faults: Array.from(faults), ground: getComputedStyle(document.body).backgroundColor};
})()"""


def check(browser, url):
    for domain in ["Page", "Runtime", "Network", "Log"]:
        browser.call(domain + ".enable")
    browser.open(url)
    yield from (str(fault) for fault in browser.evaluate(CONTRAST)["faults"])
    light = browser.evaluate(CONTRAST)["ground"]
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = browser.evaluate(CONTRAST)
    yield from ("dark: " + fault for fault in dark["faults"])
    if dark["ground"] == light:
        yield "dark is as light"
    links, tables = browser.evaluate(FOLLOW_LINKS), browser.evaluate(SORT_TABLES)
    yield from links["faults"] + tables["faults"]
    again = browser.evaluate(FOLLOW_LINKS)  # the rows are in another order now
    yield from again["faults"]
    if browser.evaluate("document.documentElement.scrollWidth > innerWidth"):
        yield "wider than the window"
    shown = browser.evaluate("document.body.innerText.length")

    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(url)
    bare = browser.evaluate("document.body.innerText.length")
    if not bare > 0.9 * shown:
        yield f"without scripts {bare} characters, with them {shown}"

    for event in browser.events:
        if event.get("method") == "Network.requestWillBeSent":
            asked = event["params"]["request"]["url"]
            if asked.split("#")[0] != url and not asked.startswith("data:"):
                yield f"asks for {asked}"
        elif event.get("method") == "Runtime.exceptionThrown" or event.get("method") == "Log.entryAdded":
            yield json.dumps(event["params"])
    print(f"{links['followed']} links, {links['roundTrips']} of round trips, {tables['sorted']} columns", file=sys.stderr)


def main():
    program, page = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            faults = list(check(browser, pathlib.Path(page).resolve().as_uri()))
        finally:
            browser.close()
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())

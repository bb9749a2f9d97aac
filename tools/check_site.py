"""Check the built site: links lead somewhere, and pages open in a browser without an error.

Run after ``make docs``::

    python tools/check_site.py

Links and pictures are checked in all pages. Pages that differ in kind are opened in headless
Chromium, if there is one, at desktop and phone width; what it says on its console is an error.
"""

import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

SITE = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
PAGES = ("index", "certificates", "mathematics", "api", "api/resolvent.KernelClassifier",
         "benchmarks/svm", "gallery/index", "changelog")  # fmt: skip
WIDTHS = (1280, 500)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Page(HTMLParser):
    """What a page links to and what can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.update(filter(None, (found.get("id"), found.get("name"))))
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def broken_links(site):
    """Links within the site that lead nowhere."""
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in found}
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if re.match(r"[a-z]+:|//", target):
                continue
            home = site if target.startswith("/") else path.parent
            goal = (home / unquote(target.partition("?")[0]).lstrip("/")) if target else path
            goal = (goal / "index.html" if goal.is_dir() else goal).resolve()
            known = pages[goal].ids if goal in pages else ()
            if not goal.exists() or (anchor and goal in pages and unquote(anchor) not in known):
                yield f"{path.relative_to(site)}: {link}"


def console(browser, address, width):
    """What the browser has to say of a page."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               f"--window-size={width},1200", "--virtual-time-budget=4000", "--dump-dom",
               address]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "</html>" not in done.stdout:
        yield f"{address}: no page at width {width}"
    for line in done.stderr.splitlines():
        if "CONSOLE" in line and "[PST]" not in line:  # the theme tells which colours it takes
            yield f"{address}: {line.partition('CONSOLE')[2][:200]}"


def main():
    """Print what is wrong."""
    wrong = list(broken_links(SITE))
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("No Chromium here: the console was not looked at.")
    else:

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=str(SITE)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page in PAGES:
            address = f"http://localhost:{server.server_port}/{page}.html"
            for width in WIDTHS:
                wrong += console(browser, address, width)
    print("\n".join(wrong) or "Links, pictures and consoles are fine.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

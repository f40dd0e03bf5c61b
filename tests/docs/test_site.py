"""The site in a real browser: nothing is asked of other hosts, code is coloured and fits, search finds, dark mode is dark,
formulas are set, sources open at their line.

    test_site.py SITE [PICTURES]      SITE: what tools/site has made; PICTURES: folder for screenshots

Needs the Python package playwright and Chromium, of the system or playwright's own.
"""
import contextlib
import functools
import http.server
import os
import shutil
import sys
import threading

WIDTH, HEIGHT = 1280, 800


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a server of the files in a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


@contextlib.contextmanager
def browser():
    from playwright.sync_api import sync_playwright
    own = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=own, args=["--no-sandbox"])
        try:
            yield made
        finally:
            made.close()


# lines of code that are cut at the right, over all blocks of a page
CUT = """() => [...document.querySelectorAll('.highlight pre, .highlight code')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map(e => e.textContent.slice(0, 80))"""
COLOURS = """() => new Set([...document.querySelectorAll('.highlight code span')]
    .map(e => getComputedStyle(e).color)).size"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"


def brightness(colour):
    return sum(float(part) for part in colour[colour.index("(") + 1:-1].split(",")[:3]) / 3


class Visit:
    """A page of the browser, what it asks of whom, and what is wrong."""

    def __init__(self, made, address, pictures):
        self.page = made.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        self.address, self.pictures, self.faults = address, pictures, []
        self.page.on("request", self.asked)
        self.page.on("response", lambda r: self.wrong(f"{r.url}: status {r.status}") if r.status >= 400 else None)
        self.page.on("pageerror", lambda error: self.wrong(f"{self.page.url}: {error}"))

    def asked(self, request):
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.wrong(f"{self.page.url}: asks {request.url}")

    def wrong(self, sentence):
        self.faults.append(sentence)

    def check(self, holds, sentence):
        if not holds:
            self.wrong(f"{self.page.url}: {sentence}")

    def open(self, name):
        self.page.goto(self.address + name, wait_until="load")

    def picture(self, name):
        if self.pictures:
            self.page.screenshot(path=os.path.join(self.pictures, f"site-{name}.png"))


def look(visit, site):
    page = visit.page
    visit.open("index.html")
    visit.picture("front")
    visit.check(page.locator("nav.md-tabs a").count() >= 8, "the tabs of the navigation are missing")
    visit.check(page.evaluate(COLOURS) >= 4, "code is not coloured")
    for name in code_pages(site):
        visit.open(name)
        for line in page.evaluate(CUT):
            visit.wrong(f"{name}: code is cut: {line!r}")


def code_pages(site):
    """All pages of text, those of sources left out."""
    for folder, _, names in os.walk(site):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), site)
            if name.endswith(".html") and not path.startswith("sources") and name != "404.html":
                yield path


def search(visit):
    page = visit.page
    visit.open("index.html")
    page.locator("input.md-search__input").click()
    page.keyboard.type("least_squares")
    page.wait_for_selector(".md-search-result__link", timeout=20000)
    visit.picture("search")
    found = page.locator(".md-search-result__link")
    visit.check(found.count() >= 2, "search finds too little")
    found.first.click()
    page.wait_for_load_state("load")
    visit.check("least" in page.content(), "the first page found has not what was asked for")
    visit.open("index.html")
    page.locator("input.md-search__input").click()
    page.keyboard.type("zyzzyvaq")
    page.wait_for_timeout(1500)
    visit.check(page.locator(".md-search-result__link").count() == 0, "search finds what no page has")


def darken(visit):
    page = visit.page
    visit.open("index.html")
    light = brightness(page.evaluate(BACKGROUND))
    page.locator("form[data-md-component=palette] label:visible").first.click()
    page.wait_for_timeout(500)
    dark = brightness(page.evaluate(BACKGROUND))
    visit.check(light > 200 and dark < 80, f"brightness {light:.0f} becomes {dark:.0f} in dark mode")
    visit.picture("dark")
    page.locator("form[data-md-component=palette] label:visible").first.click()


def formulas(visit):
    page = visit.page
    visit.open("smoothers/jacobi.html")
    sizes = page.evaluate("() => [...document.querySelectorAll('math')].map(e => e.getBoundingClientRect().width)")
    visit.check(len(sizes) >= 3 and min(sizes) > 3, f"formulas of widths {sizes}")
    visit.check("\\(" not in page.inner_text("article"), "a formula is not set")
    visit.picture("formulas")


def sources(visit):
    page = visit.page
    for name, expected in (("python/solving.html", "class Solver"), ("api/cmg.html", "cmg_solver")):
        visit.open(name)
        link = page.locator("a.source").first
        anchor = link.get_attribute("href").partition("#")[2]
        link.click()
        page.wait_for_load_state("load")
        line = page.locator(f"[id='{anchor}'], [name='{anchor}']").first
        visit.check(line.count() == 1, f"line {anchor} is missing")
        visit.check(expected in page.inner_text("article"), f"{expected} is not in the source")
        heights = [page.locator(f".highlighttable {part} pre").first.bounding_box()["height"] for part in (".linenos", ".code")]
        visit.check(abs(heights[0] - heights[1]) < 30, f"numbers of lines are {heights[0]} high, lines {heights[1]}")
        visit.picture("source")


def main():
    site, pictures = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    if not os.path.exists(os.path.join(site, "index.html")):
        print("skipped: tools/site has not been run")
        return 77
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with served(site) as address, browser() as made:
        visit = Visit(made, address, pictures)
        look(visit, site)
        search(visit)
        darken(visit)
        formulas(visit)
        sources(visit)
    print("\n".join([*visit.faults, f"{sum(1 for _ in code_pages(site))} pages, {len(visit.faults)} faults"]))
    return 1 if visit.faults else 0


if __name__ == "__main__":
    sys.exit(main())

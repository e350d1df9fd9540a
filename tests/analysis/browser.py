"""A real browser without a window: what a page looks like to it."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NEEDED = "CRUCIBLE_NEEDS_CHROMIUM"
"""Set where a missing browser is a failure and not a reason to skip."""
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--enable-logging=stderr",
]
DARK = "--blink-settings=preferredColorScheme=0"
MEASURE = """
<!doctype html><html><body style="margin:0">
<iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>
<pre id="layout"></pre>
<script>
const frame = document.getElementById('page');
frame.onload = () => {{
  const page = frame.contentDocument, view = frame.contentWindow, root = page.scrollingElement;
  page.querySelectorAll('details').forEach(each => each.open = true);
  const svgs = [...page.querySelectorAll('svg')].map(each => each.getBoundingClientRect());
  const wide = [...page.body.querySelectorAll('*:not(svg *)')].filter(each => {{
    const box = each.getBoundingClientRect();
    return box.width > 0 && (box.right > {width} + 0.5 || box.left < -0.5);
  }});
  const cut = [...page.querySelectorAll('table:not(.scroll table) thead th')].filter(each =>
    each.offsetParent && each.getBoundingClientRect().right >
      each.closest('table').getBoundingClientRect().right + 1);
  const broad = [...page.querySelectorAll('figure:has(figcaption)')].map(each => [
    each.scrollWidth > each.clientWidth + 1,
    view.getComputedStyle(each.querySelector('figcaption'), '::after').content.includes('sideways'),
  ]);
  const words = [...page.querySelectorAll('main p, main td, main li')];
  const small = [...page.querySelectorAll('figure svg text')].filter(each =>
    each.getBoundingClientRect().height < 8);
  document.getElementById('layout').textContent = JSON.stringify({{
    width: root.scrollWidth,
    inner: view.innerWidth,
    drawings: svgs.filter(each => each.width > 10 && each.height > 10).length,
    flat: svgs.filter(each => !(each.width > 10 && each.height > 10)).length,
    wide: wide.slice(0, 5).map(each => each.outerHTML.slice(0, 120)),
    lost: [...page.querySelectorAll('a')].map(each => each.getAttribute('href'))
      .filter(each => !page.querySelector(each)),
    ground: view.getComputedStyle(page.body).backgroundColor,
    ink: view.getComputedStyle(page.body).color,
    smallest: Math.min(...words.map(each => parseFloat(view.getComputedStyle(each).fontSize))),
    cramped: small.length,
    sideways: broad.filter(([scrolls, says]) => scrolls && says).length,
    unsaid: broad.filter(([scrolls, says]) => scrolls !== says).length,
    cut: cut.map(each => each.textContent),
  }});
}};
</script></body></html>
"""


@dataclass(frozen=True)
class Seen:
    """What the browser made of a page."""

    layout: dict[str, Any]
    console: list[str]  # what pages wrote there: errors, refusals


def chromium() -> str:
    """Return the browser, or skip; fail where it is needed."""
    result = shutil.which("chromium") or shutil.which("chromium-browser")
    if result is None:
        if os.environ.get(NEEDED):
            pytest.fail("chromium is missing, and this test must not be skipped here")
        pytest.skip("chromium is not installed: how the report looks is not tested")
    return result


def browse(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [chromium(), *QUIET, f"--user-data-dir={profile}", *flags, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


def look(report: Path, width: int, folder: Path, *flags: str) -> Seen:
    """Measure a report in a window so wide."""
    page = folder / f"look-{width}.html"
    text = html.escape(report.read_text(encoding="utf-8"))
    page.write_text(MEASURE.format(width=width, page=text), encoding="utf-8")
    size = f"--window-size={width + 200},1200"
    done = browse(page, size, "--virtual-time-budget=20000", "--dump-dom", *flags)
    layout = done.stdout.rpartition('<pre id="layout">')[2].partition("</pre>")[0]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(html.unescape(layout)), console)

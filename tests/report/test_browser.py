"""Reports in a browser: narrow and wide, light and dark, and printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import find_browser, require

PAGES = ["two classes", "numbers", "text", "markup"]

#: Images of zero size, or outside of the window or of the scrolling element that contains them.
MISPLACED_IMAGES = """() => [...document.querySelectorAll("svg, img")].filter(each => {
  const box = each.getBoundingClientRect();
  const holder = each.closest(".scroll");
  const left = holder ? holder.getBoundingClientRect().left - holder.scrollLeft : 0;
  const right = holder ? left + holder.scrollWidth : innerWidth;
  return !(box.width > 0 && box.height > 0 && box.left >= left - 1 && box.right <= right + 1);
}).map(each => each.outerHTML.slice(0, 200))"""

#: Texts whose contrast with their background is below 4.5.
LOW_CONTRAST_TEXTS = """() => {
  const numbers = colour => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return found.length > 3 ? found : [...found, 1];
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const pale = [];
  for (const each of document.querySelectorAll("body *")) {
    const own = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || each.closest("title")) continue;
    const style = getComputedStyle(each);
    const ink = light(numbers(each.ownerSVGElement ? style.fill : style.color)), paper = light(behind(each));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) pale.push([contrast, each.textContent.slice(0, 40)]);
  }
  return pale;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a headless browser."""
    require("chromium")
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        yield found
        found.close()


def _open_page(browser: Any, file: Path, width: int, scheme: str) -> tuple[Any, list[str], list[str]]:
    """Return a page, its console messages, and the URLs that it requested."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    return page, messages, requests


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_the_window_and_has_contrast(browser: Any, written: Callable[[str], Path], name: str) -> None:
    file = written(name)
    page, messages, requests = _open_page(browser, file, 390, "light")
    assert page.evaluate("document.querySelectorAll('figure svg').length") > 3
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(MISPLACED_IMAGES) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(LOW_CONTRAST_TEXTS) == []
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 64")
        assert dark == (scheme == "dark")
    assert messages == []
    assert requests == [file.as_uri()]
    page.context.close()


def test_links_lead_to_sections_and_wide_tables_scroll(browser: Any, written: Callable[[str], Path]) -> None:
    page, messages, _ = _open_page(browser, written("two classes"), 390, "light")
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("link", name="Errors").click()
    page.wait_for_function("Math.abs(document.getElementById('errors').getBoundingClientRect().top) < 2")
    assert page.get_by_role("heading", name="Errors", exact=True).is_visible()
    table = page.get_by_role("region", name="Columns that the model reads, and their kinds")
    assert table.evaluate("each => each.scrollWidth > each.clientWidth")
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    assert messages == []
    page.context.close()


@pytest.mark.parametrize("name", ["markup", *(pytest.param(name, marks=pytest.mark.slow) for name in PAGES[:3])])
def test_page_prints_on_a_light_background(
    browser: Any, written: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    page, messages, _ = _open_page(browser, written(name), 1400, "dark")
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    assert len(printed) > 30_000
    page.set_viewport_size({"width": 698, "height": 1000})  # A4 without margins
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert not page.locator("nav").is_visible()
    assert page.evaluate(LOW_CONTRAST_TEXTS) == []
    assert messages == []
    page.context.close()

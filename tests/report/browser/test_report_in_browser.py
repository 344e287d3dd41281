"""The report in a real browser: Debian's Chromium, driven by selenium. Collected where both are there."""

import base64
import json
import re
import zlib

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from unperplexed import assess, assess_by, compare

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</script><script>window.hacked = 1</script>",
    "<a href='javascript:window.hacked = 1'>click</a>",
    "<b>bold</b> & <i>%{x}</i> {{ 7 * 7 }}",
    "\u202egnp.exe\u202c \u200f",
    "🦊" * 50,
    "x" * 10_000,
    "' onmouseover='window.hacked = 1",
    "$\\frac{1}{2}$\x1b[31m\n\t",
)


HOVER = ".hoverlayer text"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage",
        f"user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.get("about:blank")  # its own first page asks for a good deal
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report; what the console said and what was asked of the network must be nothing in the end."""

    def open_it(found, width=1280, height=1600):
        path = tmp_path / "report.html"
        found.report(path)
        browser.set_window_size(width, height)
        browser.get_log("performance")
        browser.get(path.as_uri())  # which may come back before the page has run its scripts
        done = "return location.href === arguments[0] && document.readyState === 'complete'"
        WebDriverWait(browser, 60).until(lambda _: browser.execute_script(done, path.as_uri()))
        WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "thead button"))
        return browser

    yield open_it
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(wide) <= 0)  # charts follow the window in a while
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert all(url.startswith(("file:", "data:")) for url in asked), asked


def binary(n=600, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-1.5 * odds))


def many(classes, n, labels=None):
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1, (n, classes))
    code = rng.integers(0, classes, n)
    logits[np.arange(n), code] += 3
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = list(range(classes)) if labels is None else list(labels)
    return [labels[at] for at in code], p, labels


def charts(driver):
    return driver.find_elements(By.CSS_SELECTOR, "[data-chart]")


def table_of(driver, caption):
    """Id of the table whose caption begins so."""
    found = (
        "return [...document.querySelectorAll('table')].find((t) => t.caption.textContent.startsWith(arguments[0])).id"
    )
    return driver.execute_script(found, caption)


@pytest.mark.parametrize("width", [360, 900, 1920])
def test_charts_draw_within_the_page(opened, width):
    driver = opened(assess(*binary(), resamples=80), width)
    assert len(charts(driver)) == 2
    for chart in charts(driver):
        assert len(chart.find_elements(By.CSS_SELECTOR, ".trace, .bars")) > 1
        assert "ometric accuracy" in chart.get_attribute("aria-label") or "profile" in chart.get_attribute("aria-label")


def test_bubbles_say_their_bin(opened):
    driver = opened(assess(*binary(), resamples=80))
    points = WebDriverWait(driver, 60).until(
        lambda _: driver.find_elements(By.CSS_SELECTOR, "[data-chart='0'] .scatterlayer .point")
    )
    webdriver.ActionChains(driver).move_to_element(points[len(points) // 2]).perform()

    def said(_):
        return " ".join(text.get_attribute("textContent") for text in driver.find_elements(By.CSS_SELECTOR, HOVER))

    assert "measured" in WebDriverWait(driver, 60).until(said)


def test_names_are_shown_as_text_and_run_nothing(opened):
    y, p, labels = many(len(HOSTILE), 400, HOSTILE)
    driver = opened(assess(y, p, labels=labels, view="each-class", resamples=0))
    table = f"#{table_of(driver, 'Each class')}"
    shown = [row.get_attribute("textContent") for row in driver.find_elements(By.CSS_SELECTOR, f"{table} tbody th")]
    assert any(text.strip().startswith("<script>window.hacked") for text in shown)
    assert any("{{ 7 * 7 }}" in text for text in shown)
    assert not driver.find_elements(By.CSS_SELECTOR, "main img, main a, main b, main script")
    for element in driver.find_elements(By.CSS_SELECTOR, f"{table} tbody th"):
        webdriver.ActionChains(driver).move_to_element(element).perform()


def test_names_of_forecasters_and_groups(opened):
    y, p = binary()
    driver = opened(compare({name: np.clip(p + at / 50, 0, 1) for at, name in enumerate(HOSTILE)}, y))
    texts = [text.get_attribute("textContent") for text in driver.find_elements(By.CSS_SELECTOR, "svg text")]
    assert any("<script>" in text for text in texts)
    assert not driver.find_elements(By.CSS_SELECTOR, "svg a, main img")


def test_groups_are_a_table(opened):
    y, p = binary()
    driver = opened(assess_by(y, p, by={HOSTILE[0]: [HOSTILE[at % 3] for at in range(len(y))]}, resamples=0))
    heading = driver.find_elements(By.TAG_NAME, "h2")[1].get_attribute("textContent")
    assert heading == f"Groups by {HOSTILE[0]}"
    assert len(driver.find_elements(By.CSS_SELECTOR, "#t2 tbody tr")) == 3


def test_a_thousand_classes_sort_and_search(opened):
    y, p, labels = many(1000, 3000, [f"class {k}" for k in range(1000)])
    driver = opened(assess(y, p, labels=labels, view="each-class", resamples=0))
    name = table_of(driver, "Each class")

    def column(at):
        rows = f"[...document.querySelectorAll('#{name} tbody tr')]"
        return driver.execute_script(f"return {rows}.map((row) => row.cells[{at}].textContent.trim())")

    def head(at):
        return driver.find_elements(By.CSS_SELECTOR, f"#{name} thead button")[at]

    head(1).click()
    rows = [float(text.replace(",", "")) for text in column(1)]
    assert rows == sorted(rows)
    head(1).send_keys(Keys.ENTER)
    assert [float(text.replace(",", "")) for text in column(1)] == sorted(rows, reverse=True)
    head(0).click()
    assert column(0)[:3] == ["class 0", "class 1", "class 2"]
    field = driver.find_element(By.CSS_SELECTOR, f"input[data-searches='{name}']")
    field.send_keys("class 99")
    seen = driver.execute_script(
        f"return [...document.querySelectorAll('#{name} tbody tr')].filter((row) => !row.hidden).length"
    )
    assert seen == 11  # 99 and 990 to 999
    assert driver.find_element(By.CSS_SELECTOR, f"[data-found='{name}']").get_attribute("textContent") == "11 of 1000"


def test_meanings_open_by_keyboard(opened):
    driver = opened(assess(*binary(), resamples=80))
    button = driver.find_element(By.CSS_SELECTOR, "button.meaning")
    button.send_keys(Keys.ENTER)
    shown = driver.find_element(By.CSS_SELECTOR, "[popover]:popover-open")
    assert "Arithmetic mean" in shown.get_attribute("textContent")


@pytest.fixture
def screen(browser):
    """A screen of any width: windows are never as narrow as a phone."""

    def of(width, height=900):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    yield of
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_shows_tables_whole(opened, screen):
    """But for the bins, which are folded away and have seven columns of figures."""
    screen(390)
    driver = opened(assess(*binary(2000), resamples=80))
    clipped = driver.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)"
        ".map((each) => each.ariaLabel)"
    )
    assert len(driver.find_elements(By.CSS_SELECTOR, ".scroll")) == 7
    assert not [caption for caption in clipped if not caption.startswith("The bins")]


@pytest.mark.parametrize("width", [390, 1366, 2560])
def test_the_plotting_area_is_square(opened, screen, width):
    screen(width)
    driver = opened(assess(*binary(), resamples=80))
    area = "const { width, height } = document.querySelector('.square .nsewdrag').getBoundingClientRect();"
    across, high = driver.execute_script(f"{area} return [width, height]")
    assert abs(across - high) < 2
    assert across > 0.75 * min(width, 600)
    screen(700)  # and when the window is made narrower or wider
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script(f"{area} return Math.abs(width - {across}) > 2"))
    across, high = driver.execute_script(f"{area} return [width, height]")
    assert abs(across - high) < 2


def test_a_meaning_opens_below_its_name(opened, screen):
    screen(1280)
    driver = opened(assess(*binary(), resamples=80))
    for button in driver.find_elements(By.CSS_SELECTOR, "button.meaning")[2:4]:
        webdriver.ActionChains(driver).move_to_element(button).perform()
        shown = WebDriverWait(driver, 60).until(
            lambda _: driver.find_elements(By.CSS_SELECTOR, "[popover]:popover-open")
        )
        assert [each.get_attribute("id") for each in shown] == [button.get_attribute("popovertarget")]
        assert abs(shown[0].rect["x"] - button.rect["x"]) < 2
        assert 0 <= shown[0].rect["y"] - button.rect["y"] - button.rect["height"] < 10
    webdriver.ActionChains(driver).move_to_element(driver.find_element(By.TAG_NAME, "h1")).perform()
    WebDriverWait(driver, 60).until(lambda _: not driver.find_elements(By.CSS_SELECTOR, "[popover]:popover-open"))


def test_short_tables_are_opened_for_printing_and_closed_again(opened):
    driver = opened(assess(*binary(), resamples=80))
    is_open = "return [...document.querySelectorAll('details')].map((each) => each.open)"
    assert driver.execute_script(f"dispatchEvent(new Event('beforeprint')); {is_open}") == [True, False]
    assert driver.execute_script(f"dispatchEvent(new Event('afterprint')); {is_open}") == [False, False]


def test_heads_are_on_every_printed_page(opened):
    """Told by their colour in what each page draws."""
    y, p, labels = many(150, 600)
    driver = opened(assess(y, p, labels=labels, view="each-class", resamples=0))
    table = table_of(driver, "Each class")
    driver.execute_script(
        "const style = document.createElement('style');"
        f"style.textContent = '#{table} thead th {{ color: #123456 }} #{table} tbody th {{ color: #654321 }}';"
        "document.head.append(style);"
    )
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    pages = [zlib.decompress(each) for each in re.findall(rb"FlateDecode.*?stream\n(.*?)\nendstream", pdf, re.DOTALL)]
    with_rows = [page for page in pages if b".3961 .2627 .1294 rg" in page]
    assert len(with_rows) > 2
    assert all(b".0706 .2039 .3373 rg" in page for page in with_rows)


def test_dark_and_print(opened):
    driver = opened(assess(*binary(), resamples=80))

    def colours():
        ink = "getComputedStyle(document.querySelector('.xtitle') ?? document.body).fill"
        return driver.execute_script(f"return [{ink}, getComputedStyle(document.body).backgroundColor]")

    def shown_as(scheme):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    shown_as("light")
    driver.refresh()
    light = colours()
    shown_as("dark")  # and is drawn anew
    WebDriverWait(driver, 60).until(lambda _: all(a != b for a, b in zip(colours(), light, strict=True)))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(driver.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000

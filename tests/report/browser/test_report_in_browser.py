"""The report in a real browser: Debian's Chromium, driven by selenium. Collected where both are there."""

import itertools
import json

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from unperplexed import assess, assess_by, compare, skill

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
    "</style><style>body { display: none }",
)

WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report; what the console said and what was asked of the network must be nothing in the end."""

    def open_it(found, width=1366, height=768):
        path = tmp_path / "report.html"
        path.write_text(found if isinstance(found, str) else found.to_html(), "utf-8")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get_log("performance")
        browser.get(path.as_uri())
        done = "return location.href === arguments[0] && document.readyState === 'complete'"
        WebDriverWait(browser, 60).until(lambda _: browser.execute_script(done, path.as_uri()))
        return browser

    yield open_it
    assert browser.execute_script(WIDER) <= 0
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def binary(n=600, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-1.5 * odds))


def many(classes, n, labels):
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1, (n, classes))
    code = rng.integers(0, classes, n)
    logits[np.arange(n), code] += 3
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return [labels[at] for at in code], p


@pytest.fixture(scope="module")
def page():
    return assess(*binary(), resamples=40).to_html(command="unperplexed assess f.csv --report r.html")


@pytest.fixture(scope="module")
def hostile():
    y, p = many(len(HOSTILE), 400, HOSTILE)
    found = assess(y, p, labels=list(HOSTILE), view="each-class", resamples=0)
    return found.to_html(name=HOSTILE[1], command=HOSTILE[2])


def box(driver, selector):
    return driver.execute_script(f"return document.querySelector('{selector}').getBoundingClientRect().toJSON()")


@pytest.mark.parametrize("width", [390, 800, 1366, 2560])
def test_nothing_is_wider_than_the_window(opened, page, width):
    driver = opened(page, width)
    assert driver.execute_script(WIDER) <= 0
    diagram = box(driver, ".plot.sq")
    assert diagram["width"] > 0.7 * min(width, 500)
    assert 0.9 < diagram["width"] / diagram["height"] < 1.15
    clipped = (
        "return [...document.querySelectorAll('td, tbody th')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert driver.execute_script(clipped) == 0


def test_the_conclusion_is_above_the_fold(opened, page):
    driver = opened(page, 1366, 768)
    for selector in ("h1", ".lead", ".act dd:last-of-type", ".plot.sq", ".plot.hist", ".kf:last-of-type"):
        assert box(driver, selector)["bottom"] <= 768, selector


def test_labels_lie_apart(opened, page):
    driver = opened(page)
    labels = "[...document.querySelectorAll('figure.main .lb:not(.aft)')]"
    boxes = driver.execute_script(f"return {labels}.map((e) => e.getBoundingClientRect().toJSON())")
    assert len(boxes) == 4
    for at, a in enumerate(boxes):
        for b in boxes[at + 1 :]:
            apart = a["right"] <= b["left"] or b["right"] <= a["left"] or a["bottom"] <= b["top"]
            assert apart or b["bottom"] <= a["top"]


def test_the_curve_after_the_remedy_is_shown_on_demand(opened, page):
    driver = opened(page)
    curve, label = (driver.find_element(By.CSS_SELECTOR, selector) for selector in ("path.aft", "span.aft"))
    assert not label.is_displayed()
    driver.find_element(By.CSS_SELECTOR, ".showaft").send_keys(Keys.SPACE)
    assert label.is_displayed()
    assert curve.value_of_css_property("display") != "none"


def test_values_are_read_off_by_keyboard(opened, page):
    driver = opened(page)
    chart, tip = (driver.find_element(By.CSS_SELECTOR, selector) for selector in ("[data-chart]", "#tip"))
    assert not tip.is_displayed()
    seen = []
    for key in (Keys.ARROW_RIGHT, Keys.PAGE_DOWN, Keys.HOME, Keys.END):
        chart.send_keys(key)
        assert tip.is_displayed()
        seen.append(tip.text)
    assert len(set(seen)) == 4
    assert all("Predicted probability of '1'" in text and "Observed" in text for text in seen)
    assert " to " in seen[0]
    data = json.loads(chart.get_attribute("data-chart"))
    assert f"Predicted probability of '1' {100 * data['x'][-1]:.1f}%" in seen[-1]
    assert tip.get_attribute("aria-live") == "polite"
    chart.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()


def test_values_are_read_off_by_pointer(opened, page):
    driver = opened(page)
    chart, tip = (driver.find_element(By.CSS_SELECTOR, selector) for selector in ("[data-chart]", "#tip"))
    webdriver.ActionChains(driver).move_to_element(chart).perform()
    assert 45 < float(tip.text.split("'1' ")[1].split("%")[0]) < 55
    webdriver.ActionChains(driver).move_to_element(driver.find_element(By.TAG_NAME, "h1")).perform()
    assert not tip.is_displayed()


def test_definitions_open_by_keyboard_and_close(opened, page):
    driver = opened(page)
    button, tip = (driver.find_element(By.CSS_SELECTOR, selector) for selector in (".kf .tip", "#tip"))
    button.send_keys(Keys.ENTER)
    assert "Smaller is better" in tip.text
    assert button.get_attribute("aria-expanded") == "true"
    button.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()
    assert button.get_attribute("aria-expanded") == "false"


def test_charts_have_labels_and_headings_are_in_order(opened, page):
    driver = opened(page)
    for chart in driver.find_elements(By.CSS_SELECTOR, "[role=img]"):
        assert len(chart.get_attribute("aria-label")) > 20
    levels = driver.execute_script("return [...document.querySelectorAll('h1,h2,h3')].map((e) => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    targets = driver.execute_script(
        "return [...document.querySelectorAll('nav a')].map((a) => document.querySelector(a.hash) !== null)"
    )
    assert len(targets) > 4
    assert all(targets)


def test_a_table_of_classes_is_sorted_and_scrolled_on_a_phone(opened):
    found = assess(*many(10, 500, [*"abcdefghij"]), view="each-class", resamples=0)
    driver = opened(found, 390)
    table = "#classes > .scroll table"
    box_of = driver.find_element(By.CSS_SELECTOR, "#classes > .scroll")
    assert box_of.size["height"] < 700
    driver.find_elements(By.CSS_SELECTOR, f"{table} thead button")[0].click()
    names = [th.text for th in driver.find_elements(By.CSS_SELECTOR, f"{table} tbody th")]
    assert names == sorted(names)
    driver.execute_script("arguments[0].scrollLeft = 200", box_of)
    assert abs(box(driver, f"{table} tbody th")["left"] - box(driver, "#classes > .scroll")["left"]) < 1


@pytest.mark.parametrize("width", [390, 1366])
def test_names_are_shown_as_text_and_run_nothing(opened, hostile, width):
    driver = opened(hostile, width)
    shown = [th.get_attribute("textContent") for th in driver.find_elements(By.CSS_SELECTOR, "#classes tbody th")]
    assert any(text.startswith("<script>window.hacked") for text in shown)
    assert any("{{ 7 * 7 }}" in text for text in shown)
    assert not driver.find_elements(By.CSS_SELECTOR, "main img, main a, main script, th b")
    for element in driver.find_elements(By.CSS_SELECTOR, "#classes table:first-of-type tbody th")[:10]:
        webdriver.ActionChains(driver).move_to_element(element).perform()
    driver.find_element(By.CSS_SELECTOR, "[data-chart]").send_keys(Keys.ARROW_RIGHT)


def test_names_of_forecasters_and_groups(opened):
    y, p = binary(300)
    driver = opened(compare(y, {name: np.clip(p + at / 50, 0, 1) for at, name in enumerate(HOSTILE[:4])}))
    assert driver.find_elements(By.CSS_SELECTOR, "#forecasters tbody th")[0].text.startswith(("<", '"'))
    driver = opened(assess_by(y, p, by={HOSTILE[0]: [HOSTILE[at % 3] for at in range(len(y))]}, resamples=0))
    heading = driver.find_element(By.CSS_SELECTOR, "#by h2").get_attribute("textContent")
    assert heading == f"Groups by {HOSTILE[0]}"
    assert len(driver.find_elements(By.CSS_SELECTOR, "#by tbody tr")) == 1 + 3  # all rows, and the groups


@pytest.fixture(scope="module")
def pages():
    """A page of each kind, made when asked for, with names from outside that try to run."""
    y, p = binary(2000)
    site = {HOSTILE[1]: [HOSTILE[at % 4] for at in range(2000)]}
    return {
        "ten classes": lambda: assess(*many(10, 500, [*"abcdefghij"]), view="each-class", resamples=0),
        "groups": lambda: assess_by(y, p, by=site, resamples=0),
        "comparison": lambda: compare(y, {name: p ** (1 + at / 4) for at, name in enumerate(HOSTILE[:5])}),
        "skill": lambda: skill(y, {HOSTILE[0]: p}, by=site),
    }


@pytest.mark.parametrize("width", [390, 2560])
@pytest.mark.parametrize("kind", ["ten classes", "groups", "comparison", "skill"])
def test_every_kind_of_page_fits_and_is_quiet(opened, pages, kind, width):
    """What `opened` checks in the end: no request, no message on the console, nothing run, nothing too wide."""
    driver = opened(pages[kind](), width)
    charts = driver.find_elements(By.CSS_SELECTOR, "[data-chart]")
    assert charts
    for chart in charts:
        chart.send_keys(Keys.END)
        assert driver.find_element(By.ID, "tip").is_displayed()
        chart.send_keys(Keys.ESCAPE)
    outside = """return [...document.querySelectorAll('.plot .ty, .plot .tc')].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.left < 0 || box.right > document.documentElement.clientWidth;
    }).length"""
    assert driver.execute_script(outside) == 0
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize(("kind", "selector"), [("groups", ".plot.heat"), ("skill", ".plot.forest")])
def test_rows_of_a_chart_are_read_off_by_keyboard_and_pointer(opened, pages, kind, selector):
    driver = opened(pages[kind]())
    chart, tip = driver.find_element(By.CSS_SELECTOR, selector), driver.find_element(By.ID, "tip")
    texts = [text for *_, text in json.loads(chart.get_attribute("data-chart"))["marks"]]
    assert len(texts) > 1
    chart.send_keys(Keys.HOME)
    seen = [tip.text]
    for _ in texts[1:]:
        chart.send_keys(Keys.ARROW_DOWN)
        seen.append(tip.text)
    assert [" ".join(text.split()) for text in seen] == [" ".join(text.split()) for text in texts]
    for text in texts:
        assert text in chart.get_attribute("aria-label")
    chart.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()
    webdriver.ActionChains(driver).move_to_element(chart).perform()
    assert " ".join(tip.text.split()) in [" ".join(text.split()) for text in texts]


def test_a_thousand_classes_sort(opened):
    names = [f"class {k}" for k in range(1000)]
    y, p = many(1000, 2000, names)
    driver = opened(assess(y, p, labels=names, view="each-class", resamples=0))

    def column(at):
        rows = "[...document.querySelector('#classes table').tBodies[0].rows]"
        return driver.execute_script(f"return {rows}.map((row) => row.cells[{at}].firstChild.textContent.trim())")

    def head(at):
        return driver.find_elements(By.CSS_SELECTOR, "#classes table:first-of-type thead button")[at]

    head(1).click()
    rows = [float(text.replace(",", "")) for text in column(1)]
    assert len(rows) == 1000
    assert rows == sorted(rows, reverse=True)
    head(1).send_keys(Keys.ENTER)
    assert [float(text.replace(",", "")) for text in column(1)] == sorted(rows)
    head(0).click()
    assert column(0)[:3] == ["class 0", "class 1", "class 2"]
    head(4).click()
    gaps = [float(text.replace("\u2212", "-")) for text in column(4)]
    assert gaps == sorted(gaps, reverse=True)


def test_commands_are_copied(opened, page):
    driver = opened(page)
    permissions = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    driver.execute_cdp_cmd("Browser.grantPermissions", permissions)
    button = driver.find_element(By.CSS_SELECTOR, "#reproduce .copy")
    assert button.is_displayed()
    button.click()
    WebDriverWait(driver, 20).until(lambda _: button.text == "Copied")


def test_dark_and_print(opened, page):
    driver = opened(page)

    def shown_as(scheme):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        of = "getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        parts = (("html", "backgroundColor"), (".cv", "stroke"))
        return [driver.execute_script(f"return {of}", *each) for each in parts]

    light, dark = shown_as("light"), shown_as("dark")
    assert light[0] == "rgb(255, 255, 255)"
    assert all(a != b for a, b in zip(light, dark, strict=True))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(driver.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000

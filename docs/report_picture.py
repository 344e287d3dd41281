"""Take pictures of a report, light and dark: ``python docs/report_picture.py``, with Chromium, selenium and Pillow."""

from __future__ import annotations

import base64
import io
import tempfile
from pathlib import Path

import polars as pl
from PIL import Image
from selenium import webdriver

from unperplexed import assess

DOCS = Path(__file__).resolve().parent
WIDTH, HEIGHT, COLOURS = 1366, 768, 48


def report() -> str:
    """Make the report of the boosted trees of the gallery."""
    data = pl.read_csv(DOCS.parent / "examples" / "gallery" / "diabetes.csv")
    return assess(data["progressed"], data["boosted"], pos_label="yes").to_html(name="diabetes.csv")


def picture(page: Path, theme: str) -> Image.Image:
    """Open a page in a theme, and give what is above the fold."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "disable-dev-shm-usage"):
        options.add_argument(f"--{option}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wish = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
        driver.get(page.as_uri())
        taken = driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    finally:
        driver.quit()
    return Image.open(io.BytesIO(base64.b64decode(taken))).convert("RGB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(report(), "utf-8")
        for theme, name in (("light", "report"), ("dark", "report-dark")):
            shown = picture(path, theme).quantize(COLOURS, dither=Image.Dither.NONE)
            shown.save(DOCS / "pictures" / "pages" / f"{name}.png", optimize=True)

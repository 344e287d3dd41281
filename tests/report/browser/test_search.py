"""The site's own search, in a browser: words that readers type lead to the page that answers them."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from pages import DOCS

pytestmark = pytest.mark.slow
with (Path(__file__).parent / "searched.csv").open(encoding="utf-8", newline="") as file:
    SEARCHED = [(word.strip(), row["page"]) for row in csv.DictReader(file) for word in row["words"].split(",")]
SEARCH = "document.querySelector('#search-results').replaceChildren(); Search.performSearch(arguments[0])"
FOUND = """
return [...document.querySelectorAll('#search-results ul.search > li > a')].map(each => each.getAttribute('href'))
"""
DONE = """
const said = document.querySelector('#search-results p.search-summary')?.textContent ?? ''
return said.includes('Search finished') || said.includes('did not match')
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; UNPERPLEXED_SITE names one that is there."""
    if "UNPERPLEXED_SITE" in os.environ:
        return Path(os.environ["UNPERPLEXED_SITE"]).resolve()
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-b", "html", DOCS, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def opened(browser, site):
    """The page of the search, once its index is there."""
    browser.get(f"{(site / 'search.html').as_uri()}?q=calibration")
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(DONE))
    return browser


def pages_found(browser, word):
    """Pages of the results, in their order, each once."""
    browser.execute_script(SEARCH, word)
    WebDriverWait(browser, 60, poll_frequency=0.02).until(lambda _: browser.execute_script(DONE))
    links = [link.partition("#")[0].partition("?")[0] for link in browser.execute_script(FOUND)]
    return list(dict.fromkeys(link.removesuffix(".html") for link in links))


@pytest.mark.parametrize(("word", "page"), SEARCHED, ids=[word for word, _ in SEARCHED])
def test_a_word_leads_to_its_page(opened, word, page):
    assert page in pages_found(opened, word)[:2]

"""The foot of each page: a link to the glossary where the page itself has none."""

LINK = "glossary.md"
FOOT = f"\n\n---\n\nThe [glossary]({LINK}) defines the terms of this page.\n"


def with_foot(name: str, text: str) -> str:
    """Give the text of a page with a link to the glossary."""
    return text if name == "glossary" or LINK in text else text.rstrip("\n") + FOOT


def add(app, name, source):
    """Add the foot to a page that Sphinx reads."""
    source[0] = with_foot(name, source[0])

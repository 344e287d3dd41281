"""The foot of each page: a link to the glossary where the page itself has none."""

import posixpath

GLOSSARY = "reference/glossary"
FOOT = "\n\n---\n\nThe [glossary]({}) defines the terms of this page.\n"


def with_foot(name: str, text: str) -> str:
    """Give the text of a page, named by its path without the suffix, with a link to the glossary."""
    if name == GLOSSARY or "glossary.md" in text:
        return text
    return text.rstrip("\n") + FOOT.format(posixpath.relpath(f"{GLOSSARY}.md", posixpath.dirname(name) or "."))


def add(app, name, source):
    """Add the foot to a page that Sphinx reads."""
    source[0] = with_foot(name, source[0])

"""What stands around a page's text: groups of the sidebar that fold, the landing page's frame, outputs on phones."""

from __future__ import annotations

import re
from html import unescape

from inline import colours_of, palette

LANDING = "index"
COLUMNS = 80
"""The width to which the program breaks lines where its output is no terminal."""

_GROUP = re.compile(
    r'<p class="caption"[^>]*><span class="caption-text">(.*?)</span></p>\s*'
    r'(<ul.*?</ul>)(?=\s*(?:<p class="caption"|</div>|$))',
    re.DOTALL,
)
_OUTPUT = re.compile(
    r'(<div class="highlight-text notranslate"><div class="highlight"><pre><span></span>)(.*?)(</pre>)', re.DOTALL
)


_SENTENCE = re.compile(r"(?! |.* {2})(?=.{40}).*[.:;]")
"""A line of prose."""


def folded(tree: str) -> str:
    """Let each group of the sidebar open and close; only the one of the page is open."""

    def group(found: re.Match[str]) -> str:
        state = " open" if "current" in found[2] else ""
        return f"<details{state}><summary>{found[1]}</summary>{found[2]}</details>"

    return _GROUP.sub(group, tree)


def flowing(text: str) -> str:
    """Mark the prose of an output, whose lines a narrow page breaks anew; tables and commands stay as they are."""
    return "\n".join(map(_part, _parts(text.rstrip("\n").split("\n")))) + "\n"


def _parts(lines: list[str]) -> list[list[str]]:
    """Join lines that were one before they were broken: the next word had no room on them."""
    parts: list[list[str]] = []
    for line in lines:
        if parts and _goes_on(parts[-1], line):
            parts[-1].append(line)
        else:
            parts.append([line])
    return parts


def _goes_on(part: list[str], line: str) -> bool:
    words, last = unescape(line), unescape(part[-1])
    indent = len(words) - len(words.lstrip())
    if not words.strip() or indent != _indent(unescape(part[0])) or (len(part) > 1 and indent != _indent(last)):
        return False
    columns = any(re.search(r"\S {2,}\S", each) for each in (words, last[indent:]))
    return len(last) + 1 + len(words.split()[0]) > COLUMNS and not last.endswith("\\") and not columns


def _indent(line: str) -> int:
    """Where the words behind a label begin, or those of a line without one."""
    label = re.match(r"(?:\S+ ?\S+ {2,}| *)(?=\S)", line)
    return label.end() if label else 0


def _part(lines: list[str]) -> str:
    if len(lines) == 1 and not _SENTENCE.fullmatch(lines[0]):
        return lines[0]
    indent = _indent(unescape(lines[0]))
    words = ' <span class="break">\n' + " " * indent + "</span>"
    label = f'<span class="label">{lines[0][:indent]}</span>' if lines[0][:indent].strip() else lines[0][:indent]
    return f'<span class="prose">{label}{words.join([lines[0][indent:], *(each.strip() for each in lines[1:])])}</span>'


def add(app, pagename, templatename, context, doctree):
    """Finish a page, after the theme has made its sidebar."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = folded(context["furo_navigation_tree"])
    body = re.sub(r"\n\s*\n</pre>", "\n</pre>", context.get("body", ""))  # an empty line that ends a block
    context["body"] = _OUTPUT.sub(lambda found: found[1] + flowing(found[2]) + found[3], body)
    if colours := colours_of(body):
        context["metatags"] = context.get("metatags", "") + f"<style>{palette(colours)}</style>"
    return "landing.html" if pagename == LANDING else None


def setup(app):
    """Let Sphinx use it."""
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True}

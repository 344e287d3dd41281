"""Pictures become part of the page, so that they follow its theme: a colour of an SVG file is a variable of the page.

A picture of pixels has a twin for dark pages, if a file with the same name and `-dark` lies beside it.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path, PurePosixPath

import numpy as np
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

DARK = {
    "#ffffff": "#131416",
    "#000000": "#e9ecee",
    "#0a5ea8": "#6fb4f0",
    "#b4500a": "#f2a463",
    "#00795c": "#4cc9a4",
    "#8a3a78": "#d88fc6",
    "#2b3038": "#e9ecee",
    "#666e79": "#a0a9b2",
    "#e3e5e8": "#30373d",
}
"""Colours of the program's own diagrams on dark pages; those of others are found by `dark`."""

LIGHTEST, DARKEST, LEGIBLE = 0.93, 0.19, 0.7
"""Lightness of what was black, of what was white, and the least of a colour that is to be told from the background."""

_RGB_TO_LMS = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
_LMS_TO_LAB = np.array(
    [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.808675766]]
)  # fmt: skip
"""Matrices of Oklab (B. Ottosson 2020)."""

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_PREAMBLE = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)pt"[^>]*? viewBox="([^"]*)"[^>]*>')
POINT, WIDE = 4 / 3, 560
"""Pixels in a point; a picture wider than this scrolls on a phone, since it would be too small to read."""


def dark(colour: str) -> str:
    """Give the colour for dark pages: white becomes dark, black light, and what has a hue keeps it and is legible."""
    if colour in DARK:
        return DARK[colour]
    srgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    lab = _LMS_TO_LAB @ np.cbrt(_RGB_TO_LMS @ linear)
    tint = lab[0] > 0.85 or np.hypot(*lab[1:]) < 0.05
    lab[0] = LIGHTEST - (LIGHTEST - DARKEST) * lab[0] if tint else max(lab[0], LEGIBLE)
    linear = np.linalg.solve(_RGB_TO_LMS, np.linalg.solve(_LMS_TO_LAB, lab) ** 3).clip(0, 1)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * x):02x}" for x in srgb.clip(0, 1))


def palette(colours: set[str]) -> str:
    """Give the style sheet that has these colours, in both themes."""

    def rule(shown: dict[str, str]) -> str:
        return "{" + ";".join(f"--x{name[1:]}:{value}" for name, value in shown.items()) + "}"

    light = {each: each for each in sorted(colours)}
    night = rule({each: dark(each) for each in light})
    return (
        f"body{rule(light)}@media not print{{body[data-theme=dark]{night}"
        f"@media (prefers-color-scheme:dark){{body:not([data-theme=light]){night}}}}}"
    )


def colours_of(page: str) -> set[str]:
    """Colours of the pictures in a page."""
    return {f"#{each}" for each in re.findall(r"var\(--x([0-9a-f]{6})", page)}


def inlined(text: str, name: str, words: str = "", width: str = "") -> str:
    """Give an SVG file as a part of a page, with names of its own and with variables for its colours."""
    text = _PREAMBLE.sub("", text)
    shown = _SIZE.search(text)
    if shown is None:
        raise ValueError(f"{name}: no size in points")
    natural = float(shown[1]) * POINT
    kind = "picture small" if width else "picture wide" if natural > WIDE else "picture"
    width = width or f"{natural:.0f}px"
    text = text[shown.end() :].removesuffix("\n").removesuffix("</svg>")
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><")
    used = {*re.findall(r'(?:url\(#|href="#)([^)"]+)', text)}
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)
    text = _COLOUR.sub(lambda found: f"var(--x{found[0][1:]},{found[0]})", text)
    words = f' role="img" aria-label="{escape(words)}"' if words else ' aria-hidden="true"'
    return f'<svg class="{kind}" viewBox="{shown[2]}" style="width:{width}"{words}>{text}</svg>'


class picture(nodes.General, nodes.Inline, nodes.Element):  # noqa: N801
    """A drawing as it is in the page."""


def visit(translator, node):
    """Write it; what follows is nothing."""
    translator.body.append(node["svg"])
    raise nodes.SkipNode


class Inlined(SphinxPostTransform):
    """Takes the place of the pictures of a page."""

    default_priority = 5
    formats = ("html",)

    def run(self, **_):
        """Put SVG files into the page, and the dark twins of others beside them."""
        folder = Path(self.app.srcdir)
        for k, node in enumerate([*self.document.findall(nodes.image)]):
            path = PurePosixPath(node["uri"])
            twin = path.with_name(f"{path.stem}-dark{path.suffix}")
            if path.suffix == ".svg":
                svg = (folder / path).read_text("utf-8")
                name = f"p{k}"
                node.replace_self(picture("", svg=inlined(svg, name, node.get("alt", ""), node.get("width", ""))))
            elif (folder / twin).exists():
                other = node.deepcopy()
                self.env.images.add_file(self.env.docname, twin.as_posix())
                node["classes"].append("only-light")
                other["classes"].append("only-dark")
                other["uri"], other["candidates"] = twin.as_posix(), {"*": twin.as_posix()}
                node.parent.insert(node.parent.index(node) + 1, other)


def setup(app):
    """Let Sphinx use it."""
    app.add_node(picture, html=(visit, None))
    app.add_post_transform(Inlined)
    return {"parallel_read_safe": True}

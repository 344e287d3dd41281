"""Formulas as MathML, which browsers show by themselves: no script, no font, nothing from another host."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    formula = convert(node.astext(), display="block")
    self.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Settings of the documentation: Sphinx, pages in MyST Markdown, the furo theme."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import api_summaries
import cli_tables
import footer
import moved
import notebooks

import gallery
from unperplexed import __version__

project = "unperplexed"
author = "The unperplexed developers"
project_copyright = author
release = version = __version__

os.environ.setdefault("KERAS_BACKEND", "torch")  # whatever else is installed
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_reredirects",
    "mathml",
    "inline",
    "landing",
    "frame",
]
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp, .go"  # prompts and outputs of a session
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# Docstrings follow numpydoc and name the types themselves; a name in single backticks there is a link.
napoleon_google_docstring = False
napoleon_use_param = False  # types in docstrings are prose, not names to link
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Pages of what needs an extra are built without it too; their examples are run where it is installed.
_EXTRAS = ("dask", "distributed", "keras", "lightning", "py4j", "pyspark", "sklearn", "torch", "torchmetrics")
autodoc_mock_imports = [name for name in _EXTRAS if find_spec(name) is None]
suppress_warnings = ["autodoc"] if autodoc_mock_imports else []
default_role = "py:obj"
python_maximum_signature_line_length = 88

toc_object_entries = False  # a page's contents are its sections; its functions are in its tables

html_theme = "furo"
pygments_dark_style = "github-dark"
redirects = moved.redirects()
html_title = f"unperplexed {release}"
templates_path = ["_templates"]
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0a5ea8", "color-brand-content": "#0a5ea8"},
    "dark_css_variables": {"color-brand-primary": "#6fb4f0", "color-brand-content": "#6fb4f0"},
}


def setup(app):
    # napoleon takes what stands before a colon in an attribute's docstring for its type: undo that.
    written = []

    def keep(app, what, name, obj, options, lines):
        written[:] = lines

    def restore(app, what, name, obj, options, lines):
        if what in ("attribute", "data", "property"):
            lines[:] = written

    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)

    def public(app, env, node, contnode):
        """Find the home of a name that a docstring mentions by itself."""
        domain, name = env.domains["py"], node.get("reftarget", "")
        full = [each for each in domain.objects if each.endswith(f".{name}")] if name.isidentifier() else []
        if node.get("refdomain") != "py" or len(full) != 1:
            return None
        target = (env, node["refdoc"], app.builder, "obj", full[0], node, contnode)
        return domain.resolve_xref(*target)

    app.connect("missing-reference", public)

    def reports(app, exception):
        if exception is None and app.builder.name == "html":
            gallery.write_reports(Path(app.outdir) / "learn" / "gallery")
            notebooks.write(Path(app.outdir))

    app.connect("source-read", api_summaries.add)
    app.connect("autodoc-skip-member", api_summaries.skip)
    app.connect("source-read", cli_tables.add)
    app.connect("source-read", footer.add)
    app.connect("source-read", notebooks.add)
    app.connect("build-finished", reports)

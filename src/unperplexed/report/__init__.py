"""Documents of words, tables and charts, shown as text, pages, notebook cards and pictures.

A new picture is a `Chart` in the ``describe_charts`` module of its result; `svg` and `matplotlib_chart` draw it.
"""

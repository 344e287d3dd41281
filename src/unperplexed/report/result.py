"""What every result can do: text for a terminal, a card in a notebook and a page, all of the document it makes.

This is the only module that knows more than one rendering. Each is loaded when it is asked for.

Functions chosen by the type of what they are given, whose modules in `describe` are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, ParamSpec, TypeVar

from .._lib.arrays import library
from .._lib.errors import InputError
from .._lib.formatting import capital, short_name
from .._lib.output_files import PICTURES, REPORTS, check_output, write_whole
from .._lib.serialize import plain_values, result_json
from .._lib.typing import ByValue
from .chart import Chart, Style, chart_size
from .document import LONGEST_NAME, Document

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414  # a name of this module too
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414
else:  # names for signatures elsewhere, which do not load matplotlib
    Axes = Figure = Any

_F = TypeVar("_F", bound=Callable[..., Any])
_Result = TypeVar("_Result")

_HOME = f"{__package__.partition('.')[0]}.describe"


class ByType(Generic[_Result]):
    """A function with an implementation for each type, which the type's module in `describe` registers."""

    def __init__(self, unknown: Callable[..., _Result]) -> None:
        """Take what is done with types that none is registered for."""
        self._unknown = unknown
        self._known: dict[type, Callable[..., _Result]] = {}

    def register(self, kind: type) -> Callable[[_F], _F]:
        """Name a function as that of a type, and of those derived from it."""

        def registered(function: _F) -> _F:
            self._known[kind] = function
            return function

        return registered

    def __call__(self, found: Any, *given: Any, **named: Any) -> _Result:
        """Call the function of the type, once the module that registers it is loaded."""
        kinds = type(found).__mro__
        homes = import_module(_HOME).MODULES
        home = next((homes[each.__name__] for each in kinds if each.__name__ in homes), None)
        if home is not None:
            import_module(f"{_HOME}.{home}")
        chosen = next((self._known[each] for each in kinds if each in self._known), self._unknown)
        return chosen(found, *given, **named)


class Naming(NamedTuple):
    """What whoever shows a result knows of it: the name of the forecasts, and commands that a page shows."""

    name: str = ""
    command: str = ""
    recalibrate: str = ""
    report: str = ""
    """Name of the page that is written with the text."""

    @property
    def called(self) -> str:
        """The name in one line."""
        return short_name(self.name, LONGEST_NAME)

    def titled(self, what: str) -> str:
        """Give the title of a page: "rain.csv: overconfident"; without a name what follows, capitalized."""
        return f"{self.called}: {what}" if self.name else capital(what)

    def facts(self, *parts: str) -> str:
        """Join facts behind the name, if there is one: "rain.csv · 365 forecasts of 2 classes"."""
        return " · ".join(filter(None, [self.called, *parts]))

    @property
    def continued(self) -> str:
        """What a short form is continued by."""
        return self.report or "--report PAGE.html, or to_html() in Python"


@ByType
def document(found: Any, naming: Naming, *, brief: bool) -> Document:
    """Describe a result; a brief document has no chart and no sections, which text and cards do not show."""
    raise TypeError(f"{type(found).__name__} is not described.")


@ByType
def picture(found: Any, *given: Any, **options: Any) -> Axes:
    """Draw a result on matplotlib Axes."""
    raise TypeError(f"{type(found).__name__} is not drawn.")


@ByType
def pictures(found: Any, *given: Any) -> Figure:
    """Draw a result that takes a whole matplotlib figure."""
    raise TypeError(f"{type(found).__name__} is not drawn.")


@ByType
def picture_size(found: Any) -> tuple[float, float] | None:
    """Width and height, in inches, that suit the picture of a result; None where any does."""
    return None


def drawn_as(kind: type, chart: Callable[..., Chart], sized_as: Callable[[Any], Chart | None] = lambda _: None) -> None:
    """Let matplotlib draw results of a type as a chart, which is made of the result and what `plot` is given.

    Pictures have the size that suits the second chart, if there is one.
    """

    @picture_size.register(kind)
    def size(found: Any) -> tuple[float, float] | None:
        shown = sized_as(found)
        return None if shown is None else chart_size(shown)

    @picture.register(kind)
    def draw_chart(found: Any, ax: Axes | None, *given: Any, **options: Any) -> Axes:
        from .matplotlib_draw import draw

        return draw(chart(found, *given, **options), ax)


class Result:
    """A result: what it says of itself is registered with `document`."""

    if not TYPE_CHECKING:
        __getattr__ = ByValue.__getattr__

    frames_of: ClassVar[str] = "polars"
    """Package of its frames: that of the frames it was made from (`frames_as_input`), polars without any."""

    def to_text(self, *, name: str = "", columns: int | None = None) -> str:
        """Give the result as text for a terminal, as ``print`` does.

        Parameters
        ----------
        name : str, optional
            Name of the forecasts, such as their file; it stands before the number of rows.
        columns : int, optional
            Width of the lines; by default that of the terminal, between 40 and 80.

        Returns
        -------
        str
        """
        from .terminal import text

        return text(document(self, Naming(name), brief=True), columns)

    def to_html(self, *given: object, name: str = "", command: str = "", recalibrate: str = "") -> str:
        """Give the report: one HTML page that opens in any browser and needs nothing else, no network either.

        Parameters
        ----------
        name : str, optional
            Name of the forecasts, such as their file; the page's title begins with it.
        command : str, optional
            Command that makes the same report again; the page shows it.
        recalibrate : str, optional
            Command that fits the remedy on held-out rows; the page shows it beside the remedy.

        Returns
        -------
        str

        Raises
        ------
        TypeError
            For a path: `report` writes one.
        """
        if given:
            raise TypeError("to_html() takes names only; report(path) writes the page to a file.")
        from .html import page

        return page(document(self, Naming(name, command, recalibrate), brief=False))

    def report(self, path: str | Path, *, name: str = "", command: str = "", recalibrate: str = "") -> None:
        """Write `to_html` to a file, whole or not at all; an existing file is replaced.

        Parameters
        ----------
        path : str or Path
            The file, ``.html`` or ``.htm``.
        name, command, recalibrate : str, optional
            As in `to_html`.

        Raises
        ------
        InputError
            For another suffix, or a file that cannot be written.
        """
        where = check_output(Path(path), REPORTS)
        write_whole(where, self.to_html(name=name, command=command, recalibrate=recalibrate).encode())

    def save_plot(self, path: str | Path, **style: Any) -> None:
        """Write the picture that ``plot`` draws to a file for print or the web, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file, ``.svg``, ``.pdf`` or ``.png``.
        **style
            ``title``, in place of what the picture says of itself. ``outcome``: what it calls the positive class, such
            as "rain" for 1. ``size``: width and height in inches. ``font_size``: 10 points by default, in proportion
            to which all type is. ``colours``: "grey" for print without colours. ``axes``:
            "nelson" for the papers' order of the axes, of an assessment.

        Raises
        ------
        InputError
            For another suffix, a style that cannot be drawn, or a file that cannot be written.
        """
        from .axes import picture_bytes

        where, asked = check_output(Path(path), PICTURES), Style(**style)
        write_whole(where, picture_bytes(self, where, asked, picture_size(self)))

    def __str__(self) -> str:
        """Give the result as text for a terminal."""
        return self.to_text()

    def _repr_html_(self) -> str:
        from .html import card

        return card(document(self, Naming(), brief=True))


class JsonResult(ByValue, Result):
    """A result that is a dataclass, and JSON too."""

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        said = {"verdict": self.verdict} if hasattr(self, "verdict") else {}
        return {**said, **plain_values(self)}

    def to_json(self, indent: int | None = 2) -> str:
        """Give `to_dict` as JSON, with the ``schema`` of its names.

        Numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity".

        Raises
        ------
        InputError
            For an indent that is no number of blanks.
        """
        if not isinstance(indent, int | None):
            raise InputError(f"indent: {indent!r} is no number. To write a file: Path(...).write_text(x.to_json()).")
        return result_json(self.to_dict(), indent)


class DrawnResult(JsonResult):
    """A result that has a picture."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw its picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return picture(self, ax)


_P = ParamSpec("_P")
_R = TypeVar("_R")
Made = TypeVar("Made")

PANDAS = "pandas"
_DEEPEST = 5
"""Results inside of a result are found so many levels down."""


def frames_as_input(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the results of a function give frames of the package that its first frame or column came from."""

    @wraps(function)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        found = function(*args, **kwargs)
        if next(_packages([*args, *kwargs.values()]), "") == PANDAS:
            _mark(found, _DEEPEST)
        return found

    return made


def frame_like_input(result: Result, data: Any) -> Any:
    """Give rows, columns or a polars frame as a frame of the package that the input of a result came from."""
    import polars as pl

    frame = pl.DataFrame(data, infer_schema_length=None)
    if result.frames_of != PANDAS:
        return frame
    import pandas as pd

    return pd.DataFrame(frame.to_dict(as_series=False), columns=frame.columns)


def frames_alike(result: Made, other: Any) -> Made:
    """Let a result that is made later give frames of the package that those of another are of; return it."""
    object.__setattr__(result, "frames_of", other.frames_of)
    return result


def _packages(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _packages(value.values())
        elif (name := library(value)) in (PANDAS, "polars"):
            yield name


def _mark(value: Any, levels: int) -> None:
    if hasattr(type(value), "frames_of"):
        object.__setattr__(value, "frames_of", PANDAS)
    if not levels:
        return
    inside: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, tuple | list):
        inside = value
    elif is_dataclass(value):
        inside = [*getattr(value, "__dict__", {}).values()]
    for each in inside:
        _mark(each, levels - 1)

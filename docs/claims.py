"""The list of the site's claims: each sentence and table that states a measurement, and what backs it on its page.

    python docs/claims.py

writes evidence/claims.csv anew and prints the statements that have no backing. A number is a measurement if it has a
decimal point, an exponent, a per cent sign or one of `UNITS`; tables are listed by their first line. A line of the
list is kept as long as its statement and its backing stand on the page. A new statement is of the kind "output" if all
of its measurements stand in executed outputs, and a "setting" if some stand only in the code of an example: read the
line that was found. Kind and backing of other statements are written by hand.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import asdict, dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from pathlib import Path

DOCS = Path(__file__).resolve().parent
LIST = DOCS / "evidence" / "claims.csv"

KINDS = {
    "output": "executed outputs of the page: the lines that have the numbers",
    "command": "a command on the page that computes the numbers",
    "citation": "a source that the page names",
    "derivation": "arithmetic, a formula or a theorem on the page",
    "setting": "no claim: a setting, limit or definition of the program, or an assumption of an example",
}
UNITS = (
    r"of (?:the )?\d[\d,]*|s|ms|seconds?|minutes?|hours?|kB|KB|MB|MiB|GB"
    "|nats?|bits|passes|points|instructions|times as"
)

BETWEEN = " … "
"""Between the lines of an output that back one claim."""

_NUMBER = re.compile(
    r"(?<![\w.,^/])(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?P<power>e[-−]?\d+|·10\S+)?(?P<percent>%)?"
    rf"(?P<unit> (?:{UNITS})\b)?(?!\d|\.\d)"
)
_NONE = re.compile(
    r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|9[05]% (?:CIs?|confidence|intervals?|band)|(?:5|50|80)% (?:level|power)"
    r"|arXiv:\S+|\[\[?(?:N17|RP|CM|SSR)[^\]]*\]"
    r"|(?:[Ff]igs?\.|[Ee]qs?\.|Table|[Ss]ection) ?[\w.]+"
)
"""Code, mathematics, targets of links, levels of intervals and tests, and numbers of figures and equations."""
_BLOCK = re.compile(r"^(```|:::)(?P<kind>[^\n]*)\n(?P<text>.*?)^\1\s*$", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"^\$\$.*?\$\$$|^(?:% |#)[^\n]*$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
_SENTENCE = re.compile(r"(?<!al\.)(?<!Figs\.)(?<!Fig\.)(?<!eq\.)(?<=[.!?])\s+(?=[^\sa-z(])")


@dataclass(frozen=True)
class Claim:
    """A line of the list; `error` is the interval or standard error of an estimate, as the page has it."""

    page: str
    claim: str
    kind: str
    backing: str
    error: str


def measurements(text: str) -> list[re.Match[str]]:
    """Numbers that are no counts, years or ordinals."""
    return [
        number
        for number in _NUMBER.finditer(_NONE.sub(" ", text))
        if "." in number["digits"] or number["power"] or number["percent"] or number["unit"]
    ]


class Page:
    """What a page states and what it executes."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.name = path.relative_to(DOCS).with_suffix("").as_posix() if DOCS in path.parents else path.stem
        self.text = path.read_text("utf-8")

    def has(self, words: str) -> bool:
        """Whether they stand on the page, line breaks aside."""
        return " ".join(words.split()) in " ".join(self.text.split())

    @cached_property
    def untabbed(self) -> str:
        """The text without the lines that begin and end tabs: what these hold is read as the rest of the page is."""
        lines: list[str] = []
        tabs: list[bool] = []
        for line in self.text.splitlines(keepends=True):
            begins, ends = re.match(r":::+\{(tab-)?", line), re.fullmatch(r":::+\s*", line)
            if begins:
                tabs.append(bool(begins[1]))
            if not (tabs[-1] if begins else ends and tabs and tabs.pop()):
                lines.append(line)
        return "".join(lines)

    @cached_property
    def statements(self) -> dict[str, str]:
        """Sentences, and headings of tables with all of their text, that have measurements."""
        prose = _NO_PROSE.sub("\n", _BLOCK.sub("\n", self.untabbed))
        found: dict[str, str] = {}
        for table in re.findall(r"^:file: (\S+)$", self.text, re.MULTILINE):
            found[table] = " ".join((self.folder / table).read_text("utf-8").replace(",", " | ").split())
        for paragraph in re.split(r"\n\s*\n|\n(?=(?:[-*]|\d+\.) )", prose):
            words = " ".join(_ITEM.sub("", paragraph).split())
            if words.startswith("|"):
                found[paragraph.strip().splitlines()[0]] = words
            else:
                found.update((each, each) for each in _SENTENCE.split(words))
        return {claim: text for claim, text in found.items() if measurements(text)}

    @cached_property
    def executed(self) -> tuple[list[str], list[str]]:
        """Lines of outputs, and lines of code, that which is not shown included."""
        shown: list[str] = []
        code = re.findall(r"^% .*$", self.text, re.MULTILINE)
        for block in _BLOCK.finditer(self.untabbed):
            for line in block["text"].splitlines():
                typed = block["kind"] == "sh" or line.startswith((">>> ", "... "))
                if block["kind"] in ("text", "python", "sh"):
                    (code if typed else shown).append(line)
        return shown, code

    def found(self, text: str) -> tuple[str, str]:
        """Kind and lines of a statement whose measurements all are in executed blocks; else two empty words."""
        shown, code = self.executed
        missing, kind, lines = measurements(text), "output", []
        while missing:
            counts = {line: sum(_stands(number, line) for number in missing) for line in [*code, *shown]}
            best = max(counts, key=lambda line: (line in shown and counts[line] > 0, counts[line]), default="")
            if not counts.get(best):
                return "", ""
            kind = kind if best in shown else "setting"
            missing = [number for number in missing if not _stands(number, best)]
            lines.append(" ".join(best.split()))
        return kind, BETWEEN.join(lines)

    def backs(self, line: Claim) -> bool:
        """Whether what a line of the list names still stands on the page."""
        executed = {" ".join(each.split()) for each in [line for lines in self.executed for line in lines]}
        if line.kind == "output":
            return all(part in executed for part in line.backing.split(BETWEEN))
        return line.kind == "setting" or (bool(line.kind) and self.has(line.backing) and self.has(line.error))


def _value(number: re.Match[str]) -> Decimal:
    return Decimal(number["digits"].replace(",", "")) / (100 if number["percent"] else 1)


def _stands(number: re.Match[str], line: str) -> bool:
    """Whether a line has this number, perhaps with more digits, or as a share where it is a percentage.

    Numbers of one digit, such as 0.5 and 20%, are found only as they are.
    """
    if number["power"]:
        return number[0] in line
    value = _value(number)
    step = Decimal(1).scaleb(int(value.as_tuple().exponent))
    short = len(number["digits"].replace(".", "").replace(",", "").strip("0")) < 2
    return any(
        _value(other) == value and bool(other["percent"]) == bool(number["percent"])
        if short
        else _value(other).quantize(step, ROUND_HALF_UP) == value
        for other in _NUMBER.finditer(line)
        if not other["power"]
    )


def pages() -> list[Page]:
    """All of the site, and the readme."""
    paths = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
    return [Page(path) for path in [*paths, DOCS.parent / "README.md"]]


def listed() -> list[Claim]:
    """The lines of the list."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [Claim(**line) for line in csv.DictReader(file)]


def claims(known: list[Claim]) -> list[Claim]:
    """All statements of the site; the kind of one without a backing is empty."""
    lines = {(line.page, line.claim): line for line in known}
    made = []
    for page in pages():
        for claim, text in page.statements.items():
            line = lines.get((page.name, claim))
            if line is None or not page.backs(line):
                line = Claim(page.name, claim, *page.found(text), "")
            made.append(line)
    return made


def main() -> int:
    """Write the list, and print what has no backing."""
    made = claims(listed() if LIST.exists() else [])
    with LIST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Claim)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(line) for line in made)
    for line in made:
        if not line.kind:
            print(f"{line.page}: no backing: {line.claim}")
    return int(any(not line.kind for line in made))


if __name__ == "__main__":
    sys.exit(main())

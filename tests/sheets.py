"""Spreadsheets spoiled in their structure: sizes that they claim, cells far away, parts that are missing."""

import atexit
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

from unperplexed.sources.readers import sheet_process, spreadsheet

NUMBERS = ["", "-1", "0", "7", "1048576", "4294967295", "18446744073709551615", "9" * 30, "1e9", "x", "NaN"]
_LONGEST = 1 << 24
"""Characters that are repeated, at most: the memory of what spoils is no finding."""

CELLS = ["A1", "XFD1048576", "A0", "ZZZZ9", "A99999999999", "B", "7", "GR100000", ""]


def sheet_of(path: Path) -> bytes:
    """A sheet of two columns, with texts that cells share, numbers, dates and a style."""
    import xlsxwriter

    book = xlsxwriter.Workbook(path)
    sheet, date = book.add_worksheet("rows"), book.add_format({"num_format": "yyyy-mm-dd"})
    for at, row in enumerate([("z", "q", "day"), *((k % 2, (k % 7 + 1) / 9, f"d{k}") for k in range(30))]):
        for j, value in enumerate(row):
            sheet.write(at, j, value, date if j == 2 else None)
    book.close()
    return path.read_bytes()


def open_document() -> bytes:
    """The same as OpenDocument, with cells that are repeated."""
    cell = '<table:table-cell office:value-type="float" office:value="{}"/>'
    head = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{x}</text:p></table:table-cell>' for x in "zq"
    )
    rows = "".join(
        f"<table:table-row>{cell.format(k % 2)}{cell.format((k % 7 + 1) / 9)}</table:table-row>" for k in range(30)
    )
    empty = '<table:table-cell table:number-columns-repeated="3"/>'
    rest = f'<table:table-row table:number-rows-repeated="2">{empty}</table:table-row>'
    names = " ".join(
        f'xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"' for each in ("office", "table", "text")
    )
    table = f'<table:table table:name="rows"><table:table-row>{head}</table:table-row>{rows}{rest}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
    return made.getvalue()


def good_sheets(folder: Path, _: np.random.Generator) -> dict[str, bytes]:
    """One of each kind, by name."""
    return {"xlsx": sheet_of(folder / "seed.xlsx"), "ods": open_document()}


def spoiled_sheet(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one to three parts: what they claim in attributes, how long they are, whether they are there."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(int(rng.integers(1, 4))):
        name = list(parts)[int(rng.integers(len(parts)))]
        parts[name] = _spoiled_part(parts[name].decode("utf-8", "replace"), rng).encode("utf-8", "replace")
        if rng.random() < 0.06:
            del parts[name]
        if not parts:
            break
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


def _spoiled_part(text: str, rng: np.random.Generator) -> str:
    attributes = list(re.finditer(r'\b([\w:]{1,40})="([^"]*)"', text))
    kind = int(rng.integers(6))
    if kind <= 2 and attributes:
        found = attributes[int(rng.integers(len(attributes)))]
        some = CELLS if found[1] in ("r", "ref", "spans") and rng.random() < 0.8 else NUMBERS
        value = some[int(rng.integers(len(some)))]
        return f'{text[: found.start()]}{found[1]}="{value}"{text[found.end() :]}'
    tags = list(re.finditer(r"<[^>]+>", text)) or [re.match("", text)]
    tag = tags[int(rng.integers(len(tags)))]
    if kind == 3:
        return text[: tag.start()] + text[tag.end() :]
    if kind == 4:
        most = min(2000, _LONGEST // max(len(tag[0]), 1) + 2)
        return text[: tag.end()] + tag[0] * int(rng.integers(1, most)) + text[tag.end() :]
    at = int(rng.integers(len(text) + 1))
    return text[:at] if rng.random() < 0.4 else text[:at] + "a" * int(10 ** rng.uniform(0, 6)) + text[at:]


SERVER = """
import json, os, sys
import fastexcel, pyarrow
sys.path.insert(0, sys.argv[1])
import sheet_process
sys.path.pop(0)
for line in sys.stdin:
    *asked, to = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        ended = 1
        try:
            sheet_process.main(*asked)
            ended = 0
        except SystemExit as error:
            ended = error.code
        finally:
            sys.stdout.flush()
            os._exit(ended)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Does what the process that reads a sheet does, in forks of one that has imported all: a hundred times faster."""


class Server:
    """Reads sheets as `spreadsheet` does."""

    def __init__(self, folder: Path) -> None:
        self._to, self._process = folder / "sheet.arrows", None

    def read(self, path: Path, _: object) -> subprocess.CompletedProcess[bytes]:
        if self._process is None:
            command = [sys.executable, "-P", "-c", SERVER, str(Path(sheet_process.__file__).parent)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            atexit.register(self.close)
        asked = json.dumps([str(path), None, ["z", "q"], *spreadsheet.bounds(path), str(self._to)])
        try:
            self._process.stdin.write(f"{asked}\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
        except BaseException:  # too late, and its answer would be taken for that to the next
            self.close()
            raise
        return subprocess.CompletedProcess([], status, self._to.read_bytes(), b"")

    def close(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None

"""Spreadsheets as Excel and LibreOffice write them."""

import zipfile
from xml.sax.saxutils import escape

import numpy as np
import pytest

from unperplexed import InputError, Tally, assess, tally_files
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")

ROWS = 1500  # more than fastexcel looks at to tell a column's type, unless it is told to look at all
RNG = np.random.default_rng(31)
P = RNG.uniform(size=ROWS).round(4)
Y = RNG.uniform(size=ROWS) < P


def xlsx(path, sheets):
    """Write sheets of rows; floats are shown as percentages."""
    book = xlsxwriter.Workbook(path)
    percent = book.add_format({"num_format": "0 %"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for at, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    sheet.write(at, j, value, percent if isinstance(value, float) else None)
    book.close()
    return path


def cell(value):
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        kind = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
    elif isinstance(value, float | int):
        kind = f'office:value-type="float" office:value="{value}"'
    else:
        kind = 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{escape(str(value))}</text:p></table:table-cell>"


def ods(path, sheets):
    names = {"office": "office", "table": "table", "text": "text"}
    spaces = " ".join(f'xmlns:{k}="urn:oasis:names:tc:opendocument:xmlns:{v}:1.0"' for k, v in names.items())
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
    return path


WRITE = {"xlsx": xlsx, "ods": ods}


@pytest.fixture(params=WRITE)
def write(request, tmp_path):
    return lambda sheets: WRITE[request.param](tmp_path / f"f.{request.param}", sheets)


@pytest.fixture(params=["whole", "tiny"])
def either(request, monkeypatch):
    if request.param == "tiny":
        monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 300)


def accuracy(*rows):
    return assess(*rows).reported.geometric_accuracy


def table(y=Y, p=P):
    rows = zip(y.tolist(), np.asarray(p).tolist(), strict=True)
    return [["event", "note", "chance"], *([outcome, "größer, é", chance] for outcome, chance in rows)]


@pytest.mark.parametrize("kind", ["booleans", "numbers", "words"])
def test_the_same_as_in_memory(write, either, kind):
    y = {"booleans": Y, "numbers": Y * 1, "words": np.where(Y, "ja", "nein")}[kind]
    path = write({"Daten": table(y)})
    options = {"pos_label": "ja"} if kind == "words" else {}
    tally = tally_files(path, truth="event", prob="chance", **options)
    assert tally.to_bytes() == Tally.of(y, P, labels=tally.labels, source=str(path)).to_bytes()
    assert tally.labels == ((False, True) if kind == "booleans" else (0, 1) if kind == "numbers" else ("nein", "ja"))


def test_text_and_gaps_among_the_numbers(write, either):
    rows = table()
    rows[1400][2], rows[1401][2], rows[1402][2], rows[1403][0] = "soon", None, "-", None
    path = write({"Daten": rows})
    with pytest.raises(
        InputError, match=r"no label in 1 row \(1402.*not a number in 2 rows \(1399, 1401.*'soon'.*--na --invalid drop"
    ):
        tally_files(path, truth="event", prob="chance")
    tally = tally_files(path, truth="event", prob="chance", na=[], invalid="drop")
    assert tally.notes.dropped == {"NaN": 2, "no label": 1, "not a number": 1}
    kept = np.setdiff1d(np.arange(ROWS), [1399, 1400, 1401, 1402])
    assert accuracy(tally) == pytest.approx(accuracy(Y[kept], P[kept]), rel=1e-12)


def test_errors_of_excel_are_missing_values(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "f.xlsx")
    sheet = book.add_worksheet()
    for at, row in enumerate([["y", "p"], [1, 0.75], [0, 0.5], [1, 0.25]]):
        sheet.write_row(at, 0, row)
    sheet.write_formula(3, 1, "=1/0", None, "#DIV/0!")
    book.close()
    with pytest.raises(InputError, match="NaN in 1 row"):
        tally_files(tmp_path / "f.xlsx", truth="y", prob="p")
    assert tally_files(tmp_path / "f.xlsx", truth="y", prob="p", invalid="drop").notes.dropped == {"NaN": 1}


def test_titles_above_the_header_are_passed_over(write):
    table = [["event", "chance"], *zip(Y, P, strict=True)]
    for titles in ([["Third quarter"]], [["Third quarter"], ["draft"], [None, None]], [[None, "Third quarter"]]):
        path = write({"Data": [*titles, *table]})
        assert accuracy(tally_files(path, truth="event", prob="chance")) == accuracy(Tally.of(Y, P))


def test_a_title_of_two_cells_is_no_header_where_columns_are_named(write):
    table = [["event", "chance"], *zip(Y, P, strict=True)]
    path = write({"Data": [["Station", "Oslo"], ["chance", "draft"], [None, None], *table]})
    for prob in ("chance", "1=chance"):
        assert accuracy(tally_files(path, truth="event", prob=prob)) == accuracy(Tally.of(Y, P))
    pairs = tally_files(path, pairs=[("chance", "event")])
    assert accuracy(pairs) == accuracy(Tally.of(Y, P))
    rivals = Selection(truth=["event"], rivals=[["chance"], ["chance"]])
    assert all(len(batch.forecasts) == 2 for batch in ForecastFiles([str(path)], rivals, FileReading()))
    with pytest.raises(InputError, match="no column 'risk'; columns: 'Station', 'Oslo'"):
        tally_files(path, truth="rain", prob="risk")


def test_a_sheet_is_named_where_there_are_several(write):
    path = write({"Notes": [["read me"]], "Data": table()})
    with pytest.raises(InputError, match=r"has 2 sheets: 'Notes', 'Data'\. Name one, .*--sheet Data"):
        tally_files(path, truth="event", prob="chance")
    with pytest.raises(InputError, match="no sheet 'data'; sheets: 'Notes', 'Data'"):
        tally_files(path, truth="event", prob="chance", sheet="data")
    assert accuracy(tally_files(path, truth="event", prob="chance", sheet="Data")) == accuracy(Tally.of(Y, P))


def test_columns_go_by_name(write):
    with pytest.raises(InputError, match="no column 'Chance'; did you mean 'chance'"):
        tally_files(write({"Daten": table()}), truth="event", prob="Chance")


@pytest.mark.parametrize("content", [b"", b"PK not a zip", b"y,p\n1,0.5\n"])
def test_what_is_no_spreadsheet(tmp_path, content):
    path = tmp_path / "f.xlsx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="the file is empty" if not content else "not a readable spreadsheet file"):
        tally_files(path, truth="y", prob="p")


def test_names_of_parts_that_are_no_utf8(tmp_path, write):
    path = write({"Daten": table()})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("\u00e9.xml", "")
    path.write_bytes(path.read_bytes().replace("\u00e9.xml".encode(), b"\xb7\xb7.xml"))
    assert accuracy(tally_files(path, truth="event", prob="chance")) == accuracy(Tally.of(Y, P))


def changed(path, name, change):
    """Change the text of one part of a spreadsheet; None takes it out."""
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each).decode() for each in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, text in parts.items():
            if each != name or change is not None:
                archive.writestr(each, change(text) if each == name else text)


STRAY = '<row r="{row}"><c r="{cell}"><v>1</v></c></row></sheetData>'
HOSTILE = {
    "a cell in the last corner": (
        "xl/worksheets/sheet1.xml",
        STRAY.format(row=1048576, cell="XFD1048576"),
        "time than",
    ),
    "a cell far away": ("xl/worksheets/sheet1.xml", STRAY.format(row=100_000, cell="GR100000"), "time than its cells"),
    "texts beyond number": ("xl/sharedStrings.xml", None, "time than its cells need"),
    "a text of 70 MB": ("xl/sharedStrings.xml", "a" * 70_000_000, "packed into .* which no table does; save it as CSV"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_a_small_file_claims_is_not_believed(tmp_path, what):
    part, more, message = HOSTILE[what]
    path = xlsx(tmp_path / "f.xlsx", {"Daten": [["y", "p"], [1, 0.5]]})
    changes = {
        "xl/worksheets/sheet1.xml": lambda text: text.replace("</sheetData>", more),
        "xl/sharedStrings.xml": lambda text: (
            text.replace('uniqueCount="2"', 'uniqueCount="4294967295"')
            if more is None
            else text.replace("</t>", f"{more}</t>", 1)
        ),
    }
    changed(path, part, changes[part])
    with pytest.raises(InputError, match=message):
        tally_files(path, truth="y", prob="p")


def test_an_archive_of_a_later_version(tmp_path):
    path = xlsx(tmp_path / "f.xlsx", {"Daten": [["y", "p"], [1, 0.5]]})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 99
    path.write_bytes(content)
    assert tally_files(path, truth="y", prob="p", labels=[0, 1]).n_rows == 1


def test_a_spreadsheet_without_sheets(tmp_path):
    path = xlsx(tmp_path / "f.xlsx", {"Daten": [["y", "p"], [1, 0.5]]})
    changed(path, "xl/workbook.xml", None)
    with pytest.raises(InputError, match="not a readable spreadsheet file, .*: it has no sheets"):
        tally_files(path, truth="y", prob="p")


def test_a_sheet_of_many_cells_is_read(tmp_path):
    rows = [["y", "p", *"abcdefghijklmnopqr"], *([k % 2, (k % 9 + 1) / 10, *range(18)] for k in range(5000))]
    assert tally_files(xlsx(tmp_path / "f.xlsx", {"Daten": rows}), truth="y", prob="p").n_rows == 5000


def test_an_empty_sheet(write):
    with pytest.raises(InputError, match="is empty"):
        tally_files(write({"Daten": []}), truth="y", prob="p")


def test_other_formats_have_no_sheets(tmp_path):
    (tmp_path / "f.csv").write_text("y,p\n1,0.5\n")
    with pytest.raises(InputError, match="only spreadsheets have sheets"):
        tally_files(tmp_path / "f.csv", truth="y", prob="p", sheet="Data")


def test_a_reader_that_cannot_be_loaded_is_no_damage(tmp_path, monkeypatch):
    path = xlsx(tmp_path / "f.xlsx", {"Daten": [["y", "p"], [1, 0.5]]})
    (tmp_path / "fastexcel.py").write_text("raise ImportError('libx.so: no such file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InputError, match=r"process that reads spreadsheets failed: ImportError: libx.so: no such file"):
        tally_files(path, truth="y", prob="p")
    (tmp_path / "fastexcel.py").write_text("raise RuntimeError('broken')")
    with pytest.raises(InputError, match=r"process that reads spreadsheets failed: RuntimeError: broken"):
        tally_files(path, truth="y", prob="p")

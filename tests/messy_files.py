"""Files as programs write them: each made from the same forecasts, and the options with which one command reads it.

``python tests/messy_files.py FOLDER`` writes them all.
"""

import csv
import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

ROWS = 400
CLASSES = ("cat", "dog", "bird")


def forecasts():
    """Outcomes and probabilities of two classes, and of three."""
    rng = np.random.default_rng(2026)
    p = rng.integers(1, 100, ROWS) / 100
    y = rng.uniform(size=ROWS) < p
    classes = rng.dirichlet(np.ones(3), ROWS)
    labels = (classes.cumsum(axis=1) < rng.uniform(size=(ROWS, 1))).sum(axis=1)
    return y, p, np.array(CLASSES)[labels], classes


Y, P, LABELS, PROBS = forecasts()


def text_of(rows, **how):
    out = io.StringIO(newline="")
    csv.writer(out, **how).writerows(rows)
    return out.getvalue()


def german_excel(path):
    rows = [["Stadt", "Regen", "Chance"]]
    rows += [["Köln", "ja" if y else "nein", f"{p * 100:.1f} %".replace(".", ",")] for y, p in zip(Y, P, strict=True)]
    path.write_bytes(text_of(rows, delimiter=";").encode("cp1252"))


def excel_unicode_text(path):
    rows = [["Város", "Outcome", "Chance"], *([["Győr", int(y), p] for y, p in zip(Y, P, strict=True)])]
    path.write_bytes(text_of(rows, delimiter="\t").encode("utf-16"))


def us_excel(path):
    import xlsxwriter

    book = xlsxwriter.Workbook(path)
    book.add_worksheet("Read me").write(0, 0, "Forecasts of 2026")
    sheet = book.add_worksheet("Data")
    percent = book.add_format({"num_format": "0%"})
    sheet.write_row(0, 0, ["Outcome", "Chance"])
    for at, (y, p) in enumerate(zip(Y.tolist(), P.tolist(), strict=True), 1):
        sheet.write(at, 0, y)
        sheet.write(at, 1, p, percent)
    sheet.write(ROWS + 1, 0, True)
    sheet.write(ROWS + 1, 1, "tbd")
    book.close()


def r_data_frame(path):
    rows = [f'"{at}",{str(bool(y)).upper()},{p}' for at, (y, p) in enumerate(zip(Y, P, strict=True), 1)]
    path.write_text("\n".join(['"","event","p"', *rows, f'"{ROWS + 1}",NA,0.5', f'"{ROWS + 2}",TRUE,NA', ""]))


def pandas_csv(path):
    rounded = PROBS.round(2)  # the sums are off, as after any rounding
    columns = {f"p_{label}": rounded[:, j] for j, label in enumerate(CLASSES)}
    pl.DataFrame({"": np.arange(ROWS), "label": LABELS} | columns).write_csv(path)


def pandas_parquet(path):
    columns = {"label": pl.Series(LABELS, dtype=pl.Categorical), "proba": PROBS.astype(np.float32).tolist()}
    pl.DataFrame({"index": np.arange(ROWS)} | columns).write_parquet(path)


def duckdb_copy(path):
    rows = [["id", "won", "p"], *([at, int(y), p] for at, (y, p) in enumerate(zip(Y, P, strict=True)))]
    rows += [[ROWS, "\\N", 0.5], [ROWS + 1, 1, "\\N"]]
    path.write_bytes(pa.compress(text_of(rows, delimiter="|").encode(), codec="zstd", asbytes=True))


def weather_archive(path):
    rows = [["time", "station", "obs", "pop"]]
    rows += [["2026-01-01 00:00", "06260", int(y), round(p * 100)] for y, p in zip(Y, P, strict=True)]
    rows += [["2026-02-01 00:00", "06260", 1, -999], ["2026-02-01 01:00", "06260", -999, 40]]
    path.write_bytes(gzip.compress(text_of(rows).encode()))


def evaluation_harness(path):
    answers = [[[[str(np.log1p(-p)), False], [str(np.log(p)), True]]] for p in P]
    rows = ({"doc": {"question": "…?", "gold": int(y)}, "resps": each} for y, each in zip(Y, answers, strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def monitoring_job(path):
    pairs = zip(Y.tolist(), P.tolist(), strict=True)
    rows = [{"request": {"score": [p]}, "outcome": {"fraud": y}} for y, p in pairs]
    rows += [{"request": {"score": [0.5]}, "outcome": None}, {"request": {"score": [None]}, "outcome": {"fraud": True}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def network_outputs(path):
    labels = np.array([CLASSES.index(each) for each in LABELS])
    np.savez_compressed(path, labels=labels, logits=np.log(PROBS).astype("f4") + 4)


def export_of_a_survey(path):
    rows = [["Person", "right", "confidence"], *(["Åsa", int(y), f"{p:.0%}"] for y, p in zip(Y, P, strict=True))]
    rows += [["Zoë", "?", "50%"], ["Zoë", 1, "-"], ["Zoë", 1, "quite"]]
    path.write_bytes(text_of(rows).encode("cp1252"))


COMMANDS = {
    "excel-de.csv": (
        german_excel,
        "--truth=Regen --prob=ja=Chance --decimal-comma --encoding=cp1252 --scale=percent",
    ),
    "excel-unicode.txt": (excel_unicode_text, "--truth=Outcome --prob=Chance --encoding=utf-16 --separator=tab"),
    "excel-us.xlsx": (us_excel, "--truth=Outcome --prob=Chance --sheet=Data --invalid=drop"),
    "r.csv": (r_data_frame, "--truth=event --prob=p --na --invalid=drop"),
    "pandas.csv": (pandas_csv, "--prob=p_* --invalid=rescale"),
    "pandas.parquet": (pandas_parquet, "--prob=proba --labels=@names.txt"),
    "duckdb.csv.zst": (duckdb_copy, "--truth=won --prob=p --separator=| --na=\\N --invalid=drop"),
    "archive.csv.gz": (weather_archive, "--truth=obs --prob=pop --na=-999 --scale=percent --invalid=drop"),
    "harness.jsonl": (evaluation_harness, "--truth=doc.gold --prob=resps.0.1.0 --scale=log-probs"),
    "monitoring.ndjson": (monitoring_job, "--truth=outcome.fraud --prob=request.score --invalid=drop"),
    "network.npz": (network_outputs, "--scale=logits"),
    "survey.csv": (
        export_of_a_survey,
        "--truth=right --prob=confidence --encoding=cp1252 --scale=percent --na --invalid=drop",
    ),
}
"""By file: what writes it, and the options of the one command that assesses it."""

KNOWN = {
    "pandas.parquet": ("--labels=@names.txt",),
    "duckdb.csv.zst": ("--na=\\N",),
    "archive.csv.gz": ("--na=-999", "--scale=percent"),
}
"""Options that no message can name, since only the user knows the classes, the mark of a gap, or the unit beside it."""


def write_all(folder):
    """Write every file, and the names of the classes."""
    for name, (write, _) in COMMANDS.items():
        write(Path(folder) / name)
    (Path(folder) / "names.txt").write_text("\n".join(CLASSES) + "\n")


if __name__ == "__main__":
    write_all(sys.argv[1])

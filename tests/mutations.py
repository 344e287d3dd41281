"""Files and tallies spoiled at random, and what may come of reading them: a result, or one InputError."""

import copy
import gzip
import io
import json
import signal
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from sheets import Server, good_sheets, spoiled_sheet
from spoiled_tallies import tallies
from unperplexed import InputError, Recalibrator, Tally, assess, monitor, pool
from unperplexed.language_models import (
    Answer,
    Question,
    Text,
    assess_answers,
    assess_questions,
    assess_texts,
    read_items,
)
from unperplexed.results import History, Pool
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.predictive import read_distributions
from unperplexed.sources.predictive_columns import PredictiveSelection
from unperplexed.sources.readers import spreadsheet
from unperplexed.tally.sections import Sections, packed
from unperplexed.tally.serialization import _PREFIX, MAGIC

LONGEST = 20
"""Seconds after which a reading counts as one without end."""


@dataclass(frozen=True)
class Found:
    """What came of one spoiled file."""

    kind: str
    """"read", "refused", "hang", or the name of an exception that no user should see."""
    seconds: float
    text: str = ""


def good_files(folder: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Small files of every format, by name."""
    n = 40
    p = rng.dirichlet([1, 1, 1], size=n).round(3)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    y = rng.integers(0, 3, n)
    words = np.array(["rain", 'no "rain"', "fög"])[y]
    q = rng.random(n).round(4)
    columns = {"z": (y == 1).astype(int).tolist(), "q": q.tolist(), "p": p.tolist(), "y": words.tolist()}
    table = pa.table(columns)
    rows = table.to_pylist()
    quoted = (row["y"].replace('"', '""') for row in rows)
    text = "z,q,y\n" + "".join(f'{row["z"]},{row["q"]},"{word}"\n' for row, word in zip(rows, quoted, strict=True))
    files = {
        "csv": text.encode(),
        "tsv": b"z\tq\n" + "".join(f"{row['z']}\t{row['q']}\n" for row in rows).encode(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "csv.gz": gzip.compress(text.encode(), mtime=0),
    }
    path = folder / "seed"

    def written(name: str, write: Callable[[Path], object]) -> None:
        write(path)
        files[name] = path.read_bytes()

    def stream(to: Path) -> None:
        with to.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=16)

    written("parquet", lambda to: pq.write_table(table, to, row_group_size=16))
    written("plain.parquet", lambda to: pq.write_table(table, to, compression="none", use_dictionary=False))
    written("feather", lambda to: pyarrow.feather.write_feather(table, to, chunksize=16))
    written("plain.feather", lambda to: pyarrow.feather.write_feather(table, to, compression="uncompressed"))
    written("arrow", stream)
    for name, save in (("npz", np.savez), ("packed.npz", np.savez_compressed)):
        buffer = io.BytesIO()
        save(buffer, z=table["z"].to_numpy(), q=q, p=np.asfortranarray(p), y=words)
        files[name] = buffer.getvalue()
    buffer = io.BytesIO()
    np.save(buffer, np.array(list(zip((y == 1).astype(float), q, strict=True)), dtype=[("z", "f8"), ("q", "f8")]))
    files["npy"] = buffer.getvalue()
    return files


TOKENS = [
    *(b"nan", b"inf", b"-1", b"1e999", b"1e-400", b"0x1", b"9" * 400, b"1_0", b"", b'"', b"\n", b",", b"\r\n", b"\x00"),
    *("\u0660.\u0667".encode(), b"\xff", b"[", b"{", b"}", b"]", b"null", b"true", b"(", b"'", b"{}", b"[[]]"),
    *(bytes(8), b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\x01" + bytes(7)),
]


def spoiled(content: bytes, rng: np.random.Generator, others: list[bytes]) -> bytes:
    """Change bytes in one to four places, as damage or an enemy would."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(data) + 1)) if rng.random() < 0.7 else max(0, len(data) - int(rng.integers(1, 200)))
        kind, end = int(rng.integers(8)), at + int(rng.integers(1, 30))
        if kind <= 1 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            token = TOKENS[int(rng.integers(len(TOKENS)))]
            data[at : at + len(token)] = token
        elif kind == 3:
            data[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
        elif kind == 4:
            del data[at:end]
        elif kind == 5:
            data[at:at] = data[at:end] * int(rng.integers(1, 4))
        elif kind == 6:
            other = others[int(rng.integers(len(others)))]
            begin = int(rng.integers(len(other)))
            data[at:end] = other[begin : begin + end - at]
        elif rng.random() < 0.3:
            del data[at:]
        if not data:
            break
    return bytes(data)


@contextmanager
def ended(seconds: int = LONGEST) -> Iterator[None]:
    """Raise TimeoutError where something takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome_of(reading: Callable[[], object]) -> Found:
    """Read something spoiled, and say what came of it."""
    start = time.perf_counter()
    try:
        with ended(), warnings.catch_warnings():
            warnings.simplefilter("error")
            reading()
        kind, text = "read", ""
    except InputError as error:
        kind, text = "refused", str(error)
    except TimeoutError:
        kind, text = "hang", ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # polars' panics are no Exception
        kind, text = type(error).__name__, f"{error}"
    return Found(kind, time.perf_counter() - start, text)


def read_file(path: Path, rng: np.random.Generator) -> None:
    """Count a file by one of the columns that it may have."""
    lists = not path.name.endswith(("csv", "tsv", "csv.gz", "npy", "xlsx", "ods")) and rng.random() < 0.5
    truth, prob = ("y", "p") if lists else ("z", "q")
    options = {"scale": "probability", "invalid": ["drop"] * bool(rng.random() < 0.5) + ["rescale"] * (prob == "p")}
    labels = ['no "rain"', "rain", "fög"] if prob == "p" else None
    files = ForecastFiles([str(path)], Selection([truth], [prob]), FileReading(labels=labels, options=options))
    Tally.count(forecasts for batch in files for forecasts in batch.forecasts).to_bytes()


SERVERS: dict[Path, Server] = {}


def read_sheet(path: Path, rng: np.random.Generator) -> None:
    """Count a spreadsheet, which the fork of another process reads."""
    if path.parent not in SERVERS:
        SERVERS[path.parent] = Server(path.parent)
    before, spreadsheet._read = spreadsheet._read, SERVERS[path.parent].read
    try:
        read_file(path, rng)
    finally:
        spreadsheet._read = before


class Spoiling:
    """Gives readings of spoiled input, one after another: files, tallies, maps of recalibration, pools, or logs."""

    def __init__(self, kind: str, folder: Path, rng: np.random.Generator) -> None:
        self._kind, self._folder, self._rng = kind, folder, rng
        made = GOOD[kind](folder, rng)
        self._names, self._contents = list(made), list(made.values())

    def next(self) -> tuple[str, bytes, Callable[[], object]]:
        """Give a name, the spoiled content, and what reads it."""
        rng, kind = self._rng, self._kind
        at = int(rng.integers(len(self._names)))
        name, content = self._names[at], self._contents[at]
        path = self._folder / f"f.{name}"
        if kind == "tallies":
            made = spoiled_tally(content, rng)
            return name, made, lambda: read_tally(made, rng)
        if kind == "distributions" and name.endswith("csv") and rng.random() < 0.7:
            made = spoiled_table(content, rng)
        elif kind == "sheets" and rng.random() < 0.8:
            made = spoiled_sheet(content, rng)
        elif kind in ("files", "distributions", "sheets") or (
            kind == "logs" and (not name.endswith("json") or rng.random() < 0.3)
        ):
            made = spoiled(content, rng, self._contents)
        else:
            made = spoiled_json(content, rng)
        path.write_bytes(made)
        return name, made, lambda: READERS[kind](path, rng)


def good_tallies(_: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Tallies of all kinds, by name."""
    return {name: tally.to_bytes() for name, tally in tallies(rng).items() if tally.n_rows}


def good_maps(_: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Maps of two and of three classes."""
    made = {}
    for classes in (2, 3):
        p = rng.dirichlet(np.ones(classes), 200)
        y = rng.integers(0, classes, 200)
        fitted = Recalibrator().fit(y, p if classes > 2 else p[:, 1])
        made[f"{classes}.json"] = json.dumps(fitted.to_dict()).encode()
    return made


def sealed(header: object, sections: list[bytes], version: int) -> bytes:
    """A tally file of this content, with a right checksum."""
    head, body = json.dumps(header).encode(), b"".join(sections)
    length = _PREFIX.size + len(head) + len(body)
    digest = sha256(_PREFIX.pack(MAGIC, version, len(head), length, bytes(32)) + head + body).digest()
    return _PREFIX.pack(MAGIC, version, len(head), length, digest) + head + body


VALUES = [0, 1, -1, 2, 0.5, 1e-320, 1e308, 2**31, 2**53, 2**62, 2**70, None, True, "", "1", [], {}, [1], {"a": 1}]
NUMBERS = [0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-320, 1e308, -0.0, 1e16, 255.0]


def spoiled_tally(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a value of the header, or numbers of a column, and seal it with a right checksum."""
    _, version, header_length, _, _ = _PREFIX.unpack(content[: _PREFIX.size])
    good = Sections(io.BytesIO(content), _PREFIX.size, header_length, version < 8)
    header, sections = copy.deepcopy(good.header), []
    for at, section in good.places.values():
        sections.append(content[at : at + section["stored"]])
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.35:
            place, key = header, list(header)[int(rng.integers(len(header)))]
            while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.7:
                place = place[key]
                keys = list(place) if isinstance(place, dict) else range(len(place))
                key = keys[int(rng.integers(len(keys)))]
            new = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
            if isinstance(place[key], int | float) and not isinstance(place[key], bool) and rng.random() < 0.5:
                new = place[key] + [1, -1, 1e-9][int(rng.integers(3))]
            place[key] = new
        else:
            which = int(rng.integers(len(sections)))
            was = good.header["sections"][which]
            body, kind = bytearray(good.read(was["name"], was["length"])), was.get("as", was["type"])
            if kind in ("<f8", "<i8") and body:
                numbers = np.frombuffer(bytes(body), kind).copy()
                at = int(rng.integers(numbers.size))
                if kind == "<i8":
                    with np.errstate(over="ignore"):
                        numbers[at] += int(rng.choice([1, -1, 2**31, -(2**40), 2**60]))
                else:
                    how = rng.random()
                    with np.errstate(all="ignore"):
                        scaled = numbers[at] * rng.choice([0, 2, 1 + 1e-12, 1 - 1e-7, 1e-300, 1e300])
                    other = numbers[int(rng.integers(numbers.size))]
                    numbers[at] = rng.choice(NUMBERS) if how < 0.4 else other if how < 0.6 else scaled
                body = bytearray(numbers.tobytes())
            elif body:
                body[int(rng.integers(len(body)))] ^= 1 << int(rng.integers(8))
            sections[which] = packed(bytes(body))
            places = header["sections"]
            section = places[which] if isinstance(places, list) and which < len(places) else None
            if isinstance(section, dict) and "stored" in section:
                section["stored"] = len(sections[which])
    return sealed(header, sections, version if rng.random() < 0.98 else int(rng.integers(0, 9)))


def read_tally(content: bytes, rng: np.random.Generator) -> None:
    """Read a tally, add it to itself, write it, and now and then assess it."""
    tally = Tally.from_bytes(content)
    (tally + tally).to_bytes()
    tally.summary()
    if rng.random() < 0.2:
        assess(tally, resamples=0).to_json()


HUGE = 10**400
"""A number that JSON can hold and no float."""


def spoiled_json(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one or two values of a JSON document, or leave out or add a key."""
    data = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        place: object = {"": data}
        key: object = ""
        while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
            place = place[key]
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = keys[int(rng.integers(len(keys)))]
        if place == {"": data}:
            continue
        if rng.random() < 0.1:
            del place[key]
        else:
            place[key] = copy.deepcopy(JSON_VALUES[int(rng.integers(len(JSON_VALUES)))])
    return json.dumps(data).encode()


JSON_VALUES = [*VALUES, *NUMBERS, HUGE, -HUGE, "\ud800", "nan", "0.5", "[0, 1]", -(2**63), [[]], [None, "a", 0.5]]


def read_map(path: Path, _: np.random.Generator) -> None:
    """Load a map, apply it, and write it."""
    made = Recalibrator.load(path)
    made.transform(
        [0.25, 0.5, 1.0] if len(made.labels_) == 2 else np.full((2, len(made.labels_)), 1 / len(made.labels_))
    )
    made.to_text()
    Recalibrator.from_dict(made.to_dict())


def good_pools(_: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Pools of two and of three classes, in every way of combining."""
    made = {}
    for classes in (2, 3):
        y = rng.integers(0, classes, 120)
        members = {name: rng.dirichlet(np.ones(classes), 120) for name in "ab"}
        members = {name: p if classes > 2 else p[:, 1] for name, p in members.items()}
        for method in ("linear", "logarithmic"):
            made[f"{method}{classes}.json"] = json.dumps(pool(y, members, method=method).to_dict()).encode()
    return made


def read_pool(path: Path, _: np.random.Generator) -> None:
    """Load a pool, apply it, and describe it."""
    made = Pool.load(path)
    classes = len(made.labels)
    p = [0.25, 0.5, 1.0] if classes == 2 else np.full((2, classes), 1 / classes)
    made.transform(dict.fromkeys(made.weights, p))
    made.to_text()


def good_histories(_: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Histories of two and of three classes, with groups and without."""
    made = {}
    for classes in (2, 3):
        periods = {}
        for day in range(4):
            y, p = rng.integers(0, classes, 60), rng.dirichlet(np.ones(classes), 60).round(2)
            p[:, -1] = 1 - p[:, :-1].sum(axis=1)
            periods[f"2026-03-0{day + 1}"] = Tally.of(y, p if classes > 2 else p[:, 1], parts=["classes"])
        made[f"{classes}.json"] = History.of(periods).to_bytes()
        grouped = History()
        for name, tally in periods.items():
            grouped = grouped.after(name, {"north": tally, "south": tally})
        made[f"groups{classes}.json"] = grouped.to_bytes()
    return made


def read_history(path: Path, rng: np.random.Generator) -> None:
    """Load a history, write it, and now and then monitor it."""
    made = History.load(path)
    made.to_bytes()
    if rng.random() < 0.1:
        monitor(made, clusters="none").to_json()


def good_logs(folder: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Short logs of every form, as JSON, JSON Lines, gzip, Parquet and Inspect's archive."""
    values = [-0.5, -1.25]
    tokens = [{"token": each, "logprob": x, "bytes": [*each.encode()]} for each, x in zip("né", values, strict=True)]
    chat = {"choices": [{"message": {"content": "né"}, "logprobs": {"content": tokens}}]}
    split = [{"token": "\ufffd", "logprob": -0.5, "bytes": [x]} for x in "é".encode()]
    plain = [{"doc": f"d{k}", "text": "né", "logprobs": values, "tokens": ["n", "é"]} for k in range(4)]
    samples = [
        {
            "id": k,
            "epoch": 1 + k % 2,
            "scores": {"match": {"value": "CI"[k % 2], "metadata": {"confidence": 0.75}}},
            "output": {"completion": "70%", "choices": chat["choices"]},
        }
        for k in range(6)
    ]
    inspect = {"status": "success", "eval": {"task": "t"}, "plan": {}, "results": {}}
    choice = {
        "doc_id": 0,
        "doc": {"question": "q"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "q", "arg_1": " a"}, "gen_args_1": {"arg_0": "q", "arg_1": " b"}},
        "resps": [[["-1.5", "False"]], [["-0.5", "True"]]],
        "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "acc": 1.0,
    }
    rolling = choice | {"arguments": {"gen_args_0": {"arg_0": "some text"}}, "filtered_resps": ["-7.5"]}
    rolling |= {"resps": [["-7.5"]], "metrics": ["word_perplexity"], "word_perplexity": [-7.5, 2]}
    lines = {
        "plain": plain,
        "chat": [chat, {"choices": [{"message": {"content": "éé"}, "logprobs": {"content": split * 2}}]}],
        "legacy": [{"choices": [{"text": "né", "logprobs": {"tokens": ["n", "é"], "token_logprobs": values}}]}],
        "batch": [{"custom_id": "a", "response": {"status_code": 200, "body": chat}}],
        "prompt": [{"choices": [{"prompt_logprobs": [None, {"7": {"logprob": -0.5, "decoded_token": "n"}}]}]}],
        "inspect": [inspect | {"samples": samples}],
        "choice": [choice, choice | {"doc_id": 1, "target": "[0, 1]"}],
        "rolling": [rolling],
        "llama": [{"content": "né", "completion_probabilities": tokens}],
        "sglang": [{"text": "né", "meta_info": {"output_token_logprobs": [[x, 3, "n"] for x in values]}}],
        "tgi": [{"generated_text": "né", "details": {"tokens": [{"text": "né", "logprob": -0.5, "special": False}]}}],
    }
    files = {f"{name}.json": json.dumps(each if len(each) > 1 else each[0]).encode() for name, each in lines.items()}
    text = "\n".join(map(json.dumps, plain)).encode()
    files |= {"plain.jsonl": text, "plain.jsonl.gz": gzip.compress(text, mtime=0)}
    path = folder / "seed"
    table = [{"doc": each["doc"], "bytes": 3, "logprobs": each["logprobs"]} for each in plain]
    pq.write_table(pa.Table.from_pylist(table), path)
    files["plain.parquet"] = path.read_bytes()
    doc = {"task_name": "t", "choices": [" a", " b"], "gold_index": 1, "query": "q"}
    response = {"logprobs": values, "unconditioned_logprobs": values}
    pq.write_table(pa.Table.from_pylist([{"doc": doc, "model_response": response}] * 3), path)
    files["lighteval.parquet"] = path.read_bytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect))
        for each in samples:
            archive.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
    files["inspect.eval"] = path.read_bytes()
    return files


def read_log(path: Path, rng: np.random.Generator) -> None:
    """Read a log and assess what is in it."""
    items = [*read_items(path, stated="metadata.confidence" if rng.random() < 0.5 else "output.completion")]
    for kind, assessed in ((Text, assess_texts), (Question, assess_questions), (Answer, assess_answers)):
        some = [each for each in items if isinstance(each, kind)]
        if some:
            found = assessed(some) if kind is Text else assessed(some, resamples=0)
            found.to_json()
            str(found)


LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
FORECASTS = {
    "wide": ("quantiles", ["q*"]),
    "members": ("samples", ["q*"]),
    "family": ("distribution", ["normal", "mean=q0.5", "sd=s"]),
    "counts": ("distribution", ["negative-binomial", "mean=s", "size=s"]),
    "pit": ("pit", ["u", "v"]),
    "long": ("quantiles", ["output_type_id=value"]),
    "hub": ("hub", []),
}
"""Forms of predictive distributions, each with the words that name it."""


def good_distributions(folder: Path, rng: np.random.Generator) -> dict[str, bytes]:
    """Tables of predictive distributions in every form, as CSV and Parquet."""
    n = 30
    middle, spread = rng.normal(10, 2, n).round(2), rng.uniform(1, 3, n).round(2)
    wide = pl.DataFrame({
        "location": np.arange(n) // 5, "reference_date": [f"2026-03-{1 + k % 5:02}" for k in range(n)],
        "target_end_date": [f"2026-03-{3 + k % 5:02}" for k in range(n)], "y": rng.poisson(10, n),
        "s": spread, "u": (np.arange(n) / n).round(3), "v": ((np.arange(n) + 0.5) / n).round(3),
        **{f"q{x}": (middle + spread * NormalDist().inv_cdf(x)).round(3) for x in LEVELS},
    })  # fmt: skip
    keys = ["location", "reference_date", "target_end_date", "y"]
    lines = wide.unpivot([f"q{x}" for x in LEVELS], index=keys, variable_name="output_type_id")
    lines = lines.with_columns(pl.col("output_type_id").str.slice(1).cast(pl.Float64), output_type=pl.lit("quantile"))
    made = {}
    for name in FORECASTS:
        table = lines if name in ("long", "hub") else wide
        table = table.drop("output_type") if name == "long" else table
        made[f"{name}.csv"] = table.write_csv().encode()
        table.write_parquet(folder / "seed")
        made[f"{name}.parquet"] = (folder / "seed").read_bytes()
    return made


CELLS = (None, np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 0.5, 2.0, 1e308, -1e308, 1e-308, 5e-324, 1e15, "x", "", "2026")
"""What cells of a table are replaced with."""


def spoiled_table(content: bytes, rng: np.random.Generator) -> bytes:
    """Change cells, repeat, leave out or exchange rows, or exchange columns of a CSV file."""
    table = pl.read_csv(content, infer_schema=False)
    for _ in range(int(rng.integers(1, 4))):
        column, kind = table.columns[int(rng.integers(table.width))], int(rng.integers(6))
        rows = rng.random(table.height) < rng.choice([0.05, 0.5, 1.0])
        if kind <= 2:
            cell = CELLS[int(rng.integers(len(CELLS)))]
            text = pl.lit(None if cell is None else str(cell), pl.String)
            table = table.with_columns(pl.when(pl.Series(rows)).then(text).otherwise(pl.col(column)).alias(column))
        elif kind == 3:
            table = pl.concat([table, table.filter(pl.Series(rows))])
        elif kind == 4:
            table = table.filter(pl.Series(rows)) if rng.random() < 0.5 else table.sample(fraction=1, shuffle=True)
        else:
            other = table.columns[int(rng.integers(table.width))]
            swapped = {column: other, other: column}
            table = table.select(pl.col(swapped.get(name, name)).alias(name) for name in table.columns)
    return table.write_csv().encode()


def read_forecasts(path: Path, rng: np.random.Generator) -> None:
    """Read predictive distributions, and assess them."""
    form, words = FORECASTS[path.name.split(".")[1]]
    dated = form == "hub" or rng.random() < 0.5
    weight = "s" if rng.random() < 0.1 and form != "hub" else None
    censored = {"above": "q0.9"} if rng.random() < 0.1 and form == "distribution" else {}
    issued, target = ("reference_date", "target_end_date") if dated else (None, None)
    selection = PredictiveSelection(
        form, words, "y", on=["location", "reference_date"], weight=weight, censored=censored, issued=issued,
        target_date=target,
    )  # fmt: skip
    reading = FileReading(options={"invalid": ["drop"]} if rng.random() < 0.5 else {})
    read = read_distributions([str(path)], selection, reading)
    asked = {"issued": read.issued, "target_date": read.target, "sample_weight": read.weight}
    found = assess(read.y, read.forecast, **asked, censored=read.censored or None)
    found.to_json()
    str(found)


GOOD = {
    "files": good_files,
    "distributions": good_distributions,
    "sheets": good_sheets,
    "tallies": good_tallies,
    "maps": good_maps,
    "pools": good_pools,
    "histories": good_histories,
    "logs": good_logs,
}
READERS = {
    "files": read_file,
    "distributions": read_forecasts,
    "sheets": read_sheet,
    "maps": read_map,
    "pools": read_pool,
    "histories": read_history,
    "logs": read_log,
}

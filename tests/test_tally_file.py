"""Tallies as bytes and as files: the same in, the same out, and nothing else is believed."""

import base64
import io
import json
import tracemalloc
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest

from conftest import softmax_forecasts
from unperplexed import InputError, Tally, assess
from unperplexed._tally_file import _PREFIX, MAGIC, _columns, tally_state

PARTS = ("classes", "shards")


def tallies(rng):
    y, p = softmax_forecasts(rng, 400, 5)
    z, q = softmax_forecasts(rng, 400, 2)
    tenths = np.round(q[:, 1], 1)
    w = rng.exponential(size=400)
    return {
        "empty": Tally(),
        "no rows": Tally.of([], []),
        "exact": Tally.of(z, tenths),
        "cells": Tally.of(y, p, exact_limit=0),
        "weighted": Tally.of(y, p, sample_weight=w, parts=PARTS),
        "parts": Tally.of(y, p, exact_limit=9, parts=PARTS, source="a.csv"),
        "infinite": Tally.of([1, 0], [0.0, 0.3], parts=PARTS),
        "labels": Tally.of(["é\n\u202e", "b"], [0.4, 0.3], labels=["b", "é\n\u202e"]),
        "surrogates": Tally.of(["\ud800", "b"], [0.4, 0.3], labels=["b", "\ud800"]),
        "label kinds": Tally.of([True, False], [0.4, 0.3]),
        "unknown label": Tally.of(["yes"], [0.4], pos_label="yes"),
        "notes": Tally.of([1, 2, 0, 1], [0.2, 0.3, np.nan, 0.5], ignore_label=2, drop_invalid=True),
        "ties": Tally.of([0, 1, 2], [[0.4, 0.4, 0.2], [1 / 3] * 3, [0.5, 0.25, 0.25]]),
    }


@pytest.mark.parametrize("name", tallies(np.random.default_rng(0)))
def test_round_trip(rng, tmp_path, name):
    tally = tallies(rng)[name]
    path = tmp_path / "x.tally"
    tally.save(path)
    for again in (Tally.from_bytes(tally.to_bytes()), Tally.load(path)):
        assert again.to_bytes() == tally.to_bytes() == path.read_bytes()
        assert again.labels == tally.labels
        assert [type(label) for label in again.labels] == [type(label) for label in tally.labels]
        assert again.notes == tally.notes
        if tally.weight:
            assert assess(again).to_json() == assess(tally).to_json()
        assert (again + tally).to_bytes() == (tally + tally).to_bytes()


def test_every_flipped_bit_is_noticed(rng):
    content = Tally.of(*softmax_forecasts(rng, 5, 3)).to_bytes()
    for at in range(len(content)):
        for bit in range(0, 8, 1 if at < 200 else 3):
            spoiled = bytearray(content)
            spoiled[at] ^= 1 << bit
            with pytest.raises(InputError, match=r"damaged|truncated|too long|not a tally"):
                Tally.from_bytes(bytes(spoiled))


def test_every_truncation_is_noticed(rng):
    content = Tally.of(*softmax_forecasts(rng, 5, 3)).to_bytes()
    for length in range(len(content)):
        with pytest.raises(InputError, match=r"truncated|not a tally"):
            Tally.from_bytes(content[:length])
    with pytest.raises(InputError, match="3 bytes too long"):
        Tally.from_bytes(content + b"abc")


def rewritten(content, change):
    """The same bytes with a changed header and a right checksum, as another program might write them."""
    from hashlib import sha256

    magic, version, header_length, _, _ = _PREFIX.unpack(content[: _PREFIX.size])
    header = json.loads(content[_PREFIX.size : _PREFIX.size + header_length])
    body = content[_PREFIX.size + header_length :]
    header, body, version = change(header, body, version)
    head = json.dumps(header).encode() if not isinstance(header, bytes) else header
    length = _PREFIX.size + len(head) + len(body)
    digest = sha256(_PREFIX.pack(magic, version, len(head), length, bytes(32)) + head + body).digest()
    return _PREFIX.pack(magic, version, len(head), length, digest) + head + body


def with_section(name, **changes):
    def change(header, body, version):
        for section in header["sections"]:
            if section["name"] == name:
                section.update(changes)
        return header, body, version

    return change


WRONG = {
    "another version": (lambda h, b, _: (h, b, 7), "version 7 of the format"),
    "no JSON": (lambda _, b, v: (b"{", b, v), "do not fit together"),
    "nested JSON": (lambda _, b, v: (b"[" * 10**6, b, v), "do not fit together"),
    "no sections": (lambda h, b, v: ({**h, "sections": []}, b, v), "do not fit together"),
    "other type": (with_section("pairs/key", type="O"), "do not fit together"),
    "huge section": (with_section("pairs/total", length=1 << 60), "do not fit together"),
    "short section": (with_section("pairs/total", length=8), "do not fit together"),
    "section past the end": (with_section("pairs/total", stored=1 << 40), "do not fit together"),
    "body gone": (lambda h, _, v: (h, b"", v), "do not fit together"),
    "labels missing": (lambda h, b, v: ({**h, "n_classes": 9}, b, v), "do not fit together"),
    **{
        f"{name} {value!r:.20}": (
            lambda h, b, v, name=name, value=value: ({**h, name: value}, b, v),
            "do not fit together",
        )
        for name, values in {
            "n_rows": [-1, 21, 1.5, "3", None, True],
            "n_classes": [2, 2**70],
            "exact_limit": ["a", -1],
            "fraction_bits": [0, 21, 2**63, []],
            "weighted": [0, "no"],
            "weight": ["3", -1.0, 1e999, 1e9, 0.0],
            "exact": [1],
            "notes": [None, {}, {"ignored": -1, "dropped": {}, "rescaled": 0, "largest_deviation": 0}],
            "sources": [["a"], {"a": "b"}],
            "scores": [[], {"x": []}, {"x": [["1", "nan"]] * 3}, {"x": [["inf", "0"]] * 3}, {"x": [[1, 0]] * 3}],
            "top_tables": [3, ["1"], [-1], [10**9]],
            "parts": [None, ["classes"], "zz", ["zz"]],
            "sections": [{}, [{}], [[]]],
        }.items()
        for value in values
    },
    "cells for values": (lambda h, b, v: ({**h, "exact": False}, b, v), "do not fit together"),
}


@pytest.mark.parametrize("case", WRONG)
def test_right_checksum_wrong_content(rng, case):
    change, message = WRONG[case]
    content = Tally.of(*softmax_forecasts(rng, 20, 3)).to_bytes()
    assert Tally.from_bytes(rewritten(content, lambda h, b, v: (h, b, v))).to_bytes()
    with pytest.raises(InputError, match=message):
        Tally.from_bytes(rewritten(content, change))


def with_column(name, change):
    """A tally whose column was changed before it was written, with a right checksum."""
    table, _, column = name.partition("/")

    def changed(tally):
        values = getattr(getattr(tally, table), column).copy()
        change(values)
        return replace(tally, **{table: replace(getattr(tally, table), **{column: values})})

    return changed


def put(at, value):
    def change(values):
        values[at] = value

    return change


IMPOSSIBLE = {
    "keys out of order": with_column("pairs_table/key", lambda v: v[::-1].sort()),
    "keys twice": with_column("pairs_table/key", lambda v: put(1, v[0])(v)),
    "key too high": with_column("pairs_table/key", put(-1, 2**40)),
    "negative count": with_column("pairs_table/total", put(0, -1)),
    "infinite count": with_column("pairs_table/total", put(0, np.inf)),
    "not a number": with_column("pairs_table/first", put(0, np.nan)),
    "more happened than there is": with_column("pairs_table/happened", put(0, 1e9)),
    "low above 1": with_column("pairs_table/low", put(0, 1.5)),
    "negative squares": with_column("pairs_table/squared", put(0, -1)),
    "class beyond the last": with_column("classes/key", put(-1, 3 * 256)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_counts_are_refused(rng, case):
    tally = Tally.of(*softmax_forecasts(rng, 50, 3), exact_limit=0, parts=PARTS)
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(IMPOSSIBLE[case](tally).to_bytes())


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04" + bytes(100), b"p,y\n0.5,1\n", MAGIC.replace(b"\r\n", b"\n") * 9]
)
def test_other_files_are_no_tallies(tmp_path, content):
    path = tmp_path / "x.tally"
    path.write_bytes(content)
    with pytest.raises(InputError, match="x.tally: not a tally"):
        Tally.load(path)


def test_bad_files_are_refused_in_constant_memory(tmp_path):
    """A hundred megabytes of damage are refused in two."""
    path = tmp_path / "big.tally"
    length = 100 << 20
    for bad in (length, length + 1, 1 << 60):
        with path.open("wb") as stream:
            stream.write(_PREFIX.pack(MAGIC, 1, 100, bad, bytes(32)))
            stream.truncate(length)
        tracemalloc.start()
        with pytest.raises(InputError, match="damaged" if bad == length else "truncated"):
            Tally.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20


def test_a_bomb_is_not_unpacked(rng):
    """A section that says it is small, and unpacks to a gigabyte."""
    content = Tally.of(*softmax_forecasts(rng, 20, 3)).to_bytes()
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256)) + packer.flush()

    def change(header, body, version):
        header["sections"][0]["stored"] = len(bomb)
        return header, bomb + body[header["sections"][0]["stored"] :], version

    spoiled = rewritten(content, change)
    tracemalloc.start()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(spoiled)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_streams_and_missing_files(rng, tmp_path):
    tally = Tally.of([1], [0.5])
    assert Tally(**tally_state(io.BytesIO(tally.to_bytes()))).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="none.tally: cannot be read: No such file"):
        Tally.load(tmp_path / "none.tally")


def test_size_on_disk_is_bounded(rng):
    y, p = softmax_forecasts(rng, 20_000, 10)
    assert len(Tally.of(y, p, parts=PARTS).to_bytes()) < 4 << 20


VERSION_1 = (
    "eNq1lw9QXMUdx/fdg7sLQo7UpBBK4DjHJB0N7Nt9fyHBS01lVNKAMbUVmbvH8Y679HJ33h1wEDMhAW1MCqPjqCRqqkmbyVQ7/es0xaigNY2OJLE6"
    "bZrpdCS1rUZtplNJQ0yT7nsH5O68494BAsPc/t7uZ7/7+3137+3DmxruLsgryaMAAEVLANhSArSfN16q3LvyluLlt5eNVh0a21P325K/bhj79Mm1"
    "xSe6/7T0bOPhrbbOkDcSUfyOli5btdXW7g8qoaBPiSqtVljJVELbzVabEpVdEYfPu8UbIX0gibhDJOINkFHeSJjEJBLzO0KBTrXBaQ2XTw6HFbWN"
    "SbtT8bZ5IkorabplX1iZDqn9K+F00xG+v10Oaf1iYW3uuFH+QESDbrV52/yBWE+GxFtDgWBQa23dRpohJeySfVpbpfjkUJsSjjhalQ6vrApX45VQ"
    "7RkOtIdck8iwN1rpCneok6uPgnJIW12TbWoxan+PHGoN25rJx0gg6IjILT5tdBNRgdRo2EVkxXi+QJvDFwhrj5tsPIMhI7GswLBYhLzEMiISEc/z"
    "ggAxYiAPeU5C6hxev1udYFZDWJHHnMjzCGMWkgEcL3KiyEJehBwUJUGSsIDE6SGq4paQVwk5NN0xpQIviohjBSTwjCRxmEc8A4kKERE6zzESEjmB"
    "VxkkibFpZzGEgQxmJSwyDCuRjxhxDIexyGGJaBYg4pBA9F4boyU36FFCXlLaeLk8jyUEISK/jCBhLDAQSSKEnIQRRpBneYET2YS5ZzGEQyRzLEuW"
    "xfMsA4lINcMkyEOiWy0Hhlyi2qDil33ebqXV8YUUSyLDkdJyCIpkJkbkOMgxRBODSIuVEEIilBLzNYshjCCQjliCxDQcYhExBMSYgQIWMcMIGMcI"
    "aUQn2lcgCWKxRP4kxIs8mY6HkGd4FrKQEQViTiSyYoIXZzOEpB4xrIh5SSTVV7uxLMIiTyrFIawunolzfLO2hRXtMNJ0brX55S1qjsmeb1F82paN"
    "dAW1yOYw2fjqaaD42yKeyWMrHJk6RQTCujY8KHtD4arvKV3xhNVeMQEgoHgCC1MQIoGI7EtguGdiICkFwyOTs81PnuvHcCkwU2fr3Chu8i+in8Gk"
    "WhCpWMDf6vCQIz8LNUx6ki/QOUdQVgTMpqpSVqvBibkl3yVVTCa74ZmqEyNktFsiI8n0MYYeu+GZihzD6LCbDkpGuyUlBadSos9uSSSUnpTBLDpA"
    "2RH4VFXKbjVfRKBMdhMTioNSADK6LRGBUyD0mC0zRYfXMkMyWi0RwabSoc9pukEZbJKZM2fAXJYy+dqcyWcMgglfo1JKSEavJWGSjrYpjB6/JZGS"
    "9s4UKeiTXUoWmKTXg9hFokq9NGV57jNpOdoNbLbnbTxo8nI2HyiPekWcI0jXy5iYmG0mPSjzsZVYfzE9StfxBTOXL0bLaKlEFOZToWIX0Kqpt/f5"
    "MFcy0hWQQ2FFf1Ux1EN1e/1ZMJEwAzPuvjWP64+nZpsC3XKzzAKeAZt0W57HTCSTs84GlwU8u4zM6LWUN/J5zEtqftbbBWU9RZY50reGL+EISQGf"
    "18MkBT/LDSVua94Wpfbwpxrhe41wdy5Y0EF9EKVczh7w2PmGSyv63Jdzn3v3uV+/GTh8sdy85p9Vfe4rI2Y3AHc0L+hQ+wHaZB4fKfsGtk98yJr2"
    "VQ9eslwAz/QZc7WHOywXnLvhGGg0bLQcXFoM2gvoEzM+sFJvn/mo50DJwxYgHaZXxEJ3199vb2x+MeeECcAyw/OxoGc/CS6LGEhw1dcNj6hBu7H8"
    "XMXq+u4/1hce8Voe3e78odF48tnLlnFwIqewd7LHlVujg5+9sNcafLfMdnW4tiB//9qJ8is0WPnY9XSUwhOjwPiD7dbPnn61cN+E6YZBCjRV57w2"
    "rTnvugKw1pfz8rVAr9sJwC3r6YF0oZ3fvWmZfXEpWRdw0UB4ny6KhXd/1VSYa9p0Z6nTByq/bXhKixpG1yy05i3c+S1x+DS4STb0RKmnuOtz/Gdw"
    "zwj9OQujxr9vP2wCx6m836d4ctECju+4rm5yGcD8IAWnVAHDiowNVSmgPVTftEBgOEKtmRYGDDXU8qlpabBkKOfnya1Vb1V8BVjz6ZHhzkeXfFq/"
    "7saTxnf2/HnXnaN5/UXlm0cX1N/Mbt7QCU+dvki94jG+eM0LAywwvLxIS/Swqfb0wbcO/KdRWVq86/GrTgug7sr9ROtK5dYVelteyD/UNvreurHe"
    "Dx6h6suerB28d7A6UvIjC/jlMwU4Sm2Ue3r2NlQPLHoNyjtPgZLHqY3xtQmS2vTH2TAxRBzyScXq4v+9XgZs4/QTJNQgg96rDUMPLO9zWH78q78V"
    "jxjeaBhadkyQDXvusX+0eWUBcNxoupSwF579t3z2iGewe6EJSLebb4ibyrrp6REK/KI5NtmwMb+04kCekzh2/eIzv/vO0v5A/lmh+Gs1NQbwMTQP"
    "zbSWcesf1p7fS++qDU6UDHaYL30MQMs+0wPa3u2li179fs3O6H3n9jvvve3YyUXgm2M5B9PT6Dpz++vUOuForfnQircvfwiANGG0agpBgeX5+0p3"
    "HDAeOzY6AMr+S7+UFmPvofN+Vmo/+tC5zsLuN+8xgVvLjf0xPQ91jVeYdqx+8JWfdg1Y36F/s3ihATQ0muxpWU7nLrPSnnOXPUh08aqu8qOf/wOA"
    "DU2xJTrN5oJVa473TMr7i6nz/IVqA5CrTBO6k/bE+66OHOCoMRYlJ806NPavgbw6sL7f+JP/A9MH6pg="
)
"""A tally of six rows as version 1 of the format has it, packed once more."""


def test_a_file_of_version_1_is_read_for_ever():
    """Written down once: what the first version wrote, later ones read to the same counts and figures."""
    p = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2], [1, 0, 0], [0.25, 0.25, 0.5], [0.125, 0.75, 0.125]]
    groups = ["a", "b", "b", "c", "d", "e"]
    written = Tally.from_bytes(zlib.decompress(base64.b64decode(VERSION_1)))
    counted = Tally.of(
        [0, 2, 1, 1, 2, 9], p, ignore_label=9, exact_limit=0, parts=PARTS, groups=groups, source="six.csv"
    )
    states = [{f.name: getattr(tally, f.name) for f in fields(tally)} for tally in (written, counted)]
    tables = [dict(_columns(state)) for state in states]
    assert tables[0].keys() == tables[1].keys()
    for name, column in tables[0].items():
        assert (column == tables[1][name]).all(), name
    for name in ("n_rows", "labels", "weight", "score_sums", "notes", "sources", "exact_limit", "fraction_bits"):
        assert states[0][name] == states[1][name], name
    assert (written + counted).to_bytes() == (counted + counted).to_bytes()
    assert written.prediction_accuracy == pytest.approx(0.7)
    assert assess(written, floor=0.005).reported.decisiveness == pytest.approx((0.7 + 0.4 + 0.4 + 0.005 + 0.5) / 5)

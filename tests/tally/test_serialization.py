"""Tallies as bytes and as files: the same in, the same out, and nothing else is believed."""

import base64
import io
import json
import tracemalloc
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest

from helpers import softmax_forecasts
from spoiled_tallies import PARTS, older, put, rewritten, tallies, with_column
from unperplexed import InputError, Tally, assess
from unperplexed.tally import class_sums
from unperplexed.tally.class_sums import ClassSums, layout
from unperplexed.tally.serialization import _PREFIX, MAGIC, _columns, tally_state


@pytest.mark.slow
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
        assert (again + tally).to_bytes() == (tally + tally).to_bytes()
    if tally.weight:
        assert assess(again, resamples=0).metrics() == pytest.approx(
            assess(tally, resamples=0).metrics(), rel=0, abs=0, nan_ok=True
        )


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


def with_section(name, **changes):
    def change(header, body, version):
        for section in header["sections"]:
            if section["name"] == name:
                section.update(changes)
        return header, body, version

    return change


WRONG = {
    "another version": (lambda h, b, _: (h, b, 13), "version 13 of the format"),
    "no JSON": (lambda _, b, v: (b"{", b, v), "do not fit together"),
    "nested JSON": (lambda _, b, v: (b"[" * 10**6, b, v), "do not fit together"),
    "no sections": (lambda h, b, v: ({**h, "sections": []}, b, v), "do not fit together"),
    "other type": (with_section("pairs/key", type="O"), "do not fit together"),
    "stored as objects": (with_section("pairs/total", **{"as": "O"}), "do not fit together"),
    "stored wider": (with_section("pairs/total", **{"as": "<f8"}), "do not fit together"),
    "steps of numbers": (with_section("pairs/total", **{"from": 0}), "do not fit together"),
    "repeats nothing": (with_section("pairs/total", same="pairs/nothing"), "do not fit together"),
    "repeats itself": (with_section("pairs/total", same="pairs/total"), "do not fit together"),
    "repeats another type": (with_section("pairs/total", same="pairs/key"), "do not fit together"),
    "repeats a longer one": (with_section("top/1/total", same="pairs/total"), "do not fit together"),
    "repeats another table": (with_section("top/1/total", same="pairs/total"), "'top/1/total' repeats another"),
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
            "fraction_bits": [2, 21, 2**63, []],
            "weighted": [0, "no"],
            "weight": ["3", -1.0, 1e999, 1e9, 0.0],
            "exact": [1],
            "row_sample": [None, 1],
            "n_weighing": [-1, 19, 21, None],
            "notes": [None, {}, {"ignored": -1, "dropped": {}, "rescaled": 0, "largest_deviation": 0}],
            "sources": [["a"], {"a": "b"}],
            "scores": [[], {"x": []}, {"x": [["1", "nan"]] * 3}, {"x": [["inf", "0"]] * 3}, {"x": [[1, 0]] * 3}],
            "top_tables": [3, ["1"], [-1], [10**9]],
            "top_in_pairs": [None, 3, {"1": 1}, {"1": 0}, {"1": -1}, {"1": 10**9}, {"1": True}, {"1": 1.5}],
            "parts": [None, ["classes"], ["predictions"], "zz", ["zz"]],
            "exact_parts": [None, 3, ["classes"], ["shards"]],
            "sections": [{}, [{}], [[]]],
        }.items()
        for value in values
    },
    "part of a row": (with_section("rows/cells", length=59), "do not fit together"),
    "numbers for cells of rows": (with_section("rows/cells", type="<f8"), "do not fit together"),
    "cells for values": (lambda h, b, v: ({**h, "exact": False}, b, v), "do not fit together"),
}


@pytest.mark.parametrize("case", WRONG)
def test_right_checksum_wrong_content(rng, case):
    change, message = WRONG[case]
    content = Tally.of(*softmax_forecasts(rng, 20, 3)).to_bytes()
    assert Tally.from_bytes(rewritten(content, lambda h, b, v: (h, b, v))).to_bytes()
    with pytest.raises(InputError, match=message):
        Tally.from_bytes(rewritten(content, change))


@pytest.mark.parametrize("stored", [1 << 40, 1 << 30, -1])
def test_no_more_is_read_than_is_there(tmp_path, stored):
    """A file that speaks of a terabyte takes no room for it."""
    path = tmp_path / "x.tally"
    change = with_section("pairs/total", stored=stored)
    path.write_bytes(rewritten(Tally.of([0, 1], [0.25, 0.5]).to_bytes(), change))
    with pytest.raises(InputError, match="do not fit together"):
        Tally.load(path)


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
    "predicted class beyond the last": with_column("predictions/key", put(-1, 3 * 256)),
    "place that is none": with_column("classes/place", put(0, np.nan)),
    "more pairs than rows": with_column("classes/total", lambda v: v.__imul__(2)),
    "fewer pairs than rows": with_column("predictions/total", lambda v: v.__imul__(0.9)),
    "nothing happened": with_column("classes/happened", lambda v: v.fill(0)),
}

IMPOSSIBLE_DIAGNOSIS = {
    "low half too high": with_column("diagnosis/low", put(3, 1 << 32)),
    "low half negative": with_column("diagnosis/low", put(3, -1)),
    "sum out of range": with_column("diagnosis/high", put(3, 1 << 62)),
    "other rows": with_column("diagnosis/low", put(0, 49)),
    "other weight": with_column("diagnosis/low", lambda v: v[2:5].__iadd__(1)),
    "negative counts": with_column("diagnosis/high", lambda v: v[-384:-320].fill(-1)),
    "rows with weights": with_column("diagnosis/rest", put(7, 0.5)),
    "no number": with_column("diagnosis/rest", put(7, np.nan)),
    "sums of two classes": lambda tally: replace(tally, diagnosis=replace(tally.diagnosis, high=np.zeros(3, np.int64))),
}


@pytest.mark.parametrize("case", IMPOSSIBLE_DIAGNOSIS)
def test_impossible_sums_are_refused(rng, case):
    tally = Tally.of(*softmax_forecasts(rng, 50, 3))
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(IMPOSSIBLE_DIAGNOSIS[case](tally).to_bytes())


@pytest.mark.parametrize(
    ("column", "value", "possible"),
    [
        ("low", -1, False),
        ("low", (1 << 32) - 1, True),
        ("low", 1 << 32, False),
        *(("high", sign * ((1 << 62) - 1), True) for sign in (1, -1)),
        *(("high", sign << 62, False) for sign in (1, -1, -2)),  # the last is its own absolute value
        *(("rest", sign * 9.9e299, True) for sign in (1, -1)),
        *(("rest", value, False) for value in (1e300, -1e300, np.nan, np.inf)),
    ],
)
def test_sums_that_no_other_one_bounds_are_in_their_range(rng, column, value, possible):
    """Of confidence; the parts that add up to it are whole numbers of 63 and 32 bits, and what weights leave over."""
    y, p = softmax_forecasts(rng, 50, 3)
    tally = Tally.of(y, p, sample_weight=rng.uniform(1, 2, 50))
    place = layout(3)["shape_score"].place.start
    content = with_column(f"diagnosis/{column}", put(place, value))(tally).to_bytes()
    if possible:
        assert Tally.from_bytes(content).to_bytes() == content
    else:
        with pytest.raises(InputError, match="a sum is"):
            Tally.from_bytes(content)


IMPOSSIBLE_IN_EXACT_PARTS = {
    "class beyond the last": with_column("classes/key", put(-1, 3 + 0.5j)),
    "class before the first": with_column("classes/key", put(0, -1 + 0.5j)),
    "half a class": with_column("predictions/key", put(-1, 1.5 + 0.5j)),
    "no probability": with_column("classes/key", put(0, 0 - 0.5j)),
    "above 1": with_column("predictions/key", put(-1, 2 + 1.5j)),
    "not a number": with_column("classes/key", put(0, complex(0, np.nan))),
    "keys twice": with_column("classes/key", lambda v: put(1, v[0])(v)),
    "keys out of order": with_column("predictions/key", lambda v: v[::-1].sort()),
    "negative count": with_column("classes/total", put(0, -1)),
    "more happened than there is": with_column("predictions/happened", put(0, 1e9)),
    "more pairs than rows": with_column("classes/total", lambda v: v.__imul__(2)),
    "nothing was right": with_column("predictions/happened", lambda v: v.fill(0)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_counts_are_refused(rng, case):
    tally = Tally.of(*softmax_forecasts(rng, 50, 3), exact_limit=0, parts=PARTS)
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(IMPOSSIBLE[case](tally).to_bytes())


@pytest.mark.parametrize("case", IMPOSSIBLE_IN_EXACT_PARTS)
def test_impossible_exact_parts_are_refused(rng, case):
    tally = Tally.of(*softmax_forecasts(rng, 50, 3), parts=PARTS)
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(IMPOSSIBLE_IN_EXACT_PARTS[case](tally).to_bytes())


NO_HEADERS = {
    "exact_limit": (-1, 1 << 40, 2.0, True, None),
    "fraction_bits": (2, 21, 9.0, "9"),
    "n_rows": (-1, 1, 2.0, (1 << 53) + 1),
    "n_weighing": (-1, 1, 3),
    "n_classes": (-1, 1, 3, 2.0),
    "weight": (-2.0, 0, np.inf, "2", True, None),
    "weight_squared": (-2.0, 0, np.inf, True),
    "weighted": (0, 1, None),
    "one_column": (0, 1, "true"),
    "exact": (0, 1, None),
    "binary": (0, 1),
    "row_sample": (0, 1),
    "parts": ("classes", ["rows"], None),
    "exact_parts": (["shards"], ["classes"], "classes"),
    "sources": ({"a.csv": -1}, {"a.csv": 1.5}),
    "scores": ({"log_loss": [["1", "0"]] * 2}, {"log_loss": [["1", "nan"]] * 3}, {"log_loss": [[1, 0.0]] * 3}),
    "notes": tuple(
        {"ignored": 0, "dropped": {}, "rescaled": 0, "largest_deviation": 0.0, **change}
        for change in ({"ignored": -1}, {"dropped": {"x": -1}}, {"rescaled": 0.5}, {"largest_deviation": np.inf})
    ),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, many in NO_HEADERS.items() for value in many])
def test_what_no_header_says_is_refused(name, value):
    content = Tally.of([0, 1], [0.25, 0.5], metrics=[]).to_bytes()
    said = {}

    def change(header, body, version):
        said.update(header)
        return {**header, name: value}, body, version

    spoiled = rewritten(content, change)
    assert name in said
    if (said[name], type(said[name])) != (value, type(value)):
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(spoiled)


@pytest.mark.parametrize("bits", [3, 20])
def test_tallies_for_the_coarsest_and_the_finest_cells_are_read_again(bits):
    tally = Tally.of([0, 1, 1], [[0.5, 0.25, 0.25]] * 3, labels=range(3), fraction_bits=bits)
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()


def test_exact_parts_hold_plain_numbers(rng):
    """Anyone can read the file: no column of it is of complex numbers."""
    tally = Tally.of(*softmax_forecasts(rng, 50, 3), parts=PARTS)
    columns = dict(_columns({f.name: getattr(tally, f.name) for f in fields(tally)}))
    assert {column.dtype.str for column in columns.values()} == {"<f8", "<i8", "|u1"}
    assert {"classes/group", "classes/value", "predictions/group", "predictions/value"} <= set(columns)


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


@pytest.mark.slow
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
    assert Tally(**tally_state(io.BytesIO(tally.to_bytes()), str)).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="none.tally: cannot be read: No such file"):
        Tally.load(tmp_path / "none.tally")


def test_size_on_disk_is_bounded(rng):
    y, p = softmax_forecasts(rng, 20_000, 10)
    assert len(Tally.of(y, p, parts=PARTS).to_bytes()) < 4 << 20


VERSION_1 = (
    "eNq1l39sE+cZx1/7gu2mBKeCjpSFxHE16NQ1eX/cvfdeAsy021BX2JLRjG5pZF+cc+zOtV2fkzhQRAhp19IRbapWBcrSlm4TWlftt4YyNki7MSoV2q"
    "3TNKH9UbpfLUxDkxrWUEb33l0S7NSOz0kWR5Hf5973837f5/m+b+59vL313qrKNZUOAMCllQBM1ADzR4qOte9w3fPt3meGdg/9uD194sR9Fw8GG9Yd"
    "Ji/e3DpWc/cuf386lsloiWDXgL/Z5+9NpLR0Kq5ltW4fbESN0P8Jn1/LquFMMB57MJbhfSCPRNI8EkvyUbGMzmMKjyWC6WS/0ZDMRjiu6rpmtAlv92"
    "uxnmhG6+bNiBrXtdmQ0b8RzjaD+kO9atrsZ4XNuXNGJZIZE7rLH+tJJK2eiMe708lUymzt2s2baU0Pq3GzbVDiarpH0zPBbq0vphrCjXgjNHrqyd50"
    "eBqpx7KNYb3PmNx4lFLT5uo6/HpUTXfr/k4ezCRTwYzaFTeHdPCpsRHVw1yLBYkne4LxpG4+7vBTRCBSRFFGImGQKiJimGFKqSxDghGkkEoKNrIcS0"
    "SMCRY0RGSUSIxSTIgI+QCJMokxEVIGJcgUWVGIjNnsEENxVzqmpYOmbkupTBnDkihjmSJFkQjFFEGugmFOpxJSMJNkajB45qxpFzAEQUREhTCERIV/"
    "JVhCEiFMIgrXLEMsYZnrvT7GTG4qqqVjvJ65ciklCoYQ8w+SFUJkBLHCIJQUggmGVKSyxMS8uRcwRMI8c6LIl0WpiCAXaWSYBynkuo1yECjlq01pCT"
    "Ue26l1Bz+UYoUhiZdWwpDxmRCTJCghrglh3hIVjDGDSn6+FjAEyTLvSBTITSNhEXNDQEIQlAkjCMmEWIQiovPtK/MEiUThvwqmjPLpKIQUURGKEDGZ"
    "mxMzkeV5cSFDeOoxEhmhCuPVN7qJIiaM8kpJmBiLRzmO7zT3rWaeQKbOXf6E+qCRY77Ru7S4bvTMDKTMyAM63+3GEaAlejLR6bNKz8wcHTJnXR+eUm"
    "Npvekr2kAuYUOM5QFknEsQYQFCJplR43mMyHwMrBRgRFV+oCX4c/sYqQBm5kBdHCXC/2TsM1ChBfGKJRPdwSg/58tQg4qT4sn+RYLKIhCxUJXKWg3J"
    "zy3/X9KEStmNzFcdi1DSbvmMOaa3GHbsRuYrsoWxYTcblJJ2m5MUUkiJPbvNIeHipBJmsQEqj0ALVam81XwYgUvZjeUVBxcAlHRbPoIUQNgxW2mKDa"
    "+VhpS0Wj5CLKTDntNsg0rYpDRn0YDFLMV6V24yLgNlHm2oKMe8WSz0SMkFTV86lgIVNa4+iwTZet9gMO99AxUHld6ZeSjMiqNs7VBYunwWLRVXw5p9"
    "FKGFUNYdq2nmBXUpzDUXGU6qaV2zX1UC7VAjsUQZTCzPw8y5Uizh+nOp5abAttwys0Dmwc65EC5hJuaSy86GVAa8vIzM67WCl84lzEthftnbBZc9RZ"
    "k5sreG/8MRUgC+pIdJAX6ZG4rt7tyddTxBX2+Df2iD+5eBG/ocf806wqFB8OSl1ivrhyNXlz33xnM/fSV59L16z8Z/NA1Hrk14IgB8tvOGPqMfENye"
    "yYm6O0lg6m3Rfah59Ir3MvjWsGuZ+XCv93JoPzwP2pzbvc/fUgN6q4Sz8z7wOV49987gkTWPe4FyVFhvhe7d+lCgrfNnFWfdANY5X7CC0TEeXJtx8u"
    "AdH3d+3QgGXPUXGjZs3fnHrdXHYt5v7Ak943K99uxV7yQ4W1G9b7rHtbuyo+9+/6Av9Uad/4OTm6qWj22eqr8mgNueXClkHWTqDHB9bY/v3cMnqg9N"
    "uW8ddYCO5oqXZjVX3lgFNscrfnk9sC8SAuCT24SRYqGhL92+NrCqlq8LhAUgvymstsL7P+KuXuZuv6c2FAeNX3Q+bUadZzau8FWuGPocO/kncLvqHM"
    "w6npZWViTOkcEJ4X0RZl1/23PUDU47Kn9b4Ml7XnB6741bppcBPI844Iwq4FxfsmEoBULUMTwrEDiPOTbOCgPOFse6mWkFcPN4xQ/ntrarg4MHW5tH"
    "bnoJqkOvgzXfdGzPzUuK5+VAjgXyQ7w6/2zYUPPfl+uAf1J4iodaVbDvg9bxh9cNB73f+clfaiacv2kdX3tKVp1P7Ai888BtVSD4MfeVPB8++2/1rW"
    "PR0Z0r3EC523NrzlS+9sMTDvCjTmuyk67ltQ1HKkPcLdtWnfv1fbccSC5/S675aEuLE1yEnvH51jLp+/3mSweFxzalptaM9nmuXASg65D7YXPf7BNW"
    "n/hqy1D2/gtjoS9/5tRrN4FPn694vjhN2OLpfdnxKfn4Js9317969W0AlCmXz1QIqrwv3F+794jr1KkzI6DuP8IvimICg0LlD2oDxx+90F+985Udbn"
    "BXveuApefRgckG994Nj/zqxYER3++En69a4QStbe5AUVYo9JhH6634QiDFdVFDV/3x9/8OwOc7rCWGPJ6qOzaeHpyW92d3/6XLzU6gNrmnbCftqTfD"
    "fRUg2OJaPTdpvvHz/xqp3AK2HXB973/pAWC2"
)
"""A tally of six rows as version 1 of the format has it, packed once more."""


def test_a_file_of_version_1_is_read_for_ever():
    """Written down once: what the first version wrote, later ones read to the same counts and figures."""
    p = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2], [1, 0, 0], [0.25, 0.25, 0.5], [0.125, 0.75, 0.125]]
    groups = ["a", "b", "b", "c", "d", "e"]
    written = Tally.from_bytes(zlib.decompress(base64.b64decode(VERSION_1)))
    counted = Tally.of(
        [0, 2, 1, 1, 2, 9], p, ignore_label=9, exact_limit=0, parts=["shards"], clusters=groups, source="six.csv"
    )
    states = [{f.name: getattr(tally, f.name) for f in fields(tally)} for tally in (written, counted)]
    tables = [dict(_columns(state)) for state in states]
    kept = {"rows/key", "rows/count", "rows/cells"}  # which that version did not keep
    rows = kept | {"diagnosis/high", "diagnosis/low", "diagnosis/rest"}
    later = set(counted.scores) - set(written.scores)  # rules that came after it
    rows |= {name for name in tables[1] if name.startswith("shards/") and any(rule in name for rule in later)}
    assert tables[0].keys() | rows == tables[1].keys()
    for name, column in tables[0].items():
        assert (column == tables[1][name]).all(), name
    assert written.score_sums == {name: counted.score_sums[name] for name in written.scores}
    for name in ("n_rows", "labels", "weight", "notes", "sources", "exact_limit", "fraction_bits"):
        assert states[0][name] == states[1][name], name
    both, twice = written + counted, counted + counted
    assert both.scores == written.scores
    twice = replace(
        twice,
        row_sample=None,
        diagnosis=None,
        score_sums={name: twice.score_sums[name] for name in both.scores},
        shards=replace(twice.shards, scores={name: twice.shards.scores[name] for name in both.scores}),
    )
    assert both.to_bytes() == twice.to_bytes()
    assert written.prediction_accuracy == pytest.approx(0.7)
    assert assess(written, floor=0.005).reported.decisiveness == pytest.approx((0.7 + 0.4 + 0.4 + 0.005 + 0.5) / 5)


def test_a_rule_that_an_older_file_does_not_have_is_not_in_the_sum(rng):
    y, p = softmax_forecasts(rng, 50, 3)
    newer = Tally.of(y, p, parts=["shards"])
    left = [name for name in newer.scores if name != "spherical_score"]
    older = replace(
        newer,
        score_sums={name: newer.score_sums[name] for name in left},
        shards=replace(newer.shards, scores={name: newer.shards.scores[name] for name in left}),
    )
    older = Tally.from_bytes(older.to_bytes())
    for both in (older + newer, newer + older):
        assert both.scores == tuple(both.shards.scores) == older.scores == tuple(left)
        assert both.score("log_loss") == pytest.approx(newer.score("log_loss"), rel=1e-15)
    assert list(assess(older + newer, resamples=0).scores) == left
    with pytest.raises(InputError, match="different scores do not add up"):
        _ = older + Tally.of(y, p, parts=["shards"], metrics=["power_score(2)"])


def sections_of(content):
    header_length = _PREFIX.unpack(content[: _PREFIX.size])[2]
    header = json.loads(content[_PREFIX.size : _PREFIX.size + header_length])
    return {section["name"]: section for section in header["sections"]}


@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_top_label_pairs_that_are_the_last_of_all_pairs_are_not_written_again(rng, exact_limit):
    """As those of one column are: a tie at 1/2 counts twice among the pairs, and is written."""
    tally = Tally.of(rng.integers(0, 2, 500), np.append(rng.random(499), 0.5), exact_limit=exact_limit)
    content = tally.to_bytes()
    assert {name.split("/")[1] for name in sections_of(content) if name.startswith("top/")} == {"2"}
    again = Tally.from_bytes(content)
    assert vars(again.top_tables[1]).keys() == vars(tally.top_tables[1]).keys()
    for name, column in vars(tally.top_tables[1]).items():
        np.testing.assert_array_equal(getattr(again.top_tables[1], name), column)
    several = Tally.of(*softmax_forecasts(rng, 500, 3), exact_limit=exact_limit)
    assert "top/1/key" in sections_of(several.to_bytes())


def test_keys_are_written_as_steps(rng):
    tally = Tally.of(rng.integers(0, 2, 3000), rng.random(3000), exact_limit=0)
    section = sections_of(tally.to_bytes())["pairs/key"]
    assert section["from"] == tally.pairs_table.key[0]
    assert section["stored"] == section["length"] < 2 * tally.pairs_table.key.size + 1
    for start in (-1, 1.0, True, None, "1", 2**62):
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(rewritten(tally.to_bytes(), with_section("pairs/key", **{"from": start})))


def test_packed_steps_are_not_unpacked():
    """Each is of a key, and all columns are as long as the keys: steps of 1 would be packed by a thousand."""
    p = 2.0 ** -np.arange(1, 100)
    content = Tally.of(np.ones(p.size, dtype=int), p, exact_limit=0, labels=[0, 1]).to_bytes()

    def pack(header, body, version):
        at = 0
        for section in header["sections"]:
            if section["name"] == "pairs/key":
                steps = zlib.compress(body[at : at + section["stored"]])
                body = body[:at] + steps + body[at + section["stored"] :]
                section["stored"] = len(steps)
            at += section["stored"]
        return header, body, version

    with pytest.raises(InputError, match="'pairs/key' has no steps"):
        Tally.from_bytes(rewritten(content, pack))


def without_logarithms(tally):
    """As versions up to 9 wrote it: without log-probabilities by the observed class."""
    if tally.diagnosis is None:
        return tally
    classes, clustered = tally.diagnosis.classes, tally.diagnosis.clustered
    size = class_sums.length(classes, clustered, by_outcome=False)
    earlier = ClassSums(classes, *np.zeros((2, size), dtype=np.int64), np.zeros(size), clustered, by_outcome=False)
    return replace(tally, diagnosis=tally.diagnosis + earlier)


@pytest.mark.slow
@pytest.mark.parametrize("name", tallies(np.random.default_rng(0)))
def test_files_of_version_8_write_every_table(rng, name):
    tally = without_logarithms(tallies(rng)[name]).tagged(model="v7")
    assert Tally.from_bytes(older(tally.to_bytes(), lambda h, b, _: (h, b, 8))).to_bytes() == tally.to_bytes()


def test_the_classes_of_version_1_are_refused():
    def change(header, body, version):
        return {**header, "parts": ["classes", "shards"]}, body, version

    with pytest.raises(InputError, match="version 1 of the format, whose part 'classes' .* Count it anew"):
        Tally.from_bytes(rewritten(zlib.decompress(base64.b64decode(VERSION_1)), change))


def test_counts_of_the_most_probable_class_are_held_against_one_another(rng):
    p = rng.dirichlet(np.full(3, 9.0), 200)
    tally = Tally.of(rng.integers(0, 3, 200), p)
    for ties, table in tally.top_tables.items():
        total = table.total.copy()
        total[1] += total[0]
        total[0] = 0
        tops = {**tally.top_tables, ties: replace(table, total=total)}
        with pytest.raises(InputError, match=f"'top/{ties}': an entry counts nothing"):
            Tally.from_bytes(replace(tally, top_tables=tops).to_bytes())


def test_shards_of_two_classes_in_version_5_are_refused(rng):
    content = Tally.of(rng.integers(0, 2, 50), rng.random(50), parts=["shards"]).to_bytes()
    with pytest.raises(InputError, match="version 5 of the format, whose part 'shards' does not keep the two classes"):
        Tally.from_bytes(older(content, lambda header, body, _: (header, body, 5)))


def test_version_2_said_which_parts_are_exact():
    """Version 1 had none; the next one is read with those it names."""

    def change(header, body, version):
        return {**header, "exact_parts": []}, body, 2

    first = zlib.decompress(base64.b64decode(VERSION_1))
    assert Tally.from_bytes(rewritten(first, change)).to_bytes() == Tally.from_bytes(first).to_bytes()


def test_files_of_version_9_do_not_tell_the_order_of_the_columns(rng):
    tally = without_logarithms(Tally.of(*softmax_forecasts(rng, 500, 4), parts=["shards", "diagnosis"]))

    def earlier(header, body, _):
        return {name: value for name, value in header.items() if name != "by_outcome"}, body, 9

    again = Tally.from_bytes(rewritten(tally.to_bytes(), earlier))
    assert not again.diagnosis.by_outcome
    assert again.to_bytes() == tally.to_bytes()

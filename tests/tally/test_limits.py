"""Limits of tallies: counts stay exact or are refused, files are believed no further than they can be right."""

import copy
import pickle
import tracemalloc
import zlib
from functools import cache
from hashlib import sha256

import numpy as np
import pytest

from helpers import softmax_forecasts
from spoiled_tallies import older, put, rewritten, tallies, with_column
from unperplexed import InputError, Tally, assess
from unperplexed.forecasts.forecasts import Notes
from unperplexed.kernels.rows import moments
from unperplexed.tally import serialization
from unperplexed.tally.sections import (
    MOST_PAIRS,
    check_counts,
    check_values,
    check_weights,
    refuse_too_many,
    require_close,
)
from unperplexed.tally.serialization import _PREFIX, _whole
from unperplexed.tally.tables import Cells, PairTable, grid_of


@cache
def packed(size, start=b"", end=b""):
    """Bytes of a section that unpacks to many blanks between two texts."""
    packer = zlib.compressobj(9)
    blanks = b" " * (1 << 20)
    parts = [packer.compress(start), *(packer.compress(blanks) for _ in range(size >> 20)), packer.compress(end)]
    return b"".join(parts) + packer.flush()


def with_body(tally, name, stored, length, **header_changes):
    """A tally's bytes, with a right checksum, in which one section is another."""

    def change(header, body, version):
        at = 0
        for section in header["sections"]:
            if section["name"] == name:
                body = body[:at] + stored + body[at + section["stored"] :]
                section.update(stored=len(stored), length=length)
            at += section["stored"]
        return {**header, **header_changes}, body, version

    return rewritten(tally.to_bytes(), change)


BOMBS = {  # sections that unpack to 128 MB, and what those end with
    "labels": ("labels", b"[0, 1]"),
    "keys": ("pairs/key", b""),
    "counts": ("pairs/total", b""),
    "groups": ("classes/group", b""),
    "values": ("classes/value", b""),
}


@pytest.mark.parametrize("case", BOMBS)
@pytest.mark.slow
def test_no_section_is_unpacked_beyond_its_limit(case):
    """However many rows and distinct values the header speaks of."""
    name, end = BOMBS[case]
    stored, length = packed(1 << 27, end=end), (1 << 27) + len(end)
    tally = Tally.of([0, 1, 1], [0.25, 0.5, 0.75], parts=["classes"])
    spoiled = with_body(tally, name, stored, length, exact_limit=(1 << 40) - 1, n_rows=1 << 50, n_weighing=1 << 50)
    assert len(spoiled) < 1 << 20
    tracemalloc.start()
    with pytest.raises(InputError, match="longer than can be|do not fit together"):
        Tally.from_bytes(spoiled)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 << 20


def test_limits_of_the_header():
    content = Tally.of([0, 1], [0.25, 0.5]).to_bytes()
    for name, value in (("exact_limit", 1 << 40), ("exact_limit", 1 << 62), ("n_rows", MOST_PAIRS + 1)):
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(rewritten(content, lambda h, b, v, n=name, x=value: ({**h, n: x}, b, v)))


def test_labels_that_are_not_read_are_not_written(monkeypatch):
    monkeypatch.setattr("unperplexed.tally.serialization.MOST_LABEL_BYTES", 1 << 20)
    longest = "a" * ((1 << 20) - len('["", "b"]'))
    data = Tally.of([longest], [0.5], labels=[longest, "b"]).to_bytes()
    assert Tally.from_bytes(data).labels == (longest, "b")
    long = "a" * (3 << 20)
    with pytest.raises(InputError, match="labels of 3 MB; a tally file holds at most 1 MB"):
        Tally.of([long], [0.5], labels=[long, "b"]).to_bytes()

    monkeypatch.setattr("unperplexed.tally.serialization.MOST_LABELS", 1)
    with pytest.raises(InputError, match="2 labels; a tally file holds at most 1"):
        Tally.of(["a"], [0.5], labels=["a", "b"]).to_bytes()


@pytest.mark.parametrize("place", ["header", "labels"])
def test_json_of_more_values_than_there_can_be_takes_no_memory(place, monkeypatch):
    """Each value takes ten times the memory of its text, and text of one kind is packed by a thousand."""
    monkeypatch.setattr("unperplexed.tally.serialization.MOST_LABELS", 1000)
    monkeypatch.setattr("unperplexed.tally.sections._MOST_VALUES", 1000)
    content = Tally.of(["a,b"], [0.5], labels=["a,b", 'c\\",']).to_bytes()
    assert Tally.from_bytes(content).labels == ("a,b", 'c\\",')
    many = b"[" + b"[]," * 300_000 + b"[]]"

    def change(header, body, version):
        if place == "header":
            return many, body, version
        section, packed = header["sections"][0], zlib.compress(many)
        rest = body[section["stored"] :]
        section.update(stored=len(packed), length=len(many))
        return header, packed + rest, version

    spoiled = rewritten(content, change)
    tracemalloc.start()
    with pytest.raises(InputError, match=f"{place}s? have more than .* values"):
        Tally.from_bytes(spoiled)
    assert tracemalloc.get_traced_memory()[1] < 4 * len(many)
    tracemalloc.stop()


def test_json_that_is_one_long_text_is_read_once():
    text = b"," * 9 + b'"' + b'\\",' * 200_000
    check_values(text, 9, "headers")
    with pytest.raises(ValueError, match="headers have more than 9 values"):
        check_values(b"," + text, 9, "headers")


WEIGHTS = {
    "no squares": {"weight_squared": 0.0},
    "hardly any squares": {"weight_squared": 1e-320},
    "squares beyond the weight": {"weight_squared": 1e9},
    "weight of no rows": {"n_weighing": 0},
    "more than there are": {"weight_squared": 1e308, "weight": 1e200},
}


@pytest.mark.parametrize("case", WEIGHTS)
@pytest.mark.parametrize("weighted", [True, False])
def test_squared_weights_go_with_weights(rng, case, weighted):
    y, p = softmax_forecasts(rng, 30, 3)
    content = Tally.of(y, p, sample_weight=rng.exponential(size=30) if weighted else None).to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(rewritten(content, lambda h, b, v: ({**h, **WEIGHTS[case]}, b, v)))


CELLS = {
    "highest beyond the cell": with_column("pairs_table/high", lambda v: put(np.isfinite(v).argmax(), 1.0)(v)),
    "highest below the lowest": with_column("pairs_table/high", lambda v: put(np.isfinite(v).argmax(), 0.0)(v)),
    "lowest outside": with_column("pairs_table/low", lambda v: put(np.isfinite(v).argmax(), 0.0)(v)),
    "a highest of nothing": with_column("pairs_table/high", lambda v: put((~np.isfinite(v)).argmax(), 0.5)(v)),
    "places outside": with_column("pairs_table/first", lambda v: put(v.argmax(), 1e12)(v)),
    "squares of no places": with_column("pairs_table/second_high", lambda v: v.fill(0)),
    "half a row": with_column("pairs_table/total", lambda v: v[:2].__iadd__([0.5, -0.5])),
    "other squares": with_column("pairs_table/squared", lambda v: v.__imul__(1 + 1e-9)),
    "nothing counted": with_column("pairs_table/total", put(0, 0.0)),
    "a lowest of a class that is no number": with_column("classes/low", put(0, np.nan)),
    "a highest of a class that is no probability": with_column("classes/high", put(0, 2.0)),
}


@pytest.mark.parametrize("case", CELLS)
def test_what_lies_outside_its_cell_was_not_counted(rng, case):
    tally = Tally.of(*softmax_forecasts(rng, 200, 3), exact_limit=0, parts=["classes"])
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    with pytest.raises(InputError, match="do not fit together"):
        Tally.from_bytes(CELLS[case](tally).to_bytes())


LAST_DIGITS, MORE = 1e-9, 1e-3
"""Relative errors that rounding may leave in sums, and that it may not."""


def are_whole(column):
    return (column == np.floor(column)).all()


def accepted(check, *arguments):
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("classes", "most"), [(0, 1 << 53), (1, 1 << 53), (2, 1 << 52), (4, 1 << 51)])
def test_pairs_are_rows_times_classes(classes, most):
    assert accepted(refuse_too_many, most, classes, 1 << 53)
    for rows, left_out in ((most + 1, 0), (0, (1 << 53) + 1)):
        with pytest.raises(InputError, match=f"{max(rows, left_out):,} rows of {classes} classes"):
            refuse_too_many(rows, classes, left_out)


def test_sums_may_differ_by_their_last_digits():
    for sign in (1, -1):
        assert accepted(require_close, 7 * (1 + sign * LAST_DIGITS), 7.0, "")
        assert not accepted(require_close, 7 * (1 + sign * MORE), 7.0, "")
    assert accepted(require_close, 0.0, 0.0, "")


@pytest.mark.parametrize(
    ("n", "weight", "squared", "possible"),
    [
        (4, 6.0, 9.0 * (1 - LAST_DIGITS), True),  # equal weights have the smallest squares
        (4, 6.0, 9.0 * (1 - MORE), False),
        (4, 6.0, 36.0 * (1 + LAST_DIGITS), True),  # one weight beside nothing, the largest
        (4, 6.0, 36.0 * (1 + MORE), False),
        (0, 0.0, 0.0, True),
        (0, 1.0, 1.0, False),
        (1, 0.0, 0.0, False),
        (1, 1e200, 1e200, False),
    ],
)
def test_squares_of_weights_lie_between_those_of_equal_ones_and_of_one(n, weight, squared, possible):
    state = {"n_rows": n, "n_classes": 2, "notes": Notes(), "n_weighing": n, "weighted": True}
    assert accepted(check_weights, {**state, "weight": weight, "weight_squared": squared}) == possible


@pytest.mark.parametrize("change", [{"weight": 3.5}, {"weight_squared": 3.5}, {"n_weighing": 2}, {"n_rows": 4}])
def test_without_weights_all_is_the_number_of_rows(change):
    state = {"n_rows": 3, "n_classes": 2, "notes": Notes(), "n_weighing": 3, "weight": 3.0, "weight_squared": 3.0}
    assert accepted(check_weights, {**state, "weighted": False})
    assert not accepted(check_weights, {**state, "weighted": False, **change})


@pytest.mark.parametrize(
    ("total", "happened", "squared", "whole", "weighted"),
    [
        (3.0, 2.0, 2.0, True, True),
        (3.0, 2.0, 4.0 * (1 + LAST_DIGITS), False, True),
        (3.0, 2.0, 4.0 * (1 + MORE), False, False),
        (3.0, 2.0, 2.5, False, True),
        (3.0, 1.5, 1.5, False, True),
        (2.5, 2.0, 2.0, False, True),
        (0.0, 0.0, 0.0, False, False),
        (1.0, 0.0, 0.0, True, True),
        (1.0, 0.0, 0.5, False, False),
        (1.0, 1.0, 0.0, False, False),
        (1e140, 1e140, 1e141, False, False),
        (1e139, 1e139, 1e140, False, True),
    ],
)
def test_counts_of_whole_rows_and_of_weighted_ones(total, happened, squared, whole, weighted):
    table = PairTable(np.array([0.5]), np.array([total]), np.array([happened]), np.array([squared]))
    assert accepted(check_counts, "pairs", table, grid_of(9), False, are_whole) == whole
    assert accepted(check_counts, "pairs", table, grid_of(9), True, are_whole) == weighted


def a_cell(value, weight=2.0):
    """The cell in which a value happened with some weight, beside one in which nothing did."""
    grid = grid_of(9)
    code, place = grid.places(np.array([value]))
    first, high, low = moments(place, weight)
    ends = np.array([value, np.inf]), np.array([value, -np.inf])
    columns = [np.append(each, 0.0) for each in (weight, weight**2, first, high, low)]
    return Cells(np.append(code, 7), np.array([weight, 1.0]), *columns, *ends)


LAST_PLACE = float(np.nextafter(np.float32(0.3125), np.float32(0)))
"""The highest value of its cell."""


@pytest.mark.parametrize("value", [LAST_PLACE, 0.301, 0.8])
def test_a_cell_of_one_value_is_possible(value):
    assert accepted(check_counts, "pairs", a_cell(value), grid_of(9), True, are_whole)


@pytest.mark.parametrize(
    ("at", "column"), [(0, name) for name in ("low", "high")] + [(1, name) for name in ("low", "high")]
)
@pytest.mark.parametrize("value", [0.1, 0.9])
def test_ends_lie_in_their_cell_and_where_something_happened(at, column, value):
    table = a_cell(0.301)
    getattr(table, column)[at] = value
    assert not accepted(check_counts, "pairs", table, grid_of(9), True, are_whole)


@pytest.mark.parametrize("column", ["first", "second_high", "second_low"])
def test_places_of_nothing_are_nothing(column):
    table = a_cell(0.301)
    getattr(table, column)[1] = 1.0
    assert not accepted(check_counts, "pairs", table, grid_of(9), True, are_whole)
    getattr(table, column)[:] = [1e141, 0]
    assert not accepted(check_counts, "pairs", table, grid_of(9), True, are_whole)


@pytest.mark.parametrize(("column", "error"), [("first", 1), ("second_high", 1), ("first", -1), ("second_high", -1)])
def test_moments_of_places_are_possible_to_their_last_digits(column, error):
    """At the highest place each bound is met: of the mean, of the squares above it, and of the squares below it."""
    for size, possible in ((LAST_DIGITS, True), (MORE, False)):
        table = a_cell(LAST_PLACE)
        getattr(table, column)[0] *= 1 + error * size
        assert accepted(check_counts, "pairs", table, grid_of(9), True, are_whole) == possible, size


def test_the_lowest_is_not_above_the_highest():
    table = a_cell(0.301)
    table.low[0], table.high[0] = 0.3012, 0.301
    assert (grid_of(9).codes(table.low[:1]) == table.key[0]).all()
    assert not accepted(check_counts, "pairs", table, grid_of(9), True, are_whole)


def arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from arrays(each)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value))


@pytest.mark.parametrize("name", tallies(np.random.default_rng(0)))
def test_what_was_counted_cannot_be_changed(rng, name):
    tally = tallies(rng)[name]
    again = (Tally.from_bytes(tally.to_bytes()), pickle.loads(pickle.dumps(tally)), copy.deepcopy(tally), tally + tally)
    for each in (tally, *again):
        assert not any(array.flags.writeable for array in arrays(each))
        with pytest.raises(ValueError, match="read-only"):
            each.pairs_table.key[...] = 0


def test_counts_are_exact_or_refused():
    """Up to 2^53 pairs doubling is exact; what is beyond is refused, and so is a file that speaks of it."""
    tally = Tally.of([1, 0, 1], [0.3, 0.3, 0.7])
    for _ in range(50):
        tally = tally + tally
    assert tally.n_rows == 3 << 50
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    assert tally.pairs_table.happened.sum() == 3 << 50
    one = Tally.of([1], [0.3])
    assert ((tally + one) + one).to_bytes() == (tally + (one + one)).to_bytes()
    with pytest.raises(InputError, match=r"counts up to 2\^53"):
        tally + tally
    left_out = Tally.of([2, 1], [0.3, 0.3], ignore_label=2, pos_label=1)
    for _ in range(52):
        left_out = left_out + left_out
    with pytest.raises(InputError, match=r"counts up to 2\^53"):
        left_out + left_out


@pytest.mark.slow
def test_a_thousand_tallies_of_a_million_rows_in_random_trees(rng):
    """10^9 rows: the same bytes in any order of adding up."""
    whole = []
    for _ in range(40):
        tally = Tally.of(*softmax_forecasts(rng, 1000, 3), exact_limit=500)
        for _ in range(10):
            tally = tally + tally
        whole += [tally] * 25
    found = set()
    for _ in range(2):
        left = [whole[at] for at in rng.permutation(len(whole))]
        while len(left) > 1:
            at = int(rng.integers(len(left) - 1))
            left[at : at + 2] = [left[at] + left[at + 1]]
        assert left[0].n_rows == 1_024_000_000
        found.add(left[0].to_bytes())
    assert len(found) == 1


def numbers(tally):
    return np.concatenate([np.ravel(part).astype(float) for each in arrays(tally) for part in (each.real, each.imag)])


@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
@pytest.mark.slow
def test_weighted_sums_differ_by_the_rounding_of_as_many_additions(rng, exact_limit):
    """However unlike the weights: each sum of K parts, none of them negative, is right to K/2^53 of itself."""
    k, n = 60, 40
    y, p = rng.integers(0, 3, k * n), rng.dirichlet([1, 1, 1], k * n).round(2)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p = np.abs(p)
    w = np.exp(rng.normal(0, 40, k * n))
    parts = [
        Tally.of(y[i::k], p[i::k], sample_weight=w[i::k], exact_limit=exact_limit, invalid="rescale", parts=["classes"])
        for i in range(k)
    ]
    found = []
    for _ in range(3):
        left = [parts[at] for at in rng.permutation(k)]
        while len(left) > 1:
            at = int(rng.integers(len(left) - 1))
            left[at : at + 2] = [left[at] + left[at + 1]]
        found.append(left[0])
    first, *others = map(numbers, found)
    for each in others:
        assert each.shape == first.shape
        finite = np.isfinite(first)
        assert (first[~finite] == each[~finite]).all()
        assert (np.abs(each[finite] - first[finite]) <= 2 * k * 2.0**-53 * np.abs(first[finite])).all()
    for name in ("log_loss", "brier_score"):
        assert found[0].score(name) == pytest.approx(found[1].score(name), rel=2 * k * 2.0**-53)


def test_kinds_of_numbers_add_up():
    """Labels and probabilities of several types and layouts in one sum are those of one array."""
    y, p = np.array([1, 0, 1, 1, 0, 0]), np.array([0.5, 0.25, 0.75, 1.0, 0.0, 0.125])
    whole = Tally.of(y, p)
    for types in ((np.float16, np.float32, np.float64), (np.float64, np.float16, np.float32)):
        parts = [
            Tally.of(y[at : at + 2].astype(kind), p[at : at + 2].astype(of), labels=(0, 1))
            for at, of, kind in zip((0, 2, 4), types, (np.int8, np.uint64, np.float32), strict=True)
        ]
        assert sum(parts, Tally()).to_bytes() == whole.to_bytes()


def test_values_at_the_edge_of_their_cell_are_read_again():
    p = np.nextafter([0.5, 0.25, 1.0, 0.75], 0)
    tally = Tally.of([1, 1, 1, 0], p, exact_limit=0)
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()


def test_what_is_below_all_cells_is_never_flattered():
    tally = Tally.of([1] * 4, [1e-46, 1e-47, 1e-50, 0.9], exact_limit=0)
    found = assess(tally, floor=0, resamples=0)
    assert found.reported.geometric_accuracy == pytest.approx((1e-50**3 * 0.9) ** 0.25, rel=1e-9)
    assert found.metrics()["log_loss"] == pytest.approx(-np.log([1e-46, 1e-47, 1e-50, 0.9]).mean(), rel=1e-12)


def test_surprises_of_few_rows_are_all_their_weight():
    tally = Tally.of([1, 0, 1], [0.3, 0.3, 0.7], parts=["surprises"])
    assert Tally.from_bytes(tally.to_bytes()).surprises == tally.surprises


def test_one_column_of_version_4_stays_one():
    content = older(Tally.of([1, 0], [0.3, 0.4]).to_bytes(), lambda h, b, _: (h, b, 4))
    assert Tally.from_bytes(content).one_column
    assert not Tally.from_bytes(rewritten(content, lambda h, b, v: (h, b, 3))).one_column


@pytest.mark.parametrize(("length", "refused"), [(1 << 26, False), ((1 << 26) + 1, True), (1 << 30, True)])
def test_longest_header(length, refused):
    """64 MB at most are read; here no JSON."""
    content = Tally.of([1], [0.5]).to_bytes()
    magic, version, _, whole, _ = _PREFIX.unpack(content[: _PREFIX.size])
    head, body = (magic, version, length, whole), content[_PREFIX.size :]
    digest = sha256(_PREFIX.pack(*head, bytes(32)) + body).digest()
    with pytest.raises(InputError, match=f"a header of {length:,} bytes" if refused else r"\(\w+Error"):
        Tally.from_bytes(_PREFIX.pack(*head, digest) + body)


@pytest.mark.parametrize(("most", "limit"), [(7, [7]), (0, [0]), (1 << 62, [])])
def test_counts_of_a_header_are_whole_numbers_up_to_their_limit(most, limit):
    assert [_whole(value, *limit) for value in (0, most)] == [0, most]
    for value in (-1, most + 1, True, 0.0, "0", None):
        assert not accepted(_whole, value, *limit)


def test_tallies_of_more_labels_than_a_file_holds_are_compared(monkeypatch):
    monkeypatch.setattr(serialization, "MOST_LABELS", 2)
    p = [[0.5, 0.3, 0.2]] * 3
    one, same, other = (Tally.of(list("abc"), p, labels=list(labels)) for labels in ("abc", "abc", "acb"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    with pytest.raises(InputError, match="3 labels; a tally file holds at most 2"):
        one.to_bytes()

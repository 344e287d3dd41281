"""Stated confidences: what is read, and what is not."""

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError
from unperplexed.cli import main
from unperplexed.language_models import Remarks, read_answers, stated_confidence

SENTENCES = Path(__file__).with_name("stated.tsv")
"""Answers as models write them, each with the confidence that it states, read by hand."""
UNSEEN = 100
"""The last ones, which were written when the rules of reading were settled."""

TABLE = {"certain": 0.99, "almost certain": 0.95, "unlikely": 0.2}


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("65%", None, 0.65),
        ("I am **65 %** sure", None, 0.65),
        ("about 65 percent", None, 0.65),
        ("99.5%", None, 0.995),
        ("first 20%, then 30%", None, None),
        ("first 20% sure, then 30% sure", None, None),
        ("first 20% sure, now 30% sure", None, 0.3),
        ("Confidence: 7/10", None, 0.7),
        ("7 out of 10", None, 0.7),
        ("Confidence: 0.85", None, 0.85),
        ("The probability is .5", None, None),
        ("Probability: .5", None, 0.5),
        ("0.8", None, 0.8),
        ("0.8.", None, 0.8),
        ("Confidence: 8", None, None),
        ("Confidence: 80", None, 0.8),
        ("Confidence: 1", None, None),
        ("1.0", None, 1.0),
        ("Confidence: 1.0", None, 1.0),
        ('{"confidence": 1.0}', None, 1.0),
        ("1.0", 10, 0.1),
        ("Confidence: 8", 10, 0.8),
        ("Confidence: 80", 100, 0.8),
        ("ANSWER: 7 CONFIDENCE: 90", 100, 0.9),
        ("The answer is 42", 100, None),
        ("I'm 30 years old", None, None),
        ("I am sure, 30 people came", None, None),
        ("My confidence is high, 20 sources agree", None, None),
        ("CONFIDENCE: 90 ANSWER: 7", None, 0.9),
        ("42", 100, 0.42),
        ("150%", None, None),
        ("Confidence: 12", 10, None),
        ("3/0", None, None),
        ("7/1" + "0" * 400, None, None),
        ("7/1" + "0" * 5000, None, None),
        ("9" * 400 + "/" + "9" * 400, None, None),
        ("9" * 400 + "%", None, None),
        ("Confidence: " + "9" * 400, 10, None),
        ("9" * 400 + "%, or rather 80%", None, None),
        ("9" * 400 + "% sure, or rather 80% sure", None, 0.8),
        ("in 2024/25 it rained", None, None),
        ("", None, None),
        ("I am almost certain.", None, 0.95),
        ("That is UNLIKELY", None, 0.2),
        ("uncertain", None, None),
        ("almost certain, 70%", None, 0.7),
        ("certain: 150%", None, None),
    ],
)
def test_what_is_read(text, scale, expected):
    assert stated_confidence(text, scale=scale, words=TABLE) == expected


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="scale"):
        stated_confidence("1", scale=0)
    with pytest.raises(InputError, match="'sure' has 90"):
        stated_confidence("1", words={"sure": 90})


def test_sentences_are_read_as_by_hand():
    table = [line.split("\t") for line in SENTENCES.read_text("utf-8").splitlines()[1:]]
    assert len(table) == 541
    found = [stated_confidence(text.replace("\\n", "\n")) for _, text in table]
    expected = [None if reading == "none" else float(reading) for reading, _ in table]
    pairs = list(zip(found, expected, strict=True))

    def errors(some):
        """Count confidences that are not those of the text, and those that are not read."""
        wrong = sum(own is not None and (hand is None or abs(own - hand) > 0.001) for own, hand in some)
        return wrong, sum(own is None and hand is not None for own, hand in some)

    # The figures of docs/fields/language-model-confidence.md.
    assert errors(pairs) == (8, 12)
    assert errors(pairs[-UNSEEN:]) == (5, 3)


def test_long_texts_of_numbers_take_no_longer_than_others():
    start = time.perf_counter()
    assert stated_confidence("50% " * 25_000) is None
    assert time.perf_counter() - start < 2  # seconds; 5 when every number was looked at


def test_doubtful_confidences_are_read_if_asked_for():
    for text, expected in (("The answer is 42%.", 0.42), ("A 20% sure, B 80% sure", 0.8), ("over 90% sure", 0.9)):
        assert stated_confidence(text) is None
        assert stated_confidence(text, doubtful=True) == pytest.approx(expected)
    assert stated_confidence("In 2020.", doubtful=True) is None
    assert stated_confidence("Certain that inflation was 3.2%", words=TABLE) == 0.99  # the number states nothing


def read(tmp_path, column, **settings):
    """Read confidences from a table."""
    path = tmp_path / "answers.parquet"
    pl.DataFrame({"grade": [1] * len(column), "stated": column}).write_parquet(path)
    remarks = Remarks()
    found = read_answers(path, ["grade"], {"stated": "stated"}, remarks=remarks, **settings)
    return found.confidences["stated"], remarks.sentences()


def test_the_scale_is_recognised_by_the_whole_column(tmp_path):
    values, [remark] = read(tmp_path, ["Confidence: 8", "Confidence: 95", "50%", '{"confidence": 90}'])
    assert values.tolist() == [0.08, 0.95, 0.5, 0.9]
    assert remark == ("numbers without a unit in the column 'stated' were divided by 100, as the column shows")
    values, [remark] = read(tmp_path, [*map(str, range(11)), "7/7"])
    assert values.tolist() == [*(np.arange(11) / 10).tolist(), 1.0]
    assert "divided by 10, as" in remark
    values, [remark] = read(tmp_path, ["4%", *map(str, range(10))])
    assert values.tolist() == [0.04, *(np.arange(10) / 100).tolist()]
    assert read(tmp_path, ["95%", "1.0"])[0].tolist() == [0.95, 1.0]
    assert np.isnan(read(tmp_path, ["4.0", "2.0", "1.0"])[0]).all()  # 1.0 may be a fifth
    values, [remark] = read(tmp_path, ["4", "2", "1"])
    assert np.isnan(values).all()
    assert remark.endswith(
        "for example from '4'; --scale names the highest number without a unit (5 of 1 to 5), --words what each means"
    )
    assert read(tmp_path, ["4", "2", "1"], scale=5)[0].tolist() == [0.8, 0.4, 0.2]
    assert read(tmp_path, [0.25, 1.0, 0.0]) == (pytest.approx([0.25, 1.0, 0.0]), ())
    values, [remark] = read(tmp_path, ["0.9", "0.8", "12", "0.7", "1.0000001"])  # two of them are out of range
    assert values[[0, 1, 3]].tolist() == [0.9, 0.8, 0.7]
    assert remark == "2 answers: no confidence could be read from the column 'stated', for example from '12'"
    values, remarks = read(tmp_path, ["0.9", "80", "70"])  # nine tenths, or less than one per cent
    assert np.isnan(values[0])
    assert remarks[1] == "1 answer: no confidence could be read from the column 'stated', for example from '0.9'"


def test_doubtful_rows_are_listed_and_left_out_unless_asked_for(tmp_path):
    column = ["90% sure", "The answer is 42%.", None, "3/4 of it", "5/10/2024"]
    values, remarks = read(tmp_path, column)
    assert np.isnan(values[1:]).all()
    assert remarks[0].startswith(
        "2 answers in the column 'stated': a doubtful confidence, left out; --invalid keep reads it"
    )
    assert remarks[0].endswith("(row 1: 'The answer is 42%.'; row 3: '3/4 of it'; rows counted from 0)")
    assert remarks[1].startswith("2 answers: no confidence could be read")
    values, remarks = read(tmp_path, column, doubtful=True)
    assert values[[1, 3]].tolist() == [0.42, 0.75]
    assert remarks[0].startswith("2 answers in the column 'stated': a doubtful confidence, which was read (row 1")


def test_tables_with_spaces_or_tabs_between_fields(tmp_path, capsys):
    rows = [("grade", "stated"), *[("Correct", "0.9"), ("Wrong", "0.4"), ("Correct", "0.7")] * 4]
    for separator, named, shown in ((" ", " ", "' '"), ("\t", "tab", "tab")):
        path = tmp_path / "log.txt"
        path.write_text("\n".join(separator.join(row) for row in rows))
        words = ["lm", str(path), "--truth", "grade", "--stated", "stated"]
        assert main([*words, "--separator", named]) == 0
        assert "12 answers" in capsys.readouterr().out
        assert main(words) == 2
        assert f"--separator {shown} reads it so" in capsys.readouterr().err
    assert main([*words, "--separator", ";;"]) == 2
    assert "expected one character, or tab, got ';;'" in capsys.readouterr().err
    assert main(["lm", str(path), "--separator", "tab"]) == 2
    assert "--separator: is for tables of graded answers" in capsys.readouterr().err

"""Stated confidences: what is read, and what is not."""

import pytest

from unperplexed import InputError
from unperplexed.language_models import stated_confidence

TABLE = {"certain": 0.99, "almost certain": 0.95, "unlikely": 0.2}


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("65%", None, 0.65),
        ("I am **65 %** sure", None, 0.65),
        ("about 65 percent", None, 0.65),
        ("99.5%", None, 0.995),
        ("first 20%, then 30%", None, 0.3),
        ("Confidence: 7/10", None, 0.7),
        ("7 out of 10", None, 0.7),
        ("Confidence: 0.85", None, 0.85),
        ("The probability is .5", None, 0.5),
        ("0.8", None, 0.8),
        ("0.8.", None, 0.8),
        ("Confidence: 8", None, None),
        ("Confidence: 8", 10, 0.8),
        ("Confidence: 80", 100, 0.8),
        ("ANSWER: 7 CONFIDENCE: 90", 100, 0.9),
        ("The answer is 42", 100, None),
        ("42", 100, 0.42),
        ("150%", None, None),
        ("Confidence: 12", 10, None),
        ("3/0", None, None),
        ("7/1" + "0" * 400, None, None),
        ("7/1" + "0" * 5000, None, None),
        ("9" * 400 + "/" + "9" * 400, None, None),
        ("9" * 400 + "%", None, None),
        ("Confidence: " + "9" * 400, 10, None),
        ("9" * 400 + "%, or rather 80%", None, 0.8),
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

import pytest

from printed import differs

SHOWN = "slope                   0.621   0.477 to 0.875   n = 799, gain −0.012 (p = 1.2e-05)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.875", "0.871"), ("0.621", "0.623"), ("−0.012", "−0.010"), ("n = 799", "n =  799"), ("1.2e-05", "1.2e-05")],
)
def test_last_digits_may_differ(old, new):
    assert not differs(SHOWN.replace(old, new), SHOWN)


@pytest.mark.parametrize(
    ("old", "new"),
    [("slope", "slopes"), ("799", "800"), ("0.875", "0.85"), ("−0.012", "0.012"), ("0.621", "0.631"), ("to", "0.1 to")],
)
def test_words_whole_numbers_and_sizes_may_not(old, new):
    assert differs(SHOWN.replace(old, new), SHOWN)

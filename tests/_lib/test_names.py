"""Names: those of a package, those that a refusal proposes, and long ones in short lines."""

import re

import pytest

import unperplexed as up
from unperplexed._lib.errors import refuse_unknown
from unperplexed._lib.formatting import short_names
from unperplexed._lib.public_names import listed


def test_each_public_name_of_a_stub_is_listed_with_its_module():
    names = listed("unperplexed")
    assert set(up.__all__) <= set(names)
    assert {name: names[name][0] for name in ("assess", "monitor")} == {
        "assess": up.assess.__module__.removeprefix("unperplexed"),
        "monitor": up.monitor.__module__.removeprefix("unperplexed"),
    }


def test_names_that_would_look_alike_are_cut_less():
    alike = [f"{'a' * 20}{middle}{'z' * 20}" for middle in "xy"]
    assert short_names([*alike, "b" * 50], most=24) == [*alike, f"{'b' * 10}...{'b' * 11}"]


@pytest.mark.parametrize(
    ("name", "known", "says"),
    [
        ("groups", ("by", "clusters"), "did you mean by= (of groups; clusters= of dependent rows)?"),
        ("groups", ("by", "labels"), "did you mean by=?"),
        ("max_ece", ("require",), 'did you mean require="ece < ..."?'),
        ("min_auc", ("require",), 'did you mean require="auc > ..."?'),
        ("max_ece", ("labels",), "it takes labels."),
    ],
)
def test_an_unknown_option_is_told_by_what_the_function_takes(name, known, says):
    with pytest.raises(TypeError, match=re.escape(f"f() got an unexpected keyword argument '{name}'; {says}")):
        refuse_unknown("f", [name], known)

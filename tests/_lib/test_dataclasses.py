"""Frozen dataclasses do what those of the standard library do."""

import copy
import dataclasses
import pickle
from functools import cached_property

import pytest

from unperplexed._lib.dataclasses import Frozen, field, fields, replace


def classes(bases, of, **of_single):
    """Make the same classes, of these bases and by a decorator."""

    @of(frozen=True)
    class Base(*bases):
        level: float
        names: tuple = ()
        unseen: list = field(default_factory=list, compare=False, repr=False)

        @cached_property
        def twice(self):
            return 2 * self.level

    @of(frozen=True)
    class Further(Base):
        slope: float = field(default=1.0, kw_only=True)
        made: float = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "made", self.slope + 1)

        def __repr__(self):
            return "further"

    @of(frozen=True, eq=False)
    class Single(*bases, **of_single):
        level: float

    return Base, Further, Single


BY_OURS = classes((Frozen,), lambda **_: lambda made: made, eq=False)
BY_THEIRS = classes((), dataclasses.dataclass)
Base, Further, Single = BY_OURS


@pytest.mark.parametrize(("ours", "theirs"), [*zip(BY_OURS, BY_THEIRS, strict=True)])
def test_fields_and_texts_are_those_of_the_standard_library(ours, theirs):
    mine, standard = ours(0.5), theirs(0.5)
    assert repr(mine) == repr(standard)
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert {each.name: getattr(mine, each.name) for each in fields(mine)} == vars(standard)
    assert ours.__match_args__ == theirs.__match_args__
    assert (mine == ours(0.5)) is (standard == theirs(0.5)) is (ours is not Single)
    with pytest.raises(TypeError, match="level"):
        ours()


@pytest.mark.parametrize("made", [Base(0.5, ("a",)), Further(0.5, slope=2.0), Single(0.5)])
def test_nothing_is_set_or_deleted_once_an_instance_is_made(made):
    for name in ("level", "unknown", "made"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            setattr(made, name, 1.0)
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            delattr(made, name)
    assert made.level == 0.5
    assert getattr(made, "twice", 1.0) == 1.0
    assert copy.deepcopy(made).level == replace(made, level=0.5).level == 0.5


def test_equal_are_instances_of_one_class_with_equal_fields_that_are_compared():
    assert Base(0.5, (), [1]) == Base(0.5, (), [2])
    assert hash(Base(0.5, (), [1])) == hash(Base(0.5, (), [2]))
    assert len({Base(0.5), Base(0.5, ("a",)), Base(0.5)}) == 2
    assert Base(0.5) != Further(0.5)
    assert Base(0.5) != 0.5
    assert Further(0.5, slope=2.0) != Further(0.5)
    assert Single(0.5) != Single(0.5)


class Kept(Frozen):
    """A class of the module, which a pickle finds by its name."""

    level: float


def test_pickles_and_copies_are_equal():
    assert pickle.loads(pickle.dumps(Kept(0.5))) == copy.copy(Kept(0.5)) == Kept(0.5)

import numpy as np
import pandas as pd
import pytest

from unperplexed import Forecasts, InputError, pool
from unperplexed.forecasts.gathered import gathered, gathered_chunks


def test_rows_left_out_for_one_forecaster_are_left_out_for_all():
    y = [0, 1, 1, 0, 1]
    a, b = [0.1, np.nan, 0.3, 0.4, 0.5], [0.2, 0.4, 0.6, np.nan, 1.0]
    rows = gathered({"a": a, "b": b}, y, {"invalid": "drop", "sample_weight": [1, 1, 2, 1, 0]})
    assert rows.index.tolist() == [0, 2]
    assert rows.values["b"][:, 1].tolist() == [0.2, 0.6]
    assert rows.weights.tolist() == [1, 2]
    assert rows.notes["a"].dropped == {"NaN": 1}


def test_clusters_are_numbered_from_0():
    rows = gathered({"a": [0.1, 0.2, 0.3]}, [0, 1, 1], {"clusters": ["x", "y", "x"]})
    assert rows.clusters[0] == rows.clusters[2] != rows.clusters[1]
    assert set(rows.clusters.tolist()) == {0, 1}


def test_what_cannot_be_gathered_is_refused_by_name():
    with pytest.raises(InputError, match=r"second: negative"):
        gathered({"a": [0.1, 0.2], "second": [0.1, -0.2]}, [0, 1], {})
    with pytest.raises(InputError, match="no forecaster"):
        gathered({}, [0, 1], {})
    with pytest.raises(InputError, match="no rows of positive weight"):
        gathered({"a": [0.1, np.nan]}, [0, 1], {"invalid": "drop", "sample_weight": [0.0, 1.0]})
    with pytest.raises(TypeError, match=r"pool\(\) got an unexpected keyword argument 'lables'"):
        pool([0], {"a": [0.1]}, lables=[0, 1])


def test_forecasters_of_other_classes_are_refused_by_name():
    first = pd.DataFrame({"a": [0.5, 0.2], "b": [0.5, 0.8]})
    with pytest.raises(
        InputError, match=r"second: its classes are \['b', 'a'\], those of first \['a', 'b'\]. Give all"
    ):
        gathered({"first": first, "second": first[["b", "a"]]}, ["a", "b"], {})


def test_parts_without_rows_are_none_to_gather():
    with pytest.raises(InputError, match="no rows to read"):
        gathered_chunks([Forecasts([], np.zeros((0, 2)), labels=[0, 1])], "model")
    empty = Forecasts([0, 1], [0.2, 0.7], sample_weight=[0.0, 0.0], whole=False)
    with pytest.raises(InputError, match="no rows of positive weight are left"):
        gathered_chunks([empty], "model")

"""Tensors in files, and arrays of which each has a file of its own."""

import pickle

import numpy as np
import pytest

from unperplexed import InputError, Tally, tally_files
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles

torch = pytest.importorskip("torch")
LABELS, READ = np.arange(60) % 3, {"scale": "logits"}


@pytest.fixture
def logits(rng):
    return rng.normal(size=(60, 3)).astype(np.float32)


def saved(folder, name, logits, labels=LABELS):
    """Write logits or labels, whichever the name begins with."""
    array, path = logits if name.startswith("logits") else labels, folder / name
    if path.suffix == ".npz":
        np.savez(path, array)
    elif path.suffix == ".npy":
        np.save(path, array)
    else:
        torch.save(torch.as_tensor(array), path)
    return str(path)


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".pt"])
@pytest.mark.parametrize("beside", [".npz", ".npy", ".pth"])
def test_logits_and_labels_in_two_files(tmp_path, logits, suffix, beside):
    path, truth = saved(tmp_path, f"logits{suffix}", logits), saved(tmp_path, f"labels{beside}", logits)
    prob = "arr_0" if suffix == ".npz" else "logits"
    found = tally_files(path, truth=truth, prob=prob, **READ)
    assert found.scores == Tally.of(LABELS, logits, **READ).scores


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tensors_by_name(tmp_path, logits, dtype):
    path = tmp_path / "both.pt"
    tensor = torch.tensor(logits, dtype=dtype, requires_grad=True)
    torch.save({"labels": torch.tensor(LABELS), "logits": tensor.T.contiguous().T, "epoch": 3}, path)
    found = tally_files(path, truth="labels", prob="logits", **READ)
    assert found.scores == Tally.of(LABELS, tensor.detach().double().numpy(), **READ).scores


@pytest.mark.filterwarnings("error")
def test_tensors_that_are_larger_than_their_file_or_no_arrays_are_refused(tmp_path, logits):
    many = torch.zeros(1, 1).expand(10**12, 3)
    with pytest.warns(UserWarning, match="nested"):
        nested = torch.nested.nested_tensor([torch.zeros(3), torch.zeros(5)])
    for tensor, message in (
        (many, "tensor 'logits' repeats 4 bytes as 12,000,000,000,000.*contiguous"),
        (nested, "not a readable PyTorch file"),
    ):
        torch.save({"logits": tensor, "labels": torch.tensor(LABELS)}, tmp_path / "x.pt")
        with pytest.raises(InputError, match=message):
            tally_files(tmp_path / "x.pt", truth="labels", prob="logits", **READ)
    part = torch.tensor(np.vstack([logits, logits]))[60:]  # of a larger storage, all of which is saved
    torch.save({"logits": part, "labels": torch.tensor(LABELS)}, tmp_path / "x.pt")
    found = tally_files(tmp_path / "x.pt", truth="labels", prob="logits", **READ)
    assert found.scores == Tally.of(LABELS, logits, **READ).scores


class Anything:
    """An object that reading must not make."""

    def __reduce__(self):
        return (pytest.fail, ("code of the file was run",))


def test_files_that_could_run_code_are_refused(tmp_path, logits):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(Anything()))
    torch.save({"logits": torch.tensor(logits), "more": Anything()}, tmp_path / "x.pt")
    np.savez(tmp_path / "x.npz", logits=logits, labels=np.array([Anything()] * 60, dtype=object))
    for name, message in (
        ("x.pkl", "a pickle can run code when it is read; refused.*numpy.savez"),
        ("x.pt", r"can run code when read; refused.*torch.load\(PATH, weights_only=True\)"),
        ("x.npz", "'labels' holds pickled Python objects, which can run code when read; refused"),
    ):
        with pytest.raises(InputError, match=message):
            tally_files(tmp_path / name, truth="labels", prob="logits", **READ)


def test_files_that_are_no_column_are_refused(tmp_path, logits):
    path, labels = saved(tmp_path, "logits.npy", logits), tmp_path / "labels.npz"
    np.savez(labels, a=LABELS, b=LABELS)
    with pytest.raises(InputError, match=r"labels.npz: holds 2 arrays \('a', 'b'\), but a column is one"):
        tally_files(path, truth=str(labels), prob="logits", **READ)
    torch.save({"model": {"weight": torch.zeros(3)}}, tmp_path / "model.pt")
    with pytest.raises(InputError, match="model.pt: holds no tensor, or only inside of other objects"):
        tally_files(tmp_path / "model.pt", truth="labels", prob="logits")
    short = saved(tmp_path, "labels.pt", logits, LABELS[:59])
    with pytest.raises(InputError, match="has 59 rows, logits 60; each forecast needs its outcome"):
        tally_files(path, truth=short, prob="logits", **READ)


def test_predictions_of_the_hugging_face_trainer_need_no_names(tmp_path, logits):
    np.savez(tmp_path / "predictions.npz", predictions=logits, label_ids=LABELS)
    said = []
    reading = FileReading(options=READ)
    [batch] = ForecastFiles([str(tmp_path / "predictions.npz")], Selection(), reading, say=said.append)
    assert said == ["outcomes from 'label_ids'", "probabilities from 'predictions'"]
    assert Tally.count(batch.forecasts).scores == Tally.of(LABELS, logits, **READ).scores

"""Small files that would fill the memory: refused by the command line within a limit on its address space."""

import gzip
import resource
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest

from spoiled_tallies import rewritten
from unperplexed import Recalibrator, Tally

ADDRESSES = 3 << 30
RESIDENT = 700 << 20
"""What docs/reference/input.md states, of which 150 MB are libraries."""


def many_labels(folder):
    path = folder / "f.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"y,p\n")
        for start in range(0, 100_000, 1000):
            file.write(b"".join(b"a" * 1000 + b"%d,0.5\n" % at for at in range(start, start + 1000)))
    return path, "different values of more than 64 MB together"


def one_long_line(folder):
    path = folder / "f.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"y": "' + b"a" * (100 << 20))
    return path, "line 1 begins a record of more than"


def many_values(folder):
    path = folder / "f.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"y": 1, "p": [' + b"[]," * (8 << 20) + b"1]}\n")
    return path, "line 1 begins a record of more than 4,194,304 values"


def many_values_of_a_log(folder):
    path = folder / "log.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"doc": "a", "bytes": 3, "logprobs": [' + b"[]," * (8 << 20) + b"1]}\n")
    return path, "a line unpacks to more than 4,194,304 values"


def one_long_field(folder):
    path = folder / "f.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'y,p\n"' + b"a\n" * (50 << 20))
    return path, "line 2 begins a record of more than"


def one_long_row(folder):
    path = folder / "f.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 500000000)}\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        with zipped.open("y.npy", "w") as member:
            np.lib.format.write_array(member, np.zeros(1))
        with zipped.open("p.npy", "w", force_zip64=True) as member:
            member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            for _ in range(60):
                member.write(bytes(1 << 20))
    return path, "has rows of 4,000,000,000 bytes"


def header_without_end(folder):
    path = folder / "f.npz"
    content = b"\x93NUMPY\x02\x00" + (1 << 30).to_bytes(4, "little") + b" " * (100 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        zipped.writestr("y.npy", content)
    return path, "a header of 1,073,741,824 bytes"


def tally_of_rows_without_end(folder):
    content = Tally.of([0, 1], [0.25, 0.5]).to_bytes()

    def change(header, body, version):
        for section in header["sections"]:
            section["length"] = 1 << 33
        return {**header, "n_rows": 1 << 50, "exact_limit": 1 << 39}, body, version

    path = folder / "f.tally"
    path.write_bytes(rewritten(content, change))
    return path, "longer than can be"


def peak_memory(*words):
    """Run a command and return the most memory that it used, in kB."""
    code = (
        "import pathlib, re, sys\n"
        "from unperplexed.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', pathlib.Path('/proc/self/status').read_text())[1])\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, check=True)
    return int(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_applying_a_map_takes_no_more_memory_for_more_rows(tmp_path):
    rng = np.random.default_rng(0)
    Recalibrator("temperature").fit(rng.random(200) < 0.5, rng.random(200)).save(tmp_path / "map.json")
    peaks = []
    for n in (400_000, 1_600_000):
        pl.DataFrame({"id": np.arange(n), "p": rng.random(n)}).write_csv(tmp_path / "new.csv")
        words = ("recalibrate", "--apply", "map.json", "new.csv", "--prob", "p", "-o", "out.csv", "-q")
        peaks.append(peak_memory(*(str(tmp_path / word) if "." in word else word for word in words)))
    assert peaks[1] < 1.3 * peaks[0]


FILES = [many_labels, one_long_line, many_values, one_long_field, one_long_row, header_without_end]
FILES += [tally_of_rows_without_end, many_values_of_a_log]


@pytest.mark.parametrize("make", FILES)
@pytest.mark.slow
def test_small_files_that_would_fill_the_memory(tmp_path, make):
    path, message = make(tmp_path)
    assert path.stat().st_size < 8 << 20
    code = (
        "import pathlib, re, resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({ADDRESSES}, {ADDRESSES}))\n"
        "from unperplexed.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', pathlib.Path('/proc/self/status').read_text())[1])\n"
        "sys.exit(code)\n"
    )
    words = ["assess", str(path), *([] if path.suffix == ".tally" else ["--truth", "y", "--prob", "p"])]
    if path.stem.startswith("log"):
        words = ["lm", str(path), "-q"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert int(done.stdout) << 10 < RESIDENT
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != ADDRESSES

"""Nothing that the package does opens a network connection."""

import subprocess
import sys

import pytest

CODE = """
import os, socket, sys

def refuse(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print(event, arguments, file=sys.stderr)
        os._exit(7)

sys.addaudithook(refuse)
from unperplexed.cli import main
for line in sys.stdin:
    if main(line.split()):
        sys.exit(line)
"""


@pytest.mark.slow
def test_commands_open_no_connection(tmp_path):
    """Sockets are refused, whoever asks for one; so is a look-up of a name."""
    path, out = tmp_path / "f.csv", tmp_path / "o"
    path.write_text("y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 30)
    log = tmp_path / "log.jsonl"
    log.write_text('{"doc": "a", "text": "a", "logprobs": [-1.0]}\n')
    commands = (
        f"assess {path} --resamples 0 --report {out}.html --plot {out}.png --json {out}.json",
        f"tally {path} -o {out}.tally",
        f"recalibrate {path} -o {out}.map.json",
        f"lm {log}",
    )
    code = [sys.executable, "-c", CODE]
    done = subprocess.run(code, input="\n".join(commands), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_refusal_is_one():
    code = CODE.replace("from unperplexed.cli import main", "socket.create_connection(('127.0.0.1', 9))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 7

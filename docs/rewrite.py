"""Write the outputs of a page's examples anew: ``python docs/rewrite.py docs/learn/first-assessment.md README.md``.

Outputs that pass as they are stay as they are. Read the diff before you commit it: a figure that moved is a result.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import COMMAND, NOT_RUN, setup, teardown  # noqa: E402
from printed import differs  # noqa: E402

BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?P<shown>\n```text\n(?P<text>.*?)^```\n)?"
    r"|^% invisible-code-block: python\n(?P<hidden>(?:%[^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def rewritten(page: str, namespace: dict[str, object] | None = None) -> str:
    """Run a page's blocks in order, in a folder of its own, and return the page with what they print.

    The names that the blocks define are put in `namespace`.
    """
    namespace = {} if namespace is None else namespace
    setup(namespace)
    try:
        return BLOCK.sub(lambda block: _block(block, namespace), page)
    finally:
        teardown(namespace)


def _block(block: re.Match[str], namespace: dict[str, object]) -> str:
    if block["hidden"]:
        try:
            exec(re.sub(r"^% ?", "", block["hidden"], flags=re.MULTILINE), namespace)
        except AssertionError:
            print("an invisible assertion does not hold (yet):", block["hidden"], sep="\n")
        return block[0]
    if block["kind"] == "sh":
        return _shell(block)
    if ">>>" in block["code"]:
        return block[0].replace(block["code"], _session(block["code"], namespace), 1)
    exec(compile(block["code"], "<block>", "exec"), namespace)
    return block[0]


def _shell(block: re.Match[str]) -> str:
    commands = [line for line in re.sub(r"\\\n", " ", block["code"]).splitlines() if not NOT_RUN.search(line)]
    if not commands:
        return block[0]
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    command = ["bash", "-euo", "pipefail", "-c", "\n".join([COMMAND, *commands])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{block['code']}ended with {done.returncode}:\n{done.stderr}")
    if block["text"] is None or not differs(done.stdout, block["text"]):
        return block[0]
    return block[0].replace(block["shown"], f"\n```text\n{done.stdout}```\n", 1)


def _session(code: str, namespace: dict[str, object]) -> str:
    parts = doctest.DocTestParser().parse(code)
    return "".join(part if isinstance(part, str) else _example(part, namespace) for part in parts)


def _example(example: doctest.Example, namespace: dict[str, object]) -> str:
    lines = example.source.rstrip("\n").split("\n")
    source = "".join(f"{'...' if i else '>>>'} {line}".rstrip() + "\n" for i, line in enumerate(lines))
    if all(line == "" for line in lines[1:]):
        source = f">>> {lines[0]}\n"
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(example.source, "<example>", "single"), namespace)
        got = out.getvalue()
    except Exception as error:
        if not example.exc_msg:
            raise
        got = "Traceback (most recent call last):\n    ...\n"
        got += "".join(traceback.format_exception_only(error))
    if doctest.OutputChecker().check_output(example.want, got, FLAGS | sum(example.options)):
        return source + example.want
    return source + re.sub(r"^$(?=\n)", "<BLANKLINE>", got, flags=re.MULTILINE)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        before = path.read_text()
        after = rewritten(before)
        os.chdir(ROOT)
        if after != before:
            path.write_text(after)
            print(f"{name}: outputs written anew")

"""Runs the examples of README, ARCHITECTURE and docs with Sybil; where Sybil is missing, nothing is defined here."""

try:
    from sybil import Document, Example, Sybil
    from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser
except ImportError:
    pass
else:
    import io
    import os
    import re
    import runpy
    import shlex
    import shutil
    import subprocess
    import sys
    import tempfile
    from contextlib import redirect_stderr, redirect_stdout
    from importlib.metadata import PackageNotFoundError, version
    from pathlib import Path

    from printed import differs

    os.environ.setdefault("MPLBACKEND", "Agg")  # the examples draw, and no window is to open
    os.environ.pop("COLUMNS", None)  # outputs on the pages are as wide as where there is no terminal
    os.environ.setdefault("KERAS_BACKEND", "torch")
    ROOT = Path(__file__).parent
    NETWORKS = {
        name: Path(os.environ.get("UNPERPLEXED_DATA", "")) / folder / name
        for folder, name in (("netcal_cifar", "wideresnet-16-4-cifar-10.npz"), ("vgg16_cifar10", "vgg16_cifar10.npz"))
        if "UNPERPLEXED_DATA" in os.environ
    }
    NOT_RUN = re.compile(r"pip install|\b10\.0\.0\.1\b" + ("" if NETWORKS else "|wideresnet-16-4"))
    """What is installed is there, CI runs the README's installations by themselves, and no cluster has this address.
    Two commands have the predictions of networks, where these are."""

    COMMAND = 'unperplexed() { python -m unperplexed "$@"; }'
    SIMPLE = re.compile(
        r"(unperplexed (?:'[^']*'|\"[^\"$`]*\"|[^|<>;&$*?~`{}()\[\]#'\"])+)"
        r"(?: #.*|\|\s*((?:grep|head|sed|tail) (?:'[^']*'|\"[^\"$`]*\"|[^|<>;&$`'\"])+))?"
    )
    """A command that is a call, the same without a shell and in this process, and what is shown of its text."""

    MARKS = re.compile(
        r"^(```+|:::(?={csv)).*?^\1$|^% needs: (?P<packages>[^\n]+)$|^(?P<level>#+) |^:::", re.DOTALL | re.MULTILINE
    )

    def needs(text: str) -> list[tuple[int, int, list[str]]]:
        """Find what needs packages beside this one: where it begins, where it ends, and their names.

        "% needs: mlflow pandas" holds to the next such line, heading of its section's level or above, or end of a tab.
        """
        found, level, section = [], 0, 0
        for mark in MARKS.finditer(text + "\n% needs: nothing\n"):
            if mark[1]:
                continue
            if found and found[-1][1] is None and (not mark["level"] or len(mark["level"]) <= section):
                found[-1][1] = mark.start()
            if mark["packages"]:
                section = level
                found.append([mark.start(), None, re.findall(r"([\w.-]+)\S*", mark["packages"])])
            level = len(mark["level"] or "") or level
        return [tuple(part) for part in found[:-1]]

    def installed(package: str) -> bool:
        """Whether a package is there."""
        try:
            return bool(version(package))
        except PackageNotFoundError:
            return False

    def lacking(text: str) -> list[tuple[int, int, list[str]]]:
        """Find what needs packages that are not here; `.ci/neighbours` runs it with its neighbour alone."""
        return [part for part in needs(text) if not all(map(installed, part[2]))]

    def present(parser):
        """Let a parser see what can be run here."""

        def parse(document: Document):
            left_out = lacking(document.text)
            for region in parser(document):
                if not any(begin < region.start < end for begin, end, _ in left_out):
                    yield region

        return parse

    def pytest_report_header() -> list[str]:
        """Name what is left out, and why."""
        pages = {
            page.relative_to(ROOT): lacking(page.read_text("utf-8")) for page in sorted((ROOT / "docs").rglob("*.md"))
        }
        left_out = ", ".join(f"{page} ({', '.join(names)})" for page, parts in pages.items() for _, _, names in parts)
        return [f"parts of pages left out, whose packages are not installed: {left_out}"] if left_out else []

    def setup(namespace):
        """Enter a folder of the document's own, with the files that it may name."""
        folder = namespace["_folder"] = Path(tempfile.mkdtemp(prefix="unperplexed-docs-"))
        pages = shutil.ignore_patterns("*.svg", "*.png", "*.py", "*.json", "_build", "pictures")
        shutil.copytree(ROOT / "docs", folder / "docs", ignore=pages)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for name, path in NETWORKS.items():
            (folder / name).symlink_to(path.resolve())
        runpy.run_path(str(ROOT / "docs" / "files.py"))["make"](folder)
        os.chdir(folder)

    def teardown(namespace):
        """Leave it."""
        os.chdir(ROOT)
        if "_folder" in namespace:
            shutil.rmtree(namespace["_folder"])

    def run(example: Example) -> str | None:
        """Run a block's commands, and compare their output with the block of text behind it, if there is one."""
        lines = re.sub(r"\\\n", " ", str(example.parsed)).splitlines()
        commands = [line for line in lines if not NOT_RUN.search(line)]
        script = "\n".join([COMMAND, *commands])
        here = all(SIMPLE.fullmatch(command) for command in commands)
        ended, printed, errors = _in_this_process(commands) if here else _in_a_shell(script)
        if ended:
            return f"{script}\nended with {ended}:\n{errors}"
        shown = re.match(r"```\n\n```text\n(.*?)```", _rest(example.document, example), re.DOTALL)
        if commands and shown and differs(printed, shown[1]):
            return f"{script}\nprinted:\n{printed}\nnot:\n{shown[1]}"
        return None

    def _in_this_process(commands: list[str]) -> tuple[int, str, str]:
        """Run calls without starting Python for each, until one fails."""
        printed, errors, ended = [], io.StringIO(), 0
        for call, shown in (SIMPLE.fullmatch(command).groups() for command in commands):
            ended, text = _called(call, errors)
            if shown and not ended:
                done = subprocess.run(["bash", "-c", shown], input=text, capture_output=True, check=False)
                ended, text = done.returncode, done.stdout
            printed.append(text.decode())
            if ended:
                break
        return ended, "".join(printed), errors.getvalue()

    def _called(call: str, errors: io.StringIO) -> tuple[int, bytes]:
        from unperplexed.cli.parser import main

        printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
        with redirect_stdout(printed), redirect_stderr(errors):
            ended = main(shlex.split(call, comments=True)[1:])
        printed.flush()
        return ended, printed.buffer.getvalue()

    def _in_a_shell(script: str) -> tuple[int, str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = ["bash", "-euo", "pipefail", "-c", script]
        environment = os.environ | {"PATH": path}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr

    def _rest(document: Document, example: Example) -> str:
        return document.text[example.region.end - 3 :]

    pytest_collect_file = Sybil(
        parsers=[present(PythonCodeBlockParser()), present(CodeBlockParser("sh", run))],
        patterns=["README.md", "ARCHITECTURE.md", "docs/*.md", "docs/*/*.md"],
        setup=setup,
        teardown=teardown,
    ).pytest()

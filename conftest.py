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

    def needs(page: Path) -> list[str]:
        """Name the packages that a page needs beside this one, such as of "% needs: mlflow pandas"."""
        found = re.search(r"^% needs: (.+)$", page.read_text("utf-8"), re.MULTILINE)
        return [] if found is None else re.findall(r"([\w.-]+)\S*", found[1])

    def installed(package: str) -> bool:
        """Whether a package is there."""
        try:
            return bool(version(package))
        except PackageNotFoundError:
            return False

    def lacking() -> dict[str, list[str]]:
        """Find the packages that pages need and that are not here, by page."""
        pages = sorted((ROOT / "docs").rglob("*.md"))
        found = {str(page): [package for package in needs(page) if not installed(package)] for page in pages}
        return {page: packages for page, packages in found.items() if packages}

    LACKING = lacking()
    collect_ignore = [*LACKING]
    """Pages of neighbours that are not here; `.ci/neighbours` runs each with its neighbour alone."""

    def pytest_report_header() -> list[str]:
        """Name the pages that are left out, and why."""
        left_out = (f"{Path(page).relative_to(ROOT)} ({', '.join(packages)})" for page, packages in LACKING.items())
        return [f"pages left out, whose packages are not installed: {', '.join(left_out)}"] if LACKING else []

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
        parsers=[PythonCodeBlockParser(), CodeBlockParser("sh", run)],
        patterns=["README.md", "ARCHITECTURE.md", "docs/*.md", "docs/*/*.md"],
        setup=setup,
        teardown=teardown,
    ).pytest()

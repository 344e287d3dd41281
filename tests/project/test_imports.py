"""No module needs itself by a detour: imports inside functions and those for type checking count too."""

import ast
from pathlib import Path

import pytest

import unperplexed

ROOT = Path(unperplexed.__file__).parent


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


def imported(module):
    """Modules of the package that any statement of a module imports."""
    package = module if MODULES[module].stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(MODULES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            home = ".".join(part for part in (above, node.module) if part)
            for alias in node.names:
                named = f"{home}.{alias.name}"
                yield from (each for each in ([named] if named in MODULES else [home]) if each in MODULES)


def circles(graph):
    """Modules that reach themselves, each circle once: strongly connected components (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(module):
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in graph[module]:
            if other not in number:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1 or module in graph[module]:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in graph:
        if module not in number:
            visit(module)
    return found


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "d"}}) == [["a", "b", "c"], ["d"]]


@pytest.mark.slow
def test_imports_go_round_in_no_circle():
    graph = {module: set(imported(module)) for module in MODULES}
    assert len(graph) > 250
    assert sum(map(len, graph.values())) > 1000
    assert "unperplexed.statistics.means" in graph["unperplexed.scores.rules"]
    assert circles(graph) == []


BY_NAME = {
    "_lib.public_names",
    "calibration.diagnosis.kinds",
    "calibration.estimators",
    "cli.parser",
    "integrations",
    "kernels.compiled",
    "language_models.forms",
    "report.result",
    "sources.engines",
    "sources.readers.formats",
}
"""What imports modules by names that it makes, which no other test of imports sees."""


def test_few_modules_import_others_by_a_name_that_they_make():
    found = {module for module, path in MODULES.items() if "import_module(" in path.read_text("utf-8")}
    assert found == {f"unperplexed.{each}" for each in BY_NAME}


def results_of(kind):
    for each in kind.__subclasses__():
        yield each
        yield from results_of(each)


def test_every_result_is_described_and_no_description_is_idle():
    from importlib import import_module

    from unperplexed import results
    from unperplexed.describe import MODULES as DESCRIBED
    from unperplexed.report.result import Result, document

    for name in results.__all__:
        getattr(results, name)
    for module in set(DESCRIBED.values()):
        import_module(f"unperplexed.describe.{module}")
    import_module("unperplexed.monitoring.gate")
    import_module("unperplexed.report.explanations")
    registered = {each.__name__ for each in document._known}
    of_package = {each for each in results_of(Result) if each.__module__.startswith("unperplexed.")}
    assert {each.__name__ for each in of_package if not any(results_of(each))} == registered
    assert set(DESCRIBED) <= registered

"""Sentences are made of clauses and never read back: no module takes apart what a result says."""

import ast
from pathlib import Path

import pytest

import unperplexed

SOURCE = Path(unperplexed.__file__).parent
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

SAID = {"words", "verdict", "headline", "in_brief", "lead", "remedy", "short", "beside"}
"""Attributes that hold a sentence, or part of one."""

SAYS = {"words", "verdict", "headline", "joined", "p_value_text", "sentences"}
"""Functions that return one."""

READS = {
    *("split", "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "removeprefix"),
    *("removesuffix", "replace", "find", "rfind", "index", "rindex", "count", "strip", "lstrip", "rstrip"),
}
"""Methods of strings that read them."""


def is_said(node, names=frozenset()):
    """Whether an expression is a sentence of a result, or a name for one."""
    match node:
        case ast.Attribute(attr=name):
            return name in SAID
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in SAYS
        case ast.Name(id=name):
            return name in names
        case ast.IfExp():
            return is_said(node.body, names) or is_said(node.orelse, names)
    return False


def named(function):
    """Names that a function gives to sentences."""
    assigned = (node for node in ast.walk(function) if isinstance(node, ast.Assign) and is_said(node.value))
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def read_back(tree):
    """Expressions that take a sentence apart, or look into it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    for scope, names in [(tree, set()), *((each, named(each)) for each in functions)]:
        for node in ast.walk(scope):
            match node:
                case ast.Call(func=ast.Attribute(value=what, attr=method)) if method in READS and is_said(what, names):
                    yield ast.unparse(node)
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=args) if any(
                    is_said(each, names) for each in args
                ):
                    yield ast.unparse(node)
                case ast.Call(func=ast.Attribute(attr="search" | "match" | "fullmatch" | "sub"), args=args) if any(
                    is_said(each, names) for each in args
                ):
                    yield ast.unparse(node)
                case ast.Subscript(value=what) if is_said(what, names):
                    yield ast.unparse(node)
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[what]) if is_said(what, names):
                    yield ast.unparse(node)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_no_module_reads_a_sentence_back(module):
    assert [*read_back(ast.parse((SOURCE / module).read_text("utf-8")))] == []


@pytest.mark.parametrize(
    "code",
    [
        "finding.words.split(' (')[0]",
        "def f(c):\n    headline, *rest = PATTERN.sub('', c.verdict).split('; ')",
        "re.sub('x', 'y', d.headline)",
        "d.headline[0].lower() + d.headline[1:]",
        "'observed frequency' in self.parts.verdict",
        "def f(c):\n    text = verdict(c)\n    return text[0].upper() + text[1:] if text.startswith('no ') else text",
        "p_value_text(p).removeprefix('p = ')",
        "f'{d.verdict.removesuffix(chr(46))}!'",
        "_STOP.search(d.headline)",
    ],
)
def test_what_reads_one_is_found(code):
    assert [*read_back(ast.parse(code))]

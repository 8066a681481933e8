"""The package as such: what a wheel holds, which module may import which, and what the README
promises."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator

import pytest

import tracegrad

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = sorted([*(ROOT / "tracegrad").rglob("*.py"), *(ROOT / "codegen").rglob("*.py")])
LAYERS = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["id"] == "layers")[
    "layers"
]
HEIGHT = {
    module.strip(" ()"): -height for height, line in enumerate(LAYERS) for module in line.split(":")
}


def module_name(path: pathlib.Path) -> tuple[str, ...]:
    """The installed name: `codegen/` lies inside the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ("tracegrad", *parts) if parts[0] == "codegen" else parts


def imports(path: pathlib.Path) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Every import of a file with the absolute name of the module it reaches."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            target = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                yield node, (*target, alias.name)


def type_checking_only(path: pathlib.Path) -> set[int]:
    """Lines inside `if TYPE_CHECKING:`."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) in (
            "TYPE_CHECKING",
            "_typing.TYPE_CHECKING",
        ):
            for statement in node.body:
                lines.update(
                    range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
                )
    return lines


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel that is built, without the network, from a copy of what the build
    needs."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("tracegrad", "codegen"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, "dist"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(built).namelist()


def test_wheel_has_one_top_level_name(wheel: list[str]) -> None:
    assert {n.partition("/")[0] for n in wheel if ".dist-info/" not in n} == {"tracegrad"}


def test_wheel_is_complete(wheel: list[str]) -> None:
    expected = {
        "/".join(
            ("tracegrad", *p.relative_to(ROOT).parts)
            if p.is_relative_to(ROOT / "codegen")
            else p.relative_to(ROOT).parts
        )
        for p in FILES
    }
    assert {n for n in wheel if n.endswith(".py")} == expected
    assert "tracegrad/py.typed" in wheel


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tracegrad.__version__)
    assert f"## {tracegrad.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    cited = (ROOT / "docs" / "project" / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {tracegrad.__version__}\n" in cited
    try:
        installed = importlib.metadata.version("tracegrad")
    except importlib.metadata.PackageNotFoundError:
        return  # a checkout that is not installed
    assert installed == tracegrad.__version__


def test_import_loads_no_compiler() -> None:
    code = (
        "import sys, tracegrad; print([m for m in ('numba', 'llvmlite', 'codegen', "
        "'matplotlib', 'rich') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists_once() -> None:
    names = tracegrad.__all__
    assert len(set(names)) == len(names)
    assert [n for n in names if not hasattr(tracegrad, n)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_import_rules(path: pathlib.Path) -> None:
    name = module_name(path)
    typing_only = type_checking_only(path)
    in_codegen = name[1:2] == ("codegen",)
    native = in_codegen and name[2:3] in (("native",), ("translation",), ("disk",), ("cuda",))
    # The package's own front names everything, and a private helper of it (`_codegen`) is the
    # bridge to the bottom.
    height = HEIGHT.get(name[1]) if len(name) > 1 and not in_codegen else None
    assert in_codegen or len(name) == 1 or height is not None, (
        f"{'.'.join(name)} stands in no layer of pyproject.toml"
    )
    for node, target in imports(path):
        where = f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        first_party = target[0] in ("tracegrad", "codegen")
        if target[0] == "codegen":
            assert name == ("tracegrad", "_codegen"), (
                f"{where}: a bare `codegen` is a second copy of every class"
            )
        if first_party and node.lineno not in typing_only:
            assert node.col_offset == 0 or name == ("tracegrad", "_codegen"), (
                f"{where}: not at the top of the module"
            )
        if target[0] in ("numba", "llvmlite"):
            assert native or name[:2] == ("tracegrad", "bench"), (
                f"{where}: only codegen/native/ and codegen/cuda/ import the compiler"
            )
        if in_codegen:
            assert target[0] != "tracegrad" or target[1:2] == ("codegen",), (
                f"{where}: codegen knows nothing of the package"
            )
            assert not first_party or (isinstance(node, ast.ImportFrom) and node.level), (
                f"{where}: not relative"
            )
            continue
        if (
            first_party
            and len(target) > 1
            and target[1] in HEIGHT
            and height is not None
            and node.lineno not in typing_only
        ):
            assert HEIGHT[target[1]] <= height, f"{where}: an import that points upwards"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_readable(path: pathlib.Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_tests_stay_readable() -> None:
    assert [
        p.name
        for p in (ROOT / "tests").rglob("*.py")
        if len(p.read_text(encoding="utf-8").splitlines()) > 500
    ] == []


def test_class_names_mean_one_thing() -> None:
    """But for those that docs/decisions/house.md gives a reason for."""
    classes = [
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    twice = {name: count for name, count in Counter(classes).items() if count > 1}
    assert twice == dict.fromkeys(("Generator", "Literal", "Loop", "Node", "Size"), 2)


def test_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\npip install -e '.[bench]' && python -m tracegrad bench\n" in text
    assert "\npip install -e '.[test]' && pytest\n" in text


def test_readme_glossary_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    glossary = text.partition("\n## Glossary\n")[2].partition("\n## ")[0]
    assert 1 <= glossary.count("\n- **") <= 12


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.py")), ids=lambda p: p.name)
def test_examples_say_what_they_show(path: pathlib.Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_test_files_have_names_of_their_own() -> None:
    """Two modules of one name cannot be collected together. (Those in cuda/ run apart.)"""
    names = Counter(
        path.name for path in ROOT.glob("tests/**/test_*.py") if "cuda" not in path.parts
    )
    assert [name for name, count in names.items() if count > 1] == []

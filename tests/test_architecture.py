"""Rules about the code as a whole that no single test would notice being broken."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import weft
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState
from weft.terms import RunState

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "weft").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAX_LINES = 400
MAX_MODULES = 25
_VERB_FORM = re.compile(r"(ing|ed)$")
_NOUNS = {"ending", "landing", "packing", "paused", "scripted", "unlanded"}
"""Words that end like a gerund or a participle, and are the field's own."""


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@cache
def syntax_trees() -> list[tuple[Path, ast.Module]]:
    """Each module of the package, by its path in it, as a syntax tree."""
    return [
        (source.relative_to(ROOT / "src" / "weft"), ast.parse(source.read_text(encoding="utf-8")))
        for source in SOURCES
    ]


def test_a_module_is_small_enough_to_be_one_idea() -> None:
    lengths = {source: len(source.read_text(encoding="utf-8").splitlines()) for source in SOURCES}
    assert {source: length for source, length in lengths.items() if length > MAX_LINES} == {}


def test_a_folder_is_small_enough_to_be_a_room() -> None:
    sizes = Counter(source.parent for source in SOURCES if source.name != "__init__.py")
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_a_module_is_named_by_a_noun() -> None:
    named = {source.stem for source in SOURCES if _VERB_FORM.search(source.stem)}
    assert named <= _NOUNS, "name what is in the module, or add the word here if it is the field's own"


def test_threads_are_started_in_one_place() -> None:
    """There they raise `OSError` if the system has no room for another one; elsewhere it would look like a bug."""
    elsewhere = [
        f"{path}: {node.attr if isinstance(node, ast.Attribute) else node.id}"
        for path, tree in syntax_trees()
        if path.name != "threads.py" and path.parts[0] != "testing"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id in {"ThreadPoolExecutor", "to_thread"})
        or (isinstance(node, ast.Attribute) and node.attr in {"ThreadPoolExecutor", "to_thread"})
        or (
            isinstance(node, ast.Attribute)
            and node.attr == "start"
            and "thread" in ast.unparse(node.value).lower()
        )
    ]
    assert elsewhere == []


def test_one_factory_names_the_implementations_of_hosts() -> None:
    """Everything else uses the port, so a host can be on another machine."""
    implementations = {"weft.hosts.local", "weft.hosts.records", "weft.hosts.link", "weft.hosts.reach"}
    users = {
        str(path)
        for path, tree in syntax_trees()
        if path.parts[0] != "hosts"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in implementations
    }
    assert users == {"app/project/hosts.py"}


def test_only_hosts_know_the_files_of_jobs() -> None:
    names = {"heartbeat.json", "supervisor.log", "out.tail", "err.tail", ".out", ".err", ".result.json"}
    elsewhere = [
        f"{path}:{node.lineno}"
        for path, tree in syntax_trees()
        if path.parts[0] in {"app", "cli", "runtime"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]
    assert elsewhere == []


_OF_EVENTS = ("app/views/", "app/notify/", "cli/text/run_lines.py", "engine/rules/event_writer.py")
"""Modules that read and write events, whose steps have names."""


def test_the_steps_of_weft_itself_are_named_in_one_module() -> None:
    names = {str(step) for step in InternalStep}
    elsewhere = [
        f"{path}:{node.lineno}"
        for path, tree in syntax_trees()
        if path != Path("engine/messages/internal_steps.py") and not str(path).startswith(_OF_EVENTS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert elsewhere == []


def test_the_public_names_are_these() -> None:
    assert sorted(weft.__all__) == [
        "Agenda",
        "AggregateSubplanError",
        "Arc",
        "AsyncSemaphoreLimiter",
        "Behaviour",
        "ConfigError",
        "Exploration",
        "FailureMode",
        "FailureReason",
        "FileFormatError",
        "Firing",
        "InputError",
        "Marking",
        "MoveError",
        "Net",
        "NetError",
        "NotEnabledError",
        "NotRunningError",
        "Outcome",
        "ParallelExecutionConfig",
        "ParallelSubplanDispatcher",
        "Place",
        "PlaceKind",
        "PlainNet",
        "Plan",
        "PlanError",
        "Policy",
        "Simulation",
        "StateError",
        "Subplan",
        "SubplanEvent",
        "SubplanExecutionError",
        "SubplanExecutionState",
        "SubplanGroup",
        "SubplanResult",
        "SubplanTracker",
        "SubplanTreeError",
        "TokenGame",
        "Transition",
        "UnknownOutcomeError",
        "WeftError",
        "compile_plan",
        "explore",
        "load_plan",
        "simulate",
        "unfold",
    ]
    assert dir(weft) == sorted(weft.__all__)


def test_every_public_name_is_there_and_a_type_checker_sees_the_same_ones() -> None:
    for name in weft.__all__:
        assert getattr(weft, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = weft.nothing
    tree = ast.parse(Path(weft.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft.")
        for alias in node.names
    }
    assert imported == set(weft.__all__)


def test_packages_hold_no_code_in_their_init() -> None:
    for source in SOURCES:
        if source.name != "__init__.py" or source.parent.name == "weft":
            continue
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            assert isinstance(node, ast.ImportFrom | ast.Expr | ast.Assign), f"{source}: {ast.unparse(node)}"


def test_every_module_can_be_imported_by_itself() -> None:
    for source in SOURCES:
        if source.name != "__main__.py":
            import_module(".".join(source.relative_to(ROOT / "src").with_suffix("").parts))


def test_the_library_starts_without_its_heavy_parts() -> None:
    code = "import sys, weft; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"numpy", "anyio", "asyncio", "rich", "click"}.isdisjoint(loaded)


def test_no_file_names_a_place_on_somebody_s_machine() -> None:
    # Written so that this file does not name them either.
    forbidden = ["/" + folder + "/" for folder in ("work", "home", "Users", "farm", "root")]
    for file in tracked_files():
        if file.suffix in {".lock", ".png", ".svg"} or not file.exists():
            continue
        text = file.read_text(encoding="utf-8")
        for word in forbidden:
            assert word not in text, f"{file.relative_to(ROOT)} names {word}"


def test_locked_requirements_have_hashes_and_no_addresses() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        pinned = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert pinned
        assert all("==" in line and line.endswith("\\") for line in pinned)


def test_amounts_of_money_are_printed_by_one_function() -> None:
    modules = {path for path, tree in syntax_trees() if any(map(_prints_dollars, ast.walk(tree)))}
    assert modules == {Path("plan/prices.py")}


def _prints_dollars(node: ast.AST) -> bool:
    """Whether an f-string puts a value behind a dollar sign."""
    return isinstance(node, ast.JoinedStr) and any(
        isinstance(part, ast.Constant)
        and str(part.value).endswith("$")
        and isinstance(following, ast.FormattedValue)
        for part, following in pairwise(node.values)
    )


def test_sets_of_run_states_are_defined_in_one_module() -> None:
    states = {str(state) for state in RunState}
    only_of_runs = states - {str(state) for state in SubplanExecutionState}
    lists = [
        (path, node.lineno)
        for path, tree in syntax_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Set | ast.List | ast.Tuple)
        and len(node.elts) > 1
        and all(isinstance(element, ast.Constant) and element.value in states for element in node.elts)
        and any(isinstance(element, ast.Constant) and element.value in only_of_runs for element in node.elts)
    ]
    assert lists == []


def _documented(name: str) -> Iterator[tuple[str, str | None]]:
    """A public name and, of a class, its public methods and properties, each with its own docstring."""
    value = getattr(weft, name)
    if not inspect.isclass(value):
        yield name, value.__doc__
        return
    own = vars(value).get("__doc__")
    is_made = own is not None and own.startswith(f"{name}(")  # by dataclasses and named tuples
    yield name, None if is_made else own
    for attribute, member in vars(value).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not attribute.startswith("_") and inspect.isfunction(function):
            yield f"{name}.{attribute}", function.__doc__


@pytest.mark.parametrize("name", weft.__all__)
def test_each_public_name_has_a_docstring(name: str) -> None:
    assert [each for each, text in _documented(name) if not text] == []


_FIXED_NAME = re.compile(r"(?<![\w.\-{}])/(?:(?:var/)?tmp/\w|(?:nowhere|nonexistent)\b)")
"""A name in a directory that other programs use, or one that is only thought to be free."""


def _texts(source: Path) -> Iterator[str]:
    """All strings; what an f-string puts in is `{}`."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for text in formatted for part in text.values}
    for text in formatted:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in text.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def test_no_test_names_a_file_outside_of_its_own_directory() -> None:
    named = {source.name: [text for text in _texts(source) if _FIXED_NAME.search(text)] for source in TESTS}
    assert {name: texts for name, texts in named.items() if texts} == {}

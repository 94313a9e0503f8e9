import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import weft.agents
from weft.agents.adapters import ADAPTERS, adapter_of
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS as KNOWN
from weft.ports.agent import AgentAdapter

AGENTS = Path(weft.agents.__file__).parent


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_an_adapter_is_declared_by_the_module_of_its_name(name: str) -> None:
    adapter = adapter_of(name)
    assert adapter is import_module(ADAPTERS[name]).ADAPTER
    assert adapter.program.name == name
    words = ADAPTERS[name].removeprefix("weft.agents.").removesuffix(".adapter")
    assert words == name.replace("-", "_")


def test_each_module_with_an_adapter_is_registered_exactly_once() -> None:
    modules = [
        ".".join(("weft", "agents", *source.relative_to(AGENTS).with_suffix("").parts))
        for source in AGENTS.rglob("*.py")
        if source.name != "__main__.py"
    ]
    declared = [
        module
        for module in modules
        if isinstance(getattr(import_module(module), "ADAPTER", None), AgentAdapter)
    ]
    assert sorted(ADAPTERS.values()) == sorted(declared)
    with_functions = {
        module for module in modules if callable(getattr(import_module(module), "invoke", None))
    }
    assert with_functions == set(declared), "a module that calls an agent has no ADAPTER"


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_a_declaration_is_complete(name: str) -> None:
    program = adapter_of(name).program
    assert program.doc
    if program.program is not None:
        assert all((program.title, program.install, program.end))
        assert program.access is not None
    if program.access is not None:
        assert program.sign_in
        assert program.access.variables
        assert set(program.access.reports) <= {"cost", "tokens"}
    assert program.requires in {"", "command", "script"}


def test_the_table_of_the_plan_layer_is_a_copy_of_the_declarations() -> None:
    declared = {name: adapter_of(name).program for name in ADAPTERS}
    assert [*KNOWN.items()] == [*declared.items()], "run: make format"


def test_every_adapter_there_is_can_be_named_in_a_plan() -> None:
    assert set(ADAPTERS) <= set(KNOWN)


def test_every_program_that_is_looked_for_has_an_adapter_and_a_way_to_install_it() -> None:
    programs = {name for name, adapter in KNOWN.items() if adapter.program is not None}
    assert programs <= set(ADAPTERS)
    assert programs == {name for name, adapter in KNOWN.items() if adapter.install is not None}


def test_an_adapter_is_loaded_only_when_it_is_needed() -> None:
    used = ("agents.adapters", "cli.main", "plan.loader.load", "app.check.check", "app.inspect.overview")
    imports = ", ".join(f"weft.{module}" for module in used)
    code = f"import sys, {imports}; print(sorted(set(sys.argv[1:]) & set(sys.modules)))"
    process = subprocess.run(
        [sys.executable, "-c", code, *ADAPTERS.values()], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


def test_one_that_is_known_but_not_built_in_says_what_to_use_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: module for name, module in ADAPTERS.items() if name != "acp"}
    monkeypatch.setattr("weft.agents.adapters.ADAPTERS", others)
    with pytest.raises(InputError, match=r"`use: acp` is not built into this version.* use `command`"):
        adapter_of("acp")


def test_one_that_is_unknown_is_reported_with_what_was_probably_meant() -> None:
    with pytest.raises(InputError, match="no adapter 'scriptd'; did you mean 'scripted'"):
        adapter_of("scriptd")

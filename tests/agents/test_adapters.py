import subprocess
import sys
from types import ModuleType

import pytest

from weft.agents.adapters import ADAPTERS, adapter_of
from weft.errors import InputError
from weft.plan.language.adapters import ADAPTERS as KNOWN


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_an_adapter_is_a_module_found_by_its_name(name: str) -> None:
    adapter = adapter_of(name)
    assert isinstance(adapter, ModuleType)
    assert adapter.__name__ == ADAPTERS[name]


def test_every_adapter_there_is_can_be_named_in_a_plan() -> None:
    assert set(ADAPTERS) <= set(KNOWN)


def test_every_program_that_is_looked_for_has_an_adapter_and_a_way_to_install_it() -> None:
    programs = {name for name, adapter in KNOWN.items() if adapter.program is not None}
    assert programs <= set(ADAPTERS)
    assert programs == {name for name, adapter in KNOWN.items() if adapter.install is not None}


def test_an_adapter_is_loaded_only_when_it_is_needed() -> None:
    code = "import sys; import weft.agents.adapters; print(sorted(set(sys.argv[1:]) & set(sys.modules)))"
    process = subprocess.run(
        [sys.executable, "-c", code, *ADAPTERS.values()], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


def test_one_that_is_known_but_not_built_in_says_what_to_use_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ADAPTERS, "acp")
    with pytest.raises(InputError, match=r"`use: acp` is not built into this version.* use `command`"):
        adapter_of("acp")


def test_one_that_is_unknown_is_reported_with_what_was_probably_meant() -> None:
    with pytest.raises(InputError, match="no adapter 'scriptd'; did you mean 'scripted'"):
        adapter_of("scriptd")

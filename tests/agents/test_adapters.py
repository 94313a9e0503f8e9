import pytest

from weft.agents.adapters import ADAPTERS, adapter_of
from weft.errors import InputError
from weft.plan.language.adapters import ADAPTERS as KNOWN


def test_an_adapter_is_found_by_its_name() -> None:
    assert {name: adapter_of(name) for name in ADAPTERS} == ADAPTERS


def test_every_adapter_there_is_can_be_named_in_a_plan() -> None:
    assert set(ADAPTERS) <= set(KNOWN)


@pytest.mark.parametrize("name", sorted(set(KNOWN) - set(ADAPTERS)))
def test_one_that_is_known_but_not_built_in_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(InputError, match=f"`use: {name}` is not built into this version.* use `command`"):
        adapter_of(name)


def test_one_that_is_unknown_is_told_with_what_was_probably_meant() -> None:
    with pytest.raises(InputError, match="no adapter 'scriptd'; did you mean 'scripted'"):
        adapter_of("scriptd")

"""Hosts in the net of a plan: their slots, a copy for each host, and the proof."""

from pathlib import Path

import pytest

from weft.net.behaviour import sound_by_states
from weft.net.formats.pnml_write import write_pnml
from weft.net.model import PlaceKind
from weft.net.plain import unfold
from weft.net.verdict import Answer
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import Config, load_plan, read_config
from weft.plan.proof.prove import prove

HOSTS = "hosts: {near: {use: ssh, machine: a, slots: 2}, far: {use: ssh, machine: b, slots: 1}}"
EXAMPLES = sorted(Path(__file__).parents[3].glob("examples/plans/*.yaml"))


def compiled(*subplans: str, top: str = HOSTS, configs: tuple[Config, ...] = ()) -> CompiledPlan:
    lines = "".join(f"  - {line}\n" for line in subplans)
    return compile_plan(load_plan(f"weft: 1\nplan: p\n{top}\nsubplans:\n{lines}", configs=configs))


def leaf(name: str, more: str = "", step: str = "") -> str:
    return f"{{id: {name}, {more}steps: [{{id: x, run: ls{step}}}]}}"


def taken(net: CompiledPlan, transition: str) -> dict[str, int]:
    """What a transition of the whole net takes from pools."""
    places = net.net
    number = places.transition_number(transition)
    return {
        str(places.place_ids[place]): weight
        for place, weight in places.inputs[number]
        if places.place_kinds[place] is PlaceKind.POOL
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_hosts_that_nothing_uses_leave_the_net_as_it_is(example: Path) -> None:
    text = example.read_text()
    users = read_config(HOSTS, "config.yaml", "user")
    without, beside = (compile_plan(load_plan(text, configs=configs)) for configs in ((), (users,)))
    assert write_pnml(unfold(without.net)) == write_pnml(unfold(beside.net))
    assert without.pools == beside.pools


def test_a_step_takes_a_slot_of_the_host_of_its_slice() -> None:
    net = compiled(leaf("a", "host: near, "), leaf("b"))
    assert net.pools == {"host:near": 2}
    assert taken(net, "a: run x#1") == {"host:near": 1}
    assert taken(net, "b: run x#1") == {}
    assert "host:near" not in taken(net, "a: begin")
    assert "host:near" not in taken(net, "a: merge")


def test_a_slice_has_a_copy_for_each_host_and_chooses_when_it_begins() -> None:
    net = compiled(leaf("a", "host: [near, far], "))
    assert taken(net, "a on near: run x#1") == {"host:near": 1}
    assert taken(net, "a on far: run x#1") == {"host:far": 1}
    whole = net.net
    first, second = (
        {place for place, _ in whole.inputs[whole.transition_number(f"a on {host}: begin")]}
        for host in ("near", "far")
    )
    assert first == second


def test_a_step_with_a_host_of_its_own_takes_a_slot_there() -> None:
    net = compiled(leaf("a", "host: [near, far], ", ", host: far"), leaf("b", step=", host: [far, near]"))
    assert taken(net, "a on near: run x#1") == taken(net, "a on far: run x#1") == {"host:far": 1}
    assert taken(net, "b: run x#1") == {"host:far": 1}


def test_this_machine_is_a_pool_only_with_slots() -> None:
    local = HOSTS.replace("{near", "{local: {slots: 3}, near")
    assert taken(compiled(leaf("a"), top=local), "a: run x#1") == {"host:local": 1}
    assert taken(compiled(leaf("a", "host: [local, near], ")), "a on local: run x#1") == {}


def test_labels_and_names_that_read_alike_are_different_choices() -> None:
    top = "hosts: {gpu: {use: ssh, machine: a}, big: {use: ssh, machine: b, labels: [gpu]}}"
    net = compiled(leaf("a", step=", host: gpu"), leaf("b", step=", host: {labels: [gpu]}"), top=top)
    assert (taken(net, "a: run x#1"), taken(net, "b: run x#1")) == ({"host:gpu": 1}, {"host:big": 1})


@pytest.mark.parametrize(
    "subplans",
    [
        [leaf("a", "host: near, ")],
        [leaf("a", "host: [near, far], ")],
        [leaf("a", "host: [near, far], ", ", host: far"), leaf("b", "host: far, ")],
        [leaf("a", "host: [local, near], ")],
    ],
)
def test_the_proof_agrees_with_the_states_of_the_whole_net(subplans: list[str]) -> None:
    net = compiled(*subplans, top=f"{HOSTS}\ninfra_retries: 0")
    assert prove(net).answer is Answer.PROVED
    whole = unfold(net.net)
    end = net.net.place_kinds.index(PlaceKind.END)
    assert sound_by_states(whole.skeleton(), final=end, max_states=100_000).answer is Answer.PROVED


def test_equal_slices_share_a_shape_whatever_their_hosts_are() -> None:
    net = compiled(leaf("a", "host: near, "), leaf("b", "host: [far, near], "), leaf("c"))
    a, b, c = net.shape_of[1:]
    assert a == b != c

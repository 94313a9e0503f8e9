"""`weft net explore`, against the published answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from weft.cli.main import cli
from weft.ids import TransitionId
from weft.net.explore import MAX_BYTES, MAX_STATES
from weft.net.formats import dump_net, write_pnml
from weft.net.plain import PlainNet
from weft.net.trace import fire, replay
from weft.testing import nets
from weft.testing.nets import PUBLISHED, house_construction, net_of, philosophers

KEYS = ["states", "edges", "deadlocks", "place_bound", "marking_bound", "dead_transitions", "complete"]


def explore(net: PlainNet, *args: str) -> Result:
    return CliRunner().invoke(cli, ["net", "explore", "-", *args], input=write_pnml(net))


def data(result: Result, exit_code: int = 0) -> dict[str, Any]:
    assert (result.exit_code, result.stderr) == (exit_code, "")
    envelope = json.loads(result.stdout)
    assert list(envelope) == ["weft", "data"]
    assert envelope["weft"] == 1
    entry: dict[str, Any] = envelope["data"]
    return entry


def said(result: Result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    return re.sub(r"[0-9.]+ s of CPU", "… s of CPU", result.stdout)


@pytest.mark.parametrize("args", [[], ["--no-numpy"]], ids=["usual", "without numpy"])
@pytest.mark.parametrize(("name", "size"), [("philosophers", 5), ("fms", 2), ("house_construction", 2)])
def test_the_published_figures_come_out(name: str, size: int, args: list[str]) -> None:
    content = data(explore(getattr(nets, name)(size), "--json", *args))
    assert list(content) == [*KEYS, "cpu_seconds"]
    figures = tuple(content[key] for key in ("states", "edges", "place_bound", "marking_bound"))
    assert figures == PUBLISHED[name, size]
    assert content["complete"] is True
    assert isinstance(content["cpu_seconds"], float)


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "net.pnml"
    path.write_text(write_pnml(philosophers(3)))
    assert data(CliRunner().invoke(cli, ["net", "explore", str(path), "--json"]))["states"] == 27


def test_the_nearest_deadlock_is_found_with_a_trace_that_leads_there() -> None:
    net = philosophers(5)
    content = data(explore(net, "--json", "--find-deadlock"))
    assert list(content) == [*KEYS, "cpu_seconds", "trace"]
    assert (content["states"], content["complete"]) == (243, True)  # all counts are there as well
    assert len(content["trace"]) == 5
    tokens = replay(net, map(TransitionId, content["trace"]))
    assert not any(fire(net, tokens, number) for number in range(len(net.transition_ids)))


def test_a_net_that_is_dead_from_the_beginning_has_an_empty_trace() -> None:
    assert data(explore(net_of("a > b", {}), "--json", "--find-deadlock"))["trace"] == []


def test_a_net_that_cannot_deadlock_has_no_trace() -> None:
    content = data(explore(net_of("a > b\nb > a", {"a": 1}), "--json", "--find-deadlock"), exit_code=1)
    assert content["trace"] is None
    assert content["complete"] is True
    assert "why" not in content


@pytest.mark.parametrize(
    ("rules", "limit", "exit_code"),
    [
        pytest.param("a > b", "100", 0, id="yes"),
        pytest.param("> p\na > b", "100", 4, id="unknown"),
        pytest.param("a > b\na > c\nc > c + d", "4", 0, id="yes, in a search that met its limit"),
        pytest.param("a > b\nb > a", "100", 1, id="no"),
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["sentences", "json"])
def test_whether_it_can_deadlock_is_the_exit_code(
    rules: str, limit: str, exit_code: int, as_json: list[str]
) -> None:
    net = net_of(rules, {"a": 1})
    assert explore(net, "--find-deadlock", "--max-states", limit, *as_json).exit_code == exit_code
    assert explore(net, "--max-states", limit, *as_json).exit_code == 0


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--max-states", "100"], "unknown after 100 states (the limit on states)"),
        (["--max-memory", "100k"], r"unknown after [0-9]+ states \(the limit on memory: 102,400 bytes\)"),
    ],
)
def test_at_a_limit_it_says_that_it_is_not_complete(args: list[str], why: str) -> None:
    content = data(explore(net_of("> p", {}), "--json", *args))
    assert content["complete"] is False
    assert content["why"] == why or re.fullmatch(why, content["why"])


@pytest.mark.parametrize("size", ["1", "2k", "512M", "1GiB", "3gb", "1T"])
def test_a_size_has_a_unit_or_none(size: str) -> None:
    assert explore(net_of("a > b", {}), "--max-memory", size).exit_code == 0


@pytest.mark.parametrize("size", ["0", "0M", "-1", "1.5G", "M", "", "12X", "1 G", "٣"])
def test_what_is_no_size_is_wrong_usage(size: str) -> None:
    result = explore(net_of("a > b", {}), "--max-memory", size)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{size!r} is not a size" in result.stderr


def test_the_limits_in_the_help_are_those_of_the_search() -> None:
    text = CliRunner().invoke(cli, ["net", "explore", "--help"]).stdout
    assert f"[{MAX_STATES}]" in text
    assert f"[{MAX_BYTES >> 30}G]" in text


def test_a_whole_state_space_in_sentences() -> None:
    assert said(explore(philosophers(5))) == snapshot("""\
243 states, 945 edges: the whole state space.
It can deadlock: 2 dead markings; the nearest after 5 firings: t1, t6, t11, t16, t21.
1 token at most in a place, 10 in a marking.
Every transition can fire.
It took … s of CPU.
""")


def test_a_deadlock_searched_for_in_sentences_has_the_whole_way() -> None:
    _, second, *_ = said(explore(house_construction(1), "--find-deadlock")).splitlines()
    assert second.startswith("It can deadlock: 1 dead marking; the nearest after 18 firings: t1, t2, ")
    assert second.count(", ") == 17
    assert second.endswith(", t18.")


def test_a_long_way_to_a_deadlock_is_cut_short_unless_it_was_asked_for() -> None:
    assert said(explore(house_construction(1))) == snapshot("""\
66 states, 120 edges: the whole state space.
It can deadlock: 1 dead marking; the nearest after 18 firings: t1, t2, t3, t4, t6, t5, t7, t8 and 10 more.
1 token at most in a place, 6 in a marking.
Every transition can fire.
It took … s of CPU.
""")


def test_a_search_at_its_limit_in_sentences() -> None:
    assert said(explore(net_of("> p", {}), "--max-states", "1000")) == snapshot("""\
1,000 states, 999 edges: not the whole state space, unknown after 1,000 states (the limit on states).
No deadlock was met so far.
Among these states: 999 tokens at most in a place, 999 in a marking.
It took … s of CPU.
""")


def test_dead_transitions_and_a_dead_beginning_in_sentences() -> None:
    assert said(explore(net_of("a > b\nb > c", {}))) == snapshot("""\
1 state, 0 edges: the whole state space.
It can deadlock: 1 dead marking, and the initial marking is one: no transition is enabled.
0 tokens at most in a place, 0 in a marking.
2 transitions can never fire: t1, t2.
It took … s of CPU.
""")


def test_a_net_that_continues_for_ever_in_sentences() -> None:
    assert said(explore(net_of("a > b\nb > a", {"a": 1}))) == snapshot("""\
2 states, 2 edges: the whole state space.
It cannot deadlock.
1 token at most in a place, 1 in a marking.
Every transition can fire.
It took … s of CPU.
""")


def test_a_name_cannot_command_the_terminal() -> None:
    text = dump_net(net_of("a > b\nb > a", {}).to_net()).replace('"t1"', r'"\u001b[31mred\nline"')
    result = CliRunner().invoke(cli, ["net", "explore", "-"], input=text)
    assert r"2 transitions can never fire: \x1b[31mred\nline, t2." in result.stdout

"""`weft net invariants`: all minimal ones, or the check of one."""

import json
from typing import Any

from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from weft.cli.main import cli
from weft.net.formats import dump_net, write_pnml
from weft.net.invariants import FARKAS_LIMIT
from weft.net.plain import PlainNet
from weft.testing.nets import fms, net_of

LOOP = net_of("free + i > 2 run\n2 run > free + i", {"free": 2, "i": 1})
ONE_WAY = net_of("a > 2 b", {"a": 1})


def invariants(net: PlainNet, *args: str) -> Result:
    return CliRunner().invoke(cli, ["net", "invariants", "-", *args], input=write_pnml(net))


def data(result: Result) -> Any:
    envelope = json.loads(result.stdout)
    assert list(envelope) == ["weft", "data"]
    return envelope["data"]


def test_the_minimal_invariants_as_json() -> None:
    assert data(invariants(LOOP, "--json")) == {
        "p_invariants": [{"free": 2, "run": 1}, {"i": 2, "run": 1}],
        "t_invariants": [{"t1": 1, "t2": 1}],
    }


def test_in_sentences_each_sum_has_its_value() -> None:
    assert invariants(LOOP).stdout == snapshot("""\
2 P-invariants, sums of tokens that no firing changes:
  2*free + run = 4
  2*i + run = 2
1 T-invariant, firings that lead back to the initial marking:
  t1 + t2
""")


def test_a_net_without_invariants_in_sentences() -> None:
    assert invariants(net_of("> a", {})).stdout == snapshot("""\
No P-invariants: every sum of tokens, without minus signs, is changed by some firing.
No T-invariants: no firings lead back to the initial marking.
""")


def test_a_sum_that_holds_is_proved() -> None:
    result = invariants(ONE_WAY, "--json", "--check", "2*a + b")
    assert result.exit_code == 0
    assert data(result) == {
        "invariant": "proved",
        "why": "the sum is 2 and none of the 1 transitions changes it",
    }


def test_a_sum_that_leaks_names_the_transition_and_exits_with_1() -> None:
    result = invariants(ONE_WAY, "--json", "--check", "a + b")
    assert result.exit_code == 1
    assert data(result) == {"invariant": "refuted", "why": "transition 't1' changes the sum by +1"}
    assert invariants(ONE_WAY, "--check", "a + b").stdout == snapshot("""\
Invariant: refuted.
Why: transition 't1' changes the sum by +1.
""")


def test_a_listed_sum_can_be_checked_as_it_is_written() -> None:
    names = {"a": "a place", "b": 'quote"d'}
    text = dump_net(ONE_WAY.to_net())
    for old, new in names.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    listed = CliRunner().invoke(cli, ["net", "invariants", "-"], input=text).stdout
    expression = listed.splitlines()[1].rpartition(" = ")[0]
    assert expression == r'  2*"a place" + "quote\"d"'
    assert (
        CliRunner().invoke(cli, ["net", "invariants", "-", "--check", expression], input=text).exit_code == 0
    )


def test_an_unknown_place_is_an_error_with_the_nearest_name() -> None:
    result = invariants(fms(2), "--check", "P1 + P1wN1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: the net has no place 'P1wN1'; did you mean P1wM1?\n"


def test_a_sum_that_cannot_be_read_is_an_error_of_one_line() -> None:
    result = invariants(fms(2), "--check", "P1 ++", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: cannot read the sum 'P1 ++': after 3 characters comes '++'")
    assert result.stderr.count("\n") == 1


def test_beyond_the_limit_there_is_an_error_and_no_shorter_list() -> None:
    result = invariants(fms(2), "--limit", "3")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: the search for minimal invariants needs more than 3 rows")


def test_the_limit_in_the_help_is_that_of_the_search() -> None:
    assert f"[{FARKAS_LIMIT}]" in CliRunner().invoke(cli, ["net", "invariants", "--help"]).stdout

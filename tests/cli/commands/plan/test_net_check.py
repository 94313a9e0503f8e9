"""`weft net check`: the verdict, its reason, its exit code."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot
from msgspec.structs import replace

from weft.cli.main import cli
from weft.net.formats import write_pnml
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet
from weft.net.soundness import MAX_STATES
from weft.testing.nets import fms, net_of

SOUND = net_of("i > a + b\na > c\nb > d\nc + d > o", {"i": 1})
STUCK = net_of("i > a\ni > b\na + b > o", {"i": 1})
NOT_FREE = net_of("i > a + b\na > c\na + b > d\nc + b > o\nd > o", {"i": 1})


def check(net: PlainNet, *args: str) -> Result:
    return CliRunner().invoke(cli, ["net", "check", "-", *args], input=write_pnml(net))


def data(result: Result) -> dict[str, Any]:
    envelope = json.loads(result.stdout)
    assert list(envelope) == ["weft", "data"]
    entry: dict[str, Any] = envelope["data"]
    assert list(entry) == ["free_choice", "workflow_net", "sound", "why", "trace"]
    return entry


@pytest.mark.parametrize(
    ("net", "args", "sound", "code"),
    [
        (SOUND, [], "proved", 0),
        (NOT_FREE, [], "proved", 0),
        (STUCK, [], "refuted", 1),
        (NOT_FREE, ["--max-states", "1"], "unknown", 4),
        (fms(2), [], "unknown", 4),
    ],
    ids=["sound", "sound, by its states", "stuck", "too many states", "no workflow net"],
)
def test_the_exit_code_is_the_verdict(net: PlainNet, args: list[str], sound: str, code: int) -> None:
    result = check(net, "--json", *args)
    assert result.exit_code == code
    assert data(result)["sound"] == sound
    assert check(net, *args).exit_code == code


def test_a_refutation_has_the_firings_that_show_it() -> None:
    assert data(check(STUCK, "--json")) == snapshot(
        {
            "free_choice": True,
            "workflow_net": True,
            "sound": "refuted",
            "why": "after 1 firing nothing can fire, but tokens are left in 'a'",
            "trace": ["t1"],
        }
    )


def test_pools_are_left_out_and_it_is_said() -> None:
    pool = net_of("i + pool > a\na > o + pool", {"i": 1, "pool": 3})
    kinds = tuple(PlaceKind.POOL if id_ == "pool" else PlaceKind.CONTROL for id_ in pool.place_ids)
    content = data(check(replace(pool, place_kinds=kinds), "--json"))
    assert (content["sound"], content["workflow_net"]) == ("proved", True)
    assert content["why"].endswith("; pools left out: 1")


def test_the_help_says_the_exit_codes_and_the_limit() -> None:
    text = " ".join(CliRunner().invoke(cli, ["net", "check", "--help"]).stdout.split())
    assert "Exit code: 0 if that is proved, 1 if it is refuted, 4 if it is unknown" in text
    assert f"[{MAX_STATES}]" in text


def test_a_proof_in_sentences() -> None:
    verdict, why, shape = check(SOUND).stdout.splitlines()
    assert (verdict, shape) == ("Sound: proved.", "The net is a workflow net and free-choice.")
    assert why.startswith("Why: rank theorem: ")


def test_a_refutation_in_sentences() -> None:
    assert check(STUCK).stdout == snapshot("""\
Sound: refuted.
Why: after 1 firing nothing can fire, but tokens are left in 'a'.
Firings that show it: t1.
The net is a workflow net and free-choice.
""")


def test_no_answer_in_sentences() -> None:
    assert check(fms(2)).stdout == snapshot("""\
Sound: unknown.
Why: a workflow net has exactly one place that is a source: a place without producers; this net has none.
The net is not a workflow net and not free-choice.
""")


def test_a_terminal_of_few_letters_gets_the_sentences_all_the_same() -> None:
    result = CliRunner(charset="ascii").invoke(cli, ["net", "check", "-"], input=write_pnml(SOUND))
    assert "clusters 5 \\u2212 1" in result.stdout

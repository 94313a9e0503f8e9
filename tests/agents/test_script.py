import json
from pathlib import Path

import pytest

from weft.agents.player import _ACTIONS, _ENDINGS, _REPORTED
from weft.agents.script import ACTIONS, CONDITIONS, FINAL_ACTIONS, ScriptedStep, read_script
from weft.errors import InputError

STEP = ScriptedStep(subplan="store/model", step="code", attempt=1, prompt="Write it")


def write(folder: Path, rules: object) -> str:
    file = folder / "script.json"
    file.write_text(json.dumps(rules), encoding="utf-8")
    return str(file)


def error_of(file: str) -> str:
    with pytest.raises(InputError) as caught:
        read_script(file)
    return str(caught.value).replace(file, "FILE")


# --- which rule fits ---


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"subplan": "store/model"},
        {"subplan": "store/*"},
        {"subplan": "*", "step": "co?e"},
        {"attempt": 1},
        {"prompt_contains": "Write"},
        {"unless_exists": "other"},
        {"subplan": "s*", "step": "code", "attempt": 1, "prompt_contains": "it", "unless_exists": "other"},
    ],
)
def test_a_rule_fits_if_all_it_asks_for_is_so(tmp_path: Path, conditions: dict[str, object]) -> None:
    (rule,) = read_script(write(tmp_path, [{**conditions, "do": []}]))
    assert rule.fits(STEP, "there".__eq__)


@pytest.mark.parametrize(
    "conditions",
    [
        {"subplan": "store"},
        {"subplan": "Store/*"},
        {"step": "test"},
        {"attempt": 2},
        {"prompt_contains": "write"},
        {"unless_exists": "there"},
        {"subplan": "store/*", "attempt": 2},
    ],
)
def test_a_rule_does_not_fit_if_one_thing_is_not_so(tmp_path: Path, conditions: dict[str, object]) -> None:
    (rule,) = read_script(write(tmp_path, [{**conditions, "do": []}]))
    assert not rule.fits(STEP, "there".__eq__)


# --- what a script is ---


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    in_yaml = tmp_path / "script.yaml"
    in_yaml.write_text(
        "- subplan: 'a*'\n  attempt: 2\n  do:\n  - say: 'yes'\n    result: {on: yes, n: 1.5}\n  - exit: 3\n",
        encoding="utf-8",
    )
    in_json = [
        {
            "subplan": "a*",
            "attempt": 2,
            "do": [{"say": "yes", "result": {"on": "yes", "n": 1.5}}, {"exit": 3}],
        }
    ]
    assert read_script(str(in_yaml)) == read_script(write(tmp_path, in_json))


def test_actions_come_in_the_order_they_are_written_in(tmp_path: Path) -> None:
    (rule,) = read_script(
        write(tmp_path, [{"do": [{"tokens": 1, "say": "a"}, {"cost_usd": 0}, {"say": "b"}]}])
    )
    assert [action.name for action in rule.actions] == ["tokens", "say", "cost_usd", "say"]


def test_every_action_of_the_language_can_be_played() -> None:
    assert set(ACTIONS) == {*_ACTIONS, *_ENDINGS, *_REPORTED, "echo_prompt"}
    assert set(FINAL_ACTIONS) == set(_ENDINGS)


@pytest.mark.parametrize("rules", [[], {}, "do", None, 5])
def test_a_script_is_a_list_of_rules(tmp_path: Path, rules: object) -> None:
    assert error_of(write(tmp_path, rules)) == "FILE: a script is a list of rules, at least one"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("x", "rule 2 must be a mapping with `do`, the list of actions"),
        ({}, "rule 2 needs `do`, the list of actions"),
        ({"do": {"say": "x"}}, "rule 2 needs `do`, the list of actions"),
        ({"do": ["say"]}, "rule 2, action 1 must be a mapping such as {say: Hello}"),
        (
            {"do": [], "stepp": "x"},
            f"rule 2: unknown key 'stepp'; allowed are {', '.join(CONDITIONS)}, do",
        ),
        ({"do": [], "step": 5}, "rule 2: `step` must be text, not 5"),
        ({"do": [], "attempt": "1"}, 'rule 2: `attempt` must be a whole number from 0 on, not "1"'),
        ({"do": [], "attempt": True}, "rule 2: `attempt` must be a whole number from 0 on, not true"),
        (
            {"do": [{"exit": 1}, {"say": "x"}]},
            "rule 2, action 2: `say` would never happen, for `exit` ends the play",
        ),
        (
            {"do": [{"fail": "no", "say": "x"}]},
            "rule 2, action 1: `say` would never happen, for `fail` ends the play",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_reported_with_its_number(
    tmp_path: Path, rule: object, said: str
) -> None:
    assert error_of(write(tmp_path, [{"do": []}, rule])) == f"FILE: {said}"


def test_an_action_that_is_not_known_is_reported_with_those_there_are(tmp_path: Path) -> None:
    message = error_of(write(tmp_path, [{"do": [{"say": "x"}, {"shout": "x"}]}]))
    assert message == f"FILE: rule 1, action 2: unknown key 'shout'; allowed are {', '.join(ACTIONS)}"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("say", 5, "text"),
        ("write", "a", "a mapping of files to their text"),
        ("write", {}, "a mapping of files to their text"),
        ("append", {"a": 5}, "a mapping of files to their text"),
        ("delete", [], "a file or a list of files"),
        ("delete", 5, "a file or a list of files"),
        ("touch", ["a", 5], "a file or a list of files"),
        ("run", {"a": "b"}, "text for a shell, or a list of texts"),
        ("spawn_child", None, "text for a shell, or a list of texts"),
        ("sleep", -1, "a number from 0 on"),
        ("sleep", float("nan"), "a number from 0 on"),
        ("cost_usd", float("inf"), "a number from 0 on"),
        ("cost_usd", "1", "a number from 0 on"),
        ("tokens", 1.5, "a whole number from 0 on"),
        ("exit", 256, "a whole number from 0 to 255"),
        ("exit", -1, "a whole number from 0 to 255"),
        ("ignore_sigterm", 1, "true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_reported(tmp_path: Path, name: str, value: object, words: str) -> None:
    message = error_of(write(tmp_path, [{"do": [{name: value}]}]))
    assert message == f"FILE: rule 1, action 1: `{name}` must be {words}, not {json.dumps(value)}"


# --- files that are no scripts ---


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert error_of(str(tmp_path / "none.json")) == "FILE: cannot read it: no such file or directory"


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(b"\xff")
    assert error_of(str(file)) == "FILE: the file is not text in UTF-8"


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    with file.open("wb") as stream:
        stream.truncate(10_000_001)
    assert error_of(str(file)) == "FILE: the file is too large; allowed are 10,000,000 bytes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[{]", "FILE:1:3: this is not JSON: Expecting property name enclosed in double quotes"),
        (
            '[{"do": [], "do": []}]',
            "FILE: this is not JSON that can be used: the key 'do' stands twice in one object",
        ),
    ],
)
def test_json_that_is_wrong_is_reported_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text, encoding="utf-8")
    assert error_of(str(file)) == said


def test_json_that_is_nested_without_end_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text("[" * 100_000, encoding="utf-8")
    assert "this is not JSON that can be used" in error_of(str(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- do: [", "this is not YAML"),
        ("- do: []\n  do: []\n", "duplicate key 'do'"),
        ("- do: [{sleep: .inf}]\n", "any value of JSON"),
    ],
)
def test_yaml_that_is_wrong_is_reported_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(text, encoding="utf-8")
    message = error_of(str(file))
    assert message.startswith("FILE:")
    assert said in message

"""Finding a plan and its configuration, flags, and what is known of the place it lies in."""

import gc
import io
from pathlib import Path
from typing import Any

import pytest

from weft.app.check.check import check
from weft.app.inspect.plan_pictures import Format, PictureSubject, graph
from weft.app.project.files import InputSource
from weft.app.project.plans import find_plan, installed_agents, load, project_layer
from weft.errors import InputError, WeftError
from weft.garbage import without_gc
from weft.plan.display.origins import origin
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import PlanError

PLAN = """\
weft: 1
plan: p
agent: claude
subplans:
  - id: a
    verify: make
    subplans:
      - {id: b, prompt: x, verify: make}
      - {id: c, prompt: x, verify: make}
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home that is empty, and no programs."""
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


def put(path: Path, content: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def in_folder(folder: Path, name: str = "weft.yaml", content: str | bytes = PLAN) -> InputSource:
    put(folder / name, content)
    return InputSource(name=name, directory=folder, holds="plan")


def in_force(plan: Plan, setting: str) -> tuple[Any, str]:
    scope = plan.scopes[ROOT]
    return scope.find(setting)[0], str(origin(scope, setting))


def refused(source: InputSource, **given: Any) -> list[str]:
    with pytest.raises(PlanError) as caught:
        load(source, **given)
    return list(caught.value.lines())


# Finding.


@pytest.mark.parametrize(
    ("there", "found"),
    [(["weft.yaml"], "weft.yaml"), (["weft.yml"], "weft.yml"), (["weft.yml", "weft.yaml"], "weft.yaml")],
)
def test_a_plan_that_is_not_named_has_one_of_two_names(tmp_path: Path, there: list[str], found: str) -> None:
    for name in there:
        put(tmp_path / name)
    assert find_plan(None, tmp_path).name == found


def test_without_a_plan_it_is_said_what_was_looked_for_and_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_plan(None, tmp_path, command="show")
    assert str(caught.value) == (
        f"there is no weft.yaml and no weft.yml in {tmp_path}; "
        "to write one, type: weft init; to name another file: weft show FILE"
    )


def test_the_current_directory_is_called_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no weft\.yml in this directory; to write one"):
        find_plan(None, Path())


def test_a_directory_is_no_plan_but_may_hold_one(tmp_path: Path) -> None:
    put(tmp_path / "sub" / "weft.yml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"^cannot read sub: is a directory; did you mean sub/weft\.yml\?$"):
        find_plan("sub", tmp_path)
    with pytest.raises(InputError, match=r"^cannot read empty: is a directory$"):
        find_plan("empty", tmp_path)


def test_a_dash_is_standard_input_even_if_there_is_a_directory_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "-").mkdir()
    assert find_plan("-", tmp_path).path is None


# Configuration.


def test_the_project_s_configuration_counts_before_the_user_s(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 1\n")
    put(tmp_path / "home" / ".config" / "weft" / "config.yaml", "retries: 5\n\ngrace: 1s\n")
    plan = load(in_folder(tmp_path), environ=environ)
    assert in_force(plan, "retries") == (1, ".weft/config.yaml:1")
    assert in_force(plan, "grace") == (1.0, "~/.config/weft/config.yaml:3")


@pytest.mark.parametrize(
    ("mark", "place", "name", "shown"),
    [
        (".weft", "", "deep/er/weft.yaml", ".weft/config.yaml"),
        (".git", "", "deep/er/weft.yaml", ".weft/config.yaml"),
        (".git", "deep", "deep/er/weft.yaml", "deep/.weft/config.yaml"),
    ],
)
def test_a_project_is_the_nearest_directory_with_a_mark(
    tmp_path: Path, environ: dict[str, str], mark: str, place: str, name: str, shown: str
) -> None:
    put(tmp_path / place / mark / "x")
    put(tmp_path / place / ".weft" / "config.yaml", "retries: 1")
    plan = load(in_folder(tmp_path, name), environ=environ)
    assert in_force(plan, "retries") == (1, f"{shown}:1")


def test_a_configuration_above_the_project_is_not_its_own(tmp_path: Path, environ: dict[str, str]) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 1")
    put(tmp_path / "project" / ".git", "gitdir: elsewhere")
    assert in_force(load(in_folder(tmp_path / "project"), environ=environ), "retries") == (2, "default")


def test_a_plan_from_above_names_the_configuration_on_the_way(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 1")
    (tmp_path / "sub").mkdir()
    in_folder(tmp_path)
    plan = load(InputSource(name="../weft.yaml", directory=tmp_path / "sub"), environ=environ)
    assert in_force(plan, "retries") == (1, "../.weft/config.yaml:1")


def test_what_comes_through_a_pipe_lies_in_the_directory_of_work(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 1")
    source = InputSource(name="-", directory=tmp_path, stdin=io.BytesIO(PLAN.encode()))
    plan = load(source, environ=environ)
    assert in_force(plan, "retries") == (1, ".weft/config.yaml:1")
    assert in_force(plan, "agent") == ("claude", "standard input:3")


@pytest.mark.parametrize(("base", "retries"), [("{}/xdg", 7), ("xdg", 5), ("", 5)])
def test_the_user_s_configuration_is_where_the_standard_says(
    tmp_path: Path, environ: dict[str, str], base: str, retries: int
) -> None:
    put(tmp_path / "xdg" / "weft" / "config.yaml", "retries: 7")
    put(tmp_path / "home" / ".config" / "weft" / "config.yaml", "retries: 5")
    environ["XDG_CONFIG_HOME"] = base.format(tmp_path)
    assert in_force(load(in_folder(tmp_path), environ=environ), "retries")[0] == retries


def test_a_home_is_known_without_the_variable(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", environ.pop("HOME"))
    put(tmp_path / "home" / ".config" / "weft" / "config.yaml", "retries: 5")
    assert in_force(load(in_folder(tmp_path), environ=environ), "retries")[0] == 5


def test_a_variable_counts_before_the_files_and_after_the_plan(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 1\ngrace: 1s\n")
    environ |= {"WEFT_RETRIES": "4", "WEFT_AGENT": "codex", "WEFT_SEED": "of somebody else"}
    environ["WEFT_POLICY"] = "parallel"
    plan = load(in_folder(tmp_path), flags={"policy": "serial"}, environ=environ)
    assert in_force(plan, "retries") == (4, "WEFT_RETRIES")
    assert in_force(plan, "agent") == ("claude", "weft.yaml:3")
    assert in_force(plan, "grace") == (1.0, ".weft/config.yaml:2")
    assert in_force(plan, "policy") == ("serial", "--policy")


def test_within_a_step_no_variable_is_a_setting(tmp_path: Path, environ: dict[str, str]) -> None:
    environ |= {"WEFT_RUN": "r", "WEFT_SUBPLAN": "a", "WEFT_MODEL": "m", "WEFT_MAX_PARALEL": "x"}
    assert in_force(load(in_folder(tmp_path), environ=environ), "model") == (None, "default")


def test_an_agent_that_only_a_variable_names_is_reported_with_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    source = in_folder(tmp_path, content=PLAN.replace("agent: claude\n", ""))
    text = refused(source, environ=environ | {"WEFT_AGENT": "cluade"})[0]
    assert "'cluade', of WEFT_AGENT, does not exist; did you mean 'claude'?" in text


def test_the_project_s_layer_is_there_if_there_is_something_in_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    source = in_folder(tmp_path)
    assert project_layer(load(source, environ=environ)) is None
    put(tmp_path / ".weft" / "config.yaml", "# nothing\n")
    put(tmp_path / "home" / ".config" / "weft" / "config.yaml", "retries: 5\n")
    assert project_layer(load(source, environ=environ)) is None
    put(tmp_path / ".weft" / "config.yaml", "retries: 1\n")
    layer = project_layer(load(source, environ=environ))
    assert layer is not None
    assert layer.values == {"retries": 1}


def test_agents_of_a_configuration_are_there(tmp_path: Path, environ: dict[str, str]) -> None:
    put(tmp_path / ".weft" / "config.yaml", "agents: {coder: {use: codex, pool: 2}}")
    plan = load(in_folder(tmp_path), environ=environ)
    assert plan.agents["coder"].pool == 2


def test_what_is_wrong_with_a_configuration_is_reported_with_its_name(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    put(tmp_path / ".weft" / "config.yaml", "retries: 11\n")
    assert refused(in_folder(tmp_path), environ=environ) == [
        ".weft/config.yaml:1:10: error: retries is 11 (a number); it must be a whole number from 0 to 10",
        "     1 | retries: 11",
        "       |          ^^",
        "1 error",
    ]


def test_a_configuration_that_cannot_be_read_is_not_passed_over(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / ".weft" / "config.yaml").mkdir(parents=True)
    with pytest.raises(WeftError, match=r"^cannot read \.weft/config\.yaml: is a directory$"):
        load(in_folder(tmp_path), environ=environ)


# Surroundings.


@pytest.mark.parametrize(("mark", "isolation"), [(".git/refs", "worktree"), (".git", "dir"), (".hg", "dir")])
def test_whether_there_is_a_git_repository_decides_about_isolation(
    tmp_path: Path, environ: dict[str, str], mark: str, isolation: str
) -> None:
    (tmp_path / mark).mkdir(parents=True)
    (tmp_path / "sub" / ".weft").mkdir(parents=True)
    assert in_force(load(in_folder(tmp_path / "sub"), environ=environ), "isolation") == (isolation, "default")


def test_agents_that_are_installed_are_named_where_one_is_needed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    source = in_folder(tmp_path, content=PLAN.replace("agent: claude\n", ""))
    assert refused(source, environ=environ)[0].endswith("no agent's program is on the PATH")
    put(tmp_path / "bin" / "codex").chmod(0o755)
    assert refused(source, environ=environ)[0].endswith(
        "set agent: to codex (installed here), or to an entry of agents"
    )


def test_a_program_is_a_file_that_may_be_run(tmp_path: Path) -> None:
    put(tmp_path / "codex").chmod(0o644)
    (tmp_path / "claude").mkdir()
    put(tmp_path / "pi").chmod(0o755)
    assert installed_agents({"PATH": f":{tmp_path}/no:{tmp_path}"}) == ("pi",)


# Reading.


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"plan: \xff",
            "7: error: the file is not text in UTF-8: byte 0xff has no meaning here; save it as UTF-8",
        ),
        (b"", "1: error: the file is empty"),
        (b" " * 10_000_001, "1: error: the file is too large; allowed are 10,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_reported_as_any_other_problem(
    tmp_path: Path, environ: dict[str, str], content: bytes, said: str
) -> None:
    assert refused(in_folder(tmp_path, content=content), environ=environ)[0] == f"weft.yaml:1:{said}"


def test_flags_outrank_the_plan_and_are_its_origin(tmp_path: Path, environ: dict[str, str]) -> None:
    flags = {"max_parallel": "32", "failure_mode": None, "budget": "0.50"}
    plan = load(in_folder(tmp_path), flags=flags, environ=environ)
    assert in_force(plan, "max_parallel") == (32, "--max-parallel")
    assert in_force(plan, "failure_mode") == ("fail_fast", "default")
    assert in_force(plan, "budget") == (500_000, "--budget")


@pytest.mark.parametrize(
    ("text", "dollars", "tokens"),
    [("$20", 20_000_000, None), ("usd=20,tokens=5M", 20_000_000, 5_000_000), (" tokens = 7 ", 3_000_000, 7)],
)
def test_a_flag_may_name_dollars_and_tokens(
    tmp_path: Path, environ: dict[str, str], text: str, dollars: int, tokens: int | None
) -> None:
    source = in_folder(
        tmp_path, content="weft: 1\nplan: p\nagent: claude\nbudget: 3\nsubplans: [{id: a, prompt: x}]"
    )
    settings = load(source, flags={"budget": text}, environ=environ).scopes[0].settings
    assert (settings.budget, settings.budget_tokens) == (dollars, tokens)


def test_the_origin_of_tokens_is_the_flag_that_names_them(tmp_path: Path, environ: dict[str, str]) -> None:
    plan = load(in_folder(tmp_path), flags={"budget": "tokens=5M"}, environ=environ)
    assert in_force(plan, "budget.tokens") == (5_000_000, "--budget")


def test_the_way_of_landing_can_be_set_by_a_flag(tmp_path: Path) -> None:
    plan = load(in_folder(tmp_path), flags={"merge": "auto"})
    assert in_force(plan, "merge.mode") == ("auto", "--merge")
    assert in_force(plan, "merge.when") == ("milestone", "default")


DOLLARS = "an amount of dollars above 0, such as 20 or 0.50"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-5", f" is -5 (a number); it must be {DOLLARS}, or both as in usd=20,tokens=5M"),
        ("ten", f" is 'ten'; it must be {DOLLARS}, or both as in usd=20,tokens=5M"),
        ("5M", f" is '5M'; it must be {DOLLARS}, or both as in usd=20,tokens=5M"),
        ("20,tokens=5", f" is '20,tokens=5'; it must be {DOLLARS}, or both as in usd=20,tokens=5M"),
        ("usd=1,usd=2", f" is 'usd=1,usd=2'; it must be {DOLLARS}, or both as in usd=20,tokens=5M"),
        ("5usd", f" is '5usd'; it must be {DOLLARS}, or both as in usd=20,tokens=5M; did you mean 5?"),
        ("eur=20", ": unknown key 'eur' in a budget; known: usd, tokens"),
        ("usd=0", ": usd is 0 (a number); it must be an amount of dollars above 0, such as 20 or 0.50"),
        ("tokens=5G", ": tokens is '5G'; it must be a number of tokens above 0, such as 200000, 500k or 5M"),
        ("tokens=", ": tokens is empty; it must be a number of tokens above 0, such as 200000, 500k or 5M"),
    ],
)
def test_a_budget_that_is_none_is_reported_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load(in_folder(tmp_path), flags={"budget": text})
    assert str(caught.value) == f"--budget{said}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("max_parallel", "33", "is 33 (a number); it must be a whole number from 1 to 32"),
        ("max_parallel", "", "is empty; it must be a whole number from 1 to 32"),
        ("retries", "-1", "is -1 (a number); it must be a whole number from 0 to 10"),
        ("policy", "seriel", "is 'seriel'; it must be serial | parallel; did you mean 'serial'?"),
        ("failure_mode", "x", "is 'x'; it must be fail_fast | continue_on_error"),
        ("merge", "atuo", "is 'atuo'; it must be auto | confirm | manual; did you mean 'auto'?"),
    ],
)
def test_a_wrong_flag_is_reported_in_the_words_of_the_language(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(in_folder(tmp_path), flags={name: text})
    assert str(caught.value) == f"--{name.replace('_', '-')} {said}"


def test_a_check_proves_and_reports(tmp_path: Path, environ: dict[str, str]) -> None:
    report = check(in_folder(tmp_path), environ=environ).report
    assert (report.plan, report.finish.answer) == ("p", "proved")


def test_the_search_for_garbage_is_left_as_it_was() -> None:
    assert gc.isenabled()
    with without_gc():
        assert not gc.isenabled()
        with without_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_search_for_garbage_continues_after_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    assert refused(in_folder(tmp_path, content="weft: 2"), environ=environ)
    assert gc.isenabled()


def test_pnml_holds_nets_only(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(InputError, match="PNML holds nets only"):
        graph(in_folder(tmp_path), PictureSubject.TREE, Format.PNML, environ=environ)

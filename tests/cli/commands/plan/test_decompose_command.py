"""`weft decompose`: what it says and writes."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from weft.app.decompose.decompose import Proposal
from weft.app.decompose.source_files import UnreadFile
from weft.cli.main import cli
from weft.cli.text.decompose import part_data, part_lines, show_progress, summary_lines
from weft.decompose.model import Part


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for part in ("store", "cli"):
        (tmp_path / part).mkdir()
        for number in range(3):
            (tmp_path / part / f"m{number}.py").write_text("import store.m0\n")
    return tmp_path


def decompose(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["-C", str(folder), "decompose", "--goal", "Do it.", "--max-files", "3", *arguments]
    )


def test_a_dry_run_shows_the_parts_and_writes_nothing(project: Path) -> None:
    done = decompose(project, "--dry-run", "--out", "plan.yaml")
    assert (done.exit_code, done.stdout.splitlines()[1:], done.stderr) == (0, [
        "  cli  cli: m0, m1, m2 (3 files, 12 tokens, after store)",
        "  store  store: m0, m1, m2 (3 files, 12 tokens)",
    ], "6 files in 2 slices\nwithin a slice: 40 % of 5 references\n")  # fmt: skip
    assert not (project / "plan.yaml").exists()


def test_the_plan_is_written_and_passes_the_check(project: Path) -> None:
    done = decompose(project, "--out", "weft.yaml")
    assert (done.exit_code, done.stdout, done.stderr.splitlines()[-1]) == (0, "", "wrote weft.yaml")
    assert CliRunner().invoke(cli, ["-C", str(project), "check", "--plan-only"]).exit_code == 0


def test_an_edited_plan_is_not_replaced_by_mistake(project: Path) -> None:
    plan = project / "weft.yaml"
    for _ in range(2):  # that it already exists does not matter if it says the same
        assert decompose(project, "--out", "weft.yaml").exit_code == 0
    plan.write_text(changed := plan.read_text().replace("claude", "codex"))
    done = decompose(project, "--out", "weft.yaml")
    assert (done.exit_code, plan.read_text()) == (2, changed)
    assert done.stderr == (
        "error: weft.yaml exists with other content; name another file after --out, or replace it with --force\n"
    )
    assert decompose(project, "--out", "weft.yaml", "--force").exit_code == 0
    assert plan.read_text() != changed


def test_without_a_file_the_plan_is_on_standard_output_the_same_each_time(project: Path) -> None:
    first, second = decompose(project), decompose(project)
    assert "\nweft: 1\nplan: " in first.stdout
    assert first.stdout == second.stdout


def test_json_has_the_tree_and_the_plan(project: Path) -> None:
    data = json.loads(decompose(project, "--json").stdout)["data"]
    assert [(part["id"], part["depends_on"], part["files"][0]) for part in data["tree"]["parts"]] == [
        ("cli", ["store"], "cli/m0.py"),
        ("store", [], "store/m0.py"),
    ]
    assert (data["files"], data["depth"], data["references"]) == (6, 1, {"all": 5, "inside": 2})
    assert data["text"].startswith("# A proposal")
    assert json.loads(decompose(project, "--json", "--out", "x.yaml").stdout)["data"]["file"] == "x.yaml"


def test_what_weft_keeps_is_no_work(project: Path) -> None:
    (project / ".weft").mkdir()
    for name in (".weft/schema.json", "weft.yaml", "cli/weft.yml"):
        (project / name).write_text("{}")
    data = json.loads(decompose(project, "--json").stdout)["data"]
    assert data["files"] == 6


def test_what_is_too_large_is_said(project: Path) -> None:
    for number in range(10):
        (project / f"{number}.txt").write_text("text")
    done = decompose(project, "--files", "*.txt", "--dry-run", "--max-tokens", "9")
    assert done.stderr.splitlines() == [
        "10 files in 1 slice",
        "1 slice has more than 9 tokens, and could not be split further",
    ]
    assert done.stdout.endswith(" tokens, too large)\n")


def test_a_slice_of_many_small_files_is_not_too_large(project: Path) -> None:
    for number in range(10):
        (project / f"{number}.txt").write_text("text")
    done = decompose(project, "--files", "*.txt", "--dry-run")
    assert done.stderr.splitlines() == [
        "10 files in 1 slice",
        "1 slice has more than 3 files, and could not be split further; its tokens fit one agent",
    ]
    assert done.stdout.endswith("(10 files, 10 tokens)\n")


def test_files_without_work_are_left_out_and_listed(project: Path) -> None:
    for path in ("store.egg-info/a.txt", "store.egg-info/b.txt", "img/logo.png", "store/icon.png"):
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text("x")
    done = decompose(project, "--dry-run")
    assert done.stderr.splitlines()[-1] == (
        "left out of the plan, as they give an agent nothing to do: 3 files (img/logo.png, 2 in store.egg-info)"
    )
    data = json.loads(decompose(project, "--json").stdout)["data"]
    assert data["no_work"] == ["img/logo.png", "store.egg-info/a.txt", "store.egg-info/b.txt"]
    assert [part["files"][0] for part in data["tree"]["parts"]] == ["cli/m0.py", "store/icon.png"]


def some_leaves(count: int) -> Part:
    leaves = tuple(
        Part(id=f"p{number}", title="x", files=("x",), tokens=1, too_large=True) for number in range(count)
    )
    group = Part(id="g", title="x", files=("x",) * count, tokens=count, parts=leaves)
    return Part(id="", title="x", files=("x",) * count, tokens=count, parts=(group,))


def proposal(whole: Part, **more: Any) -> Proposal:
    numbers = {"references": 0, "references_inside": 0, "changes": 0, "changes_inside": 0}
    return Proposal(whole=whole, text="", **{**numbers, **more})


def test_a_summary_is_grammatical() -> None:
    table = {"references": 1, "references_inside": 1, "changes": 2000, "changes_inside": 1}
    assert list(summary_lines(proposal(some_leaves(2), **table))) == [
        "2 files in 2 slices on 2 levels",
        "within a slice: 100 % of 1 reference and 0 % of 2,000 pairs of files that changed together",
        "2 slices have more than 100,000 tokens, and could not be split further",
    ]
    assert list(summary_lines(proposal(some_leaves(2), changes=1)))[1] == (
        "within a slice: 0 % of 1 pair of files that changed together"
    )
    assert len(list(summary_lines(proposal(some_leaves(2))))) == 2
    assert list(part_lines(Part(id="", title="x", files=("x",), tokens=1))) == [
        "everything  x (1 file, 1 token)"
    ]


def test_what_could_not_be_read_is_said_and_not_at_length() -> None:
    unread = tuple(UnreadFile(f"f{number}", "permission denied") for number in range(7))
    left_out = ("a", "b", "c", "d", "e", "f")
    whole = Part(id="", title="x", files=("x",), tokens=1)
    result = proposal(whole, unread=unread, left_out=left_out, history_fault="bad object HEAD")
    lines = list(summary_lines(result))
    assert lines[1:4] == [
        "what changed together is not known, as git cannot read the history: bad object HEAD",
        "left out, being no files here: a, b, c, d, e and 1 more",
        "cannot read f0: permission denied; what it refers to is not known",
    ]
    assert lines[7:] == [
        "cannot read f4: permission denied; what it refers to is not known",
        "nor can 2 more files be read",
    ]
    data = part_data(result, None)
    assert data["unread"] == [{"path": f"f{number}", "why": "permission denied"} for number in range(7)]
    assert (data["left_out"], data["history_fault"]) == (list(left_out), "bad object HEAD")


def test_an_order_that_the_goal_does_not_need_can_be_left_out(project: Path) -> None:
    done = decompose(project, "--no-order")
    assert (done.exit_code, "depends_on" in done.stdout) == (0, False)
    assert "depends_on: [store]" in decompose(project).stdout


def test_files_can_be_excluded(project: Path) -> None:
    done = decompose(project, "--exclude", "cli", "--files", "**/m[01].py", "--json")
    data = json.loads(done.stdout)["data"]
    assert (data["tree"]["files"], data["history_fault"]) == (["store/m0.py", "store/m1.py"], None)
    assert done.stderr == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_is_said_what_is_done_once_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.output.PROGRESS_AFTER", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with show_progress(as_json=False) as watch:
        watch("reading")
        watch("on")
    assert terminal.getvalue() == "\rreading\ron     \r  \r"


@pytest.mark.parametrize(
    ("as_json", "after", "stream"),
    [(True, -1.0, Terminal()), (False, 3600.0, Terminal()), (False, -1.0, io.StringIO())],
)
def test_what_is_quick_or_for_programs_is_not_announced(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, after: float, *, as_json: bool
) -> None:
    monkeypatch.setattr("weft.cli.output.PROGRESS_AFTER", after)
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(as_json=as_json) as watch:
        watch("reading")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "no such file or directory"),
        (["--max-depth", "0"], "max_depth must be a whole number from 1 on"),
        (["--max-files", "2"], "min_files_per_subplan is 3, and max_files_per_subplan only 2"),
        (["--files", "x/**"], "no file in"),
        (["--out", "missing/plan.yaml"], "cannot write missing/plan.yaml: there is no such directory"),
        (["--out", "store"], "cannot write store: it is there and not a regular file"),
    ],
)
def test_bad_input_is_an_error(project: Path, arguments: list[str], said: str) -> None:
    done = decompose(project, *arguments)
    assert (done.exit_code, said in done.stderr) == (2, True)

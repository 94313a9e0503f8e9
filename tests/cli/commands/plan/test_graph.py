"""`weft graph`: what is drawn, in which format, and what is refused."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from weft.app.inspect.plan_pictures import Format, PictureSubject
from weft.cli.commands.plan.graph import ENDINGS, FORMATS, SUBJECTS
from weft.cli.main import cli
from weft.net.formats import read_pnml
from weft.net.plain import unfold
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan

PLAN = """\
weft: 1
plan: notes
agent: claude
isolation: none
policy: serial
subplans:
  - id: store
    title: Note store
    subplans:
      - {id: model, verify: make, steps: [{id: check, action: verify}]}
      - {id: disk, steps: [{id: only, run: make}], depends_on: [model]}
  - {id: cli, steps: [{id: only, run: make}], depends_on: [store]}
"""


def large(slices: int) -> str:
    rows = "".join(f"  - {{id: s{n}, prompt: x, verify: make}}\n" for n in range(slices))
    return f"weft: 1\nplan: large\nagent: claude\nsubplans:\n{rows}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "weft.yaml").write_text(PLAN)
    return tmp_path


def graph(folder: Path, *args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["-C", str(folder), "graph", *args], input=stdin)


def test_every_picture_and_format_can_be_asked_for() -> None:
    assert list(SUBJECTS) == list(PictureSubject)
    assert list(FORMATS) == list(Format)
    assert set(ENDINGS.values()) == set(FORMATS)


def test_without_options_it_is_what_depends_on_what_in_mermaid(folder: Path) -> None:
    result = graph(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot("""\
---
title: "notes"
---
flowchart LR
  n4("cli")
  subgraph g1 ["store #183; Note store"]
    n2("model")
    n3("disk")
  end
  n2 --> n3
  g1 --> n4
""")


def test_the_tree_of_subplans(folder: Path) -> None:
    assert graph(folder, "--what", "tree", "--format", "dot").stdout == snapshot("""\
digraph picture {
  rankdir=LR;
  compound=true;
  label="notes";
  labelloc=t;
  n0 [shape=box, style=bold, label="notes"];
  n1 [shape=folder, label="store\\nNote store"];
  n2 [shape=box, style=rounded, label="model"];
  n3 [shape=box, style=rounded, label="disk"];
  n4 [shape=box, style=rounded, label="cli"];
  n0 -> n1 [arrowhead=none];
  n1 -> n2 [arrowhead=none];
  n1 -> n3 [arrowhead=none];
  n0 -> n4 [arrowhead=none];
}
""")


def test_the_net_of_one_subplan_is_small(folder: Path) -> None:
    result = graph(folder, "--of", "store/model")
    assert result.exit_code == 0
    assert "check" in result.stdout
    assert "disk" not in result.stdout
    assert graph(folder, "--of", "/store/model", "--what", "net").stdout == result.stdout


def test_the_whole_net_as_pnml_is_the_net_of_the_plan(folder: Path) -> None:
    result = graph(folder, "--what", "net", "--format", "pnml")
    assert read_pnml(result.stdout_bytes, file="net") == unfold(compile_plan(load_plan(PLAN)).net)
    assert graph(folder, "--of", "/", "--format", "pnml").stdout == result.stdout


@pytest.mark.parametrize(
    ("name", "begins"),
    [("p.mmd", "---\n"), ("p.GV", "digraph"), ("p.dot", "digraph"), ("p.svg", "<svg "), ("p.pnml", "<?xml")],
)
def test_the_ending_of_the_file_says_the_format(folder: Path, name: str, begins: str) -> None:
    result = graph(folder, "--what", "net", "--out", name)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {name}\n")
    assert (folder / name).read_text().startswith(begins)


def test_a_picture_in_svg_is_well_formed(folder: Path) -> None:
    for what in SUBJECTS:
        assert ET.fromstring(graph(folder, "--what", what, "--format", "svg").stdout).tag.endswith("svg")


def test_a_dash_is_standard_output(folder: Path) -> None:
    assert graph(folder, "--out", "-").stdout == graph(folder).stdout


def test_for_programs_the_text_or_the_file_stands_in_the_envelope(folder: Path) -> None:
    text = graph(folder).stdout
    data = json.loads(graph(folder, "--json").stdout)
    assert data == {"weft": 1, "data": {"what": "deps", "format": "mermaid", "text": text}}
    data = json.loads(graph(folder, "--json", "--out", "p.svg").stdout)
    assert data["data"] == {"what": "deps", "format": "svg", "file": "p.svg"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--format", "pnml"], "Error: PNML holds nets only; add --what net\n"),
        (["--out", "p.pnml"], "Error: PNML holds nets only; add --what net\n"),
        (
            ["--out", "p.png"],
            "Error: The name 'p.png' has no known extension; add --format mermaid|dot|svg|pnml\n",
        ),
        (
            ["--what", "tree", "--of", "store"],
            "Error: --of names a part of the net; it has no meaning with --what tree\n",
        ),
    ],
)
def test_what_cannot_be_drawn_is_a_matter_of_usage(folder: Path, args: list[str], said: str) -> None:
    result = graph(folder, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(said)
    assert [path.name for path in folder.iterdir()] == ["weft.yaml"]


def test_a_subplan_that_is_not_there_or_has_no_net_is_said(folder: Path) -> None:
    result = graph(folder, "--of", "store/disc")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: the plan has no subplan 'store/disc'; did you mean 'store/disk'?\n",
    )
    result = graph(folder, "--of", "store")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: 'store' has no net of its own: it completes with its parts\n",
    )


def test_a_large_net_is_drawn_by_parts_or_by_others(folder: Path) -> None:
    result = graph(folder, "-", "--what", "net", stdin=large(30))
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(
        r"error: the net has [\d,]+ places and transitions; more than 400 are not drawn; "
        r"draw that of one subplan, with --of s0, or draw it with Graphviz, with --format dot\n",
        result.stderr,
    )
    assert graph(folder, "-", "--of", "s0", stdin=large(30)).exit_code == 0
    assert graph(folder, "-", "--what", "net", "--format", "dot", stdin=large(30)).exit_code == 0


def test_a_large_net_of_one_subplan_is_for_others_to_draw(folder: Path) -> None:
    steps = ", ".join(f"{{id: s{n}, run: make}}" for n in range(100))
    text = f"weft: 1\nplan: p\nsubplans:\n  - {{id: a, steps: [{steps}]}}\n"
    result = graph(folder, "-", "--of", "a", stdin=text)
    assert result.exit_code == 2
    assert result.stderr.endswith("; draw it with Graphviz, with --format dot\n")


def test_a_large_plan_is_folded_unless_all_of_it_is_wanted(folder: Path) -> None:
    assert len(graph(folder, "-", stdin=large(100)).stdout.splitlines()) < 30
    assert len(graph(folder, "-", "--full", stdin=large(100)).stdout.splitlines()) > 100


def test_the_plan_is_not_written_to(folder: Path) -> None:
    result = graph(folder, "--out", "weft.yaml", "--format", "dot")
    assert result.exit_code == 2
    assert result.stderr == "error: cannot write weft.yaml: it is the file that the plan is read from\n"
    assert (folder / "weft.yaml").read_text() == PLAN


def test_a_plan_that_is_wrong_is_not_drawn(folder: Path) -> None:
    result = graph(folder, "-", "--json", stdin="weft: 2")
    assert (result.exit_code, result.stderr) == (2, "")
    assert json.loads(result.stdout)["data"]["valid"] is False

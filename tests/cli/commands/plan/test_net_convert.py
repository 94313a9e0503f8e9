"""`weft net convert`: to standard output, or to a file as a whole."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from weft.app.inspect.nets import Target
from weft.cli.commands.plan.net import TARGETS
from weft.cli.main import cli
from weft.net.formats import dump_net, load_net, read_pnml, write_pnml
from weft.testing.nets import kanban, net_of

NET = net_of("i > 2 a\n2 a > o", {"i": 1})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.pnml").write_text(write_pnml(NET))
    return tmp_path


def convert(folder: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(folder), "net", "convert", *args])


def test_every_format_can_be_asked_for() -> None:
    assert list(TARGETS) == list(Target)


def test_to_dot(folder: Path) -> None:
    result = convert(folder, "net.pnml", "--to", "dot")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot("""\
digraph net {
  rankdir=LR;
  p0 [shape=circle, label="i\\n●"];
  p1 [shape=circle, label="a"];
  p2 [shape=circle, label="o"];
  t0 [shape=box, label="t1"];
  t1 [shape=box, label="t2"];
  p0 -> t0;
  t0 -> p1 [label="2"];
  p1 -> t1 [label="2"];
  t1 -> p2;
}
""")


def test_to_mermaid(folder: Path) -> None:
    assert convert(folder, "net.pnml", "--to", "mermaid").stdout == snapshot("""\
flowchart LR
  p0(("i<br/>●"))
  p1(("a"))
  p2(("o"))
  t0["t1"]
  t1["t2"]
  p0 --> t0
  t0 -->|"2"| p1
  p1 -->|"2"| t1
  t1 --> p2
""")


def test_pnml_and_json_come_back_as_the_same_net(folder: Path) -> None:
    as_json = convert(folder, "net.pnml", "--to", "json", "--out", "net.json")
    assert (as_json.exit_code, as_json.stdout, as_json.stderr) == (0, "", "wrote net.json\n")
    assert load_net((folder / "net.json").read_bytes(), file="net.json") == NET.to_net()
    again = convert(folder, "net.json", "--to", "pnml")
    assert read_pnml(again.stdout_bytes, file="again") == NET


def test_a_dash_is_standard_input_and_standard_output() -> None:
    args = ["net", "convert", "-", "--to", "json", "--out", "-"]
    result = CliRunner().invoke(cli, args, input=write_pnml(kanban(2)))
    assert result.stdout == dump_net(kanban(2).to_net())


def test_what_is_written_is_utf_8_whatever_the_terminal_speaks(folder: Path) -> None:
    result = CliRunner(charset="ascii").invoke(
        cli, ["-C", str(folder), "net", "convert", "net.pnml", "--to", "dot"]
    )
    assert "●".encode() in result.stdout_bytes


def test_the_input_is_not_overwritten(folder: Path) -> None:
    result = convert(folder, "net.pnml", "--to", "json", "--out", "./net.pnml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: cannot write ./net.pnml: it is the file that the net is read from\n"
    assert (folder / "net.pnml").read_text() == write_pnml(NET)


def test_an_existing_file_is_replaced_and_nothing_else_is_left(folder: Path) -> None:
    (folder / "out.dot").write_text("old")
    assert convert(folder, "net.pnml", "--to", "dot", "--out", "out.dot").exit_code == 0
    assert (folder / "out.dot").read_text().startswith("digraph net {")
    assert sorted(path.name for path in folder.iterdir()) == ["net.pnml", "out.dot"]


def test_a_folder_that_is_not_there_is_an_error(folder: Path) -> None:
    result = convert(folder, "net.pnml", "--to", "dot", "--out", "no/out.dot")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: cannot write no/out.dot: no such file or directory\n"


def test_a_name_that_pnml_cannot_hold_is_an_error_and_nothing_is_written(folder: Path) -> None:
    text = '{"weft": 1, "net": {"places": [{"id": "\\u0001"}], "transitions": []}}'
    args = ["-C", str(folder), "net", "convert", "-", "--to", "pnml", "--out", "out.pnml"]
    result = CliRunner().invoke(cli, args, input=text)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: the place id '\\x01' has the character")
    assert [path.name for path in folder.iterdir()] == ["net.pnml"]


def test_the_ending_of_the_file_says_the_format(folder: Path) -> None:
    for ending, begin in ((".dot", "digraph"), (".mmd", "flowchart"), (".json", "{"), (".pnml", "<?xml")):
        assert convert(folder, "net.pnml", "--out", f"out{ending}").exit_code == 0
        assert (folder / f"out{ending}").read_text(encoding="utf-8").startswith(begin)


def test_without_a_format_it_says_which_there_are(folder: Path) -> None:
    for args in ([], ["--out", "out.txt"], ["--out", "-"]):
        result = convert(folder, "net.pnml", *args)
        assert result.exit_code == 2
        assert "Name the new format: --to pnml|dot|mermaid|json" in result.stderr
    assert not (folder / "out.txt").exists()


def test_for_programs_the_text_or_the_file_stands_in_the_envelope(folder: Path) -> None:
    drawn = convert(folder, "net.pnml", "--to", "dot", "--json")
    assert json.loads(drawn.stdout) == {
        "weft": 1,
        "data": {"format": "dot", "text": convert(folder, "net.pnml", "--to", "dot").stdout},
    }
    saved = convert(folder, "net.pnml", "--out", "out.mmd", "--json")
    assert json.loads(saved.stdout) == {"weft": 1, "data": {"format": "mermaid", "file": "out.mmd"}}
    as_net = convert(folder, "net.pnml", "--json")
    assert json.loads(json.loads(as_net.stdout)["data"]["text"])["net"]["places"]

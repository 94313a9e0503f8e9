"""Reading nets from files, the grammar of sums, and writing without ever leaving half a file."""

import errno
import io
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.app.inspect import nets
from weft.app.inspect.nets import (
    Target,
    check_net,
    check_sum,
    convert_net,
    explore_net,
    list_invariants,
    parse_sum,
    read_net,
    read_plain_net,
    written_sum,
)
from weft.app.project.files import InputSource, save_text
from weft.errors import FileFormatError, InputError, WeftError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.formats import dump_net, write_pnml
from weft.net.model import Arc, Net, Outcome, Place, PlaceKind, Transition
from weft.net.plain import PlainNet
from weft.net.verdict import Answer
from weft.testing.nets import net_of, philosophers

PLAIN = net_of("i > a\na > o", {"i": 1})
PLACES = tuple(map(PlaceId, ("pool", "run", "a b", "my-place", 'say "hi"', "back\\slash", "3")))


def job(id_: str = "job") -> Net:
    """A net with an action and two outcomes, and a pool that it holds while it runs."""
    slot = Arc(PlaceId("slots"))
    return Net(
        [
            Place(id=PlaceId("i"), tokens=1),
            Place(id=PlaceId("slots"), kind=PlaceKind.POOL, tokens=2),
            Place(id=PlaceId("o")),
        ],
        [
            Transition(
                id=TransitionId(id_),
                inputs=(Arc(PlaceId("i")), slot),
                outcomes=tuple(
                    Outcome(name=OutcomeName(name), outputs=(Arc(PlaceId("o")), slot))
                    for name in ("done", "failed")
                ),
                action="work",
            )
        ],
    )


def stored(folder: Path, name: str, content: str | bytes) -> InputSource:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    return InputSource(name=name, directory=folder)


def piped(content: str | bytes) -> InputSource:
    return InputSource(
        name="-", stdin=io.BytesIO(content if isinstance(content, bytes) else content.encode())
    )


def said(source: InputSource) -> str:
    with pytest.raises(InputError) as caught:
        read_plain_net(source)
    return str(caught.value)


@pytest.mark.parametrize("name", ["net.pnml", "net.xml", "NET.PNML", "net", "net.txt"])
def test_pnml_is_known_by_its_name_or_by_how_it_begins(tmp_path: Path, name: str) -> None:
    assert read_net(stored(tmp_path, name, write_pnml(PLAIN))) == PLAIN


@pytest.mark.parametrize("name", ["net.json", "net"])
def test_json_is_known_by_its_name_or_by_how_it_begins(tmp_path: Path, name: str) -> None:
    assert read_net(stored(tmp_path, name, dump_net(job()))) == job()


@pytest.mark.parametrize("before", [b"", b"\n \t", b"\xef\xbb\xbf"], ids=["nothing", "blanks", "a mark"])
def test_standard_input_is_known_by_its_first_letter(before: bytes) -> None:
    assert read_net(piped(before + dump_net(job()).encode())) == job()


def test_pnml_in_utf_16_is_known_as_well() -> None:
    text = write_pnml(PLAIN).replace("UTF-8", "UTF-16")
    assert read_net(piped(text.encode("utf-16"))) == PLAIN


def test_a_file_longer_than_a_piece_is_read_to_its_end(tmp_path: Path) -> None:
    large = philosophers(300)
    assert read_net(stored(tmp_path, "net.pnml", write_pnml(large))) == large
    assert read_net(piped(dump_net(large.to_net()))) == large.to_net()


def test_standard_input_of_the_process_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(write_pnml(PLAIN).encode())))
    assert read_net(InputSource(name="-")) == PLAIN


def test_a_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert said(InputSource(name="-")) == "cannot read standard input: it is closed"


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "folder.pnml").mkdir()
    assert (
        said(InputSource(name="no.pnml", directory=tmp_path))
        == "cannot read no.pnml: no such file or directory"
    )
    assert (
        said(InputSource(name="folder.pnml", directory=tmp_path)) == "cannot read folder.pnml: is a directory"
    )
    assert said(stored(tmp_path, "empty.json", "")) == "empty.json: the file is empty; a net is needed"
    neither = "neither PNML, which starts with '<', nor a net in JSON, which starts with '{'"
    assert said(stored(tmp_path, "plan.yaml", "plan: x")) == f"plan.yaml: {neither}"
    assert said(piped(b"\x7fELF\x02\x01")) == f"standard input: {neither}"
    assert said(piped("  \n")) == f"standard input: {neither}"
    latin = said(stored(tmp_path, "latin.json", '{"é'.encode("latin-1")))
    assert latin.startswith("latin.json: not text: ")


def test_no_permission_to_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by the mode of the file: to root, who may run the tests, everything is permitted.
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refuse)
    assert said(InputSource(name="a.pnml", directory=tmp_path)) == "cannot read a.pnml: permission denied"


def test_a_failing_disk_is_not_the_users_mistake() -> None:
    class Failing(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    advice = r"; check the disk \(dmesg\), then type the command again"
    with pytest.raises(
        WeftError, match=rf"^cannot read standard input: input/output error{advice}$"
    ) as caught:
        read_net(InputSource(name="-", stdin=Failing()))
    assert not isinstance(caught.value, InputError)


def test_names_that_clash_when_unfolded_are_an_error_of_the_file(tmp_path: Path) -> None:
    net = Net([*job().places, Place(id=PlaceId("job.running"))], job().transitions)
    text = said(stored(tmp_path, "net.json", dump_net(net)))
    assert text == "net.json: when unfolded, two nodes of the net have the id 'job.running'; ids must differ"


def test_a_net_with_outcomes_is_unfolded_to_be_explored() -> None:
    report = explore_net(piped(dump_net(job())))
    assert report.exploration.states == 3
    assert report.to_json() | {"cpu_seconds": 0} == {
        "states": 3,
        "edges": 3,
        "deadlocks": 1,
        "place_bound": 2,
        "marking_bound": 3,
        "dead_transitions": [],
        "complete": True,
        "cpu_seconds": 0,
    }


def test_progress_is_passed_on() -> None:
    seen: list[int] = []
    explore_net(piped(write_pnml(philosophers(6))), use_numpy=False, progress=seen.append)
    assert seen[-1] == 3**6


def test_of_a_net_with_pools_the_control_part_is_checked_and_it_is_said() -> None:
    report = check_net(piped(dump_net(job())))
    assert report.soundness.verdict.answer is Answer.PROVED
    assert report.why.endswith("; pools left out: 1")


def test_invariants_come_with_the_sum_that_stays() -> None:
    report = list_invariants(piped(dump_net(job())))
    assert dict(zip(map(written_sum, report.places), report.sums, strict=True)) == {
        "i + o + job.running": 1,
        "slots + job.running": 2,
    }
    assert report.transitions == ()


def test_numbers_too_long_to_be_written_are_said_and_not_a_crash() -> None:
    # Coprime weights along a chain multiply up, each as long as PNML allows.
    weights = [10**999 + step for step in range(1, 13)]
    chain = net_of("\n".join(f"{weights[n]} p{n} > {weights[n + 1]} p{n + 1}" for n in range(11)), {"p0": 1})
    with pytest.raises(
        InputError, match=r"^standard input: an invariant .* more than 4,300 digits, too long"
    ):
        list_invariants(piped(write_pnml(chain)))


def test_a_net_of_nothing_has_no_invariants() -> None:
    report = list_invariants(piped('<pnml><net id="n" type="P/T net"/></pnml>'))
    assert (report.places, report.transitions) == ((), ())


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("pool", {"pool": 1}),
        ("pool + 2*run", {"pool": 1, "run": 2}),
        ("pool+2 * run-3*pool", {"pool": -2, "run": 2}),
        ("-pool + run", {"pool": -1, "run": 1}),
        ("+pool", {"pool": 1}),
        ('"a b" - 10*"my-place"', {"a b": 1, "my-place": -10}),
        (r'"say \"hi\"" + "back\\slash" + back\slash', {'say "hi"': 1, "back\\slash": 2}),
        ("3 + 2*3", {"3": 3}),
        ("0*pool + run", {"pool": 0, "run": 1}),
    ],
)
def test_a_sum_is_read(text: str, weights: dict[str, int]) -> None:
    assert parse_sum(text, PLACES) == weights


@given(st.dictionaries(st.sampled_from(PLACES), st.integers(1, 10**30), min_size=1))
def test_a_sum_that_is_written_is_read_back(weights: dict[PlaceId, int]) -> None:
    assert parse_sum(written_sum(weights), PLACES) == weights


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "  ",
            "+",
            "-",
            "2*",
            "*run",
            "pool +",
            "pool run",
            "pool ++ run",
            "2**run",
            "pool + 2*",
            '"a b',
        ),
        *('pool "a b"', "2*3*run", "1.5*run", "2 run", "9" * 1001 + "*run", "pool\x00* run"),
    ],
)
def test_what_is_no_sum_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^(cannot read the sum|the net has no place)"):
        parse_sum(text, PLACES)


def test_where_a_sum_goes_wrong_is_said() -> None:
    with pytest.raises(InputError, match="after 5 characters comes 'run', where '\\+' or '-' and a term"):
        parse_sum("pool run", PLACES)
    with pytest.raises(InputError, match="after 0 characters comes its end, where a term is needed"):
        parse_sum("", PLACES)
    with pytest.raises(InputError, match=r"after 4 characters comes '\*{20}…', where"):
        parse_sum("pool" + "*" * 30, PLACES)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pol", "; did you mean pool?"),
        ("my", '; did you mean "my-place"?'),
        ('"say hi"', r'; did you mean "say \"hi\""?'),
        ("zzzzz", ""),
    ],
)
def test_of_an_unknown_place_the_nearest_is_named(name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_sum(name, PLACES)
    assert str(caught.value) == f"the net has no place {name.strip(chr(34))!r}{hint}"


@pytest.mark.parametrize("text", ["0*pool", "pool - pool"])
def test_a_sum_of_nothing_is_refused_as_it_would_hold_in_any_net(text: str) -> None:
    with pytest.raises(InputError, match="has only weights of 0"):
        parse_sum(text, PLACES)


def test_a_sum_is_checked() -> None:
    report = check_sum(piped(write_pnml(PLAIN)), "i + a")
    assert report.to_json() == {
        "invariant": "refuted",
        "why": "transition 't2' changes the sum by \N{MINUS SIGN}1",
    }


def test_a_plain_net_survives_the_way_through_each_format(tmp_path: Path) -> None:
    source = stored(tmp_path, "net.pnml", write_pnml(PLAIN))
    assert read_net(piped(convert_net(source, Target.PNML))) == PLAIN
    assert read_plain_net(piped(convert_net(source, Target.JSON))) == PLAIN
    assert convert_net(source, Target.DOT).startswith("digraph net {")
    assert convert_net(source, Target.MERMAID).startswith("flowchart LR")


def test_json_keeps_outcomes_and_pnml_unfolds_them() -> None:
    assert read_net(piped(convert_net(piped(dump_net(job())), Target.JSON))) == job()
    plain = read_net(piped(convert_net(piped(dump_net(job())), Target.PNML)))
    assert isinstance(plain, PlainNet)
    assert plain.transition_ids == ("job.start", "job.done", "job.failed")


@pytest.mark.parametrize(("name", "shown"), [("my net.json", "my net"), ("a\x01.json", "net"), ("-", "net")])
def test_the_name_in_pnml_is_that_of_the_file(tmp_path: Path, name: str, shown: str) -> None:
    source = piped(dump_net(job())) if name == "-" else stored(tmp_path, name, dump_net(job()))
    assert f"<name><text>{shown}</text></name>" in convert_net(source, Target.PNML)


def test_a_new_file_gets_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    source = InputSource(name="-", directory=tmp_path)
    usual = tmp_path / "usual"
    usual.touch()
    save_text("one", "out", source=source)
    out = tmp_path / "out"
    assert out.stat().st_mode == usual.stat().st_mode
    out.chmod(0o640)
    save_text("two", "out", source=source)
    assert (out.read_text(), stat.S_IMODE(out.stat().st_mode)) == ("two", 0o640)
    assert sorted(tmp_path.iterdir()) == [out, usual]


def test_behind_a_link_the_file_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    save_text("x", "link", source=InputSource(name="-", directory=tmp_path))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "x"


@pytest.mark.parametrize("alias", ["net.pnml", "./net.pnml", "symbolic", "hard"])
def test_the_input_is_not_written_to_by_any_of_its_names(tmp_path: Path, alias: str) -> None:
    source = stored(tmp_path, "net.pnml", "precious")
    (tmp_path / "symbolic").symlink_to("net.pnml")
    (tmp_path / "hard").hardlink_to(tmp_path / "net.pnml")
    with pytest.raises(InputError, match="it is the file that the net is read from"):
        save_text("x", alias, source=source)
    assert (tmp_path / "net.pnml").read_text() == "precious"


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(InputError, match=r"^cannot write .*: it is there and not a regular file$"):
            save_text("x", name, source=InputSource(name="-", directory=tmp_path))


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot write no/out: no such file or directory$"):
        save_text("x", "no/out", source=InputSource(name="-", directory=tmp_path))


@pytest.mark.parametrize("call", ["fchmod", "fsync"])
def test_when_writing_fails_the_old_file_is_whole_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out"
    out.write_text("old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(WeftError, match="cannot write out: no space left on device") as caught:
        save_text("new", "out", source=InputSource(name="-", directory=tmp_path))
    assert not isinstance(caught.value, InputError)
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_each_kind_of_file_error_is_reported_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^bad\.pnml:1:1: "):
        nets.read_net(stored(tmp_path, "bad.pnml", "no xml"))

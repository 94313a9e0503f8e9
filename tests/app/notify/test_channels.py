import json
import os
from pathlib import Path
from threading import Event, Thread

import pytest

from app.receivers import NOTICE, nobody, program, serving
from hosts.places import pids, proc
from weft.app.notify.channels import ByCommand, NotSentError, OnDesktop, ToWebhook, desktop_program

ENVIRON = {"PATH": os.environ["PATH"], "MINE": "yes"}
LONG = 60.0


def going() -> Event:
    return Event()


def by_command(folder: Path, command: str | list[str], seconds: float = LONG) -> ByCommand:
    return ByCommand(command, folder=folder, environ=ENVIRON, seconds=seconds)


# Commands


def test_a_command_gets_the_notice_as_json_and_in_its_environment(tmp_path: Path) -> None:
    text = "$MINE|$WEFT_NOTIFY_EVENT|$WEFT_NOTIFY_TITLE|$WEFT_NOTIFY_TEXT|$WEFT_RUN"
    by_command(tmp_path, f'cat > in.json; echo "{text}" > env').send(NOTICE, going())
    assert json.loads((tmp_path / "in.json").read_text()) == NOTICE.to_json()
    assert (tmp_path / "env").read_text() == "yes|conflict|notes: cli is in conflict|-x <b>|r1\n"


def test_a_list_of_arguments_meets_no_shell_and_need_not_read(tmp_path: Path) -> None:
    by_command(tmp_path, [str(program(tmp_path, "told")), "$HOME", "a b"]).send(NOTICE, going())
    assert (tmp_path / "told.said").read_text() == "$HOME\na b\n"


def test_a_command_that_closes_its_input_at_once_is_all_right(tmp_path: Path) -> None:
    by_command(tmp_path, "exec <&-; echo done > out").send(NOTICE, going())
    assert (tmp_path / "out").read_text() == "done\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [("echo first >&2; echo last >&2; exit 3", "exit code 3: last"), ("exit 4", "exit code 4")],
)
def test_a_command_that_fails_is_reported_with_its_last_words(
    tmp_path: Path, command: str, said: str
) -> None:
    with pytest.raises(NotSentError, match=f"^{said}$"):
        by_command(tmp_path, command).send(NOTICE, going())


def test_a_command_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        by_command(tmp_path, ["no-such-program-at-all"]).send(NOTICE, going())


def test_what_a_command_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "end")
    by_command(tmp_path, "read _ < end & exit 0").send(NOTICE, going())
    (tmp_path / "end").write_text("\n")


def mine(folder: Path) -> list[int]:
    return [pid for pid in pids() if str(folder).encode() in proc(pid, "cmdline")]


@pytest.mark.parametrize("is_over", [True, False], ids=["the run is over", "its time is up"])
def test_a_command_that_hangs_is_ended_with_all_its_children(tmp_path: Path, is_over: bool) -> None:
    os.mkfifo(tmp_path / "never")
    stop = going()
    if is_over:
        stop.set()
    way = by_command(tmp_path, f"cat {tmp_path}/never; true", seconds=LONG if is_over else 0.0)
    with pytest.raises(NotSentError, match="took too long"):
        way.send(NOTICE, stop)
    while mine(tmp_path):  # who is killed needs a moment to be gone; who is not never goes
        os.sched_yield()


def test_a_command_is_named_by_its_text_or_its_program(tmp_path: Path) -> None:
    assert by_command(tmp_path, "a 'b'\nc").name == "`a 'b' c`"
    assert by_command(tmp_path, ["/opt/bin/tell", "secret"]).name == "`tell`"


# The desktop


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("notify-send", ["--app-name=Weft", "--"]),
        (
            "osascript",
            [
                "-e",
                "on run argv",
                "display notification (item 2 of argv) with title (item 1 of argv)",
                "end run",
            ],
        ),
    ],
)
def test_the_desktop_shows_title_and_text_as_they_are(tmp_path: Path, name: str, before: list[str]) -> None:
    program(tmp_path, name)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = desktop_program({"PATH": str(tmp_path)})
    assert result == str(tmp_path / name)
    way = OnDesktop(result, folder=tmp_path, environ=environ)
    way.send(NOTICE, going())
    assert (tmp_path / f"{name}.said").read_text().splitlines() == [*before, NOTICE.title, NOTICE.text]
    assert way.name == "the desktop"


def test_a_machine_without_a_desktop_has_no_program_for_it(tmp_path: Path) -> None:
    assert desktop_program({"PATH": str(tmp_path)}) is None


# Webhooks


def to_webhook(url: str, seconds: float = LONG) -> ToWebhook:
    return ToWebhook(url, seconds=seconds, pause=0.0)


def test_a_webhook_gets_the_notice_as_json() -> None:
    with serving() as server:
        to_webhook(server.url).send(NOTICE, going())
        assert (server.got, server.paths) == ([NOTICE.to_json()], ["/key?x=1"])


def test_a_url_without_a_path_is_posted_to_the_root() -> None:
    with serving() as server:
        to_webhook(server.url.removesuffix("/key?x=1")).send(NOTICE, going())
        assert server.paths == ["/"]


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_webhook_that_cannot_answer_just_now_is_tried_once_more(code: int) -> None:
    with serving(code) as server:
        to_webhook(server.url).send(NOTICE, going())
        assert len(server.got) == 2


def test_after_the_second_try_it_is_given_up() -> None:
    with serving(500, 502) as server:
        with pytest.raises(NotSentError, match=r"^it answered 502$"):
            to_webhook(server.url).send(NOTICE, going())
        assert len(server.got) == 2


@pytest.mark.parametrize("code", [301, 307, 400, 404])
def test_a_refusal_is_not_tried_again_and_no_redirect_is_followed(code: int) -> None:
    with serving(code) as server:
        with pytest.raises(NotSentError, match=f"^it answered {code}$"):
            to_webhook(server.url).send(NOTICE, going())
        assert len(server.got) == 1


def test_a_refused_connection_is_reported() -> None:
    with pytest.raises(NotSentError, match=r"^connection refused$"):
        to_webhook(nobody()).send(NOTICE, going())


def test_a_port_that_there_cannot_be_is_said() -> None:
    with pytest.raises(NotSentError, match=r"(?i)port out of range"):
        to_webhook("http://127.0.0.1:99999/").send(NOTICE, going())


def test_a_webhook_that_is_silent_is_left_after_a_while() -> None:
    with serving(hangs=True) as server, pytest.raises(NotSentError, match=r"^timed out$"):
        to_webhook(server.url, seconds=0.01).send(NOTICE, going())


def test_a_wait_for_an_answer_can_be_cut_short() -> None:
    stop = going()
    values: list[str] = []

    def send() -> None:
        with pytest.raises(NotSentError) as raised:
            way.send(NOTICE, stop)
        values.append(str(raised.value))

    with serving(hangs=True) as server:
        way = to_webhook(server.url)
        way.hurry()  # nothing is under way yet
        thread = Thread(target=send)
        thread.start()
        server.reached.wait()
        stop.set()
        way.hurry()
        thread.join()
        assert values == ["remote end closed connection without response"]
        assert len(server.got) == 1


def test_a_webhook_is_named_without_what_may_be_its_key() -> None:
    assert to_webhook("https://hooks.example.com:8443/services/secret?token=x").name == (
        "https://hooks.example.com:8443"
    )

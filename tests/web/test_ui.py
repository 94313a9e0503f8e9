"""`weft ui` as a process: who is let in, what it answers, and what it streams."""

import asyncio
import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app.forecast.projects import PlayedProject, lasting, played_project
from web.servers import ENVIRONMENT, Server, running_ui
from weft.engine.messages.events import StepEnd, StepFinishedEvent
from weft.interpreter import isolated_python
from weft.web.server.feeds import INTERVAL, Feed, StreamReader
from weft.web.server.live_runs import LiveRuns

RUN = "20260101-000000-aaaa"
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31mred\u202ereversed"
PLAN = """
weft: 1
plan: naps
isolation: dir
max_parallel: 2
subplans:
  - {id: a, title: "<script>alert(1)</script>", steps: [{id: work, run: make a}]}
  - {id: b, steps: [{id: work, run: make b}]}
  - {id: c, depends_on: [a], steps: [{id: work, run: make c}]}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedProject]:
    with played_project(tmp_path_factory.mktemp("project"), PLAN) as played:
        played.play(RUN, lasting(10.0), text=PLAN, start=1_000.0, until=15.0)
        output = played.root / ".weft" / "logs" / RUN
        assert not output.exists()
        yield played


@pytest.fixture(scope="module")
def server(project: PlayedProject) -> Iterator[Server]:
    with running_ui(project.root) as running:
        yield running


# Who is let in


def test_the_token_becomes_a_cookie_and_leaves_the_address(server: Server) -> None:
    reply = server.request("GET", f"/runs?token={server.token}&x=1")
    assert (reply.status, reply.headers["location"]) == (303, "/runs?x=1")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    page = server.request("GET", "/runs", headers={"Cookie": cookie.partition(";")[0]})
    assert page.status == 200
    assert b"onerror" not in page.body


def test_a_redirect_stays_on_this_server(server: Server) -> None:
    reply = server.request("GET", f"//evil.example/?token={server.token}")
    assert reply.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/runs/last/snapshot", "/runs", "/static/app.js"])
def test_nothing_is_answered_without_a_session(server: Server, path: str) -> None:
    assert server.request("GET", path).status == 401


def test_a_page_of_another_site_gets_nothing(server: Server) -> None:
    headers = server.bearer | {"Origin": "https://evil.example"}
    assert server.request("GET", "/api/v1/runs", headers=headers).status == 403
    assert server.request("POST", "/api/v1/runs/last/stop", body={}, headers=headers).status == 403


def test_another_host_name_is_refused_even_with_the_token(server: Server) -> None:
    assert (
        server.request("GET", "/api/v1/runs", headers=server.bearer | {"Host": "evil.example"}).status == 403
    )


def test_a_cookie_alone_changes_nothing(server: Server) -> None:
    cookie = server.request("GET", f"/?token={server.token}").headers["set-cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "Content-Type": "application/json"}
    assert server.request("POST", "/api/v1/runs/last/stop", body={}, headers=headers).status == 403


def test_a_form_of_another_site_cannot_be_a_request(server: Server) -> None:
    headers = server.bearer | {"Content-Type": "text/plain"}
    assert server.request("POST", "/api/v1/runs/last/stop", body={}, headers=headers).status == 415


@pytest.mark.parametrize("verb", ["answer", "merge", "pause", "resume", "stop", "retry"])
def test_nothing_changes_by_get(server: Server, verb: str) -> None:
    assert server.get(f"runs/last/{verb}").status in {404, 405}


def test_every_response_forbids_inline_scripts_and_other_servers(server: Server) -> None:
    for path in ("/runs", "/api/v1/runs", "/r/last"):
        policy = server.request("GET", path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "unsafe" not in policy


def test_a_read_only_server_refuses_what_changes(project: PlayedProject) -> None:
    with running_ui(project.root, "--read-only") as server:
        assert server.get("runs").data["read_only"] is True
        assert server.post("runs/last/stop", {}).error["message"] == "this server is read-only"


def test_other_machines_are_let_in_only_with_a_passphrase(project: PlayedProject) -> None:
    command = [*isolated_python("weft"), "-C", str(project.root), "ui", "--no-open", "--host", "0.0.0.0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    assert "WEFT_UI_PASSPHRASE" in refused.stderr


def test_a_person_may_enter_the_passphrase_instead_of_the_token(project: PlayedProject) -> None:
    passphrase = "correct horse & battery"
    with running_ui(project.root, env={"WEFT_UI_PASSPHRASE": passphrase}) as server:
        assert server.request("GET", "/r/last").headers["location"] == "/login?to=%2Fr%2Flast"
        page = server.request("GET", "/login")
        assert b'type="password"' in page.body
        assert b"<script" not in page.body
        origin = {"Origin": f"http://127.0.0.1:{server.port}"}
        wrong = server.send("/login", "passphrase=wrong", origin)
        assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
        assert server.send("/login", f"passphrase={quote(passphrase)}", {"Origin": "null"}).status == 403
        right = server.send("/login", f"passphrase={quote(passphrase)}", origin)
        cookie = right.headers["set-cookie"].partition(";")[0]
        assert server.request("GET", "/api/v1/runs", headers={"Cookie": cookie}).status == 200


def test_a_step_cannot_start_a_server(project: PlayedProject) -> None:
    command = [*isolated_python("weft"), "-C", str(project.root), "ui", "--no-open"]
    env = ENVIRONMENT | {"WEFT_RUN": RUN, "WEFT_SUBPLAN": "a"}
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)
    assert refused.returncode == 2
    assert "a step of a" in refused.stderr


# Answers


def test_a_journal_of_a_newer_version_is_named(tmp_path: Path) -> None:
    with played_project(tmp_path, PLAN) as played:
        played.play(RUN, lasting(10.0), text=PLAN)
    with closing(sqlite3.connect(tmp_path / ".weft" / "weft.db")) as database:
        database.execute("PRAGMA user_version = 9999")
    with running_ui(tmp_path) as server:
        for question in ("runs", "runs/last/snapshot", f"runs/{RUN}/stream"):
            reply = server.get(question)
            assert (reply.status, "newer Weft" in reply.error["message"]) == (400, True)


def test_runs_are_listed_with_their_counts(server: Server) -> None:
    (row,) = server.get("runs").data["runs"]
    assert (row["run"], row["slices"], row["state"]) == (RUN, 3, "running")


def test_a_snapshot_has_all_subplans(server: Server) -> None:
    snapshot = server.get("runs/last/snapshot").data
    assert snapshot["subplans"]["path"] == ["", "a", "b", "c"]
    assert snapshot["subplans"]["state"] == ["pending", "completed", "completed", "running"]
    assert (snapshot["needs"], snapshot["strip"]["is_active"]) == ([], True)  # this process holds the lease


def test_the_detail_of_a_subplan(server: Server) -> None:
    detail = server.get("runs/last/subplan?path=c").data
    assert detail["depends_on"] == ["a"]
    assert [attempt["step"] for attempt in detail["attempts"]] == ["@workspace", "work"]
    assert detail["why"]["sentence"] == "It runs work."


@pytest.mark.parametrize(
    ("question", "nearest"),
    [("runs/20260101-000000-aaab/snapshot", [RUN]), ("runs/last/subplan?path=bb", ["b"])],
)
def test_a_wrong_name_is_not_found_and_the_nearest_are_named(
    server: Server, question: str, nearest: list[str]
) -> None:
    reply = server.get(question)
    assert (reply.status, reply.error["nearest"]) == (404, nearest)


@pytest.mark.parametrize("path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd"])
def test_a_path_names_subplans_and_never_files(server: Server, path: str) -> None:
    assert server.get(f"runs/last/log?path={path}").status == 404
    assert server.request("GET", f"/static/{path}", headers=server.bearer).status in {200, 404}
    assert b"root:" not in server.request("GET", f"/static/{path}", headers=server.bearer).body


@pytest.mark.parametrize("question", ["timeline", "graph", "cost", "pools", "conflicts", "events"])
def test_other_questions_are_answered(server: Server, question: str) -> None:
    assert server.get(f"runs/last/{question}").status == 200


@pytest.mark.parametrize("query", ["from=x", "tail=-1", "stream=both"])
def test_a_wrong_value_is_refused(server: Server, query: str) -> None:
    assert server.get(f"runs/last/log?path=a&{query}").status == 400


def test_a_request_does_what_its_command_does(server: Server) -> None:
    reply = server.post("runs/last/answer", {"name": "a:work", "reply": "yes"})
    assert reply.status == 409
    assert reply.error["hint"] == "the command was: weft answer a:work yes"
    assert "has no open question" in reply.error["message"]


def test_a_wrong_body_is_refused(server: Server) -> None:
    assert server.post("runs/last/answer", {"name": 3}).status == 400


def test_a_project_without_runs_says_how_to_start_one(tmp_path: Path) -> None:
    with running_ui(tmp_path) as server:
        runs = server.get("runs").data
        assert (runs["runs"], runs["start_command"]) == ([], "weft init")
        (tmp_path / "weft.yaml").write_text("weft: 1")
        assert server.get("runs").data["start_command"] == "weft start"
        assert server.get("runs/last/snapshot").status == 404


# The stream


def events(
    server: Server, path: str, count: int, headers: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """The first events of a stream that are not signs of life."""
    connection = server.connect()
    connection.request("GET", f"/api/v1/{path}", headers=server.bearer | (headers or {}))
    response = connection.getresponse()
    received: list[dict[str, Any]] = []
    event: dict[str, Any] = {}
    while len(received) < count:
        line = response.readline().decode().rstrip("\n")
        name, _, value = line.partition(": ")
        if line and name:
            event[name] = value
        elif event:
            if event.get("event") not in {None, "alive", "activity"}:
                received.append(event | {"data": json.loads(event["data"])})
            event = {}
    connection.close()
    return received


def test_a_stream_continues_from_the_event_that_the_client_has(
    server: Server, project: PlayedProject
) -> None:
    last = server.get("runs/last/snapshot").data["seq"]
    (change,) = events(server, f"runs/{RUN}/stream?after=1", 1)
    assert (change["event"], change["id"]) == ("change", str(last))
    assert {row["row"] for row in change["data"]["rows"]} == {0, 1, 2, 3}
    (change,) = events(server, f"runs/{RUN}/stream?after=1", 1, {"Last-Event-ID": str(last)})
    assert change["data"]["rows"] == []


def test_a_client_from_the_future_reads_a_snapshot(server: Server) -> None:
    (change,) = events(server, f"runs/{RUN}/stream?after=999999", 1)
    assert change["event"] == "resync"


def test_an_event_of_the_journal_reaches_the_stream(tmp_path: Path) -> None:
    with played_project(tmp_path, PLAN) as project:
        project.play(RUN, lasting(10.0), text=PLAN, start=1_000.0, until=15.0)
        with running_ui(tmp_path) as server:
            last = server.get("runs/last/snapshot").data["seq"]
            connection = server.connect()
            connection.request("GET", f"/api/v1/runs/{RUN}/stream?after={last}", headers=server.bearer)
            response = connection.getresponse()
            while not response.readline().startswith(b"event: change"):
                pass
            failed = StepFinishedEvent(
                subplan="c",
                step="work",
                attempt=1,
                firing=6,
                execution=1,
                outcome=StepEnd.FAILED,
                message=HOSTILE,
                cost=5,
            )
            project.journal.append(RUN, [(1_020.0, failed)])
            while not (line := response.readline()).startswith(b"id: %d" % (last + 1)):
                assert line
            connection.close()
            detail = server.get("runs/last/subplan?path=a").data
            assert detail["title"] == "<script>alert(1)</script>"


def test_a_reader_that_takes_nothing_is_dropped_and_others_are_served(tmp_path: Path) -> None:
    with played_project(tmp_path, PLAN) as project:
        project.play(RUN, lasting(10.0), text=PLAN, start=1_000.0, until=15.0)
        asyncio.run(asyncio.wait_for(drop_slow_reader(project), 60))


async def drop_slow_reader(project: PlayedProject) -> None:
    runs = LiveRuns(project.root)
    feed = Feed(runs, RUN)
    slow, quick = StreamReader(), StreamReader()
    waiting = 0
    while slow.put(b"x"):
        waiting += 1
    feed.readers |= {slow, quick}
    task = asyncio.create_task(feed.serve())
    while quick.messages.empty():
        ended = StepFinishedEvent(subplan="c", step="work", attempt=1, firing=6, outcome=StepEnd.FAILED)
        project.journal.append(RUN, [(1_020.0, ended)])
        await asyncio.sleep(INTERVAL)
    # All that waited for it is forgotten, and its stream ends.
    assert (waiting, slow.messages.get_nowait(), slow.messages.empty()) == (32, None, True)
    assert feed.readers == {quick}
    feed.readers.clear()
    await task
    await runs.close()


# Logs


@pytest.fixture(scope="module")
def part(server: Server, project: PlayedProject) -> str:
    """An output of 3,000 lines, the last of which is hostile."""
    detail = server.get("runs/last/subplan?path=a").data
    attempt = next(attempt for attempt in detail["attempts"] if attempt["step"] == "work")
    name = f"{attempt['firing']}-{attempt['execution']}"
    output = project.root / ".weft" / "runs" / RUN / "logs" / "a" / f"work.1.{name}.out"
    output.parent.mkdir(parents=True)
    output.write_text("".join(f"line {number}\n" for number in range(2_999)) + f"{HOSTILE}\n", "utf-8")
    return name


def test_the_end_of_a_log_is_as_it_was_written(server: Server, part: str) -> None:
    page = server.get("runs/last/log?path=a&tail=2").data
    assert [line["text"] for line in page["lines"]] == ["line 2998", HOSTILE]
    assert (page["part"], page["end"]) == (part, page["size"])


def test_a_log_is_read_forwards_and_backwards_without_gap_or_overlap(server: Server, part: str) -> None:
    first = server.get("runs/last/log?path=a&from=0&tail=1000").data
    second = server.get(f"runs/last/log?path=a&from={first['end']}&tail=1000").data
    assert (first["lines"][0]["text"], second["lines"][0]["text"]) == ("line 0", "line 1000")
    back = server.get(f"runs/last/log?path=a&before={second['start']}&tail=1000").data
    assert back["lines"] == first["lines"]


def test_a_search_counts_all_lines_and_finds_them_in_any_case(server: Server, part: str) -> None:
    matches = server.get("runs/last/log/search?path=a&text=LINE").data
    assert (matches["total"], len(matches["lines"]), matches["is_whole"]) == (2_999, 500, True)


def test_an_output_that_is_not_there_is_refused(server: Server) -> None:
    assert server.get("runs/last/log?path=a&part=99-1").status == 400

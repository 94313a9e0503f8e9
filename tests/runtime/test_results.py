import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import AgentTask, Launch
from weft.hosts.records import LocalRecords
from weft.plan.model import Agent, Command
from weft.ports.agent import AgentEnded, Verdict
from weft.ports.host import EndReason, JobEnded, OutputPart
from weft.runtime.results import LIMIT, TAIL, agent_ended, fact_of, last_lines, read_output


def job(**given: Any) -> JobEnded:
    usual: dict[str, Any] = {"id": "r.1.1", "why": EndReason.EXITED, "started_at": 10.0, "ended_at": 12.5}
    return JobEnded(**{**usual, **given})


def launch(*commands: Command) -> Launch:
    return Launch(
        firing=7, execution=2, row=1, path="a", step="test", attempt=1, work=commands, timeout=90, grace=5
    )


def fact(ended: JobEnded, *commands: Command, **more: Any) -> Ended:
    return fact_of(launch(*(commands or ("make test",))), ended, ("out", "err"), at=13.0, **more)


# --- output ---


class Files:
    """The output files of a job."""

    def __init__(self, folder: Path) -> None:
        self.prefix = str(folder / "r.1.1")
        self.records = LocalRecords(folder / "host", folder)

    def write(self, **data: bytes) -> None:
        for name, content in data.items():
            Path(f"{self.prefix}.{name.replace('_', '.')}").write_bytes(content)

    def read(self, stdout_bytes: int = 0, stderr_bytes: int = 0, **more: int) -> tuple[str, str]:
        end = job(stdout_bytes=stdout_bytes, stderr_bytes=stderr_bytes)
        return read_output(end, self.records, "r.1.1", **more)

    def report(self) -> str:
        return last_lines(self.records, "r.1.1", OutputPart.REPORT, LIMIT)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


HUGE = 100_000_000


def test_of_a_line_without_an_end_only_so_much_is_read_as_is_kept(files: Files) -> None:
    files.write(out=b"\xff{", out_tail=b"the end")
    os.truncate(f"{files.prefix}.out", HUGE)
    stdout, _ = files.read(HUGE)
    assert (stdout[:2], stdout[-7:], len(stdout) < LIMIT + 100) == ("\ufffd{", "the end", True)


def test_of_a_huge_result_file_only_the_end_is_read(files: Files) -> None:
    files.write(result_json=b"x")
    os.truncate(f"{files.prefix}.result.json", HUGE)
    assert len(files.report()) == LIMIT


def test_short_output_comes_with_the_end_itself(files: Files) -> None:
    assert read_output(job(stdout="o", stderr=""), files.records, "none/at/all") == ("o", "")


def test_other_output_is_in_files(files: Files) -> None:
    files.write(out="grüß\n".encode(), err=b"oh\n")
    assert files.read(7, 3) == ("grüß\n", "oh\n")


def test_one_may_be_in_a_file_and_the_other_not(files: Files) -> None:
    files.write(err=b"long")
    assert read_output(job(stdout="short", stderr_bytes=4), files.records, "r.1.1") == ("short", "long")


def test_a_tail_continues_where_the_file_ends(files: Files) -> None:
    head, tail = "abcä".encode()[:-1], "ä".encode()[1:] + b"xyz"
    files.write(out=head, out_tail=tail)
    assert files.read(8)[0] == "abcäxyz"


def test_what_was_written_between_file_and_tail_is_counted(files: Files) -> None:
    files.write(out=b"head", out_tail=b"tail")
    assert files.read(12_008)[0] == "head\n[… 12,000 bytes left out …]\ntail"


def test_of_two_files_that_are_too_long_the_ends_are_read(files: Files) -> None:
    files.write(out=b"abcdef", out_tail=b"uvwxyz")
    assert files.read(12, limit=8)[0] == "abcd\n[… 4 bytes left out …]\nwxyz"


def test_of_one_file_that_is_too_long_the_ends_are_read(files: Files) -> None:
    files.write(out=b"abcdefghi")
    assert files.read(9, limit=8)[0] == "abcd\n[… 1 bytes left out …]\nfghi"


def test_a_file_that_just_fits_is_read_as_a_whole(files: Files) -> None:
    files.write(out=b"abcdefgh")
    assert files.read(8, limit=8)[0] == "abcdefgh"


def test_of_errors_only_the_end_is_read(files: Files) -> None:
    files.write(err=b"a" * TAIL + b"z")
    assert files.read(0, TAIL + 1)[1] == "\n[… 1 bytes left out …]\n" + "a" * (TAIL - 1) + "z"


def test_the_end_of_errors_goes_over_from_the_file_to_the_tail(files: Files) -> None:
    files.write(err=b"a" * TAIL, err_tail=b"the end")
    assert files.read(0, TAIL + 7)[1] == "\n[… 7 bytes left out …]\n" + "a" * (TAIL - 7) + "the end"


def test_the_end_of_errors_is_only_the_tail_if_something_is_missing_before_it(files: Files) -> None:
    files.write(err=b"a" * TAIL, err_tail=b"the end")
    assert files.read(0, TAIL + 8)[1] == f"\n[… {TAIL + 1:,} bytes left out …]\nthe end"


def test_the_end_of_the_file_is_better_than_nothing_if_the_tail_is_missing(files: Files) -> None:
    files.write(err=b"a" * TAIL + b"z")
    assert files.read(0, TAIL + 5)[1] == "\n[… 5 bytes left out …]\n" + "a" * (TAIL - 1) + "z"


def test_what_is_not_text_is_shown_as_such(files: Files) -> None:
    files.write(out=b"a\xffb", err=b"\xc3")
    assert files.read(3, 1) == ("a�b", "�")


def test_files_that_are_not_there_give_nothing(files: Files) -> None:
    assert files.read() == ("", "")


def test_that_output_is_missing_is_reported(files: Files) -> None:
    files.write(out=b"head")
    assert files.read(10, 5) == ("head\n[… 6 bytes left out …]\n", "\n[… 5 bytes left out …]\n")


def test_more_output_than_was_counted_is_read_all_the_same(files: Files) -> None:
    files.write(out=b"head", out_tail=b"tail")
    assert files.read(3)[0] == "headtail"


def test_directories_and_links_in_the_place_of_files_give_nothing(files: Files, tmp_path: Path) -> None:
    Path(f"{files.prefix}.out").mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    Path(f"{files.prefix}.err").symlink_to(tmp_path / "secret")
    assert files.read() == ("", "")


@given(
    head=st.binary(max_size=40),
    tail=st.binary(min_size=1, max_size=40),
    gap=st.integers(0, 50),
    limit=st.integers(2, 60),
)
def test_nothing_is_lost_that_is_not_counted(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, tail: bytes, gap: int, limit: int
) -> None:
    files = Files(tmp_path_factory.mktemp("job"))
    head, tail = head.hex().encode(), tail.hex().encode()
    files.write(out=head, out_tail=tail)
    text = files.read(len(head) + gap + len(tail), limit=limit)[0]
    begin, left_out, end = (*re.split(r"\n\[… ([\d,]+) bytes left out …\]\n", text), "0", "")[:3]
    whole = head.decode() + "?" * gap + tail.decode()
    assert len(begin) + int(left_out.replace(",", "")) + len(end) == len(whole)
    assert whole.startswith(begin)
    assert whole.endswith(end)


# --- the result file ---


def test_an_adapter_judges_all_that_is_known_of_an_agent(files: Files) -> None:
    files.write(result_json=b'{"x": "\xff"}')
    ended = job(exit_code=None, signal=9)
    assert agent_ended(ended, ("o", "e"), files.report()) == AgentEnded(
        exit_code=None, signal=9, stdout="o", stderr="e", result_file='{"x": "�"}', at=12.5
    )


@pytest.mark.parametrize("kind", ["none", "empty", "pipe", "directory"])
def test_no_regular_file_in_the_place_of_a_result_file_says_nothing(files: Files, kind: str) -> None:
    place = Path(f"{files.prefix}.result.json")
    make = {"none": lambda _: None, "empty": Path.touch, "pipe": os.mkfifo, "directory": Path.mkdir}[kind]
    make(place)
    assert agent_ended(job(), ("", ""), files.report()).result_file is None


def test_a_link_in_the_place_of_a_result_file_is_not_followed(files: Files, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    Path(f"{files.prefix}.result.json").symlink_to("secret")
    assert agent_ended(job(), ("", ""), files.report()).result_file is None


# --- the fact ---


def test_exit_code_0_is_done() -> None:
    assert fact(job(exit_code=0, command=1)) == Ended(
        at=13.0,
        firing=7,
        execution=2,
        how=StepOutcome.DONE,
        exit_code=0,
        command=1,
        result="out",
        errors="err",
        seconds=2.5,
    )


def test_a_clock_that_was_set_back_gives_no_negative_time() -> None:
    assert fact(job(exit_code=0, ended_at=5.0)).seconds == 0.0


@pytest.mark.parametrize("code", [1, 3, 125, 128, 255])
def test_any_other_exit_code_is_a_failure(code: int) -> None:
    ended = fact(job(exit_code=code))
    assert (ended.how, ended.exit_code, ended.message) == (StepOutcome.FAILED, code, f"exit code {code}")


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGSEGV, "killed by SIGSEGV"), (50, "killed by signal 50")]
)
def test_a_signal_is_a_failure(number: int, said: str) -> None:
    ended = fact(job(signal=number))
    assert (ended.how, ended.signal, ended.message) == (StepOutcome.FAILED, number, said)


@pytest.mark.parametrize(("code", "said"), [(126, "cannot be executed"), (127, "was not found")])
def test_a_program_that_cannot_be_run_is_no_failure_of_the_work(code: int, said: str) -> None:
    ended = fact(job(exit_code=code, command=1), "make", ("mke", "a b"), "make install")
    assert (ended.how, ended.command) == (StepOutcome.INFRA, 1)
    assert ended.message == f"a program {said}: exit code {code}"


def test_a_time_limit_is_reported() -> None:
    ended = fact(job(why=EndReason.TIMEOUT, signal=15))
    assert (ended.how, ended.message) == (
        StepOutcome.TIMEOUT,
        "it exceeded its time limit of 90 s",
    )


def test_a_silent_agent_has_timed_out() -> None:
    order = replace(launch("x"), idle_timeout=300.0)
    ended = fact_of(order, job(why=EndReason.IDLE, signal=15), ("out", "err"), at=13.0)
    assert (ended.how, ended.idle) == (StepOutcome.TIMEOUT, True)
    assert ended.message == "it wrote nothing for 300 s and was ended (idle_timeout)"


@pytest.mark.parametrize("halted", [StepOutcome.CANCELLED, StepOutcome.STOPPED])
def test_what_was_ended_on_request_is_reported_as_it_was_asked_for(halted: StepOutcome) -> None:
    ended = fact(job(why=EndReason.STOPPED, signal=15), halted=halted)
    assert (ended.how, ended.message) == (halted, "")


def test_what_ended_by_itself_before_the_request_came_is_done() -> None:
    assert fact(job(exit_code=0), halted=StepOutcome.CANCELLED).how is StepOutcome.DONE


def test_a_job_that_was_ended_from_outside_is_lost() -> None:
    ended = fact(job(why=EndReason.STOPPED))
    assert (ended.how, ended.message) == (
        StepOutcome.LOST,
        "it was ended from outside this run",
    )


@pytest.mark.parametrize(
    ("said", "told"), [("no such file", "no such file"), ("", "the system did not say why")]
)
def test_what_could_not_be_started_is_no_failure_of_the_work(said: str, told: str) -> None:
    ended = fact(job(why=EndReason.NOT_STARTED, message=said))
    assert (ended.how, ended.message) == (StepOutcome.INFRA, f"it could not be started: {told}")


@pytest.mark.parametrize(
    ("use", "said", "told"),
    [
        ("codex", "cannot run codex: no", "; to install it, type: npm install -g @openai/codex"),
        ("codex", "cannot enter the directory", ""),
        ("command", "cannot run codex: no", ""),
    ],
)
def test_an_agent_whose_program_is_missing_is_reported_with_how_to_install_it(
    use: str, said: str, told: str
) -> None:
    agent = Agent(name="coder", use=use)
    ended = fact_of(
        replace(launch(), work=AgentTask(agent=agent)),
        job(why=EndReason.NOT_STARTED, message=said),
        ("", ""),
        at=1.0,
    )
    assert ended.message == f"it could not be started: {said}{told}"


def test_a_job_without_a_supervisor_is_lost() -> None:
    assert fact(job(why=EndReason.LOST)).how is StepOutcome.LOST


@pytest.mark.parametrize(("count", "said"), [(1, "1 process"), (1_234, "1,234 processes")])
def test_processes_left_behind_are_reported(count: int, said: str) -> None:
    assert fact(job(exit_code=0, leftovers=count)).message == f"it left {said} running, which Weft ended"
    assert fact(job(exit_code=3, leftovers=count)).message.startswith("exit code 3; it left")


# --- agents ---


VERDICT = Verdict(
    how=StepOutcome.LIMITED, result="text", message="until noon", cost=5, tokens=6, session="s", until=99.0
)


def test_an_agent_that_ended_by_itself_is_what_its_adapter_says() -> None:
    ended = fact(job(exit_code=0), verdict=VERDICT)
    assert (ended.how, ended.message, ended.until) == (StepOutcome.LIMITED, "until noon", 99.0)
    assert (ended.result, ended.errors, ended.exit_code) == ("text", "err", 0)
    assert (ended.cost, ended.tokens, ended.session) == (5, 6, "s")


@pytest.mark.parametrize("why", [EndReason.TIMEOUT, EndReason.STOPPED, EndReason.LOST])
def test_an_agent_that_was_ended_has_cost_what_it_has_cost(why: EndReason) -> None:
    ended = fact(job(why=why, signal=15), verdict=VERDICT, halted=StepOutcome.CANCELLED)
    plain = fact(job(why=why, signal=15), halted=StepOutcome.CANCELLED)
    assert (ended.how, ended.message, ended.until) == (plain.how, plain.message, None)
    assert (ended.cost, ended.tokens, ended.session) == (5, 6, "s")


@pytest.mark.parametrize("code", [126, 127])
def test_an_agent_whose_program_cannot_be_run_has_cost_nothing(code: int) -> None:
    ended = fact_of(
        launch("coder"),
        job(exit_code=code),
        ("", "sh: coder"),
        at=13.0,
        verdict=Verdict(how=StepOutcome.INFRA),
    )
    assert (ended.cost, ended.tokens) == (0, 0)


@pytest.mark.parametrize(
    ("code", "stdout", "verdict"),
    [
        (127, "It has begun.", Verdict(how=StepOutcome.INFRA)),
        (127, "", Verdict(how=StepOutcome.LIMITED)),
        (127, "", Verdict(how=StepOutcome.INFRA, tokens=5)),
        (75, "", Verdict(how=StepOutcome.INFRA)),
    ],
)
def test_the_cost_of_an_agent_that_may_have_run_stays_unknown(
    code: int, stdout: str, verdict: Verdict
) -> None:
    ended = fact_of(launch("coder"), job(exit_code=code), (stdout, ""), at=13.0, verdict=verdict)
    assert (ended.cost, ended.tokens) == (None, verdict.tokens)


def test_of_a_long_result_file_the_last_lines_are_read(files: Files) -> None:
    lines = "".join(f'{{"tokens": {number}, "result": "{"x" * 80}"}}\n' for number in range(20_000))
    files.write(result_json=lines.encode())
    read = agent_ended(job(), ("", ""), files.report()).result_file
    assert read is not None
    assert LIMIT - 200 < len(read) <= LIMIT
    assert read.startswith('{"tokens": ')
    assert '{"tokens": 19999, ' in read

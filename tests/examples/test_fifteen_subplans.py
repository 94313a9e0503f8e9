"""The demo, as a user runs it: real processes, and what it prints when its output is not a terminal."""

import re
import signal
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "fifteen_subplans.py"


def processes_of_session(session: int) -> list[str]:
    """What is alive in the session, by the kernel's word (field 6 of /proc/PID/stat)."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(fields[3]) == session and fields[0] != "Z":
            alive.append(str(stat.parent))
    return alive


def test_the_demo_completes_fifteen_with_ten_at_once_and_writes_its_report() -> None:
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "15 completed in" in done.stdout
    assert "at most 10 at once" in done.stdout
    report = re.search(r"report: (\S+)", done.stdout)
    assert report is not None
    lines = Path(report[1]).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 15
    assert lines[-1].startswith("total")
    # Running events come before completed ones of the same subplan, and the report is last.
    assert re.findall(r"report +(\w+)", done.stdout)[:2] == ["running", "completed"]


def test_ctrl_c_ends_the_demo_and_every_process_it_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-u", DEMO],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        assert demo.stdout is not None
        assert "running" in demo.stdout.readline()  # the first subplans have begun
        demo.send_signal(signal.SIGINT)
        _, complaints = demo.communicate()
    assert "interrupted: every process was ended" in complaints
    assert demo.returncode == 1
    assert processes_of_session(demo.pid) == []

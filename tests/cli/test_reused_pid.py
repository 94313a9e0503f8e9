"""Who has the pid of a dead coordinator by now is not taken for it, shown in a pid namespace of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import WEFT, Project

IN_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
SCRIPT = """
import json, os, signal, subprocess, sys

weft = [sys.argv[1], "-C", sys.argv[2]]
look = lambda: json.loads(subprocess.run([*weft, "status", "--json"], capture_output=True).stdout)["data"]
subprocess.run([*weft, "start"], check=True, capture_output=True)
before = look()["coordinator"]
os.kill(before["pid"], signal.SIGKILL)
os.waitpid(before["pid"], 0)  # here we are the one who inherits it
another = None
while another is None or another.pid != before["pid"]:
    if another is not None:
        another.kill()
        another.wait()
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(before["pid"] - 1))
    another = subprocess.Popen(["sleep", "600"])
after = look()["coordinator"]
stopped = subprocess.run([*weft, "stop"], capture_output=True, text=True)
print(json.dumps([before, after, another.poll() is None, stopped.stderr]))
"""


def can_make_namespaces() -> bool:
    return subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_make_namespaces(), reason="this machine does not let us make a pid namespace")
def test_a_process_with_the_pid_of_a_dead_coordinator_is_not_taken_for_it(
    project: Project, tmp_path: Path
) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'sleep 600'}]}]")
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [*IN_NAMESPACE, sys.executable, str(tmp_path / "script.py"), WEFT, str(project.root)],
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after, other_lives, entry = json.loads(done.stdout)
    assert (before["alive"], after["pid"], after["alive"]) == (True, before["pid"], False)
    assert (other_lives, "ended what the dead coordinator had left running: 1 step" in entry) == (True, True)

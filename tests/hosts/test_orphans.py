import os
import subprocess

import pytest

from weft.hosts.supervisor import orphans
from weft.hosts.supervisor.log import LogHistory, StartedJob, boot, start_time


def test_what_cannot_be_ended_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "_PATIENCE", -1.0)
    stubborn = ["sh", "-c", "trap '' TERM; echo; exec sleep 3600"]
    with subprocess.Popen(stubborn, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        history = LogHistory()
        history.unfinished["a"] = begun = StartedJob(1, 0.0, boot())
        begun.pids.append((process.pid, start_time(process.pid)))
        with pytest.raises(SystemExit, match=f"cannot be ended: {process.pid}$"):
            orphans.end_orphans(history, os.devnull)
        process.kill()

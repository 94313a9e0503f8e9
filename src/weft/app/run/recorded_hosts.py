"""The hosts of a run that has started before."""

from pathlib import Path

from weft.app.project.hosts import host_of, hosts_of
from weft.app.project.places import Places
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.placement import used_hosts
from weft.ports.host import Host
from weft.ports.journal import RunRecord
from weft.ports.machines import Machines


def hosts_of_record(places: Places, record: RunRecord) -> tuple[Host, Machines | None]:
    """Returns the host of a run, which is not open yet, and its other machines if it has any."""
    if not places.other_hosts(record.run).is_dir():
        return host_of(places, record.run), None
    plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
    used = {spec.name: spec for spec in used_hosts(plan)}
    return hosts_of(places, record.run, used, plan_dir=Path(record.directory))

"""All checks, in the order in which they are made and printed."""

from weft.app.doctor import (
    agents,
    branches,
    configuration,
    coordinator,
    damage,
    disk,
    git,
    imports,
    sandbox,
    status,
    supervisors,
    system,
    worktrees,
)

CHECKS = (
    *system.CHECKS,
    *disk.CHECKS,
    *configuration.CHECKS,
    *agents.CHECKS,
    *sandbox.CHECKS,
    *imports.CHECKS,
    *git.CHECKS,
    *damage.CHECKS,
    *coordinator.CHECKS,
    *supervisors.CHECKS,
    *status.CHECKS,
    *worktrees.CHECKS,
    *branches.CHECKS,
)

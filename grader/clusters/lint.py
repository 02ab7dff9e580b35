"""What shellcheck cannot see in a job script: all rules, in the order of the lines."""

from __future__ import annotations

from grader.clusters import rules_directives, rules_launch, rules_meeting, rules_status
from grader.clusters.findings import Finding
from grader.clusters.job_script import read_job_script

RULES = (*rules_directives.RULES, *rules_launch.RULES, *rules_meeting.RULES, *rules_status.RULES)


def lint(content: bytes) -> tuple[Finding, ...]:
    """The findings on a script, by line; each once. Folders of logs are looked for on this machine."""
    script = read_job_script(content)
    found = dict.fromkeys(finding for rule in RULES for finding in rule(script))
    return tuple(sorted(found, key=lambda finding: finding.line))

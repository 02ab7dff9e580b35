"""The one sentence for a student who reads no more than one."""

from __future__ import annotations

from collections import Counter

from grader.report.schema import Report


def worst_sentence(report: Report) -> str:
    """What is wrong with most of the checks, with the title of the first exercise where it shows; "" where
    nothing was found."""
    found = [(part.title, finding) for part in report.exercises for finding in part.findings]
    if not found:
        return ""
    counts = Counter[str]()
    for _, finding in found:
        counts[finding.code] += 1 + finding.check.count(",")
    code = max(counts, key=lambda code: counts[code])  # of several, the first that the report shows
    title, finding = next(one for one in found if one[1].code == code)
    return f"{title}: {finding.message}"

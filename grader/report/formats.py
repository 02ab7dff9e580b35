"""The formats of a report: each a pure function from a report to text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.report.audience import Audience, for_audience
from grader.report.github import github
from grader.report.gradescope import gradescope
from grader.report.html import render_html
from grader.report.junit import junit
from grader.report.markdown import markdown
from grader.report.schema import Report


@dataclass(frozen=True)
class Format:
    """``file`` is the name that it has where no other is given, and in a class always; there a student's copy
    is ``students_file``, if that has a name of its own."""

    name: str
    file: str
    render: Callable[[Report], str]
    students_file: str = ""

    def file_in_class(self, audience: Audience) -> str:
        """Its name in a student's folder of a class. What is for staff and what is handed out have two."""
        return self.students_file if audience == "student" and self.students_file else self.file

    @property
    def files(self) -> tuple[str, ...]:
        """All the names that it may have there."""
        return tuple(filter(None, (self.file, self.students_file)))


# `gradescope` and `github` are for students whatever the audience: they see to that themselves.
FORMATS: dict[str, Format] = {
    made.name: made
    for made in (
        Format("json", "report.json", Report.to_json),
        Format("html", "report.html", render_html, students_file="student.html"),
        Format("md", "report.md", markdown),
        Format("junit", "junit.xml", junit),
        Format("gradescope", "results.json", gradescope),
        Format("github", "github.json", github),
    )
}


def rendered(report: Report, made: Format, audience: Audience) -> str:
    """The report in the format, as ``audience`` may see it."""
    return made.render(for_audience(report, audience))

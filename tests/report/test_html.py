"""The page of one submission: whole in itself, and nothing that a student wrote is more than text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from grader.report.audience import for_audience
from grader.report.html import render_html
from grader.report.schema import FindingRow, IgnoredFile, OutputRow, Report, SubmissionPart
from tests.report import examples
from tests.report.timelines import deadlocked

HOSTILE = (
    "<script>alert(1)</script><img src=//x onerror=alert(1)>\x1b[31mred\x00\u202egnp.exe\ud800\"'{{7*7}}"
)


class Elements(HTMLParser):
    """Every element with its attributes, and whether tags close as they were opened."""

    VOID = frozenset({"meta", "br", "input", "link", "img", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, (tag, self.getpos())


def hostile() -> Report:
    finding = FindingRow(code="exception", message=HOSTILE, check="baseline", ranks=(0,), file=HOSTILE,
                         line=2, source=((1, HOSTILE), (2, HOSTILE)))  # fmt: skip
    part = examples.exercise("single_step", findings=(finding,), output=(OutputRow(rank=0, text=HOSTILE),))
    failed = part.model_copy(update={"status": "failed", "title": HOSTILE})
    submission = SubmissionPart(name=HOSTILE, sha256="0", files=(HOSTILE,))
    return examples.report(
        failed, submission=submission, notes=(HOSTILE,), command=HOSTILE, machine={HOSTILE: HOSTILE}
    )


@pytest.fixture(scope="module", params=["right", "shard_order", "deadlock", "hostile"])
def text(request: pytest.FixtureRequest) -> str:
    return render_html(hostile() if request.param == "hostile" else getattr(examples, request.param)())


def test_every_tag_is_closed_and_every_id_is_there_once(text: str) -> None:
    page = Elements(text)
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in (attributes.get("aria-labelledby") or "").split():
            assert name in ids
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in ids


def test_the_page_runs_nothing_and_asks_nothing_of_the_network(text: str) -> None:
    for tag, attributes in Elements(text).elements:
        assert tag not in (
            "script",
            "img",
            "link",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "image",
            "use",
        )
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in re.sub(r"url\(#[\w.-]+\)", "", text)
    assert "@import" not in text


def test_the_policy_allows_the_style_that_is_there_and_no_more(text: str) -> None:
    (policy,) = (
        attributes["content"]
        for _, attributes in Elements(text).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_what_a_student_wrote_is_shown_as_it_is_and_does_nothing() -> None:
    text = render_html(hostile())
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "␛[31mred␀⟨U+202E⟩gnp.exe⟨U+D800⟩" in text and "{{7*7}}" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", text)
    text.encode()


def test_every_picture_says_what_there_is_to_see(text: str) -> None:
    pictures = re.findall(
        r"<svg(?![^>]*aria-hidden)[^>]*>\s*<title[^>]*>([^<]+)</title>\s*<desc[^>]*>([^<]+)</desc>", text
    )
    assert len(pictures) == len(re.findall(r"<svg(?![^>]*aria-hidden)", text))
    assert len(pictures) == text.count('role="img"')


def test_a_wrong_shard_order_is_told_in_words_beside_its_picture() -> None:
    text = render_html(examples.shard_order())
    assert "The largest difference is 3.4, in updated_weight of rank 0, in columns 0 to 15" in text


def test_the_line_at_fault_is_marked_for_the_eye_and_for_the_ear() -> None:
    text = render_html(examples.deadlock())
    assert text.count('class="line fault"') == 2 and text.count("the line at fault") == 1
    fault = re.search(r'<span class="line fault">(.*?)\n', text)
    assert fault and "▶" in fault.group(1) and "the line at fault" in fault.group(1)
    assert "dist.recv(buffer, src=(rank + 1) % world_size)" in fault.group(1)


def test_every_line_that_a_finding_names_is_marked_where_it_is_quoted() -> None:
    deadlock = examples.deadlock()
    part = deadlock.exercises[-1]
    more = ((233, "recv"), (234, "between"), (241, "send"), (242, "behind"))
    findings = tuple(row.model_copy(update={"source": more}) for row in part.findings)
    text = render_html(examples.report(part.model_copy(update={"findings": findings})))
    marked = re.findall(r'<span class="line fault">.*?(\d+)</b>(.*?)\n', text)
    assert marked == [("233", "recv"), ("241", "send")]  # the message names both, and no other
    assert text.count("the line at fault") == 1 and text.count("a line that is named") == 1
    assert text.count("⋮") == 1  # lines 235 to 240 are not there


def test_what_a_rank_left_says_whether_it_ever_ended() -> None:
    text = render_html(examples.deadlock())
    assert "never ended</span>" in text and "nothing left" not in text
    away = examples.case(
        2, status="failed", ranks=tuple(examples.rank_row(rank, "missing", None) for rank in range(2)),
        timeline=deadlocked(2)[:1],
    )  # fmt: skip
    text = render_html(examples.report(examples.exercise("pipeline", change=lambda _: away)))
    assert text.count("nothing left") == text.count("never ended</span></td>") == 5
    assert "missing</span>" not in text


def test_the_largest_difference_of_what_passed_is_not_that_of_an_exercise_that_failed() -> None:
    def overview(text: str, number: int) -> str:
        rows = re.search(rf'<tr><th scope="row"><a href="#exercise-{number}">.*?</tr>', text, re.DOTALL)
        assert rows
        return re.sub(r".*>([^<>]+)</td></tr>", r"\1", rows.group(), flags=re.DOTALL)

    text = render_html(examples.deadlock())
    assert (overview(text, 7), overview(text, 6)) == ("-", "2.4e-07")
    assert overview(render_html(examples.shard_order()), 5) == "3.4"
    loose = examples.shard_order().model_copy(update={"tolerance": 5.0})
    assert overview(render_html(loose), 5) == "-"


def test_in_a_students_copy_a_hidden_case_says_what_of_it_is_told() -> None:
    text = render_html(for_audience(examples.deadlock(), "student"))
    assert "Student’s copy: the numbers of hidden cases are left out." in text and "For staff" not in text
    assert ">4 ranks, numbers not shown" in text and ">1 rank, numbers not shown" in text
    staff = render_html(examples.deadlock())
    assert "For staff: this page shows hidden cases." in staff and "not shown" not in staff


def test_what_a_rank_printed_is_said_to_be_of_its_case() -> None:
    printed = (
        OutputRow(rank=0, text="a", check="hidden", case=1),
        OutputRow(rank=1, text="b", check="hidden"),
        OutputRow(rank=2, text="c"),
        OutputRow(rank=3, text="d", check="hidden", case=99),
    )
    part = examples.deadlock().exercises[-1].model_copy(update={"output": printed})
    text = render_html(examples.report(part))
    assert re.findall(r"rank \d[^<>]*(?=</p>\n<pre)", text) == [
        "rank 0, in case 2 of 3 of hidden: 2 ranks, seed 1207331806",
        "rank 1, in a case of hidden",
        "rank 2",
        "rank 3, in a case of hidden",
    ]


def test_the_page_says_what_each_of_its_checks_asks_and_what_is_right() -> None:
    text = render_html(examples.right())
    for check in ("script", "baseline", "hidden", "own share", "input gradient"):
        assert re.search(rf"<dt>{check}</dt><dd>[^<]{{40,}}[.?]</dd>", text)
    assert "differs by at most 1.0e-05 from" in text and "<dt>Tolerance</dt><dd>1.0e-05</dd>" in text
    one = examples.right().model_copy(update={"exercises": (examples.exercise("single_step"),)})
    assert "<dt>input gradient</dt>" not in render_html(one)


def test_the_mean_difference_of_every_rank_is_there() -> None:
    text = render_html(examples.shard_order())
    assert text.count("mean 0.85") == 4 * 2  # of baseline and of one hidden case


def test_a_finding_of_three_checks_is_one_card_and_code_in_it_is_code() -> None:
    text = render_html(examples.deadlock())
    assert text.count("<h3>Deadlock</h3>") == 1 and "baseline, hidden, own_share" in text
    assert "<code>rank - 1</code>" in text


def test_an_error_of_the_grader_is_told_and_no_mark_of_the_student() -> None:
    part = examples.exercise("single_step")
    cases = (examples.case(status="error", ranks=(), detail="The sandbox `died`."),)
    check = part.checks[0].model_copy(update={"status": "error", "score": 0, "max_score": 0, "cases": cases})
    part = part.model_copy(update={"checks": (check,), "status": "error", "score": 0.0, "max_score": 0.0})
    text = render_html(examples.report(part, status="error"))
    assert "baseline could not be graded, and costs nothing." in text and "<code>died</code>" in text


def test_marks_that_are_lost_are_told_beside_an_error_of_the_grader() -> None:
    report = examples.deadlock().model_copy(update={"status": "error"})
    assert ">Marks lost, and some checks could not be graded; they cost nothing<" in render_html(report)
    full = examples.right().model_copy(update={"status": "error"})
    assert ">Some checks could not be graded; they cost nothing<" in render_html(full)


def test_what_was_not_asked_is_not_said_to_be_right() -> None:
    skipped = [
        examples.exercise(name).model_copy(
            update={"status": "skipped", "checks": (), "score": 0.0, "max_score": 0.0}
        )
        for name in ("single_step", "pipeline")
    ]
    text = render_html(examples.report(*skipped))
    assert ">Full marks in what was asked (5 of 7)<" in text and "Everything is right" not in text
    right, not_asked = text.partition("<h2>Not asked</h2>")[::2]
    assert right.count('<details class="folded"') == 5
    assert re.findall(r"<li id=.exercise-\d.>([^<]+)", not_asked) == [part.title for part in skipped]
    nothing = [part.model_copy(update={"status": "skipped"}) for part in examples.right().exercises]
    assert "<h2>Right</h2>" not in render_html(examples.report(*nothing))
    assert "<h2>Everything is right</h2>" in render_html(examples.right())


def test_of_many_files_that_were_not_used_the_first_are_named() -> None:
    for count, more in ((200, None), (1234, "and 1034 more")):
        ignored = tuple(IgnoredFile(name=f"venv/{n}.so", reason="no Python file") for n in range(count))
        submission = SubmissionPart(name="a", sha256="0", ignored=ignored)
        text = render_html(examples.report(submission=submission))
        assert text.count("venv/") == 200 and (f"<li>{more}</li>" in text) == (more is not None)


def test_a_skipped_exercise_and_a_report_of_nothing_are_shown() -> None:
    skipped = examples.exercise("pipeline").model_copy(
        update={"status": "skipped", "checks": (), "score": 0.0, "max_score": 0.0}
    )
    assert "not asked" in render_html(examples.report(skipped))
    Elements(render_html(examples.right().model_copy(update={"exercises": (), "machine": {}})))


def test_a_seed_and_a_command_that_are_kept_secret_are_not_shown_as_none() -> None:
    text = render_html(examples.right().model_copy(update={"seed": None, "command": ""}))
    assert "<dd>None" not in text and "Again, in the same way" not in text


def test_the_title_is_the_submission_unless_one_is_given() -> None:
    assert "<title>right.zip</title>" in render_html(examples.right())
    assert "<title>first &amp; second</title>" in render_html(examples.right(), "first & second")


def test_the_same_report_gives_the_same_page() -> None:
    assert render_html(examples.shard_order()) == render_html(examples.shard_order())

"""A log held against the code handed in beside it."""

from __future__ import annotations

import pytest

from tests.evidence.made import CODE, claims, compared, log_of, read, right

TRACEBACK = """\
[rank{0}]: Traceback (most recent call last):
[rank{0}]:   File "/home/ada/a4/assignment4.py", line {1}, in <module>
[rank{0}]:     {2}
[rank{0}]:             ^^^^^^^^^^^^^^^^^^^^^^^^^^^
[rank{0}]:   File "/usr/lib/python3/torch/nn/x.py", line 7, in forward
[rank{0}]:     return 1
[rank{0}]: RuntimeError: shapes do not fit
"""
LINE = 9
TEXT = "weight = data_parallel_single_step()"


def test_a_part_that_the_code_does_not_compare_is_doubted():
    without = CODE.replace(', prefix="DataParallel"', "")
    evidence = read(log_of(), code=without)
    assert evidence.consistent is False
    assert 'with the prefix "DataParallel", and the code handed in makes none.' in evidence.facts[0]


def test_comparisons_without_a_prefix_are_doubted_where_the_code_makes_none():
    code = "\n".join(line for line in CODE.splitlines() if "compare_tensors(" not in line or "prefix" in line)
    assert read(log_of(), code=code).facts[0].startswith("The log has comparisons without a prefix")


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace('prefix="DataParallel"', 'prefix=f"{kind}Parallel"'),
        CODE.replace('prefix="DataParallel"', "**options"),
        CODE.replace(', prefix="DataParallel"', ', 1e-5, "DataParallel"'),
        CODE.replace("import compare_tensors", "import compare_tensors as same").replace(
            "compare_tensors(", "same("
        ),
        CODE.replace("compare_tensors(", "utils.compare_tensors("),
    ],
    ids=["computed", "unpacked", "by place", "renamed", "of the module"],
)
def test_other_ways_to_write_the_same_comparison_are_not_doubted(code):
    evidence = read(log_of(), code=code)
    assert (evidence.consistent, evidence.complete) == (True, True)


def test_a_sentence_that_is_nowhere_in_the_code_is_doubted():
    evidence = read(log_of(), code=CODE.replace("The weight before the step, and after it.", "Baseline."))
    assert evidence.consistent is False
    assert '"The weight before the step, and after it."' in evidence.facts[0]


@pytest.mark.parametrize(
    "message",
    [
        "tensor([1., 2.], device='cuda:0')",
        "loss 0.1234 at step 3",
        "cuda:1 NVIDIA",
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)",
    ],
)
def test_values_and_what_torch_says_are_not_doubted(message):
    code = CODE + 'print(f"[Rank {rank}] loss {loss:.4f} at step {i}")\n'
    assert read(log_of() + f"[Rank 1] {message}\n", code=code).consistent is True


def test_own_prefixes_are_known_by_what_is_compared():
    code = CODE.replace("accumulated.cpu())", 'accumulated.cpu(), prefix="Accum")').replace(
        "DataParallel", "DDP"
    )
    text = log_of().replace("DataParallel", "DDP")
    first = text.index(compared(0))
    text = text[:first] + "[Accum]" + text[first:]
    evidence = read(text, code=code)
    assert (evidence.complete, evidence.consistent, claims(evidence)) == (True, True, right(4))


def test_a_traceback_of_this_code_names_its_line_and_ranks_once():
    both = "".join(TRACEBACK.format(rank, LINE, TEXT) for rank in (0, 2))
    evidence = read(both, code=CODE)
    assert (
        "The log shows RuntimeError at assignment4.py:9 on ranks 0 and 2: shapes do not fit" in evidence.facts
    )
    assert (evidence.complete, evidence.consistent) == (False, True)


def test_tracebacks_of_two_ranks_that_are_mixed_line_by_line_are_told_apart():
    pairs = zip(
        TRACEBACK.format(0, LINE, TEXT).splitlines(), TRACEBACK.format(1, 3, "x").splitlines(), strict=True
    )
    facts = read("\n".join(line for pair in pairs for line in pair), code=CODE).facts
    assert sum("assignment4.py:9 on rank 0" in fact for fact in facts) == 1
    assert sum("assignment4.py:3 on rank 1" in fact for fact in facts) == 1


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (LINE, "weight = another_function()", 'shows "weight = another_function()" as line 9'),
        (4000, TEXT, f"names line 4000 of assignment4.py, which has {len(CODE.splitlines())} lines"),
    ],
)
def test_a_traceback_of_other_code_is_doubted(line, text, words):
    evidence = read(TRACEBACK.format(0, line, text))
    assert evidence.consistent is False
    assert words in evidence.facts[0]


def test_a_traceback_in_other_files_says_nothing_about_this_code():
    evidence = read('  File "/usr/lib/torch/x.py", line 3, in f\n    g()\nValueError: x\n')
    assert evidence.consistent is None
    assert "The log shows ValueError: x" in evidence.facts


@pytest.mark.parametrize(
    "code",
    ["def f(:", "x = '\0'", "-" * 100_000 + "1", "a" + ".b" * 100_000, "(" * 500, "#" * 1_000_000],
    ids=["syntax", "zero byte", "deep", "long chain", "brackets", "large"],
)
def test_code_that_cannot_be_read_leaves_it_open(code):
    evidence = read(log_of(), code=code)
    assert (evidence.complete, evidence.consistent) == (True, None)


def test_a_driver_that_never_prints_the_last_line_is_not_asked_for_it():
    evidence = read(log_of().replace("done", ""), code=CODE.replace('print(f"[Rank {rank}] done")', ""))
    assert evidence.complete is True

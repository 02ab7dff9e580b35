"""``import utils`` finds the staff's functions, and the student's further ones beside them."""

from __future__ import annotations

import sys

import pytest
import torch

from grader.exercises import staff
from grader.exercises.own_modules import OwnModules
from tests.run.made import STAFF_UTILS


@pytest.fixture
def ours():
    return staff.load_staff_utils(STAFF_UTILS)


@pytest.fixture
def modules(tmp_path, ours):
    return OwnModules(tmp_path, {}, ours)


def test_a_submission_without_utils_gets_the_staff_s(tmp_path, ours, modules):
    utils = staff.utils_for(tmp_path, ours, modules)
    for name in ("init_distributed", "create_batch", "create_layers", "check", "compare_tensors"):
        assert getattr(utils, name) is getattr(ours, name)


def test_a_student_s_helpers_stay_and_use_the_staff_s_functions(tmp_path, ours, modules):
    (tmp_path / "utils.py").write_text(
        "limit = 3\ndef check(*_): return 'own'\ndef create_batch(*_): return 0\n"
        "def helper(x): return check(x, (2,))\n"
    )
    utils = staff.utils_for(tmp_path, ours, modules)
    assert utils.limit == 3
    assert utils.create_batch is ours.create_batch
    assert utils.helper(torch.ones(2)) is None
    with pytest.raises(AssertionError):
        utils.helper(torch.ones(3))


@pytest.mark.parametrize("text", ["1 / 0", "def f(:", "import no_such_module", "\x00"])
def test_a_utils_that_fails_is_ignored_and_said_to_be(tmp_path, ours, modules, capsys, text):
    (tmp_path / "utils.py").write_text(text)
    assert staff.utils_for(tmp_path, ours, modules).check is ours.check
    assert "utils.py of the submission is ignored" in capsys.readouterr().out


def test_both_operands_of_a_comparison_are_kept_as_they_were(ours, capsys):
    comparisons, operands = [], {}
    compare = staff.recorded(ours.compare_tensors, comparisons, operands, __file__)
    first, second = torch.zeros(2), torch.nn.Parameter(torch.zeros(2))
    result = compare(first, second, prefix="One")
    first += 1
    line = sys._getframe().f_lineno - 2
    assert result.match
    assert comparisons == [{"prefix": "One", "line": line, "itself": False}]
    assert operands["comparison.0.first"].tolist() == [0.0, 0.0]
    assert not operands["comparison.0.second"].requires_grad
    assert "Tensors match: True" in capsys.readouterr().out


def test_a_comparison_that_another_module_makes_has_the_line_that_led_to_it(ours):
    comparisons = []
    space = {"compare": staff.recorded(ours.compare_tensors, comparisons, {}, __file__)}
    exec(compile("\n\ndef both(a):\n    compare(a, a)\n", "report.py", "exec"), space)
    space["both"](torch.zeros(2))
    assert comparisons[0]["line"] == sys._getframe().f_lineno - 1


def test_a_comparison_that_raises_has_left_its_operands(ours):
    comparisons, operands = [], {}
    with pytest.raises(ValueError):
        staff.recorded(ours.compare_tensors, comparisons, operands, __file__)(torch.zeros(2), torch.zeros(3))
    with pytest.raises(TypeError):
        staff.recorded(ours.compare_tensors, comparisons, operands, __file__)(None, torch.zeros(3), prefix=5)
    assert [comparison["prefix"] for comparison in comparisons] == ["", "5"]
    assert operands["comparison.1.first"] is None

"""Changes of whole statements: each operator takes the body of a block and yields other bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst
import libcst.matchers as m

Body = Sequence[cst.BaseStatement]
#: Takes a body and the place of the statement to change; yields (number of statements replaced, by what).
Operator = Callable[[Body, int], Iterator[tuple[int, Body]]]

#: The handout's own assertions: without one, or with it asking less, right code is as right as before.
ASSERTION = m.SimpleStatementLine(body=[m.Assert() | m.Expr(m.Call(func=m.Name("check")))])

_CALL = m.SimpleStatementLine(body=[m.Expr(m.Call())])
_COLLECTIVE = m.SimpleStatementLine(body=[m.Expr(m.Call(func=m.Attribute(value=m.Name("dist"))))])
_ASSIGNED_CALL = m.SimpleStatementLine(body=[m.Assign(targets=[m.AssignTarget(m.Name())], value=m.Call())])


def deleted(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """The statement is missing."""
    yield 1, [_code("pass")]


def repeated(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """A call is made twice."""
    if m.matches(body[at], _CALL):
        yield 1, [body[at], _bare(body[at])]


def exchanged(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """A call and its neighbour in the other order."""
    pair = body[at : at + 2]
    simple = len(pair) == 2 and all(m.matches(one, m.SimpleStatementLine()) for one in pair)
    if simple and any(m.matches(one, _CALL) and not m.matches(one, ASSERTION) for one in pair):
        yield 2, [_bare(pair[1]), _bare(pair[0])]


def into_loop(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """The call after a loop stands in it."""
    if at + 1 < len(body) and isinstance(body[at], cst.For) and m.matches(body[at + 1], _CALL):
        loop = body[at]
        inner = loop.body.with_changes(body=[*loop.body.body, _bare(body[at + 1])])
        yield 2, [loop.with_changes(body=inner)]


def result_dropped(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """``X = f(X)`` becomes ``f(X)``."""
    if m.matches(body[at], _ASSIGNED_CALL):
        assign = body[at].body[0]
        if m.findall(assign.value, m.Name(assign.targets[0].target.value)):
            yield 1, [body[at].with_changes(body=[cst.Expr(assign.value)])]


def first_rank_only(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """A communication below ``if rank == 0``, or below its ``else``."""
    if m.matches(body[at], _COLLECTIVE):
        for condition in ("rank == 0", "rank != 0"):
            block = cst.IndentedBlock([_bare(body[at])])
            yield 1, [cst.If(test=cst.parse_expression(condition), body=block)]


def condition(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """An ``if`` that is turned round, always true, or never."""
    branch = body[at]
    if isinstance(branch, cst.If):
        turned = cst.UnaryOperation(
            cst.Not(), branch.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        )
        for test in (turned, cst.Name("True"), cst.Name("False")):
            yield 1, [branch.with_changes(test=test)]


def loop_cut(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """A loop over a list that leaves out its first or last item, or goes backwards."""
    loop = body[at]
    if isinstance(loop, cst.For):
        code = cst.Module([]).code_for_node(loop.iter)
        for other in (f"list({code})[1:]", f"list({code})[:-1]", f"reversed(list({code}))"):
            yield 1, [loop.with_changes(iter=cst.parse_expression(other))]


def after_loop(body: Body, at: int) -> Iterator[tuple[int, Body]]:
    """The last statement of a loop's body stands after the loop: done once, not each time."""
    loop = body[at]
    if isinstance(loop, cst.For) and len(loop.body.body) > 1:
        inner = loop.body.with_changes(body=loop.body.body[:-1])
        yield 1, [loop.with_changes(body=inner), _bare(loop.body.body[-1])]


OPERATORS: tuple[Operator, ...] = (
    deleted,
    repeated,
    exchanged,
    into_loop,
    result_dropped,
    first_rank_only,
    condition,
    loop_cut,
    after_loop,
)


def _code(text: str) -> cst.BaseStatement:
    return cst.parse_statement(text)


def _bare(statement: cst.BaseStatement) -> cst.BaseStatement:
    """The statement without the comments above it, which hold the solution markers."""
    return statement.with_changes(leading_lines=[])

"""Changes of one expression: each operator takes a node and yields what may stand in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import libcst as cst
import libcst.matchers as m

Operator = Callable[[cst.CSTNode], Iterator[cst.BaseExpression]]

_ARITHMETIC: dict[type[cst.BaseBinaryOp], tuple[type[cst.BaseBinaryOp], ...]] = {
    cst.Add: (cst.Subtract,),
    cst.Subtract: (cst.Add,),
    cst.Multiply: (cst.Divide, cst.Add),
    cst.Divide: (cst.Multiply,),
    cst.FloorDivide: (cst.Multiply, cst.Subtract),
    cst.MatrixMultiply: (cst.Multiply,),
}

_OTHER_VALUE = {
    "rank": ("0", "(rank + 1)", "(world_size - 1 - rank)", "((rank + 1) % world_size)"),
    "world_size": ("1", "(world_size - 1)", "(world_size + 1)", "2"),
    "num_micro_batches": ("1", "(num_micro_batches - 1)"),
    "accumulation_steps": ("1", "(accumulation_steps - 1)"),
}

#: Names of one kind: each may be mistaken for another.
_KINDS = (
    ("rank", "world_size"),
    ("inputs", "targets"),
    ("micro_inputs", "micro_targets"),
    ("micro_outputs", "outputs", "micro_targets"),
    ("local_inputs", "full_inputs"),
    ("local_targets", "full_targets"),
    ("start_idx", "end_idx"),
    ("start", "end"),
    ("global_batch_size", "local_batch_size", "micro_batch_size"),
    ("input_dim", "output_dim"),
    ("in_dim", "out_dim", "local_in_dim", "local_out_dim"),
    ("is_first", "is_last"),
    ("x", "out"),
    ("X", "local_X"),
    ("out", "local_out"),
    ("micro_loss", "scaled_loss"),
    ("weights", "stage_weights"),
    ("grad_output", "grad_input"),
    ("accumulation_steps", "micro_batch_size", "world_size"),
    ("num_micro_batches", "world_size", "micro_batch_size"),
    ("layers_per_stage", "num_layers", "world_size"),
    ("local_updated_weight", "initial_weight"),
)

#: Functions and methods that look alike, by the last part of their name.
_OTHER_FUNCTION = {
    "send": ("recv",),
    "recv": ("send",),
    "cat": ("stack",),
    "all_reduce": ("broadcast",),
    "gelu": ("relu",),
    "empty": ("zeros", "ones"),
    "split": ("chunk",),
    "backward": ("forward",),
    "zero_grad": ("step",),
    "step": ("zero_grad",),
}

_PASSES_THROUGH = m.Name("clone") | m.Name("contiguous") | m.Name("detach") | m.Name("to")


def arithmetic(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``+`` for ``-``, ``*`` for ``/`` and the like."""
    if isinstance(node, cst.BinaryOperation):
        for other in _ARITHMETIC.get(type(node.operator), ()):
            yield node.with_changes(operator=other())


def operand(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """One side of an arithmetic operation alone: ``loss / n`` becomes ``loss``."""
    if isinstance(node, cst.BinaryOperation):
        yield _enclosed(node.left)
        yield _enclosed(node.right)


def comparison(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``==`` for ``!=``, ``<`` for ``<=`` and back."""
    if m.matches(node, m.Comparison(comparisons=[m.ComparisonTarget()])):
        (target,) = node.comparisons
        other = {cst.Equal: cst.NotEqual, cst.NotEqual: cst.Equal, cst.LessThan: cst.LessThanEqual}
        if type(target.operator) in other:
            swapped = target.with_changes(operator=other[type(target.operator)]())
            yield node.with_changes(comparisons=[swapped])


def integer(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """A constant one higher and one lower; ``-1`` is a constant, too."""
    if m.matches(node, m.UnaryOperation(operator=m.Minus(), expression=m.Integer())):
        value = -int(node.expression.value)
    elif isinstance(node, cst.Integer):
        value = int(node.value)
    else:
        return
    yield _expression(str(value + 1))
    yield _expression(str(value - 1))


def dimension(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``dim=0``, ``1`` and ``-1`` for each other, or left out."""
    if not isinstance(node, cst.Call):
        return
    for index, argument in enumerate(node.args):
        if argument.keyword is not None and argument.keyword.value == "dim":
            for value in ("0", "1", "-1", "-2"):
                other = argument.with_changes(value=_expression(value))
                yield node.with_changes(args=[*node.args[:index], other, *node.args[index + 1 :]])


def boolean(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """True for False, and back."""
    if isinstance(node, cst.Name) and node.value in ("True", "False"):
        yield cst.Name("False" if node.value == "True" else "True")


def value(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Another rank, another world size, one micro-batch."""
    if isinstance(node, cst.Name):
        yield from map(_expression, _OTHER_VALUE.get(node.value, ()))


def name(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Another variable of the same kind, also where it is an attribute."""
    if isinstance(node, cst.Attribute):
        yield from (node.with_changes(attr=cst.Name(other)) for other in _others(node.attr.value))
    elif isinstance(node, cst.Name):
        yield from map(cst.Name, _others(node.value))


def _others(word: str) -> list[str]:
    return list(dict.fromkeys(other for kind in _KINDS if word in kind for other in kind if other != word))


def function(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Another function in a call: receive for send, stack for cat."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        for other in _OTHER_FUNCTION.get(node.func.attr.value, ()):
            if other == "broadcast":
                args = [node.args[0], cst.parse_expression("f(src=0)").args[0]]
                called = node.func.with_changes(attr=cst.Name(other))
                yield node.with_changes(func=called, args=args)
            else:
                yield node.with_changes(func=node.func.with_changes(attr=cst.Name(other)))


def argument(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """A call with one argument less, or with two neighbours exchanged."""
    if not isinstance(node, cst.Call):
        return
    for index in range(len(node.args)):
        yield node.with_changes(args=[*node.args[:index], *node.args[index + 1 :]])
    plain = [index for index, given in enumerate(node.args) if given.keyword is None]
    for index, following in pairwise(plain):
        args = list(node.args)
        args[index] = node.args[index].with_changes(value=node.args[following].value)
        args[following] = node.args[following].with_changes(value=node.args[index].value)
        yield node.with_changes(args=args)


def method_dropped(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``x.clone()``, ``.contiguous()``, ``.detach()``, ``.to()`` become ``x``."""
    if m.matches(node, m.Call(func=m.Attribute(attr=_PASSES_THROUGH))):
        yield node.func.value


def call_skipped(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``f(x)`` becomes ``x``."""
    if isinstance(node, cst.Call) and node.args and not node.args[0].star:
        yield node.args[0].value


def reduction(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Another operation of an all-reduce."""
    if m.matches(node, m.Attribute(value=m.Attribute(attr=m.Name("ReduceOp")))):
        for other in ("MAX", "MIN", "PRODUCT", "AVG"):
            yield node.with_changes(attr=cst.Name(other))


def bounds(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """A slice that begins or ends one off, or at the ends of the tensor."""
    if not isinstance(node, cst.Subscript):
        return
    for index, element in enumerate(node.slice):
        if not isinstance(element.slice, cst.Slice):
            continue
        for edge in ("lower", "upper"):
            bound = getattr(element.slice, edge)
            if bound is None:
                continue
            code = cst.Module([]).code_for_node(bound)
            for other in (None, _expression(f"{code} + 1"), _expression(f"{code} - 1")):
                cut = element.with_changes(slice=element.slice.with_changes(**{edge: other}))
                yield node.with_changes(slice=[*node.slice[:index], cut, *node.slice[index + 1 :]])


def loop(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """``range`` one shorter, at either end."""
    if m.matches(node, m.Call(func=m.Name("range"), args=[m.Arg()])):
        code = cst.Module([]).code_for_node(node.args[0].value)
        yield _expression(f"range({code} - 1)")
        yield _expression(f"range(1, {code})")


OPERATORS: tuple[Operator, ...] = (
    arithmetic,
    operand,
    comparison,
    integer,
    dimension,
    boolean,
    value,
    name,
    function,
    argument,
    method_dropped,
    call_skipped,
    reduction,
    bounds,
    loop,
)


def _expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


def _enclosed(node: cst.BaseExpression) -> cst.BaseExpression:
    """The node in parentheses, where it is an operation itself."""
    if isinstance(node, cst.BinaryOperation) and not node.lpar:
        return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return node

"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable

#: No honest count is larger; beyond 1e308 there would be no float of it.
LARGEST = 10**18
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def difference(value: float | None) -> str:
    """A difference of weights, in two digits; ``-`` where nothing could be compared."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.2g}" if value >= 1e-3 else f"{value:.1e}"


def short(value: float) -> str:
    """A count in three digits: ``1.05 M``."""
    value = min(value, LARGEST)
    for factor, prefix in _PREFIXES:
        if value >= factor * 0.9995:
            return f"{_three_digits(value / factor)} {prefix}"
    return f"{value:.0f}"


def size(value: float) -> str:
    """Bytes, in thousands of them: ``8.19 kB``."""
    text = short(value)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"


def duration(seconds: float) -> str:
    """Seconds in three digits, from microseconds up."""
    if seconds >= 1:
        return f"{_three_digits(seconds)} s"
    if seconds >= 1e-3:
        return f"{_three_digits(1e3 * seconds)} ms"
    return f"{1e6 * seconds:.0f} µs"


def listed(numbers: Iterable[int]) -> str:
    """``0``, ``0 and 2``, ``0, 1 and 3``, in order."""
    words = [str(number) for number in sorted(set(numbers))]
    return " and ".join(filter(None, (", ".join(words[:-1]), "".join(words[-1:]))))


def ranges(numbers: Iterable[int]) -> str:
    """``0 to 3, 7 and 9``, in order."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(begin) if begin == end else f"{begin} to {end}" for begin, end in runs]
    return " and ".join(filter(None, (", ".join(words[:-1]), "".join(words[-1:]))))


def ranks(numbers: Iterable[int]) -> str:
    """``rank 2``, or ``ranks 0 and 2``."""
    words = sorted(set(numbers))
    return f"rank{'s' * (len(words) != 1)} {listed(words)}"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"

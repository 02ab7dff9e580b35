"""Reads a shell script as far as a lint needs: simple commands, their words, and what each word expands.

No grammar: ``if``, ``for`` and functions fall into the commands that they are made of. What matters is which
names *this* shell expands (unquoted or in double quotes) and which it leaves alone (single quotes, ``\\$``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IN_TEXT = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)", re.ASCII)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=", re.ASCII)
_OPERATORS = ("&&", "||", ";;", "|&", "|", "&", ";", "\n")
_KEYWORDS = {
    "if",
    "then",
    "elif",
    "else",
    "while",
    "until",
    "do",
    "{",
    "!",
    "time",
    "exec",
    "command",
    "nohup",
}


@dataclass(frozen=True)
class Word:
    """``text`` as the command gets it, with ``$NAME`` where something is expanded; ``line`` counts from 1."""

    text: str
    line: int
    expanded: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Names behind a ``$`` that this shell does not expand."""


@dataclass(frozen=True)
class Command:
    """A simple command. ``after`` is the operator behind it; ``inner``: it stands in ``$(…)``."""

    words: tuple[Word, ...]
    after: str
    inner: bool = False

    @property
    def line(self) -> int:
        return self.words[0].line

    @property
    def called(self) -> tuple[Word, ...]:
        """The words from the program's name on: without keywords and assignments before it."""
        rest = list(self.words)
        while rest and (rest[0].text in _KEYWORDS or is_assignment(rest[0].text)):
            rest.pop(0)
        return tuple(rest)

    @property
    def name(self) -> str:
        return self.called[0].text.rsplit("/", 1)[-1] if self.called else ""


def is_assignment(text: str) -> bool:
    """Whether a word is ``NAME=value``."""
    return _ASSIGNMENT.match(text) is not None


def read_commands(text: str, first_line: int = 1) -> tuple[Command, ...]:
    """The simple commands of a script in their order, those inside of ``$(…)`` before the one around them."""
    reader = _Reader(text, first_line)
    reader.commands("", inner=False)
    return tuple(reader.found)


class _Reader:
    """A position in the text, and what was found so far."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self.found: list[Command] = []
        self.heredocs: list[tuple[str, bool, bool]] = []

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self, length: int = 1) -> str:
        taken = self.peek(length)
        self.line += taken.count("\n")
        self.at += length
        return taken

    def until(self, end: str) -> str:
        """Take up to ``end`` and ``end`` itself; all the rest where it never comes."""
        found = self.text.find(end, self.at)
        stop = len(self.text) if found < 0 else found
        taken = self.take(stop - self.at)
        self.take(len(end))
        return taken

    def commands(self, closing: str, inner: bool) -> None:
        """Read commands up to ``closing``; "" is the end of the text."""
        words: list[Word] = []
        array = False
        while self.at < len(self.text):
            char = self.peek()
            if closing and char == closing and not array:
                self.take()
                break
            if char in " \t\r" or (array and char == "\n"):
                self.take()
            elif self.peek(2) == "\\\n":
                self.take(2)
            elif char == "#":
                self.take(len(self.text[self.at :].split("\n", 1)[0]))
            elif array and char == ")":
                self.take()
                array = False
            elif operator := self.operator():
                self.end(words, operator, inner)
            elif char in "<>" or re.match(r"\d*(&>|[<>])", self.text[self.at : self.at + 4]):
                words.extend(self.redirection())
            elif char in "()":
                self.take()
                self.end(words, char, inner)
            else:
                words.append(self.word())
                if self.peek() == "(" and is_assignment(words[-1].text) and words[-1].text.endswith("="):
                    self.take()
                    array = True
        self.end(words, closing, inner)

    def operator(self) -> str:
        """Take an operator that ends a command, or nothing."""
        if self.peek(2) == "&>":
            return ""
        for operator in _OPERATORS:
            if self.peek(len(operator)) == operator:
                self.take(len(operator))
                return operator
        return ""

    def end(self, words: list[Word], operator: str, inner: bool) -> None:
        if operator == "\n":
            words.extend(self.heredoc_bodies())
        if words:
            self.found.append(Command(tuple(words), operator, inner))
            words.clear()

    def redirection(self) -> list[Word]:
        """Take a redirection and its target; the text of ``<<<`` is a word of the command."""
        operator = self.take(len(re.match(r"\d*(&>>?|<<<|<<-?|[<>]\(|[<>]{1,2}[&|]?|<>)", self.rest())[0]))  # type: ignore[index]
        if operator.endswith("("):
            self.commands(")", inner=True)
            return []
        while self.peek() in (" ", "\t"):
            self.take()
        if operator.startswith("<<") and operator != "<<<":
            mark = re.match(r"[^\s;|&<>()]*", self.rest())[0]  # type: ignore[index]
            self.take(len(mark))
            quoted = any(sign in mark for sign in "'\"\\")
            self.heredocs.append((re.sub(r"['\"\\]", "", mark), quoted, operator == "<<-"))
            return []
        target = [self.word()] if self.peek() not in ("", "\n", ";", "|", ")") else []
        return target if operator == "<<<" else []

    def rest(self) -> str:
        return self.text[self.at : self.at + 80]

    def heredoc_bodies(self) -> list[Word]:
        """The texts of the here-documents that the line before began, each a word."""
        bodies = []
        for mark, quoted, tabs in self.heredocs:
            line, lines = self.line, []
            while self.at < len(self.text):
                one = self.until("\n")
                if (one.lstrip("\t") if tabs else one) == mark:
                    break
                lines.append(one)
            body = "\n".join(lines)
            names = tuple(_IN_TEXT.findall(body if quoted else body.replace(r"\$", "")))
            bodies.append(Word(body, line, () if quoted else names, names if quoted else ()))
        self.heredocs.clear()
        return bodies

    def word(self) -> Word:
        line = self.line
        text: list[str] = []
        expanded: list[str] = []
        left: list[str] = []
        quoted = False
        while self.at < len(self.text):
            char = self.peek()
            if not quoted and (char in " \t\r\n;|&()<>"):
                break
            if char == '"':
                quoted = not quoted
                self.take()
            elif char == "'" and not quoted:
                self.take()
                text.append(self.until("'"))
                left += _IN_TEXT.findall(text[-1])
            elif char == "\\":
                text.append(self.escaped(quoted, left))
            elif char == "`":
                self.take()
                self.nested(self.until("`"), expanded)
                text.append("$(…)")
            elif char == "$":
                text.append(self.dollar(quoted, expanded, left))
            else:
                text.append(self.take())
        return Word("".join(text), line, tuple(expanded), tuple(left))

    def escaped(self, quoted: bool, left: list[str]) -> str:
        two = self.take(2)
        if two == "\\\n":
            return ""
        if two == "\\$":
            name = _NAME.match(self.text, self.at + (self.peek() == "{"))
            left += [name[0]] if name else []
        return two if quoted and two[1:] not in ("$", '"', "\\", "`") else two[1:]

    def dollar(self, quoted: bool, expanded: list[str], left: list[str]) -> str:
        """Take an expansion; the text that stands for it."""
        start = self.at
        if self.peek(2) == "$'" and not quoted:
            self.take(2)
            text = self.until("'")
            left += _IN_TEXT.findall(text)
            return text
        if self.peek(3) == "$((":
            self.take(3)
            depth = 2
            while depth and self.at < len(self.text):
                depth += {"(": 1, ")": -1}.get(self.take(), 0)
            expanded += _NAME.findall(self.text[start : self.at])
        elif self.peek(2) == "$(":
            self.take(2)
            self.commands(")", inner=True)
        elif self.peek(2) == "${":
            self.take(2)
            depth = 1
            while depth and self.at < len(self.text):
                depth += {"{": 1, "}": -1}.get(self.take(), 0)
            inside = self.text[start : self.at]
            name = _NAME.match(inside, 2 + (inside[2:3] in "#!"))
            expanded += [name[0]] if name else []
            expanded += _IN_TEXT.findall(inside[2:])
        else:
            self.take()
            name = _NAME.match(self.text, self.at)
            if name:
                self.take(len(name[0]))
                expanded.append(name[0])
        return self.text[start : self.at]

    def nested(self, text: str, expanded: list[str]) -> None:
        """The commands of a backquoted text."""
        reader = _Reader(text, self.line)
        reader.commands("", inner=True)
        self.found += reader.found
        expanded += _IN_TEXT.findall(text)

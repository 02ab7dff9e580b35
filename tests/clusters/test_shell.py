"""What the lint takes for a command, and which names it takes for expanded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.clusters.shell import read_commands


def names(text: str) -> list[str]:
    return [name for command in read_commands(text) for word in command.words for name in word.expanded]


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("echo $A", ["A"]),
        ('echo "$A ${B:-$C}"', ["A", "B", "C"]),
        ("echo '$A'", []),
        ("echo \"'$A'\"", ["A"]),
        (r"echo \$A", []),
        (r'echo "\$A"', []),
        (r'echo "\\$A"', ["A"]),
        ("echo $'$A'", []),
        ("X=$((A + B))", ["A", "B"]),
        ("X=${#A}", ["A"]),
        ("X=$(echo $A)", ["A"]),
        ("X=`echo $A`", ["A", "A"]),
        ("# $A", []),
        ("echo a#$A", ["A"]),
        ("cat <<END\n$A\nEND\necho $B", ["A", "B"]),
        ("cat <<'END'\n$A\nEND\necho $B", ["B"]),
        ("cat <<-END\n\t$A\n\tEND\necho $B", ["A", "B"]),
        ("bash <<< $A", ["A"]),
        ("A=(x $B\n'$C')\necho $D", ["B", "D"]),
    ],
)
def test_only_what_this_shell_expands_counts_as_expanded(text: str, expanded: list[str]) -> None:
    assert names(text) == expanded


def test_commands_end_where_the_shell_ends_them() -> None:
    found = read_commands("if a b; then c | d && e || f & fi\ng \\\n  h > out 2>&1 # i\n(j; k)")
    # Keywords fall into the commands that they stand before.
    assert [" ".join(word.text for word in command.words) for command in found] == [
        "if a b", "then c", "d", "e", "f", "fi", "g h", "j", "k",
    ]  # fmt: skip
    assert [command.after for command in found][:6] == [";", "|", "&&", "||", "&", "\n"]
    assert [command.line for command in found] == [1, 1, 1, 1, 1, 1, 2, 4, 4]


def test_what_stands_before_a_program_is_not_its_name() -> None:
    (command,) = read_commands("A=1 exec /usr/bin/srun -n 1 x")
    assert command.name == "srun"
    (command,) = read_commands("A=1 B=2")
    assert command.name == "" and not command.called


def test_lines_are_counted_through_quotes_and_here_documents() -> None:
    found = read_commands("cat <<END\n1\n2\nEND\nx='\n\n'\nlast $A")
    assert found[-1].line == 8


@pytest.mark.fuzz
@given(st.text(alphabet="aA $'\"\\`(){}<>|&;#=\n\t-", max_size=60))
def test_no_text_stops_the_reader(text: str) -> None:
    read_commands(text)

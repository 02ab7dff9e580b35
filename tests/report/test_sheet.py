"""Cells of somebody else's CSV file are replaced, and no other byte of it."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.sheet import SheetError, decimal_mark, number_in, read_sheet

TEXT = st.text(alphabet=st.sampled_from('ab 1,;"\n\r\t=éß漢🎓.-'), max_size=8)


@st.composite
def files(draw: st.DrawFn, delimiters: str = ",;\t") -> tuple[bytes, str, list[list[str]]]:
    """A CSV file as some program may write it: each cell quoted or not, each line ended in its own way."""
    delimiter = draw(st.sampled_from(delimiters))
    width = draw(st.integers(1, 5))
    rows, pieces = [], [b"\xef\xbb\xbf"] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 6))):
        texts = draw(st.lists(TEXT, min_size=width, max_size=width))
        if not any(texts):
            texts[0] = "x"
        cells = []
        for text in texts:
            quoted = any(one in text for one in f'{delimiter}"\n\r') or draw(st.booleans())
            cells.append('"' + text.replace('"', '""') + '"' if quoted else text)
        rows.append(texts)
        pieces += [delimiter.join(cells).encode(), draw(st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]))]
    if draw(st.booleans()):
        pieces.pop()  # no line end behind the last row
    return b"".join(pieces), delimiter, rows


@given(files())
def test_the_cells_are_those_that_the_csv_module_reads(file: tuple[bytes, str, list[list[str]]]) -> None:
    content, delimiter, rows = file
    sheet = read_sheet(content, delimiter)
    assert [list(sheet.texts(row)) for row in range(len(sheet.rows))] == rows
    text = content.decode("utf-8-sig")
    read = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    assert read == rows


@given(files())
def test_a_sheet_in_which_nothing_is_replaced_is_the_same_file(
    file: tuple[bytes, str, list[list[str]]],
) -> None:
    content, delimiter, _ = file
    assert read_sheet(content, delimiter).replaced({}) == content


@given(files(), st.data())
def test_only_the_bytes_of_the_replaced_cells_change(
    file: tuple[bytes, str, list[list[str]]], data: st.DataObject
) -> None:
    content, delimiter, rows = file
    places = [(row, column) for row in range(len(rows)) for column in range(len(rows[row]))]
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True))
    texts = {place: data.draw(TEXT.filter(bool)) for place in chosen}
    sheet = read_sheet(content, delimiter)
    filled = sheet.replaced(texts)

    # What stands between the replaced cells is there byte for byte, in order.
    position, begun = 0, 0
    for row, column in sorted(texts):
        cell = sheet.rows[row][column]
        between = content[begun : cell.start]
        assert filled[position : position + len(between)] == between
        position += len(between)
        written = texts[row, column]
        plain, quoted = written.encode(), ('"' + written.replace('"', '""') + '"').encode()
        new = quoted if filled[position : position + len(quoted)] == quoted else plain
        assert filled[position : position + len(new)] == new
        position, begun = position + len(new), cell.end
    assert filled[position:] == content[begun:]

    again = read_sheet(filled, delimiter)
    expected = [
        [texts.get((row, column), text) for column, text in enumerate(cells)]
        for row, cells in enumerate(rows)
    ]
    assert [list(again.texts(row)) for row in range(len(again.rows))] == expected


def test_a_cell_in_quotes_stays_in_quotes_and_another_gets_them_where_it_must() -> None:
    sheet = read_sheet(b'"1",2,3\n', ",")
    assert sheet.replaced({(0, 0): "7", (0, 1): "8", (0, 2): "9,5"}) == b'"7",8,"9,5"\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n\xe9,1\n", "not text in UTF-8"),
        ("a,b\n".encode("utf-16"), "not text in UTF-8"),
        (b'a,b\n"c,d\n', "row 2 is never closed"),
        (b'a,b\n"c"d,e\n', "Row 2 has text behind"),
    ],
)
def test_a_file_that_importers_read_differently_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(SheetError, match=words):
        read_sheet(content, ",")


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["", "85", "85,00"], ","),
        (["85.00", "1,5"], "."),
        (["85", "EX", "(read only)"], "?"),
        (["-0,5"], ","),
    ],
)
def test_the_decimal_mark_is_that_of_the_numbers_there(texts: list[str], mark: str) -> None:
    assert decimal_mark(texts, "?") == mark


def test_only_numbers_are_numbers() -> None:
    texts = ["85,50", " 85.5 ", "85", "", "EX", "1e5", "nan", "1.5.2"]
    assert [number_in(text) for text in texts] == [85.5, 85.5, 85, None, None, None, None, None]

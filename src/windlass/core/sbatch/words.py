"""One line of directives cut into words, as sbatch cuts it: not quite as a shell would."""

from dataclasses import dataclass

_SPACE = " \t\n\v\f\r"  # C's isspace, not Python's: a no-break space is a letter to sbatch
_PLAIN = frozenset("\"'\\#:")


@dataclass(frozen=True)
class Word:
    text: str
    line: int
    column: int  # of its first letter, from 1
    end: int  # the column after its last


@dataclass(frozen=True)
class BadQuoting:
    """Where sbatch gives up on the line, with its words."""

    text: str
    column: int


def split_words(text: str, line: int, column: int) -> tuple[list[Word], BadQuoting | None]:
    """`text` begins at `column`. An unquoted # begins a comment even inside a word; an empty word ends the line."""
    if _PLAIN.isdisjoint(text):
        return _split_plain(text, line, column), None
    words: list[Word] = []
    at = 0
    while True:
        begin = at
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if at < len(text) and text[at] == ":":
            return words, BadQuoting(f"line {line}: Unexpected `:` in [{text[begin:]}]", column + at)
        first = at
        word, at, quote = _take(text, at)
        if quote:
            return words, BadQuoting(f"line {line}: Unmatched `{quote}` in [{text[first:]}]", column + first)
        if not word:
            return words, None
        words.append(Word(word, line, column + first, column + at))


def _split_plain(text: str, line: int, column: int) -> list[Word]:
    if not text.isascii():
        return _split_odd(text, line, column)
    words: list[Word] = []
    at = 0
    for part in text.split():
        at = text.index(part, at)
        words.append(Word(part, line, column + at, column + at + len(part)))
        at += len(part)
    return words


def _split_odd(text: str, line: int, column: int) -> list[Word]:
    """With letters that Python takes for space and sbatch does not."""
    words: list[Word] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        first = at
        word, at, _ = _take(text, at)
        if not word:
            return words
        words.append(Word(word, line, column + first, column + at))


def _take(text: str, at: int) -> tuple[str, int, str]:
    """The word at a place, where it ends, and the quote that is still open."""
    letters: list[str] = []
    quote = ""
    while at < len(text) and (quote or text[at] not in _SPACE):
        letter = text[at]
        if letter == "\\":
            at += 1
            # Outside quotes a space ends the word even behind a backslash.
            if at < len(text) and (quote or text[at] not in _SPACE):
                letters.append(text[at])
                at += 1
            continue
        if quote and letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote and letter == "#":
            break
        else:
            letters.append(letter)
        at += 1
    return "".join(letters), at, quote

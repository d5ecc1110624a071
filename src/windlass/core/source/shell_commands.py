"""Shell text as the commands it holds: words without quotes, comments and here-documents left out. Nothing is run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_OPENING = frozenset({"if", "while", "until", "for", "case", "select"})
_CLOSING = frozenset({"fi", "done", "esac"})
_BETWEEN = frozenset({"then", "do", "else", "elif", "!", "{", "time"})
_TESTS = frozenset({"[", "[[", "test", "command", "which", "type", "hash", "grep"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(\\?['\"]?)([^\s'\"<>|&;()]+)['\"]?")
_PLAIN = re.compile(r"[^\s\\'\"$`<>;&|()#]+")
_PLAIN_IN_QUOTES = re.compile(r'[^"\\$]+')
_DEEPEST = 20
_LONGEST = 2_000_000  # characters; what follows is not looked at


@dataclass(frozen=True, kw_only=True)
class ShellCommand:
    """One simple command."""

    words: tuple[str, ...]  # without leading assignments and redirections
    line: int
    column: int
    assignments: Mapping[str, str] = field(default_factory=dict)  # those before the command
    is_certain: bool = True  # in no branch, no function, and not guarded by || or a test


@dataclass
class _Token:
    text: str
    line: int
    column: int
    is_operator: bool = False
    is_quoted: bool = False
    inner: list["_Token"] = field(default_factory=list)  # of $( )
    parts: list[str] = field(default_factory=list)  # of `text`, while it is read


def read_commands(text: str) -> tuple[ShellCommand, ...]:
    """Never raises: a quote that is not closed ends with its text."""
    return tuple(sorted(_group(_Scanner(text[:_LONGEST]).scan()), key=lambda one: (one.line, one.column)))


def find_exports(commands: tuple[ShellCommand, ...]) -> dict[str, str]:
    """Variables that stand before a command, alone, or after `export`."""
    found: dict[str, str] = {}
    for command in commands:
        found |= command.assignments
        if command.words and command.words[0] in {"export", "env", "declare", "setenv"}:
            found |= {match[1]: match[2] for word in command.words[1:] if (match := _ASSIGNMENT.fullmatch(word))}
    return found


class _Scanner:
    def __init__(self, text: str, *, line: int = 1, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.start_of_line = 0
        self.depth = depth
        self.tokens: list[_Token] = []
        self.word: _Token | None = None
        self.heredocs: list[tuple[str, bool]] = []

    def scan(self) -> list[_Token]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_word()
        return self.tokens

    def _step(self, char: str) -> None:
        if char == "\n":
            self._end_word()
            self._operator("\n")
            self._new_line()
            self._skip_heredocs()
        elif char in " \t\r":
            self._end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            self.at = self._find("\n", self.at)
        elif char == "\\":
            self._escape()
        elif char == "'":
            end = self._find("'", self.at + 1)
            self._add(self.text[self.at + 1 : end], quoted=True)
            self._advance(end + 1)
        elif char == '"':
            self._double_quoted()
        elif char == "$" and self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at):
            self._substitution(2, ")")
        elif char == "`":
            self._substitution(1, "`")
        elif char in "<>":
            self._redirection()
        elif char in ";&|()":
            self._end_word()
            longer = self.text[self.at : self.at + 2]
            self._operator(longer if longer in {"&&", "||", ";;", "|&"} else char)
        else:
            plain = _PLAIN.match(self.text, self.at)
            run = plain[0] if plain else char
            self._add(run)
            self.at += len(run)

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found

    def _advance(self, end: int) -> None:
        """Past text that may hold newlines."""
        passed = self.text[self.at : end]
        if newlines := passed.count("\n"):
            self.line += newlines
            self.start_of_line = self.at + passed.rindex("\n") + 1
        self.at = end

    def _new_line(self) -> None:
        self.line += 1
        self.start_of_line = self.at

    def _add(self, text: str, *, quoted: bool = False) -> None:
        if self.word is None:
            self.word = _Token("", self.line, self.at - self.start_of_line + 1)
        self.word.parts.append(text)
        self.word.is_quoted |= quoted

    def _end_word(self) -> None:
        if self.word is not None:
            self.word.text = "".join(self.word.parts)
            self.tokens.append(self.word)
            self.word = None

    def _operator(self, text: str) -> None:
        self.tokens.append(_Token(text, self.line, self.at - self.start_of_line + 1, is_operator=True))
        self.at += len(text)

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "\r":
            following = self.text[self.at + 2 : self.at + 3]  # a line of DOS that goes on
            self.at += 1
        self.at += 2
        if following == "\n":
            self._new_line()
        elif following:
            self._add(following, quoted=True)

    def _double_quoted(self) -> None:
        self._add("", quoted=True)
        self._advance(self.at + 1)
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\":
                self._flush(begin)
                self._advance(self.at + 1)
                begin = self.at
                self._advance(min(self.at + 1, len(self.text)))
            elif self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at):
                self._flush(begin)
                self._substitution(2, ")")
                begin = self.at
            else:
                plain = _PLAIN_IN_QUOTES.match(self.text, self.at)
                self._advance(plain.end() if plain else self.at + 1)
        self._flush(begin)
        self._advance(min(self.at + 1, len(self.text)))

    def _flush(self, begin: int) -> None:
        if self.at > begin:
            self._add(self.text[begin : self.at], quoted=True)

    def _substitution(self, skip: int, closing: str) -> None:
        end = self._find_end(self.at + skip, closing)
        inner = self.text[self.at + skip : end]
        if self.depth < _DEEPEST:
            scanner = _Scanner(inner, line=self.line, depth=self.depth + 1)
            scanner.start_of_line = -(self.at + skip - self.start_of_line)
            found = scanner.scan()
        else:
            found = []
        self._add(self.text[self.at : end + 1])
        if self.word is not None:
            self.word.inner += [*found, _Token("\n", self.line, 1, is_operator=True)]
        self._advance(min(end + 1, len(self.text)))

    def _find_end(self, start: int, closing: str) -> int:
        if closing == "`":
            return self._find("`", start)
        depth, at = 1, start
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif char == "'" and (end := self.text.find("'", at + 1)) > 0:
                at = end
            elif char in "()":
                depth += 1 if char == "(" else -1
                if not depth:
                    return at
            at += 1
        return len(self.text)

    def _redirection(self) -> None:
        if self.word is not None and "".join(self.word.parts[:2]).isdigit() and not self.word.is_quoted:
            self.word = None  # the 2 of 2>
        self._end_word()
        match = _HEREDOC.match(self.text, self.at)
        if match and not self.text.startswith("<<<", self.at):
            self.heredocs.append((match[2], self.text.startswith("<<-", self.at)))
            self.at = match.end()
            return
        end = self.at
        while end < len(self.text) and self.text[end] in "<>&|(":
            end += 1
        text = self.text[self.at : end]
        if text.endswith("("):  # <( ) and >( )
            self._operator("(")
            self.at = end
            return
        self._operator(text)
        if self.text.startswith("-", self.at):
            self.at += 1  # 2>&-

    def _skip_heredocs(self) -> None:
        for word, is_indented in self.heredocs:
            while self.at < len(self.text):
                end = self._find("\n", self.at)
                found = self.text[self.at : end].rstrip("\r")
                self._advance(min(end + 1, len(self.text)))
                if (found.lstrip("\t") if is_indented else found) == word:
                    break
        self.heredocs = []


def _group(tokens: list[_Token], *, is_certain: bool = True) -> list[ShellCommand]:
    """From words and operators to commands; branches and functions are counted."""
    commands: list[ShellCommand] = []
    state = _Branches(is_certain=is_certain)
    current: list[_Token] = []
    for token in [*tokens, _Token("\n", 0, 0, is_operator=True)]:
        if (token.is_operator and token.text.strip("<>&|") == "" and token.text[:1] in "<>") or not token.is_operator:
            current.append(token)
        else:
            commands += state.end_command(current, token.text)
            current = []
    return commands


class _Branches:
    def __init__(self, *, is_certain: bool) -> None:
        self.is_certain = is_certain
        self.depth = 0
        self.before = ""
        self.was_test = False
        self.may_be_function = False

    def end_command(self, tokens: list[_Token], operator: str) -> list[ShellCommand]:
        words = _drop_redirections(tokens)
        words = self._take_keywords(words)
        found: list[ShellCommand] = []
        guarded = self.before == "||" or (self.before == "&&" and self.was_test) or operator == "||"
        is_certain = self.is_certain and self.depth == 0 and not guarded
        for word in tokens:
            if word.inner:
                found += _group(word.inner, is_certain=is_certain)
        # `name ()` is no command: what follows is its body
        begins_function = operator == "(" and len(words) == 1
        command = None if begins_function else _make_command(words, is_certain=is_certain)
        if command:
            found.append(command)
            self.was_test = bool(command.words) and command.words[0] in _TESTS
        if words or operator not in {"\n", ";"}:
            self.before = operator
        self.may_be_function = begins_function or (self.may_be_function and operator in {")", "\n"})
        return found

    def _take_keywords(self, words: list[_Token]) -> list[_Token]:
        while words and not words[0].is_quoted:
            text = words[0].text
            if text == "function" or (text == "{" and self.may_be_function):
                self.depth += 1
                if text == "function":
                    return []
            elif text in _OPENING:
                self.depth += 1
                if text in {"for", "case", "select"}:
                    return []
            elif text in _CLOSING or (text == "}" and self.depth):
                self.depth = max(0, self.depth - 1)
            elif text not in _BETWEEN:
                break
            words = words[1:]
        return words


def _drop_redirections(tokens: list[_Token]) -> list[_Token]:
    kept: list[_Token] = []
    skip = False
    for token in tokens:
        if token.is_operator:
            skip = True
        elif skip:
            skip = False
        else:
            kept.append(token)
    return kept


def _make_command(words: list[_Token], *, is_certain: bool) -> ShellCommand | None:
    if not words:
        return None
    first = words[0]
    assignments: dict[str, str] = {}
    while words and (match := _ASSIGNMENT.fullmatch(words[0].text)):
        assignments[match[1]] = match[2]
        words = words[1:]
    return ShellCommand(
        words=tuple(word.text for word in words),
        line=(words or [first])[0].line,
        column=(words or [first])[0].column,
        assignments=assignments,
        is_certain=is_certain,
    )

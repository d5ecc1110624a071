"""On which line each key of a TOML text stands. For texts that tomllib has already accepted."""

from windlass.core.toml.reading import Path

_OPEN = {"[": "]", "{": "}"}


def find_lines(text: str) -> dict[Path, int]:
    """Tables and keys, not what is inside an inline table or a list: that is on the line of its key, or near."""
    return _Scanner(text.replace("\r\n", "\n")).scan()


def nearest_line(lines: dict[Path, int], path: Path) -> int | None:
    """The line of the key, or of the nearest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._counted_to, self._line = 0, 1

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip_blank():
            line = self._line_here()
            if self.text[self.at] == "[":
                self.at += 2 if self.text.startswith("[[", self.at) else 1
                table = self._key("]")
                self.at = self._end_of_line()
                self._note(table, line)
            else:
                path = (*table, *self._key("="))
                self._note(path, line)
                self._value()
        return self.lines

    def _note(self, path: Path, line: int) -> None:
        for length in range(1, len(path)):
            self.lines.setdefault(path[:length], line)
        self.lines[path] = line

    def _line_here(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line

    def _skip_blank(self) -> bool:
        """To the next statement; False at the end."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                self.at = self._end_of_line()
            elif char.isspace() or char == "]":
                self.at += 1
            else:
                return True
        return False

    def _end_of_line(self) -> int:
        found = self.text.find("\n", self.at)
        return len(self.text) if found < 0 else found

    def _key(self, end: str) -> Path:
        parts: list[str] = []
        bare = ""
        while self.at < len(self.text) and self.text[self.at] != end:
            char = self.text[self.at]
            if char in "\"'":
                bare = self._string()
                continue
            if char == ".":
                parts.append(bare)
                bare = ""
            elif not char.isspace():
                bare += char
            self.at += 1
        self.at += 1
        return (*parts, bare)

    def _value(self) -> None:
        depth = 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "\"'":
                self._string()
                continue
            if char == "#":
                self.at = self._end_of_line()
                continue
            if char == "\n" and depth == 0:
                return
            depth += (char in _OPEN) - (char in _OPEN.values())
            self.at += 1

    def _string(self) -> str:
        """Past the string; its content as far as keys need it (escapes are undone by tomllib)."""
        quote = self.text[self.at]
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        start = self.at
        self.at += len(fence)
        inside = self.at
        while self.at < len(self.text) and not self.text.startswith(fence, self.at):
            self.at += 2 if self.text[self.at] == "\\" and quote == '"' else 1
        end = self.at
        self.at += len(fence)
        while len(fence) == 3 and self.text.startswith(quote, self.at):  # a string may end in quotes of its own
            self.at += 1
        return _unescape(self.text[start : self.at], self.text[inside:end])


def _unescape(written: str, content: str) -> str:
    if "\\" not in content or written.startswith("'"):
        return content
    import tomllib

    try:
        return str(tomllib.loads(f"a = {written}")["a"])
    except ValueError:
        return content

"""What lies over the screen for a moment: a question before something is done, and the keys."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from windlass.app.deeds import Action
from windlass.core.record import RunRecord
from windlass.screen.lines import Line, Lines, clean, cut

_KEYS = (
    ("up down j k", "another run; in the log another line"),
    ("Enter", "its log over the whole screen; Esc goes back"),
    ("Tab", "from the runs to the log and back"),
    ("PgUp PgDn", "a page, also b and Space; both ends: Home End, g G"),
    ("left right", "long lines of the log"),
    ("/", "search in the log; small letters find capitals too"),
    ("n N", "next and previous hit"),
    ("t", "the first traceback"),
    ("[ ]", "the log of the link before, of the next one"),
    ("G", "in the log: follow its end again"),
    ("c r f", "cancel, resume, fetch the run; asks first"),
    ("Ctrl-L", "draw the screen anew"),
    ("q Ctrl-C", "leave; runs go on"),
)
_WIDTH = 70


class Help(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss")]

    def compose(self) -> ComposeResult:
        yield Lines(_make_help(), classes="over")

    def on_click(self) -> None:
        self.dismiss()


class Question(ModalScreen[bool]):
    """Only y does it: neither Enter nor a click somewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)"),
        Binding("n,escape,q", "answer(False)"),
    ]

    def __init__(self, action: Action, record: RunRecord) -> None:
        super().__init__()
        self._lines = _make_question(action, record)

    def compose(self) -> ComposeResult:
        yield Lines(self._lines, classes="over")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


def _make_help() -> Sequence[Line]:
    title: Line = (("Keys of windlass top", "bold"),)
    end: Line = (("Sites are asked as rarely as they wish; each age says how old it is.", "dim"),)
    rows: list[Line] = [((f"{keys:<12}", "bold"), (cut(words, _WIDTH - 14), "")) for keys, words in _KEYS]
    return (title, (), *rows, (), end)


def _make_question(action: Action, record: RunRecord) -> Sequence[Line]:
    title: Line = ((f"{action.title} {clean(record.run_id)} at {clean(record.site)}?", "bold"),)
    words = _fold(f"This {action.means}", _WIDTH - 4)
    keys: Line = (("y", "bold reverse"), (f" yes, {action.verb} it     ", ""), ("n", "bold reverse"), (" no", ""))
    return (title, (), *(((line, ""),) for line in words), (), keys)


def _fold(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines

"""The screen over a store and a mirror that the test fills, driven by textual's own pilot: real keys, no terminal."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from textual.pilot import Pilot

from windlass.app.session import Session
from windlass.app.watching.watch import Watch
from windlass.core.record import RunRecord
from windlass.core.watching.looks import Look
from windlass.screen.top import Top

SITE = "alpha"
Play = Callable[["Scene"], Awaitable[None]]


@dataclass
class Scene:
    app: Top
    pilot: Pilot[None]

    def read(self) -> str:
        """What stands on the screen, as a person reads it."""
        height = self.app.size.height
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in strips[:height])

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def wait_for(self, *words: str, gone: str | None = None) -> str:
        deadline = time.monotonic() + 20
        while True:
            text = self.read()
            if all(word in text for word in words) and (gone is None or gone not in text):
                return text
            assert time.monotonic() < deadline, f"in vain: {words}, {gone}\n{text}"
            await self.pilot.pause(0.05)


@dataclass
class Stage:
    session: Session
    watch: Watch

    def add(self, *records: RunRecord) -> None:
        self.session.store.save_many(records)

    def set_look(self, look: Look, site: str = SITE) -> None:
        self.session.store.keep(f"look:{site}", look)

    def put(self, run_id: str, files: Mapping[str, bytes]) -> None:
        """Files of a run as if they had just been brought."""
        now = self.session.clock()
        with self.watch.mirror.change(run_id) as change:
            for path, content in files.items():
                about = {"path": path, "size": len(content), "mtime": now, "is_anew": True, "mark": 0}
                change.take({**about, "pieces": [[0, len(content)]], "end": len(content)}, content)
            change.note(asked=now)

    def play(self, play: Play, *, is_unicode: bool = True, size: tuple[int, int] = (80, 24)) -> None:
        def open_session() -> Session:
            return Session(folders=self.session.folders, environ=self.session.environ)

        async def perform() -> None:
            app = Top(self.watch, open_session, is_unicode=is_unicode)
            async with app.run_test(size=size) as pilot:
                await play(Scene(app, pilot))

        asyncio.run(perform())

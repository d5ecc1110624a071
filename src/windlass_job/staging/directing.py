"""The agent's part in staging: what is wanted, who does it, what the command is told, and what is told of it.

Whatever goes wrong here is told, and the command reads the data where it lies; but for data that it needs as plain
files: without them it is not started.
"""

import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from windlass_job import slurm, wire
from windlass_job.bounded import describe, say, within
from windlass_job.events import Recorder
from windlass_job.staging import choosing, crew, environment, places
from windlass_job.staging.choosing import SHARED, CannotExtract, Want, tell_size
from windlass_job.staging.laying import ENVIRONMENT, ENVIRONMENT_FOLDER
from windlass_job.staging.sources import NotThere, Source, look

LOOK_S = 30.0  # for a shared file system to say what lies there
PREPARED_S = 60.0  # for a keeper on every node
BRING_S = 600.0
HURRY_S = 15.0  # when the job was told to end: Slurm mostly kills after 30
RESERVE_S = 15.0  # of the job's time, for all that is done after it
GIVE_UP_S = 5.0
CLEAN_S = 60.0  # to remove what may be a million files
_PLACES = {choosing.MEMORY: "in memory", choosing.NODE: "on the node's disk"}


class Staging:
    """Of one link. `stage` may change the environment of the command."""

    def __init__(self, text: str, env: Dict[str, str], recorder: Recorder, started: Optional[float]) -> None:
        """text: the agent's option --data. started: when this link began, by the clock."""
        self._plan = plan = dict(json.loads(text))
        link_s = slurm.read_number(env, wire.ENV_LINK_S, 0)
        self._ends = started + link_s if started and link_s else None
        self._env = env
        self._recorder = recorder
        self._wants = [Want(one["name"], one["stage"], bool(one["extract"])) for one in plan.get("sets", ())]
        self._patterns: List[str] = list(plan.get("bring_back", ()))
        self._is_pretended = bool(env.get(wire.ENV_POCKET_JOB))
        self._hosts = crew.list_hosts(env)
        self._nodes = len(self._hosts)
        self._answers = crew.Answers(self._nodes)
        self._problems: Dict[str, str] = {}  # by name, why a set cannot be read on the nodes
        self._crew: Optional[crew.Crew] = None
        self._roots: Dict[str, str] = {}
        self._began = time.monotonic()
        self._next_bring: Optional[float] = None
        self._packed: Optional[environment.Packed] = None

    # ---- before the command -----------------------------------------------------------------------------------------

    def stage(self, keepers: crew.Crew, is_over: Callable[[], bool]) -> Optional[str]:
        """Why the command must not start; None where it may."""
        self._crew = keepers
        sources = self._look_at_sources()
        self._packed = self._look_at_environment()
        extracted = [want for want in self._wants if want.extract]
        try:
            missing = [want.name for want in extracted if want.name not in sources]
            if missing:
                raise CannotExtract("data.{} cannot be extracted: there is nothing to extract".format(missing[0]))
            self._stage(sources, is_over)
        except CannotExtract as problem:
            return str(problem)
        except Exception as error:  # a mistake of ours must not cost the training
            what = "the data" if self._wants or self._packed is None else "the environment"
            self._recorder.note("{} is read where it lies: {}".format(what, describe(error)))
            if extracted:
                return "data.{} cannot be extracted: {}".format(extracted[0].name, describe(error))
        return None

    def _look_at_sources(self) -> Dict[str, Source]:
        found = {}
        for want in self._wants:
            variable = wire.make_data_variable(want.name)
            try:
                source: Source = within(LOOK_S, look, self._env.get(variable, ""), want.stage != SHARED, want.extract)
            except NotThere as problem:
                self._recorder.note("data.{}: {}".format(want.name, problem))
                continue
            except OSError as error:
                self._recorder.note("data.{} cannot be looked at: {}".format(want.name, describe(error)))
                continue
            self._env[variable] = source.path
            found[want.name] = source
        return found

    def _look_at_environment(self) -> "Optional[environment.Packed]":
        wanted = environment.find_wanted(self._env)
        if wanted is None:
            return None
        try:
            found: environment.Packed = within(LOOK_S, environment.look_at_packed, wanted)
            return found
        except (NotThere, OSError) as problem:
            self._tell_shared(describe(problem))
            return None

    def _tell_shared(self, why: str) -> None:
        self._recorder.note("the environment is imported from the shared file system: {}".format(why))

    def _stage(self, sources: Dict[str, Source], is_over: Callable[[], bool]) -> None:
        wants = [want for want in self._wants if want.name in sources and want.stage != SHARED]
        if not wants and not self._patterns and self._packed is None:
            self.leave(0.0)
            return
        reports = self._gather(is_over)
        room = choosing.find_room(reports)
        limits = (float(self._plan["memory_bytes"]), float(self._plan["node_bytes"]))
        choices, room = choosing.choose_all(wants, sources, room, limits)
        chosen = []
        for want, choice in choices:
            if choice.note:
                self._recorder.note(choice.note)
            if choice.place != SHARED:
                chosen.append(self._describe_set(want, sources[want.name], choice.place))
        chosen += self._choose_for_environment(room)
        self._roots = self._choose_roots(chosen, room)
        if not self._roots:
            self.leave(0.0)
            return
        self._answers.watch()
        self._order(chosen, reports)
        self._wait_until_laid(chosen, is_over)

    def _choose_for_environment(self, room: choosing.Room) -> List[Dict[str, Any]]:
        try:
            packed = self._packed
            return [environment.describe_for_nodes(packed, environment.choose_place(packed, room))] if packed else []
        except NotThere as problem:
            self._tell_shared(str(problem))
            return []

    def _gather(self, is_over: Callable[[], bool]) -> List[Dict[str, Any]]:
        """What every node has; OSError where not all of them answer."""
        assert self._crew is not None
        if self._hear_from_all(self._crew, is_over):
            return self._answers.get("prepared")
        if self._crew.is_too_new:
            self._crew = crew.start(self._env, is_overlap_known=False)
            if self._hear_from_all(self._crew, is_over):
                return self._answers.get("prepared")
        words = "only {} of {} nodes answered".format(len(self._answers.get("prepared")), self._nodes)
        said = "; ".join(self._crew.words[-1:])
        self.leave(0.0)
        raise OSError("{}{}".format(words, ": " + said if said else ""))

    def _hear_from_all(self, keepers: crew.Crew, is_over: Callable[[], bool]) -> bool:
        keepers.hear = self._hear
        keepers.order(do="prepare", **self._make_plan())
        return self._answers.wait(
            lambda: self._answers.have_all("prepared"),
            lambda: is_over() or keepers.has_ended.is_set(),
            PREPARED_S,
        )

    def _make_plan(self) -> Dict[str, Any]:
        return {
            "nodes": self._nodes,
            "tag": self._tag,
            "run": self._env.get(wire.ENV_RUN_ID),
            "scratch": self._plan["scratch"],
            "is_pretended": self._is_pretended,
            "word": os.urandom(32).hex(),
            "block": slurm.read_number(self._env, wire.ENV_PORTS, 0),
            "interface": self._env.get("GLOO_SOCKET_IFNAME") or None,
        }

    @property
    def _tag(self) -> str:
        """Of this start of this job, on every node."""
        attempt = "{}-{}".format(self._env.get(wire.ENV_LINK, "1"), self._env.get(wire.ENV_ATTEMPT, "1"))
        return "{}.{}.{}".format(self._env.get(wire.ENV_RUN_ID, "run"), slurm.get_job(self._env), attempt)

    def _describe_set(self, want: Want, source: Source, place: str) -> Dict[str, Any]:
        return {
            "name": want.name,
            "kind": source.kind,
            "source": source.path,
            "place": place,
            "extract": want.extract and source.kind != "folder",
            "bytes": source.bytes,
            "card": source.card,
        }

    def _choose_roots(self, chosen: List[Dict[str, Any]], room: choosing.Room) -> Dict[str, str]:
        used = {one["place"] for one in chosen}
        roots = {}
        if choosing.MEMORY in used:
            roots[choosing.MEMORY] = places.MEMORY
        if (choosing.NODE in used or self._patterns) and room.node_root is not None:
            roots[choosing.NODE] = room.node_root
        return roots

    def _order(self, chosen: List[Dict[str, Any]], reports: List[Dict[str, Any]]) -> None:
        assert self._crew is not None
        suffix = self._env.get("WINDLASS_HOST_SUFFIX", "")
        peers = [[report.get("address") or host + suffix, report["port"]] for host, report in zip(self._hosts, reports)]
        is_worked = choosing.NODE in self._roots
        self._crew.order(
            do="stage",
            roots=self._roots,
            sets=chosen,
            peers=peers,
            work=os.getcwd() if is_worked else None,
            bring=self._patterns,
        )

    def _wait_until_laid(self, chosen: List[Dict[str, Any]], is_over: Callable[[], bool]) -> None:
        assert self._crew is not None
        keepers = self._crew
        is_laid = self._answers.wait(
            lambda: self._answers.have_all("laid"),
            lambda: is_over() or keepers.has_ended.is_set() or self._is_hopeless(),
            None,
        )
        if not is_laid:
            self._problems.update({one["name"]: "not every node could stage it" for one in chosen})
            self.leave(0.0)  # what some nodes have is of no use
        elif choosing.NODE in self._roots:
            work = os.path.join(places.make_path(self._roots[choosing.NODE], self._tag), b"work")
            self._env[wire.ENV_NODE_DIR] = os.fsdecode(work)
        self._tell_command(chosen, self._problems)
        self._tell_ready(chosen, self._problems)
        if is_laid:
            threading.Thread(target=self._wait_until_local, args=(keepers.has_ended,), daemon=True).start()

    def _is_hopeless(self) -> bool:
        return bool(self._answers.get("failed")) or self._answers.is_one_lost("laid")

    def _tell_command(self, chosen: List[Dict[str, Any]], problems: Dict[str, str]) -> None:
        for one in chosen:
            folder = places.make_path(self._roots[one["place"]], self._tag)
            if one["kind"] == ENVIRONMENT:
                self._enter(one, os.path.join(folder, ENVIRONMENT_FOLDER), problems.get(one["name"]))
                continue
            if one["name"] in problems:
                if one["extract"]:
                    raise CannotExtract("data.{}: {}".format(one["name"], problems[one["name"]]))
                self._recorder.note("data.{} is read where it lies: {}".format(one["name"], problems[one["name"]]))
                continue
            path = os.path.join(folder, b"data", os.fsencode(one["name"]))
            self._env[wire.make_data_variable(one["name"])] = os.fsdecode(path)

    def _enter(self, one: Dict[str, Any], folder: bytes, problem: Optional[str]) -> None:
        if problem is not None or self._packed is None:
            self._tell_shared(problem or "")
            return
        environment.enter(self._env, self._packed, os.fsdecode(folder))
        seconds = round(time.monotonic() - self._began, 3)
        files = max(answer.get("environment_files") or 0 for answer in self._answers.get("laid"))
        told = {"place": one["place"], "path": os.fsdecode(folder), "files": files, "nodes": self._nodes}
        self._recorder.event(wire.ENV_READY, seconds=seconds, **told)
        words = "the environment is {} after {:.1f} s: {} files of {}"
        say(words.format(_PLACES[one["place"]], seconds, files, tell_size(self._packed.card["unpacked"])))

    # ---- while it runs ----------------------------------------------------------------------------------------------

    def begin_bringing(self) -> None:
        """When the command starts: from time to time, where the run file asks for it."""
        every = self._plan.get("bring_every_s")
        self._next_bring = time.monotonic() + every if every and self._patterns else None

    def look_at_clock(self) -> None:
        if self._next_bring is not None and time.monotonic() >= self._next_bring:
            self.begin_bringing()
            self.bring()

    def bring(self) -> None:
        """What is there now, in the background."""
        if self._crew is not None and self._patterns:
            self._crew.order(do="bring", limit_s=BRING_S)

    def end(self, *, is_hurried: bool) -> None:
        """The command has ended: the last results, and nothing of ours stays on the nodes."""
        if self._crew is None:
            return
        self._answers.forget("brought")
        limit_s = self._count_time_left(HURRY_S if is_hurried else BRING_S)
        self.leave(limit_s, GIVE_UP_S if is_hurried else CLEAN_S, is_brought=True)
        brought = self._answers.get("brought")
        if self._patterns:
            files, size = sum(one["files"] for one in brought), sum(one["bytes"] for one in brought)
            failed = sum(one["failed"] for one in brought) + (self._nodes - len(brought))
            self._recorder.event(wire.RESULTS_BROUGHT, files=files, bytes=size, failed=failed, nodes=len(brought))
            say(
                "brought {} files ({}) back from the nodes{}".format(
                    files, tell_size(size), "; {} could not be brought".format(failed) if failed else ""
                )
            )

    def _count_time_left(self, most_s: float) -> float:
        if not self._patterns:
            return 0.0
        left = most_s if self._ends is None else self._ends - time.time() - RESERVE_S
        return max(GIVE_UP_S, min(most_s, left))

    def leave(self, limit_s: float, clean_s: float = GIVE_UP_S, *, is_brought: bool = False) -> None:
        """The keepers bring results for so long, clean up and go."""
        keepers, self._crew = self._crew, None
        if keepers is None:
            return
        keepers.order(do="end", limit_s=limit_s, is_brought=is_brought)
        keepers.close()
        self._answers.watch()
        self._answers.wait(
            lambda: self._answers.have_all("gone"),
            lambda: keepers.has_ended.is_set() or self._answers.is_one_lost("gone"),
            limit_s + clean_s,
        )
        keepers.has_ended.wait(GIVE_UP_S)
        keepers.kill()
        self._remove_own()

    def _remove_own(self) -> None:
        """Of this node, where its keeper was killed; of others the next job of ours removes it."""
        for root in self._roots.values():
            folder = places.make_path(root, self._tag)
            if os.path.exists(folder):
                places.remove_folder(folder)

    # ---- what is told -----------------------------------------------------------------------------------------------

    def _hear(self, answer: Dict[str, Any]) -> None:
        if answer.get("at") == "note":
            self._recorder.note(str(answer.get("text")))
        elif answer.get("at") == "problem":
            self._problems[str(answer.get("name"))] = str(answer.get("text"))
        self._answers.add(answer)

    def _tell_ready(self, chosen: List[Dict[str, Any]], problems: Dict[str, str]) -> None:
        staged = [one for one in chosen if one["name"] not in problems and one["kind"] != ENVIRONMENT]
        seconds = round(time.monotonic() - self._began, 3)
        self._recorder.event(
            wire.DATA_READY, seconds=seconds, sets={one["name"]: one["place"] for one in staged}, nodes=self._nodes
        )
        if staged:
            sets = ", ".join("{} ({})".format(one["name"], _tell_place(one)) for one in staged)
            say("data that the nodes read for themselves after {:.1f} s: {}".format(seconds, sets))

    def _wait_until_local(self, has_ended: threading.Event) -> None:
        is_local = self._answers.wait(lambda: self._answers.have_all("local"), has_ended.is_set, None)
        found = self._answers.get("local")
        if not is_local:
            if not self._answers.get("gone"):
                self._recorder.note("the copying of data has ended early: the rest is read where it lies")
            return
        totals = {key: sum(one[key] for one in found) for key in ("read", "received", "adopted", "failed")}
        seconds = round(max(one["seconds"] for one in found), 3)
        self._recorder.event(wire.DATA_LOCAL, seconds=seconds, nodes=self._nodes, **totals)
        say(tell_local(totals, seconds, self._nodes, "the data" if self._wants else "the environment"))


def tell_local(totals: Mapping[str, int], seconds: float, nodes: int, what: str = "the data") -> str:
    parts = ["{} were read from the shared file system".format(tell_size(totals["read"]))]
    if nodes > 1:
        parts.append("{} passed between the {} nodes".format(tell_size(totals["received"]), nodes))
    if totals["adopted"]:
        parts.append("{} were still there from an earlier start".format(tell_size(totals["adopted"])))
    where = "on every node" if nodes > 1 else "on the node"
    but = ", as far as it can be," if totals["failed"] else ""
    return "{} is {}{} after {:.1f} s: {}".format(what, where, but, seconds, ", ".join(parts))


def _tell_place(one: Mapping[str, Any]) -> str:
    size = "" if one["bytes"] is None else tell_size(one["bytes"]) + " "
    return size + _PLACES[one["place"]] + (", extracted" if one["extract"] else "")

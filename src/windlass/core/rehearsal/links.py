"""Judging the links of a rehearsed chain: did each stop, save, and go on from the one before?"""

from collections.abc import Iterator

from windlass.core.finding import Finding, Severity
from windlass.core.rehearsal import words
from windlass.core.rehearsal.evidence import Evidence, LinkSeen
from windlass.core.units import format_human_duration, format_seconds
from windlass_job import wire

_HALF = 0.5
_HANDLE_TERM = (
    "handle the signal: save, then exit; or `from windlass_job import run` and ask run.should_stop() after each step"
)
_READ_BACK = "at its start load the newest checkpoint, and go on from its step"


def link_breaks_down(evidence: Evidence) -> Iterator[Finding]:
    """A link ended by itself with an error, or broke down on the way, and would have done so at the site.

    The most likely causes are listed with it, as `windlass explain` tells them. `windlass rehearse --keep` leaves the
    log and all files.
    """
    yield from _tell_hidden_breakdowns(evidence)
    broken = _find_broken(evidence)
    if broken is None or _fails_for_want_of_a_gpu(evidence, broken):
        return
    how = f"ended with exit code {broken.exit_code}" if broken.exit_code is not None else "ended before its time"
    last = next((line.strip() for line in reversed(broken.text.splitlines()) if line.strip()), "it printed nothing")
    likely = evidence.diagnoses[0] if evidence.diagnoses else None
    yield Finding(
        code="R102",
        severity=Severity.ERROR,
        message=f"link {broken.number} {how}: {f'{likely.message} ({likely.code})' if likely else last[:160]}",
        # There is no run to go on with: what is said of one does not help here.
        hint=likely.hint if likely and likely.hint and "windlass " not in likely.hint else None,
        fact=last[:160],
    )


def does_not_stop_when_asked(evidence: Evidence) -> Iterator[Finding]:
    """A link got the signal that its time is nearly up and went on until it was killed.

    What it did since its last checkpoint is lost, in every link of the chain. A training should catch the signal
    (SIGTERM, or what [checkpoint] signal says), save and exit.
    """
    deaf = [one for one in evidence.links if one.was_killed and not one.is_too_short]
    if not deaf:
        return
    one = deaf[0]
    lost = one.saved.files == 0
    was_to_save = evidence.is_chain or evidence.plan.checkpoint_folder is not None
    heard = "did not stop when it was asked to, and was killed" if one.asked is not None else "was killed at its end"
    signal = evidence.plan.stop_signal
    whole = format_human_duration(evidence.plan.link_time)
    all_lost = "it had saved nothing" + ("" if evidence.is_chain else f": all is lost unless it is done within {whole}")
    saved = all_lost if lost else f"its last save was {_ago(one.ended - (one.saved.last or 0))} before"
    yield Finding(
        code="R105",
        severity=Severity.ERROR if was_to_save and lost else Severity.WARNING,
        message=f"link {one.number} {heard}; {saved}",
        hint=_HANDLE_TERM,
        fact=f"{signal} was sent {_ago(one.ended - one.asked)} before the end" if one.asked else "the end of its time",
    )


def saves_nothing(evidence: Evidence) -> Iterator[Finding]:
    """A link ended without leaving a file from which the next one could go on: all its work would be lost.

    Only files in the folder of [checkpoint] count where one is named, else all that it wrote.
    """
    if not evidence.is_chain and evidence.plan.checkpoint_folder is None:
        return
    empty = [one for one in evidence.links if _was_to_save(one) and one.saved.files == 0 and not one.is_too_short]
    if not empty:
        return
    one, folder = empty[0], evidence.plan.checkpoint_folder
    where = f" in {folder}" if folder else ""
    also = f", though {one.elsewhere.names[0]} was written" if one.elsewhere.names else ""
    yield Finding(
        code="R106",
        severity=Severity.ERROR if evidence.is_chain else Severity.WARNING,
        message=f"link {one.number} saved nothing{where} in {_ago(one.ended - one.started)}{also}",
        hint='[checkpoint] folder = "…" must be where it saves'
        if also
        else "where the first save only takes longer than this: windlass rehearse --link-time 2m",
        fact="the files it left",
    )


def begins_again_from_zero(evidence: Evidence) -> Iterator[Finding]:
    """A link did not go on from what the link before had saved: the chain would never come to an end.

    Seen from the files (nothing that was saved was read), and from what the training counts in its log.
    """
    for before, one in zip(evidence.links, evidence.links[1:], strict=False):
        never_began = one.outcome is None and one.command_s is None
        if before.saved.files == 0 or one.is_too_short or never_began:
            continue
        again = _began_again(evidence, one)
        if one.went_on_from is False and again is not False:
            severity, why = Severity.ERROR, "read nothing of what was saved before"
        elif again and one.went_on_from is not True:
            severity, why = Severity.ERROR, "counts from the beginning again"
        elif again:
            severity, why = Severity.WARNING, "read a checkpoint, and yet counts from the beginning again"
        else:
            continue
        yield Finding(
            code="R107",
            severity=severity,
            message=f"link {one.number} began from zero: it {why}",
            hint=_READ_BACK,
            fact=_tell_counts(before, one),
        )
        return


def saving_takes_too_long(evidence: Evidence) -> Iterator[Finding]:
    """The time from the signal to the end of the training, against the notice it has at the site.

    The files of a rehearsal lie on the disk of this laptop; a busy shared file system is slower. A notice of several
    times what was measured here is on the safe side.
    """
    took = [one.ended - one.asked for one in evidence.links if one.asked is not None and not one.was_killed]
    if not took:
        return
    notice = evidence.plan.notice.total_seconds()
    is_tight = max(took) > _HALF * notice
    yield Finding(
        code="R108",
        severity=Severity.WARNING if is_tight else Severity.ADVICE,
        message=f"from the signal to its end it took {_ago(max(took))}; the notice is {_ago(notice)}",
        hint=f'[checkpoint] notice = "{max(60, round(4 * max(took)))}s"' if is_tight else None,
        fact=f"{len(took)} link{'s' if len(took) > 1 else ''} on this laptop",
    )


def not_seen_to_the_end(evidence: Evidence) -> Iterator[Finding]:
    """Something was not rehearsed: the training was over too soon, or the time for the rehearsal was."""
    if evidence.is_unfinished:
        yield Finding(
            code="R114",
            severity=Severity.WARNING,
            message=f"the time for the rehearsal was over in link {len(evidence.links) + 1}",
            hint="windlass rehearse --minutes 30",
        )
    yield from _tell_short_links(evidence)
    if evidence.is_unfinished or not evidence.is_chain or len(evidence.links) != 1:
        return
    if evidence.links[0].was_killed and evidence.links[0].is_last and evidence.most_links > 1:
        yield Finding(
            code="R114",
            severity=Severity.ADVICE,
            message="link 2 was not rehearsed: link 1 left nothing to go on from",
        )
    elif evidence.links[0].outcome == wire.DONE:
        yield Finding(
            code="R114",
            severity=Severity.ADVICE,
            message=f"the training was over after {_ago(evidence.links[0].ended - evidence.links[0].started)}: "
            "neither stop nor resume was rehearsed",
            hint="windlass rehearse --link-time 5s",
        )


def find_incomplete(evidence: Evidence) -> str | None:
    """Why the training could not be watched to its end, or at all; None when it was."""
    alone = evidence.links[0] if evidence.links and not evidence.is_chain else None
    if alone is not None and alone.was_killed and alone.saved.files == 0:
        return "it was killed before it was done, and had saved nothing"
    return find_want_of_a_gpu(evidence)


def find_want_of_a_gpu(evidence: Evidence) -> str | None:
    """What it said when it broke down for want of one."""
    broken = _find_broken(evidence)
    if broken is not None and _fails_for_want_of_a_gpu(evidence, broken):
        return words.find_gpu_complaint(broken.text)
    return None


def _tell_hidden_breakdowns(evidence: Evidence) -> Iterator[Finding]:
    """Those that the end of a link does not show: it was started again, or broke down while it stopped."""
    for one in evidence.links:
        raised = words.find_exception(one.text)
        broke_stopping = one.outcome == wire.CUT and bool(one.exit_code) and not one.was_killed
        if not one.restarts and not (broke_stopping and raised):
            continue
        times = "once" if one.restarts == 1 else f"{one.restarts} times"
        how = f"broke down and was started again {times}" if one.restarts else "broke down when it was asked to stop"
        yield Finding(
            code="R102",
            severity=Severity.WARNING,
            message=f"link {one.number} {how}" + (f": {raised}" if raised else ""),
            fact=f"exit code {one.exit_code}" if broke_stopping else "what Windlass noted of this link",
        )


def _tell_short_links(evidence: Evidence) -> Iterator[Finding]:
    for one in evidence.links:
        if one.is_too_short and not one.is_broken:
            yield Finding(
                code="R114",
                severity=Severity.WARNING,
                message=f"the command of link {one.number} had {_ago(one.command_s or 0)}: too little to judge it by",
                hint="windlass rehearse --link-time 1m",
            )


def _was_to_save(link: LinkSeen) -> bool:
    """Asked to stop, or stopped by itself because the end was near."""
    return link.asked is not None or link.outcome == wire.CUT


def _find_broken(evidence: Evidence) -> LinkSeen | None:
    return next((one for one in evidence.links if one.is_broken), None)


def _fails_for_want_of_a_gpu(evidence: Evidence, link: LinkSeen) -> bool:
    lacks = evidence.gpus_here < evidence.plan.gpus_per_node
    return lacks and words.find_gpu_complaint(link.text) is not None


def _began_again(evidence: Evidence, link: LinkSeen) -> bool | None:
    seen = [one for one in evidence.links if one.number <= link.number]
    before = seen[-2].last_done
    if link.first_done is not None and before is not None:
        return link.first_done < before and link.first_done <= (seen[0].first_done or 0)
    return words.began_again([one.text for one in seen])


def _tell_counts(before: LinkSeen, link: LinkSeen) -> str:
    first, now = words.count(before.text), words.count(link.text)
    for word in now:
        if word in first:
            return f"link {before.number} came to {word} {first[word][1]}, link {link.number} began at {now[word][0]}"
    return "when the files were last read"


def _ago(seconds: float) -> str:
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    return format_seconds(seconds)

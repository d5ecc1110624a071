"""Who cannot talk: the nodes' reports of the network test, judged together. Pure."""

from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

FEW = 16  # up to so many nodes everybody calls everybody
SLOW = 0.1  # of the median: slower than this is worth a word
CLOCK_S = 10.0  # clocks that differ by more make trouble elsewhere

Pair = Tuple[str, str]  # who called, and whom
Reports = Dict[str, Dict[str, Any]]


class Verdict(NamedTuple):
    """What the test says. `is_well` without `sick` and with a sentence; a whole network that fails has no `sick`."""

    is_well: bool
    sentence: str
    sick: Tuple[str, ...] = ()  # to be left out, in the job's order
    warnings: Tuple[str, ...] = ()
    figures: Optional[Dict[str, Any]] = None


def list_peers(index: int, count: int) -> List[int]:
    """Whom a node calls: everybody or, of many, those 1, 2, 4, 8 ... further on; and always the first node."""
    if count <= FEW:
        called = set(range(count))
    else:
        called = {(index + (1 << power)) % count for power in range(count.bit_length() - 1)} | {0}
    return sorted(called - {index})


def judge(hosts: Sequence[str], reports: Reports, silent: Dict[str, str]) -> Verdict:
    """`silent`: nodes without a report, and what is known of why."""
    failed = _find_failed(reports)
    if silent or failed:
        return _judge_failure(hosts, failed, silent, sum(len(report["reached"]) for report in reports.values()))
    wrong = [host for host in hosts if reports[host].get("sum") == "wrong"]
    if wrong:
        words = "the sum of an all-reduce came out wrong on {}".format(join(wrong))
        return Verdict(False, words, sick=tuple(wrong) if len(wrong) == 1 else ())
    return Verdict(True, _tell_well(hosts, reports), warnings=_find_warnings(hosts, reports), figures=_measure(reports))


def _find_failed(reports: Reports) -> Dict[Pair, Dict[str, Any]]:
    return {(host, peer): error for host, report in reports.items() for peer, error in report["failed"].items()}


def _find_sick(hosts: Sequence[str], failed: Set[Pair]) -> Set[str]:
    """The fewest, about, without whom all others can talk: always the next one that has most trouble."""
    sick: Set[str] = set()
    left = set(failed)
    while left:
        trouble = Counter(host for pair in left for host in pair)
        # Of two who cannot talk to each other and well to all others, the later one goes.
        worst = max(trouble, key=lambda host: (trouble[host], hosts.index(host)))
        sick.add(worst)
        left = {pair for pair in left if worst not in pair}
    return sick


def _judge_failure(
    hosts: Sequence[str], failed: Dict[Pair, Dict[str, Any]], silent: Dict[str, str], answered: int
) -> Verdict:
    errors = list(failed.values())
    if len(hosts) == 2 and not silent and not _is_about_names(errors):
        # Nobody can tell which of two it is.
        words = "{} cannot talk to each other: {}".format(join(hosts), _tell_errors(errors))
        return Verdict(False, words, sick=tuple(hosts))
    sick = set(silent) | _find_sick(hosts, {pair for pair in failed if not set(pair) & set(silent)})
    if not silent and (not answered or len(sick) > len(hosts) / 2.0):
        words = "the nodes cannot talk to each other: {} of {} calls failed: {}"
        return Verdict(False, words.format(len(failed), len(failed) + answered, _tell_errors(errors)))
    named = [host for host in hosts if host in sick]
    sentences = [_tell_node(host, hosts, failed, silent) for host in named]
    return Verdict(False, "; ".join(sentences), sick=tuple(named))


def _tell_node(host: str, hosts: Sequence[str], failed: Dict[Pair, Dict[str, Any]], silent: Dict[str, str]) -> str:
    if host in silent:
        return "{} did not take part: {}".format(host, silent[host])
    index = list(hosts).index(host)
    callers = [other for at, other in enumerate(hosts) if at != index and index in list_peers(at, len(hosts))]
    in_vain = [other for other in callers if (other, host) in failed and other not in silent]
    if in_vain:
        errors = [failed[other, host] for other in in_vain]
        if _is_about_names(errors):
            known = "the name {} is not known to {}: {}"
            return known.format(errors[0].get("host") or host, _count(in_vain, callers), _tell_errors(errors))
        words = "{} cannot be reached by {}: {}"
        return words.format(host, _count(in_vain, callers), _tell_errors(errors))
    unreached = [other for other in hosts if (host, other) in failed]
    called = [hosts[at] for at in list_peers(index, len(hosts))]
    errors = [failed[host, other] for other in unreached]
    return "{} cannot reach {}: {}".format(host, _count(unreached, called), _tell_errors(errors))


def _count(some: Sequence[str], all_of_them: Sequence[str]) -> str:
    if len(some) == len(all_of_them):
        return "the other node" if len(some) == 1 else "the {} others".format(len(some))
    return join(some) if len(some) <= 3 else "{} of {} others".format(len(some), len(all_of_them))


def _tell_errors(errors: List[Dict[str, Any]]) -> str:
    """The most frequent one, in its own words, with the first address it was seen at."""
    (words, _), *_ = Counter(str(error.get("error")) for error in errors).most_common(1)
    first = next(error for error in errors if str(error.get("error")) == words)
    return "{} ({})".format(words, first["at"]) if first.get("at") else words


def _is_about_names(errors: Any) -> bool:
    found = list(errors)
    return bool(found) and all(error.get("kind") == "name" for error in found)


def _measure(reports: Reports) -> Dict[str, Any]:
    links = _find_rates(reports)
    answers = [call["ms"] for report in reports.values() for call in report["reached"].values()]
    sums = [report["sum_s"] for report in reports.values() if report.get("sum_s") is not None]
    return {
        "nodes": len(reports),
        "slowest_mb_s": min(links.values()) if links else None,
        "median_mb_s": _median(links.values()) if links else None,
        "longest_answer_ms": max(answers) if answers else None,
        "sum_s": max(sums) if sums else None,
        "sum_mb": max((report.get("sum_mb") or 0 for report in reports.values()), default=0),
    }


def _find_rates(reports: Reports) -> Dict[Pair, float]:
    """MB/s from each node to the next one of the ring."""
    return {
        (host, peer): call["mb_s"]
        for host, report in reports.items()
        for peer, call in report["reached"].items()
        if call.get("mb_s")
    }


def _tell_well(hosts: Sequence[str], reports: Reports) -> str:
    figures = _measure(reports)
    links = _find_rates(reports)
    parts = ["{} nodes talk to each other".format(len(hosts))]
    if figures["sum_s"] is not None:
        parts.append("all-reduce of {:g} MB in {:.3f} s".format(figures["sum_mb"], figures["sum_s"]))
    if links:
        slowest = min(links, key=lambda pair: links[pair])
        parts.append("slowest from {} to {} with {:.0f} MB/s".format(slowest[0], slowest[1], links[slowest]))
    if figures["longest_answer_ms"] is not None:
        parts.append("longest answer {:.1f} ms".format(figures["longest_answer_ms"]))
    return ", ".join(parts)


def _find_warnings(hosts: Sequence[str], reports: Reports) -> Tuple[str, ...]:
    warnings = _find_slow(hosts, _find_rates(reports))
    for host in hosts:
        report = reports[host]
        if report.get("sum") not in ("right", None):
            warnings.append("the all-reduce did not come to its end on {}: {}".format(host, report["sum"]))
        warnings.extend("{}: {}".format(host, words) for words in report.get("problems") or [])
        ahead = report.get("clock_s")
        if ahead is not None and abs(ahead) > CLOCK_S:
            way = "ahead of" if ahead > 0 else "behind"
            warnings.append("the clock of {} is {:.0f} s {} that of {}".format(host, abs(ahead), way, hosts[0]))
    return tuple(warnings)


def _find_slow(hosts: Sequence[str], links: Dict[Pair, float]) -> List[str]:
    median = _median(links.values()) if links else 0.0
    slow = {pair: rate for pair, rate in links.items() if rate < SLOW * median}
    both_ways = [host for host in hosts if sum(host in pair for pair in slow) > 1]
    words = "{} is slow: {:.1f} MB/s, where the median is {:.0f} MB/s"
    told = [words.format(host, min(slow[pair] for pair in slow if host in pair), median) for host in both_ways]
    for (source, target), rate in sorted(slow.items()):
        if source not in both_ways and target not in both_ways:
            told.append(words.format("the way from {} to {}".format(source, target), rate, median))
    return told


def _median(values: Any) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def join(words: Sequence[str], most: int = 8) -> str:
    """a, b and c; of very many the first few."""
    if len(words) > most:
        return "{} and {} more".format(", ".join(words[:most]), len(words) - most)
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else None]))


def find_launch_failure(text: str) -> Optional[Tuple[str, str]]:
    """srun's word about a node on which no task could be started, and why."""
    import re

    found = re.search(r"failed on node ([\w.-]+): *(.+)", text) or re.search(r"Node failure on ([\w.-]+)()", text)
    return (found.group(1), found.group(2) or "Slurm says that the node failed") if found else None

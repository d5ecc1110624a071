"""The page of a log: one rank among many, and what a search has seen."""

import re
from pathlib import Path

from tests.web.house import House, make_run
from windlass.core.record import RunState


def test_one_rank_is_read_whole_though_others_say_the_same(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    lines = "".join(f"[rank{rank}]: step {step} done\n" for step in range(400) for rank in range(4))
    guest.put("one", {"logs/45_1.out": lines.encode()})

    text = guest.get("/runs/one/log?rank=2").text

    assert "[rank2]: step 399 done" in text
    assert "[rank1]: step" not in text
    assert "rank=2&amp;before=" in text
    assert "[rank0]: step 399 done" in guest.get("/runs/one/log").text  # folded: the four as one


def test_a_rank_that_died_long_ago_is_found_among_many(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    lines = [f"[rank{rank}]: loss at {step}" for step in range(1000) for rank in range(64) if rank != 7 or step < 500]
    guest.put("one", {"logs/45_1.out": ("\n".join(lines) + "\n").encode()})

    end = guest.get("/runs/one/log?rank=7").text
    [before] = re.findall(r"rank=7&amp;before=(\d+)", end)
    earlier = guest.get(f"/runs/one/log?rank=7&before={before}").text
    later = guest.get("/runs/one/log?rank=7&at=0").text
    found = guest.get("/runs/one/log?rank=7&q=loss").text

    assert "[rank7]: loss at 499" in end
    assert end.count("[rank7]: loss at") == 300
    assert earlier.count("[rank7]: loss at") == 200
    assert "[rank7]: loss at 199" in earlier
    assert (later.count("[rank7]: loss at"), "rank=7&amp;at=" in later) == (300, True)
    assert "500 lines of rank 7 with" in found
    assert "No line of rank 64 in the" in guest.get("/runs/one/log?rank=64").text


def test_a_search_says_how_much_of_the_log_it_saw(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    begin = b"step 1\n" * 1000
    about = {"path": "logs/45_1.out", "size": 90_000_000, "mtime": 1.0, "is_anew": True, "mark": 0}
    with guest.mirror.change("one") as change:
        change.take({**about, "pieces": [[0, len(begin)]], "end": len(begin)}, begin)
        change.note(asked=1.0)

    for query in ("q=step", "q=Traceback"):
        text = guest.get(f"/runs/one/log?{query}").text
        assert "Of its 90.0 MB only 7.0 kB are here and were searched" in text
        assert "windlass logs one &gt; run.log" in text
        assert "Search all of it at" in text
        assert "Bring 4 MB of it" in text
    guest.put("one", {"logs/45_1.out": begin})
    assert "were searched" not in guest.get("/runs/one/log?q=step").text


def test_a_place_in_the_log_that_is_no_number_is_its_beginning(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    guest.put("one", {"logs/45_1.out": b"step 1\n"})
    form_key = guest.find_form_key("/runs/one")

    for begin in ("9" * 5000, "²", "-1", ""):
        answer = guest.post("/runs/one/log/bring", {"form_key": form_key, "begin": begin})
        assert "ValueError" not in answer.text, begin


def test_a_stream_is_read_by_itself(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    steps = [f"[rank{step % 2}]: step {step}\n".encode() for step in range(1000)]
    complaint, log, told = b"[rank1]: RuntimeError: it broke\n", b"", ""
    for number, step in enumerate(steps):
        log += step + (complaint if number % 100 == 50 else b"")
        told += f" o{len(step)}" + (f" e{len(complaint)}" if number % 100 == 50 else "")
    guest.put("one", {"logs/45_1.out": log, "streams/45_1.out": f"@0{told}\n".encode()})

    whole = guest.get("/runs/one/log").text
    err = guest.get("/runs/one/log?stream=stderr&fold=0").text
    out = guest.get("/runs/one/log?stream=stdout").text
    [before] = re.findall(r"stream=stdout&amp;before=(\d+)", out)
    ranked = guest.get("/runs/one/log?stream=stderr&rank=0").text
    found = guest.get("/runs/one/log?stream=stdout&q=step").text

    assert '<select name="stream">' in whole
    assert (err.count("it broke"), "step" in err.split("<ol")[1]) == (10, False)
    assert ("it broke" in out.split("<ol")[1], "step 999" in out) == (False, True)
    assert "step 699" in guest.get(f"/runs/one/log?stream=stdout&before={before}").text
    assert "No line of rank 0 written to stderr in the" in ranked
    assert "1,000 lines written to stdout with “step”" in found
    assert "is not in this log, in lines written to stdout" in guest.get("/runs/one/log?stream=stdout&q=broke").text


def test_a_stream_that_nobody_saw_hides_nothing(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    guest.put("one", {"logs/45_1.out": b"step 1\n"})

    assert '<select name="stream">' not in guest.get("/runs/one/log").text
    text = guest.get("/runs/one/log?stream=stderr").text

    assert "Nobody saw which lines" in text
    assert "step 1" in text
    assert "step 1" in guest.get("/runs/one/log?stream=both%22").text, "no such stream"


def test_a_long_log_is_searched_where_it_lies(guest: House, tmp_path: Path) -> None:
    lines = [b"step %d\n" % step for step in range(900_000)]  # more than comes by itself
    lines[200_000] = b"[rank2]: CUDA error: <unspecified>\n"
    log = b"".join(lines)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "45_1.out").write_bytes(log)
    guest.add(make_run("one", state=RunState.DONE, site="here", folder=str(tmp_path)))
    about = {"path": "logs/45_1.out", "size": len(log), "mtime": 1.0, "is_anew": True, "mark": 0}
    with guest.mirror.change("one") as change:
        change.take({**about, "pieces": [[0, 700]], "end": 700}, log[:700])
        change.note(asked=1.0)
    form_key = guest.find_form_key("/runs/one/log?q=cuda")

    def search(query: str, **more: str) -> str:
        return guest.post("/runs/one/log/search", {"form_key": form_key, "q": query, **more}).headers["location"]

    found = guest.get(search("cuda")).text
    assert "This machine searched all of its" in found
    assert "1 line with “cuda” came here" in found
    assert "Search all of it" not in found, "it was"
    assert "CUDA error: &lt;unspecified&gt;" in found
    assert "step 199999" in found, "what stands before it came too"
    assert "“nowhere” is not there" in guest.get(search("nowhere")).text
    assert "rank=2&stream=stderr&q=cuda&there=1&since=0&looked=" in search("cuda", rank="2", stream="stderr")
    step = guest.get(search("step 1999")).text
    assert step.count("step 199990<") == 1, "hits that stand near each other are shown together"
    many = guest.get(search("step")).text
    assert "200 lines with “step” came here" in many
    assert "Search on" in many
    [more] = re.findall(r'name="begin" value="(\d+)">\s*<button>Search on', many)
    assert f"since={more}&looked=" in search("step", begin=more)
    assert "there=" not in search("")
    assert guest.post("/runs/one/log/search", {"q": "cuda"}).status == 403, "without the key of a form"
    (tmp_path / "logs" / "45_1.out").unlink()
    gone = guest.post("/runs/one/log/search", {"form_key": form_key, "q": "cuda"})
    assert "cannot be searched" in gone.text


def test_what_is_missing_of_a_log_is_told_and_halves_of_lines_are_not_shown(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    log = b"".join(b"step %d of many\n" % step for step in range(9000))
    about = {"path": "logs/45_1.out", "size": len(log), "mtime": 1.0, "is_anew": True, "mark": 0}
    with guest.mirror.change("one") as change:
        pieces = [(0, 1000), (50_000, 1000), (len(log) - 1000, 1000)]
        change.take(
            {**about, "pieces": [list(one) for one in pieces], "end": len(log)},
            b"".join(log[begin : begin + count] for begin, count in pieces),
        )
        change.note(asked=1.0)

    first = guest.get("/runs/one/log?at=0").text
    [later] = re.findall(r"log\?file=45_1.out&amp;at=(\d+)\">later", first)
    second = guest.get(f"/runs/one/log?at={later}").text
    stderr = guest.get("/runs/one/log?at=0&stream=stderr").text

    assert "The next 49.0 kB are not here" in first
    assert "The next 49.0 kB are not here" in stderr
    assert 'name="stream" value="stderr"' in stderr
    for text in (first, second, guest.get("/runs/one/log").text):
        shown = re.findall(r'<span class="text">(.*?)</span>', text)
        assert shown
        assert all(re.fullmatch(r"step \d+ of many.*", line) for line in shown), shown[:2] + shown[-2:]


def test_the_log_of_an_ended_run_comes_by_itself(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))

    text = guest.get("/runs/one/log").text

    assert "Not read yet: it is being brought from" in text
    assert "shown at" in text, "the page waits for news"
    guest.put("one", {"logs/45_1.out": b"step 1\n"})
    assert "shown at" not in guest.get("/runs/one/log").text

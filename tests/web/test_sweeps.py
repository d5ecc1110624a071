"""The pages of sweeps: readable without JavaScript, with pictures made by the server, and safe whatever is in them."""

import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

from tests.web.browser.sample import HOSTILE, NASTY, SWEEP, fill_sweeps, make_sweep
from tests.web.house import House, make_run
from windlass.app.watching.asking import load_asked
from windlass.core.sweep.trials import TrialState
from windlass.edges.site_files import add_site
from windlass.edges.sweep_files import save_seen


def test_a_sweep_shows_its_best_its_failures_and_its_trials_linked(guest: House) -> None:
    fill_sweeps(guest)

    listed, text = guest.get("/sweeps").text, guest.get(f"/sweeps/{SWEEP}").text

    assert f'href="/sweeps/{SWEEP}"' in listed
    assert "CUDA out of memory" in text
    assert 'href="#trial-0"' in text
    assert 'id="trial-0"' in text
    assert "python train.py --lr 0.00" in text
    assert "PED-ANOVA" in text
    assert "log:1e-05..0.1" in text


def test_the_page_of_a_sweeps_run_leads_to_its_trials(guest: House) -> None:
    guest.add(make_run(SWEEP, farm=SWEEP), make_run("second", farm=SWEEP), make_run("other", farm="other"))
    link = f'<a href="/sweeps/{SWEEP}">Trials</a>'
    assert link not in guest.get(f"/runs/{SWEEP}").text, "nobody has looked at it from here"

    save_seen(guest.session.folders, make_sweep(1.0))

    assert link in guest.get(f"/runs/{SWEEP}").text
    assert link in guest.get("/runs/second").text
    assert "Trials</a>" not in guest.get("/runs/other").text


def test_a_long_table_says_what_it_leaves_out(guest: House) -> None:
    seen = make_sweep(1.0)
    many = tuple(replace(seen.trials[1], number=number, last_line="") for number in range(1250))
    failed = replace(many[0], number=1250, state=TrialState.FAILED, metric=None, last_line="out of memory")
    save_seen(guest.session.folders, replace(seen, trials=(*many, failed)))

    text = guest.get(f"/sweeps/{SWEEP}").text

    assert "The first 200 of 1,251 trials, the best first" in text
    assert text.index("The first 200 of") < text.index('id="trial-0"')
    assert 'href="#trial-1250"' not in text  # which is not in the table
    assert ">1250<" in text


def test_a_short_table_leaves_nothing_out(guest: House) -> None:
    fill_sweeps(guest)

    assert "The first 200" not in guest.get(f"/sweeps/{SWEEP}").text


def test_a_picture_leads_to_its_table(guest: House) -> None:
    fill_sweeps(guest)

    assert guest.get(f"/sweeps/{SWEEP}").text.count('<a href="#trials">') == 2


def test_lines_lead_to_rows_and_rows_to_lines(guest: House) -> None:
    seen = make_sweep(1.0)
    many = tuple(replace(seen.trials[1], number=number, last_line="") for number in range(300))
    save_seen(guest.session.folders, replace(seen, trials=many))

    text = guest.get(f"/sweeps/{SWEEP}").text

    assert text.count('<svg class="parallel"') == 1
    for number in (0, 199):
        assert text.count(f'href="#strand-{number}"') == text.count(f'id="strand-{number}"') == 1
        assert f'href="#trial-{number}" class="strand"' in text
    assert "strand-200" not in text  # which is not in the table: a line that leads nowhere
    assert "<title>trial 200:" in text


def test_trials_that_were_stopped_are_among_all_trials(guest: House) -> None:
    seen = make_sweep(1.0)
    best = seen.best
    assert best is not None
    told = replace(best, number=1250, state=TrialState.STOPPED, metric=9.5)
    silent = replace(told, number=1251, metric=None)
    save_seen(guest.session.folders, replace(seen, trials=(best, told, silent)))

    picture = guest.get(f"/sweeps/{SWEEP}/trials.svg").text

    assert "trial 1250, stopped:" in picture
    assert "loss 9.5" in picture
    assert "trial 1251, stopped:" in picture
    assert "1 trial and 2 that were stopped; the best is trial" in guest.get(f"/sweeps/{SWEEP}").text


def test_its_pictures_are_made_by_the_server_in_both_themes(guest: House) -> None:
    fill_sweeps(guest)

    for name in ("trials.svg", "history.svg"):
        for theme in ("light", "dark", "odd"):
            answer = guest.get(f"/sweeps/{SWEEP}/{name}?theme={theme}")
            assert answer.status == 200
            assert answer.headers["content-type"] == "image/svg+xml"
            xml.etree.ElementTree.fromstring(answer.text)


def test_its_table_comes_as_csv_the_best_first(guest: House) -> None:
    fill_sweeps(guest)

    lines = guest.get(f"/sweeps/{SWEEP}/trials.csv").text.splitlines()

    assert lines[0] == "trial,state,lr,depth,optimizer,loss,seconds,code,last_line"
    assert len(lines) == 49
    assert lines[1].split(",")[1] == "done"


def test_nothing_of_others_becomes_markup(guest: House) -> None:
    fill_sweeps(guest)

    for path in (f"/sweeps/{HOSTILE}", f"/sweeps/{HOSTILE}/trials.svg", "/sweeps"):
        assert NASTY not in guest.get(path).text
    xml.etree.ElementTree.fromstring(guest.get(f"/sweeps/{HOSTILE}/trials.svg").text)


def test_what_is_no_sweep_is_told(guest: House) -> None:
    for name in ("nobody", "..%2fwindlass", ".hidden"):
        answer = guest.get(f"/sweeps/{name}")
        assert answer.status == 404


def test_a_button_that_is_pressed_twice_asks_as_rarely_as_the_site_bears(guest: House, tmp_path: Path) -> None:
    save_seen(guest.session.folders, replace(make_sweep(1.0), site="lab"))
    rules = "[rules]\npoll_s = 600\n"
    add_site("lab", f'extends = "here"\nroot = "{tmp_path}"\n{rules}', guest.session.folders)
    guest.add(make_run(SWEEP, site="lab", farm=SWEEP))
    form = {"form_key": guest.find_form_key(f"/sweeps/{SWEEP}")}

    tried = []
    for _ in range(2):
        assert guest.post(f"/sweeps/{SWEEP}/ask", form).headers["location"] == f"/sweeps/{SWEEP}"
        tried.append(load_asked(guest.session, "lab", f"sweep:{SWEEP}").tried)

    assert tried[0] > 0
    assert tried[1] == tried[0]
    assert "It did not tell" in guest.get(f"/sweeps/{SWEEP}").text  # its folder is not there


def test_asking_needs_the_word_of_our_own_page(guest: House) -> None:
    fill_sweeps(guest)

    assert guest.post(f"/sweeps/{SWEEP}/ask", {}).status == 403

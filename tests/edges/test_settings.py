"""The settings of a run from real files, variables and flags; and how problems look."""

from pathlib import Path

import pytest

from windlass.core.toml.layers import Flag, read_set
from windlass.edges.settings import find_project, load_run_spec, load_site_name
from windlass.errors import ConfigError, WindlassError


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "WINDLASS_CONFIG_DIR": str(tmp_path / "config")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "My Digits"
    folder.mkdir()
    return folder


def write(project: Path, text: str) -> None:
    (project / "windlass.toml").write_text(text)


def write_config(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text(text)


def look(error: WindlassError) -> str:
    hint = [f"hint: {error.hint}"] if error.hint else []
    return "\n".join([f"error[{error.code}]: {error.message}", *(f"  {line}" for line in error.details), *hint])


def refuse(project: Path, environ: dict[str, str], site: str | None = None, flags: tuple[Flag, ...] = ()) -> str:
    with pytest.raises(ConfigError) as caught:
        load_run_spec(project, site, environ, flags)
    return look(caught.value)


def test_every_layer_wins_over_the_one_below(tmp_path: Path, project: Path, environ: dict[str, str]) -> None:
    write_config(
        tmp_path,
        '[resources]\naccount = "mine"\nnodes = 1\ncpus = 1\nqos = "a"\n'
        '[site.narval.resources]\nqos = "b"\nnodes = 9\n',
    )
    write(
        project,
        '[run]\ncommand = "x"\n[resources]\nnodes = 2\ncpus = 2\n\n[site.narval.resources]\nnodes = 3\ngpus = 4\n',
    )
    environ["WINDLASS_RESOURCES_NODES"] = "4"
    environ["WINDLASS_RESOURCES_GPUS"] = "8"

    spec, origins = load_run_spec(
        project, "narval", environ, [Flag(key="resources.nodes", value="5", option="--nodes"), read_set("run.max_mb=7")]
    )

    assert (spec.name, spec.max_mb) == ("my-digits", 7)
    assert (spec.resources.nodes, spec.resources.cpus, spec.resources.gpus) == (5, 2, 8)
    assert (spec.resources.account, spec.resources.qos) == ("mine", "b")
    assert {key: origin.text for key, origin in origins.items()} == {
        "run.name": "default",
        "run.workdir": "default",
        "run.replace_nodes": "default",
        "run.max_files": "default",
        "checkpoint.signal": "default",
        "run.command": "windlass.toml:2",
        "run.max_mb": "flag --set run.max_mb",
        "resources.account": "config.toml:2",
        "resources.qos": "site narval (config.toml:7)",
        "resources.cpus": "windlass.toml:5",
        "resources.nodes": "flag --nodes",
        "resources.gpus": "WINDLASS_RESOURCES_GPUS",
    }


def test_another_sites_overrides_do_not_count(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n[site.narval.resources]\nnodes = 3\n')

    assert load_run_spec(project, "other", environ)[0].resources.nodes is None
    assert load_run_spec(project, None, environ)[0].resources.nodes is None


def test_a_run_may_be_told_by_flags_alone(project: Path, environ: dict[str, str]) -> None:
    spec, _ = load_run_spec(project, None, environ, [Flag(key="run.command", value="python x.py", option="COMMAND")])

    assert spec.command == "python x.py"


def test_what_a_job_sets_is_no_setting(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n')
    environ |= {"WINDLASS_RUN_ID": "a-bcdef", "WINDLASS_RUN_DIR": "/r", "WINDLASS_CHECKPOINT_DIR": "/c"}

    assert load_run_spec(project, None, environ)[0].command == "x"


def test_the_site_may_be_named_in_the_file(project: Path, environ: dict[str, str]) -> None:
    assert load_site_name(project, environ) is None

    write(project, '[run]\nsite = "narval"\n')
    assert load_site_name(project, environ) == "narval"

    environ["WINDLASS_RUN_SITE"] = "here"
    assert load_site_name(project, environ) == "here"


def test_two_problems_of_one_file_look_like_this(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n[resources]\ngpus = "four"\ngpuz = 1\n')

    assert refuse(project, environ) == (
        "error[E102]: windlass.toml has 2 problems\n"
        '  windlass.toml:4  resources.gpus = "four"   expected a whole number\n'
        '  windlass.toml:5  resources.gpuz            unknown key; did you mean "gpus"?'
    )


def test_problems_from_everywhere_look_like_this(tmp_path: Path, project: Path, environ: dict[str, str]) -> None:
    write_config(tmp_path, '[run]\nnme = "x"\n')
    write(
        project,
        '[run.secrets]\nKEY = "hunter2"\n[resources]\naccount = "a\\nb"\ntime = 12:00:00\ngpus = 1\n'
        "gpus_per_node = 1\n[site.narval]\nnodes = 1\n[site.other.resources]\nnodes = -1\n",
    )
    environ["WINDLASS_RESOURCES_NODES"] = "two"
    environ["WINDLASS_RESOURCES_NOODLES"] = "1"

    shown = refuse(project, environ, "narval", (read_set("resources.cpus=0"), Flag(key="site.x", value="1")))

    assert shown == EVERYTHING_WRONG


def test_nothing_to_run_says_how_to_begin(project: Path, environ: dict[str, str]) -> None:
    assert refuse(project, environ) == (
        "error[E102]: there is no windlass.toml in this folder or above it\n"
        "hint: windlass init writes a windlass.toml for this folder"
    )


def test_what_else_is_wrong_is_told_where_there_is_no_run_file_too(project: Path, environ: dict[str, str]) -> None:
    shown = refuse(project, environ, flags=(Flag(key="resources.nodes", value="0", option="--nodes"),))

    assert "must be at least 1" in shown
    assert "run.command" in shown
    assert "windlass init" in shown


def test_a_wrong_flag_is_no_fault_of_the_file(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n')

    assert refuse(project, environ, flags=(Flag(key="resources.nodes", value="0", option="--nodes"),)) == (
        'error[E102]: there is 1 problem in the settings\n  flag --nodes  resources.nodes = "0"   must be at least 1'
    )


def test_a_conflict_is_told_where_it_arose(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n[resources]\ngpus = 1\n\ngpus_per_node = 1\n')

    assert refuse(project, environ) == (
        "error[E102]: windlass.toml has 1 problem\n"
        "  windlass.toml:6  resources.gpus_per_node   cannot go together with resources.gpus; keep one of them"
    )


def test_a_flag_settles_a_conflict_with_the_file(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n[resources]\ngpus = 8\n')

    spec, _ = load_run_spec(project, None, environ, [read_set("resources.gpus_per_node=4")])

    assert (spec.resources.gpus, spec.resources.gpus_per_node) == (None, 4)


def test_a_hundred_problems_are_cut(project: Path, environ: dict[str, str]) -> None:
    write(project, '[run]\ncommand = "x"\n[run.env]\n' + "".join(f'"{number} x" = 1\n' for number in range(100)))

    assert refuse(project, environ).splitlines()[-1] == "  and 70 more"


def test_the_project_is_the_nearest_folder_with_a_run_file(tmp_path: Path, environ: dict[str, str]) -> None:
    project = tmp_path / "project"
    (project / "src" / "deep").mkdir(parents=True)
    (project / "windlass.toml").touch()

    assert find_project(project / "src" / "deep", environ) == project
    assert find_project(project, environ) == project
    assert find_project(tmp_path, environ) is None


def test_the_search_ends_at_the_repository(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "windlass.toml").touch()
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "src").mkdir()

    assert find_project(tmp_path / "repository" / "src", environ) is None


def test_home_is_no_project_by_accident(tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").touch()
    (tmp_path / "work").mkdir()
    environ = {"HOME": str(tmp_path)}

    assert find_project(tmp_path / "work", environ) is None
    assert find_project(tmp_path, environ) == tmp_path


def test_a_file_anybody_could_have_put_there_is_not_believed(tmp_path: Path, environ: dict[str, str]) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / "windlass.toml").touch()
    shared.chmod(0o1777)

    assert find_project(shared / "mine", environ) is None


# the secret itself is not shown
EVERYTHING_WRONG = """\
error[E102]: there are 12 problems in the settings
  config.toml:2               run.nme                           unknown key; did you mean "name"?
  windlass.toml:2             run.secrets.KEY                   write where it is, not what it is: "env:NAME", "file:PATH" or "command:…"
  windlass.toml:4             resources.account = "a\\nb"        holds the character '\\n', which no job can carry
  windlass.toml:5             resources.time = 12:00:00         put it in quotes: "12:00:00"
  windlass.toml:9             site.narval.nodes                 unknown key; did you mean "resources.nodes"?
  windlass.toml:11            site.other.resources.nodes = -1   must be at least 1
  WINDLASS_RESOURCES_NODES    resources.nodes = "two"           expected a whole number
  WINDLASS_RESOURCES_NOODLES  resources.noodles                 unknown key; did you mean "nodes"?
  flag --set resources.cpus   resources.cpus = "0"              must be at least 1
  flag --set site.x           site.x = "1"                      expected a table: [site.x]
  windlass.toml               run.command                       missing; write what starts your training: command = "python train.py"
  windlass.toml:7             resources.gpus_per_node           cannot go together with resources.gpus; keep one of them"""  # noqa: E501

"""Which files are sent, what is said of those that are not, and the refusal of what is too large."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.ignore import Patterns, read_patterns
from windlass.core.selection import (
    Selection,
    drop_private_keys,
    find_environments,
    holds_private_key,
    make_exact_pattern,
)
from windlass.core.snapshot import (
    LeftOut,
    LeftOutReason,
    Manifest,
    SnapshotFile,
    format_left_out,
    format_name,
)
from windlass.core.snapshot_limits import MB, Limits, find_culprits, make_refusal
from windlass.errors import SnapshotError

NOTHING = Patterns(())
PEM = b"-----BEGIN RSA " + b"PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\n"


def make_selection(*, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> Selection:
    return Selection(include=read_patterns(include), exclude=read_patterns(exclude))


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", "config/.env.production", ".envrc", ".env~", "a/server.pem", "x.KEY", "id_rsa",
        "id_ed25519", "keys/id_ecdsa_sk", "id_rsa.old", ".netrc", "_netrc", "credentials.json",
        "credentials-prod.json", ".aws/config", "deep/.ssh/known_hosts", "kaggle.json", ".git-credentials",
    ],
)  # fmt: skip
def test_a_secret_is_left_out_and_named(path: str) -> None:
    verdict = make_selection().decide(path)

    assert isinstance(verdict, LeftOut)
    assert verdict.reason is LeftOutReason.SECRET


@pytest.mark.parametrize(
    "path",
    [".env.example", "env.py", "environment.yml", ".environment.yml", "id_rsa.pub", "keys.py", "monkey", "train.py",
     "credentials.py", "aws/config", "tokenizer.json"],
)  # fmt: skip
def test_what_only_resembles_a_secret_is_sent(path: str) -> None:
    assert make_selection().decide(path) is True


@pytest.mark.parametrize("pattern", [".env", "*.env", ".env*", "/config/.env"])
def test_include_brings_a_named_secret_back(pattern: str) -> None:
    assert make_selection(include=(pattern,)).decide("config/.env") is True


@pytest.mark.parametrize("pattern", ["config/**", "config/", "**", "*", "config"])
def test_include_of_its_folder_does_not_bring_a_secret_back(pattern: str) -> None:
    assert isinstance(make_selection(include=(pattern,)).decide("config/.env"), LeftOut)


def test_include_of_a_secret_folder_brings_it_back() -> None:
    assert make_selection(include=(".aws/",)).decide(".aws/config") is True


def test_include_wins_over_exclude() -> None:
    selection = make_selection(include=("data/tiny.csv",), exclude=("data/**",))

    assert selection.decide("data/tiny.csv") is True
    assert selection.decide("data/huge.csv") is False


def test_git_itself_is_never_sent() -> None:
    assert make_selection(include=("**", ".git/config")).decide(".git/config") is False


def test_junk_is_left_out_and_told_only_when_git_tracks_it() -> None:
    selection = make_selection()

    assert selection.decide("a/__pycache__/x.pyc") is False
    assert isinstance(selection.decide("node_modules/x.js", is_tracked=True), LeftOut)
    assert make_selection(include=("node_modules/",)).decide("node_modules/x.js") is True


def test_a_python_environment_is_known_by_its_mark() -> None:
    found = find_environments(["my env/pyvenv.cfg", "my env/bin/python", "conda/conda-meta/history", "pyvenv.cfg"])

    assert found == {"my env", "conda"}
    selection = Selection(include=NOTHING, exclude=NOTHING, environments=found)
    assert selection.decide("my env/lib/x.py") is False


@pytest.mark.parametrize(
    "head",
    [PEM, b"  " + PEM, b"# my key\n" + PEM, b'{"private_key": "' + PEM.replace(b"\n", b"\\n") + b'"}',
     b"-----BEGIN " + b"PRIVATE KEY-----\n", b"-----BEGIN PGP " + b"PRIVATE KEY BLOCK-----\n"],
)  # fmt: skip
def test_a_private_key_is_known_by_its_content(head: bytes) -> None:
    assert holds_private_key(head)


@pytest.mark.parametrize(
    "head", [b"", b'KEY = re.compile("-----BEGIN " + "PRIVATE KEY-----")', b"the PRIVATE KEY is secret", b"\0" * 9000]
)
def test_a_program_that_looks_for_keys_is_no_key(head: bytes) -> None:
    assert not holds_private_key(head)


def test_a_diff_loses_the_file_in_which_a_key_shows() -> None:
    clean = b"diff --git a/x b/x\n-old\n+new\n"
    dirty = b"diff --git a/k b/k\n" + b"".join(b"-" + line + b"\n" for line in PEM.split(b"\n"))

    json = b'diff --git a/j b/j\n+ {"key": "' + PEM.replace(b"\n", b"\\n") + b'"}\n'

    assert drop_private_keys(clean + dirty + clean + json) == (clean + clean, 2)


def test_a_name_that_is_not_text_is_left_out() -> None:
    verdict = make_selection().decide("caf\udce9.txt")

    assert isinstance(verdict, LeftOut)
    assert format_left_out([verdict]) == ("left out: caf\\xe9.txt: has a name that is not UTF-8; rename it to send it",)


def test_what_was_left_out_is_told_once_for_each_reason() -> None:
    left_out = [LeftOut(path=f"{n}.pem", reason=LeftOutReason.SECRET, pattern=f"/{n}.pem") for n in range(7)]

    (line,) = format_left_out(left_out)

    assert line.startswith("left out: 0.pem, 1.pem, 2.pem, 3.pem, 4.pem and 2 more: may hold secrets; ")
    assert 'include = ["/0.pem"]' in line


@given(st.text())
def test_a_formatted_name_stays_on_one_line(name: str) -> None:
    assert format_name(name).isprintable()


def test_the_digest_knows_content_mode_and_name() -> None:
    file = SnapshotFile(path="a", sha256="0" * 64, size=1, mode=0o644)
    other = SnapshotFile(path="a", sha256="0" * 64, size=1, mode=0o755)

    assert Manifest(files=(file,)).digest == Manifest(files=(file,)).digest
    assert Manifest(files=(file,)).digest != Manifest(files=(other,)).digest


def test_a_project_within_its_limits_is_not_refused() -> None:
    assert make_refusal({"a": MB, "b": MB}, Limits(max_mb=2, max_files=2)) is None


def test_a_refusal_names_the_biggest_and_the_line_to_paste() -> None:
    sizes = {f"data/{n}.bin": 100 * MB for n in range(10)} | {"train.py": 2000, "big.zip": 300 * MB}

    refusal = make_refusal(sizes, Limits(max_mb=200, max_files=10_000), exclude=("*.log",))

    assert isinstance(refusal, SnapshotError)
    assert refusal.message == "the project has 12 files of 1.3 GB in all: at most 200 MB are sent"
    assert refusal.details == ("   1.0 GB  data/  (10 files)", "   300 MB  big.zip")
    assert 'exclude = ["*.log", "data/**", "/big.zip"]' in str(refusal.hint)
    assert "max_mb = 1301" in str(refusal.hint)


def test_a_refusal_looks_for_the_weight_deep_inside() -> None:
    sizes = {"src/pkg/assets/weights.bin": 900 * MB, "src/pkg/model.py": 1000, "src/pkg/x.py": 1000}

    culprits, _ = find_culprits(sizes, Limits(max_mb=200, max_files=100))

    assert [culprit.pattern for culprit in culprits] == ["src/pkg/assets/weights.bin"]


def test_a_refusal_never_suggests_to_leave_code_out_with_the_data() -> None:
    sizes = {f"pkg/{n}.ckpt": 50 * MB for n in range(10)} | {"pkg/model.py": 1000}

    culprits, fits = find_culprits(sizes, Limits(max_mb=200, max_files=100))

    assert [culprit.pattern for culprit in culprits] == ["pkg/**/*.ckpt"]
    assert fits


def test_too_many_files_are_refused_by_count() -> None:
    sizes = {f"frames/{n // 100}/{n}.png": 10 for n in range(5000)} | {"train.py": 10}

    refusal = make_refusal(sizes, Limits(max_mb=200, max_files=1000))

    assert refusal is not None
    assert "at most 1,000 files" in refusal.message
    assert 'exclude = ["frames/**"]' in str(refusal.hint)


_name = st.text(st.sampled_from("ab #!*?[]\\\"'\n.é-"), min_size=1, max_size=5).filter(lambda name: name not in "..")
_path = st.lists(_name, min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(_path, st.integers(0, 3 * MB), min_size=1, max_size=30))
def test_what_is_suggested_takes_away_what_it_says(sizes: dict[str, int]) -> None:
    sizes = {path: size for path, size in sizes.items() if not any(other.startswith(path + "/") for other in sizes)}
    limits = Limits(max_mb=2, max_files=3)

    culprits, fits = find_culprits(sizes, limits)

    exclude = read_patterns([culprit.pattern for culprit in culprits])
    left = {path: size for path, size in sizes.items() if not exclude.matches(path)}
    assert len(sizes) - len(left) == sum(culprit.count for culprit in culprits)
    assert limits.fit(sum(left.values()), len(left)) is fits


@given(_path)
def test_an_exact_pattern_means_this_path(path: str) -> None:
    assert read_patterns([make_exact_pattern(path)]).name(path)

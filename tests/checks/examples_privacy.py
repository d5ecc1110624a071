"""C507 to C509, C533: secrets, and paths that are not yours."""

from dataclasses import replace

from tests.builders import SITE
from tests.checks.cases import Example
from tests.checks.code_cases import NO_HOME, REMOTE, code_case, run
from windlass.core.facts import Facts
from windlass.core.site import Area

WITH_PASSWORD = "https://ada:hunter22@pypi.lab.org/all"
BY_REFERENCE = "https://${INDEX_USER}:${INDEX_TOKEN}@pypi.lab.org/all"

EXAMPLES = {
    "C507": Example(
        trips=code_case("WANDB_API_KEY = 'abcdef0123456789'"),
        passes=code_case("WANDB_API_KEY = os.environ['WANDB_API_KEY']"),
        says="train.py looks as if it held a secret: WANDB_API_KEY in line 1",
        also_trips=(code_case(files={"config/env.sh": "export HF_TOKEN=hf_" + "a1b2" * 6}),),
        also_passes=(
            code_case(files={"tests/test_login.py": "password = 'correcthorse1234'"}),
            code_case("tokens = 'abcdefabcdef123456'"),
        ),
    ),
    "C508": Example(
        trips=code_case("data = '/home/bob/imagenet'"),
        passes=code_case("data = '/home/alice/imagenet'"),
        says="/home/bob/imagenet is not yours at alpha; your home is /home/alice",
        also_trips=(
            code_case(spec=run("python train.py --data /home/bob/x")),
            code_case(spec=run("python train.py", DATA="/home/alicia/data")),
            code_case(
                "x = '/scratch/bob/data'", site=replace(REMOTE, storage=(Area(name="scratch", path="/scratch/$USER"),))
            ),
        ),
        also_passes=(
            code_case("data = '/home/shared/imagenet'"),
            code_case("data = '/scratch/bob/x'"),  # whose /scratch/NAME is, is not known here
            code_case("data = '/home/bob/imagenet'", facts=Facts()),
            code_case("'''see /home/bob/notes'''"),
            code_case("# /home/bob/notes"),
            code_case("data = '/opt/home/bob'"),
            code_case("data = '/home/bob/imagenet'", site=SITE),  # this very machine,
        ),
    ),
    "C509": Example(
        trips=code_case("data = open('/home/alice/imagenet.txt')", site=NO_HOME),
        passes=code_case("data = open('/scratch/alice/imagenet.txt')", site=NO_HOME),
        says="/home/alice/imagenet.txt is in the home folder, which jobs at alpha cannot use",
        also_trips=(
            code_case("open('~/x')", site=NO_HOME),
            code_case(site=NO_HOME, spec=run("bash run.sh"), files={"run.sh": "cp $HOME/x ."}),
        ),
        also_passes=(
            code_case("open('~/x')"),
            code_case("x = 'a ~ b'", site=NO_HOME),
            code_case(site=NO_HOME, spec=run("python train.py --data ~/x")),  # C404 tells it
        ),
    ),
    "C533": Example(
        trips=code_case(files={"requirements.txt": f"numpy\n-i {WITH_PASSWORD}\n"}),
        passes=code_case(files={"requirements.txt": f"numpy\n-i {BY_REFERENCE}\n"}),
        says="requirements.txt:2 holds a password for pypi.lab.org, and the file is sent to alpha with your code",
        also_trips=(
            code_case(files={"deps/base.in": f"-i {WITH_PASSWORD}\n"}),
            code_case(files={"pyproject.toml": f'[[tool.uv.index]]\nurl = "{WITH_PASSWORD}"\n'}),
            code_case(files={"environment.yml": "channels:\n- https://conda.lab.org/t/ab-1234567890/lab\n"}),
            code_case(files={"image.def": f"%post\n  pip install -i {WITH_PASSWORD} net\n"}),
        ),
        also_passes=(
            code_case(files={"requirements.txt": f"-i {WITH_PASSWORD}\n"}, site=SITE),  # it stays on this machine
            code_case(files={"requirements.txt": "net @ git+ssh://git@lab.org/net\n"}),
            code_case(f"url = '{WITH_PASSWORD}'"),  # C507 tells it
        ),
    ),
}

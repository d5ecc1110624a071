"""Record what a real Slurm answers to our own commands, as files for the readers' tests.

python -m tests.schedulers.record > script.sh          # a bash script for a user on the login node of tests/cluster
python -m tests.schedulers.record survey > script.sh   # only what the site has: submits nothing, cancels nothing
bash script.sh FOLDER                                  # there: one file an answer
"""

import shlex
import sys
import time

from windlass.schedulers.slurm import limits, survey
from windlass.schedulers.slurm.dialect import SLURM
from windlass.schedulers.slurm.one_job import make_job_command
from windlass.schedulers.slurm.spending import make_queued_command, make_spent_command
from windlass.schedulers.slurm.submit import make_estimate_command, make_submit_command

_PROLOGUE = r"""
set -u
folder=$1; mkdir -p "$folder"
export SLURM_TIME_FORMAT=%s LC_ALL=C.UTF-8
work=$(mktemp -d "$HOME/record.XXXXXX"); cd "$work"
printf '#!/bin/bash\nsleep 100\n' > sleep.sh
record() {  # record NAME COMMAND...
  local name=$1 code; shift
  "$@" > out 2> err < /dev/null; code=$?
  { echo "exit $code"; echo "--- out"; cat out; echo "--- err"; cat err; } > "$folder/$name.txt"
}
queue() { sbatch --parsable -p cpu -t 5 "$@"; }
"""

_JOBS = r"""
array=$(queue --comment=windlass:array-aaaaa:1 -J array-aaaaa --array=1-5%1 sleep.sh)
running=$(queue --comment=windlass:running-aaaaa:1 -J running-aaaaa sleep.sh)
failed=$(queue --comment=windlass:failed-aaaaa:1 -J failed-aaaaa --wrap='exit 3')
killed=$(queue --comment=windlass:killed-aaaaa:1 -J killed-aaaaa --wrap='kill -9 $$')
later=$(queue --comment=windlass:later-aaaaa:1 -J later-aaaaa --begin=now+1hour sleep.sh)
cancelled=$(queue --comment=windlass:cancelled-aaaaa:1 -J cancelled-aaaaa sleep.sh)
requeued=$(queue --requeue --comment=windlass:requeued-aaaaa:1 -J requeued-aaaaa sleep.sh)
odd=$(queue --comment=windlass:odd-aaaaa:1 -J $'odd | name\nJobState=X UserId=5 \u00e9' --wrap=true)
parts=$(queue --comment=windlass:parts-aaaaa:1 -J parts-aaaaa -n1 : -p cpu -t 5 -n1 --wrap='sleep 100')
foreign=$(queue -J foreign --wrap=true)
sleep 5
scancel "$cancelled"
scontrol requeue "$requeued"
sleep 3
scontrol update jobid="$requeued" StartTime=now
sleep 12
all=$array,$running,$failed,$killed,$later,$cancelled,$requeued,$odd,$parts,$foreign,999999
"""

_BREAKING = r"""
scancel --me
sed 's/^SlurmctldPort=.*/SlurmctldPort=26999/' /etc/slurm/slurm.conf > controller-down.conf
sed 's/^AccountingStoragePort=.*/AccountingStoragePort=26998/' /etc/slurm/slurm.conf > accounting-down.conf
grep -v '^AccountingStorage' /etc/slurm/slurm.conf > accounting-off.conf
SLURM_CONF=$PWD/controller-down.conf record controller-down-squeue squeue --me -h -o %i
SLURM_CONF=$PWD/controller-down.conf record controller-down-sbatch sbatch --parsable sleep.sh
SLURM_CONF=$PWD/controller-down.conf record controller-down-scancel scancel 999999
SLURM_CONF=$PWD/controller-down.conf record controller-down-partitions scontrol --oneliner show partition
SLURM_CONF=$PWD/accounting-down.conf record accounting-down-sacct sacct -X -n -P -j 1 -o JobID
SLURM_CONF=$PWD/accounting-off.conf record accounting-off-sacct sacct -X -n -P -j 1 -o JobID
SLURM_CONF=$PWD/accounting-off.conf record accounting-off-sacctmgr sacctmgr -nP show qos format=Name
"""

_EPILOGUE = r"""
sed -i -E "s#$(dirname "$HOME")#/home#g; s#record\.[A-Za-z0-9]{6}#work#g; s#/srv/windlass-cluster#/srv#g" "$folder"/*
cd /; rm -rf "$work"
"""

REFUSALS = {
    "account": "-A nosuch --wrap=true",
    "partition": "-p nosuch --wrap=true",
    "qos": "--qos=nosuch --wrap=true",
    "time": "-p dev -t 1:00:00 --wrap=true",
    "qos-time": "--qos=strict -t 10:00:00 --wrap=true",
    "qos-gpus": "--qos=strict -p gpu -t 10 --gres=gpu:a100:3 --wrap=true",
    "submit-limit": "-A tiny -t 10 --array=1-9 --wrap=true",
    "cpus": "-c 9 --wrap=true",
    "memory": "--mem=100G --wrap=true",
    "gpu-kind": "-p gpu --gres=gpu:h100:1 --wrap=true",
    "gres": "--gres=tpu:1 --wrap=true",
    "feature": "-C h100 --wrap=true",
    "node-count": "-p cpu -N 3 --wrap=true",
    "processors": "-p cpu -n 100 --wrap=true",
    "node-name": "-w node9 --wrap=true",
    "array": "--array=1-20000 --wrap=true",
    "dependency": "--dependency=foo:1 --wrap=true",
    "reservation": "--reservation=nosuch --wrap=true",
    "license": "--licenses=matlab:1 --wrap=true",
    "time-min": "--time-min=2:00:00 -t 1:00:00 --wrap=true",
    "option": "--nosuch-option --wrap=true",
    "value": "--mem=foo --wrap=true",
    "no-script": "nosuch.sh",
    "no-shebang": "noshebang.sh",
    "dos": "dos.sh",
    "empty": "empty.sh",
}


def make_script() -> str:
    lines = [_PROLOGUE, *_make_refusals(), _JOBS, *_make_survey(), *_make_questions(), _BREAKING, _EPILOGUE]
    return "\n".join(lines)


def make_survey_script() -> str:
    return "\n".join([_PROLOGUE, *_make_survey(), _EPILOGUE])


def _make_refusals() -> list[str]:
    files = (
        r"printf 'echo hi\n' > noshebang.sh; printf '#!/bin/bash\r\necho hi\r\n' > dos.sh; : > empty.sh",
        f"record submitted {shlex.join(make_submit_command('sleep.sh'))}",
        f"record estimate {shlex.join(make_estimate_command('sleep.sh'))}",
        "record estimate-refused sbatch --test-only -A nosuch sleep.sh",
    )
    return [*files, *(f"record refused-{name} sbatch --parsable {options}" for name, options in REFUSALS.items())]


def _make_survey() -> list[str]:
    commands = {
        "partitions": survey.make_partitions_command(),
        "nodes": survey.make_nodes_command(),
        "config": survey.make_config_command(),
        "version": survey.make_version_command(),
        "associations": limits.make_associations_command(),
        "accounts": limits.make_accounts_command(),
        "default-account": limits.make_default_account_command(),
        "qos": limits.make_qos_command(),
    }
    return [f"record {name} {shlex.join(argv)}" for name, argv in commands.items()]


def _make_questions() -> list[str]:
    commands = {
        "queue": SLURM.make_queue_command(),
        "queued": make_queued_command(),
        "spent": make_spent_command(time.time()),
        "history-by-name": SLURM.make_history_by_name_command("failed-aaaaa", 0),
    }
    history = [*SLURM.make_history_command(["1"])[:-1], "--jobs="]
    return [
        *(f"record {name} {shlex.join(argv)}" for name, argv in commands.items()),
        f'record history {shlex.join(history)}"$all"',
        *(f'record job-{name} {shlex.join(make_job_command(""))[:-2]} "${name}"' for name in _SINGLE),
        "record job-unknown scontrol --oneliner show job 999999",
        "record queue-field-refused squeue --me -h -o '%i|%~'",
        "record nodes-field-refused sinfo -h -o '%R|%~'",
        "record history-field-refused sacct -X -n -P -o JobID,NoSuch -j 1",
        "record qos-field-refused sacctmgr -nP show qos format=Name,NoSuch",
        "record cancel-unknown scancel 999999",
        'record cancel-ended scancel "$failed"',
        "record cancel-nonsense scancel abc",
    ]


_SINGLE = ("array", "running", "failed", "killed", "later", "requeued", "odd", "parts")


if __name__ == "__main__":
    print(make_survey_script() if sys.argv[1:] == ["survey"] else make_script())

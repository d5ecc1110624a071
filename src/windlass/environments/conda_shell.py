"""Bash around conda environments: entered without `conda init`, found by name, and addresses without their tokens."""

from windlass.core.shell import quote, quote_with_variables
from windlass_job import wire

# Where environments lie when nobody has said otherwise.
_USUAL = (".conda", "micromamba", ".local/share/mamba", "miniforge3", "mambaforge", "miniconda3", "anaconda3")
# `conda env config vars`, and `variables:` of environment.yml. A value of stars was unset.
_PRINT_VARIABLES = (
    "import json, re, shlex, sys\n"
    'for name, value in json.load(open(sys.argv[1])).get("env_vars", {}).items():\n'
    '    if re.match("[A-Za-z_][A-Za-z0-9_]*$", name) and value != "***unset***":\n'
    '        print("export %s=%s" % (name, shlex.quote(value)))'
)


def activate(prefix: str, missing: str) -> tuple[str, ...]:
    """What `conda activate` does, for shells that `conda init` never saw. prefix: a word of bash. `set +u` is on.

    It is the folder itself, not a link to it: a build that comes meanwhile must not be mixed in. The scripts of
    packages use unset variables, and what they return means nothing: conda does not look either.
    """
    return (
        f"windlass_env=$(cd -P -- {prefix} 2> /dev/null && pwd) || windlass_env=",
        'if [ ! -d "$windlass_env/conda-meta" ]; then',
        f"  echo {quote(f'windlass: {missing}')} >&2",
        f"  exit {wire.EXIT_ENVIRONMENT}",
        "fi",
        'export CONDA_PREFIX="$windlass_env" CONDA_DEFAULT_ENV="$windlass_env" CONDA_SHLVL=1',
        'export PATH="$windlass_env/bin:$PATH"',
        'if [ -r "$CONDA_PREFIX/conda-meta/state" ]; then',
        f'  eval "$(python3 -c {quote(_PRINT_VARIABLES)} "$CONDA_PREFIX/conda-meta/state")"',
        "fi",
        'for windlass_file in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do',
        '  if [ -r "$windlass_file" ]; then . "$windlass_file" || true; fi',
        "done",
    )


def find_by_name(name: str, client: str | None, variable: str) -> tuple[str, ...]:
    """Lines that put the folder of an environment into the variable, or end the shell with what is known.

    A client knows them all, with the settings of the site and of the user; without one it is looked for where
    environments usually lie. client: of the site file.
    """
    clients = (
        (quote_with_variables(client), '"$CONDA_EXE"', '"$MAMBA_EXE"') if client else ('"$CONDA_EXE"', '"$MAMBA_EXE"')
    )
    usual = " ".join(f'"$HOME/{one}"' for one in _USUAL)
    return (
        f"windlass_name={quote(name)}",
        f"{variable}=",
        'windlass_known="$(',
        f"  for windlass_client in {' '.join(clients)} conda mamba micromamba; do",
        '    windlass_client=$(type -P "$windlass_client" || true)',
        '    if [ -n "$windlass_client" ]; then "$windlass_client" env list 2>/dev/null || true; fi',
        '    if [ -n "$windlass_client" ]; then printf "%s\\n" "${windlass_client%/*/*}"/envs/*; fi',
        "  done",
        '  IFS=":"',
        '  for windlass_folder in $CONDA_ENVS_DIRS $CONDA_ENVS_PATH; do printf "%s\\n" "$windlass_folder"/*; done',
        f'  for windlass_folder in "$MAMBA_ROOT_PREFIX" {usual}; do printf "%s\\n" "$windlass_folder"/envs/*; done',
        '  cat "$HOME/.conda/environments.txt" 2>/dev/null || true',
        ')"',
        "windlass_others=",
        "while IFS= read -r windlass_line; do",
        '  windlass_folder="/${windlass_line#*/}"',  # `NAME  *  /FOLDER`, or the folder alone
        '  if [ ! -d "$windlass_folder/conda-meta" ]; then continue; fi',
        '  if [ "${windlass_folder##*/}" = "$windlass_name" ] || [ "${windlass_line%% *}" = "$windlass_name" ]; then',
        f"    {variable}=$windlass_folder",
        "    break",
        "  fi",
        '  case "$windlass_others " in',
        '    *" ${windlass_folder##*/} "*) ;;',
        '    *) windlass_others="$windlass_others ${windlass_folder##*/}" ;;',
        "  esac",
        'done <<< "$windlass_known"',
        f'if [ -z "${variable}" ]; then',
        '  echo "windlass: no conda environment on $HOSTNAME is called $windlass_name" >&2',
        '  echo "windlass: those found:${windlass_others:- none}" >&2',
        f"  exit {wire.EXIT_ENVIRONMENT}",
        "fi",
    )


def hide_tokens(name: str) -> str:
    """A function that passes lines on: https://HOST/t/TOKEN/ and https://USER:PASSWORD@HOST stand in no log."""
    hidden = (
        "s#/t/[^/[:space:]]+/#/t/***/#g",
        "s#://[^/@:[:space:]]+:[^0-9[:space:]][^[:space:]]*@#://***@#g",  # also with / and @ in it; not a port
        "s#://[^/@[:space:]]+@#://***@#g",
    )
    return f"{name}() {{ sed -u -E {' '.join(f'-e {quote(one)}' for one in hidden)}; }}"

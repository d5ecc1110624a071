"""`windlass adopt`: a windlass.toml from a batch script that is there already."""

from pathlib import Path

import click

from windlass.cli.output import Output, make_printable


@click.command("adopt")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "into",
    type=click.Path(path_type=Path),
    default=Path("windlass.toml"),
    show_default=True,
    help="Where to write it.",
)
@click.option("--force", is_flag=True, help="Write over what is there.")
@click.pass_obj
def command(output: Output, /, file: Path, into: Path, force: bool) -> None:
    """Turn the sbatch script FILE into a windlass.toml that plans to the same job.

    Modules, activation, variables and the command find their keys; a longer body stays a script beside it.
    What has no place in a run file is listed, on the screen and at the top of the file. Secrets are not copied.

    \b
    Examples:
      windlass adopt train.sh
      windlass plan --on narval
    """
    from windlass.app.adopting import adopt

    adopted = adopt(file, into, force=force)
    if output.as_json:
        output.show_json(
            {
                "path": str(adopted.path),
                "text": adopted.text,
                "body": str(adopted.body_path) if adopted.body_path else None,
                "left": adopted.left,
                "refusal": adopted.refusal,
            }
        )
        return
    output.show(adopted.text)
    if adopted.refusal:
        output.tell(make_printable(f"note: sbatch refuses this script ({adopted.refusal}): windlass lint {file}"))
    for one in adopted.left:
        output.tell(make_printable(f"not carried over: line {one.line}: {one.text} ({one.why})"))
    body = f" and {adopted.body_path}" if adopted.body_path else ""
    output.tell(make_printable(f"wrote {adopted.path}{body}; see what would be submitted with: windlass plan"))

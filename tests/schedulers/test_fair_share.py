"""sshare's rows of one user."""

from windlass.core.seen.fair_share import FairShare
from windlass.schedulers.slurm.fair_share import make_fair_share_command, read_fair_share


def test_each_account_of_the_user_has_its_factor() -> None:
    text = "root||1.0\nhai|alice|0.612000\n old|alice|0.080000\nbare|alice|\nodd|alice|nan\n"

    assert read_fair_share(text) == (
        FairShare(account="hai", factor=0.612),
        FairShare(account="old", factor=0.08),
    )


def test_only_the_rows_of_this_user_are_asked_for() -> None:
    assert make_fair_share_command() == ["sshare", "-U", "--noheader", "--parsable2", "--format=Account,User,FairShare"]

"""Users of this machine."""

import getpass
import os
import pwd


def current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def is_user(name: str) -> bool:
    try:
        return bool(pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name))
    except (KeyError, OverflowError):
        return name == current_user()

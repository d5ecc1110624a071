"""`python -m windlass.pocket PROGRAM ARGS…` runs one of pocket's programs."""

import sys

from windlass.pocket.programs import PROGRAMS, main

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        print(f"usage: python -m windlass.pocket {'|'.join(PROGRAMS)} ARGS…", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], sys.argv[2:]))

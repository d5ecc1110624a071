"""Moments that programs tell: seconds since 1970, where they can be true."""

LATEST = 4_102_444_800.0  # the year 2100: no run tells of anything later, and calendars end somewhere


def read_moment(value: object) -> float | None:
    """None for what is no moment: no number, a clock that was never set, or beyond every calendar."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LATEST:
        return None
    return float(value)

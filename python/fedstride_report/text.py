"""Text and files, spelled as the program spells them."""

import contextlib
import errno
import os
import re
import secrets
import shutil
from decimal import ROUND_CEILING, Decimal
from pathlib import Path


class Failure(Exception):
    """An error that ends the program with exit code 1; the message is one line."""

    code = 1


class UsageFailure(Failure):
    """An invalid request: exit code 2."""

    code = 2


def number_text(value):
    """The shortest text that reads back as the same number, as the program writes it ("0.1", "1e-05", "10")."""
    import numpy as np  # here, so that __main__ can say that it is missing

    value = float(value)
    fixed = f"{value:.0f}" if value.is_integer() else np.format_float_positional(value, trim="-")
    return min(fixed, np.format_float_scientific(value, trim="-", exp_digits=2), key=len)


def short_number(value, metric=""):
    """The number with six significant digits."""
    return rounded_up(value, "{:.6g}") if is_bound(metric) else f"{value:.6g}"


def is_bound(metric):
    """Whether the metric is an upper bound (of privacy spent), whose texts must not be below it."""
    return bool(re.search("(epsilon|delta)_spent$|epsilon_by_", metric))


def rounded_up(value, form="{:.4g}"):
    """The number in this format (of letter e, f or g), as the least such text that is not below it."""
    text = form.format(value)
    if float(text) >= value:
        return text
    places, letter = re.fullmatch(r"{:\.(\d+)([efg])}", form).groups()
    digit = -int(places) if letter == "f" else Decimal(value).adjusted() - int(places) + (letter == "g")
    return form.format(float(Decimal(value).quantize(Decimal(1).scaleb(digit), ROUND_CEILING)))


def counted(number, noun):
    """ "1 cell", "5 cells"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def point_text(point):
    """ "random-fraction 0, optimizer sgd, seed 1"; a grid without axes has "the only cell"."""
    return ", ".join(f"{key} {value}" for key, value in point.items()) or "the only cell"


@contextlib.contextmanager
def new_file(path):
    """A file to write bytes to, with `with`, that replaces another when it is complete: readers see the old or the new one. A
    path such as /dev/stdout is written into. Temporary names are those of core/files.cpp, so that they are removed after a kill.
    Raises Failure."""
    target = Path(path).resolve()
    is_replaced = target.is_file() or not target.exists()
    temporary = f"{target}.fedstride-{secrets.token_hex(8)}" if is_replaced else path
    try:
        with open(temporary, "xb" if is_replaced else "wb") as file:
            yield file
            file.flush()
            if is_replaced:
                os.fsync(file.fileno())
        if is_replaced:
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
    except OSError as error:
        may_pass = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
        raise (TemporaryFailure if may_pass else Failure)(f"cannot write '{path}': {error.strerror}") from None
    finally:
        if is_replaced:
            with contextlib.suppress(OSError):  # there is none after success
                os.remove(temporary)


class TemporaryFailure(Failure):
    """No space, or no free descriptors: exit code 5 (core/error.hpp)."""

    code = 5


def write_file(path, content):
    """Writes text or bytes to a file, at once or not at all. Raises Failure."""
    with new_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)

"""Text and files, spelled as the program spells them."""

import os
import secrets
import stat
from pathlib import Path


class Failure(Exception):
    """An error that ends the program with exit code 1; the message is one line."""

    code = 1


class UsageFailure(Failure):
    """An invalid request: exit code 2."""

    code = 2


def number_text(value):
    """The shortest text that reads back as the same number, as the program writes it ("0.1", "1e-05", "10")."""
    text = repr(float(value)).removesuffix(".0")
    if "e" not in text and "0.00" not in text and not text.endswith("000"):  # no zeros that an exponent would save
        return text
    digits, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    figures = (whole + fraction).lstrip("0")
    if not figures:
        return text
    power = len(whole) - 1 + int(exponent or 0) - (len(whole + fraction) - len(figures))
    figures = figures.rstrip("0")
    short = f"{figures[0]}{'.' * (len(figures) > 1)}{figures[1:]}e{power:+03d}"
    if power >= len(figures) - 1:
        fixed = str(int(float(digits + "e" + (exponent or "0"))))
    elif power >= 0:
        fixed = figures[: power + 1] + "." + figures[power + 1 :]
    else:
        fixed = "0." + "0" * (-power - 1) + figures
    return "-" * text.startswith("-") + (fixed if len(fixed) <= len(short) else short)


def short_number(value):
    """The number with six significant digits."""
    return f"{value:.6g}"


def counted(number, noun):
    """ "1 cell", "5 cells"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def point_text(point):
    """ "random-fraction 0, optimizer sgd, seed 1"; a grid without axes has "the only cell"."""
    return ", ".join(f"{key} {value}" for key, value in point.items()) or "the only cell"


class NewFile:
    """A file that replaces another when it is complete: readers see the old or the new one. Use with `with`; write text or bytes
    to it. A path such as /dev/stdout is written into. Temporary names are those of core/files.cpp, so that they are removed after
    a kill. Raises Failure."""

    def __init__(self, path):
        self.path = Path(path)
        self.target = self.path.resolve()
        self.is_replaced = not self.target.exists() or stat.S_ISREG(self.target.stat().st_mode)
        self.temporary = Path(f"{self.target}.fedstride-{secrets.token_hex(8)}") if self.is_replaced else self.path

    def __enter__(self):
        try:
            self.file = open(self.temporary, "xb" if self.is_replaced else "wb")
        except OSError as error:
            raise self._failure(error) from None
        return self

    def write(self, content):
        self.file.write(content.encode() if isinstance(content, str) else content)

    def __exit__(self, kind, error, _):
        try:
            self.file.flush()
            if self.is_replaced and error is None:
                os.fsync(self.file.fileno())
                if self.target.exists():
                    os.chmod(self.temporary, stat.S_IMODE(self.target.stat().st_mode))
            self.file.close()
            if self.is_replaced and error is None:
                os.replace(self.temporary, self.target)
        except OSError as failed:
            error = failed
        if error is not None and self.is_replaced:
            self.temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise self._failure(error) from None

    def _failure(self, error):
        return Failure(f"cannot write '{self.path}': {error.strerror}")


def write_file(path, content):
    """Writes text or bytes to a file, at once or not at all. Raises Failure."""
    with NewFile(path) as file:
        file.write(content)

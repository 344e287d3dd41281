"""Files written whole or not at all, several of them together."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from .errors import InputError
from .signals import ENDING

PREFIX = ".unperplexed-"
_OLD_ENOUGH = 60
"""Seconds after which a temporary file that nobody holds is cleared."""
_RENAMES_OPEN = os.name != "nt"
"""Whether a file can be renamed while it is open: not on Windows."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a killed run leaves the old one or none, never a part."""
    with whole_files({path: content}):
        pass


@contextmanager
def whole_files(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """Write files under temporary names, which they lose together at the end, unless there is an error."""
    with _staged(*contents) as temporary:
        for name, content in zip(temporary, contents.values(), strict=True):
            name.write_bytes(content)
        yield


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file beside ``path``, which it replaces at the end, unless there is an error."""
    with _staged(path) as (temporary,):
        yield temporary


@contextmanager
def _staged(*paths: Path) -> Iterator[list[Path]]:
    """Give the names of temporary files, which replace the others together: all of them, or with an error none."""
    places = [path.resolve() for path in paths]  # what a link points to is replaced, not the link
    for folder in {place.parent for place in places}:
        clear(folder)
    with ExitStack() as stack:
        handles, temporary, opened = [], [], ExitStack()
        for place in places:
            temporary.append(place.with_name(f"{PREFIX}{secrets.token_hex(8)}"))
            stack.callback(temporary[-1].unlink, missing_ok=True)  # before it is made: no signal comes in between
            handle = os.open(temporary[-1], os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            opened.callback(os.close, handle)
            stack.callback(opened.close)  # before it is removed
            hold(handle)
            handles.append(handle)
        yield temporary
        for handle, made, place in zip(handles, temporary, places, strict=True):
            os.fsync(handle)  # what the disk has no room for is said here
            with suppress(PermissionError):  # of file systems without them, such as FAT
                made.chmod(_permissions(place))
        if not _RENAMES_OPEN:
            opened.close()
        with _uninterrupted():
            _replace(dict(zip(temporary, places, strict=True)))


def _permissions(place: Path) -> int:
    """Permissions of the file that is replaced, or those of any new file."""
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _replace(places: Mapping[Path, Path]) -> None:
    """Rename all files; where one cannot be, those before it get back what they replaced."""
    with ExitStack() as undo:
        for temporary, place in places.items():
            if len(places) > 1:
                undo.callback(_put_back, _kept(temporary, place), place)
            temporary.replace(place)
        undo.pop_all()
    for temporary in places:
        _kept_name(temporary).unlink(missing_ok=True)


def _kept_name(temporary: Path) -> Path:
    return temporary.with_name(f"{temporary.name}.old")


def _kept(temporary: Path, place: Path) -> Path | None:
    """Give another name of the file that is to be replaced; None where there is no file."""
    old = _kept_name(temporary)
    if not place.exists():
        return None
    try:
        os.link(place, old)
    except OSError:  # a file system without hard links
        old.write_bytes(place.read_bytes())
        old.chmod(_permissions(place))
    return old


def _put_back(old: Path | None, place: Path) -> None:
    if old is None:
        place.unlink(missing_ok=True)
    else:
        os.replace(old, place)  # also where both are names of one file  # noqa: PTH105
        old.unlink(missing_ok=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals that end the program come after what is done here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    with ExitStack() as restored:
        restored.callback(_raise, caught)
        for each in ENDING:
            handler = signal.getsignal(each)
            if callable(handler):
                restored.callback(signal.signal, each, handler)
                signal.signal(each, lambda number, _: caught.append(number))
        yield


def _raise(signals: Iterable[int]) -> None:
    for number in signals:
        signal.raise_signal(number)


def hold(handle: int) -> None:
    """Mark a file as one of a running program, for as long as it runs."""
    with suppress(ImportError, OSError):  # Windows has no such locks, and some file systems have none
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def sole_run(path: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Let one run at a time read a file and write it anew; gives the context to write in.

    It refuses a file that another run has written. Where files have no locks, as on Windows, and where there is no file
    yet, only that is noticed.
    """
    before = _stamp(path)

    def check() -> None:
        if _stamp(path) != before:
            raise InputError(f"{path}: another run has changed this file in the meantime. Repeat this run.")

    @contextmanager
    def writing() -> Iterator[None]:
        with taking_turns(path):
            check()
            yield

    with ExitStack() as stack:
        try:
            import fcntl

            fcntl.flock(stack.enter_context(open(path.resolve(), "rb", opener=_at_once)), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: another run is using this file. Repeat this run when it has ended.") from None
        except (ImportError, OSError):  # Windows, some file systems, or no file that can be read
            pass
        check()
        yield writing


@contextmanager
def taking_turns(path: Path) -> Iterator[None]:
    """Wait until no other run writes a file of this folder in turn, where folders have locks (not on Windows)."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(path.resolve().parent, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Tell a file from the one that replaces it."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


def clear(folder: Path) -> None:
    """Remove temporary files of programs that were killed: old ones that no program holds."""
    with suppress(ImportError, OSError):
        import fcntl

        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError), open(path, "rb", opener=_at_once) as file:  # Path.open has none
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                state = os.fstat(file.fileno())
                if stat.S_ISREG(state.st_mode) and time.time() - state.st_mtime > _OLD_ENOUGH:
                    path.unlink()


def _at_once(name: str, flags: int) -> int:
    """Open a file that others may have put there: no link, and no pipe for whose writer to wait."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


PICTURES = (".png", ".svg", ".pdf")
REPORTS = (".html", ".htm")
"""Suffixes of reports."""


def check_output(path: Path, suffixes: Sequence[str] = ()) -> Path:
    """Refuse an output that could not be written, before any work is done."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: cannot write this format; known: {', '.join(suffixes)}.")
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s:.80}{'...' * (len(str(path)) > 80)}: cannot be written: {reason}.") from None
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path}: no permission to write it.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no directory {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: no permission to write in {path.parent}.")
    return path

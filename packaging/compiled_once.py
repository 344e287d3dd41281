"""Launch a compiler for CMake: an object that it made before, of the same text by the same options, is copied.

Objects are kept in the folder $COMPILED_ONCE. Where text, headers and builds lie is no part of what is compared.

    CMAKE_CXX_COMPILER_LAUNCHER="python3;packaging/compiled_once.py"
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def main(command: list[str]) -> None:
    """Run a compiler's command, or copy what it would make."""
    if "-c" not in command:
        sys.exit(subprocess.call(command))
    place = command.index("-o") + 1
    target, text = Path(command[place]), Path(command[place] + ".text")
    preprocess = ["-E" if word == "-c" else word for word in command]
    preprocess[place] = str(text)
    subprocess.run([*preprocess, "-P"], check=True)  # which also writes the list of headers for the build
    options = [word for word in command if word.startswith(("-D", "-O", "-W", "-f", "-g", "-m", "-s"))]
    version = subprocess.run([command[0], "--version"], check=True, capture_output=True).stdout
    told = b"\0".join([version, *(word.encode() for word in options), text.read_bytes()])
    made = Path(os.environ["COMPILED_ONCE"], hashlib.sha256(told).hexdigest())
    if not made.exists():
        subprocess.run(command, check=True)
        shutil.copy(target, made)
    shutil.copy(made, target)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)

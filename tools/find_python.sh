#!/bin/sh
# Prints the newest Python >= 3.11 that works here. Says in words what is missing when there is none.
# usage: find_python.sh [a Python named by the user]
enough='import sys; raise SystemExit(sys.version_info < (3, 11))'

if [ -n "$1" ]; then
    if ! "$1" -c '' 2>/dev/null; then
        echo "PYTHON=$1 does not run. Give the path of a Python 3.11 or newer, or leave PYTHON out." >&2
        exit 1
    fi
    if ! "$1" -c "$enough"; then
        echo "PYTHON=$1 is $("$1" --version 2>&1). qed needs Python 3.11 or newer." >&2
        exit 1
    fi
    echo "$1"
    exit 0
fi

for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
    if "$name" -c "$enough" 2>/dev/null; then
        echo "$name"
        exit 0
    fi
done

{
    echo "qed needs Python 3.11 or newer, and none was found on PATH."
    found=$(python3 --version 2>/dev/null) && echo "What is here: $found."
    echo "Install one (Debian/Ubuntu: apt install python3.12 python3.12-venv; macOS: brew install python@3.12), or name it: make PYTHON=/path/to/python3.12 demo"
} >&2
exit 1

#!/bin/sh
# Makes .venv see src/ and hold the named dependency groups of pyproject.toml.
# usage: environment.sh <python> <venv> <group>...
python=$1 venv=$2
shift 2

# a venv whose Python vanished or is too old is no venv
if ! "$venv/bin/python" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        echo "$python cannot make virtual environments: its venv module is missing." >&2
        echo "Install it (Debian/Ubuntu: apt install python3-venv), or name another Python: make PYTHON=/path/to/python3 demo" >&2
        exit 1
    fi
    echo "· making $venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv" || exit 1
fi

# --group came with pip 25.1
if ! "$venv/bin/python" -c 'import pip; raise SystemExit(tuple(map(int, pip.__version__.split(".")[:2])) < (25, 1))'; then
    echo "· upgrading pip"
    "$venv/bin/python" -m pip install --quiet --upgrade "pip>=25.1" || exit 1
fi

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || exit 1
printf '%s/src\n' "$PWD" > "$site/qed_source.pth"
# the command, as an installed wheel would have it
printf '#!%s/bin/python\nimport sys\nfrom qed.cli import main\nsys.exit(main())\n' "$(cd "$venv" && pwd)" > "$venv/bin/qed"
chmod +x "$venv/bin/qed"

groups=""
for group in "$@"; do groups="$groups --group $group"; done
echo "· installing: qed's own dependencies and the groups $*"
needs=$("$venv/bin/python" -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]))') || exit 1
# word splitting is wanted: one requirement per line, none with spaces
# shellcheck disable=SC2086
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $needs $groups; then
    echo "Installing failed. qed needs the package index once; after that it works offline. pip's words are above." >&2
    exit 1
fi

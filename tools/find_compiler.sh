#!/bin/sh
# Is there a C++20 compiler? Silent when there is; says what to install when there is not.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf '#include <span>\n#include <concepts>\nint main() { return std::span<int>{}.size() != 0; }\n' > "$work/probe.cpp"

for name in "${CXX:-}" c++ g++ clang++; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 || continue
    seen="$seen $name"
    "$name" -std=c++20 -o "$work/probe" "$work/probe.cpp" 2>"$work/why" && exit 0
done

{
    if [ -z "$seen" ]; then
        echo "qed has a few loops in C++ and needs a compiler; none was found (looked for c++, g++, clang++)."
    else
        echo "qed needs a compiler for C++20. Tried:$seen. The last one said:"
        head -5 "$work/why"
    fi
    echo "Install one (Debian/Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install), or name it: CXX=/path/to/g++ make demo"
} >&2
exit 1

#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: Python, bubblewrap, torch and the grader.
set -euo pipefail

root=${AUTOGRADER_ROOT:-/autograder}
course=$root/source
venv=$root/venv
export DEBIAN_FRONTEND=noninteractive

install() {
    apt-get install --yes --no-install-recommends "$@"
}

new_enough() {
    command -v "$1" >/dev/null && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

apt-get update
install bubblewrap ca-certificates

# The base image's own Python, where it is new enough; Ubuntu 22.04 has 3.10, and 3.11 beside it as a package.
python=
for name in python3 python3.13 python3.12 python3.11; do
    if new_enough "$name"; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    for name in python3.13 python3.12 python3.11; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            install "$name"
            python=$name
            break
        fi
    done
fi
if [ -z "$python" ]; then
    echo "setup.sh: this base image has no Python 3.11 or newer: choose a newer one (Ubuntu 24.04) under" \
        "Configure Autograder." >&2
    exit 1
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || install "$python-venv"

"$python" -m venv "$venv"
pip=("$venv/bin/python" -m pip install --no-cache-dir --constraint "$course/constraints.txt")
# Torch first, from the index with CPU builds where the zip names one: other builds carry gigabytes of CUDA.
if [ -s "$course/torch-index" ]; then
    "${pip[@]}" --index-url "$(cat "$course/torch-index")" torch
else
    "${pip[@]}" torch
fi
package=("$course"/*.whl)
[ -e "${package[0]}" ] || package=("$course")
"${pip[@]}" "${package[@]}"
"$venv/bin/grader" --version
# A mistake in the rubric ends the build here, and is not told to every student.
"$venv/bin/python" -I -c 'import sys, pathlib, grader.rubric; grader.rubric.load_rubric(pathlib.Path(sys.argv[1]))' \
    "$course/reference/rubric.toml"

if ! bwrap --ro-bind / / --unshare-pid --unshare-net true; then
    echo "setup.sh: bubblewrap cannot make a sandbox while this image is built. If the same holds when" \
        "submissions are graded, see \"Gradescope\" in README.md." >&2
fi

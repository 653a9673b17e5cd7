# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What the tests with real frameworks over four pods share. Each framework prints
# a number that only a gang that has met comes to.
#
# shellcheck disable=SC2034  # used by the tests

load peers
setup_file() {
    export PODLAB_NAME=frames-$$
    mkdir -p "$venvs"
    "$podlab" up 4 --see "$HB_SRCDIR" --see "$HB_BUILDDIR" \
        --see "$BATS_FILE_TMPDIR" --owner $$ > "$BATS_FILE_TMPDIR/lab" 2>&1 ||
        true
}
teardown_file() { "$podlab" down > /dev/null 2>&1 || true; }
setup() { common_setup; }

programs=$HB_SRCDIR/tests/peers/frameworks
: "${HB_FRAMEWORK_LIMIT:=240}" # seconds; imports of gigabytes on a busy machine

# asked NAME: skips where this framework is not among those to be tested.
asked() {
    [ "${HB_PEERS:-no}" = yes ] || [[ " ${HB_FRAMEWORKS:-} " == *" $1 "* ]] ||
        skip "$1 is not asked for (./check --frameworks $1, ./check --peers)"
    need_pods
}
# wheels NAME PACKAGE...: an environment with them; $python is its interpreter.
# Debian's Python, which pods see.
wheels() {
    asked "$1"
    [ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
    venv "$1" "${*:2} cannot be installed by pip" \
        from_wheels 600 /usr/bin/python3 --no-cache-dir "${@:2}"
    python=$venvs/$1/bin/python
}
debian_torch() { # or the test is skipped
    python=/usr/bin/python3
    $python -c 'import torch' 2> /dev/null ||
        skip "Debian's python3-torch is not installed"
}
# sources NAME PACKAGE NEEDED...: the same for a package that is built here, with
# Debian's torch; a word NAME=VALUE is for the build.
sources() {
    asked "$1"
    debian_torch
    venv "$1" "$2 cannot be built" from_sources "${@:2}"
    python=$venvs/$1/bin/python
}
from_sources() { # NAME PACKAGE NEEDED...
    local dir=$venvs/$1 word needs=() settings=()
    for word in "${@:3}"; do
        case $word in
            *=*[A-Z0-9]) settings+=("$word") ;;
            *) needs+=("$word") ;;
        esac
    done
    /usr/bin/python3 -m venv --clear --system-site-packages "$dir" &&
        "$dir/bin/pip" install --no-cache-dir wheel 'setuptools<70' \
            "${needs[@]}" &&
        env "${settings[@]}" timeout -k 5 1500 "$dir/bin/pip" install \
            --no-cache-dir --no-build-isolation --no-deps "$2"
}
deepspeed() {
    sources deepspeed deepspeed==0.14.5 DS_BUILD_OPS=0 hjson py-cpuinfo \
        psutil pydantic tqdm ninja packaging
}
# Where g++ finds Debian's libtorch without version.
horovod() {
    sources horovod horovod==0.28.1 cloudpickle psutil pyyaml packaging \
        HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
        HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1
}
torch() {
    asked torch
    debian_torch
}
expect=() # what bats' run is to be told of the status
has=()    # NAME=VALUE of the environment in pod-0
# over4 WORDS...: hbrun from pod-0 over all four, a rank on each.
over4() {
    # shellcheck disable=SC2016  # expanded in the pod
    run "${expect[@]}" pod 0 bash -c 'cd "$0" && exec timeout -s KILL "$@"' \
        "$BATS_FILE_TMPDIR" "$HB_FRAMEWORK_LIMIT" env "${has[@]}" "$hbrun" \
        -H pod-0:1,pod-1:1,pod-2:1,pod-3:1 "$@"
}
four() { # EXPRESSION: four lines of $output are so
    ended_with 0
    [ "$(grep -cE -- "$1" <<< "$output")" -eq 4 ] || {
        echo "not four lines match: $1"
        echo "$output" | head -c 4000
        return 1
    }
}

# killed I PATTERN COMMAND...: of a job that runs COMMAND, what matches
# in pod I gets SIGKILL as soon as it is there.
killed() {
    export HB_LIMIT=$HB_FRAMEWORK_LIMIT
    pod_job env "HPCBOOT_TIMEOUT=$HB_FRAMEWORK_LIMIT" "$hbrun" \
        -H pod-0:1,pod-1:1,pod-2:1,pod-3:1 "${@:3}"
    wait_until pod "$1" pkill -KILL -o -f "$2"
    pod_job_ends
    pods_clean 0 1 2 3
}

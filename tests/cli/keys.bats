#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# hpcboot keys: a gang's key is made, handed out, and looked at.
#
# shellcheck disable=SC2016  # expanded in another name space

load ../common

setup() {
    common_setup
    need ssh-keygen
    [ -e "$HB_BUILDDIR/.libs/hb_ssh.so" ] || skip 'built without libssh'
    mkdir -p "$HOME/.ssh"
    chmod 700 "$HOME/.ssh"
}
keys() { hpcboot keys "$@"; }
new_key() { # PATH OPTION...
    local path=$1
    shift
    ssh-keygen -q -N '' -C '' -f "$path" "$@"
}

@test "keys --make: files that ssh itself is content with" {
    umask 0
    run keys --make gang
    ended_with 0
    [ "$(stat -c %a gang gang/*)" = "$(printf '%s\n' 700 600 600 644)" ]
    [ "$(ssh-keygen -y -f gang/id_ed25519 | cut -d' ' -f2)" = \
        "$(cut -d' ' -f2 gang/id_ed25519.pub)" ]
    cmp gang/id_ed25519.pub gang/authorized_keys
    ssh-keygen -l -f gang/id_ed25519.pub | grep -q '256 .*ED25519'
    run keys --check --key gang
    ended_with 0
    says '^key: gang/id_ed25519: ssh-ed25519'
    says_not '^(error|warning)'
}

@test "keys --make never replaces a key" {
    keys --make gang
    cp gang/id_ed25519 before
    run keys --make gang
    ended_with 74
    says 'gang/id_ed25519 cannot be made: File exists'
    cmp gang/id_ed25519 before
}

@test "keys --make makes all files or none" {
    mkdir gang
    echo mine > gang/authorized_keys
    run keys --make gang
    ended_with 74
    says 'gang/authorized_keys cannot be made: File exists'
    [ "$(ls gang)" = authorized_keys ]
    [ "$(cat gang/authorized_keys)" = mine ]
}

@test "keys --secret: YAML that holds a key, its public half and its files" {
    need python3
    run --separate-stderr keys --secret gang-key --namespace hpc
    ended_with 0
    echo "$output" > secret.yaml
    python3 - <<'END'
import base64, re
text = open("secret.yaml").read()
assert re.search(r"^kind: Secret$", text, re.M)
assert re.search(r"^  name: gang-key$", text, re.M)
assert re.search(r"^  namespace: hpc$", text, re.M)
assert re.search(r"^type: kubernetes.io/ssh-auth$", text, re.M)
data = dict(re.findall(r"^  ([a-z0-9_.-]+): ([A-Za-z0-9+/=]{60,})$", text, re.M))
assert data["ssh-privatekey"] == data["id_ed25519"], data.keys()
assert data["ssh-publickey"] == data["authorized_keys"]
open("key", "wb").write(base64.b64decode(data["id_ed25519"]))
open("pub", "wb").write(base64.b64decode(data["ssh-publickey"]))
END
    chmod 600 key
    [ "$(ssh-keygen -y -f key | cut -d' ' -f2)" = "$(cut -d' ' -f2 pub)" ]
}

@test "keys --secret: names that YAML takes for a number or a truth stay names" {
    local name
    for name in 12 1e3 2026-01-01 on true null; do
        run --separate-stderr keys --secret "$name" --namespace "$name"
        ended_with 0
        says "^  name: \"$name\"\$"
        says "^  namespace: \"$name\"\$"
    done
    run --separate-stderr keys --secret one -n only
    says '^  name: one$'
    says '^  namespace: only$'
}

@test "keys --secret of a key that is there, into a file nobody else may read" {
    new_key k -t ecdsa -b 521 -m PEM
    umask 0
    run keys --secret a.b-c --key k -o secret.yaml
    ended_with 0
    [ "$(stat -c %a secret.yaml)" = 600 ]
    sed -n 's/^  ssh-publickey: //p' secret.yaml | base64 -d > pub
    [ "$(cut -d' ' -f1,2 pub)" = "$(cut -d' ' -f1,2 k.pub)" ]
    sed -n 's/^  ssh-privatekey: //p' secret.yaml | base64 -d | cmp - k
    run keys --secret a.b-c --key k -o secret.yaml
    ended_with 74
}

@test "keys: names that are none, actions that do not go together" {
    local name
    for name in Gang -x x- a_b .a '' a..b a.-b; do
        run keys "--secret=$name"
        ended_with 2
    done
    for name in a.b B "$(printf 'a%.0s' {1..64})"; do
        run keys --secret x --namespace "$name"
        ended_with 2
        says "--namespace $name: not a name for Kubernetes"
    done
    run keys --secret x --make y
    ended_with 2
    says 'at a time'
    [ ! -e y ]
}

@test "keys: options of another action than the one that is asked for" {
    other() { # EXPRESSION WORDS...
        run keys "${@:2}"
        ended_with 2
        says "$1"
        [ ! -e y ]
    }
    other '--key goes with --check, --secret or --known-hosts' --make y --key k
    other '--port goes with --known-hosts$' --make y --port 22
    other '--host goes with --known-hosts$' -H a
    other '--namespace goes with --secret$' --make y -n x
    other '--output goes with --secret or --known-hosts$' --check -o y
    other '--make: expected DIR after it' --make --check
}

@test "keys --known-hosts: what hpcbootd serve will show" {
    run keys --known-hosts --key "$HB_SRCDIR/tests/data/trust/ed25519" \
        -H Worker-0.sub,worker-0:2
    ended_with 0
    local key='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFD0IXDKYAMcabrLyvlIKQF98z039DvHxULr5IOxv/xH'
    [ "${lines[0]}" = "Worker-0.sub $key" ]
    [ "${lines[1]}" = "worker-0 $key" ]
    run keys --known-hosts --key "$HB_SRCDIR/tests/data/trust/ed25519" \
        -H Worker-0.sub -H worker-0
    [ "${lines[1]}" = "worker-0 $key" ]
    run keys --known-hosts --key "$HB_SRCDIR/tests/data/trust/sec1" \
        -H worker-0 --port 2222
    says '^\[worker-0\]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB3DQ79wDVwQPqqPLi/MxdqQs96t/KPtRG7HBp1ZmKZM$'
    run keys --known-hosts --key "$HB_SRCDIR/tests/data/trust/sec1" -H 10.0.0.1
    says 'an address has no derived host key'
}

@test "keys: of several keys the one that hpcbootd serve takes" {
    local words
    mkdir -m 700 d
    ssh-keygen -q -t ed25519 -N secret -C '' -f d/a_locked
    new_key d/b -t ed25519
    new_key d/c -t ed25519
    words=$(keys --known-hosts --key d/b -H worker-0)
    run keys --known-hosts --key d -H worker-0
    ended_with 0
    [ "$output" = "$words" ]
    cp d/* "$HOME/.ssh/"
    run keys --known-hosts -H worker-0
    ended_with 0
    [ "$output" = "$words" ]
    keys --secret x --key d | sed -n 's/^  ssh-privatekey: //p' | base64 -d |
        cmp - d/b
    rm d/b d/c
    run keys --known-hosts --key d -H worker-0
    ended_with 2
    says 'd/a_locked is encrypted'
}

@test "keys: nothing is mounted" {
    [ ! -e /root/.ssh ] || [ "$(id -u)" != 0 ] || skip 'root has keys here'
    run keys
    ended_with 1
    says '^error: there is no private key in .*: mount the gang.s Secret'
}

check_of() { # FILE: the findings for it alone
    run keys --check --key "$1"
}

@test "keys: forms of a key that is there" {
    new_key rsa -t rsa -b 2048 -m PEM
    new_key ec -t ecdsa -b 521 -m PEM
    new_key new -t ed25519
    for key in rsa ec new; do
        check_of $key
        ended_with 0
        says "^key: $key: "
    done
}

@test "keys: bytes that are no key, each with what to do" {
    new_key k -t ed25519
    base64 -w0 k > ./twice
    check_of twice
    ended_with 1
    says '^error: twice is encoded in base64 twice: put the text itself under'
    cp k.pub public
    check_of public
    ended_with 1
    says '^error: public is a public key'
    : > empty
    check_of empty
    ended_with 1
    says '^error: empty is empty'
    head -c 200 k > short
    check_of short
    ended_with 1
    says '^error: short holds no private key'
    { printf '\xef\xbb\xbf'; head -c 100 k; } > bom
    check_of bom
    says 'byte order mark'
    ssh-keygen -q -t ed25519 -N secret -C '' -f locked
    check_of locked
    ended_with 1
    says '^error: locked is encrypted.*ssh-keygen -p'
    check_of nosuch
    ended_with 1
    says 'nosuch'
    check_of "$HOME/.ssh"
    ended_with 1
    says '^error: there is no private key'
}

@test "keys: keys that nobody can log in with, each with its reason" {
    need openssl
    openssl genrsa -out tiny 768 2> /dev/null
    check_of tiny
    ended_with 1
    says '^error: tiny .*an RSA key of less than 1024 bits'
    new_key small -t rsa -b 1024
    check_of small
    ended_with 0
    if new_key dsa -t dsa 2> /dev/null; then # newer ssh-keygen makes none
        check_of dsa
        ended_with 1
        says '^error: dsa .*a DSA key, which no server takes'
    fi
    cat > stick << 'END'
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAASgAAABpzay1zc2
gtZWQyNTUxOUBvcGVuc3NoLmNvbQAAACAxlVZoSEEb4CdEDshQsJ4LJzp1z535hm502jiH
Q6EcIAAAAARzc2g6AAAAqAAAAAEAAAABAAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY2
9tAAAAIDGVVmhIQRvgJ0QOyFCwngsnOnXPnfmGbnTaOIdDoRwgAAAABHNzaDoBAAAAQDdQ
kuQYTGIbkwTqZ0qVDgLZGKFk13loVGI+U8Y5LnrZMHZYMBO2Y1N7PXjWXztTcIlPFLx5fx
fLVNJshNByWeMAAAAAAAAAAm1lAQIDBAUGBw==
-----END OPENSSH PRIVATE KEY-----
END
    check_of stick
    ended_with 1
    says '^error: stick .*its secret is in a FIDO device'
}

@test "keys: a key that came as one line is not called encrypted" {
    new_key k -t ed25519
    awk '{ printf "%s\\n", $0 }' k > line
    check_of line
    ended_with 1
    says '^error: line has the two characters \\n where its lines end'
    says_not 'encrypted'
}

@test "keys: what only ssh minds is a warning" {
    new_key k -t ed25519
    chmod 640 k
    check_of k
    ended_with 0
    says '^warning: k has mode 0640, and ssh ignores .*fsGroup'
    chmod 600 k
    sed 's/$/\r/' k > ./crlf && chmod 600 crlf
    check_of crlf
    ended_with 0
    says '^warning: crlf has the line ends of Windows'
    printf %s "$(cat k)" > noend && chmod 600 noend
    check_of noend
    ended_with 0
    says '^warning: noend has no line end'
    { echo; cat k; } > blank && chmod 600 blank
    check_of blank
    says '^warning: blank has text before its key'
}

@test "keys: how a key is laid out is of no matter to who serves with it" {
    local form
    new_key k -t ed25519
    tr '\n' ' ' < k > line
    sed 's/^/    /' k > indented
    tr '\n' '\r' < k > returns
    chmod 600 line indented returns
    for form in line indented returns; do
        check_of $form
        ended_with 0
        says "^key: $form: ssh-ed25519"
        run keys --known-hosts --key $form -H worker-0
        ended_with 0
        [ "$output" = "$(keys --known-hosts --key k -H worker-0)" ]
    done
    check_of line
    says '^warning: line is one line, and ssh does not read it'
    check_of k
    says_not '^warning'
}

@test "keys: what goes with a key has to fit to it" {
    mkdir -m 700 d
    new_key d/k -t ed25519
    new_key other -t ed25519
    cp other.pub d/authorized_keys
    check_of d/k
    ended_with 0
    says '^warning: d/authorized_keys does not hold the public half of d/k'
    sed 's/^/# /' d/k.pub >> d/authorized_keys
    check_of d/k
    says '^warning: d/authorized_keys does not hold the public half of d/k'
    cp other.pub d/k.pub
    check_of d/k
    says '^warning: d/k.pub is not the public half of d/k.*ssh-keygen -y'
    rm d/authorized_keys
    check_of d/k
    says '^note: d/authorized_keys is not there'
}

@test "keys: a folder that sshd's StrictModes refuses" {
    mkdir -m 700 d
    new_key d/k -t ed25519
    cp d/k.pub d/authorized_keys
    chmod 777 d
    check_of d/k
    ended_with 0
    says '^warning: .*/d has mode 0777 .*StrictModes'
}

@test "keys: a file that sshd's StrictModes refuses" {
    mkdir -m 700 d
    new_key d/k -t ed25519
    cp d/k.pub d/authorized_keys
    chmod 664 d/authorized_keys
    check_of d/k
    ended_with 0
    says '^warning: .*/d/authorized_keys has mode 0664 .*StrictModes.*for file'
    chmod 644 d/authorized_keys
    check_of d/k
    says_not 'StrictModes'
}

@test "keys: a folder whose name only begins as the home's is not in it" {
    need_root
    mkdir -m 755 h h2
    mkdir -m 700 h2/d
    chmod 777 .
    new_key h2/d/k -t ed25519
    cp h2/d/k.pub h2/d/authorized_keys
    sed "s|^root:.*|root:x:0:0::$PWD/h:/bin/sh|" /etc/passwd > passwd
    run unshare --mount bash -c 'mount --bind passwd /etc/passwd &&
        "$0" keys --key h2/d' "$HB_BUILDDIR/hpcboot"
    [[ $output != *denied* ]] || skip 'nothing can be mounted here'
    ended_with 0
    says_not 'StrictModes'
}

@test "keys: a Secret's mount is told from a stale subPath" {
    need_root
    new_key k -t ed25519
    mkdir -m 700 s sub
    mkdir s/..data && cp k s/..data/ && ln -s ..data/k s/id_rsa
    run keys --key s
    ended_with 0
    says '^note: s is a mounted volume'
    run unshare --mount bash -c 'mount -t tmpfs secret s &&
        mkdir -p s/..2024_05_01_12_00_00.1/.ssh &&
        mount --bind s/..2024_05_01_12_00_00.1/.ssh sub &&
        cp k sub/id_rsa && "$0" keys --key sub' \
        "$HB_BUILDDIR/hpcboot"
    [[ $output != *denied* ]] || skip 'nothing can be mounted here'
    ended_with 0
    says '^warning: sub is mounted by subPath'
    # So is the file alone, in a folder of the image's.
    run unshare --mount bash -c 'mount -t tmpfs secret s &&
        mkdir s/..2024_05_01_12_00_00.1 &&
        cp k s/..2024_05_01_12_00_00.1/key && : > sub/id_rsa &&
        mount --bind s/..2024_05_01_12_00_00.1/key sub/id_rsa &&
        "$0" keys --key sub' "$HB_BUILDDIR/hpcboot"
    ended_with 0
    says '^warning: sub/id_rsa is mounted by subPath'
    [ "$(grep -c subPath <<< "$output")" -eq 1 ]
    # A file system of its own, and a folder of the host, are no Secret; nor is
    # one of a tmpfs that is, as a container may be given of the host's /run.
    run unshare --mount bash -c 'mount -t tmpfs other sub && cp k sub/id_rsa &&
        "$0" keys --key sub' "$HB_BUILDDIR/hpcboot"
    ended_with 0
    says_not 'subPath'
    run unshare --mount bash -c 'mount -t tmpfs other s && mkdir s/keys &&
        mount --bind s/keys sub && cp k sub/id_rsa &&
        "$0" keys --key sub' "$HB_BUILDDIR/hpcboot"
    ended_with 0
    says_not 'subPath'
    cp k sub/id_rsa
    run unshare --mount bash -c 'mount --bind sub sub && "$0" keys --key sub' \
        "$HB_BUILDDIR/hpcboot"
    ended_with 0
    says_not 'subPath'
}

@test "keys: a key of another user with mode 0600" {
    need_root
    need setpriv
    new_key k -t ed25519
    chmod 600 k
    chmod -R a+rX "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
    chmod 600 k
    run setpriv --reuid 4321 --regid 4321 --clear-groups env -i HOME=/ \
        "$HB_BUILDDIR/hpcboot" keys --key "$PWD/k"
    ended_with 1
    says '^error: .*/k belongs to uid 0 with mode 0600 and uid 4321 cannot read'
    says 'fsGroup'
    says '^note: uid 4321 has no passwd entry'
}

# As a Secret that is mounted to /root/.ssh, for a user who is not root.
@test "keys: a volume that this user cannot reach is told from none" {
    need_root
    need setpriv
    chmod a+rX "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
    new_key k -t ed25519
    mkdir -m 700 shut
    mkdir -p shut/home/.ssh
    reaches_nothing() { # MOUNTS
        run unshare --mount bash -c "$1 true;"' HOME=$PWD/shut/home exec \
            setpriv --reuid 4321 --regid 4321 --clear-groups "$0" keys' \
            "$HB_BUILDDIR/hpcboot"
        [[ $output != *denied*mount* ]] || skip 'nothing can be mounted here'
        ended_with 1
    }
    reaches_nothing 'mount -t tmpfs secret shut/home/.ssh && cp k shut/home/.ssh &&'
    says '^error: the volume at .*/shut/home/.ssh is out of reach for uid 4321'
    says 'sshAuthMountPath'
    reaches_nothing ''
    says '^error: there is no private key in .*: mount the gang'
    says_not 'out of reach'
}

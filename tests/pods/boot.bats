#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# Starting agents through real SSH servers on this host: trust, keys, what goes
# wrong on the way, and the stream itself. The agent is a stand-in; what is
# tested is bin/boot, driven by bootdrive. Servers listen on 127.0.0.1 with
# configuration, keys and processes of their own.
#
# shellcheck disable=SC2016  # Perl and remote shells expand these themselves

load ../common

drive=$HB_BUILDDIR/tests/pods/bootdrive
usual_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

setup_file() {
    need_root
    need ssh ssh-keygen perl "${SSHD:=/usr/sbin/sshd}"
    [ -x "$drive" ] || skip 'built without libssh'
    export SSHD
    export F=$BATS_FILE_TMPDIR
    mkdir -p /run/sshd "$F/keys" "$F/prefix/sbin"
    chmod 755 "$F" "$F/keys"
    key host -t ed25519
    key other -t ed25519
    key me -t ed25519
    cp "$F/keys/me.pub" "$F/authorized"
    agent 'exec cat'
    server_up plain
    server_up rekey 'RekeyLimit 1M'
    known plain rekey
}

teardown_file() {
    local pid
    for pid in "$F"/*.pid; do
        [ ! -e "$pid" ] || kill "$(cat "$pid")" 2> /dev/null || true
    done
}

setup() {
    common_setup
    export HPCBOOT_MODULE_DIR=$HB_BUILDDIR/.libs
    mkdir -p "$HOME/.ssh"
    cp "$F/keys/me" "$HOME/.ssh/id_ed25519"
    cp "$F/known_hosts" "$HOME/.ssh/"
}

teardown() {
    local pid
    for pid in "$BATS_TEST_TMPDIR"/*.pid; do
        [ ! -e "$pid" ] || kill "$(cat "$pid")" 2> /dev/null || true
    done
}

# key NAME SSH-KEYGEN-OPTION...
key() {
    local name=$1
    shift
    ssh-keygen -q -N '' -C '' -f "$F/keys/$name" "$@"
}

# agent COMMAND...: what stands in for hpcbootd under the prefix.
agent() {
    printf '#!/bin/sh\n%s\n' "$*" > "$F/prefix/sbin/hpcbootd"
    chmod 755 "$F/prefix/sbin/hpcbootd"
}

# server_up NAME [LINE...]: an sshd on a port that was free, which it notes in
# NAME.port; lines come before the common ones, and so win.
server_up() {
    local name=$1 dir=${BATS_TEST_TMPDIR:-$F} port line
    shift
    for _ in 1 2 3 4 5 6 7 8; do
        port=$((20000 + RANDOM % 12000))
        {
            for line; do echo "$line"; done
            case "$*" in *HostKey*) ;; *) echo "HostKey $F/keys/host" ;; esac
            echo "Port $port
ListenAddress 0.0.0.0
PidFile $dir/$name.pid
AuthorizedKeysFile $F/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no"
        } > "$dir/$name.conf"
        rm -f "$dir/$name.log" "$dir/$name.pid" # it appends
        "$SSHD" -f "$dir/$name.conf" -E "$dir/$name.log" || return 1
        if wait_for_server "$dir/$name"; then
            echo "$port" > "$dir/$name.port"
            return 0
        fi
    done
    cat "$dir/$name.log"
    return 1
}
wait_for_server() { # comes up, or gives up since the port is taken
    wait_until grep -qE 'Server listening|Cannot bind' "$1.log" &&
        grep -q 'Server listening' "$1.log" && wait_until test -s "$1.pid"
}
port() { cat "$BATS_TEST_TMPDIR/$1.port" 2> /dev/null || cat "$F/$1.port"; }

# known SERVER...: known_hosts lines for the common host key.
known() {
    local server
    for server; do
        echo "[127.0.0.1]:$(port "$server") $(cut -d' ' -f1,2 "$F/keys/host.pub")"
    done >> "$F/known_hosts"
}

# drive SERVER [OPTION...] [HOST...]: an agent there. 127.0.0.1 by default.
drive() {
    local server=$1 hosts=127.0.0.1
    shift
    case ${*: -1} in [0-9]*.*) hosts= ;; esac
    # shellcheck disable=SC2086
    timeout -s KILL "$HB_LIMIT" "$drive" --port "$(port "$server")" \
        --prefix "$F/prefix" "$@" $hosts
}

no_agent_installed() {
    ! PATH=$usual_path command -v hpcbootd > /dev/null ||
        skip 'hpcbootd is installed on this host'
}

# listener NAME PERL: a port where each connection $c meets that code.
listener() {
    local file=$BATS_TEST_TMPDIR/$1
    perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1")
            or die;
        open my $f, ">", "$ARGV[0].tmp"; print $f $s->sockport, "\n"; close $f;
        rename "$ARGV[0].tmp", $ARGV[0];
        while (my $c = $s->accept) { $c->autoflush(1); eval $ARGV[1] }
        ' "$file.port" "$2" 3>&- &
    echo $! > "$file.pid"
    wait_until test -s "$file.port"
}

# --- whom we talk to ----------------------------------------------------------

@test "a known host key is accepted" {
    run -0 drive plain --echo 1000
    says '^echoed 1000 bytes'
    says_not '^unverified'
}

@test "an unknown host key is refused, with fingerprint, file and command" {
    : > "$HOME/.ssh/known_hosts"
    run -0 drive plain
    says "^failed host key: 127.0.0.1: the host key is not known: ssh-ed25519 SHA256:"
    says "ssh-keyscan -p $(port plain) 127.0.0.1 >> $HOME/.ssh/known_hosts"
    [[ $output == *"$(ssh-keygen -lf "$F/keys/host.pub" | cut -d' ' -f2)"* ]]
}

@test "an unknown host key is added to a file whose folder is there" {
    : > "$HOME/.ssh/known_hosts"
    echo "UserKnownHostsFile $PWD/not-there/known $HOME/.ssh/known_hosts" \
        > "$HOME/.ssh/config"
    run -0 drive plain
    says "127.0.0.1 >> $HOME/.ssh/known_hosts "
}

@test "ssh-keyscan as told makes it known" {
    ssh-keyscan -p "$(port plain)" 127.0.0.1 > "$HOME/.ssh/known_hosts"
    run -0 drive plain --echo 10
    says '^echoed'
}

@test "a host that has an alias or a proxy: the command asks the host itself" {
    local command
    : > "$HOME/.ssh/known_hosts"
    echo 'HostKeyAlias the-node' > "$HOME/.ssh/config"
    run -0 drive plain
    says '^failed host key: .*not known'
    command=${output#*add it: }
    eval "${command%% (or accept*}"
    run -0 drive plain --echo 10
    says '^echoed'
    echo "ProxyCommand ssh -oUserKnownHostsFile=$F/known_hosts -i $F/keys/me \
-p $(port rekey) -W %h:%p root@127.0.0.1" > "$HOME/.ssh/config"
    : > "$HOME/.ssh/known_hosts"
    run -0 drive plain
    says "^failed host key: .*add it: ssh -p $(port plain) 127.0.0.1, which goes by the same ProxyCommand, asks and adds it "
    says_not 'keyscan'
}

@test "pin accepts an unknown key and says so" {
    : > "$HOME/.ssh/known_hosts"
    run -0 drive plain --pin --echo 10
    says '^unverified ssh-ed25519 SHA256:'
    says '^echoed'
}

@test "of several kinds that a host is known by the best is asked for" {
    key rsahost -t rsa -b 2048
    key rsaold -t rsa -b 2048
    server_up two "HostKey $F/keys/rsahost" "HostKey $F/keys/host"
    for key in rsaold host; do
        echo "[127.0.0.1]:$(port two) $(cut -d' ' -f1,2 "$F/keys/$key.pub")"
    done > "$HOME/.ssh/known_hosts"
    run -0 drive two --echo 10
    says '^echoed'
    # One that is known is asked for before those that are not.
    echo "[127.0.0.1]:$(port two) $(cut -d' ' -f1,2 "$F/keys/rsahost.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 drive two --echo 10
    says '^echoed'
}

@test "hashed names are understood" {
    ssh-keygen -q -H -f "$HOME/.ssh/known_hosts"
    grep -q '^|1|' "$HOME/.ssh/known_hosts"
    run -0 drive plain --echo 10
    says '^echoed'
}

@test "a changed key is an error in every mode" {
    echo "[127.0.0.1]:$(port plain) $(cut -d' ' -f1,2 "$F/keys/other.pub")" \
        > "$HOME/.ssh/known_hosts"
    for mode in '' --pin; do
        run -0 drive plain $mode
        says "^failed host key: .*CHANGED.*$HOME/.ssh/known_hosts:1 says"
        says "ssh-keygen -f .* -R '\[127.0.0.1\]:$(port plain)'"
    done
}

@test "a changed key: the line of other hosts, too, stays; one is added" {
    local known=$HOME/.ssh/known_hosts port line
    port=$(port plain)
    line="[127.0.*]:$port,[10.0.*]:$port $(cut -d' ' -f1,2 "$F/keys/other.pub")"
    echo "$line" > "$known"
    run -0 drive plain
    says "CHANGED.*$known:1 says another.*add its key .*other hosts, too"
    says "\(ssh-keyscan -p $port 127.0.0.1 >> $known\)"
    says_not 'ssh-keygen'
    ssh-keyscan -p "$port" 127.0.0.1 >> "$known" 2> /dev/null
    run -0 drive plain --echo 10
    says '^echoed'
    [ "$(head -n 1 "$known")" = "$line" ]
    ssh -n -o BatchMode=yes -o UserKnownHostsFile="$known" -p "$port" \
        -i "$HOME/.ssh/id_ed25519" 127.0.0.1 true # as ssh(1) has it
}

# Whoever is on the host may listen at 2222, which is tried where 22 refuses.
@test "a known host whose port 22 refuses is no other one at 2222" {
    ! (: < /dev/tcp/127.9.9.8/22) 2> /dev/null || skip 'something has port 22'
    ! (: < /dev/tcp/127.9.9.8/2222) 2> /dev/null || skip 'port 2222 is taken'
    server_up somebody "HostKey $F/keys/other" 'ListenAddress 127.9.9.8:2222'
    local known=$HOME/.ssh/known_hosts
    at_2222() {
        timeout -s KILL "$HB_LIMIT" "$drive" --ssh-config none --pin \
            --prefix "$F/prefix" "$@" 127.9.9.8
    }
    echo "127.9.9.8 $(cut -d' ' -f1,2 "$F/keys/host.pub")" > "$known"
    run -0 at_2222
    says "^failed host key: .*has CHANGED.*$known:1 says another"
    says "ssh-keygen -f $known -R '127\.9\.9\.8'"
    run -0 at_2222 --port 2222 --echo 10
    says '^unverified'
    : > "$known"
    run -0 at_2222 --echo 10
    says '^unverified'
    echo "127.9.9.8 $(cut -d' ' -f1,2 "$F/keys/other.pub")" > "$known"
    run -0 at_2222 --echo 10
    says_not '^unverified'
    says '^echoed'
}

@test "a known_hosts that is there and cannot be read is no unknown host" {
    {
        echo "[127.0.0.1]:$(port plain) $(cut -d' ' -f1,2 "$F/keys/other.pub")"
        yes '# larger than any that is read' | head -c 17000000
    } > "$HOME/.ssh/known_hosts"
    for mode in '' --pin; do
        run -0 drive plain $mode
        says "^failed host key: .*cannot be compared .*cannot read $HOME/.ssh/known_hosts: it is larger"
        says_not 'keyscan|^unverified'
    done
}

@test "a known_hosts that cannot even be looked at is no unknown host" {
    rm "$HOME/.ssh/known_hosts"
    ln -s known_hosts "$HOME/.ssh/known_hosts"
    for mode in '' --pin; do
        run -0 drive plain $mode
        says "^failed host key: .*cannot be compared .*cannot read $HOME/.ssh/known_hosts: Too many levels"
        says_not 'keyscan|^unverified'
    done
}

@test "a host known by another type of key is not pinned" {
    key ecdsa -t ecdsa
    echo "[127.0.0.1]:$(port plain) $(cut -d' ' -f1,2 "$F/keys/ecdsa.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 drive plain --pin
    says '^failed host key: .*CHANGED'
}

@test "the type a host is known by is asked for first" {
    key rsa_host -t rsa -b 2048
    server_up two "HostKey $F/keys/host" "HostKey $F/keys/rsa_host"
    echo "[127.0.0.1]:$(port two) $(cut -d' ' -f1,2 "$F/keys/rsa_host.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 drive two --echo 10
    says '^echoed'
}

@test "a revoked key is refused, also by pin" {
    echo "@revoked * $(cut -d' ' -f1,2 "$F/keys/host.pub")" \
        >> "$HOME/.ssh/known_hosts"
    run -0 drive plain --pin
    says '^failed host key: .*@revoked in'
}

@test "a key that ssh_config has revoked is refused, by pin too" {
    local file
    cut -d' ' -f1,2 "$F/keys/other.pub" "$F/keys/host.pub" > revoked
    echo "RevokedHostKeys $PWD/revoked" > "$HOME/.ssh/config"
    run -0 drive plain --pin
    says "^failed host key: 127.0.0.1: its host key .* is revoked by $PWD/revoked:2"
    sed -n 's/^ssh-[^ ]* \([^ ]*\).*/ \tssh-ed25519  \1 of old/p' \
        "$F/keys/host.pub" > revoked
    run -0 drive plain --pin
    says "^failed host key: .* is revoked by $PWD/revoked:1"
    cut -d' ' -f1,2 "$F/keys/other.pub" > revoked
    run -0 drive plain --echo 10
    says '^echoed'
    rm revoked
    run -0 drive plain
    says '^failed host key: .*no host key is accepted.*revoked'
    ssh-keygen -q -k -f revoked "$F/keys/other.pub"
    run -0 drive plain
    says '^failed host key: .*is a key revocation list.*--launch-with ssh'
    echo 'RevokedHostKeys none' > "$HOME/.ssh/config"
    run -0 drive plain --echo 10
    says '^echoed'
}

@test "a certificate authority is refused in words" {
    echo "@cert-authority 127.* $(cut -d' ' -f1,2 "$F/keys/other.pub")
@cert-authority [127.*]:* $(cut -d' ' -f1,2 "$F/keys/other.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 drive plain --pin
    says '^failed host key: .*@cert-authority.*--launch-with ssh'
}

@test "a host that has the gang's key as its host key is trusted" {
    openssl ecparam -name secp521r1 -genkey -noout -out "$F/keys/gang"
    server_up gang "HostKey $F/keys/gang" "HostKey $F/keys/host"
    : > "$HOME/.ssh/known_hosts"
    run -0 drive gang --gang-key "$F/keys/gang" --echo 10
    says '^echoed'
    says_not '^unverified'
    run -0 drive gang --echo 10
    says '^failed host key'
    cp "$F/keys/gang" "$HOME/.ssh/id_rsa"
    run -0 drive gang --inside-gang --echo 10
    says '^echoed'
}

@test "a host that changes its key within a job is refused" {
    : > "$HOME/.ssh/known_hosts"
    server_up second "HostKey $F/keys/other"
    printf '%s\n' 'Host *' 'HostKeyAlias same' 'Host 127.0.0.2' \
        "Port $(port second)" 'Host 127.0.0.1' "Port $(port plain)" \
        > "$HOME/.ssh/config"
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --pin --prefix "$F/prefix" \
        --echo 10 127.0.0.1 127.0.0.2
    says '^echoed'
    says '^unverified'
    says '^failed host key: .*CHANGED since this job first saw it'
}

@test "ssh_config cannot switch the check off" {
    printf '%s\n' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' \
        > "$HOME/.ssh/config"
    run -0 drive plain --echo 10
    says '^echoed'
    : > "$HOME/.ssh/known_hosts"
    run -0 drive plain
    says "^failed host key: .*not known.*>> $HOME/.ssh/known_hosts"
}

# --- ssh_config ---------------------------------------------------------------

@test "names, ports, users and keys come from ssh_config" {
    mv "$HOME/.ssh/id_ed25519" "$BATS_TEST_TMPDIR/key"
    cat > "$HOME/.ssh/config" << END
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
Host lm-mpi-worker-0
  HostName 127.0.0.1
  Port $(port plain)
  User root
  IdentityFile $BATS_TEST_TMPDIR/key
END
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --prefix "$F/prefix" --echo 9 \
        lm-mpi-worker-0
    says '^echoed'
}

@test "letters and variables of ssh_config are replaced, or named" {
    local keyword value
    mkdir kh.d
    mv "$HOME/.ssh/known_hosts" kh.d/gang
    sed -i 's/^\[[^ ]*/gang/' kh.d/gang
    mv "$HOME/.ssh/id_ed25519" "key-0-127.0.0.1"
    export WHERE=$PWD
    cat > config << 'END'
HostKeyAlias gang
UserKnownHostsFile ${WHERE}/kh.d/%k
IdentityFile ${WHERE}/key-%i-%h
END
    run -0 drive plain --ssh-config "$PWD/config" --echo 10
    says '^echoed'
    for keyword in IdentityFile UserKnownHostsFile GlobalKnownHostsFile \
        IdentityAgent; do
        for value in '/x/%C' '${NOT_SET_AT_ALL}/x'; do
            echo "$keyword $value" > config
            run -0 drive plain --ssh-config "$PWD/config"
            says "^refused: 127.0.0.1: $keyword .* of ssh_config has a % letter"
        done
    done
    # As with ssh there is no agent then.
    printf 'HostKeyAlias gang\nUserKnownHostsFile %s/kh.d/gang
IdentityFile %s/key-0-127.0.0.1\nIdentityAgent $NOT_SET_AT_ALL\n' \
        "$PWD" "$PWD" > config
    run -0 drive plain --ssh-config "$PWD/config" --echo 10
    says '^echoed'
}

@test "with IdentitiesOnly keys that ssh_config does not name are not offered" {
    printf 'IdentitiesOnly yes\nIdentityFile /dev/null\n' > "$HOME/.ssh/config"
    run -0 drive plain
    says '^failed authenticate: 127.0.0.1: no private key to log in with'
    printf 'IdentitiesOnly yes\n' > "$HOME/.ssh/config"
    run -0 drive plain --echo 10
    says '^echoed'
}

@test "what --ssh-config includes lies beside the user's own" {
    echo 'Include more.conf' > "$BATS_TEST_TMPDIR/config"
    echo 'User no-such-user' > "$HOME/.ssh/more.conf"
    run -0 drive plain --ssh-config "$BATS_TEST_TMPDIR/config"
    says '^failed authenticate: .*login as no-such-user refused'
}

@test "ProxyJump leads to the host, and the host's key is still checked" {
    cat > "$BATS_TEST_TMPDIR/config" << END
Host jump
  HostName 127.0.0.1
  Port $(port rekey)
  User root
  IdentityFile $F/keys/me
  UserKnownHostsFile $F/known_hosts
Host 127.0.0.1
  ProxyJump jump
  IdentityFile $F/keys/me
END
    run -0 drive plain --ssh-config "$BATS_TEST_TMPDIR/config" --echo 100000
    says '^stage connect the ProxyJump command'
    says '^echoed 100000'
    : > "$HOME/.ssh/known_hosts"
    run -0 drive plain --ssh-config "$BATS_TEST_TMPDIR/config"
    says '^failed host key: .*not known'
}

@test "ProxyCommand leads to the host; what it says when it fails is shown" {
    echo "ProxyCommand ssh -oUserKnownHostsFile=$F/known_hosts -i $F/keys/me \
-p $(port rekey) -W %h:%p root@127.0.0.1" > "$HOME/.ssh/config"
    run -0 drive plain --echo 1000
    says '^echoed'
    echo 'ProxyCommand echo no way >&2; exit 1' > "$HOME/.ssh/config"
    run -0 drive plain
    says '^chatter no way'
    says '^failed banner: .*ProxyCommand command ended before the SSH banner; it said: "no way"$'
    echo 'ProxyCommand echo out of order; exit 1' > "$HOME/.ssh/config"
    run -0 drive plain
    says '^failed banner: .*ended before the SSH banner; it said: "out of order"$'
    echo 'ProxyCommand sh -c "echo waiting >&2; exec sleep 1000"' \
        > "$HOME/.ssh/config"
    run -0 drive plain --timeout 4000
    says '^failed banner: .*ProxyCommand command brings no SSH banner; it said: "waiting" \(within'
    says_not 'accepts connections'
}

@test "a mistake in ssh_config is named with file and line" {
    printf '%s\n' '# mine' 'Port nine' > "$HOME/.ssh/config"
    run -0 drive plain
    says "^refused: $HOME/.ssh/config:2: not a port number"
}

# --- who we are ---------------------------------------------------------------

# Every form a mounted key may have; the file's name and mode say nothing.
key_forms() {
    local k=$BATS_TEST_TMPDIR/k curve
    rm -f "$k"*
    ssh-keygen -q -N '' -t rsa -b 2048 -m PEM -f "$k-rsa-pkcs1"
    ssh-keygen -q -N '' -t rsa -b 2048 -m PKCS8 -f "$k-rsa-pkcs8"
    ssh-keygen -q -N '' -t rsa -b 2048 -f "$k-rsa-openssh"
    ssh-keygen -q -N '' -t ecdsa -b 256 -f "$k-ecdsa-openssh"
    ssh-keygen -q -N '' -t ed25519 -f "$k-ed25519-openssh"
    for curve in prime256v1 secp384r1 secp521r1; do
        openssl ecparam -name $curve -genkey -noout -out "$k-$curve-sec1"
        openssl pkcs8 -topk8 -nocrypt -in "$k-$curve-sec1" \
            -out "$k-$curve-pkcs8"
        openssl ecparam -name $curve -genkey -out "$k-$curve-with-params"
    done
    sed 's/$/\r/' "$k-secp521r1-sec1" > "$k-crlf"
    { echo 'Bag Attributes'; cat "$k-rsa-pkcs1"; echo; } > "$k-with-text"
    printf %s "$(cat "$k-ed25519-openssh")" > "$k-no-newline"
    for k in "$BATS_TEST_TMPDIR"/k-*; do
        case $k in *.pub) continue ;; esac
        chmod 600 "$k"
        echo "$k"
    done
}

@test "keys in every form log in" {
    key_forms > forms
    cat "$F/authorized" > authorized
    while read -r file; do
        tr -d '\r' < "$file" | sed '/^Bag/d' > clean
        echo >> clean
        chmod 600 clean
        ssh-keygen -y -f clean >> authorized
    done < forms
    server_up form "AuthorizedKeysFile $PWD/authorized"
    ssh-keyscan -p "$(port form)" 127.0.0.1 > "$HOME/.ssh/known_hosts"
    [ "$(wc -l < forms)" = 17 ]
    while read -r file; do
        chmod 644 "$file"
        run -0 drive form --identity "$file" --echo 10 < /dev/null
        says '^echoed' || { echo "$file"; return 1; }
    done < forms
}

@test "a key is found whatever its file is called and whatever its mode" {
    mv "$HOME/.ssh/id_ed25519" "$HOME/.ssh/ssh-privatekey"
    chmod 644 "$HOME/.ssh/ssh-privatekey"
    run -0 drive plain --echo 10
    says '^echoed'
}

# by_authority SERVER AUTHORITY: a server that lets in who has a certificate of
# this authority, and nobody else.
by_authority() {
    key "$2" -t ed25519
    : > nobody
    server_up "$1" "AuthorizedKeysFile $PWD/nobody" \
        "TrustedUserCAKeys $F/keys/$2.pub"
    ssh-keyscan -p "$(port "$1")" 127.0.0.1 > "$HOME/.ssh/known_hosts"
}

@test "a user certificate beside its key logs in" {
    local type
    by_authority certs authority
    for type in ed25519 ecdsa rsa; do
        rm -f "$HOME"/.ssh/id_* one one.pub one-cert.pub
        ssh-keygen -q -N '' -t $type -f one
        run -0 drive certs --identity "$PWD/one"
        says '^failed authenticate'
        ssh-keygen -q -s "$F/keys/authority" -I me -n root one.pub
        run -0 drive certs --identity "$PWD/one" --echo 10
        says '^echoed' || { echo "$type"; return 1; }
    done
    # Where the key itself is authorized, a foreign certificate does no harm.
    ssh-keygen -q -s "$F/keys/other" -I me -n root one.pub
    cp one.pub authorized
    server_up both "AuthorizedKeysFile $PWD/authorized"
    ssh-keyscan -p "$(port both)" 127.0.0.1 > "$HOME/.ssh/known_hosts"
    run -0 drive both --identity "$PWD/one" --echo 10
    says '^echoed'
}

@test "a certificate that ssh_config names goes with its key, wherever that is" {
    local type
    by_authority named ca
    for type in ed25519 ecdsa rsa; do
        rm -f "$HOME"/.ssh/id_* one one.pub issued
        ssh-keygen -q -N '' -t $type -f one
        ssh-keygen -q -s "$F/keys/ca" -I me -n root one.pub
        mv one-cert.pub issued
        printf '%s\n' "IdentityFile $F/keys/other" "IdentityFile $PWD/one" \
            "CertificateFile $PWD/issued" > config
        run -0 drive named --ssh-config "$PWD/config" --echo 10
        says '^echoed' || { echo "$type"; return 1; }
    done
    echo nonsense > issued
    run -0 drive named --ssh-config "$PWD/config"
    says "^failed authenticate: .*not usable: $PWD/issued: not a certificate"
}

@test "a refused login names the user and the keys" {
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    run -0 drive plain
    says "^failed authenticate: 127.0.0.1: login as root refused .*publickey.*offered: $HOME/.ssh/id_ed25519.*PermitRootLogin"
    server_up keyless "PubkeyAuthentication no" "PasswordAuthentication yes"
    known keyless && cp "$F/known_hosts" "$HOME/.ssh/known_hosts"
    run -0 drive keyless
    says '^failed authenticate: .*accepts: password.*its sshd takes no keys'
}

@test "an encrypted key is said to be; ssh-agent makes it work" {
    cp "$F/keys/me" secret
    chmod 600 secret
    ssh-keygen -q -p -N 'pass word' -f secret
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    run -0 drive plain --identity "$PWD/secret"
    says "^failed authenticate: .*$PWD/secret: encrypted"
    eval "$(ssh-agent -s)" 3>&-
    echo "$SSH_AGENT_PID" > agent.pid
    ssh-add -q "$F/keys/me" < /dev/null
    run -0 drive plain --identity "$PWD/secret" --echo 10
    says '^echoed'
}

@test "a key that no server takes is not said to be refused by this one" {
    need openssl
    openssl genrsa -out tiny 768 2> /dev/null
    run -0 drive plain --identity "$PWD/tiny"
    says "tiny: an RSA key of less than 1024 bits"
    says_not 'looked in|offered|authorized_keys'
}

@test "many keys do not make the host hang up unheard" {
    for i in 1 2 3 4 5 6 7 8; do
        ssh-keygen -q -N '' -t ed25519 -f "$HOME/.ssh/a$i"
    done
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    run -0 drive plain
    says '^failed authenticate: .*login as root refused'
    says 'name one with --identity'
    run -0 drive plain --identity "$F/keys/me" --echo 10
    says '^echoed'
}

@test "a host that wants two keys gets two" {
    cat "$F/keys/me.pub" "$F/keys/other.pub" > both
    server_up two 'AuthenticationMethods publickey,publickey' \
        "AuthorizedKeysFile $PWD/both"
    known two && cp "$F/known_hosts" "$HOME/.ssh/"
    run -0 drive two
    says '^failed authenticate: .*is accepted, but the host wants a second key'
    cp "$F/keys/other" "$HOME/.ssh/id_rsa"
    run -0 drive two --echo 10
    says '^echoed'
    # Both from an ssh-agent, or the second from a file that comes after it.
    mkdir away && mv "$HOME/.ssh/id_"* away
    eval "$(ssh-agent -s)" 3>&-
    echo "$SSH_AGENT_PID" > agent.pid
    ssh-add -q "$F/keys/me" < /dev/null
    # libssh forgets what an agent has said first when it asks that again.
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    run -0 drive two
    says '^failed authenticate: .*is accepted, but the host wants a second key'
    ssh-add -q "$F/keys/other" < /dev/null
    run -0 drive two --echo 10
    says '^echoed'
    server_up more 'AuthenticationMethods publickey,password' \
        'PasswordAuthentication yes'
    known more && cp "$F/known_hosts" "$HOME/.ssh/"
    run -0 drive more
    says '^failed authenticate: .*wants a second proof, which a launcher cannot'
}

@test "a host that hangs up over keys is not waited for" {
    local n i
    for i in 1 2 3 4; do
        ssh-keygen -q -N '' -t ed25519 -f "$HOME/.ssh/a$i"
    done
    mv "$HOME/.ssh/id_ed25519" "$HOME/.ssh/b"
    for n in 1 2; do
        server_up "tries$n" "MaxAuthTries $n"
        echo "[127.0.0.1]:$(port "tries$n")" \
            "$(cut -d' ' -f1,2 "$F/keys/host.pub")" >> "$HOME/.ssh/known_hosts"
        run -0 drive "tries$n"
        says "^failed authenticate: .*Too many.*offered: $HOME/.ssh/a1"
        says 'name the right one with --identity'
        run -0 drive "tries$n" --identity "$HOME/.ssh/b" --echo 10
        says '^echoed'
    done
}

@test "a host that goes down while it looks at a key has not refused it" {
    # shellcheck disable=SC2016  # for the server
    printf '%s\n' '#!/bin/sh' 'kill -KILL $PPID' > looks
    chmod 755 looks
    server_up down "AuthorizedKeysCommand /bin/sh $PWD/looks" \
        'AuthorizedKeysCommandUser root'
    echo "[127.0.0.1]:$(port down)" \
        "$(cut -d' ' -f1,2 "$F/keys/host.pub")" >> "$HOME/.ssh/known_hosts"
    run -0 drive down --identity "$F/keys/other"
    says "^failed authenticate: .*failed: .*offered: $F/keys/other"
    says_not 'after a few keys|refused'
}

@test "a host that hangs up over the keys of an ssh-agent is not waited for" {
    local i
    eval "$(ssh-agent -s)" 3>&-
    echo "$SSH_AGENT_PID" > agent.pid
    for i in 1 2 3 4 5 6 7 8; do
        ssh-keygen -q -N '' -t ed25519 -f "a$i"
        ssh-add -q "a$i" < /dev/null
    done
    rm "$HOME/.ssh/id_ed25519"
    run -0 drive plain
    says '^failed authenticate: .*(Too many authentication failures|disconnected).*ssh-agent'
    says 'name a file with --identity'
}

@test "an ssh-agent that does not answer is not waited for" {
    perl -MIO::Socket::UNIX -e '
        my $s = IO::Socket::UNIX->new(Listen => 9, Local => "deaf") or die;
        my @all; while (1) { push @all, $s->accept() }' 3>&- &
    echo $! > deaf.pid
    wait_until test -S deaf
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    SSH_AUTH_SOCK=$PWD/deaf run -0 drive plain
    says "^failed authenticate: .*login as root refused"
    says "$PWD/deaf: no ssh-agent answers there"
    says_not 'offered:.*the keys of ssh-agent'
    rm "$HOME/.ssh/id_ed25519"
    SSH_AUTH_SOCK=$PWD/nothing run -0 drive plain
    says '^failed authenticate: .*no private key to log in with as root'
}

@test "with IdentitiesOnly an ssh-agent's other keys are not offered" {
    local i
    eval "$(ssh-agent -s)" 3>&-
    echo "$SSH_AGENT_PID" > agent.pid
    for i in 1 2 3 4 5 6 7; do
        ssh-keygen -q -N '' -t ed25519 -f "a$i"
        ssh-add -q "a$i" < /dev/null
    done
    ssh-add -q "$F/keys/me" < /dev/null
    mv "$HOME/.ssh/id_ed25519" secret
    ssh-keygen -q -p -N 'pass word' -f secret
    printf 'IdentitiesOnly yes\nIdentityFile %s/secret\n' "$PWD" \
        > "$HOME/.ssh/config"
    run -0 drive plain --echo 10
    says '^echoed'
    # The public half alone, or beside what is none.
    cp "$F/keys/me.pub" secret
    run -0 drive plain --echo 10
    says '^echoed'
    mv secret secret.pub
    run -0 drive plain --echo 10
    says '^echoed'
    cp a1.pub secret.pub
    run -0 drive plain
    says '^failed authenticate: .*login as root refused.*offered: the keys of ssh-agent that are named'
}

@test "an ssh-agent that has none of the keys that may be used is said to" {
    eval "$(ssh-agent -s)" 3>&-
    echo "$SSH_AGENT_PID" > agent.pid
    rm "$HOME/.ssh/id_ed25519"
    none_in_agent() { # WORDS
        run -0 drive plain
        says "^failed authenticate: .*no private key to log in with as root \\(none of ssh-agent; .*$SSH_AUTH_SOCK: $1"
        says_not 'accepts: nothing|offered|authorized_keys'
    }
    none_in_agent 'ssh-agent has no keys'
    ssh-add -q "$F/keys/other" < /dev/null
    cp "$F/keys/me" secret
    ssh-keygen -q -p -N 'pass word' -f secret
    printf 'IdentitiesOnly yes\nIdentityFile %s/secret\n' "$PWD" \
        > "$HOME/.ssh/config"
    none_in_agent 'ssh-agent has none of the keys that are named'
    ssh-keygen -q -t rsa -m PEM -N 'pass word' -f old
    rm old.pub
    mv old secret
    none_in_agent 'ssh-agent was not asked: no key that is named has a public'
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    printf 'IdentitiesOnly yes\nIdentityFile ~/.ssh/id_ed25519\n' \
        > "$HOME/.ssh/config"
    ssh-add -q -D
    run -0 drive plain
    says "^failed authenticate: .*login as root refused.*offered: $HOME/.ssh/id_ed25519; not usable: .*ssh-agent has none of"
}

@test "an ssh-agent that lists its keys and never signs is not waited for" {
    perl "$fakes/silent_agent.pl" held signs "$F/keys/me.pub" 3>&- &
    echo $! > held.pid
    wait_until test -S held
    cp "$F/keys/other" "$HOME/.ssh/id_ed25519"
    SSH_AUTH_SOCK=$PWD/held run -0 drive plain --timeout 10000
    says "^failed authenticate: .*$PWD/held: no ssh-agent answers there"
    # Logins that go in step wait for it once, all together: none hears that its
    # key is welcome before all have asked.
    rm signs "$HOME/.ssh/id_ed25519"
    cat > in-step <<END
echo asks >> $PWD/asking
until [ "\$(wc -l < $PWD/asking)" -ge 4 ] || [ -e $PWD/over ]; do sleep 0.02; done
cat $F/authorized
END
    server_up step 'AuthorizedKeysFile none' 'AuthorizedKeysCommandUser root' \
        "AuthorizedKeysCommand /bin/sh $PWD/in-step"
    echo "[127.0.0.1]:$(port step) $(cut -d' ' -f1,2 "$F/keys/host.pub")" \
        >> "$HOME/.ssh/known_hosts"
    SSH_AUTH_SOCK=$PWD/held run -0 drive step --timeout 24000 \
        127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1
    touch over
    [ "$(grep -c "$PWD/held: no ssh-agent answers there" <<< "$output")" -eq 4 ]
    [ "$(wc -l < signs)" -eq 1 ]
}

@test "a uid without a passwd entry and without HOME logs in" {
    local uid=54321 port dir
    port=$(port plain)
    dir=$(mktemp -d) # all may pass; those of bats are private
    cp "$F/keys/me" "$dir/key"
    chown -R $uid "$dir"
    as_nobody() {
        env -u HOME -u USER -u LOGNAME setpriv --reuid "$uid" --regid "$uid" \
            --clear-groups "$drive" --port "$port" --prefix "$F/prefix" --pin \
            --identity "$dir/key" --echo 10 "$@" 127.0.0.1
    }
    setpriv --reuid $uid --regid $uid --clear-groups \
        test -x "$drive" -a -r "$HPCBOOT_MODULE_DIR/hb_ssh.so" || {
        rm -r "$dir"
        skip 'the build is not readable for others'
    }
    run -0 as_nobody --user root
    says '^echoed'
    run -0 as_nobody
    rm -r "$dir"
    says "^failed authenticate: 127.0.0.1: login as $uid refused: this uid has no passwd entry"
}

@test "a known_hosts that may not be read is named" {
    local uid=54322
    setpriv --reuid $uid --regid $uid --clear-groups \
        test -x "$drive" -a -r "$HPCBOOT_MODULE_DIR/hb_ssh.so" ||
        skip 'the build is not readable for others'
    dir=$(mktemp -d)
    mkdir "$dir/.ssh"
    cp "$F/keys/me" "$dir/key"
    cp "$HOME/.ssh/known_hosts" "$dir/.ssh/"
    chown -R $uid "$dir"
    chown 0 "$dir/.ssh/known_hosts"
    chmod 600 "$dir/.ssh/known_hosts"
    run -0 env HOME="$dir" USER=root setpriv --reuid $uid --regid $uid \
        --clear-groups "$drive" --port "$(port plain)" --prefix "$F/prefix" \
        --identity "$dir/key" 127.0.0.1
    rm -r "$dir"
    says "^failed host key: .*not known.*uid $uid may not read $dir/.ssh/known_hosts"
    says_not ssh-keyscan
}

@test "a user name that is none is named" {
    run -0 drive plain --user 'a b;c'
    says '^(refused|failed host key): 127.0.0.1: "a b;c" is no user name to log in as'
}

# --- what goes wrong on the way -----------------------------------------------

@test "a name that does not resolve" {
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" no-such-host.invalid
    says '^failed resolve: no-such-host.invalid: the name no-such-host.invalid does not resolve'
}

@test "a closed port" {
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --port 1 127.0.0.1
    says '^failed connect: 127.0.0.1: 127.0.0.1 refuses port 1 '
}

@test "an operator's port is tried after 22" {
    ! (: < /dev/tcp/127.9.9.9/22) 2> /dev/null || skip 'something has port 22'
    ! (: < /dev/tcp/127.9.9.9/2222) 2> /dev/null || skip 'port 2222 is taken'
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --ssh-config none \
        --inside-gang 127.9.9.9
    says '^failed connect: .*refuses port 2222, and 22 as well'
}

@test "an address that does not work does not keep from one that does" {
    getent ahosts localhost | grep -q ^::1 || skip 'localhost has no IPv6'
    echo "[localhost]:$(port plain) $(cut -d' ' -f1,2 "$F/keys/host.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --port "$(port plain)" \
        --prefix "$F/prefix" --echo 10 localhost
    says '^echoed'
}

# ssh_opens WORD...: the fake of that name is what answers.
ssh_opens() {
    pkg-config --exists libssh || skip 'no libssh to build a server with'
    # shellcheck disable=SC2046  # several words
    [ -x "$F/ssh_opens" ] || "${cc[@]}" -pthread -o "$F/ssh_opens" \
        "$fakes/ssh_opens.c" $(pkg-config --cflags --libs libssh)
    echo "ProxyCommand exec $F/ssh_opens $F/keys/host $*" > "$HOME/.ssh/config"
}
# memory COMMAND...: and the most that it had of it.
memory() {
    timeout -s KILL "$HB_LIMIT" python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:])
print("MiB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)' "$@"
}
memory_is_below() { # MIB
    is_sanitized || [ "$(sed -n 's/^MiB //p' <<< "$output")" -lt "$1" ] ||
        says_not '^MiB'
}

@test "what a host asks for in its turn is refused, and not kept" {
    need python3
    ssh_opens 4000 30000
    run -0 memory "$drive" --pin --prefix "$F/prefix" 127.0.0.1
    says '^data done'
    says '^closed'
    memory_is_below 48
}

# libssh answers each of these by itself, before the host key is seen.
@test "a host that asks without end and reads no answers is hung up on" {
    need python3
    listener flood 'local $SIG{PIPE} = "IGNORE"; push @keep, $c;
        my $p = pack("H*", "0000000c0ac8" . "00" x 10) x 4096;
        my $n = syswrite $c, "SSH-2.0-x\r\n";
        while ($n < 256 << 20) { $n += syswrite($c, $p) || last }'
    run -0 memory "$drive" --port "$(port flood)" --timeout 60000 127.0.0.1
    says '^failed host key: 127.0.0.1: .*asks without end and reads none'
    memory_is_below 48
}

@test "a host that does so when it runs a command is hung up on" {
    need python3
    ssh_opens 400000 1 deaf
    run -0 memory "$drive" --pin --prefix "$F/prefix" 127.0.0.1
    says '^closed the SSH connection was given up: .*reads none'
    memory_is_below 64
}

@test "a port that accepts and says nothing" {
    listener silent 'push @keep, $c'
    run -0 drive silent --timeout 3000
    says '^failed banner: .*accepts connections but sends no SSH banner'
}

@test "a port that is no SSH server" {
    listener web 'print $c "HTTP/1.1 400 Bad Request\r\n\r\n"; push @keep, $c'
    run -0 drive web --timeout 3000
    says '^failed banner: .*sends no SSH banner; it sends: '
    listener noise 'local $SIG{PIPE} = "IGNORE"; for (1..9999) {
        syswrite($c, "x" x 4096) or last }'
    run -0 drive noise
    says '^failed banner: .*is not an SSH server; it sends: xxx'
}

@test "lines before the banner and a banner in pieces are borne" {
    listener relay 'use IO::Socket::INET; use IO::Select;
        my $up = IO::Socket::INET->new("127.0.0.1:'"$(port plain)"'");
        syswrite $c, "You are being watched.\r\n";
        my $s = IO::Select->new($c, $up); my $first = 1;
        LOOP: while (1) { for my $r ($s->can_read) {
            sysread($r, my $b, 65536) or last LOOP;
            if ($r == $up && $first) { $first = 0;
                syswrite $c, substr($b, 0, 2); select undef, undef, undef, 0.1;
                $b = substr $b, 2 }
            syswrite($r == $c ? $up : $c, $b) } }'
    echo "[127.0.0.1]:$(port relay) $(cut -d' ' -f1,2 "$F/keys/host.pub")" \
        > "$HOME/.ssh/known_hosts"
    run -0 drive relay --echo 10
    says '^echoed'
}

@test "a server that stops during the key exchange" {
    listener half 'print $c "SSH-2.0-OpenSSH_9.2\r\n"; push @keep, $c'
    run -0 drive half --timeout 3000
    says '^failed host key: .*stopped during the key exchange'
}

@test "a server that always hangs up is given up on, with its words" {
    listener closed 'print $c "Go away\r\n"; shutdown $c, 1; sysread $c, $_, 9'
    run -0 drive closed
    says '^failed banner: .*hung up before the SSH banner and said: Go away'
}

@test "what a host says as it breaks off is one line of ours" {
    # A packet 1 (disconnect) with a text of several lines, once the client has
    # sent its own first packet.
    listener rude 'print $c "SSH-2.0-rude\r\n"; my $n = 0;
        $n += sysread $c, $_, 4096 while $n < 300;
        my $t = "no\nfailed agent: \x1b[1mforged\r\n"; $t .= "." x (8 - length($t) % 8);
        my $p = pack("CNN/aN", 1, 2, $t, 0); my $pad = 16 - (5 + length $p) % 8;
        print $c pack("NC", length($p) + $pad + 1, $pad), $p, "\0" x $pad;
        push @keep, $c'
    run -0 drive rude
    says '^failed host key: 127.0.0.1: .*no\?failed agent: \?\[1mforged'
    says_not '^failed agent'
}

@test "a busy server's MaxStartups is waited out" {
    server_up busy 'MaxStartups 1:100:1'
    run -0 drive busy --pin --echo 1000 --limit 60 127.0.0.1 127.0.0.2 \
        127.0.0.3 127.0.0.4 127.0.0.5 127.0.0.6
    [ "$(grep -c '^echoed 1000' <<< "$output")" = 6 ]
}

@test "a key exchange that the server does not know" {
    server_up nist 'KexAlgorithms ecdh-sha2-nistp384'
    run -0 drive nist --pin --echo 10
    says '^echoed'
    run -0 drive nist --pin --kex curve25519-sha256
    says '^failed host key: .*key exchange'
    run -0 drive nist --pin --kex nonsense
    says '^failed host key: .*--kex nonsense'
}

# --- shells and commands ------------------------------------------------------

@test "a missing agent is named by the host in one line, status 127" {
    no_agent_installed
    run -0 timeout -s KILL "$HB_LIMIT" "$drive" --port "$(port plain)" \
        --prefix /nowhere 127.0.0.1
    says '^chatter hpcbootd: not found on 127.0.0.1 \(looked in /nowhere/sbin/hpcbootd, '
    says '^closed the remote command exited with status 127'
}

@test "the agent starts under tcsh" {
    need tcsh
    server_up tcsh 'ForceCommand tcsh -c "$SSH_ORIGINAL_COMMAND"'
    run -0 drive tcsh --pin --echo 1000
    says '^echoed'
}

@test "noise of a login shell comes as data and chatter" {
    server_up noise 'ForceCommand echo welcome; echo beware >&2; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    agent 'echo agent; exit 3'
    run -0 drive noise --pin
    agent 'exec cat'
    says '^data welcome'
    says '^chatter beware'
    says '^closed the remote command exited with status 3'
}

@test "nologin and forced commands are seen" {
    server_up nologin 'ForceCommand /usr/sbin/nologin'
    run -0 drive nologin --pin
    says '^data This account is currently not available'
    says '^closed the remote command exited with status 1'
    server_up forced 'ForceCommand echo only this'
    run -0 drive forced --pin
    says '^data only this'
    says '^closed the remote command exited with status 0'
}

@test "a server's notice is shown" {
    echo 'Authorized use only' > notice
    server_up notice "Banner $PWD/notice"
    run -0 drive notice --pin --echo 10
    says '^chatter Authorized use only'
    says '^echoed'
}

# --- the stream ---------------------------------------------------------------

@test "bytes are the same after many key exchanges" {
    local bytes=50000000
    [ "${HB_LONG:-no}" = no ] || bytes=1100000000
    run -0 drive rekey --echo $bytes --limit 300
    says "^echoed $bytes bytes"
}

@test "a paused stream holds the sender, and nothing is lost" {
    run -0 drive plain --echo 20000000 --hold 2000
    says '^held [0-9]{6,7} sent 0 got'
    says '^echoed 20000000 bytes'
}

@test "an agent killed by a signal is told so" {
    agent 'kill -KILL $$'
    run -0 drive plain
    agent 'exec cat'
    says '^closed the remote command was killed by signal KILL'
}

@test "a connection that breaks is told so" {
    agent 'kill -KILL $PPID; sleep 5'
    run -0 drive plain
    agent 'exec cat'
    says '^closed the SSH connection was lost'
}

@test "the channel lives on when the boot is cancelled" {
    run -0 drive plain --cancel-at-open --echo 100000
    says '^echoed 100000'
}

@test "many logins at once" {
    local hosts=() i
    server_up many 'MaxStartups 200'
    for i in {1..40}; do hosts+=("127.0.1.$i"); done
    run -0 drive many --pin --echo 1000 --limit 60 --quiet "${hosts[@]}"
    [ "$(grep -c '^echoed 1000' <<< "$output")" = 40 ]
}

# --- commands -----------------------------------------------------------------

@test "--launch-with ssh" {
    run -0 drive plain --echo 1000000 --command \
        "ssh -oUserKnownHostsFile=$F/known_hosts -oIdentityFile=$F/keys/me"
    says '^echoed 1000000'
    run -0 drive plain --echo 1000 --command \
        "ssh -p %p -i '$F/keys/me' -oUserKnownHostsFile=$F/known_hosts root@%h %a"
    says '^echoed 1000 '
}

@test "--launch-with ssh tells ssh's own words and status" {
    : > empty
    run -0 drive plain --command "ssh -oBatchMode=yes \
        -oStrictHostKeyChecking=yes -oUserKnownHostsFile=$PWD/empty"
    says '^chatter .*Host key verification failed'
    says '^closed ssh exited with status 255'
}

@test "a command that carries a stream does not outlive the launcher" {
    drive plain --command \
        "sh -c 'echo \$PPID > launcher; echo \$\$ > pid; exec sleep 1000 \
            < /dev/null' %a" 3>&- &
    wait_until test -s pid
    kill -KILL "$(cat launcher)"
    wait $! || true
    wait_until is_gone "$(cat pid)"
}

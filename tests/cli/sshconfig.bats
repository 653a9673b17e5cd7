#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# What hpcboot takes from ssh_config files: as OpenSSH does, and of whose files.
# sshsays prints it, no host is contacted.

load ../common

says=$HB_BUILDDIR/tests/cli/sshsays

setup() {
    common_setup
    mkdir -p "$HOME/.ssh"
}

# usual HOST: what the usual files say.
usual() { run "$says" usual "$@"; }

@test "ssh_config files by chance mean what they do to ssh" {
    local count=100
    need ssh python3
    [ "${HB_LONG:-no}" = no ] || count=3000
    run -0 python3 "$HB_SRCDIR/tests/fakes/sshconfigs.py" "$says" "$PWD" 1 \
        $count
    says "^$count files compared, 0 differences"
}

# in_passwd_home: says of a config of mode 666 in the home that passwd has.
in_passwd_home() {
    run unshare -m bash -c 'mount -t tmpfs none "$HOME" && mkdir "$HOME/.ssh" &&
        echo "User joe" > "$HOME/.ssh/config" &&
        chmod 666 "$HOME/.ssh/config" && "$0" usual h' "$says"
}

@test "a file that others may write is an error in the home that passwd has" {
    need_root
    unshare -m true || skip "no mount namespaces here"
    HOME=$(getent passwd 0 | cut -d: -f6)
    # The program may lie below it.
    case $says in "$HOME"/*) skip "the build lies in $HOME" ;; esac
    in_passwd_home
    says "^refused $HOME/.ssh/config may be written by others than its owner"
    says '--ssh-config none leaves it out'
}

@test "a usual file that others may write is passed over, a named one is not" {
    echo 'User joe' > "$HOME/.ssh/config"
    chmod 666 "$HOME/.ssh/config"
    usual h
    says "^$HOME/.ssh/config may be written by others than its owner.*; it is passed over, as HOME is not"
    says_not '^refused|^user joe'
    run -0 "$says" "$HOME/.ssh/config" h
    says '^user joe'
    chmod 600 "$HOME/.ssh/config"
    usual h
    says '^user joe'
}

@test "what an ssh_config file includes must not be written by others either" {
    echo 'User joe' > "$HOME/.ssh/more"
    echo 'Include more' > "$HOME/.ssh/config"
    chmod 602 "$HOME/.ssh/more"
    usual h
    says "^refused $HOME/.ssh/more may be written by others"
    run -0 "$says" "$HOME/.ssh/config" h
    says "^refused $HOME/.ssh/more may be written by others"
}

@test "an Include of what cannot be read is an error, of what is not there not" {
    mkdir "$HOME/.ssh/more"
    printf '%s\n' 'Include not-there more' 'User joe' > "$HOME/.ssh/config"
    usual h
    says '^user joe'
    ln -s loop "$HOME/.ssh/loop"
    echo 'Include loop' >> "$HOME/.ssh/config"
    usual h
    says "^refused $HOME/.ssh/config:3: Include: cannot open $HOME/.ssh/loop"
    echo 'Include more/*' > "$HOME/.ssh/config"
    (cd "$HOME/.ssh/more" && touch $(seq 256))
    usual h
    says_not '^refused'
    touch "$HOME/.ssh/more/257"
    usual h
    says "^refused $HOME/.ssh/config:1: Include means more than 256 files"
}

@test "a usual file of another user is passed over, one of root is not" {
    need_root
    echo 'User joe' > "$HOME/.ssh/config"
    usual h
    says '^user joe'
    chown 65534 "$HOME/.ssh/config"
    usual h
    says "^$HOME/.ssh/config belongs to uid 65534, and this is uid 0; it is passed over"
    says_not '^refused|^user joe'
}

@test "a group of the owner's own may write an ssh_config file, others not" {
    need_root
    need setpriv
    echo 'User joe' > "$HOME/.ssh/config"
    chmod 664 "$HOME/.ssh/config"
    usual h # root's group
    says '^user joe'
    chown 0:65534 "$HOME/.ssh/config"
    usual h
    says "^$HOME/.ssh/config may be written by others"
}

@test "Match exec runs nothing, its block is passed over, and a line says so" {
    cat > config << END
Match exec "touch $PWD/ran"
  User ann
Match !exec "touch $PWD/ran; false"
  Port 7
Match host other exec "touch $PWD/ran"
  Port 8
Match host node-1
  HostKeyAlias gang
END
    run -0 "$says" config node-1
    says_not '^user ann'
    says '^port 22'
    says '^knownas gang'
    says '^config:1: Match exec is not run here, and its block is passed over; --launch-with ssh runs it$'
    says '^config:3: Match exec is not run here'
    [ "$(grep -c 'not run' <<< "$output")" = 2 ]
    [ ! -e ran ]
}

@test "Match tagged and localnetwork are known, what is not is told in a line" {
    cat > config << 'END'
Tag slow
Match tagged fast
  Port 1
Match tagged slow,fast
  User ann
Match localnetwork 127.0.0.0/8
  Port 2
Match !localnetwork 203.0.113.0/24
  HostKeyAlias gang
Match frobbed x
  Port 3
Match host other frobbed x
  Port 4
END
    run -0 "$says" config h
    says '^user ann'
    says '^port 22'
    says '^knownas gang'
    says '^config:10: Match frobbed is not known here, and its block is passed over$'
    [ "$(grep -c 'not known' <<< "$output")" = 1 ]
    echo 'Match localnetwork 127.0.0.0/33' > config
    run -0 "$says" config h
    says '^refused config:1: not a network'
}

@test "names that ssh would make canonical stay, and a line says so" {
    printf '%s\n' 'CanonicalizeHostname yes' 'CanonicalDomains lab.invalid' \
        'Match canonical' ' Port 7' > config
    run -0 "$says" config h
    says '^hostname h$'
    says '^port 7'
    says '^CanonicalizeHostname of ssh_config is not known here'
    echo 'CanonicalizeHostname yes' > config
    run -0 "$says" config h
    says_not 'CanonicalizeHostname'
}

# ssh resolves the name of its one host as it is written.
@test "a jump by an IPv6 address has no brackets for the ssh that is started" {
    local hop
    for hop in 'u@[::1]' 'u@[::1]:2222' 'ssh://u@[::1]:2222/'; do
        echo "ProxyJump a,$hop" > config
        run -0 "$says" config h
        says '^proxy u@::1$'
    done
    says '^proxy 2222$'
    echo 'ProxyJump [fe80::1%%eth0]' > config
    run -0 "$says" config h
    says '^proxy fe80::1%eth0$'
}

@test "others log in where all that is known of host keys can be read" {
    echo 'User joe' > "$HOME/.ssh/config"
    usual h
    says '^byothers joe 0$'
    ln -s known_hosts "$HOME/.ssh/known_hosts"
    usual h
    says '^user joe$'
    says_not '^byothers'
}

@test "known_hosts of passwd's home counts too where HOME is another" {
    local home
    home=$(getent passwd "$(id -u)" | cut -d: -f6)
    [ -n "$home" ] || skip "this user has no home"
    : > config
    run -0 "$says" config h
    says "^knownhosts $HOME/.ssh/known_hosts$"
    says "^knownhosts $home/.ssh/known_hosts$"
    echo 'UserKnownHostsFile /kh' > config
    run -0 "$says" config h
    says '^knownhosts /kh$'
    says_not '/.ssh/known_hosts'
}

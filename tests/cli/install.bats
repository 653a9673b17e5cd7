#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# The installed tree: programs in C, C++ and Fortran find the library by
# pkg-config and by CMake, and run.

load ../common

setup_file() {
    ! is_sanitized || return 0 # each test skips
    prefix=$(sed -n 's/^prefix = //p' "$HB_BUILDDIR/Makefile")
    export root=$BATS_FILE_TMPDIR/root prefix
    # What a hardened root has; see the test of it below.
    (umask 077 && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s \
        -C "$HB_BUILDDIR" install DESTDIR="$root") \
        > "$BATS_FILE_TMPDIR/install.log" 2>&1 || {
        tail -n 20 "$BATS_FILE_TMPDIR/install.log"
        return 1
    }
}
setup() {
    common_setup
    ! is_sanitized || skip 'a sanitized library wants a sanitized program'
    export PKG_CONFIG_LIBDIR=$root$prefix/lib/pkgconfig
    export LD_LIBRARY_PATH=$root$prefix/lib
    installed=$root$prefix/bin/hbrun
}

flags() { pkg-config --define-variable=prefix="$root$prefix" "$@" hpcboot; }
# run_program STATUS: under the hbrun that was installed.
run_program() {
    run timeout -s KILL "$HB_LIMIT" "$installed" -n 2 ./program
    ended_with "$1"
}

@test "pkg-config: the version, a program in C" {
    need pkg-config
    [ "$(flags --modversion)" = "$("$installed" --version | awk '{ print $NF; exit }')" ]
    # shellcheck disable=SC2046  # several words
    "${cc[@]}" "$HB_SRCDIR/examples/stencil.c" -std=c11 -Wall -Werror -o program \
        $(flags --cflags --libs) -lm
    run_program 0
    says '^2 ranks, [0-9]+ steps, heat'
}

@test "pkg-config: a program in C++" {
    need pkg-config c++
    printf '%s\n' '#include <hpcboot/hpcboot.h>' '#include <cstdio>' \
        'int main() { hpcboot_init(nullptr, nullptr);' \
        'std::printf("size %d\n", hpcboot_size());' \
        'double x = hpcboot_rank();' \
        'hpcboot_allreduce(HPCBOOT_IN_PLACE, &x, 1, HPCBOOT_DOUBLE,' \
        'HPCBOOT_SUM, hpcboot_world(), nullptr);' \
        'return hpcboot_finalize(nullptr) < 0; }' > program.cc
    # shellcheck disable=SC2046
    c++ program.cc -std=c++11 -Wall -Wold-style-cast -Werror -o program $(flags --cflags --libs)
    run_program 0
    says '^size 2$'
}

@test "the Fortran module and its example" {
    need pkg-config
    [ -n "${FORTRAN:=$(command -v gfortran)}" ] ||
        skip 'no Fortran compiler is installed'
    # shellcheck disable=SC2046
    "$FORTRAN" "$root$prefix/include/hpcboot/hpcboot.f90" \
        "$HB_SRCDIR/examples/pi.f90" -o program $(flags --cflags --libs)
    run_program 0
    says '^2 ranks: pi is about 3\.14159[0-9]$'
}

@test "the Fortran module has every function" {
    sed -nE 's/^ *(hpcboot_[a-z_]+);/\1/p' "$HB_SRCDIR/lib/api/libhpcboot.map" |
        sort > wanted
    grep -E ' (function|subroutine) hpcboot_.*(\(|&)' \
        "$root$prefix/include/hpcboot/hpcboot.f90" | grep -vE 'hpcboot_(error_text|in_place|string)' |
        sed -E 's/.* (hpcboot_[a-z_]+).*/\1/' | sort > there
    diff wanted there
}

@test "the Fortran module has the numbers of the C headers" {
    [ -n "${FORTRAN:=$(command -v gfortran)}" ] ||
        skip 'no Fortran compiler is installed'
    sed -nE 's/^ *integer.*, parameter :: (hpcboot_[a-z0-9_]+) = .*/\1/p' \
        "$root$prefix/include/hpcboot/hpcboot.f90" > names
    for name in tag_max key_max value_max err_nomem double_complex user; do
        grep -q "^hpcboot_$name$\|^hpcboot_op_$name$" names
    done
    {
        echo 'program numbers'
        echo 'use hpcboot'
        sed "s/.*/print '(i0)', &/" names
        echo 'end program'
    } > numbers.f90
    {
        printf '#include <stdio.h>\n#include <hpcboot/hpcboot.h>\n'
        echo 'int main(void)'
        echo '{'
        tr '[:lower:]' '[:upper:]' < names |
            sed 's/.*/printf("%lld\\n", (long long)&);/'
        echo '}'
    } > numbers.c
    # shellcheck disable=SC2046
    "$FORTRAN" "$root$prefix/include/hpcboot/hpcboot.f90" numbers.f90 \
        -o of_fortran $(flags --cflags --libs)
    # shellcheck disable=SC2046
    "${cc[@]}" numbers.c -o of_c $(flags --cflags --libs)
    export LD_LIBRARY_PATH="$root$prefix/lib"
    paste -d' ' names <(./of_c) > wanted
    paste -d' ' names <(./of_fortran) > there
    diff wanted there
}

@test "each procedure of the Fortran module does what it does in C" {
    [ -n "${FORTRAN:=$(command -v gfortran)}" ] ||
        skip 'no Fortran compiler is installed'
    # shellcheck disable=SC2046
    "$FORTRAN" "$root$prefix/include/hpcboot/hpcboot.f90" \
        "$HB_SRCDIR/tests/cli/apifortran.f90" -o program \
        $(flags --cflags --libs)
    run_program 0
    [ "$(grep -c '^rank [01]: good$' <<< "$output")" -eq 2 ]
}

@test "every call has a page of its name" {
    sed -nE 's/^ *(hpcboot_[a-z_]+);/\1/p' "$HB_SRCDIR/lib/api/libhpcboot.map" \
        > calls
    [ -s calls ]
    while read -r call; do
        grep -q "^\.Nm $call\b" "$root$prefix/share/man/man3/$call.3" || {
            echo "no page has $call"
            return 1
        }
    done < calls
}

@test "CMake: ranges of versions, and components that there are not" {
    need cmake
    cmake --version | awk 'NR == 1 { split($3, v, "."); exit v[1] * 100 + v[2] < 319 }' ||
        skip 'this CMake knows no ranges'
    mkdir project
    v=$("$installed" --version | awk '{ print $NF; exit }')
    next=$((${v%%.*} + 1))
    while read -r found words; do
        # shellcheck disable=SC2016  # CMake expands it
        printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' \
            'project(user LANGUAGES C)' "find_package(hpcboot $words)" \
            'message("found: ${hpcboot_FOUND}")' > project/CMakeLists.txt
        CC='' run cmake -S project -B out \
            "-DCMAKE_PREFIX_PATH=$root$prefix" < /dev/null
        echo "$words"
        says "^found: $found\$"
        says_not 'support this capability|lower endpoint'
        rm -r out
    done << END
1 0.0...$v
1 $v...<$next
0 0.0...<$v
0 $next...$next.1
1 $v EXACT
0 0.0
0 $v COMPONENTS zebra
END
}

@test "a static library is refused by configure" {
    for option in --enable-static --disable-shared; do
        run "$HB_SRCDIR/configure" $option
        [ "$status" -ne 0 ]
        says 'error: libhpcboot and the modules are shared objects alone: '
    done
}

@test "a prefix with a blank in it is refused by configure" {
    run "$HB_SRCDIR/configure" --prefix="$PWD/my programs"
    [ "$status" -ne 0 ]
    says 'error: libtool installs into no folder that has a blank in its name: '
}

# A tree that is configured itself is refused before what it is asked here.
another_folder() {
    [ ! -e "$HB_SRCDIR/config.status" ] || skip 'the source tree is configured'
}

@test "a 32-bit compiler is refused by configure" {
    another_folder
    run "$HB_SRCDIR/configure" \
        CPPFLAGS='-U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4'
    [ "$status" -ne 0 ]
    says 'error: hpcboot is for 64-bit machines: '
}

@test "a C library that is too old, or another, is refused by configure" {
    another_folder
    run env ac_cv_func_sigabbrev_np=no "$HB_SRCDIR/configure"
    [ "$status" -ne 0 ]
    says 'error: sigabbrev_np is missing: hpcboot needs glibc 2\.32 or newer'
}

@test "CMake: find_package in C and C++" {
    need cmake c++
    mkdir project
    cat > project/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.13)
project(user C CXX)
find_package(hpcboot 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program hpcboot::hpcboot)
add_executable(program_cxx program.cc)
target_link_libraries(program_cxx hpcboot::hpcboot)
END
    printf '%s\n' '#include <hpcboot/hpcboot.h>' \
        'int main(void) { hpcboot_init(NULL, NULL);' \
        'return hpcboot_finalize(NULL) < 0; }' | tee project/program.cc \
        > project/program.c
    CC='' cmake -S project -B out "-Dhpcboot_DIR=$root$prefix/lib/cmake/hpcboot" \
        > log 2>&1 || { cat log; return 1; }
    cmake --build out > log 2>&1 || { cat log; return 1; }
    for program in out/program out/program_cxx; do
        ln -sf $program program
        run_program 0
    done
    cp -r "$root$prefix" other-prefix
    CC='' cmake -S project -B out "-DCMAKE_PREFIX_PATH=$root$prefix" \
        "-Dhpcboot_DIR=$PWD/other-prefix/lib/cmake/hpcboot" > log 2>&1
    for name in INCLUDE_DIR LIBRARY; do
        grep "^hpcboot_$name:.*/other-prefix/" out/CMakeCache.txt
    done
    sed -i 's/hpcboot 0.1/hpcboot 9.0/' project/CMakeLists.txt
    run cmake -S project -B other \
        "-Dhpcboot_DIR=$root$prefix/lib/cmake/hpcboot"
    [ "$status" -ne 0 ]
    says '9.0'
}

@test "each shell's completion lies where that shell looks for it" {
    local name
    for name in hbrun hpcboot; do
        "$root$prefix/bin/$name" --completion bash |
            cmp - "$root$prefix/share/bash-completion/completions/$name"
        "$root$prefix/bin/$name" --completion zsh |
            cmp - "$root$prefix/share/zsh/site-functions/_$name"
        "$root$prefix/bin/$name" --completion fish |
            cmp - "$root$prefix/share/fish/vendor_completions.d/$name.fish"
    done
    need fish
    HOME=$PWD XDG_DATA_DIRS=$root$prefix/share run timeout -s KILL "$HB_LIMIT" \
        fish -c "complete -C 'hbrun --report-b'"
    ended_with 0
    says '^--report-bindings'
}

@test "a build for another machine is installed without its programs' words" {
    run env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$HB_BUILDDIR" \
        install-data DESTDIR="$PWD/cross" cross_compiling=yes
    ended_with 0
    says '^hbrun and hpcboot are of another machine: no completions$'
    grep -Eqx 'cross_compiling = (no|yes)' "$HB_BUILDDIR/Makefile"
    [ -e "cross$prefix/share/man/man3/hpcboot_bcast.3" ]
    run find cross -name '*hbrun*' ! -name hbrun.1
    [ -z "$output" ]
}

@test "other users can read and run it, whatever the umask of who installed it" {
    run find "$root/" ! -type l \( ! -perm -044 -o \
        \( -type d -o -perm -100 \) ! -perm -055 \)
    ended_with 0
    [ -z "$output" ]
}

@test "the drop-ins are of their own tree, wherever that is" {
    dropins=$root$prefix/lib/hpcboot/bin
    for name in mpirun mpiexec mpiexec.hydra; do
        run timeout -s KILL "$HB_LIMIT" "$dropins/$name" -n 1 echo here
        ended_with 0
        says '^here$'
        [ "$(readlink -f "$dropins/$name")" = "$installed" ]
    done
}

take_away() { # DESTDIR
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$HB_BUILDDIR" \
        uninstall DESTDIR="$1" > log 2>&1 || { tail log; return 1; }
}

@test "where nothing is installed there is nothing to be taken away" {
    take_away "$PWD/nowhere"
    [ ! -e nowhere ]
}

@test "what was installed is taken away, once and again, the last test here" {
    take_away "$root"
    [ -d "$root$prefix/bin" ]
    run find "$root" ! -type d -o -name hpcboot
    ended_with 0
    [ -z "$output" ]
    take_away "$root"
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Shows byte for byte what reached it: each argument as a line of hex digits
 * after "arg", and the variables named in BYTES_SHOW (separated by commas)
 * after "env NAME".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *label, const char *name, const char *text)
{
    printf("%s%s%s ", label, name[0] != '\0' ? " " : "", name);
    for (; text != NULL && *text != '\0'; text++) {
        printf("%02x", (unsigned char)*text);
    }
    puts(text == NULL ? "unset" : "");
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("BYTES_SHOW");
    char *names = strdup(wanted != NULL ? wanted : "");

    for (int i = 1; i < argc; i++) {
        show("arg", "", argv[i]);
    }
    for (char *rest = names, *name; (name = strsep(&rest, ",")) != NULL;) {
        if (name[0] != '\0') {
            show("env", name, getenv(name));
        }
    }
    free(names);
    return 0;
}

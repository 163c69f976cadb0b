#!/bin/sh
# Prints an apt source for RELEASE-backports, made from the entry that serves RELEASE on this machine: same archive,
# same options and signing key, another suite. Both forms are understood (one-line *.list, deb822 *.sources).
#
# Usage: backports_source.sh RELEASE [APT_FOLDER]
# The first line of the output is the form, `list` or `sources`; the rest is the entry. Exit code 1: no entry found.
set -eu
release=$1
apt=${2:-/etc/apt}

# A stanza counts if it is enabled, serves binary packages, and has the release among its suites (never its -security
# or -updates alone: their archives hold no backports).
from_deb822() {
    awk -v release="$release" '
        BEGIN { RS = ""; FS = "\n" }
        {
            field = ""; uri = ""; kept = ""; serves = 0; binary = 0; enabled = 1
            for (i = 1; i <= NF; i++) {
                line = $i
                if (line ~ /^#/) continue
                if (line !~ /^[ \t]/) {
                    colon = index(line, ":")
                    field = tolower(substr(line, 1, colon - 1))
                    text = substr(line, colon + 1)
                } else
                    text = line
                count = split(text, words, " ")
                if (field == "types") { for (j = 1; j <= count; j++) if (words[j] == "deb") binary = 1 }
                else if (field == "suites") { for (j = 1; j <= count; j++) if (words[j] == release) serves = 1 }
                else if (field == "uris") { if (uri == "" && count) uri = words[1] }
                else if (field == "enabled") { if (tolower(words[1]) ~ /^(no|false|0|off|without|disable)$/) enabled = 0 }
                else if (field != "components") kept = kept line "\n"
            }
            if (binary && serves && enabled && uri != "") {
                printf "sources\nTypes: deb\nURIs: %s\nSuites: %s-backports\nComponents: main\n%s", uri, release, kept
                exit
            }
        }' "$1"
}

from_one_line() {
    awk -v release="$release" '
        $1 == "deb" {
            line = $0; options = ""
            sub(/^[ \t]*deb[ \t]+/, "", line)
            if (line ~ /^\[/) { options = substr(line, 1, index(line, "]")) " "; line = substr(line, index(line, "]") + 1) }
            split(line, words, " ")
            if (words[2] == release) { printf "list\ndeb %s%s %s-backports main\n", options, words[1], release; exit }
        }' "$1"
}

for file in "$apt"/sources.list.d/*.sources; do
    [ -f "$file" ] && entry=$(from_deb822 "$file") && [ -n "$entry" ] && printf '%s\n' "$entry" && exit 0
done
for file in "$apt"/sources.list "$apt"/sources.list.d/*.list; do
    [ -f "$file" ] && entry=$(from_one_line "$file") && [ -n "$entry" ] && printf '%s\n' "$entry" && exit 0
done
exit 1

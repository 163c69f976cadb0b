#!/bin/sh
# Makes this checkout runnable: installs what the system lacks and keeps .venv in step with pyproject.toml.
# Quick and without network when there is nothing to do.
#
# Usage: packaging/setup.sh [--test] [--bench] [--system-only]
#   --test         also what `make test` needs
#   --bench        also what `make bench` needs (with --test's)
#   --system-only  only the system packages: what an administrator runs for somebody without rights
# PYTHON=/path/to/python3 chooses the interpreter, which must be 3.11 or newer.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
groups=run extra='' system_only=no
for argument in "$@"; do
    case $argument in
    --test) groups="$groups test" extra='[dev]' ;;
    --bench) groups="$groups test bench" extra='[dev]' ;;
    --system-only) system_only=yes ;;
    *) echo "setup: unknown argument $argument; see the head of packaging/setup.sh" >&2; exit 2 ;;
    esac
done

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$@" >&2; exit 1; }

# --- Python ---------------------------------------------------------------------------------------------------------

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of 3.11 or newer"
        command -v "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    fail "VeoTuner needs Python 3.11 or newer, and $(python3 -V 2>/dev/null || echo 'no python3') is what is here." \
        "Install one (for example the packages python3.11 and python3.11-venv), or set PYTHON=/path/to/python3."
}

can_make_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# --- system packages ------------------------------------------------------------------------------------------------

installed_packages() { dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p'; }

is_installed() { printf '%s\n' "$installed" | grep -qxF -- "$1"; }

# Prints one line for each need that is not met: its alternatives, separated by |.
missing_needs() {
    installed=$(installed_packages)
    while read -r group names _; do
        case " $groups " in *" $group "*) ;; *) continue ;; esac
        for name in $(printf '%s' "$names" | tr '|' ' '); do
            if is_installed "$name"; then continue 2; fi
        done
        printf '%s\n' "$names"
    done <packaging/system-packages.txt
    can_make_venv || "$python" -c 'import sys; print("python3.%d-venv|python3-venv" % sys.version_info[1])'
    if mesa_is_too_old; then echo mesa-vulkan-drivers; fi
}

# Debian 12's own Mesa (22.3) has no headless Vulkan surface; its backports have 25.
mesa_is_too_old() {
    [ "$codename" = bookworm ] || return 1
    version=$(dpkg-query -W -f='${Version}' mesa-vulkan-drivers 2>/dev/null) || return 1
    [ -n "$version" ] && dpkg --compare-versions "$version" lt 24
}

archive_has() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

available_name() {
    for name in $(printf '%s' "$1" | tr '|' ' '); do
        if archive_has "$name"; then echo "$name"; return; fi
    done
    fail "no package named ${1} in this machine's archives; check the apt sources"
}

is_root() { [ "$(id -u)" = 0 ]; }

as_root() { if is_root; then "$@" </dev/null; else sudo -n "$@" </dev/null; fi; }

# Output is kept in a log and shown only when the command fails.
apt_get() {
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        return 1
    fi
}

refresh_package_lists() {
    say "reading the package lists"
    # One broken source of somebody else's must not stop us: what matters is whether the packages can be installed.
    apt_get update || say "some package lists could not be read (above); going on with those that could"
}

install_mesa_from_backports() {
    backports=$codename-backports
    if ! apt-cache madison mesa-vulkan-drivers | grep -q "$backports"; then
        say "adding $backports to the apt sources, because Debian 12's own Mesa has no headless Vulkan surface"
        entry=$(sh packaging/backports_source.sh "$codename") ||
            fail "no apt source of $codename found to derive that of $backports from; add it and run this again"
        file=/etc/apt/sources.list.d/veotuner-backports.$(printf '%s\n' "$entry" | head -n 1)
        printf '%s\n' "$entry" | tail -n +2 | as_root_write "$file"
        if ! apt_get update || ! apt-cache madison mesa-vulkan-drivers | grep -q "$backports"; then
            as_root rm -f "$file"
            fail "this machine's archive does not serve $backports, so its source was taken out again." \
                "Add one that does and run this again."
        fi
    fi
    say "installing mesa-vulkan-drivers from $backports"
    apt_get install -y --no-install-recommends -t "$backports" mesa-vulkan-drivers ||
        fail "apt-get could not install mesa-vulkan-drivers (above)"
}

as_root_write() { if is_root; then cat >"$1"; else sudo -n tee "$1" >/dev/null; fi; }

install_packages() {
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    refresh_package_lists
    packages='' mesa_from_backports=no
    for need in $needs; do
        case $codename/$need in
        bookworm/mesa-vulkan-drivers) mesa_from_backports=yes ;;
        *) packages="$packages $(available_name "$need")" ;;
        esac
    done
    if [ -n "$packages" ]; then
        say "installing$packages"
        # shellcheck disable=SC2086 # a list of words
        apt_get install -y --no-install-recommends $packages || fail "apt-get could not install these packages (above)"
    fi
    if [ $mesa_from_backports = yes ]; then install_mesa_from_backports; fi
}

ask_the_administrator() {
    flags=''
    case $groups in *bench*) flags=' --bench' ;; *test*) flags=' --test' ;; esac
    fail "this machine lacks: $(printf '%s\n' "$needs" | sed 's/|.*//' | sort -u | tr '\n' ' ')" \
        "and neither root nor sudo without a password is at hand. Ask the administrator to run:" "" \
        "    sudo sh $root/packaging/setup.sh --system-only$flags" "" "and then run this again."
}

setup_system() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "not a Debian or Ubuntu system: make sure that what packaging/system-packages.txt names is installed"
        return
    fi
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    needs=$(missing_needs | sort -u)
    [ -n "$needs" ] || return 0
    if ! is_root && ! sudo -n true 2>/dev/null; then ask_the_administrator; fi
    install_packages
}

# --- Python packages ------------------------------------------------------------------------------------------------

# What the environment was made from, and where.
fingerprint() {
    {
        cat pyproject.toml packaging/constraints.txt app/__init__.py
        printf '%s %s %s\n' "$root" "$python" "$("$python" -V)"
    } | sha256sum | cut -c 1-64
}

is_up_to_date() {
    stamp=$(cat .venv/veotuner-stamp 2>/dev/null) || return 1
    case "$stamp" in "$wanted [dev]") ;; "$wanted ") [ -z "$extra" ] || return 1 ;; *) return 1 ;; esac
    [ -x .venv/bin/veotuner ] && .venv/bin/python -c ''
}

pip_install() { .venv/bin/python -m pip install -qq --no-input --constraint packaging/constraints.txt "$@" </dev/null; }

# Its scripts name their interpreter, so an environment that was copied or moved with the checkout is made anew.
venv_is_usable() { grep -qsF "$root/.venv" .venv/bin/activate && .venv/bin/python -m pip --version >/dev/null 2>&1; }

setup_venv() {
    wanted=$(fingerprint)
    if is_up_to_date 2>/dev/null; then return; fi
    rm -f .venv/veotuner-stamp
    if ! venv_is_usable; then
        say "making .venv with $("$python" -V)"
        rm -rf .venv
        "$python" -m venv .venv
    fi
    say "installing the Python packages (the first time about 300 MB, some minutes)"
    # The build back end first and without isolation: it then is the pinned one, and nothing is fetched twice.
    if ! pip_install hatchling editables || ! pip_install --no-build-isolation --editable ".$extra"; then
        fail "pip could not install the packages (above); with the network back, run this again"
    fi
    printf '%s %s\n' "$wanted" "$extra" >.venv/veotuner-stamp
}

python=$(find_python)
setup_system
if [ "$system_only" = yes ]; then exit; fi
can_make_venv || fail "$python cannot make virtual environments; install the venv package that belongs to it"
setup_venv

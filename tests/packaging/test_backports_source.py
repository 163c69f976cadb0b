"""The source of Debian's backports is derived from the machine's own apt sources, whatever form they have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "backports_source.sh"

SECURITY_FIRST = """\
Types: deb
URIs: http://security.example
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

# the archive itself
Types: deb deb-src
URIs: http://mirror.example/debian http://other.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

EMBEDDED_KEY = """\
types: deb
uris: mirror+file:/etc/apt/mirrors/debian.list
suites: bookworm
components: main
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL0BUBEADmW5NdOOHwPIJlgPu6JDcKw/NZJPR8lsD3K87ZM18gzyQZJD+w
 -----END PGP PUBLIC KEY BLOCK-----
"""

DISABLED = SECURITY_FIRST.replace("# the archive itself", "Enabled: no")

ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb http://security.example bookworm-security main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/key.gpg] http://mirror.example/debian bookworm main non-free-firmware
deb http://later.example/debian bookworm main
"""


def derive(apt: Path, release: str = "bookworm") -> subprocess.CompletedProcess[str]:
    command = ["sh", str(SCRIPT), release, str(apt)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def apt_folder(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        target = tmp_path / "sources.list" if name == "sources_list" else tmp_path / "sources.list.d" / name
        target.write_text(text)
    return tmp_path


def test_a_deb822_entry_keeps_its_archive_options_and_key(tmp_path: Path) -> None:
    result = derive(apt_folder(tmp_path, **{"debian.sources": SECURITY_FIRST}))
    assert result.stdout.splitlines() == [
        "sources",
        "Types: deb",
        "URIs: http://mirror.example/debian",
        "Suites: bookworm-backports",
        "Components: main",
        "Architectures: amd64",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    ]


def test_a_key_within_a_deb822_entry_is_kept_whole(tmp_path: Path) -> None:
    lines = derive(apt_folder(tmp_path, **{"debian.sources": EMBEDDED_KEY})).stdout.splitlines()
    assert lines[2] == "URIs: mirror+file:/etc/apt/mirrors/debian.list"
    assert lines[5:] == EMBEDDED_KEY.splitlines()[4:]


@pytest.mark.parametrize("name", ["sources_list", "debian.list"])
def test_a_one_line_entry_keeps_its_options(tmp_path: Path, name: str) -> None:
    result = derive(apt_folder(tmp_path, **{name: ONE_LINE}))
    options = "[arch=amd64 signed-by=/usr/share/keyrings/key.gpg]"
    assert result.stdout == f"list\ndeb {options} http://mirror.example/debian bookworm-backports main\n"


def test_a_disabled_entry_does_not_count(tmp_path: Path) -> None:
    result = derive(apt_folder(tmp_path, **{"debian.sources": DISABLED, "debian.list": ONE_LINE}))
    assert result.stdout.startswith("list\n")


@pytest.mark.parametrize("release", ["trixie", "bookworm-backports", "book"])
def test_a_release_that_no_entry_serves_gives_nothing(tmp_path: Path, release: str) -> None:
    result = derive(apt_folder(tmp_path, **{"debian.sources": SECURITY_FIRST, "debian.list": ONE_LINE}), release)
    assert (result.returncode, result.stdout) == (1, "")


def test_a_machine_without_sources_gives_nothing(tmp_path: Path) -> None:
    assert derive(tmp_path).returncode == 1

"""The console snippets of the guide, run in order."""

import doctest
import re
import shlex
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.rst"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def snippets():
    """Commands and what they are to say."""
    for block in re.findall(r"\.\. code-block:: console\n\n((?:   .*\n|\n)+)", GUIDE.read_text(encoding="utf-8")):
        for part in re.split(r"^   \$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip().splitlines()
            yield command, "".join(f"{line[3:]}\n" for line in lines)


def test_snippets(mercer):
    found = list(snippets())
    assert len(found) >= 12
    for command, expected in found:
        program, *words = shlex.split(command)
        assert program == "mercer"
        if ">" in words:
            words = words[: words.index(">")]
            said = mercer(*words)
            assert said.code == 0 and said.out and not expected
            continue
        said = mercer(*words)
        text = said.out or said.err
        assert doctest.OutputChecker().check_output(expected, text, FLAGS), (
            f"$ {command}\n{text}\ninstead of\n{expected}"
        )

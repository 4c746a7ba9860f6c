"""Reads a page of Markdown into its fenced blocks, and turns these into one shell script. Nothing
here runs anything; guides_test.py does. What a fence says:

    ```sh                a command line as a reader types it; all of a page share one shell
    ```c file=NAME       (any language) the file NAME, written where the shell stands by then
    ```text              not run, not checked
    ```text output       what the block before it prints; "..." stands for any text
    ```sh needs=TOOL     left out, and told, where TOOL is not installed

A page has no other code: an indented block, which nobody would run, is a problem."""

import re
import shlex
from dataclasses import dataclass, field

SHELL = "sh"
PLAIN = "text"
OUTPUT = "output"
_FENCE = re.compile(r"^(`{3,})(.*)$")
_ATTRIBUTES = ("file", "needs")
_FOUND_BY_TOOLS = ("CMakeLists.txt", "main.go", "main.rs")
_END_OF_FILE = "END_OF_THE_FILE_OF_A_GUIDE"


@dataclass
class Block:
    line: int
    language: str
    text: str
    attributes: dict = field(default_factory=dict)
    is_output: bool = False


def blocks(markdown):
    """(blocks, problems) of a page; a problem is a line number and a text."""
    found, problems, lines = [], [], markdown.split("\n")
    number, in_list = 0, False
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        if not fence:
            if re.match(r"^( {4}|\t)\S", line) and not in_list and _begins(lines, number):
                problems.append((number + 1, "indented code is run by nobody: fence it"))
            if line and not line.startswith(" "):
                in_list = bool(re.match(r"([-*]|\d+\.) ", line))
            number += 1
            continue
        end = number + 1
        while end < len(lines) and not re.match(rf"^{fence.group(1)}\s*$", lines[end]):
            end += 1
        if end == len(lines):
            return found, problems + [(number + 1, "the fence is not closed")]
        body = "".join(text + "\n" for text in lines[number + 1:end])
        block, problem = _block(number + 1, fence.group(2).split(), body)
        found.append(block)
        problems += [(number + 1, problem)] if problem else []
        number, in_list = end + 1, False
    return found, problems + _misplaced(found)


def _begins(lines, number):
    return number == 0 or not lines[number - 1].strip()


def _block(line, words, body):
    language = words[0] if words else ""
    block = Block(line, language, body)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if word == OUTPUT and language == PLAIN:
            block.is_output = True
        elif equals and name in _ATTRIBUTES and value:
            block.attributes[name] = value
        else:
            return block, f"'{word}' says nothing to the tests"
    if not language:
        return block, "the fence has no language; say 'text' if it is not to be run"
    if language not in (SHELL, PLAIN) and "file" not in block.attributes:
        return block, "a block that is no command line is a file: say file=NAME"
    return block, None


def _misplaced(found):
    problems, before = [], None
    for block in found:
        if block.is_output and (before is None or before.language != SHELL or
                                "file" in before.attributes):
            problems.append((block.line, "output stands behind the commands that print it"))
        before = block
    # A file that no command line names is neither compiled nor run.
    commands = " ".join(b.text for b in found if is_command(b))
    for block in found:
        name = block.attributes.get("file", "").rsplit("/")[-1]
        if name and name not in _FOUND_BY_TOOLS and name.rsplit(".", 1)[0] not in commands:
            problems.append((block.line, f"no command of the page uses {name}"))
    return problems


def is_command(block):
    return block.language == SHELL and "file" not in block.attributes


def tools(found):
    return sorted({b.attributes["needs"] for b in found if "needs" in b.attributes})


def script(found, directory, without=()):
    """Bash that does what the page says, in order. What the i-th block prints goes to
    DIRECTORY/i; DIRECTORY/at has the number of the one that runs, or "end"."""
    here = shlex.quote(directory)
    lines = ["set -e -o pipefail", "exec 8>&1 9>&2"]
    for i, block in enumerate(found):
        if block.language == PLAIN or block.attributes.get("needs") in without:
            continue
        lines += [f"echo {i} >{here}/at", f"exec >{here}/{i} 2>&1"]
        if is_command(block):
            lines.append(block.text)
        else:
            name = shlex.quote(block.attributes["file"])
            # Never into what is there: in the clone that could be a file of the repository.
            lines += [f"[ ! -e {name} ] || {{ echo {name} is there already; exit 1; }}",
                      f"cat >{name} <<'{_END_OF_FILE}'", block.text + _END_OF_FILE]
    return "\n".join(lines + [f"echo end >{here}/at", "exec >&8 2>&9", ""])


def matches(expected, printed):
    """Whether that was printed. Blanks at line ends do not count; "..." is any text."""
    def plain(text):
        return "\n".join(line.rstrip() for line in text.strip().split("\n"))
    pattern = ".*?".join(re.escape(part) for part in plain(expected).split("..."))
    return re.fullmatch(pattern, plain(printed), re.DOTALL) is not None

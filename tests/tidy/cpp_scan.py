"""A small scanner for C and C++ as this repository writes them: blanks comments and literals, and
finds includes and function bodies. It knows nothing of types; it counts brackets."""

import re
from dataclasses import dataclass

_RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\(')
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_TYPE_HEAD = re.compile(r"\b(?:class|struct|union|enum)\b")
_SCOPE_HEAD = re.compile(r'\bnamespace\b|^\s*extern\s*(?:""|"\s*")?\s*$')
# "Foo(int x) : a_" or ", b_" before a brace: the brace initialises a member, it opens no body.
_MEMBER_INIT = re.compile(r"(?:\)|noexcept)\s*:(?!:)[^;]*?[\w>]\s*$", re.DOTALL)


@dataclass
class Function:
    name: str
    first_line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _literal_end(text, start):
    """Index behind the string or character literal that starts at `start`."""
    quote = text[start]
    i = start + 1
    while i < len(text) and text[i] != "\n":
        if text[i] == "\\":
            i += 2
            continue
        if text[i] == quote:
            return i + 1
        i += 1
    return i


def _raw_string_end(text, start):
    match = _RAW_STRING.match(text, start)
    if not match:
        return None
    end = text.find(")" + match.group(1) + '"', match.end())
    return len(text) if end < 0 else end + len(match.group(1)) + 2


def _in_word(char):
    return char.isalnum() or char == "_"


def code_only(text, keep_strings=False):
    """`text` with comments and, unless they are to be kept, the insides of literals blanked."""
    out = []
    i = 0
    while i < len(text):
        two = text[i:i + 2]
        char = text[i]
        previous = text[i - 1] if i else " "
        if two == "//" or two == "/*":
            end = text.find("\n" if two == "//" else "*/", i + 2)
            end = len(text) if end < 0 else end + (0 if two == "//" else 2)
            out.append(_blank(text[i:end]))
        elif char == "R" and not _in_word(previous) and _raw_string_end(text, i):
            end = _raw_string_end(text, i)
            out.append(text[i:end] if keep_strings else _blank(text[i:end]))
        elif char == '"' or (char == "'" and not previous.isalnum()):
            end = _literal_end(text, i)
            inside = text[i + 1:end - 1]
            out.append(text[i:end] if keep_strings else char + _blank(inside) + text[end - 1:end])
        else:
            end = i + 1
            out.append(char)
        i = end
    return "".join(out)


def includes(text):
    """(line, quote or bracket, path) of every include."""
    code = code_only(text, keep_strings=True)
    return [(line_of(code, m.start(1)), m.group(1), m.group(2))
            for m in _INCLUDE.finditer(code)]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_directives(code):
    """Preprocessor lines blanked, continuation lines too; every position stays what it was."""
    lines = code.split("\n")
    continued = False
    for i, line in enumerate(lines):
        if continued or line.lstrip().startswith("#"):
            continued = line.rstrip().endswith("\\")
            lines[i] = " " * len(line)
        else:
            continued = False
    return "\n".join(lines)


def _matching_brace(code, opening):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def _is_scope(head):
    if _SCOPE_HEAD.search(head):
        return True
    return bool(_TYPE_HEAD.search(head)) and "(" not in _drop_attributes(head)


def _drop_attributes(head):
    """Annotation macros between `class` and the name carry parentheses of their own."""
    return re.sub(r"\b[A-Z][A-Z0-9_]+\s*\([^()]*\)|alignas\s*\([^()]*\)", " ", head)


def _function_name(head):
    before = head[:head.index("(")]
    if "operator" in head:
        return "operator" + head.split("operator", 1)[1].split("(")[0].strip()
    words = re.findall(r"[\w:~]+", before)
    name = words[-1] if words else "?"
    if re.fullmatch(r"TEST(?:_[FP])?|TYPED_TEST|BENCHMARK_\w+", name):
        return name + head[head.index("("):].split(")")[0].replace("\n", " ") + ")"
    return name


def functions(text):
    """Every function with a body that stands at namespace or type scope, tests included."""
    code = without_directives(code_only(text))
    found = []
    head_start = 0
    i = 0
    while i < len(code):
        char = code[i]
        if char in ";}" or (char == ":" and re.search(r"\b(?:public|private|protected)\s*$",
                                                      code[head_start:i])):
            head_start = i + 1
        elif char == "{":
            head = code[head_start:i]
            if _is_scope(head):
                head_start = i + 1
            else:
                end = _matching_brace(code, i)
                is_member_init = _MEMBER_INIT.search(head) and not head.rstrip().endswith(")")
                if not is_member_init:
                    if "(" in head and not re.search(r"=\s*$", head):
                        first = head_start + len(head) - len(head.lstrip())
                        found.append(Function(_function_name(head), line_of(code, first),
                                              line_of(code, end)))
                    head_start = end + 1
                i = end
        i += 1
    return found

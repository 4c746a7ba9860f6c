"""Does a binding reach all that wq.h has? The functions, the fields of the structs and the
constants of api.json are held against what the layer of a language names; what it does not name
must stand in left_out.txt, with the reason. So a new field of the header fails the test of every
binding until it is there, or somebody has said why not.

For a compiler that can name the struct of a field, `marked_header` makes a wq.h in which each field
is deprecated: its warnings then say which fields are used, however they are written. A field that
is written in no other way than by its place (an aggregate) is not seen like that."""

import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "wq-field "  # before "wq_job_spec.tenant" in a warning


def api():
    with open(os.path.join(HERE, "api.json"), encoding="utf-8") as file:
        return json.load(file)


def is_asked(field):
    """Sizes and reserved fields are no part of a surface."""
    return field != "struct_size" and not field.startswith("reserved")


def all_names(described=None):
    """All that is asked for: wq_lease, wq_job_spec.tenant, WQ_JOB_ENCRYPT."""
    described = described or api()
    names = {function["name"] for function in described["functions"]}
    names |= {constant["name"] for constant in described["constants"]}
    names |= {code["name"] for code in described["codes"]}
    for struct in described["structs"]:
        names |= {f"{struct['name']}.{field['name']}" for field in struct["fields"]
                  if is_asked(field["name"])}
    return names


def left_out(binding, names):
    """name -> reason of those that the binding need not have. Each line of left_out.txt is
    `WHO: NAME NAME ... -- why`; WHO is `all` or names of bindings; `*` ends a beginning."""
    reasons = {}
    with open(os.path.join(HERE, "left_out.txt"), encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = re.fullmatch(r"([a-z ]+): (.+?) -- (\S.*)\n", line)
            if not match:
                raise SystemExit(f"left_out.txt:{number}: not WHO: NAMES -- why")
            who, what, why = match.groups()
            for word in what.split():
                found = [name for name in names if name == word or
                         (word.endswith("*") and name.startswith(word[:-1]))]
                if not found:
                    raise SystemExit(f"left_out.txt:{number}: wq.h has no {word}")
                if who == "all" or binding in who.split():
                    reasons.update((name, (why, word)) for name in found)
    return reasons


def problems(binding, reached):
    """What is wrong, as lines; none: all is reached or left out for a reason, and nothing that is
    reached is said to be left out."""
    names = all_names()
    reasons = left_out(binding, names)
    lines = [f"{name}: not in the surface of {binding}, and not in bindings/api/left_out.txt"
             for name in sorted(names - reached - set(reasons))]
    lines += [f"{name}: is in the surface of {binding}, and left_out.txt says that it is not"
              for name in sorted(reached & set(reasons)) if not reasons[name][1].endswith("*")]
    return lines


def without_comments(text):
    """Text of C, C++, Go, Rust or JavaScript without comments. Good enough for sources in which no
    string has // or /* in it."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"(?m)//.*$", "", text)


def words_of(paths):
    """All words of these files, comments left out."""
    words = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            words |= set(re.findall(r"\w+", without_comments(file.read())))
    return words


def structs_of(names, structs):
    """All fields of these structs."""
    return {name for name in names if name.split(".")[0] in structs}


def marked_header(header):
    """The text of wq.h with each field of a struct deprecated; the warning is MARK and its name."""
    def struct(match):
        name, body = match.group(1), without_comments(match.group(2))
        body = re.sub(r"(\w+)((?:\[\w+\])?)(?=\s*[,;])", lambda field: (
            f'{field.group(1)}{field.group(2)} '
            f'__attribute__((deprecated("{MARK}{name}.{field.group(1)}")))'), body)
        return f"typedef struct {name} {{{body}}} {name};"

    return re.sub(r"typedef struct (wq_\w+) \{(.*?)\} \1;", struct, header, flags=re.DOTALL)


def fields_in_warnings(text):
    """The fields that a compiler has warned about."""
    return set(re.findall(re.escape(MARK) + r"(wq_\w+\.\w+)", text))

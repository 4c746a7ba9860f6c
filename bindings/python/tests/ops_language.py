"""The language of tests/conformance: reading scripts, and printing values as its README says."""

import re
import time
from datetime import datetime, timedelta, timezone

_TOKEN = re.compile(r'(?P<key>[a-z_]+)=(?:"(?P<text>(?:[^"\\]|\\.)*)"(?:\*(?P<times>\d+))?'
                    r'|(?P<word>[^\s"]*))(?:\s+|$)')
_ESCAPE = re.compile(r'\\(?:x([0-9a-fA-F]{2})|(["\\]))')
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class BadScript(Exception):
    """The script can not be run."""


def unescape(text):
    """The bytes that a quoted text stands for."""
    out, position = b"", 0
    for match in _ESCAPE.finditer(text):
        out += text[position:match.start()].encode("ascii")
        out += bytes([int(match.group(1), 16)]) if match.group(1) else match.group(2).encode()
        position = match.end()
    return out + text[position:].encode("ascii")


class Arguments(dict):
    """The arguments of one line. `headers` are pairs, all other keys come once."""

    def __init__(self, text):
        super().__init__()
        self.headers = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if not match:
                raise BadScript(f"cannot read: {text[position:]}")
            position = match.end()
            key, value = match.group("key"), match.group("word")
            if match.group("text") is not None:
                value = unescape(match.group("text")) * int(match.group("times") or 1)
            if key == "header":
                name, _, content = value.partition(b"=")
                self.headers.append((name, content))
            else:
                self[key] = value

    def number(self, key, default=None):
        return int(self[key]) if key in self else default

    def ms(self, key, default=None):
        """A duration."""
        return timedelta(milliseconds=int(self[key])) if key in self else default

    def when(self, key):
        """A point in time, or one before or after now."""
        value = self.get(key)
        if value is None:
            return None
        if value[0] in "+-":
            return time.time() + int(value) / 1000
        return _EPOCH + timedelta(milliseconds=int(value))

    def words(self, key):
        value = self.get(key)
        return value.split(",") if value else []

    def data(self, key, default=None):
        """Bytes, also where a word was written without quotes."""
        value = self.get(key, default)
        return value.encode("ascii") if isinstance(value, str) else value


def read_script(path):
    """(op, arguments, parts) for each operation."""
    parts = []
    with open(path, encoding="ascii") as file:
        for line in file.read().split("\n"):
            line = line.strip(" ")
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.partition(" ")
            arguments = Arguments(rest.strip(" "))
            if word == "+":
                parts.append(arguments)
            else:
                yield word, arguments, parts
                parts = []


def fnv1a(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


def quoted(data):
    """Bytes as they are printed."""
    if len(data) > 64:
        return f"bytes({len(data)},{fnv1a(data):08x})"
    out = ""
    for byte in data:
        char = chr(byte)
        if char in '"\\':
            out += "\\" + char
        else:
            out += char if 0x20 <= byte <= 0x7e else f"\\x{byte:02x}"
    return f'"{out}"'


def name_data(name):
    return name.encode("utf-8", "surrogateescape")


def queue_name(name):
    return name if re.fullmatch(r"[a-z0-9_]+", name) else quoted(name_data(name))


def milliseconds(value):
    """A duration as a number; None is 0."""
    return 0 if value is None else value // timedelta(milliseconds=1)


def flag_words(**flags):
    """The names of those that are true."""
    return ",".join(name for name, is_set in flags.items() if is_set)


def key_text(key_id, name, code):
    """How something is sealed, and why it does not open."""
    return optional(("key_id", key_id), (name, f"WQ_E_{code.name}" if code.is_error else ""))


def optional(*pairs):
    """" key=value" of those that are not 0 or empty. A time is told as "set"."""
    out = ""
    for key, value in pairs:
        if isinstance(value, datetime):
            out += f" {key}=set"
        elif isinstance(value, timedelta):
            out += f" {key}={milliseconds(value)}" if value else ""
        elif isinstance(value, bytes):
            out += f" {key}={quoted(value)}" if value else ""
        elif isinstance(value, bool):
            out += f" {key}=1" if value else ""
        elif value:
            out += f" {key}={value}"
    return out

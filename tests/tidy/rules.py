"""The repository's rules. A rule is a function that takes a Tree and yields Problems; RULES lists
them all. What a rule allows stands in its table, with the files named; other exceptions stand in
allow.txt."""

import ast
import fnmatch
import os
import re
from dataclasses import dataclass, field

import cpp_scan
import wq_header

COLUMNS_MAX = 100
FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70

LAYERS = ("base", "io", "engine", "jobs", "capi")
LIBRARY = tuple(f"src/{layer}/*" for layer in LAYERS)
ENGINE_SIDE = ("src/base/*", "src/io/*", "src/engine/*", "src/jobs/*")
CPP_SUFFIXES = (".h", ".cc", ".c")
CODE_SUFFIXES = CPP_SUFFIXES + (".def", ".fbs", ".py", ".sh", ".cmake", ".map", ".in")
SKIPPED_DIRECTORIES = {".git", ".cache", ".pytest_cache", "__pycache__", "node_modules", "target",
                       "corpus", "golden"}
# Named in pieces, or this file would break its own rules.
MARKS = ("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")
MACHINE_PATHS = ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/")


@dataclass
class Problem:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass
class Tree:
    """The text files below a root. Everything is read once."""
    root: str
    files: dict = field(default_factory=dict)
    not_text: list = field(default_factory=list)

    def load(self):
        for directory, names, files in os.walk(self.root):
            names[:] = sorted(n for n in names
                              if n not in SKIPPED_DIRECTORIES and not n.startswith("build"))
            for name in sorted(files):
                full = os.path.join(directory, name)
                path = os.path.relpath(full, self.root).replace(os.sep, "/")
                with open(full, "rb") as file:
                    data = file.read()
                try:
                    self.files[path] = data.decode("utf-8")
                except UnicodeDecodeError:
                    self.not_text.append(path)
        return self

    def matching(self, *patterns, suffixes=CPP_SUFFIXES):
        for path, text in self.files.items():
            if path.endswith(suffixes) and matches(path, patterns):
                yield path, text


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def is_code(path):
    return path.endswith(CODE_SUFFIXES) or os.path.basename(path) in ("CMakeLists.txt", "Makefile")


# ---- text ---------------------------------------------------------------------------------------

def text_shape(tree):
    """At most 100 columns, no tabs, no blanks at line ends, a newline at the end of the file."""
    for path, text in tree.files.items():
        if not is_code(path):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > COLUMNS_MAX:
                yield Problem(path, number, "line_length",
                              f"{len(line)} columns, {COLUMNS_MAX} allowed")
            if line != line.rstrip():
                yield Problem(path, number, "blank_at_end", "blank or carriage return at its end")
            if "\t" in line and os.path.basename(path) != "Makefile":
                yield Problem(path, number, "tab", "tab; indent with blanks")
        if text and not text.endswith("\n"):
            yield Problem(path, text.count("\n") + 1, "end_of_file", "no newline at the end")


def ascii_only(tree):
    for path in tree.not_text:
        yield Problem(path, 1, "ascii", "not text; binary test data goes to a golden/ or corpus/")
    for path, text in tree.files.items():
        for number, line in enumerate(text.split("\n"), 1):
            bad = [char for char in line if ord(char) > 126]
            if bad:
                yield Problem(path, number, "ascii", f"{ascii(bad[0])}; write an escape instead")


def no_marks(tree):
    pattern = re.compile(r"\b(?:" + "|".join(MARKS) + r")\b")
    for path, text in tree.files.items():
        for number, line in enumerate(text.split("\n"), 1):
            match = pattern.search(line)
            if match:
                yield Problem(path, number, "mark", f"{match.group()}: do it, or open an issue")


def no_machine_paths(tree):
    pattern = re.compile("|".join(rf"(?<![\w.$}}]){re.escape(p)}" for p in MACHINE_PATHS))
    for path, text in tree.files.items():
        for number, line in enumerate(text.split("\n"), 1):
            match = pattern.search(line)
            if match:
                yield Problem(path, number, "machine_path",
                              f"'{match.group()}': a path of one machine")


# ---- lengths ------------------------------------------------------------------------------------

def file_length(tree):
    for path, text in tree.files.items():
        lines = text.count("\n")
        if is_code(path) and lines > FILE_LINES_MAX:
            yield Problem(path, 1, "file_length", f"{lines} lines, {FILE_LINES_MAX} allowed")


def function_length(tree):
    for path, text in tree.files.items():
        if path.endswith(CPP_SUFFIXES):
            found = cpp_scan.functions(text)
        elif path.endswith(".py"):
            found = [cpp_scan.Function(node.name, node.lineno, node.end_lineno)
                     for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        else:
            continue
        for function in found:
            if function.lines > FUNCTION_LINES_MAX:
                yield Problem(path, function.first_line, "function_length",
                              f"{function.name}: {function.lines} lines, "
                              f"{FUNCTION_LINES_MAX} allowed")


# ---- includes -----------------------------------------------------------------------------------

# Third-party header -> the only files of src/ that may include it.
THIRD_PARTY = {
    "rocksdb/version.h": ("src/capi/version.cc",),
    "rocksdb/*": ("src/engine/store_rocks*.cc",),
    "liburing.h": ("src/io/uring_io.cc",),
    "xxhash.h": ("src/base/hash.cc",),
    "openssl/*": ("src/engine/payload_seal.cc",),
    "zstd.h": ("src/engine/payload_compress.cc",),
    "flatbuffers/*": ("src/engine/record*.cc",),
    "*_generated.h": ("src/engine/record*.cc",),
    "CLI/*": ("src/cli/*",),
    "nlohmann/*": ("src/cli/*",),
    "cctz/*": ("src/engine/cron_zone.cc",),
    "archive*.h": ("src/cli/backup_tar.cc",),
    "hiredis/*": ("src/relay/redis.cc",),
}
SYSTEM_HEADERS = re.compile(
    r"(?:sys|linux|netinet|arpa)/\w+\.h"
    r"|(?:assert|dirent|errno|fcntl|getopt|glob|grp|inttypes|limits|malloc|math|poll|pthread|pwd"
    r"|sched|signal|spawn|stddef|stdint|stdio|stdlib|string|strings|syslog|termios|time|unistd"
    r"|wchar)\.h")
GENERATED_HEADERS = ("build_config.h",)
PUBLIC_HEADER_USERS = ("src/capi/*", "src/cli/*", "src/relay/*")


def include_direction(tree):
    """base <- io <- engine <- jobs <- capi; relay sees wq.h and itself, cli these and itself."""
    for path, text in tree.matching("src/*"):
        own = path.split("/")[1]
        for line, kind, target in cpp_scan.includes(text):
            if target == "wq.h":
                if not matches(path, PUBLIC_HEADER_USERS):
                    yield Problem(path, line, "include_direction",
                                  "wq.h is for capi, relay and cli only")
            elif kind == "<" or target in GENERATED_HEADERS or target.endswith("_generated.h"):
                continue
            elif f"src/{target}" not in tree.files:
                yield Problem(path, line, "include_path", f'"{target}": no such file in src/')
            else:
                layer = target.split("/")[0]
                order = LAYERS.index(own) if own in LAYERS else -1
                if (own, layer) == ("cli", "relay"):
                    continue
                if layer != own and (layer not in LAYERS or LAYERS.index(layer) > order):
                    yield Problem(path, line, "include_direction",
                                  f'{own} may not include "{target}" '
                                  f'({" <- ".join(LAYERS)}; cli includes wq.h only)')


def third_party(tree):
    for path, text in tree.matching("src/*"):
        for line, kind, target in cpp_scan.includes(text):
            rule = next((p for p in THIRD_PARTY if fnmatch.fnmatchcase(target, p)), None)
            if rule:
                if not matches(path, THIRD_PARTY[rule]):
                    yield Problem(path, line, "third_party",
                                  f"<{target}> belongs to {', '.join(THIRD_PARTY[rule])} only")
            elif kind == "<" and target != "wq.h" and ("." in target or "/" in target):
                if not SYSTEM_HEADERS.fullmatch(target):
                    yield Problem(path, line, "third_party",
                                  f"<{target}> is not in the tables of tests/tidy/rules.py")


# ---- banned calls -------------------------------------------------------------------------------

@dataclass
class Ban:
    rule: str
    pattern: str
    instead: str
    where: tuple
    unless: tuple = ()


_CALL = r"(?<![\w.>:])(?:::)?"
EVERYWHERE = ("src/*", "tests/*", "bench/*", "fuzz/*", "include/*", "bindings/*")
IO_BACKENDS = ("src/io/posix_io.cc", "src/io/thread_io.cc", "src/io/uring_io.cc",
               "src/io/dir_lock.cc")
SST_FILES = ("src/engine/store_rocks*.cc",)  # RocksDB writes them, past Io
EVENTFD_USERS = ("src/engine/completion.cc",)
FILE_CALLS = (r"pwritev?2?|pwrite64|preadv?2?|fsync|fdatasync|syncfs|sync_file_range|fallocate"
              r"|posix_fallocate|ftruncate|openat2?|unlinkat|renameat2?|fopen|freopen|mkstemp"
              r"|opendir")

BANS = (
    Ban("clock", r"std::chrono::\w*_clock::now|\b\w+_clock::now\s*\(",
        "an injected Clock (base/clock.h)", LIBRARY),
    Ban("clock", _CALL + r"(?:clock_gettime|gettimeofday|timespec_get|ftime)\s*\(",
        "an injected Clock (base/clock.h)", LIBRARY, ("src/base/clock.cc",)),
    Ban("clock", r"(?<![\w.>:])(?:std)?(?:::)?time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)",
        "an injected Clock (base/clock.h)", EVERYWHERE),
    Ban("random",
        r"(?<![\w.>:])(?:std)?(?:::)?s?rand\s*\(|\brandom_device\b|\bdrand48\b",
        "Prng (base/prng.h) with a printed seed", EVERYWHERE),
    Ban("random", r"\bstd::(?:mt19937\w*|minstd_rand0?|default_random_engine)\b",
        "Prng (base/prng.h), the same numbers everywhere", ("src/*", "tests/*", "fuzz/*")),
    Ban("random", _CALL + r"(?:getrandom|getentropy)\s*\(", "os_entropy() (base/prng.h)",
        EVERYWHERE, ("src/base/prng.cc", "src/relay/draw_id.cc")),
    Ban("file", _CALL + r"(?:" + FILE_CALLS + r")\s*\(", "Io and File (io/io.h)", LIBRARY,
        IO_BACKENDS),
    Ban("file", r"(?<![\w>])::(?:open|creat|read|write|readv|writev|rename|unlink|mkdir|rmdir|flock"
        r"|truncate|stat|lstat|fstat|remove)\s*\(", "Io and File (io/io.h)", LIBRARY,
        IO_BACKENDS + EVENTFD_USERS),
    Ban("file", r"\bstd::(?:[io]?fstream|filesystem(?!::path\b)|rename|remove)\b(?!_)",
            "Io and File (io/io.h)",
        LIBRARY, IO_BACKENDS + SST_FILES),
    Ban("thread", r"\bstd::j?thread\b(?!::id)|\bpthread_create\b|\bstd::async\b",
        "the threads of engine.cc, or a step that the caller drives", LIBRARY,
        ("src/engine/engine.h", "src/engine/engine.cc", "src/engine/thread_room.cc",
         "src/io/thread_io.cc")),
    Ban("sleep",
        r"\bsleep_(?:for|until)\b|" + _CALL + r"(?:usleep|(?:clock_)?nanosleep|sleep)\s*\(",
        "a CondVar wait, or an injected Clock that the test moves", EVERYWHERE),
    Ban("mutex",
        r"\bstd::(?:\w*mutex|condition_variable\w*|lock_guard|(?:unique|scoped|shared)_lock)\b",
        "Mutex, MutexLock and CondVar (base/mutex.h), which clang can check", LIBRARY,
        ("src/base/mutex.h",)),
    Ban("shared_ptr", r"\bstd::(?:shared_ptr|make_shared)\b",
        "unique_ptr, or a value with one owner", ENGINE_SIDE,
        # The content of a memory store outlives the store that a simulated crash takes away.
        # RocksDB's own interface is made of shared pointers.
        ("src/engine/store.h", "src/engine/store_mem.cc", "src/engine/store_rocks*")),
    # Running out of memory is an exception everywhere, also where we ask for memory by hand.
    Ban("exception", r"(?<![\w:])throw\b(?!;| std::bad_alloc\(\))", "Status, or WQ_CHECK",
        ENGINE_SIDE, ("src/base/status.cc",)),
    Ban("dynamic_cast", r"\bdynamic_cast\b",
        "a virtual function (RocksDB may be built without RTTI)", LIBRARY),
    Ban("assert", r"(?<![\w.:])assert\s*\(", "WQ_CHECK or WQ_INVARIANT (base/check.h)", ("src/*",)),
    Ban("host_process",
        r"(?<![\w.>:])(?:std)?(?:::)?(?:abort|exit|_exit|quick_exit|terminate)\s*\(",
        "a Status: the process belongs to the caller", LIBRARY),
    Ban("host_output", r"\bstd::(?:cout|cerr|clog)\b"
        r"|(?<![\w.>:])(?:std)?(?:::)?(?:printf|fprintf|puts|fputs|perror)\s*\(",
        "a Status, or the caller's log sink: a library does not print", LIBRARY),
    Ban("using_namespace", r"\busing\s+namespace\b", "the qualified name", EVERYWHERE),
    Ban("disabled_test", r"\bDISABLED_\w+", "a fixed test, or none", ("tests/*",)),
)


def banned_calls(tree):
    compiled = [(ban, re.compile(ban.pattern)) for ban in BANS]
    for path, text in tree.matching(*EVERYWHERE):
        code = cpp_scan.code_only(text)
        for ban, pattern in compiled:
            if matches(path, ban.unless) or not matches(path, ban.where):
                continue
            for match in pattern.finditer(code):
                yield Problem(path, cpp_scan.line_of(code, match.start()), ban.rule,
                              f"'{match.group().strip()}' is banned here; use {ban.instead}")


# ---- files and their registration ---------------------------------------------------------------

def file_header(tree):
    """A file opens with what it is for. A .cc beside its header may leave that to the header."""
    for path, text in tree.matching("src/*", "tests/*", "bench/*", "fuzz/*", "include/*",
                                    suffixes=CPP_SUFFIXES + (".fbs", ".def")):
        if path.endswith(".cc") and path[:-3] + ".h" in tree.files:
            continue
        if not text.startswith(("//", "/*")):
            yield Problem(path, 1, "file_header", "does not open with a comment on its purpose")
    for path, text in tree.matching("src/*", "tests/*", suffixes=(".h",)):
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield Problem(path, 1, "file_header", "a header without #pragma once")


def listed_sources(tree):
    """Every source of C or C++ is named in a CMakeLists.txt of its directory or one above it."""
    listed = set()
    for path, text in tree.files.items():
        if os.path.basename(path) == "CMakeLists.txt":
            for word in re.findall(r"[\w./${}-]+\.(?:cc|c|fbs)\b", re.sub(r"#[^\n]*", "", text)):
                # In a loop a name has a variable in it; that stands for anything but a slash.
                word = re.sub(r"\$\{\w+\}", "*", word)
                listed.add(os.path.normpath(os.path.join(os.path.dirname(path), word)))
    for path, _ in tree.matching("src/*", "tests/*", "bench/*", "fuzz/*",
                                 suffixes=(".cc", ".c", ".fbs")):
        if path not in listed and not any(fnmatch.fnmatch(path, name) and name.count("/") ==
                                          path.count("/") for name in listed if "*" in name):
            yield Problem(path, 1, "unlisted_source", "no CMakeLists.txt lists it")


def reached_tests(tree):
    """Every CMakeLists.txt below tests/ is taken up by the one above it."""
    top = re.sub(r"#[^\n]*", "", tree.files.get("tests/CMakeLists.txt", ""))
    top_words = re.split(r"[\s()]+", top)
    for path in tree.files:
        directory = os.path.dirname(path)
        if os.path.basename(path) != "CMakeLists.txt" or not directory.startswith("tests/"):
            continue
        if directory.startswith("tests/install/"):
            continue
        parent = os.path.dirname(directory)
        parent_text = tree.files.get(f"{parent}/CMakeLists.txt", "")
        name = re.escape(os.path.basename(directory))
        named_by_parent = re.search(rf"add_subdirectory\(\s*{name}\b", parent_text)
        if not named_by_parent and directory.removeprefix("tests/") not in top_words:
            yield Problem(path, 1, "unreached_tests",
                          "tests/CMakeLists.txt does not name this directory")


def reached_bindings(tree):
    """Every test.sh below bindings/ is run by ctest."""
    names = re.split(r"[\s()]+", tree.files.get("bindings/CMakeLists.txt", ""))
    for path in tree.files:
        directory = os.path.dirname(path).removeprefix("bindings/")
        if path == f"bindings/{directory}/test.sh" and directory not in names:
            yield Problem(path, 1, "unreached_bindings", "bindings/CMakeLists.txt does not name it")


# ---- documents ----------------------------------------------------------------------------------

def links_lead_somewhere(tree):
    """A document that a comment names, or that another document links to, is there."""
    named = re.compile(r"(?<![\w/.])docs/[\w./-]+\.md\b")
    link = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(?:#[^)]*)?\)")
    for path, text in tree.files.items():
        if path.startswith("tests/tidy/"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            targets = named.findall(line)
            if path.endswith(".md"):
                targets = [os.path.normpath(os.path.join(os.path.dirname(path), target))
                           for target in link.findall(line)]
                targets += named.findall(link.sub("", line))
            for target in targets:
                there = target in tree.files or any(f.startswith(target.rstrip("/") + "/")
                                                    for f in tree.files)
                if not there and not os.path.exists(os.path.join(tree.root, target)):
                    yield Problem(path, number, "dead_link", f"{target} does not exist")


# ---- the C ABI ----------------------------------------------------------------------------------

HEADER = "include/wq.h"
MAP = "src/capi/libwq.map"
CODES = "src/base/errors.def"


def api_documentation(tree):
    header = tree.files.get(HEADER)
    if header is None:
        return
    for function in wq_header.functions(header):
        problem = wq_header.doc_problem(function.doc)
        if problem:
            yield Problem(HEADER, function.line, "api_documentation",
                          f"{function.name} {problem}")
    if wq_header.example(header) is None:
        yield Problem(HEADER, 1, "api_example", "no example between the marks of the first comment "
                      f"('{wq_header.EXAMPLE_BEGIN}', '{wq_header.EXAMPLE_END}')")


def export_map(tree):
    header, text = tree.files.get(HEADER), tree.files.get(MAP)
    if header is None or text is None:
        return
    declared = [f.name for f in wq_header.functions(header)]
    exported = wq_header.map_symbols(text)
    for name in sorted(set(declared) - set(exported)):
        yield Problem(MAP, 1, "export_map", f"{name} is declared WQ_API in wq.h and not exported")
    for name in sorted(set(exported) - set(declared)):
        yield Problem(MAP, 1, "export_map", f"{name} is exported and not declared WQ_API in wq.h")
    for name in sorted(n for n in set(exported) if exported.count(n) > 1):
        yield Problem(MAP, 1, "export_map", f"{name} is listed twice")


def code_values(tree):
    """errors.def and wq.h name the same codes with the same values."""
    header, table = tree.files.get(HEADER), tree.files.get(CODES)
    if header is None or table is None:
        return
    constants = wq_header.constants(header)
    for name, value in re.findall(r"^X\((\w+), (-?\d+),", table, re.MULTILINE):
        macro = ("WQ_E_" if int(value) < 0 else "WQ_") + name.upper()
        if constants.get(macro) != int(value):
            yield Problem(HEADER, 1, "code_values", f"{macro} must be {value} as in errors.def, "
                          f"found {constants.get(macro, 'nothing')}")
    known = {"WQ_E_" + n.upper() for n in re.findall(r"^X\((\w+),", table, re.MULTILINE)}
    for macro in constants:
        if macro.startswith("WQ_E_") and macro not in known:
            yield Problem(HEADER, 1, "code_values", f"{macro} is not in errors.def")


# ---- planted bugs -------------------------------------------------------------------------------

PLANTS = "src/base/planted.def"


def planted_hooks(tree):
    """Hooks and list agree; hooks stand in sources of the library, since tests see its headers."""
    listed = re.findall(r"^X\((\w+)", tree.files.get(PLANTS, ""), re.MULTILINE)
    used = set()
    for path, text in tree.matching("src/*", "tests/*", "fuzz/*", "bench/*"):
        if path.startswith("src/base/planted."):
            continue
        code = cpp_scan.code_only(text)
        for match in re.finditer(r"\bWQ_PLANTED\((\w+)\)", code):
            line = cpp_scan.line_of(code, match.start())
            used.add(match[1])
            if match[1] not in listed:
                yield Problem(path, line, "planted", f"{match[1]} is not in {PLANTS}")
            if not (path.endswith(".cc") and matches(path, LIBRARY)):
                yield Problem(path, line, "planted", "hooks are for .cc files of the library")
    for name in listed:
        if name not in used:
            yield Problem(PLANTS, 1, "planted", f"{name} has no hook")


SLEEPS = re.compile(r"\b(?:time\.[sS]leep|thread::sleep)\(")


def no_sleeps_in_bindings(tree):
    """The ban on sleeps, for the other languages."""
    for path, text in tree.files.items():
        if not matches(path, ("bindings/*", "tests/*")) or not path.endswith((".go", ".rs", ".py")):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if SLEEPS.search(line) and path != "tests/tidy/tidy_test.py":
                yield Problem(path, number, "sleep", "sleeps; wait for a condition, or give way")


RULES = (text_shape, ascii_only, no_marks, no_machine_paths, file_length, function_length,
         include_direction, third_party, banned_calls, file_header, listed_sources, reached_tests,
         reached_bindings, no_sleeps_in_bindings,
         links_lead_somewhere, api_documentation, export_map, code_values, planted_hooks)

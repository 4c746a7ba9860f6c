"""Feeds the rules small trees that break them, and whole ones that do not (ctest label: tidy).
The last test asserts that every rule and every ban was seen to fire."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cpp_scan  # noqa: E402
import rules  # noqa: E402
import tidy  # noqa: E402
import wq_header  # noqa: E402

SEEN_TO_FIRE = set()
TOP = "// What this file is for.\n"
HEADER_TOP = TOP + "#pragma once\n"
DOC = ("/* Adds one.\n * Returns: WQ_OK.\n * Durability: none.\n * Thread: any.\n * Blocks: no.\n"
       " * Owns: nothing.\n * Since: 0.1.   Stability: stable. */\n")
EXAMPLE = "/* wq.h\n   ---8<--- example.c\nint main(void) { return 0; }\n   ---8<--- end\n */\n"
API = EXAMPLE + "#define WQ_API\n#define WQ_E_IO -60\n" + DOC + "WQ_API int wq_add(int a);\n"


def run(files):
    """Problems of a tree made of `files`; each source is listed unless the test says otherwise."""
    files = dict(files)
    if not any(path.endswith("CMakeLists.txt") for path in files):
        sources = [p for p in files if p.endswith((".cc", ".c", ".fbs"))]
        for top in {p.split("/")[0] for p in sources}:
            listed = [p.split("/", 1)[1] for p in sources if p.startswith(top + "/")]
            files[top + "/CMakeLists.txt"] = "add(\n" + "\n".join("  " + p for p in listed) + ")\n"
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full) or root, exist_ok=True)
            with open(full, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
        return tidy.check(root)


class TidyCase(unittest.TestCase):
    def fires(self, files, rule, path=None, line=None):
        problems = run(files)
        hits = [p for p in problems if p.rule == rule and (path is None or p.path == path)
                and (line is None or p.line == line)]
        self.assertTrue(hits, f"{rule} did not fire; got {[str(p) for p in problems]}")
        SEEN_TO_FIRE.add(rule)

    def clean(self, files):
        self.assertEqual([str(p) for p in run(files)], [])

    def fires_in(self, path, code, rule):
        """`code` inside a file with everything else in order."""
        self.fires({path: TOP + code + "\n"}, rule, path, 2)

    def clean_in(self, path, code):
        self.clean({path: TOP + code + "\n"})


class TextRules(TidyCase):
    def test_line_length(self):
        self.clean_in("src/io/a.cc", "// " + "x" * 97)
        self.fires_in("src/io/a.cc", "// " + "x" * 98, "line_length")

    def test_blanks_tabs_and_ends(self):
        self.fires_in("src/io/a.cc", "int a; ", "blank_at_end")
        self.fires_in("src/io/a.cc", "int a;\r", "blank_at_end")
        self.fires_in("src/io/a.cc", "\tint a;", "tab")
        self.clean({"Makefile": "all:\n\ttrue\n"})
        self.fires({"src/io/a.cc": TOP + "int a;"}, "end_of_file", line=2)

    def test_ascii(self):
        self.fires_in("src/io/a.cc", "// caf\u00e9", "ascii")
        self.fires({"README.md": "a \u2014 b\n"}, "ascii", "README.md", 1)
        self.fires({"docs/a.md": b"\xff\xfe\n"}, "ascii", "docs/a.md", 1)
        self.clean({"fuzz/corpus/frame_fuzz/seed": b"\xff\xfe\n"})

    def test_marks(self):
        for mark in rules.MARKS:
            self.fires_in("src/io/a.cc", f"// {mark}: later", "mark")
        self.clean_in("src/io/a.cc", "const char* pattern = \"file.XXXXXX\";")

    def test_machine_paths(self):
        for path in rules.MACHINE_PATHS:
            self.fires({"scripts/a.sh": f"ls {path}x\n"}, "machine_path", "scripts/a.sh", 1)
        self.clean({"scripts/a.sh": "ls build/wo" + "rk/x\n"})


class LengthRules(TidyCase):
    def test_file_length(self):
        self.clean({"src/io/a.cc": TOP + "int a;\n" * 999})
        self.fires({"src/io/a.cc": TOP + "int a;\n" * 1000}, "file_length", "src/io/a.cc", 1)

    def test_function_length(self):
        def function(lines):
            return TOP + "namespace wq {\nint f(int a) {\n" + "  a += 1;\n" * (lines - 2) + "}\n}\n"
        self.clean({"src/io/a.cc": function(70)})
        self.fires({"src/io/a.cc": function(71)}, "function_length", "src/io/a.cc", 3)
        test = TOP + "TEST(A, B) {\n" + "  f();\n" * 70 + "}\n"
        self.fires({"tests/a.cc": test}, "function_length", line=2)
        python = "def f(a):\n" + "    a += 1\n" * 70
        self.fires({"tests/tidy/a.py": python}, "function_length", line=1)

    def test_what_is_a_function(self):
        text = """
        namespace wq {
        constexpr int table[] = {1, 2};
        class WQ_CAPABILITY("mutex") Box : public Base {
         public:
          Box(int a) : a_{a}, b_(a) { go(); }
          explicit Box() noexcept : Base{1} {}
          bool operator==(const Box& other) const { return a_ == other.a_; }
         private:
          struct Inner { int x; };
          int a_{0};
        };
        template <typename T>
        auto free_one(T t) -> std::vector<int> { if (t) { return {}; } return {1}; }
        extern "C" { int wq_c(void) { return '{'; } }
        TEST(Suite, Name) { EXPECT_EQ(R"({)", "{"); }
        }  // namespace wq
        """
        names = [f.name for f in cpp_scan.functions(text)]
        self.assertEqual(names, ["Box", "Box", "operator==", "free_one", "wq_c",
                                 "TEST(Suite, Name)"])

    def test_scanner_blanks_comments_and_literals_only(self):
        code = cpp_scan.code_only(
            'int a = 1\'000; // x\nchar b = \'"\'; /* y */ f("z\\"", c); R"(w)";\n')
        self.assertEqual(code.count("\n"), 2)
        for gone in "xyzw":
            self.assertNotIn(gone, code)
        for kept in ("int a = 1'000;", "char b =", "f(", ", c);"):
            self.assertIn(kept, code)


class IncludeRules(TidyCase):
    FILES = {f"src/{layer}/x.h": HEADER_TOP for layer in rules.LAYERS + ("cli",)}

    def test_direction(self):
        order = rules.LAYERS
        for low, layer in enumerate(order):
            for high, other in enumerate(order):
                files = dict(self.FILES, **{f"src/{layer}/a.cc": TOP + f'#include "{other}/x.h"\n'})
                if high > low:
                    self.fires(files, "include_direction", f"src/{layer}/a.cc", 2)
                else:
                    self.clean(files)
        for layer in order:
            up = dict(self.FILES, **{f"src/{layer}/a.cc": TOP + '#include "cli/x.h"\n'})
            self.fires(up, "include_direction", f"src/{layer}/a.cc", 2)
            down = dict(self.FILES, **{"src/cli/a.cc": TOP + f'#include "{layer}/x.h"\n'})
            self.fires(down, "include_direction", "src/cli/a.cc", 2)

    def test_public_header(self):
        for layer in ("capi", "cli"):
            self.clean({f"src/{layer}/a.cc": TOP + "#include <wq.h>\n"})
        engine = {"src/engine/a.cc": TOP + '#include "wq.h"\n'}
        self.fires(engine, "include_direction", "src/engine/a.cc", 2)

    def test_path(self):
        self.fires(dict(self.FILES, **{"src/io/a.cc": TOP + '#include "x.h"\n'}), "include_path")
        self.clean({"src/io/a.cc": TOP + "// #include \"nowhere.h\"\n"})

    def test_third_party(self):
        for header, owner in (("rocksdb/db.h", "src/engine/store_rocks.cc"),
                              ("liburing.h", "src/io/uring_io.cc"),
                              ("xxhash.h", "src/base/hash.cc"),
                              ("flatbuffers/flatbuffers.h", "src/engine/record.cc"),
                              ("CLI/CLI.hpp", "src/cli/main.cc"),
                              ("nlohmann/json.hpp", "src/cli/main.cc")):
            code = TOP + f"#include <{header}>\n"
            self.clean({owner: code})
            self.fires({"src/engine/a.cc": code}, "third_party", "src/engine/a.cc", 2)
        generated = TOP + '#include "engine/schema/command_generated.h"\n'
        self.clean({"src/engine/record.cc": generated})
        self.fires({"src/engine/a.cc": generated}, "third_party")
        self.fires({"src/io/a.cc": TOP + "#include <boost/any.hpp>\n"}, "third_party")
        self.clean({"src/io/a.cc": TOP + "#include <sys/uio.h>\n#include <vector>\n"})


class Bans(TidyCase):
    FIRING = (
        ("src/engine/a.cc", "auto t = std::chrono::steady_clock::now();", "clock"),
        ("src/engine/a.cc", "clock_gettime(CLOCK_REALTIME, &ts);", "clock"),
        ("tests/a.cc", "auto t = std::time(nullptr);", "clock"),
        ("tests/a.cc", "int r = rand();", "random"),
        ("tests/a.cc", "std::random_device device;", "random"),
        ("tests/a.cc", "std::mt19937_64 generator(7);", "random"),
        ("src/engine/a.cc", "getrandom(&v, 8, 0);", "random"),
        ("src/engine/a.cc", "::pwrite(fd, p, n, 0);", "file"),
        ("src/engine/a.cc", "fsync(fd);", "file"),
        ("src/io/segment.cc", "fdatasync(fd);", "file"),
        ("src/io/segment.cc", "int fd = ::open(path, 0);", "file"),
        ("src/capi/a.cc", "std::ofstream out(path);", "file"),
        ("src/io/a.cc", "std::filesystem::remove_all(path);", "file"),
        ("src/io/a.cc", "std::thread t([] {});", "thread"),
        ("src/io/a.cc", "std::jthread t([] {});", "thread"),
        ("src/io/a.cc", "pthread_create(&t, nullptr, f, nullptr);", "thread"),
        ("tests/a.cc", "std::this_thread::sleep_for(10ms);", "sleep"),
        ("tests/a.cc", "usleep(10);", "sleep"),
        ("bench/a.cc", "nanosleep(&ts, nullptr);", "sleep"),
        ("src/io/a.cc", "std::mutex m;", "mutex"),
        ("src/io/a.cc", "std::lock_guard lock(m);", "mutex"),
        ("src/engine/a.cc", "std::shared_ptr<int> p;", "shared_ptr"),
        ("src/engine/a.cc", "throw std::runtime_error(text);", "exception"),
        ("src/engine/a.cc", "auto* p = dynamic_cast<A*>(b);", "dynamic_cast"),
        ("src/io/a.cc", "assert(a > 0);", "assert"),
        ("src/capi/a.cc", "std::abort();", "host_process"),
        ("src/capi/a.cc", "exit(1);", "host_process"),
        ("src/io/a.cc", "std::cerr << 1;", "host_output"),
        ("src/io/a.cc", "fprintf(stderr, m);", "host_output"),
        ("tests/a.cc", "using namespace wq;", "using_namespace"),
        ("tests/a.cc", "TEST(A, DISABLED_b) {}", "disabled_test"),
    )
    QUIET = (
        ("src/base/clock.cc", "clock_gettime(CLOCK_REALTIME, &ts);"),
        ("src/base/prng.cc", "getrandom(&v, 8, 0);"),
        ("src/base/mutex.h", "#pragma once\nstd::mutex m;"),
        ("src/base/status.cc", "throw CheckFailed();"),
        ("src/io/a.cc", "if (p == nullptr) throw std::bad_alloc();"),
        ("src/io/a.cc", "catch (...) { throw; }\nstd::filesystem::path p(name);"),
        ("src/io/posix_io.cc", "int fd = ::open(path, 0);"),
        ("src/engine/engine.cc", "std::thread t([] {});"),
        ("src/engine/a.cc", "io.open(path); PosixIo::fsync(f); file->fdatasync(); next_time(0);"),
        ("src/engine/a.cc", "// std::mutex, rand(), assert(x)\nconst char* a = \"fsync(\";"),
        ("src/engine/a.cc", "static_assert(sizeof(int) == 4); std::snprintf(b, n, f); on_exit();"),
        ("src/cli/main.cc", "std::cout << 1; std::ifstream in(path); exit(1);"),
        ("tests/a.cc", "std::thread t([] {}); std::ofstream out(path);"),
        ("bench/a.cc", "auto t = std::chrono::steady_clock::now();"),
    )

    def test_banned(self):
        for path, code, rule in self.FIRING:
            with self.subTest(code=code):
                self.fires_in(path, code, rule)

    def test_not_banned(self):
        for path, code in self.QUIET:
            with self.subTest(code=code):
                self.clean_in(path, code)

    def test_every_ban_is_in_the_table_above(self):
        for ban in rules.BANS:
            tried = [c for p, c, r in self.FIRING if r == ban.rule and rules.matches(p, ban.where)]
            self.assertTrue(any(rules.re.search(ban.pattern, code) for code in tried), ban.pattern)

    def test_message_names_the_replacement(self):
        problems = run({"src/io/a.cc": TOP + "std::mutex m;\n"})
        self.assertIn("base/mutex.h", problems[0].message)


class FileRules(TidyCase):
    def test_file_header(self):
        self.fires({"src/io/a.cc": "int a;\n"}, "file_header", "src/io/a.cc", 1)
        self.clean({"src/io/a.cc": '#include "io/a.h"\n', "src/io/a.h": HEADER_TOP})
        self.fires({"src/io/a.h": TOP + "int a();\n"}, "file_header", "src/io/a.h", 1)

    def test_listed(self):
        listed = {"src/io/CMakeLists.txt": "target_sources(wq PRIVATE a.cc)\n", "src/io/a.cc": TOP}
        self.clean(listed)
        self.fires(dict(listed, **{"src/io/b.cc": TOP}), "unlisted_source", "src/io/b.cc", 1)
        loop = {"src/io/CMakeLists.txt": "target_sources(wq PRIVATE x/${name}_bench.cc)\n"}
        self.clean(dict(loop, **{"src/io/x/a_bench.cc": TOP}))
        self.fires(dict(loop, **{"src/io/x/a.cc": TOP}), "unlisted_source", "src/io/x/a.cc", 1)
        commented = dict(listed, **{"src/io/CMakeLists.txt": "# a.cc\n"})
        self.fires(commented, "unlisted_source", "src/io/a.cc", 1)
        test = {"tests/unit/a_test.cc": TOP, "tests/CMakeLists.txt": "set(x)\n"}
        self.fires(test, "unlisted_source")

    def test_reached(self):
        files = {"tests/unit/io/CMakeLists.txt": "add()\n",
                 "tests/CMakeLists.txt": "set(d sim\n  unit/io)\n"}
        self.clean(files)
        self.fires(dict(files, **{"tests/CMakeLists.txt": "set(d sim)\n"}), "unreached_tests")

    def test_reached_bindings(self):
        files = {"bindings/go/test.sh": "true\n", "bindings/go/sub/test.sh": "true\n"}
        self.clean(dict(files, **{"bindings/CMakeLists.txt": "set(names go go/sub)\n"}))
        self.fires(dict(files, **{"bindings/CMakeLists.txt": "set(names go)\n"}),
                   "unreached_bindings", "bindings/go/sub/test.sh")
        self.fires(files, "unreached_bindings")

    def test_sleeps_in_bindings(self):
        for path, code in (("bindings/go/a_test.go", "time.Sleep(d)"),
                           ("bindings/rust/tests/a.rs", "thread::sleep(d);"),
                           ("bindings/python/tests/a.py", "time.sleep(1)")):
            self.fires({path: code + "\n"}, "sleep", path, 1)


class ApiRules(TidyCase):
    def header(self, text):
        return {"include/wq.h": text}

    def test_documentation(self):
        self.clean(self.header(API))
        for section in wq_header.DOC_SECTIONS:
            self.fires(self.header(API.replace(section, "")), "api_documentation", "include/wq.h")
        for said in ("Adds one.", "WQ_OK.", "none.", "any.", "no.", "nothing.", "0.1.", "stable."):
            self.fires(self.header(API.replace(said, "")), "api_documentation")
        self.fires(self.header(API.replace(DOC, "")), "api_documentation")
        swapped = API.replace("Thread:", "#").replace("Blocks:", "Thread:").replace("#", "Blocks:")
        self.fires(self.header(swapped), "api_documentation")
        two = API + "WQ_API int wq_undocumented(void);\n"
        self.fires(self.header(two), "api_documentation")

    def test_example(self):
        self.fires(self.header(API.replace("---8<--- end", "end")), "api_example")

    def test_export_map(self):
        def files(names):
            listed = "".join(f"    {n};\n" for n in names)
            body = "WQ_0.1 {\n  global:\n" + listed + "  local:\n    *;\n};\n"
            return {"include/wq.h": API, "src/capi/libwq.map": body}
        self.clean(files(["wq_add"]))
        self.fires(files([]), "export_map")
        self.fires(files(["wq_add", "wq_ghost"]), "export_map")
        self.fires(files(["wq_add", "wq_add"]), "export_map")

    def test_code_values(self):
        table = "/* Codes. */\nX(io, -60, storage, \"t\")\n"
        files = {"include/wq.h": API, "src/base/errors.def": table}
        self.clean(files)
        more = table + 'X(ok, 0, outcome, "t")\n'
        for other in (table.replace("60", "61"), more, "/* Codes. */\n"):
            self.fires(dict(files, **{"src/base/errors.def": other}), "code_values")

    def test_planted_hooks(self):
        table = {"src/base/planted.def": '// Plants.\nX(weak_lock, "b", "R11")\n'}
        hook = "if (WQ_PLANTED(weak_lock)) return;\n"
        self.clean(dict(table, **{"src/io/a.cc": TOP + hook}))
        self.fires(table, "planted")
        self.fires(dict(table, **{"src/io/a.h": TOP + "#pragma once\n" + hook}), "planted")
        other = hook + "bool x = WQ_PLANTED(strong_lock);\n"
        self.fires(dict(table, **{"src/io/a.cc": TOP + other}), "planted")

    def test_structs(self):
        text = ("typedef struct wq_a wq_a;\ntypedef struct wq_b {\n  uint32_t x, y; /* z; */\n"
                "  const char *p;\n  int64_t list[4];\n} wq_b;\n")
        self.assertEqual([(s.name, s.fields) for s in wq_header.structs(text)],
                         [("wq_b", ["x", "y", "p", "list"])])


class Documents(TidyCase):
    def test_links(self):
        self.fires_in("src/io/a.cc", "// see docs/NONE.md", "dead_link")
        self.clean({"src/io/a.cc": TOP + "// see docs/A.md\n", "docs/A.md": "a [b](A.md#x)\n"})
        self.fires({"docs/A.md": "\n[b](B.md)\n"}, "dead_link", "docs/A.md", 2)
        self.clean({"docs/A.md": "[b](https://wq.example/B.md), [c](../d/)\n", "d/e.md": "e\n"})


class AllowFile(TidyCase):
    LONG = {"src/io/a.cc": TOP + "int a;\n" * 1000}

    def allow(self, line):
        return dict(self.LONG, **{"tests/tidy/allow.txt": "# comment\n" + line})

    def test_entries(self):
        self.clean(self.allow("src/io/a.cc file_length one table\n"))
        self.fires(self.allow("src/io/a.cc file_length\n"), "allow")
        unused = "src/io/a.cc file_length t\nsrc/io/b.cc mark not there\n"
        self.fires(self.allow(unused), "allow", line=3)


class ZComplete(unittest.TestCase):
    """Runs last: unittest sorts classes by name within this module."""

    def test_every_rule_was_seen_to_fire(self):
        with open(rules.__file__, encoding="utf-8") as file:
            names = set(rules.re.findall(r'Problem\([^;]*?,\s*"(\w+)",', file.read()))
        self.assertIn("line_length", names)
        names |= {ban.rule for ban in rules.BANS} | {"allow"}
        self.assertEqual(names - SEEN_TO_FIRE, set(), "never seen to fire")


if __name__ == "__main__":
    unittest.main()

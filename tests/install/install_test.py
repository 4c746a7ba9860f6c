"""Installs wq and uses it as others do (ctest label: install): find_package, pkg-config shared and
static, add_subdirectory, each in C and C++. The installed tree is moved before it is used: nothing
in it may remember where it was made."""

import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CPP_HEADERS = os.path.join(ROOT, "bindings", "cpp", "wq")
CONSUMER = os.path.join(HERE, "consumer")
RELAY_HEADERS = ("breaker", "job", "layout", "primary", "redis", "relay")
PROGRAMS = ("c_shared", "cxx_shared", "c_static", "cxx_static")


class Failed(Exception):
    pass


def run(command, environment=None, want_success=True):
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            env={**os.environ, **(environment or {})})
    if (result.returncode == 0) != want_success:
        raise Failed(f"{shlex.join(command)}: exit code {result.returncode}\n"
                     f"{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class InstallTest:
    def __init__(self, args):
        self.args = args
        self.work = args.work
        self.prefix = os.path.join(self.work, "moved")
        self.generator = ["-G", "Ninja", f"-DCMAKE_C_COMPILER={args.cc}",
                          f"-DCMAKE_CXX_COMPILER={args.cxx}"]

    def use(self, program, environment=None):
        """Runs a consumer in a fresh store."""
        store = os.path.join(self.work, "store")
        shutil.rmtree(store, ignore_errors=True)
        output = run([program, store], environment)
        if not output.startswith(f"lived {self.args.version}"):
            raise Failed(f"{program} printed {output!r}")

    def library_directory(self):
        found = glob.glob(os.path.join(self.prefix, "**", "libwq.a"), recursive=True)
        if len(found) != 1:
            raise Failed(f"libwq.a is not in {self.prefix} exactly once: {found}")
        return os.path.dirname(found[0])

    def install(self):
        first = os.path.join(self.work, "first")
        run(["cmake", "--install", self.args.build, "--prefix", first])
        os.rename(first, self.prefix)
        for path in glob.glob(os.path.join(self.prefix, "**", "*"), recursive=True):
            if path.endswith((".cmake", ".pc", ".h")):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for place in (first, self.args.build, ROOT):
                    if place in text:
                        raise Failed(f"{path} names {place}")

    def components(self):
        """Each component installs its own files and no others."""
        soname = re.escape(".".join(self.args.version.split(".")[:2]))
        version = re.escape(self.args.version)
        want = {
            "runtime": [rf"lib.*/libwq\.so\.{soname}", rf"lib.*/libwq\.so\.{version}"],
            "dev": [r"include/wq\.h", r"include/wq\.hpp",
                    *(re.escape(f"include/wq/{name}") for name in os.listdir(CPP_HEADERS)),
                    r"lib.*/libwq\.so", r"lib.*/libwq\.a",
                    r"lib.*/pkgconfig/wq\.pc", r"lib.*/cmake/wq/wq-config\.cmake",
                    r"lib.*/cmake/wq/wq-config-version\.cmake",
                    r"lib.*/cmake/wq/wq-targets\.cmake", r"lib.*/cmake/wq/wq-targets-\w+\.cmake",
                    r"lib.*/cmake/wq/WqDeps\.cmake"],
            "tools": [r"bin/wq"],
            "relay": [r"lib.*/libwq_relay\.a", r"lib.*/pkgconfig/wq-relay\.pc"] +
                     [rf"include/wq/relay/{name}\.h" for name in RELAY_HEADERS],
        }
        for component, patterns in want.items():
            if component in ("tools", "relay") and not self.args.cli:
                continue
            prefix = os.path.join(self.work, component)
            run(["cmake", "--install", self.args.build, "--prefix", prefix,
                 "--component", component])
            found = sorted(os.path.relpath(os.path.join(directory, name), prefix)
                           for directory, _, names in os.walk(prefix) for name in names)
            for path in found:
                if not any(re.fullmatch(pattern, path) for pattern in patterns):
                    raise Failed(f"component {component} has {path}")
            if len(found) != len(patterns):
                raise Failed(f"component {component} has only {found}")

    def find_package(self):
        wanted = ".".join(self.args.version.split(".")[:2])
        # A project in C alone must link the archive too, though that holds C++.
        for languages, programs in (("C;CXX", PROGRAMS), ("C", ("c_shared", "c_static"))):
            build = os.path.join(self.work, "find_package_" + languages.replace(";", "_"))
            run(["cmake", "-S", CONSUMER, "-B", build, *self.generator,
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCONSUMER_WANTS={wanted}",
                 f"-DCONSUMER_LANGUAGES={languages}"])
            run(["cmake", "--build", build])
            for program in programs:
                self.use(os.path.join(build, program))

    def other_version_is_refused(self):
        major, minor = (int(part) for part in self.args.version.split(".")[:2])
        for other in (f"{major}.{minor + 1}", f"{major + 1}.0"):
            output = run(["cmake", "-S", CONSUMER, "-B", os.path.join(self.work, "refused"),
                          *self.generator, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                          f"-DCONSUMER_WANTS={other}", "-DCONSUMER_LANGUAGES=C"],
                         want_success=False)
            if "wq-config.cmake, version: " + self.args.version not in output:
                raise Failed(f"wq {other} was refused for another reason:\n{output}")

    def pkg_config(self):
        directory = self.library_directory()
        environment = {"PKG_CONFIG_PATH": os.path.join(directory, "pkgconfig")}
        if run(["pkg-config", "--modversion", "wq"], environment).strip() != self.args.version:
            raise Failed("wq.pc has another version")
        for kind, options in (("shared", []), ("static", ["--static"])):
            flags = shlex.split(run(["pkg-config", *options, "--cflags", "--libs", "wq"],
                                    environment))
            if kind == "static":
                # Both libraries lie in one directory, and -lwq would take the shared one.
                flags = ["-l:libwq.a" if flag == "-lwq" else flag for flag in flags]
            for language, compiler, source in (("c", self.args.cc, "app.c"),
                                               ("cxx", self.args.cxx, "app.cc")):
                program = os.path.join(self.work, f"pkg_config_{language}_{kind}")
                run([compiler, os.path.join(CONSUMER, source), "-o", program, *flags])
                needs = "libwq.so" in run(["readelf", "-d", program])
                if needs != (kind == "shared"):
                    raise Failed(f"{program}: needs libwq.so: {needs}")
                self.use(program, {"LD_LIBRARY_PATH": directory} if needs else None)

    def add_subdirectory(self):
        build = os.path.join(self.args.build, "subproject")
        launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={self.args.ccache}"
                    for language in ("C", "CXX") if self.args.ccache]
        # All of the library is compiled once more, since the parent's flags hold: quickly.
        run(["cmake", "-S", os.path.join(HERE, "subproject"), "-B", build, *self.generator,
             *launcher, f"-DWQ_SOURCE={ROOT}", "-DCMAKE_CXX_FLAGS=-O0",
             f"-DWQ_WERROR={self.args.werror}"])
        run(["cmake", "--build", build, "-j", "2"], {"CCACHE_NOHASHDIR": "1"})
        for program in PROGRAMS:
            self.use(os.path.join(build, program))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("build", "work", "cc", "cxx", "version", "werror", "ccache"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--cli", action="store_true", help="the wq program was built")
    args = parser.parse_args()
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)
    test = InstallTest(args)
    try:
        for step in (test.install, test.components, test.find_package,
                     test.other_version_is_refused, test.pkg_config, test.add_subdirectory):
            step()
            print(f"{step.__name__}: ok", flush=True)
    except Failed as failure:
        print(f"{step.__name__}: {failure}", file=sys.stderr)
        return 1
    shutil.rmtree(args.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())

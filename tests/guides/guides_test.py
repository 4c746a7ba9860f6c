"""Runs the pages that newcomers read as they stand there (ctest label: guides): each fenced block
of README.md and docs/guides/*.md, in order, in one shell per page, in a directory of its own.

    guides_test.py form                              what the fences of all pages say
    guides_test.py run PAGE --build DIR --work DIR   one page; exit code 77 where it can not be run

What the shell of a page finds:
  - It begins in a copy of the clone, whose build/release is the build under test, with the program
    wq in its path, and an empty home.
  - `make` is answered by this test: the target must exist, and `make install` installs the build
    under test. Building and testing are what the suite does anyway.
  - `redis-cli` and $WQ_REDIS lead to a redis-server of its own, beanstalkd to $BEANSTALKD.
Needs of a page are in PAGES. A block whose fence needs a tool that is not there is left out."""

import argparse
import contextlib
import fcntl
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "relay"))

import guide_page  # noqa: E402
import redis_server  # noqa: E402  (the path above comes first)

SKIPPED = 77
SECONDS = 540
GUIDES = "docs/guides"
# Page -> what all of it needs.
PAGES = {
    "README.md": ["cc", "pkg-config", "cmake"],
    f"{GUIDES}/durability.md": [],
    f"{GUIDES}/embed-c.md": ["cc", "pkg-config"],
    f"{GUIDES}/embed-cpp.md": ["c++", "pkg-config"],
    f"{GUIDES}/embed-go.md": ["go", "cc", "pkg-config"],
    f"{GUIDES}/embed-node.md": ["node", "npm", "cc", "pkg-config"],
    f"{GUIDES}/embed-python.md": ["python", "cc", "pkg-config"],
    f"{GUIDES}/embed-rust.md": ["cargo", "cc", "pkg-config"],
    f"{GUIDES}/migrate-beanstalkd.md": ["beanstalkd"],
    f"{GUIDES}/migrate-redis.md": ["redis"],
    f"{GUIDES}/migrate-sqlite.md": [],
    f"{GUIDES}/offline.md": ["redis", "c++", "pkg-config", "hiredis"],
    f"{GUIDES}/operating.md": [],
    f"{GUIDES}/workers.md": [],
}
# Copied into the clone of a page, since tools write into them; all else is linked.
COPIED = ("bindings",)
NOT_COPIED = shutil.ignore_patterns("target", "node_modules", "__pycache__", "*.egg-info", "build")


class Skip(Exception):
    pass


class Failed(Exception):
    pass


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
        return file.read()


def output_of(command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                              **options)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# ---- what is there -------------------------------------------------------------------------------

PYTHON_PROBE = """
import cffi, os, setuptools, sys, sysconfig, venv, wheel
assert sys.version_info >= (3, 10)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
print("good")
"""


def python_with_what_a_build_needs():
    """The python3 that can build the package from this clone, with no index to ask."""
    for name in ("python3", "/usr/bin/python3"):
        path = shutil.which(name)
        if path and output_of([path, "-c", PYTHON_PROBE]) == "good":
            return path
    return None


def go_is_new_enough():
    version = output_of(["go", "env", "GOVERSION"]) or "go0.0"
    major, minor = version.removeprefix("go").split(".")[:2]
    return (int(major), int(minor.split("r")[0].split("b")[0])) >= (1, 23)


def node_is_usable():
    version = output_of(["node", "-p", "process.versions.node"]) or "0"
    return int(version.split(".")[0]) >= 18 and output_of(
        ["node", os.path.join(ROOT, "bindings", "node", "build.js"), "--headers"]) is not None


@functools.lru_cache(maxsize=None)
def cargo_gets_crates(*options):
    """Cargo wants to know of optional crates too, from its registry or from what it has."""
    return output_of(["cargo", "fetch", "--locked", "--quiet", "--manifest-path",
                      os.path.join(ROOT, "bindings", "rust", "Cargo.toml"), *options]) is not None


CHECKS = {
    "python": (python_with_what_a_build_needs, "a python3 with Python.h, cffi, setuptools, wheel"),
    "go": (go_is_new_enough, "go 1.23 or later"),
    "node": (node_is_usable, "node 18 or later with its headers"),
    "cargo": (lambda: cargo_gets_crates() or cargo_gets_crates("--offline"),
              "cargo, or the crates of Cargo.lock can not be had"),
    "redis": (redis_server.program, "redis-server"),
    "hiredis": (lambda: output_of(["pkg-config", "--exists", "hiredis"]) is not None, "hiredis"),
}


def why_missing(tool):
    """None if the tool is there, else what is not."""
    there, text = CHECKS.get(tool, (lambda: shutil.which(tool), tool))
    return None if there() else f"there is no {text}"


# ---- the surroundings of a page ------------------------------------------------------------------

def installed(build, work):
    """The build under test as `make install` would put it; made once for all pages."""
    prefix, library = os.path.join(work, "prefix"), os.path.join(build, "lib", "libwq.so")
    with open(os.path.join(work, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = os.path.join(work, "stamp")
        want = str(os.stat(library).st_mtime_ns)
        if not os.path.exists(stamp) or read(stamp) != want:
            shutil.rmtree(prefix, ignore_errors=True)
            subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True,
                           stdout=subprocess.DEVNULL)
            with open(stamp, "w", encoding="ascii") as file:
                file.write(want)
    return prefix


def make_clone(build, place):
    os.makedirs(os.path.join(place, "build"))
    os.symlink(build, os.path.join(place, "build", "release"))
    for name in os.listdir(ROOT):
        source, target = os.path.join(ROOT, name), os.path.join(place, name)
        if name in COPIED:
            shutil.copytree(source, target, ignore=NOT_COPIED)
        elif not name.startswith((".git", "build")):
            os.symlink(source, target)


def write_program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


MAKE = """#!/bin/sh
# The target must exist; `install` takes what was built already.
set -eu
{make} --no-print-directory -n -C '{root}' "$@" >/dev/null
for word in "$@"; do case $word in PREFIX=*) prefix=${{word#PREFIX=}} ;; esac; done
for word in "$@"; do
  [ "$word" != install ] || {{ mkdir -p "$prefix"; cp -rsf '{prefix}'/. "$prefix"; }}
done
"""


def make_programs(directory, prefix, redis):
    os.makedirs(directory)
    write_program(directory, "make", MAKE.format(root=ROOT, prefix=prefix,
                                                 make=shutil.which("make")))
    if redis:
        write_program(directory, "redis-cli",
                      f"#!/bin/sh\nexec {shutil.which('redis-cli')} -s '{redis}' \"$@\"\n")
    python = python_with_what_a_build_needs()
    if python:
        os.symlink(python, os.path.join(directory, "python3"))


def environment(needs, build, home, programs, servers):
    """That of a newcomer: nothing of wq is set. Caches of tool chains stay where they are, or each
    page would fill its own."""
    real = os.path.expanduser("~")
    env = {name: value for name, value in os.environ.items() if not name.startswith("WQ_")}
    for name, place in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"),
                        ("PYENV_ROOT", ".pyenv")):
        if os.path.isdir(os.path.join(real, place)):
            env.setdefault(name, os.path.join(real, place))
    for name in ("GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOFLAGS"):
        value = output_of(["go", "env", name])
        if value:
            env.setdefault(name, value)
    env.update(HOME=home, PATH=f"{programs}:{build}/bin:{env['PATH']}", LC_ALL="C.UTF-8",
               GOTOOLCHAIN="local", GOWORK="off", CARGO_TERM_COLOR="never", NO_COLOR="1",
               PYTHONDONTWRITEBYTECODE="1", **servers)
    if "cargo" in needs and not cargo_gets_crates():
        env["CARGO_NET_OFFLINE"] = "true"
    for name in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "GOPATH"):
        env.pop(name, None)
    return env


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def servers_of(needs, work):
    """What the page finds running, as variables. All of it is ended with the page."""
    found, stack = {}, contextlib.ExitStack()
    with stack:
        if "redis" in needs:
            # The name of a socket may be 107 bytes long, that of a build tree longer.
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="wq-guide-"))
            server = redis_server.RedisServer(place)
            server.start()
            stack.callback(server.kill)
            found["WQ_REDIS"] = "unix://" + server.path
        if "beanstalkd" in needs:
            port = free_port()
            process = subprocess.Popen(["beanstalkd", "-l", "127.0.0.1", "-p", str(port)],
                                       cwd=work)
            stack.callback(process.wait)
            stack.callback(process.kill)
            found["BEANSTALKD"] = f"127.0.0.1:{port}"
            while True:  # until it listens; a server that ended never will
                if process.poll() is not None:
                    raise Failed("beanstalkd did not start")
                with contextlib.suppress(OSError), \
                        socket.create_connection(("127.0.0.1", port), timeout=5):
                    break
        yield found


# ---- running -------------------------------------------------------------------------------------

def run_script(text, clone, env, log):
    with open(log, "wb") as out:
        process = subprocess.Popen(["bash", "-c", text], cwd=clone, env=env,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:  # what the page has started and not ended
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def judge(page, blocks, outputs, code, log):
    at = read(outputs, "at").strip() if os.path.exists(os.path.join(outputs, "at")) else "0"
    if code != 0 or at != "end":
        line = blocks[int(at)].line if at != "end" else 0
        how = "took too long" if code is None else f"exit code {code}"
        printed = os.path.join(outputs, at)
        raise Failed(f"{page}:{line}: {how}\n" +
                     (read(printed) if os.path.exists(printed) else "") + read(log))
    for i, block in enumerate(blocks):
        printed = os.path.join(outputs, str(i - 1))
        if block.is_output and os.path.exists(printed) and \
                not guide_page.matches(block.text, read(printed)):
            raise Failed(f"{page}:{block.line}: what was printed is another thing:\n" +
                         read(printed))


def run_page(page, build, work):
    for tool in PAGES[page]:
        reason = why_missing(tool)
        if reason:
            raise Skip(reason)
    blocks, problems = guide_page.blocks(read(ROOT, page))
    if problems:
        raise Failed(f"{page}:{problems[0][0]}: {problems[0][1]}")
    without = {tool: why_missing(tool) for tool in guide_page.tools(blocks)}
    without = {tool: reason for tool, reason in without.items() if reason}
    for tool, reason in without.items():
        print(f"skipped: the blocks of {page} that need {tool}: {reason}")
    os.makedirs(work, exist_ok=True)
    prefix = installed(build, work)
    place = os.path.join(work, page.replace("/", "_").removesuffix(".md"))
    shutil.rmtree(place, ignore_errors=True)
    clone, home, outputs = (os.path.join(place, name) for name in ("clone", "home", "out"))
    for directory in (clone, home, outputs):
        os.makedirs(directory)
    make_clone(build, clone)
    with servers_of(PAGES[page], place) as servers:
        programs = os.path.join(place, "programs")
        make_programs(programs, prefix, servers.get("WQ_REDIS", "").removeprefix("unix://"))
        log = os.path.join(place, "log")
        code = run_script(guide_page.script(blocks, outputs, without), clone,
                          environment(PAGES[page], build, home, programs, servers), log)
    judge(page, blocks, outputs, code, log)
    ran = len(os.listdir(outputs)) - 1
    shutil.rmtree(place)
    print(f"{page}: {ran} blocks ran, and printed what the page says")


# ---- the form of all pages -----------------------------------------------------------------------

def check_form():
    problems = []
    there = {"README.md"} | {f"{GUIDES}/{name}" for name in os.listdir(os.path.join(ROOT, GUIDES))
                             if name.endswith(".md")}
    problems += [f"{page}: not in PAGES of tests/guides" for page in sorted(there - set(PAGES))]
    problems += [f"{page}: is not there" for page in sorted(set(PAGES) - there)]
    listed = read(HERE, "CMakeLists.txt").split()
    readme = read(ROOT, "README.md")
    for page in sorted(there & set(PAGES)):
        if os.path.basename(page).removesuffix(".md") not in listed:
            problems.append(f"{page}: not in tests/guides/CMakeLists.txt")
        if page != "README.md" and f"({page})" not in readme:
            problems.append(f"{page}: README.md does not link it")
        problems += [f"{page}:{line}: {text}"
                     for line, text in guide_page.blocks(read(ROOT, page))[1]]
    if problems:
        raise Failed("\n".join(problems))
    print(f"{len(there)} pages: each block is run, or says that it is not")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("form", "run"))
    parser.add_argument("page", nargs="?", choices=sorted(PAGES))
    parser.add_argument("--build", help="build tree with the library and the program")
    parser.add_argument("--work", help="directory to work in")
    args = parser.parse_intermixed_args()
    try:
        if args.what == "form":
            check_form()
        else:
            run_page(args.page, os.path.abspath(args.build), os.path.abspath(args.work))
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

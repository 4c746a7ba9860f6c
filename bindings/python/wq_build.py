"""Builds the extension module wq._wq with cffi in API mode: the C compiler reads wq.h itself, so
sizes and offsets are those of the header at hand.

The library is looked for in this order: a CMake build tree named by WQ_BUILD_DIR, then pkg-config.

    python3 wq_build.py DIRECTORY      build it into DIRECTORY/wq, without installing anything
    pip install .                      setup.py does the same for a wheel"""

import os
import re
import shlex
import subprocess
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = ("/usr/lib", "/lib", "/usr/local/lib")

EXTRA = """
extern "Python" int32_t wqpy_progress(uint64_t, uint64_t, void *);
void wqpy_store_close(wq_store *);
void wqpy_queue_close(wq_queue *);
void wqpy_batch_free(wq_batch *);
void wqpy_batch_out_free(wq_batch **);
void wqpy_list_free(wq_list *);
void wqpy_text_free(wq_text *);
void wqpy_cq_close(wq_cq *);
void wqpy_cancel_free(wq_cancel *);
void wqpy_kv_page_free(wq_kv_page *);
void wqpy_crons_free(wq_crons *);
int32_t wqpy_enqueue(wq_queue *, const char *, size_t, wq_call *, wq_enqueued *, wq_error *);
int32_t wqpy_enqueue_payloads(wq_queue *, const char *, const size_t *, size_t, uint32_t, wq_call *,
                              uint64_t *, int32_t *, size_t *, wq_error *);
size_t wqpy_batch_jobs(const wq_batch *, wq_job *, size_t *, size_t);
void wqpy_tokens(const wq_job *, size_t, uint64_t *, uint64_t *);
void wqpy_fill(int32_t *, size_t, int32_t);
int32_t wqpy_ack_jobs(wq_queue *, const wq_job *, const size_t *, size_t, int32_t *, wq_call *,
                      wq_error *);
size_t wqpy_payloads(const wq_job *, size_t, char *, char *);
int32_t wqpy_ack_tokens(wq_queue *, const uint64_t *, const uint64_t *, size_t, int32_t *,
                        wq_call *, wq_error *);
"""


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def from_build_tree(directory):
    """Places in a CMake build tree; its cache says where the sources are."""
    with open(os.path.join(directory, "CMakeCache.txt"), encoding="utf-8") as file:
        home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", file.read(), re.MULTILINE)
    library = os.path.join(os.path.abspath(directory), "lib")
    return {"include_dirs": [os.path.join(home.group(1), "include")], "library_dirs": [library],
            "libraries": ["wq"], "runtime_library_dirs": [library]}


def from_pkg_config():
    """Places that pkg-config knows. A library outside the system's directories is found again at
    run time without LD_LIBRARY_PATH."""
    try:
        flags = shlex.split(subprocess.run(["pkg-config", "--cflags", "--libs", "wq"], check=True,
                                           capture_output=True, text=True).stdout)
        library = subprocess.run(["pkg-config", "--variable=libdir", "wq"], check=True,
                                 capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as problem:
        raise SystemExit("libwq was not found: set WQ_BUILD_DIR to a build tree, or "
                         f"PKG_CONFIG_PATH to the directory of wq.pc ({problem})") from None
    places = {"include_dirs": [f[2:] for f in flags if f.startswith("-I")],
              "library_dirs": [f[2:] for f in flags if f.startswith("-L")],
              "libraries": [f[2:] for f in flags if f.startswith("-l")] or ["wq"]}
    if library and not library.startswith(SYSTEM):
        places["runtime_library_dirs"] = [os.path.abspath(library)]
    return places


def places():
    build_tree = os.environ.get("WQ_BUILD_DIR")
    return from_build_tree(build_tree) if build_tree else from_pkg_config()


def make():
    builder = cffi.FFI()
    builder.cdef(re.sub(r"^//.*$", "", read("cdef.txt"), flags=re.MULTILINE))
    builder.cdef(EXTRA)
    found = places()
    found["include_dirs"] = [*found["include_dirs"], HERE]
    builder.set_source("wq._wq", '#include "glue.h"\n', extra_compile_args=["-O2"], **found)
    return builder


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    make().compile(tmpdir=sys.argv[1])
else:
    ffi = make()

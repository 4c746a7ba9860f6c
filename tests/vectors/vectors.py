"""Values that every binding must have, as JSON that each language can read (ctest label: abi):
  codes.json    name, value and predicates of each code, from wq.h and the library
  layout.json   size and offsets of each public struct, from tests/abi/layout.txt
  cron.json     when expressions are due, also at clock changes, from the library
  backoff.json  the delay before each retry, from events of the library, and checked here against
                the rule in wq.h
Without --write it makes them anew and wants no difference."""

import argparse
import ctypes
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "tidy"))

import wq_header  # noqa: E402

HOUR_MS = 3_600_000
YEAR_2024_MS = 1_704_067_200_000
# 2024: summer time begins on 31 March in Berlin and on 10 March in New York, and ends on 27 October
# and 3 November.
BERLIN_SPRING_MS = 1_711_753_200_000
BERLIN_AUTUMN_MS = 1_729_890_000_000
NEW_YORK_SPRING_MS = 1_709_960_400_000
NEW_YORK_AUTUMN_MS = 1_730_520_000_000

CRON_CASES = (
    ("* * * * *", "", 0, 3),
    ("* * * * * *", "", 59_999, 3),
    ("*/15 * * * *", "", YEAR_2024_MS + 1, 4),
    ("5/20 9-17/4 * * MON-FRI", "", YEAR_2024_MS, 6),
    ("0 0 1,15 * *", "", YEAR_2024_MS, 4),
    ("0 0 1 1 *", "", YEAR_2024_MS, 2),
    ("0 0 13 * 5", "", YEAR_2024_MS, 5),
    ("0 0 * * 0", "", YEAR_2024_MS, 2),
    ("0 0 * * 7", "", YEAR_2024_MS, 2),
    ("0 0 L * *", "", YEAR_2024_MS, 3),
    ("0 0 L-3 * *", "", YEAR_2024_MS, 3),
    ("0 0 15W * *", "", YEAR_2024_MS, 6),
    ("0 0 1W * *", "", YEAR_2024_MS, 6),
    ("0 0 LW * *", "", YEAR_2024_MS, 6),
    ("0 0 * * 5L", "", YEAR_2024_MS, 3),
    ("0 0 * * 1#2", "", YEAR_2024_MS, 3),
    ("0 0 * * 1#5", "", YEAR_2024_MS, 3),
    ("0 0 29 2 *", "", YEAR_2024_MS, 3),
    ("0 0 31 * *", "", YEAR_2024_MS, 4),
    ("0 0 * FEB,jun sun", "", YEAR_2024_MS, 6),
    ("@yearly", "", YEAR_2024_MS, 2),
    ("@monthly", "", YEAR_2024_MS, 2),
    ("@weekly", "", YEAR_2024_MS, 2),
    ("@daily", "Asia/Kolkata", YEAR_2024_MS, 2),
    ("@hourly", "", YEAR_2024_MS, 2),
    ("@every 90s", "", YEAR_2024_MS, 3),
    ("@every 1h30m", "", YEAR_2024_MS, 3),
    ("30 2 * * *", "Europe/Berlin", BERLIN_SPRING_MS, 3),
    ("30 2 * * *", "Europe/Berlin", BERLIN_AUTUMN_MS, 3),
    ("*/30 * * * *", "Europe/Berlin", BERLIN_SPRING_MS + 25 * HOUR_MS, 6),
    ("*/30 * * * *", "Europe/Berlin", BERLIN_AUTUMN_MS + 26 * HOUR_MS, 8),
    ("0 2 * * *", "America/New_York", NEW_YORK_SPRING_MS, 4),
    ("30 1 * * *", "America/New_York", NEW_YORK_AUTUMN_MS, 4),
    ("0 0 * * *", "Australia/Lord_Howe", YEAR_2024_MS, 2),
    ("", "", 0, 1),
    ("* * * *", "", 0, 1),
    ("60 * * * *", "", 0, 1),
    ("* 24 * * *", "", 0, 1),
    ("* * 0 * *", "", 0, 1),
    ("* * * 13 *", "", 0, 1),
    ("* * * * 8", "", 0, 1),
    ("5-1 * * * *", "", 0, 1),
    ("*/0 * * * *", "", 0, 1),
    ("0 0 30 2 *", "", 0, 1),
    ("@every 0s", "", 0, 1),
    ("@never", "", 0, 1),
    ("@daily", "Nowhere/City", 0, 1),
)

BACKOFF_CASES = (
    {"kind": "fixed", "base_ms": 1500},
    {"kind": "fixed", "base_ms": 0},
    {"kind": "exponential", "base_ms": 1000, "max_ms": 10_000},
    {"kind": "exponential", "base_ms": 1, "max_ms": 3_153_600_000_000},
    {"kind": "exponential", "base_ms": 0, "max_ms": 5000},
    {"kind": "exponential", "base_ms": 7, "max_ms": 7},
    {"kind": "list", "list_ms": [10, 200, 3000]},
    {"kind": "list", "list_ms": [5]},
    {"kind": "list", "list_ms": [0, 60_000, 0]},
)
RETRIES = 12


class Failed(Exception):
    pass


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def layouts():
    """Struct -> size and fields, of the text that the test abi_layout compares with the header."""
    structs = {}
    for line in read(ROOT, "tests", "abi", "layout.txt").splitlines():
        words = line.split()
        if words[1] == "size":
            structs[words[0]] = {"size": int(words[2]), "fields": {}}
        else:
            struct, field = words[0].split(".")
            structs[struct]["fields"][field] = {"offset": int(words[2]), "size": int(words[4])}
    return structs


class Library:
    """As much of libwq as is needed here. Structs are buffers, filled by the layout."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.wq_error_name.restype = ctypes.c_char_p
        self.layouts = layouts()
        self.constants = wq_header.constants(read(ROOT, "include", "wq.h"))
        self.kept = []  # what structs point to

    def struct(self, name, **fields):
        layout = self.layouts[name]
        buffer = ctypes.create_string_buffer(layout["size"])
        self.set(buffer, name, struct_size=layout["size"], **fields)
        return buffer

    def set(self, buffer, name, **fields):
        for field, value in fields.items():
            at = self.layouts[name]["fields"][field]
            buffer[at["offset"]:at["offset"] + at["size"]] = value.to_bytes(at["size"], "little")

    def get(self, buffer, name, field, base=0):
        at = self.layouts[name]["fields"][field]
        begin = base + at["offset"]
        return int.from_bytes(buffer.raw[begin:begin + at["size"]], "little", signed=True)

    def ok(self, function, *arguments):
        error = self.struct("wq_error")
        code = getattr(self.lib, function)(*arguments, error)
        if code != 0:
            at = self.layouts["wq_error"]["fields"]["message"]["offset"]
            raise Failed(f"{function}: {code}: {error.raw[at:].rstrip(bytes(1))}")

    def longs(self, values):
        array = (ctypes.c_int64 * len(values))(*values)
        self.kept.append(array)
        return ctypes.addressof(array)


def codes(library):
    told = []
    for name, value in library.constants.items():
        text = library.lib.wq_error_name(value).decode()
        if name != ("WQ_E_" if value < 0 else "WQ_") + text:
            continue  # not a code
        told.append({"name": name, "value": value, "text": text,
                     "retryable": bool(library.lib.wq_error_is_retryable(value)),
                     "maybe_committed": bool(library.lib.wq_error_maybe_committed(value)),
                     "fatal": bool(library.lib.wq_error_is_fatal(value))})
    if len(told) < 25:
        raise Failed(f"only {len(told)} codes were found")
    return sorted(told, key=lambda code: -code["value"])


def cron(library):
    told = []
    for expression, zone, from_ms, count in CRON_CASES:
        times = (ctypes.c_int64 * count)()
        found = ctypes.c_size_t()
        code = library.lib.wq_cron_next(
            expression.encode(), ctypes.c_size_t(len(expression)), zone.encode(),
            ctypes.c_size_t(len(zone)), ctypes.c_int64(from_ms), times, ctypes.c_size_t(count),
            ctypes.byref(found), None)
        case = {"expression": expression, "zone": zone, "from_ms": from_ms}
        if code == 0:
            case["times_ms"] = list(times)[:found.value]
        else:
            case["error"] = "WQ_E_" + library.lib.wq_error_name(code).decode()
        told.append(case)
    return told


def by_the_rule(case, retry):
    """The delay before the n-th retry (1, 2, ...), as wq.h says it."""
    if case["kind"] == "fixed":
        return case["base_ms"]
    if case["kind"] == "list":
        return case["list_ms"][min(retry, len(case["list_ms"])) - 1]
    return min(case["base_ms"] * 2 ** (retry - 1), case["max_ms"])


class Retries:
    """Fails jobs in a real store, and reads the delays from its events."""

    def __init__(self, library, path):
        self.library = library
        self.store = ctypes.c_void_p()
        self.queue = ctypes.c_void_p()
        self.cursor = library.struct("wq_event_cursor")
        library.ok("wq_store_open_abi", path.encode(),
                   library.struct("wq_store_options", events_max=1024),
                   ctypes.c_uint32(library.constants["WQ_VERSION_MAJOR"] << 16
                                   | library.constants["WQ_VERSION_MINOR"]),
                   ctypes.byref(self.store))
        library.ok("wq_queue_open", self.store, b"q", ctypes.c_size_t(1), None, 0,
                   ctypes.byref(self.queue))

    def close(self):
        self.library.lib.wq_queue_close(ctypes.byref(self.queue))
        self.library.lib.wq_store_close(ctypes.byref(self.store))

    def delays(self, case):
        library = self.library
        list_ms = case.get("list_ms", [])
        spec = library.struct(
            "wq_job_spec", max_attempts=1000, backoff_base_ms=case.get("base_ms", 0),
            backoff_max_ms=case.get("max_ms", 0), backoff_count=len(list_ms),
            backoff_kind=library.constants["WQ_BACKOFF_" + case["kind"].upper()],
            backoff_list_ms=library.longs(list_ms) if list_ms else 0)
        return [self.delay(spec, retry) for retry in range(1, RETRIES + 1)]

    def delay(self, spec, retry):
        """A job of its own; all nacks but the last have a delay of 0, which is a step as well."""
        library, call = self.library, self.library.struct("wq_call", durability=1)
        library.ok("wq_enqueue", self.queue, spec, call, None)
        at_once = library.struct("wq_nack_options", flags=library.constants["WQ_NACK_DELAY"])
        for step in range(1, retry + 1):
            batch = ctypes.c_void_p()
            library.ok("wq_lease", self.store, ctypes.byref(self.queue), ctypes.c_size_t(1), None,
                       None, call, ctypes.byref(batch))
            job = library.struct("wq_job")
            library.lib.wq_batch_job(batch, ctypes.c_size_t(0), job)
            library.lib.wq_batch_free(ctypes.byref(batch))
            library.ok("wq_nack", self.queue,
                       ctypes.c_uint64(library.get(job, "wq_job", "id")),
                       ctypes.c_uint64(library.get(job, "wq_job", "generation")),
                       at_once if step < retry else None, call)
        delay_ms = self.delay_of_last_nack()
        library.ok("wq_queue_clear", self.queue, 0, None, call)
        return delay_ms

    def delay_of_last_nack(self):
        size = self.library.layouts["wq_store_event"]["size"]
        events = ctypes.create_string_buffer(size * 100)
        count = ctypes.c_size_t()
        self.library.ok("wq_events_poll", self.store, self.cursor, events, ctypes.c_size_t(100),
                        ctypes.c_size_t(size), ctypes.c_int64(0), None, ctypes.byref(count))
        delay_ms = None
        for i in range(count.value):
            kind, at_ms, time_ms = (self.library.get(events, "wq_store_event", field, i * size)
                                    for field in ("kind", "at_ms", "time_ms"))
            if kind == self.library.constants["WQ_EVENT_NACKED"]:
                delay_ms = time_ms - at_ms if time_ms else 0
        return delay_ms


def backoff(library):
    directory = tempfile.mkdtemp(prefix="wq-vectors-")
    try:
        retries = Retries(library, os.path.join(directory, "store"))
        told = []
        for case in BACKOFF_CASES:
            delays = retries.delays(case)
            rule = [by_the_rule(case, retry) for retry in range(1, RETRIES + 1)]
            if delays != rule:
                raise Failed(f"backoff of {case}: {delays}, by wq.h {rule}")
            told.append({**case, "delays_ms": delays})
        retries.close()
        return told
    finally:
        shutil.rmtree(directory)


def text_of(name, value):
    """One line per entry, so that a change is seen in a line."""
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {json.dumps(each)}" for key, each in value.items()]
        ends = "{}"
    else:
        rows, ends = [json.dumps(each) for each in value], "[]"
    body = ",\n  ".join(rows)
    return (f'{{"generated": "by tests/vectors/vectors.py --write; do not edit",\n'
            f' "{name}": {ends[0]}\n  {body}\n ]}}\n').replace("\n ]}", f"\n {ends[1]}}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libwq.so")
    parser.add_argument("--write", action="store_true", help="write the files")
    args = parser.parse_args()
    library = Library(args.library)
    made = {"codes": codes(library), "layout": library.layouts, "cron": cron(library),
            "backoff": backoff(library)}
    different = []
    for name, value in made.items():
        path = os.path.join(HERE, name + ".json")
        text = text_of(name, value)
        if json.loads(text)[name] != value:
            raise Failed(f"{name}.json would not say what it should")
        if args.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or read(path) != text:
            different.append(name + ".json")
    if different:
        raise Failed(f"{', '.join(different)}: not what the library says; "
                     "vectors.py --write makes them anew")


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"vectors.py: {failure}")

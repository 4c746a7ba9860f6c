#!/usr/bin/env python3
"""surface.py [CXX]: does wq.hpp reach all of wq.h? See bindings/api/surface.py for the question.
One compiler run without code tells which fields the layer uses: its header has them all deprecated.
Structs that are told as they are count as a whole, if the same run finds that they still are."""

import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CPP = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(CPP))
sys.path.insert(0, os.path.join(ROOT, "bindings", "api"))

import surface  # noqa: E402  (the path above comes first)

# Where a user gets the struct itself.
WHOLE = {
    "wq_store_stats": "wq::StoreStats", "wq_recovery": "wq::Recovery",
    "wq_verify_report": "wq::VerifyReport", "wq_backup_report": "wq::BackupReport",
    "wq_store_event": "wq::StoreEvent", "wq_key_use": "wq::KeyUse",
    "wq_queue_stats": "wq::QueueStats", "wq_queue_error": "wq::QueueError",
    "wq_flow_status": "wq::FlowStatus", "wq_token": "wq::Token",
    "wq_error": "std::remove_cvref_t<decltype(std::declval<wq::Error>().raw())>",
    "wq_job": "std::remove_cvref_t<decltype(std::declval<wq::Job>().raw())>",
    "wq_enqueued": "decltype(wq::ManyEnqueued::jobs)::value_type",
    "wq_txn_result": "decltype(wq::TransactReport::results)::value_type",
    "wq_job_explanation": "decltype(wq::JobExplanation::raw)",
    "wq_queue_explanation": "decltype(wq::QueueExplanation::raw)",
    "wq_done_job": "decltype(wq::DoneJob::raw)",
    "wq_event_cursor": "decltype(wq::EventCursor::raw)",
    "wq_cron": "decltype(std::declval<wq::CronList>()[0])",
}
# What is built as an aggregate, field by field in the order of the header.
AGGREGATES = {"wq_bytes", "wq_header", "wq_key"}


def used_fields(compiler):
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(ROOT, "include", "wq.h"), encoding="ascii") as file:
            marked = surface.marked_header(file.read())
        with open(os.path.join(directory, "wq.h"), "w", encoding="ascii") as file:
            file.write(marked)
        unit = "#include <wq.hpp>\n" + "".join(
            f"static_assert(std::is_same_v<{name}, {struct}>);\n"
            for struct, name in WHOLE.items())
        done = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", "-Wdeprecated-declarations",
             "-fmax-errors=5", "-I", directory, "-I", CPP, "-x", "c++", "-"],
            input=unit, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr[-4000:])
        return surface.fields_in_warnings(done.stderr)


def main():
    names = surface.all_names()
    sources = glob.glob(os.path.join(CPP, "wq", "*.hpp"))
    reached = (names & surface.words_of(sources)) | (
        names & used_fields(sys.argv[1] if len(sys.argv) > 1 else "g++"))
    reached |= surface.structs_of(names, set(WHOLE) | AGGREGATES)
    # wq.hpp brings wq.h along: its constants, and wq_store_open, a macro over wq_store_open_abi.
    reached |= {name for name in names if name.startswith("WQ_")} | {"wq_store_open_abi"}
    wrong = surface.problems("cpp", reached)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

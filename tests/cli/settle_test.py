"""wq pull, ack, nack, release, extend, cancel, show and dead: every way out of a lease, and what is
said about tokens and entries that are no longer valid."""

import subprocess
import unittest

from cli_case import PROGRAM, CliCase


class Settle(CliCase):
    def pull(self, *args):
        return self.json("pull", *args)[0]

    def test_pull_and_ack(self):
        self.push("hello")
        line = self.wq("pull").lines[0]
        token, payload = line.split("\t")
        self.assertEqual(payload, "hello")
        self.assertEqual(self.counts(), {"leased": 1})
        self.wq("ack", token)
        self.assertEqual(self.counts(), {})
        self.assertEqual(self.stat()["acked_total"], 1)

    def test_what_could_not_be_told_goes_back(self):
        ids = self.push("a", "b", "c")
        for args in (("pull",), ("pull", "-n", "2"), ("--json", "pull", "-n", "9")):
            for target, code in ((">/dev/full", 7), (">&-", 1)):
                done = subprocess.run(["sh", "-c", f'exec "$@" {target}', "sh", PROGRAM, "--store",
                                       self.store, *args], stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(b"given back", done.stderr)
                self.assertEqual(self.counts(), {"ready": 3})
        self.wq("pull", "--payload", self.path("no/such"), code=3)
        self.wq("verify")
        jobs = self.json("pull", "-n", "9")
        self.assertEqual([(job["id"], job["attempts"]) for job in jobs], [(i, 1) for i in ids])

    def test_a_token_is_told_as_it_was_given(self):
        self.push("a")
        for token in ("0:0", "1:0"):
            self.assertIn(f"wq: {token}: settled", self.wq("ack", token, code=5).err)
            self.assertEqual(self.json("ack", token, code=5)[0]["token"], token)

    def test_a_token_is_good_once(self):
        self.push("a")
        token = self.pull()["token"]
        self.wq("ack", token)
        for command in (("ack",), ("nack",), ("release",), ("extend",), ("nack", "--dead")):
            refused = self.wq(command[0], token, *command[1:], code=5)
            self.assertIn("settled already, or the lease ended; see wq show 1", refused.err)

    def test_an_old_generation_changes_nothing(self):
        self.push("a")
        old = self.pull()["token"]
        self.wq("release", old)
        new = self.pull()["token"]
        self.assertNotEqual(old, new)
        result = self.wq("--json", "ack", old, code=5)
        self.assertEqual(result.json[0]["outcome"], "STALE")
        self.assertEqual(self.counts(), {"leased": 1})
        self.assertEqual(self.json("ack", new), [{"id": 1, "token": new, "outcome": "acked"}])

    def test_every_token_is_tried(self):
        ids = self.push("a", "b")
        tokens = [job["token"] for job in self.json("pull", "-n", "2")]
        result = self.wq("--json", "ack", f"{ids[0]}:999999", *tokens, code=5)
        self.assertEqual([line["outcome"] for line in result.json], ["STALE", "acked", "acked"])

    def test_nack_keeps_the_error_and_ends_dead(self):
        self.push("a", options=("--max-attempts", "2"))
        self.wq("nack", self.pull()["token"], "--error", "first")
        job = self.pull()
        self.assertEqual((job["attempts"], job["exceptions"], job["last_error"]), (2, 1, "first"))
        told = self.wq("nack", job["token"], "--error", "second \u00e4", "--no-exception")
        self.assertIn("nacked 1 job, 1 dead", told.err)
        self.assertEqual(self.counts(), {"dead": 1})
        dead = self.json("dead", "ls")[0]
        self.assertEqual((dead["dead_reason"], dead["last_error"], dead["exceptions"]),
                         ("failed", "second \u00e4", 1))

    def test_nack_tells_a_retry_from_a_death(self):
        self.push("a", options=("--max-attempts", "2"))
        first = self.json("nack", self.pull()["token"])[0]
        last = self.json("nack", self.pull()["token"])[0]
        self.assertEqual([(o["id"], o["outcome"], o["dead"]) for o in (first, last)],
                         [(1, "nacked", False), (1, "nacked", True)])

    def test_ids_are_numbers_and_tokens_strings(self):
        ids = self.push("a", "b")
        token = self.pull()["token"]
        self.assertEqual(self.json("release", token),
                         [{"id": ids[0], "token": token, "outcome": "released"}])
        self.assertEqual(self.json("cancel", str(ids[1])), [{"id": ids[1], "outcome": "cancelled"}])

    def test_a_lease_of_nothing_is_refused(self):
        self.push("a")
        for args in (("pull", "--lease", "0"), ("queue", "set", "default", "--lease", "0"),
                     ("extend", "1:1", "--lease", "0"), ("work", "--lease", "0", "--", "cat")):
            self.assertIn("--lease: must be above 0", self.wq(*args, code=2).err)
        self.assertEqual(self.counts(), {"ready": 1})

    def test_the_deadline_does_not_wander(self):
        self.push("a")
        job = self.pull()
        self.assertEqual(job["deadline_ms"] - job["leased_ms"], 60_000)
        self.assertEqual({self.json("show", "1")[0]["deadline_ms"] for _ in range(8)},
                         {job["deadline_ms"]})

    def test_nack_delay_priority_front(self):
        self.push("a", "b")
        a = self.pull()
        self.wq("nack", a["token"], "--front")
        self.assertEqual(self.pull()["id"], a["id"])
        self.push("c")
        token = self.json("pull", "-n", "9")[0]["token"]
        self.wq("nack", token, "--priority", "1", "--delay", "1h")
        shown = self.json("show", token)[0]
        self.assertEqual((shown["state"], shown["priority"]), ("delayed", 1))

    def test_nack_dead_at_once(self):
        self.push("a")
        self.wq("nack", self.pull()["token"], "--dead", "--error", "no such address")
        self.assertEqual(self.counts(), {"dead": 1})

    def test_release_does_not_count(self):
        self.push("a")
        self.wq("release", self.pull()["token"])
        self.assertEqual(self.pull()["attempts"], 1)

    def test_extend_moves_the_deadline(self):
        self.push("a")
        job = self.pull("--lease", "1m")
        self.wq("extend", job["token"], "--lease", "10h")
        shown = self.json("show", str(job["id"]))[0]
        self.assertGreater(shown["deadline_ms"] - job["deadline_ms"], 9 * 3_600_000)

    def test_queues_in_order_of_preference(self):
        self.push("low", queue="low")
        self.push("high", queue="high")
        jobs = self.json("pull", "-q", "high", "-q", "low", "-n", "5")
        self.assertEqual([(job["queue"], job["payload"]) for job in jobs],
                         [("high", "high"), ("low", "low")])

    def test_payload_file_prints_the_token_only(self):
        data = bytes(range(256))
        self.wq("push", "--format", "whole", stdin=data)
        result = self.wq("pull", "--payload", self.path("out"))
        self.assertEqual(self.read("out"), data)
        self.wq("ack", result.lines[0])

    def test_empty_and_missing(self):
        self.wq("queue", "set", "q", "--max-retries", "0")
        self.wq("pull", "-q", "q", code=4)
        self.wq("pull", "-q", "q", "--wait", "20ms", code=4)
        self.assertIn("no queue", self.wq("pull", "-q", "other", code=3).err)
        self.wq("show", "77", code=3)
        gone = "wq: there is no job 77: it ended, was removed, or never was in this store"
        self.assertIn(gone, self.wq("show", "77", code=3).err)
        self.assertIn(gone, self.wq("cancel", "77", code=3).err)
        self.wq("ack", "77:1", code=5)
        for bad in ("77", "a:b", "1:", ":1", "1:2:3", "-1:2"):
            self.wq("ack", "--", bad, code=2)

    def test_cancel(self):
        ids = self.push("a", "b")
        token = self.pull()["token"]
        self.wq("cancel", *map(str, ids))
        self.assertEqual(self.counts(), {})
        self.wq("ack", token, code=5)

    def test_show_for_people_is_safe_on_a_terminal(self):
        self.wq("push", "--format", "whole", stdin=b"\x1b[31mred\x00\xff")
        text = self.wq("show", "1").out
        self.assertNotIn(b"\x1b", text)
        self.assertIn(b"\\x1b[31mred\\x00\\xff", text)


class Dead(CliCase):
    def kill(self, *payloads, queue="default"):
        """Pushes jobs and lets them die; returns their entries."""
        self.push(*payloads, queue=queue)
        jobs = self.json("pull", "-q", queue, "-n", "1000")
        self.wq("nack", "--dead", "--error", "boom", *[job["token"] for job in jobs])
        return [job["token"] for job in jobs]

    def test_list_pages_and_filters(self):
        entries = self.kill("a", "b", "c")
        listed = [job["token"] for job in self.json("dead", "ls")]
        self.assertEqual(listed, entries[::-1])
        oldest = self.wq("dead", "ls", "--oldest", "-n", "2", "-q", "default")
        self.assertIn("--cursor", oldest.err)
        cursor = oldest.err.split("--cursor ")[1].split()[0]
        rest = self.json("dead", "ls", "--oldest", "-q", "default", "--cursor", cursor)
        self.assertEqual([job["token"] for job in rest], entries[2:])
        self.wq("dead", "ls", "--reason", "lease_expired", code=4)
        self.wq("dead", "ls", "--since", "1h")
        self.wq("dead", "ls", "--until", "1h", code=4)
        self.assertIn("or how long ago", self.wq("dead", "ls", "--since", "foo", code=2).err)
        self.wq("dead", "ls", "--all", "-n", "1", code=2)
        self.assertIn(" -n 2 --oldest --cursor ", oldest.err)

    def test_programs_page(self):
        entries = self.kill("a", "b", "c", "d", "e")
        seen, args = [], []
        while True:
            page = self.json("dead", "ls", "-q", "default", "--oldest", "-n", "2", *args)
            seen += [job["token"] for job in page if "token" in job]
            if "next_cursor" not in page[-1]:
                break
            self.assertEqual(page[-1]["queue"], "default")
            args = ["--cursor", str(page[-1]["next_cursor"])]
        self.assertEqual(seen, entries)

    def test_queues_behind_the_limit_are_told(self):
        self.kill("a", queue="first")
        self.kill("b", queue="second")
        self.assertEqual(self.json("dead", "ls", "-n", "1")[-1],
                         {"queue": "second", "next_cursor": 0})

    def test_the_listing_shows_the_payload(self):
        self.kill("what was to be done")
        listing = self.wq("dead", "ls", "-n", "1")
        self.assertIn("what was to be done", listing.lines[1])

    def test_replay_one_entry_once(self):
        entry = self.kill("a")[0]
        self.wq("dead", "show", entry)
        self.assertEqual(self.json("dead", "replay", entry),
                         [{"id": 1, "token": entry, "outcome": "replayed"}])
        self.wq("dead", "replay", entry, code=5)
        job = self.json("pull")[0]
        self.assertEqual((job["attempts"], job["replays"]), (1, 1))
        self.wq("nack", "--dead", job["token"])
        self.wq("dead", "show", entry, code=5)  # it died again: that is another entry
        self.wq("dead", "replay", str(job["id"]))  # a bare id means the entry of now
        self.assertEqual(self.counts(), {"ready": 1})

    def test_replay_by_filter(self):
        entries = self.kill("a", "b", "c")
        self.wq("dead", "replay", code=2)
        self.wq("dead", "replay", "--all", entries[0], code=2)
        self.wq("dead", "replay", entries[0], "--dry-run", code=2)
        dry = self.json("dead", "replay", "-q", "default", "--all", "--dry-run")
        self.assertEqual(dry, [{"queue": "default", "would_be_replayed": 3, "examined": 3}])
        self.assertEqual(self.counts(), {"dead": 3})
        self.wq("dead", "replay", "--error", "no such error", code=4)
        self.wq("dead", "replay", "--all", "--limit", "2")
        self.assertEqual(self.counts(), {"ready": 2, "dead": 1})
        self.assertEqual(self.payloads(), [b"a", b"b"])
        self.wq("dead", "replay", "--since", "1h")
        self.wq("dead", "replay", "--all", code=4)

    def test_replay_of_many_pages(self):
        self.kill(*[str(i) for i in range(1000)])
        self.kill(*[str(i) for i in range(1000, 1500)])
        self.wq("queue", "set", "default", "--max-depth", "1400")
        full = self.wq("dead", "replay", "--all", code=8)
        self.assertIn("replayed 1,400 dead letters", full.err)
        self.wq("queue", "set", "default", "--max-depth", "0")
        self.wq("dead", "replay", "--all")
        self.assertEqual(self.counts(), {"ready": 1500})

    def test_rm_by_filter(self):
        self.kill("a", "b", "c")
        self.assertIn("say --yes", self.wq("dead", "rm", "--all", code=2).err)
        self.assertIn("would remove 3", self.wq("dead", "rm", "--all", "--dry-run").err)
        self.wq("dead", "rm", "--reason", "lease_expired", "--yes", code=4)
        self.assertEqual(self.json("dead", "rm", "--reason", "failed", "-n", "2", "--yes"),
                         [{"queue": "default", "removed": 2, "examined": 2}])
        self.assertEqual(self.counts(), {"dead": 1})

    def test_rm_and_purge(self):
        entries = self.kill("a", "b", "c")
        self.wq("dead", "rm", entries[0])
        self.wq("dead", "rm", entries[0], code=3)
        refused = self.wq("dead", "purge", "-q", "default", code=2)
        self.assertIn("2 dead letters", refused.err)
        self.assertEqual(self.json("dead", "purge", "-q", "default", "--yes"), [{"removed": 2}])
        for yes in ((), ("--yes",)):
            self.assertIn("no dead letters",
                          self.wq("dead", "purge", "-q", "default", *yes, code=4).err)
        self.assertEqual(self.counts(), {})

    def test_payload_is_kept_exactly(self):
        self.wq("push", "--format", "whole", stdin=b"\xff\x00\xfe")
        token = self.json("pull")[0]["token"]
        self.wq("nack", "--dead", token)
        self.assertEqual(self.wq("dead", "show", token, "--payload", "-").out, b"\xff\x00\xfe")

    def test_queue_is_found_by_the_entry(self):
        self.kill("x", queue="first")
        entry = self.kill("y", queue="second")[0]
        self.wq("dead", "replay", entry)
        self.assertEqual(self.counts("second"), {"ready": 1})
        self.assertEqual(self.counts("first"), {"dead": 1})


if __name__ == "__main__":
    unittest.main()

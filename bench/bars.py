"""The bars of the design ("Numbers to reach"), and how each value comes out of the records."""
import dataclasses
import statistics

PEERS = ("rocksdb", "sqlite")


class Results:
    """Records behind the bars, one attribute for each group of measurements."""


@dataclasses.dataclass
class Verdict:
    name: str
    value: float
    bar: float
    at_least: bool   # the value must reach the bar; else it must not pass it
    unit: str
    detail: str

    @property
    def ok(self):
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def line(self):
        sign = ">=" if self.at_least else "<="
        return (f"{self.name} {number(self.value)}{self.unit} "
                f"{sign}{number(self.bar)}{self.unit} {'ok' if self.ok else 'short'}")

    def detail_line(self):
        return f"# {self.name}: {self.detail}"

    def as_dict(self):
        return {**dataclasses.asdict(self), "ok": self.ok}


def number(value):
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


def rates(records):
    return [record["jobs_per_second"] for record in records]


def median_rate(records):
    return statistics.median(rates(records))


def spread(values):
    return f"{number(min(values))}..{number(max(values))}"


def best_of(results, names):
    return max(names, key=lambda name: median_rate(results[name]))


def ratios(results, name, against):
    """Round by round, so that both sides of a ratio saw the same machine."""
    return [a / b for a, b in zip(rates(results[name]), rates(results[against]))]


def ratio_verdict(name, results, ours, against, bar):
    values = ratios(results, ours, against)
    detail = (f"{ours} {median_rate(results[ours]):,.0f}/s against {against} "
              f"{median_rate(results[against]):,.0f}/s; ratios of the rounds {spread(values)}")
    return Verdict(name, statistics.median(values), bar, True, "x", detail)


def rate_verdict(name, records, bar):
    return Verdict(name, median_rate(records), bar, True, "/s",
                   f"jobs per second, rounds {spread(rates(records))}")


def head_verdicts(name, record):
    made = []
    for kind in ("one_job", "empty"):
        def of(what):
            return record[f"head_{kind}_{what}"]
        made.append(Verdict(
            f"{name}_{kind}_p99", of("p99_ratio"), 1.3, False, "x",
            f"lease p99 {of('p99_worn_us'):.1f} us against {of('p99_fresh_us'):.1f} us fresh; "
            f"p50 {of('p50_worn_us'):.1f} against {of('p50_fresh_us'):.1f} us"))
    return made


def waiting_verdicts(results, label):
    fill, drain = results.fill, results.drain
    resident = max(fill["fill_rss_peak_mib"], drain["open_rss_peak_mib"])
    return [
        Verdict(f"{label}_waiting_resident", resident, 200, False, "MiB",
                f"peak while filling {fill['fill_rss_peak_mib']:.0f}, after reopening "
                f"{drain['open_rss_peak_mib']:.0f}, peak in the drain "
                f"{drain['drain_rss_peak_mib']:.0f} MiB; filled at "
                f"{fill['jobs_per_second']:,.0f} jobs/s"),
        Verdict(f"{label}_waiting_open_after_kill", drain["open_ms"] / 1000, 2, False, "s",
                f"{drain['records_replayed']:,} log records replayed"),
        Verdict("cold_drain", drain["drain_jobs_per_second"], 200_000, True, "/s",
                f"{drain['jobs']:,} jobs in {drain['drain_seconds']:.1f} s, acks at level power"),
        Verdict("cold_drain_lease_p99", drain["lease_p99_ratio"], 2, False, "x",
                f"lease of {drain['batch']}: p99 {drain['drain_lease_p99_us']:.0f} us (p99.9 "
                f"{drain['drain_lease_p999_us']:.0f}) against "
                f"{drain['short_lease_p99_us']:.0f} us on a short queue"),
        *head_verdicts("head_lease_after_cold_drain", drain),
    ]


def judge(results, options):
    raw = best_of(results.serial, ("raw direct", "raw buffered"))
    peer = best_of(results.batch100, PEERS)
    wakes = [record["wake_p50_us"] for record in results.wake]
    raw_wakes = [record["raw_wake_p50_us"] for record in results.wake]
    millions = options.head_jobs // 1_000_000
    return [
        ratio_verdict("serial_durable_enqueue", results.serial, "wq", raw, 0.9),
        ratio_verdict("batch100_power_life", results.batch100, "wq", peer, 4),
        ratio_verdict("pipelined_power_life", results.batch100, "wq pipelined", peer, 10),
        rate_verdict("pipelined_power_life_rate", results.batch100["wq pipelined"], 400_000),
        rate_verdict("memory_level_batch1_life", results.memory_level["wq"], 500_000),
        rate_verdict("unique_group_rate_pipelined", results.traits["wq"], 150_000),
        Verdict("device_bytes_per_job_batch100", results.device["device_bytes_per_job"], 700,
                False, "B",
                f"sectors written to the block device over {results.device['jobs']:,} jobs"),
        Verdict("wake_up_p50", statistics.median(wakes), 50, False, "us",
                f"rounds {spread(wakes)}; p99 of the last {results.wake[-1]['wake_p99_us']:.0f}; "
                f"a bare condition variable in the same rounds: {spread(raw_wakes)}"),
        *head_verdicts(f"head_lease_after_{millions}_million", results.head),
        *waiting_verdicts(results, {10: "ten_million", 100: "hundred_million"}.get(
            options.waiting_jobs // 1_000_000, "many")),
    ]

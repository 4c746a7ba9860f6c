// ops_flow.cc: flows and schedules.
#include "runner.hpp"

namespace conformance {
namespace {

void create(Runner& r, const Line& line) {
  wq::FlowOptions options;
  options.allow_failures = line.flag("allow_failures");
  for (const Line& part : line.parts) {
    (part.must("when") == "complete" ? options.on_complete : options.on_failure) =
        next_job(r, part);
  }
  const auto flow = r.store.flows().create(options, call_of(line));
  if (!flow) return r.print(failure(flow));
  if (*flow && line.has("as")) r.bind_flow(line.text("as"), **flow);
  r.print(word(flow->outcome));
}

void seal(Runner& r, const Line& line) {
  r.print(outcome(r.store.flows().seal(r.flow(line.must("flow")), call_of(line))));
}

void cancel(Runner& r, const Line& line) {
  r.print(outcome(r.store.flows().cancel(r.flow(line.must("flow")), call_of(line))));
}

void status(Runner& r, const Line& line) {
  const auto told = r.store.flows().status(r.flow(line.must("flow")));
  if (!told) return r.print(failure(told));
  const std::string flags = bit_words(told->flags, {{WQ_FLOW_SEALED, "sealed"},
                                                    {WQ_FLOW_CANCELLED, "cancelled"},
                                                    {WQ_FLOW_FINISHED, "finished"}});
  r.print("ok total=" + std::to_string(told->total) + " pending=" + std::to_string(told->pending) +
          " done=" + std::to_string(told->done) + " failed=" + std::to_string(told->failed) +
          " cancelled=" + std::to_string(told->cancelled) +
          (flags.empty() ? "" : " flags=" + flags) + (told->follow_up_id ? " follow_up=yes" : ""));
}

void list(Runner& r, const Line& line) {
  std::vector<wq::FlowStatus> flows;
  std::uint64_t cursor = 0;
  do {
    const auto page =
        r.store.flows().list(cursor, static_cast<std::size_t>(line.number_of("limit", 100)));
    if (!page) return r.print(failure(page));
    flows.insert(flows.end(), page->flows.begin(), page->flows.end());
    cursor = page->cursor;
  } while (cursor != 0);
  r.print("ok");
  for (const wq::FlowStatus& flow : flows) {
    r.row(r.flow_name(flow.flow) + " total=" + std::to_string(flow.total) +
          " pending=" + std::to_string(flow.pending));
  }
}

void put(Runner& r, const Line& line) {
  wq::CronSpec spec;
  spec.expression = line.text("expression");
  spec.zone = line.text("zone");
  spec.payload = line.text("payload");
  spec.job = job_options(r, line);
  if (line.has("catch_up")) spec.catch_up = line.u32("catch_up");
  r.print(outcome(r.queue_of(line).cron_put(line.must("name"), spec, call_of(line))));
}

void print_cron(Runner& r, const wq_cron& cron) {
  std::string text = quoted(wq::Bytes(cron.name)) +
                     " queue=" + queue_word(wq::Bytes(cron.queue_name)) +
                     " expression=" + quoted(wq::Bytes(cron.expression));
  if (cron.zone.len) text += " zone=" + quoted(wq::Bytes(cron.zone));
  const std::string flags =
      bit_words(cron.flags, {{WQ_CRON_PAUSED, "paused"}, {WQ_JOB_ENCRYPT, "encrypt"}});
  if (!flags.empty()) text += " flags=" + flags;
  text += if_set("catch_up", cron.catch_up);
  if (cron.priority != 100) text += " priority=" + std::to_string(cron.priority);
  text += if_set("max_attempts", cron.max_attempts);
  if (cron.payload.len) text += " payload=" + quoted(wq::Bytes(cron.payload));
  for (std::size_t i = 0; i < cron.headers_count; i++) {
    const wq_header& header = cron.headers[i];
    text += " header=" + quoted(wq::Bytes(header.name).str() + "=" + wq::Bytes(header.value).str());
  }
  r.row(text + key_text(cron.key_id, "payload_code", cron.payload_code));
}

void cron_get(Runner& r, const Line& line) {
  const auto crons = r.store.crons().get(line.must("name"));
  if (!crons) return r.print(failure(crons));
  r.print("ok");
  print_cron(r, (*crons)[0]);
}

void cron_list(Runner& r, const Line& line) {
  const auto limit = static_cast<std::size_t>(line.number_of("limit", 100));
  const wq::Queue* queue = line.has("q") ? &r.queue_of(line) : nullptr;
  std::vector<wq::CronList> pages;
  std::string after;
  do {
    const auto page = r.store.crons().list(queue, after, limit);
    if (!page) return r.print(failure(page));
    pages.push_back(*page);
    if (page->size() > 0) after = wq::Bytes((*page)[page->size() - 1].name).str();
  } while (pages.back().size() == limit);
  r.print("ok");
  for (const wq::CronList& page : pages) {
    for (std::size_t i = 0; i < page.size(); i++) print_cron(r, page[i]);
  }
}

void cron_remove(Runner& r, const Line& line) {
  r.print(outcome(r.store.crons().remove(line.must("name"), call_of(line))));
}

void cron_pause(Runner& r, const Line& line) {
  r.print(outcome(r.store.crons().pause(line.must("name"), call_of(line))));
}

void cron_resume(Runner& r, const Line& line) {
  r.print(outcome(r.store.crons().resume(line.must("name"), call_of(line))));
}

void cron_next(Runner& r, const Line& line) {
  const auto times =
      wq::cron_next(line.must("expression"), line.text("zone"), line.time("from_ms").value(),
                    static_cast<std::size_t>(line.number_of("count")));
  if (!times) return r.print(failure(times));
  std::string text = "ok times=";
  for (std::size_t i = 0; i < times->size(); i++) {
    text += (i == 0 ? "" : ",") + std::to_string((*times)[i].time_since_epoch().count());
  }
  r.print(times->empty() ? text + "none" : text);
}

}  // namespace

const Table flow_ops{
    {"flow_create", create},    {"flow_seal", seal},          {"flow_cancel", cancel},
    {"flow_status", status},    {"flow_list", list},          {"cron_put", put},
    {"cron_get", cron_get},     {"cron_list", cron_list},     {"cron_remove", cron_remove},
    {"cron_pause", cron_pause}, {"cron_resume", cron_resume}, {"cron_next", cron_next}};

}  // namespace conformance

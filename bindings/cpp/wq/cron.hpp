// wq/cron.hpp: schedules of a store, and when an expression is due. Made by Queue::cron_put.
// Thread model: any thread.
#pragma once

#include "queue.hpp"

namespace wq {
inline namespace hpp1 {

// Schedules as of one moment. The views in a wq_cron are good while the list (or a copy) lives.
class CronList {
 public:
  using Owner = detail::Owned<wq_crons, wq_crons_free>;

  explicit CronList(std::shared_ptr<Owner> list) : list_(std::move(list)) {}
  std::size_t size() const { return wq_crons_count(list_->get()); }
  wq_cron operator[](std::size_t i) const {
    wq_cron cron = WQ_CRON_INIT;
    wq_crons_at(list_->get(), i, &cron);
    return cron;
  }

 private:
  std::shared_ptr<Owner> list_;
};

class Crons {
 public:
  explicit Crons(detail::StorePtr store) : store_(std::move(store)) {}

  // A list of one.
  Result<CronList> get(Bytes name) const {
    auto list = std::make_shared<CronList::Owner>();
    return detail::value_of<CronList>(
        detail::on_store(store_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_cron_get(raw, name.data(), name.size(), list->out(), err);
                         }),
        [&] { return CronList(list); });
  }
  // In the order of their names, those behind `after`; of one queue if there is one.
  Result<CronList> list(const Queue* queue = nullptr, Bytes after = {},
                        std::size_t limit = 1000) const {
    wq_queue* of = queue && queue->handle() ? queue->handle()->raw.load() : nullptr;
    if (queue && !of) return Error(Errc::closed, "the queue is closed");
    auto list = std::make_shared<CronList::Owner>();
    return detail::value_of<CronList>(detail::on_store(store_,
                                                       [&](wq_store* raw, wq_error* err) {
                                                         return wq_cron_list(raw, of, after.data(),
                                                                             after.size(), limit,
                                                                             list->out(), err);
                                                       }),
                                      [&] { return CronList(list); });
  }
  Result<Outcome> remove(Bytes name, const Call& call = {}) const {
    return change(wq_cron_remove, name, call);
  }
  Result<Outcome> pause(Bytes name, const Call& call = {}) const {
    return change(wq_cron_pause, name, call);
  }
  Result<Outcome> resume(Bytes name, const Call& call = {}) const {
    return change(wq_cron_resume, name, call);
  }

 private:
  template <typename F>
  Result<Outcome> change(F f, Bytes name, const Call& call) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return f(raw, name.data(), name.size(), c, err);
    });
  }
  detail::StorePtr store_;
};

// The first `count` times after `from`, fewer if it is due no more often; needs no store.
inline Result<std::vector<Time>> cron_next(Bytes expression, Bytes zone, Time from,
                                           std::size_t count) {
  std::vector<std::int64_t> times(std::min<std::size_t>(count, 10001));
  std::size_t told = 0;
  return detail::value_of<std::vector<Time>>(
      [&](wq_error* err) {
        return wq_cron_next(expression.data(), expression.size(), zone.data(), zone.size(),
                            from.time_since_epoch().count(), times.data(), count, &told, err);
      },
      [&] {
        std::vector<Time> due;
        for (std::size_t i = 0; i < told; i++) due.push_back(to_time(times[i]));
        return due;
      });
}

}  // namespace hpp1
}  // namespace wq

// wq.hpp: wq, a disk-backed queue engine in your process, for C++20. Header only, over the C
// interface of libwq; <wq.h> is the manual of what each call does.
//
//   wq::Store store = wq::Store::open("/var/lib/app/jobs").value();
//   wq::Queue mail = store.queue("mail").value();
//   mail.enqueue("hello").value();                        // OK: it is on the device
//   for (const wq::Job& job : *mail.lease({.max_jobs = 10})) job.ack().value();
//
// Each call gives a Result: a value or an Error. Outcomes that are no errors (stale, duplicate,
// empty) are values. Nothing throws but Result::value().
#pragma once

#include "wq/async.hpp"
#include "wq/consumer.hpp"
#include "wq/store.hpp"

// Package outbox puts jobs into Redis, and into a queue of wq while Redis can not take them. Modes:
//
//   - Fallback: each push goes to Redis; if that fails it is spooled: stored in the queue, durably.
//     A drain brings what is spooled to Redis when it answers again.
//   - Always: each push is spooled, and a drain brings it to Redis.
//   - Shadow: each push goes to Redis, whose answer counts, and a copy to the queue. A drain asks
//     Redis for the copy's id and counts what it knows and what not: a trial, which delivers nothing.
//
// Every job has an id, drawn before anything is sent. Redis remembers the ids that it took, in the
// step that takes the job; so a push whose answer was lost on the way is spooled and sent again, and
// applied once. What is left: an id that was forgotten (SeenLimits) or lost with the data of Redis,
// and whatever Redis itself loses after its answer.
//
// Scripts, keys in Redis, the form of spooled jobs and the rows of counts are those of the relay in
// src/relay of this repository and of the program `wq relay`: what one spooled another one drains.
package outbox

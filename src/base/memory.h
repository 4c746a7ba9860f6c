// Giving memory back to the operating system.
#pragma once

namespace wq {

// Returns what the allocator holds free to the system, where it can be told to (glibc:
// malloc_trim). Takes milliseconds and locks the allocator's arenas one after the other; for
// background threads, after a lot was freed. Thread rule: any thread.
void return_free_memory();

}  // namespace wq

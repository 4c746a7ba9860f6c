// Text in and out: UTF-8, base64, what is safe to show on a terminal, and the spellings of
// durations, sizes, points in time and lease tokens on the command line. Parsers throw a usage
// Failure that names the option and shows what a right value looks like. Thread model: free
// functions without state, any thread.
#pragma once

#include <wq.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wq::cli {

bool is_utf8(std::string_view text);
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);

// One line that a terminal shows as it is: control characters and bytes that are not UTF-8 become
// \n, \t, \xNN, a backslash \\. Cut after `columns_max` characters with "..." if it is not 0.
std::string printable(std::string_view bytes, size_t columns_max = 0);

// The same for a whole message. Its backslashes stay: they may be those of parts that are printable
// by now.
std::string one_line(std::string_view text);

// Terminal columns of a text, one per code point.
size_t columns_of(std::string_view text);

// "1500ms", "30s", "1.5s", "5m" or "5min", "1h30m", "7d", "0"; "forever" is -1 where
// `forever_allowed`. A bare number other than 0 is refused: its unit can only be guessed.
int64_t parse_duration_ms(std::string_view option, std::string_view text,
                          bool forever_allowed = false);

// The value of --lease: 0 if it is empty (that of the queue). A lease of 0 is refused.
int64_t parse_lease_ms(std::string_view text);

// "512", "64KiB", "16MiB", "1GiB".
uint64_t parse_size(std::string_view option, std::string_view text);

// "2026-05-01T12:00:00Z", with +02:00 instead of Z, with a fraction; or ms since 1970.
// A time, or how long from now.
int64_t parse_ahead_ms(std::string_view option, std::string_view text);
int64_t parse_time_ms(std::string_view option, std::string_view text);

// A bound in the past: a time as above, or "2h" for two hours ago. 0 if the text is empty.
int64_t parse_bound_ms(std::string_view option, std::string_view text);

// A whole number without sign.
uint64_t parse_number(std::string_view what, std::string_view text);

// "id:generation", as `pull` and `dead ls` print it.
wq_token parse_token(std::string_view text);

// A job id, also out of a token.
uint64_t parse_job_id(std::string_view text);

int64_t wall_clock_ms();
std::string token_text(uint64_t id, uint64_t generation);
std::string format_count(uint64_t value);                // 1,234,567
std::string format_bytes(uint64_t bytes);                // 12.3 MiB
std::string format_duration(int64_t duration_ms);        // 1h 02m, 3.4 s, 120 ms: to look at
std::string format_exact_duration(int64_t duration_ms);  // 1h2m, 1500ms: as it can be typed
std::string format_time(int64_t time_ms);                // 2026-05-01 12:00:00.123Z; "-" for 0
std::string format_rate(double per_second);              // 12,345/s
std::string rate_of(uint64_t count, double seconds);     // empty where it would say nothing
// "1 job", "1,200 jobs"; `nouns` where it is not the noun and an s.
std::string plural(uint64_t count, std::string_view noun, std::string_view nouns = "");

}  // namespace wq::cli

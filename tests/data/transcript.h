// Transcripts: text files of blocks, each of them commands, a line "----", the output that they
// must give, and an empty line. Comments start with '#'. Lines that start with "#!" are directives:
//
//   #! as-written: REASON       no reopening or killing between the commands (transcript_test.cc)
//   #! no-checkpoints: REASON   nor checkpoints
//   #! memory: REASON           only with the memory store on the simulated disk
//
// Thread model: one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wq {

struct Block {
  std::string before;              // comments and empty lines in front of it, as they stand
  std::vector<std::string> input;  // one command per line
  std::string expected;            // each line with its newline
  size_t line = 0;                 // of the first command
};

struct Transcript {
  std::vector<Block> blocks;
  std::string after;  // what follows the last block
  bool as_written = false;
  bool no_checkpoints = false;
  bool memory_only = false;
};

// Empty string, or what is wrong with the text.
std::string parse_transcript(std::string_view text, Transcript& transcript);
// The file's text, with `outputs` (one per block) in the place of what was expected.
std::string format_transcript(const Transcript& transcript,
                              const std::vector<std::string>& outputs);

// One command, split: verb, words, and name=value options. A value, a word or a part of it may be
// quoted: "a b", "\x00\"", and "z"*255 for 255 of them.
struct Arguments {
  std::string verb;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  bool has(const std::string& name) const { return options.count(name) != 0; }
  std::string text(const std::string& name, const std::string& fallback = {}) const;
  int64_t number(const std::string& name, int64_t fallback = 0) const;
  // 5, 5ms, 5s, 5m, 5h, 5d, 5y (365 d), with a sign; max and min are the ends of int64_t.
  int64_t duration_ms(const std::string& name, int64_t fallback = 0) const;
};

Arguments parse_arguments(std::string_view line);
int64_t parse_duration_ms(const std::string& text);
// The options of one job in braces: "a{delay=5s,priority=1}" gives the name and the options.
Arguments parse_job_word(const std::string& word);

}  // namespace wq

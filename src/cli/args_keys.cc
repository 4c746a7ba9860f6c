// The options of wq key and wq keyring.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

using Run = int (*)(Context&, const KeyCommandOptions&);

CLI::App& add_command(CLI::App& group, Command& chosen, const char* name, const char* description,
                      Run run) {
  CLI::App& command = *group.add_subcommand(name, description);
  const auto options = std::make_shared<KeyCommandOptions>();
  const bool release = run == run_key_release;
  command
      .add_option(release ? "token" : "key", options->key,
                  release ? "Token as wq pull prints it" : "The key, byte for byte")
      ->required();
  command.add_option("-q,--queue", options->queue, "Queue")
      ->type_name("NAME")
      ->capture_default_str();
  if (!release) {
    command.add_option("--kind", options->kind, "unique, debounce, idempotency")
        ->check(CLI::IsMember({"unique", "debounce", "idempotency"}).description(""))
        ->capture_default_str();
  }
  command.callback([options, &chosen, run] {
    chosen = [options, run](Context& context) { return run(context, *options); };
  });
  return command;
}

}  // namespace

void add_key_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = *app.add_subcommand("key", "Unique and other keys of jobs: who holds one");
  group.require_subcommand(1);
  group.fallthrough();
  group.footer(
      R"(wq push --unique KEY lets one job of the key in at a time; the one that is there holds it.

  wq key show -q mail user:5             # its id; exit code 3 if nobody holds the key
  wq key cancel -q mail user:5           # the job goes, the key is free
  wq key release -q mail 12:34           # a worker gives the key of its job up early)");
  add_command(group, chosen, "show", "Print the id of the job that holds a key", run_key_show)
      .footer("  wq key show -q mail user:5\n  wq key show -q mail --kind idempotency request-17");
  add_command(group, chosen, "cancel", "Cancel the job that holds a key", run_key_cancel)
      .footer("A dead job is left to wq dead (exit code 8).\n\n  wq key cancel -q mail user:5");
  add_command(group, chosen, "release", "Give up the unique key of a leased job", run_key_release)
      .footer("Exit code 5: the lease was lost; nothing changed.\n\n  wq key release 12:34");
}

void add_keyring_command(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("keyring", "Keys of encrypted payloads");
  command.footer(
      R"help(Payloads of a queue that encrypts are sealed (AES-256-GCM) with a key of --key-file, or
$WQ_KEY_FILE: a line for each key, its number and 64 hex digits. The last one seals, all of them
open. Keys are not kept in the store: who loses them loses the payloads.

  (umask 077; echo "1 $(openssl rand -hex 32)" > wq.keys)
  export WQ_KEY_FILE=$PWD/wq.keys
  wq queue set mail --encrypt on         # for jobs that come from now on
  echo "2 $(openssl rand -hex 32)" >> wq.keys    # a new key; the old one still opens
  wq keyring                             # a key that counts 0 can go from the file

Encrypted are payloads, also those of chains, batches and schedules, and the results of their
jobs (wq history). Names, headers, keys, error texts, notes and kv rows are not; nor is an export.

A job whose key is missing dies when it is leased, with the reason unreadable:
  wq dead replay -q mail --reason unreadable     # once the key is back)help");
  command.callback([&chosen] { chosen = run_keyring; });
}

}  // namespace wq::cli

// The arguments of wq kv and wq txn.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

CLI::App& add_kv_command(CLI::App& kv, Command& chosen, const char* name, const char* description,
                         KvAction action, const std::shared_ptr<KvOptions>& options) {
  CLI::App& command = *kv.add_subcommand(name, description);
  command.callback([options, &chosen, action] {
    chosen = [options, action](Context& context) { return run_kv(context, action, *options); };
  });
  return command;
}

void add_key(CLI::App& command, KvOptions& options) {
  command.add_option("key", options.key, "Key, 1 to 512 bytes")->required();
}

void add_ttl(CLI::App& command, KvOptions& options, const char* description) {
  command.add_option("--ttl", options.ttl, description)->type_name("DURATION");
}

void add_durability(CLI::App& command, std::string& durability) {
  command.add_option("--durability", durability, "power, process, memory")
      ->check(CLI::IsMember({"power", "process", "memory"}).description(""))
      ->type_name("LEVEL");
}

void add_conditions(CLI::App& command, const std::shared_ptr<KvOptions>& options) {
  add_number(command, "--if-version", options->if_version, "Only if the row has this version",
             any_uint63);
  command
      .add_option_function<std::string>(
          "--if-value",
          [options](const std::string& value) {
            options->if_value = without_mark(value);
            options->if_value_given = true;
          },
          "Only if the row has this value")
      ->type_name("TEXT");
}

void add_rows(CLI::App& kv, Command& chosen) {
  auto options = std::make_shared<KvOptions>();
  CLI::App& get =
      add_kv_command(kv, chosen, "get", "Print the value of a row", KvAction::get, options);
  add_key(get, *options);
  get.add_flag("--raw", options->raw, "Exactly the bytes of the value");
  get.footer(
      "Exit code 4: there is no such row.\n\n  wq kv get release\n  wq kv get blob --raw > f");

  options = std::make_shared<KvOptions>();
  CLI::App& put = add_kv_command(kv, chosen, "put", "Write a row", KvAction::put, options);
  add_key(put, *options);
  put.add_option_function<std::string>(
      "value",
      [options](const std::string& value) {
        options->value = without_mark(value);
        options->value_given = true;
      },
      "Value; without one: standard input, to its end");
  add_ttl(put, *options, "Gone after this time");
  put.add_flag("--if-absent", options->if_absent, "Only if there is no such row");
  add_conditions(put, options);
  add_durability(put, options->durability);
  put.footer(
      "With several conditions one that holds is enough. Exit code 8: none does.\n\n"
      "  wq kv put release v7 --ttl 1h\n  wq kv put release v8 --if-value v7");

  options = std::make_shared<KvOptions>();
  CLI::App& add =
      add_kv_command(kv, chosen, "add", "Add to a counter, print the sum", KvAction::add, options);
  add_key(add, *options);
  add_number(add, "--by", options->by, "What to add", any_int64)->capture_default_str();
  add_ttl(add, *options, "Life of a counter that is new");
  add_durability(add, options->durability);
  add.footer("  wq kv add visits\n  wq kv add stock --by=-3");

  options = std::make_shared<KvOptions>();
  CLI::App& rm = add_kv_command(kv, chosen, "rm", "Remove a row", KvAction::remove, options);
  add_key(rm, *options);
  add_conditions(rm, options);
  add_durability(rm, options->durability);
  rm.footer("Exit code 4: there is no such row.\n\n  wq kv rm release");

  options = std::make_shared<KvOptions>();
  CLI::App& ls = add_kv_command(kv, chosen, "ls", "List rows by key", KvAction::list, options);
  ls.add_option("prefix", options->key, "Only keys that begin with this");
  add_number(ls, "-n,--limit", options->limit, "At most this many", at_least_one);
  ls.footer("  wq kv ls cache: -n 20");
}

void add_locks(CLI::App& kv, Command& chosen) {
  struct Entry {
    const char* name;
    const char* description;
    KvAction action;
    const char* footer;
  };
  constexpr Entry entries[] = {
      {"lock", "Take a lock for an owner, or keep it", KvAction::lock,
       "Exit code 8: another owner has it.\n\n  wq kv lock deploy --owner $$ --ttl 10m"},
      {"extend", "Keep a lock that the owner has", KvAction::extend,
       "Exit code 5: the owner does not have it.\n\n  wq kv extend deploy --owner $$ --ttl 10m"},
      {"unlock", "Give a lock up", KvAction::unlock,
       "Exit code 5: the owner does not have it.\n\n  wq kv unlock deploy --owner $$"},
  };
  for (const Entry& entry : entries) {
    const auto options = std::make_shared<KvOptions>();
    CLI::App& command =
        add_kv_command(kv, chosen, entry.name, entry.description, entry.action, options);
    add_key(command, *options);
    command.add_option("--owner", options->owner, "Token that nobody else uses")
        ->type_name("TEXT")
        ->required();
    if (entry.action != KvAction::unlock) {
      add_ttl(command, *options, "Time after which it is free again; without: never");
    }
    add_durability(command, options->durability);
    command.footer(entry.footer);
  }
}

}  // namespace

void add_kv_commands(CLI::App& app, Command& chosen) {
  CLI::App& kv = *app.add_subcommand("kv", "Key-value rows and locks");
  kv.require_subcommand(1);
  kv.fallthrough();
  kv.footer(R"(Small values beside the jobs, in the same log.

  wq kv put release v7
  wq kv get release
  wq kv add visits
  wq kv ls
  wq kv lock deploy --owner $$ --ttl 10m && ./deploy; wq kv unlock deploy --owner $$)");
  add_rows(kv, chosen);
  add_locks(kv, chosen);

  CLI::App& txn = *app.add_subcommand("txn", "Several changes as one, all or none");
  const auto options = std::make_shared<TxnOptions>();
  txn.add_option("file", options->file, "JSON lines, one operation each; - is standard input")
      ->capture_default_str();
  add_durability(txn, options->durability);
  txn.footer(
      R"({"op":"ack","queue":"orders","token":"12:34"}     also nack, release, fail
{"op":"enqueue","queue":"mail","payload":"..."}     as push --format jsonl, but no keys
{"op":"put","key":"seen:12","value":"1","ttl_ms":60000}
{"op":"add","key":"orders","by":1}                  put, add, erase, check: if_absent,
{"op":"check","key":"lock","if_value":"me"}         if_version, if_value

Every line is judged by the store as it was before the first. Prints the ids of new jobs.

  wq txn changes.jsonl)");
  txn.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_txn(context, *options); };
  });
}

}  // namespace wq::cli

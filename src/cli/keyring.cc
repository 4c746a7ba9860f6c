// wq keyring: which keys a store has and needs.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {

int run_keyring(Context& context) {
  const Store store = context.open_store();
  std::vector<wq_key_use> uses;
  for (size_t count = 0;;) {
    wq_error err = WQ_ERROR_INIT;
    check(
        wq_store_get_keys(store.get(), uses.data(), uses.size(), sizeof(wq_key_use), &count, &err),
        err);
    if (count <= uses.size()) {
      uses.resize(count);
      break;
    }
    uses.assign(count, WQ_KEY_USE_INIT);
  }
  using Align = Table::Align;
  Table table({{"key", Align::right}, {"payloads", Align::right}, {"state"}});
  for (const wq_key_use& use : uses) {
    const bool known = (use.flags & WQ_KEY_KNOWN) != 0;
    const bool current = (use.flags & WQ_KEY_CURRENT) != 0;
    if (context.out().json()) {
      Record record;
      context.out().record(record.add("key", uint64_t{use.id})
                               .add("payloads", use.payloads)
                               .add("known", known)
                               .add("current", current));
    } else {
      table.add({std::to_string(use.id), format_count(use.payloads),
                 current ? "current"
                 : known ? "known"
                         : "missing"});
    }
  }
  if (!table.empty()) table.print(context.out());
  if (uses.empty()) context.out().note("no keys were given, and nothing needs one");
  return exit_ok;
}

}  // namespace wq::cli

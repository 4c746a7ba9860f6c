// wq import: what wq export wrote becomes a new store. A line that is wrong ends it with its
// number.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/importer.h"
#include "cli/line_reader.h"
#include "cli/progress.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

// A byte of a payload takes six at most, all else of a job has its own limits.
constexpr uint64_t line_bytes_extra = 1 << 20;

// What goes wrong with the line that was read last is told with its number.
template <typename Step>
void with_number(const LineReader& lines, const Step& step) {
  try {
    step();
  } catch (Failure& failure) {
    failure.message = "line " + std::to_string(lines.line_number()) + ": " + failure.message;
    throw;
  }
}

}  // namespace

int run_import(Context& context, const ImportOptions& options) {
  const uint64_t payload_max = parse_size("--payload-max", options.payload_max);
  LineReader lines(STDIN_FILENO, "standard input", '\n', payload_max * 6 + line_bytes_extra);
  std::string_view line;
  // The first line comes before the store: what is no export makes none.
  if (!lines.next(line)) fail_usage("the input is empty");
  ImportHead head;
  with_number(lines, [&] { head = read_import_head(line); });
  const Store store = context.open_store({OpenMode::create, false, payload_max});
  Importer importer(store.get(), head);
  {
    Progress progress(context.out(), "importing", head.jobs);
    while (lines.next(line)) {
      with_number(lines, [&] { importer.line(line); });
      progress.update(importer.jobs());
    }
    importer.finish();
  }
  context.out().note(plural(importer.jobs(), "job") + " in " + plural(importer.queues(), "queue") +
                     " imported");
  return exit_ok;
}

}  // namespace wq::cli

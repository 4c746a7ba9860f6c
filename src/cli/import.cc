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

}  // namespace

int run_import(Context& context, const ImportOptions& options) {
  const uint64_t payload_max = parse_size("--payload-max", options.payload_max);
  LineReader lines(STDIN_FILENO, "standard input", '\n', payload_max * 6 + line_bytes_extra);
  std::string_view line;
  const Store store = context.open_store({OpenMode::create, false, payload_max});
  Importer importer(store.get());
  {
    Progress progress(context.out(), "importing", 0);
    try {
      while (lines.next(line)) {
        importer.line(line);
        progress.set_total(importer.jobs_expected());
        progress.update(importer.jobs());
      }
    } catch (Failure& failure) {
      failure.message = "line " + std::to_string(lines.line_number()) + ": " + failure.message;
      throw;
    }
    importer.finish();
  }
  context.out().note(plural(importer.jobs(), "job") + " in " + plural(importer.queues(), "queue") +
                     " imported");
  return exit_ok;
}

}  // namespace wq::cli

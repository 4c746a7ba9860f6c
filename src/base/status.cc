#include "base/status.h"

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/errno_advice.h"

namespace wq {
namespace {

struct CodeRow {
  Code code;
  const char* name;
  CodeClass kind;
  const char* text;
};

constexpr CodeRow code_rows[] = {
#define X(name, value, kind, text) {Code::name, #name, CodeClass::kind, text},
#include "base/errors.def"
#undef X
};

const CodeRow* find_row(Code code) {
  for (const CodeRow& row : code_rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace

const char* code_name(Code code) {
  const CodeRow* row = find_row(code);
  return row ? row->name : "unknown";
}

const char* code_text(Code code) {
  const CodeRow* row = find_row(code);
  return row ? row->text : "unknown code";
}

CodeClass code_class(Code code) {
  const CodeRow* row = find_row(code);
  if (row) return row->kind;
  return static_cast<int32_t>(code) < 0 ? CodeClass::internal : CodeClass::outcome;
}

bool code_known(int32_t value) {
  return find_row(static_cast<Code>(value)) != nullptr;
}

Status status_from_errno(int os_errno, const std::string& where, const char* operation,
                         uint64_t offset) {
  Code code = Code::io;
  if (os_errno == ENOSPC || os_errno == EDQUOT || os_errno == EFBIG) code = Code::no_space;
  if (os_errno == ENOMEM) code = Code::no_memory;
  return Status(
      code, where + ": " + operation + ": " + std::strerror(os_errno) + advice_on_errno(os_errno),
      os_errno, offset);
}

void check_failed(const char* expression, const char* file, int line) {
  throw CheckFailed(std::string(file) + ":" + std::to_string(line) +
                    ": check failed: " + expression);
}

}  // namespace wq

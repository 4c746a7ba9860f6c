'use strict';
// errors.js: codes of the library. Below 0 they are errors and become a WqError; from 0 on they are
// outcomes, strings like 'ok' and 'stale', which are values.
const { addon } = require('./native');
const { constants, errorInfo } = addon;

const codes = {}; // 'WQ_E_NOT_FOUND' -> -20, 'WQ_STALE' -> 3
const outcomes = []; // 3 -> 'stale'
const errorNames = new Map(); // -20 -> 'WQ_E_NOT_FOUND'

for (const [name, value] of Object.entries(constants)) {
  if (name.startsWith('WQ_E_')) {
    codes[name] = value;
    errorNames.set(value, name);
  } else if (value >= 0 && errorInfo(value)[0] === name.slice(3)) {
    codes[name] = value;
    outcomes[value] = name.slice(3).toLowerCase();
  }
}

/**
 * A call that failed. `code` is the name in wq.h ('WQ_E_NOT_FOUND'), by which programs decide, and
 * `number` its value; the message is one line for people. Nothing was changed, unless
 * `maybeCommitted` says that it may have been.
 */
class WqError extends Error {
  constructor(number, message, details = {}) {
    const [, text, flags] = errorInfo(number);
    super(message || text);
    this.code = errorNames.get(number) || `WQ_E_${number}`;
    this.number = number;
    this.retryable = Boolean(flags & constants.WQ_ERROR_RETRYABLE);
    this.maybeCommitted = Boolean(flags & constants.WQ_ERROR_MAYBE_COMMITTED);
    this.fatal = Boolean(flags & constants.WQ_ERROR_FATAL);
    this.osErrno = details.osErrno || 0;
    this.offset = details.offset || 0n;
  }
}
Object.defineProperty(WqError.prototype, 'name', { value: 'WqError', configurable: true });

/** 'stale' for 3, 'WQ_E_NOT_FOUND' for -20. */
function codeText(code) {
  return code < 0 ? errorNames.get(code) || `WQ_E_${code}` : outcomes[code] || `outcome_${code}`;
}

function invalid(message) {
  return new WqError(codes.WQ_E_INVALID, message);
}

module.exports = { WqError, codes, outcomes, codeText, invalid };

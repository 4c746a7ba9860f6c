'use strict';
// text.js: strings on their way to UTF-8. JavaScript has strings that UTF-8 can not say, with half of
// a pair of surrogates; encoded they would come back as others, and two names might become one.
const { inspect, types } = require('node:util');

const wellFormed = String.prototype.isWellFormed
  ? (text) => text.isWellFormed()
  : (text) => !/\p{Surrogate}/u.test(text); // Node 18

/** Refuse a string that would not come back as it is. */
function checkText(text, field) {
  if (wellFormed(text)) return;
  const at = text.search(/\p{Surrogate}/u);
  const code = text.charCodeAt(at).toString(16).toUpperCase();
  throw new TypeError(`${field}: a lone surrogate (U+${code}) at ${at}, which UTF-8 can not say; ` +
    'give a Buffer if it is meant to be bytes');
}

function told(value) {
  if (typeof value === 'string') return value;
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (types.isArrayBuffer(value)) return new Uint8Array(value);
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return String(value);
  }
  const { message } = value;
  if (typeof message === 'string' && message !== '') return message;
  return types.isNativeError(value) || value instanceof Error ? String(value) : inspect(value);
}

/**
 * Whatever was thrown, as the text or the bytes of an error. It never fails: a settle that is
 * refused for its text leaves the job leased.
 */
function errorText(value) {
  try {
    const text = told(value);
    return typeof text === 'string' && !wellFormed(text) ? Buffer.from(text) : text;
  } catch {
    return `an error that can not be told (${typeof value})`;
  }
}

module.exports = { checkText, errorText };

'use strict';
// names.js: names that are bytes, as strings. Bytes that are no UTF-8 become lone surrogates
// (0xff is U+DCFF), and such surrogates become those bytes again, so that every name goes there and
// back; Python calls this surrogateescape. All other strings are what they are.
const { checkText } = require('./text');

const ESCAPES = /(?<![\ud800-\udbff])[\udc80-\udcff]/;
const REPLACEMENT = Buffer.from('\ufffd');

/** How many bytes a character has that begins with this one; 0: none does. */
function lengthOf(lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

function escaped(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const length = lengthOf(bytes[at]);
    const piece = bytes.subarray(at, at + length);
    const char = piece.toString();
    const good = piece.length === length && length > 0 &&
      (!char.includes('\ufffd') || piece.equals(REPLACEMENT));
    text += good ? char : String.fromCharCode(0xdc00 + bytes[at]);
    at += good ? length : 1;
  }
  return text;
}

/** The name that these bytes are. */
function nameText(bytes) {
  const text = bytes.toString();
  return text.includes('\ufffd') ? escaped(bytes) : text;
}

/** A name to be given: as it is, or its bytes if it has escaped ones. */
function nameBytes(name) {
  if (typeof name !== 'string' || !ESCAPES.test(name)) return name;
  const pieces = [];
  for (const char of name) {
    const code = char.codePointAt(0);
    if (code >= 0xdc80 && code <= 0xdcff) {
      pieces.push(Buffer.from([code - 0xdc00]));
    } else {
      checkText(char, 'name');
      pieces.push(Buffer.from(char));
    }
  }
  return Buffer.concat(pieces);
}

module.exports = { nameText, nameBytes };

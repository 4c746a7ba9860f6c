'use strict';
// native.js: finds the addon, and refuses one that does not fit. Which file it is: $WQ_NODE_ADDON,
// else what was built here, else the prebuilt one for this platform.
const fs = require('node:fs');
const path = require('node:path');

const PROTOCOL = 1; // WQN_PROTOCOL of src/wqn.h

// What the code of this directory needs in the tables of the addon. What else they have, the
// structs of a newer header, is passed through by name.
const NEEDED = {
  wq_job_spec: ['payload', 'headers', 'chain', 'unique_key', 'flow', 'group'],
  wq_job: ['id', 'generation', 'payload', 'last_error', 'group'],
  wq_queue_config: ['fields', 'lease_ms', 'backoff_list_ms', 'rate_window_ms'],
  wq_settle_item: ['kind', 'result'],
  wq_txn_op: ['queue', 'spec', 'settle', 'options'],
  wq_kv_options: ['version', 'value'],
  wq_event_cursor: ['epoch', 'sequence', 'dropped'],
};

function candidates() {
  const root = path.dirname(__dirname);
  return [
    path.join(root, 'build/Release/wq.node'),
    path.join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'wq.node'),
  ];
}

function load() {
  const named = process.env.WQ_NODE_ADDON;
  const file = named || candidates().find((name) => fs.existsSync(name));
  if (!file) {
    throw new Error('wq: the addon is not built; run: node build.js (in the directory of the ' +
                    `package), or set WQ_NODE_ADDON. Looked for ${candidates().join(', ')}`);
  }
  return require(path.resolve(file));
}

const text = (version) => `${version >>> 16}.${(version >>> 8) & 255}.${version & 255}`;

// Throws an Error that names the mismatch, or returns nothing.
function check(addon) {
  if (addon.protocol !== PROTOCOL) {
    throw new Error(`wq: the addon speaks protocol ${addon.protocol}, this package ${PROTOCOL}; ` +
                    'build it anew (node build.js)');
  }
  const { libraryVersion: library, headerVersion: header } = addon;
  if (library >>> 16 !== header >>> 16 || library >>> 8 < header >>> 8) {
    throw new Error(`wq: the addon was built with wq.h of version ${text(header)}, but the ` +
                    `library libwq.so is version ${text(library)}; install the right one or ` +
                    'build anew');
  }
  for (const [struct, fields] of Object.entries(NEEDED)) {
    const layout = addon.layouts[struct];
    if (!layout) throw new Error(`wq: the addon was built with a wq.h that has no ${struct}`);
    for (const field of fields) {
      if (!layout.fields[field]) {
        throw new Error(`wq: the addon was built with a wq.h in which ${struct} (${layout.size} ` +
                        `bytes) has no field ${field}; build it anew with wq.h ${text(library)}`);
      }
    }
  }
}

const addon = load();
check(addon);

module.exports = { addon, check, versionText: text };

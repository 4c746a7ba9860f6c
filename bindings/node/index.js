'use strict';
// wq: a disk-backed queue engine that lives in this process. See README.md.
const { addon, versionText } = require('./lib/native');
const { WqError, codes } = require('./lib/errors');
const { Store, verifyBackup, restore } = require('./lib/store');
const { Queue } = require('./lib/queue');
const { Job } = require('./lib/job');
const { cronNext } = require('./lib/store_parts');

module.exports.Store = Store;
module.exports.Queue = Queue;
module.exports.Job = Job;
module.exports.WqError = WqError;
module.exports.codes = Object.freeze({ ...codes });
module.exports.open = Store.open;
module.exports.verifyBackup = verifyBackup;
module.exports.restore = restore;
module.exports.cronNext = cronNext;
module.exports.version = versionText(addon.libraryVersion);
module.exports.buildInfo = addon.buildInfo;
module.exports.formatVersion = addon.formatVersion;

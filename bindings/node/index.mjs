import wq from './index.js';

export const {
  Store, Queue, Job, WqError, codes, open, verifyBackup, restore, cronNext, version, buildInfo,
  formatVersion,
} = wq;
export default wq;

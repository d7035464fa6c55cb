import { gunzipSync, gzipSync } from 'node:zlib';
import type { SegmentCodec } from '../log/disk.ts';

/** gzip at its fastest: three times smaller at 180 MB/s. Every Node has it, and every tool. */
export const gzipCodec: SegmentCodec = {
  pack: (bytes) => gzipSync(bytes, { level: 1 }),
  unpack: (member, bytesMax) => gunzipSync(member, { maxOutputLength: Math.max(bytesMax, 1) }),
};

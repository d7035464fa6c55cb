/**
 * Writers for one value or key at a time. A compiled plan stays in the cache of statements, and so
 * would a buffer of megabytes that one long value has made, for each expression of each plan: so
 * plans have no writers of their own.
 */
import { BinaryWriter } from '../../values/binary-writer.ts';

const free: BinaryWriter[] = [];

/** Expressions are nested, but few of them write while others do. */
const freeMax = 16;
const bytesKept = 64 * 1_024;

/** An empty writer, until it is given back. One that an error keeps from it is garbage. */
export function borrowWriter(): BinaryWriter {
  const writer = free.pop() ?? new BinaryWriter(64);
  writer.reset();
  return writer;
}

/** Its bytes are no longer valid. */
export function giveBackWriter(writer: BinaryWriter): void {
  if (free.length < freeMax && writer.source.length <= bytesKept) free.push(writer);
}

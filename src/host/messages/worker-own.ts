import { assert } from '../../assert.ts';
import type { OwnCommit } from '../../database/live/own-commit.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import type { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import { connectionNumber } from '../../values/connection-number.ts';

/** Writes the commits of a follower's own connections; see `encodeTurn`. */
export function encodeOwn(writer: BinaryWriter, all: readonly OwnCommit[]): void {
  writer.u32(all.length);
  for (const { offset, connectionId, reducer, args, timestampMicros } of all) {
    writer.f64(offset);
    writer.u128(connectionId);
    writer.string(reducer);
    writer.bytes(args);
    writer.i64(timestampMicros);
  }
}

/** A process that a module may have taken over can say anything. */
export function decodeOwn(reader: BinaryReader): readonly OwnCommit[] {
  let last = 0;
  return Array.from({ length: reader.u32() }, () => {
    const offset = commitOffset(reader.f64());
    assert(Number.isSafeInteger(offset) && offset > last, 'commits have ascending offsets');
    last = offset;
    const connectionId = connectionNumber(reader.u128());
    const [reducer, args] = [reader.string(), reader.bytes()];
    return { offset, connectionId, reducer, args, timestampMicros: reader.i64() };
  });
}

import fs from 'node:fs';
import path from 'node:path';
import type { DiskFile } from '../../log/disk.ts';
import { PackedFile } from '../../log/packed-segment.ts';
import { isPacked, segmentSequence } from '../../log/segment.ts';
import { snapshotOffset } from '../../log/snapshot.ts';
import { MachineDisk } from '../../node/disk.ts';
import { noFollow } from '../../node/private-files.ts';

/** A file that a client reads in parts. */
export interface StreamedObject {
  readonly bytes: number;
  /** The bytes from `from` up to, not including, `to`. */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

/** Bytes that are read at a time. */
export const streamedPieceBytes = 256 * 1024;

/**
 * A segment or a snapshot by its name, unpacked, or a static file or a file of its deploys by its
 * path; `undefined`: there is none, or it is none of these.
 */
export function streamedObject(
  { directory, folder }: { readonly directory: string; readonly folder: string },
  name: string,
): StreamedObject | undefined {
  const [, part, file] = /^(static|deploys)\/([A-Za-z0-9_][A-Za-z0-9_.-]*)$/.exec(name) ?? [];
  if (part !== undefined && file !== undefined) {
    return plainFile(path.join(path.dirname(folder), part, file));
  }
  if (segmentSequence(name) === undefined && snapshotOffset(name) === undefined) return undefined;
  const disk = new MachineDisk(directory);
  // It can have been packed since it was described.
  const packed = `${name}.gz`;
  const there = [name, packed].find((one) => fs.existsSync(path.join(directory, one)));
  if (there === undefined) return undefined;
  return {
    bytes: withFile(disk, there, (opened) => opened.size()),
    async *read(from, to) {
      for (let at = from; at < to; ) {
        const piece = withFile(disk, there, (opened) => {
          const into = new Uint8Array(Math.min(streamedPieceBytes, to - at));
          return into.subarray(0, opened.read(into, at));
        });
        if (piece.length === 0) throw new Error(`${there} has become shorter`);
        at += piece.length;
        yield piece;
      }
    },
  };
}

/** No descriptor is kept between two pieces: a slow reader would hold it for long. */
function withFile<Result>(
  disk: MachineDisk,
  name: string,
  use: (file: Pick<DiskFile, 'size' | 'read'>) => Result,
): Result {
  const opened = disk.open(name, 'read');
  try {
    if (segmentSequence(name) === undefined || !isPacked(name)) return use(opened);
    return use(new PackedFile(opened, disk.codec));
  } finally {
    opened.close();
  }
}

function plainFile(place: string): StreamedObject | undefined {
  const bytes = fs.lstatSync(place, { throwIfNoEntry: false });
  if (bytes?.isFile() !== true) return undefined;
  return {
    bytes: bytes.size,
    async *read(from, to) {
      const flags = fs.constants.O_RDONLY | noFollow;
      const handle = await fs.promises.open(place, flags);
      try {
        const options = { autoClose: false, start: from, end: to - 1 };
        yield* handle.createReadStream({ ...options, highWaterMark: streamedPieceBytes });
      } finally {
        await handle.close();
      }
    },
  };
}

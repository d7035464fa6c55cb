import { createHash } from 'node:crypto';
import { limits } from '../../limits.ts';
import type { LinkedProgram } from '../../module/runner.ts';
import { sameBytes } from '../../values/bytes.ts';
import { toHex } from '../../values/hex.ts';
import { list, parseAs, string } from '../../values/json-shape.ts';

/**
 * A linked program as bytes: what a linker gives to the gateway, and what is kept beside the log.
 * Numbers are little-endian. `docs/format/linked-program.md` is normative.
 *
 * ```
 *   0  u8[8]   "RDB-LNK" and a line feed
 *   8  u32     version of this format
 *  12  u32     length of the imports, a JSON list of texts
 *  16  u32     length of the script
 *  20  u32     length of the source map
 *  24  u8[32]  hash of the program
 *  56  u8[32]  its seed
 *  88  u8[16]  version of the linker
 * 104          imports, script, source map
 *      u8[32]  SHA-256 of all before
 * ```
 */
const magic = new TextEncoder().encode('RDB-LNK\n');
const formatVersion = 1;
const headerBytes = 104;
const hashAt = 24;
const seedAt = 56;
const linkerAt = 88;
const digestBytes = 32;

/** The source and the linker of a linked program: they name its file, and are stored in it. */
export interface LinkedOrigin {
  /** 32 bytes, see `program-hash.ts`. */
  readonly programHash: Uint8Array;
  /** 16 bytes, see `linker-version.ts`. */
  readonly linkerVersion: Uint8Array;
}

/** The bytes are not a linked program, or not the requested one. */
export class LinkedFileError extends Error {
  override readonly name = 'LinkedFileError';
}

/** The longest file that is read. */
export const linkedFileBytesMax: number =
  limits.linkedScriptBytesMax + limits.linkedMapBytesMax + limits.programBytesMax;

export function encodeLinked(program: LinkedProgram, origin: LinkedOrigin): Uint8Array {
  const parts = [JSON.stringify(program.imports), program.script, program.sourceMap].map((text) =>
    Buffer.from(text),
  );
  const bytes = parts.reduce((sum, part) => sum + part.length, headerBytes + digestBytes);
  const file = Buffer.alloc(bytes);
  file.set(magic, 0);
  file.writeUInt32LE(formatVersion, magic.length);
  file.set(origin.programHash, hashAt);
  file.set(program.seed, seedAt);
  file.set(origin.linkerVersion, linkerAt);
  let at = headerBytes;
  parts.forEach((part, index) => {
    file.writeUInt32LE(part.length, 12 + 4 * index);
    file.set(part, at);
    at += part.length;
  });
  file.set(digestOf(file.subarray(0, at)), at);
  return file;
}

/** Throws `LinkedFileError`; where `wanted` is given, also for a program of another origin. */
export function decodeLinked(bytes: Uint8Array, wanted?: LinkedOrigin): LinkedProgram {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = file.length - digestBytes;
  if (end < headerBytes || !sameBytes(file.subarray(0, magic.length), magic)) {
    throw new LinkedFileError('it is not a linked program');
  }
  if (file.readUInt32LE(magic.length) !== formatVersion) {
    throw new LinkedFileError('its format is of another version');
  }
  if (!sameBytes(digestOf(file.subarray(0, end)), file.subarray(end))) {
    throw new LinkedFileError('its checksum is wrong');
  }
  const found = originOf(file);
  if (wanted !== undefined && !isSame(found, wanted)) {
    throw new LinkedFileError('it was made from another program, or by another linker');
  }
  const lengths = [0, 1, 2].map((index) => file.readUInt32LE(12 + 4 * index));
  let at = headerBytes;
  const [imports = '[]', script = '', sourceMap = ''] = lengths.map((length) => {
    at += length;
    return file.toString('utf8', at - length, at);
  });
  if (at !== end) throw new LinkedFileError('its parts do not add up');
  const seed = new Uint8Array(file.subarray(seedAt, seedAt + 32));
  return { script, sourceMap, seed, imports: parseAs(imports, list(string)) };
}

/** The origin that the bytes state; they come from a linker of ours. */
export function originOf(bytes: Uint8Array): LinkedOrigin {
  return {
    programHash: bytes.subarray(hashAt, seedAt),
    linkerVersion: bytes.subarray(linkerAt, headerBytes),
  };
}

/** Consists of hex digits, so that it can be nothing but a name in its folder. */
export function linkedFileName({ programHash, linkerVersion }: LinkedOrigin): string {
  return `${toHex(programHash)}-${toHex(linkerVersion)}.linked`;
}

function isSame(one: LinkedOrigin, other: LinkedOrigin): boolean {
  return (
    sameBytes(one.programHash, other.programHash) &&
    sameBytes(one.linkerVersion, other.linkerVersion)
  );
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

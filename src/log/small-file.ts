import { crc32c } from './checksum.ts';
import type { Disk } from './disk.ts';

/**
 * Small files beside the segments: JSON, and a last line `crc32c <8 hexadecimal digits>` over
 * everything before it. A file is replaced as a whole, by a rename: a crash leaves the old one or
 * the new one.
 */
export type SmallFileReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'valid'; readonly text: string }
  | { readonly kind: 'damaged'; readonly reason: string };

/** The JSON in a small file, whose checksum is right. */
export function readSmallFile(disk: Disk, name: string): SmallFileReading {
  if (!disk.list().includes(name)) return { kind: 'absent' };
  const bytes = contentOf(disk, name);
  const end = bytes.lastIndexOf(lineFeed, bytes.length - 2) + 1;
  const last = new TextDecoder().decode(bytes.subarray(end));
  const expected = /^crc32c ([0-9a-f]{8})\n$/.exec(last)?.[1];
  if (expected === undefined) return { kind: 'damaged', reason: 'it ends without a checksum' };
  if (expected !== checksumOf(bytes, end)) {
    return { kind: 'damaged', reason: 'its checksum does not match' };
  }
  return { kind: 'valid', text: new TextDecoder().decode(bytes.subarray(0, end)) };
}

/** Replaces a small file; the new one is durable when this resolves. */
export async function writeSmallFile(disk: Disk, name: string, json: unknown): Promise<void> {
  const text = `${JSON.stringify(json)}\n`;
  const bytes = new TextEncoder().encode(text);
  await replaceWhole(disk, name, `${text}crc32c ${checksumOf(bytes, bytes.length)}\n`);
}

/** Puts a file in place of another one, or of none, as one step. */
export async function replaceWhole(disk: Disk, name: string, text: string): Promise<void> {
  const part = `${name}.part`;
  disk.checkWriter?.(true);
  if (disk.list().includes(part)) disk.remove(part);
  await writeWhole(disk, part, text);
  disk.rename(part, name);
  await disk.syncDirectory();
}

/** Creates a file whose content is durable when this resolves; its entry is not. */
export async function writeWhole(disk: Disk, name: string, text: string): Promise<void> {
  const file = disk.open(name, 'create');
  try {
    file.write(new TextEncoder().encode(text), 0);
    await file.sync();
  } finally {
    file.close();
  }
}

function contentOf(disk: Disk, name: string): Uint8Array {
  const file = disk.open(name, 'read');
  try {
    const bytes = new Uint8Array(file.size());
    const count = file.read(bytes, 0);
    return bytes.subarray(0, count);
  } finally {
    file.close();
  }
}

function checksumOf(bytes: Uint8Array, end: number): string {
  return (crc32c(bytes, 0, end) >>> 0).toString(16).padStart(8, '0');
}

const lineFeed = 10;

import { linkProgram } from '../../bundle/link.ts';
import { limits } from '../../limits.ts';
import type { LinkedProgram } from '../../module/runner.ts';
import { decodeLinked, encodeLinked } from './linked-file.ts';
import { linkerVersion } from './linker-version.ts';
import { programHash } from './program-hash.ts';
import { recentLinks } from './recent-links.ts';

/**
 * Links a program in this thread, for databases that run in it. A small program is not linked
 * twice, for example when a test opens a database for each of its cases.
 */
export async function linkHere(bytes: Uint8Array): Promise<LinkedProgram> {
  if (bytes.length > limits.smallProgramBytesMax) return linkProgram(bytes);
  const known = recentLinks.find(bytes);
  if (known !== undefined) return decodeLinked(known);
  const program = await linkProgram(bytes);
  const origin = { programHash: programHash(bytes), linkerVersion: linkerVersion() };
  recentLinks.keep(bytes, encodeLinked(program, origin));
  return program;
}

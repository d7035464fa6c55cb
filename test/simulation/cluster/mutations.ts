import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClusterParts } from './simulated-host.ts';

/** One broken fence: a piece of the real code, and what is put in its place. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /**
   * What finds it: runs of a cluster, those with an engine that lies, those with logs that are
   * shortened, those with reads within a lease, or a scenario of its own.
   */
  readonly foundBy: 'runs' | 'lies' | 'shortened' | 'leased' | 'old primary' | 'late append';
  /** True if it takes more seeds than the usual suite runs. */
  readonly isRare?: boolean;
}

/** Mistakes in the fences that the simulation must find. */
export const mutations: readonly Mutation[] = [
  {
    name: 'append elsewhere after passed',
    file: 'append-run.ts',
    from: "if (verdict === 'overtaken' || verdict === 'behind') return { kind: verdict };",
    to: `if (verdict === 'behind') return { kind: verdict };
    if (verdict === 'overtaken') {
      if (emptyAt === undefined) return { kind: verdict };
      previous = (await sharedLog.read(log, entry.seq, limits.sharedReadBytesMax)).entries[0]
        ?.bytes ?? previous;
      entry = { seq: entry.seq + 1, bytes: atSeq(entry.bytes, entry.seq + 1) };
    }`,
    foundBy: 'runs',
  },
  {
    name: 'claim without reading to the end',
    file: 'member.ts',
    from: "    if (outcome.kind === 'stored') await this.#lead(term, outcome);",
    to: `    if (outcome.kind === 'overtaken') {
      const answer = await sharedLog.read(log, entry.seq, limits.sharedReadBytesMax);
      const last = answer.entries.at(-1) ?? entry;
      this.#tail.advance({ last, point: this.#tail.point });
      const next = this.#made(entryKinds.term, term, encodeLead(this.#options.me));
      return await this.#begin(term, next);
    }
    if (outcome.kind === 'stored') await this.#lead(term, outcome);`,
    foundBy: 'runs',
  },
  {
    name: 'two appends in flight',
    file: 'replicator.ts',
    from: 'if (this.#isRunning || this.#end !== undefined) return;',
    to: 'if (this.#end !== undefined) return;',
    foundBy: 'runs',
  },
  {
    name: 'notice counted as stored',
    file: 'memory-client.ts',
    from: "if (result !== 'refused') return result === 'stored' ? 'stored' : 'unknown';",
    to: "if (result !== 'refused') return result === 'broken' ? 'unknown' : 'stored';",
    foundBy: 'runs',
    isRare: true,
  },
  {
    name: 'an own entry that is seen counts as stored',
    file: 'append-run.ts',
    from: "if (verdict === 'own') {",
    to: "if (verdict === 'own') return { kind: 'stored', entries: [...entries, entry] };\n    if (verdict === 'own') {",
    foundBy: 'runs',
    isRare: true,
  },
  {
    name: 'followers show what is not settled',
    file: 'member.ts',
    from: 'this.#settledOffset = Math.max(this.#settledOffset, acknowledged, told);',
    to: 'this.#settledOffset = Math.max(this.#settledOffset, point.offset, told);',
    foundBy: 'runs',
  },
  {
    name: 'confirm by a plain read',
    file: 'memory-client.ts',
    from: 'return server.touch();',
    to: "return { whenDone: (take: (result: ServerResult) => void) => take('stored') };",
    foundBy: 'old primary',
  },
  {
    name: 'a deposed leader keeps its end',
    file: 'member.ts',
    from: 'if (!isThere && replica.end.position > before.point.position) await this.#setAside(before);',
    to: '',
    foundBy: 'runs',
  },
  {
    name: 'a leader serves before its term is stored',
    file: 'append-run.ts',
    from: "pace.onResult?.(result);\n    if (result === 'stored')",
    to: "pace.onResult?.(result);\n    if (result !== 'passed')",
    foundBy: 'runs',
  },
  {
    name: 'a truncation takes the last entry',
    file: 'memory-server.ts',
    from: 'const count = Math.min(before, last) - held.first;',
    to: 'const count = Math.min(before, last + 1) - held.first;',
    foundBy: 'late append',
  },
  {
    name: 'an append does not look what is before it',
    file: 'memory-server.ts',
    from: "if (after !== undefined && !beginsWith(before.bytes, after)) return take('refused');",
    to: '',
    foundBy: 'runs',
    isRare: true,
  },
  {
    name: 'a host overlooks that an entry has gone',
    file: 'member.ts',
    from: 'return found !== undefined && isSameEntry(found.bytes, last);',
    to: 'return found === undefined || isSameEntry(found.bytes, last);',
    foundBy: 'runs',
    isRare: true,
  },
  {
    name: 'a host takes what contradicts acknowledged commits',
    file: 'unlike-settled.ts',
    from: 'return isCovered && copy.chainAt(end.position) !== end.chain;',
    to: 'return isCovered && false;',
    foundBy: 'runs',
    isRare: true,
  },
  {
    name: 'what was sent is settled',
    file: 'member.ts',
    from: '    return this.#taken(step, before);\n  }\n\n  async #taken',
    to: '    this.#settledOffset = this.#tail.point.offset;\n    return this.#taken(step, before);\n  }\n\n  async #taken',
    foundBy: 'lies',
  },
  {
    name: 'acknowledge on the engine alone',
    file: 'replicator.ts',
    from: ': Math.min(this.#storedWrite, this.#localWrite);',
    to: ': this.#storedWrite;',
    foundBy: 'lies',
    isRare: true,
  },
  {
    name: 'a host reads on without what was removed',
    file: 'member.ts',
    from: 'if (await replica.restart(beginning, point)) {',
    to: 'if (replica.end.position > 0 || (await replica.restart(beginning, point))) {',
    foundBy: 'shortened',
  },
  {
    name: 'what a snapshot has is applied to it again',
    file: 'member.ts',
    from: 'if (step.end.position < replica.startPosition) return;',
    to: '',
    foundBy: 'shortened',
  },
  {
    name: 'a candidate claims while its leader may be read',
    file: 'leadership.ts',
    from: 'if (mayBeRead && look.endMillis < leaseMillis + rankMillis) return false;',
    to: '',
    foundBy: 'leased',
  },
  {
    name: 'a leader is read longer than candidates wait',
    file: 'read-lease.ts',
    from: 'const readShare = 0.8;',
    to: 'const readShare = 1.3;',
    foundBy: 'leased',
  },
];

const source = fileURLToPath(new URL('../../../src', import.meta.url));

/** The code with a mistake in it: a copy of the room, whose other imports are the real ones. */
export async function mutated(mutation: Mutation): Promise<ClusterParts> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-mutation-'));
  try {
    const room = path.join(source, 'shared-log');
    for (const file of readdirSync(room)) {
      if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
      const text = readFileSync(path.join(room, file), 'utf8');
      const changed = file === mutation.file ? applied(mutation, text) : text;
      writeFileSync(path.join(folder, file), changed.replaceAll("from '../", `from '${source}/`));
    }
    const { Member } = await import(path.join(folder, 'member.ts'));
    const { MemoryEngine } = await import(path.join(folder, 'memory-engine.ts'));
    const { ReadLease } = await import(path.join(folder, 'read-lease.ts'));
    return { Member, MemoryEngine, ReadLease };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Throws if the code that is to be broken is not there, or is there twice. */
export function applied({ name, from, to }: Mutation, text: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${name}: found ${parts.length - 1} times: ${from}`);
  const helper = to.includes('atSeq(') ? atSeq : '';
  return parts.join(to) + helper;
}

/** Moves an entry to another place of the log, with a header that is valid. */
const atSeq = `
function atSeq(bytes: Uint8Array, seq: number): Uint8Array {
  const reading = decodeEntry(bytes);
  return reading.kind === 'valid' ? encodeEntry({ ...reading.entry, seq }) : bytes;
}
import { decodeEntry, encodeEntry } from './entry.ts';
`;

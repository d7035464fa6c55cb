import { decodeInputs, decodeRecord } from '../../../src/log/decode-record.ts';
import { recordHeaderBytes } from '../../../src/log/record.ts';
import { recordLengths } from '../../../src/shared-log/check-records.ts';
import { Tail } from '../../../src/shared-log/tail.ts';
import type { Acknowledged } from './cluster-run.ts';
import type { SimulatedHost } from './simulated-host.ts';

export interface Violation {
  readonly kind:
    | 'broken log'
    | 'lost'
    | 'twice'
    | 'wrong term'
    | 'stale read'
    | 'not a prefix'
    | 'crash'
    | 'failed host'
    | 'not live'
    | 'not converged';
  readonly text: string;
}

export interface FinalCommit {
  readonly call: string;
  readonly term: number;
  readonly chain: bigint;
}

export type FinalLog =
  | {
      readonly kind: 'whole';
      /** By offset, from 1. */
      readonly commits: readonly (FinalCommit | undefined)[];
      readonly termCount: number;
    }
  | { readonly kind: 'broken'; readonly reason: string };

/** What is in acknowledged history in the end, read as every host reads it. */
export function finalLogOf(entries: readonly Uint8Array[]): FinalLog {
  const tail = new Tail();
  const commits: (FinalCommit | undefined)[] = [undefined];
  for (const [seq, bytes] of entries.entries()) {
    const step = tail.accept({ seq, bytes });
    if (step.kind === 'fault') return { kind: 'broken', reason: `${seq}: ${step.fault.reason}` };
    if (step.kind !== 'records') continue;
    const found = callsIn(step.records);
    found.forEach((call, at) => {
      const chain = at === found.length - 1 ? step.end.chain : chainBehind(step.records, at);
      commits.push({ call, term: tail.term, chain });
    });
  }
  return { kind: 'whole', commits, termCount: tail.term };
}

function callsIn(records: Uint8Array): string[] {
  const calls: string[] = [];
  let at = 0;
  for (const length of recordLengths(records)) {
    const view = new DataView(records.buffer, records.byteOffset + at, recordHeaderBytes);
    const start = at + recordHeaderBytes;
    const payloadBytes = view.getUint32(0, true);
    const record = decodeRecord(1, view.getUint32(8, true), records, start, start + payloadBytes);
    if (record?.kind === 'commit') calls.push(decodeInputs(record.inputs).reducer);
    at += length;
  }
  return calls;
}

/** The chain hash behind record `index`, which the next one holds. */
function chainBehind(records: Uint8Array, index: number): bigint {
  const lengths = recordLengths(records).slice(0, index + 1);
  const at = lengths.reduce((sum, length) => sum + length, 0);
  return new DataView(records.buffer, records.byteOffset + at).getBigUint64(24, true);
}

export interface Outcome {
  readonly final: FinalLog;
  readonly acknowledged: readonly Acknowledged[];
  readonly shown: readonly { host: string; offset: number; chain: bigint }[];
  readonly hosts: readonly SimulatedHost[];
  /** True if hosts may refuse to serve, because the engine lied. */
  readonly mayRefuse: boolean;
  /** True if a call that began after everything had healed was acknowledged. */
  readonly isLive: boolean;
}

export function violationsOf(outcome: Outcome): Violation[] {
  const { final } = outcome;
  if (final.kind === 'broken') return [{ kind: 'broken log', text: final.reason }];
  const isServing = outcome.isLive || !outcome.mayRefuse;
  return [
    ...(isServing ? lostIn(outcome, final.commits) : lostEverywhere(outcome, final.commits)),
    ...twiceIn(final.commits),
    ...(isServing ? unlikePrefix(outcome, final.commits) : []),
    ...(outcome.mayRefuse ? [] : unwell(outcome, final.commits)),
  ];
}

/** Each acknowledged call is in the log, at its offset, in an entry of the term that said so. */
function lostIn(
  { acknowledged, mayRefuse }: Outcome,
  commits: readonly (FinalCommit | undefined)[],
): Violation[] {
  const violations: Violation[] = [];
  for (const { call, offset, term } of acknowledged) {
    const found = commits[offset];
    if (found?.call !== call) {
      const text = `${call} was acknowledged at ${offset}, where ${found?.call ?? 'nothing'} is`;
      violations.push({ kind: 'lost', text });
    } else if (found.term !== term && !mayRefuse) {
      // What an engine lost that lied, a new term may bring back.
      const text = `${call} was acknowledged in term ${term}, and is of term ${found.term}`;
      violations.push({ kind: 'wrong term', text });
    }
  }
  return violations;
}

/** Nothing is served: then each acknowledged call is in the log, or in the folder of a host. */
function lostEverywhere(
  { acknowledged, hosts }: Outcome,
  commits: readonly (FinalCommit | undefined)[],
): Violation[] {
  const held = new Set(commits.map((commit) => commit?.call));
  for (const { folder } of hosts) {
    for (const { bytes } of [...folder.records, ...folder.aside]) held.add(callsIn(bytes)[0]);
  }
  return acknowledged
    .filter(({ call }) => !held.has(call))
    .map(({ call }) => ({ kind: 'lost', text: `${call} is nowhere` }));
}

function twiceIn(commits: readonly (FinalCommit | undefined)[]): Violation[] {
  const seen = new Set<string>();
  const violations: Violation[] = [];
  for (const commit of commits) {
    if (commit === undefined) continue;
    if (seen.has(commit.call)) {
      violations.push({ kind: 'twice', text: `${commit.call} is in the log twice` });
    }
    seen.add(commit.call);
  }
  return violations;
}

/** What a host has shown to subscribers is a prefix of the one history, and never shrank. */
function unlikePrefix(
  { shown }: Outcome,
  commits: readonly (FinalCommit | undefined)[],
): Violation[] {
  return shown
    .filter(({ offset, chain }) => commits[offset]?.chain !== chain)
    .map(({ host, offset }) => {
      return { kind: 'not a prefix', text: `${host} showed another commit ${offset}` };
    });
}

function unwell(
  { hosts, isLive }: Outcome,
  commits: readonly (FinalCommit | undefined)[],
): Violation[] {
  const violations: Violation[] = [];
  if (!isLive) violations.push({ kind: 'not live', text: 'no call was acknowledged at the end' });
  for (const { client, member, folder } of hosts) {
    if (member?.state.kind === 'failed') {
      violations.push({ kind: 'failed host', text: `${client}: ${member.state.reason}` });
    }
    const { end } = folder;
    const isSame = end.offset === commits.length - 1 && commits[end.offset]?.chain === end.chain;
    if (!isSame && commits.length > 1) {
      const text = `${client} ends with commit ${end.offset} of ${commits.length - 1}`;
      violations.push({ kind: 'not converged', text });
    }
  }
  return violations;
}

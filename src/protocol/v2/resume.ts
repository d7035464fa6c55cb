/**
 * The two messages that only our own subprotocol has, `v3.bsatn.reducerdb`. They are apart from the
 * others: a client needs them first when it comes back.
 */
import { resumeSetsMax } from '../../shared-limits.ts';
import { type BinaryReader, DecodeError } from '../../values/binary-reader.ts';
import {
  encodedBy,
  type MessageArm,
  readCount,
  readItems,
  readList,
  readQueries,
  readString,
  writeList,
  writeString,
} from '../message-parts.ts';
import type { Subscribe } from './client-message.ts';

/** The query sets of a client that was here before. Without sets it asks where it is. */
export interface Resume {
  readonly kind: 'resume';
  readonly requestId: number;
  /** From `Resumed`, 128 bits; 0n: the client was not here before. */
  readonly history: bigint;
  /** From the last frame that it has applied as a whole. */
  readonly offset: bigint;
  readonly sets: readonly ResumeSet[];
}

export type ResumeSet = Pick<Subscribe, 'querySetId' | 'queries'>;

/** Answers `Resume`. */
export interface Resumed {
  readonly kind: 'resumed';
  readonly requestId: number;
  /**
   * 0: all sets go on, and what the client has missed follows. 1: none of them exist, subscribe
   * again. 2: neither, and commits that the client has seen are not in the history of the database.
   */
  readonly outcome: number;
  /** For the next `Resume`. */
  readonly history: bigint;
  /** Addresses of the hosts of a cluster, at most `hostsToldMax`. */
  readonly hosts: readonly string[];
}

const resumeTag = 5;
const resumedTag = 8;

export function encodeResume({ requestId, history, offset, sets }: Resume): Uint8Array {
  return encodedBy((writer) => {
    writer.u8(resumeTag);
    writer.u32(requestId);
    writer.u128(history);
    writer.u64(offset);
    writeList(writer, sets, (_, { querySetId, queries }) => {
      writer.u32(querySetId);
      writeList(writer, queries, writeString);
    });
  });
}

/** Behind the messages of version 2; its place is its tag. */
export const resumeArm: MessageArm<Resume> = { name: 'Resume', read: readResume };

function readResume(reader: BinaryReader): Resume {
  const requestId = reader.u32();
  const history = reader.u128();
  const offset = reader.u64();
  const count = readCount(reader, 8);
  if (count > resumeSetsMax) {
    throw new DecodeError(`${count} query sets exceed the ${resumeSetsMax} of one client`);
  }
  const sets = readItems(reader, count, readResumeSet);
  return { kind: 'resume', requestId, history, offset, sets };
}

function readResumeSet(reader: BinaryReader): ResumeSet {
  return { querySetId: reader.u32(), queries: readQueries(reader) };
}

export function encodeResumed({ requestId, outcome, history, hosts }: Resumed): Uint8Array {
  return encodedBy((writer) => {
    writer.u8(resumedTag);
    writer.u32(requestId);
    writer.u8(outcome);
    writer.u128(history);
    writeList(writer, hosts, writeString);
  });
}

/** Behind the messages of version 2; its place is its tag. */
export const resumedArm: MessageArm<Resumed> = { name: 'Resumed', read: readResumed };

function readResumed(reader: BinaryReader): Resumed {
  const requestId = reader.u32();
  const outcome = reader.u8();
  const history = reader.u128();
  return { kind: 'resumed', requestId, outcome, history, hosts: readList(reader, 4, readString) };
}

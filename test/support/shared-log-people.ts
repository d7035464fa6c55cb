import { epoch } from '../../src/log/epoch.ts';
import type { LogPoint } from '../../src/log/log-point.ts';
import type { LogWrite } from '../../src/log/replicated-write.ts';
import { encodeSegmentHeader } from '../../src/log/segment.ts';
import { type Entry, encodeEntry, entryKinds } from '../../src/shared-log/entry.ts';
import { encodeBeginning, encodeLead, type Lead } from '../../src/shared-log/entry-payloads.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import type { RecordsDraft } from '../../src/shared-log/log-write.ts';
import type { StoredEntry } from '../../src/shared-log/shared-log.ts';
import type { Tail } from '../../src/shared-log/tail.ts';
import { databaseIdentity, ownerIdentity } from '../../src/values/identity-roles.ts';

/** Entry 0 of a log with that salt. */
export function beginningOf(salt: number): StoredEntry {
  const segmentHeader = encodeSegmentHeader({
    ...{ salt, databaseIdentity: databaseIdentity(9n), sequence: 1, firstOffset: 1, position: 0 },
    ...{ durablePosition: 0, chainLow: salt, chainHigh: ~salt, epoch: epoch(3n), lastMicros: 0n },
    ...{ hasMark: true, isAfterOrigin: false, hasRuns: false },
  });
  const chain = BigInt.asUintN(64, (BigInt(~salt >>> 0) << 32n) | BigInt(salt >>> 0));
  const payload = encodeBeginning({
    ...{ segmentHeader, owner: ownerIdentity(4n), generation: 1, origin: new Uint8Array(0) },
  });
  const bytes = encodeEntry({
    ...{ kind: entryKinds.beginning, seq: 0, term: 0, boot: bootId(0n), position: 0, chain },
    ...{ offset: 0, chainAfter: chain, acknowledged: 0, startsSegment: false, payload },
  });
  return { seq: 0, bytes };
}

/** A host that writes entries by hand, right ones and wrong ones. */
export class ClusterPerson {
  readonly lead: Lead;

  constructor(number: bigint, run = 1n) {
    this.lead = {
      host: hostId(number),
      boot: bootId(number * 1000n + run),
      name: `host-${number}`,
      address: `10.0.0.${number}:3001`,
      history: 'memory:simulated:1',
      format: 1,
    };
  }

  get leadBytes(): Uint8Array {
    return encodeLead(this.lead);
  }

  term(tail: Tail, more: Partial<Entry> = {}): StoredEntry {
    const term = tail.term + 1;
    return this.made(tail, { kind: entryKinds.term, term, payload: this.leadBytes, ...more });
  }

  empty(tail: Tail, acknowledged = 0): StoredEntry {
    return this.made(tail, { kind: entryKinds.empty, acknowledged });
  }

  records(tail: Tail, { records, end }: LogWrite): StoredEntry {
    return this.made(tail, { payload: records, end });
  }

  draft(tail: Tail, { kind, payload, startsSegment, end }: RecordsDraft): StoredEntry {
    return this.made(tail, { kind, payload, startsSegment, end });
  }

  made(tail: Tail, more: Partial<Entry> & { readonly end?: LogPoint }): StoredEntry {
    const { end = tail.point, ...given } = more;
    const entry: Entry = {
      ...{ kind: entryKinds.records, seq: tail.next, term: tail.term, boot: this.lead.boot },
      ...{ position: tail.point.position, chain: tail.point.chain, offset: end.offset },
      ...{ chainAfter: end.chain, acknowledged: 0, startsSegment: false },
      payload: new Uint8Array(0),
      ...given,
    };
    return { seq: tail.next, bytes: encodeEntry(entry) };
  }
}

import { describe, expect, it } from 'vitest';
import type { LiveCommit } from '../../database/live/live-commit.ts';
import { querySetId } from '../../database/live/set-id.ts';
import type { ListedSchedule } from '../../database/schedules/schedule-ask.ts';
import { ticketNumber } from '../../database/ticket.ts';
import type { TrialReport } from '../../database/trial-report.ts';
import type {
  DatabaseReply,
  DatabaseRequest,
  TicketedRequest,
  TurnReport,
} from '../../database/turn.ts';
import { writeNumber } from '../../database/write-number.ts';
import type { QueryRows } from '../../live/live-update.ts';
import { emptyRowSet, type RowSet } from '../../live/row-set.ts';
import { tableId } from '../../schema/ids.ts';
import { ownerRights, strangerRights } from '../../sql/rights.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { type Batch, buffersOf } from './worker-messages.ts';
import { decodeTurn, encodeTurn } from './worker-outcomes.ts';
import { encodeRequests, RequestReader } from './worker-requests.ts';

const ada = {
  identity: callerIdentity(2n ** 255n + 3n),
  rights: ownerRights,
  jwtPayload: '{"sub":"ädä"}',
};
const bob = {
  identity: callerIdentity(5n),
  rights: strangerRights,
  jwtPayload: '',
  isAnonymous: true,
};
const narrow = { tables: new Set(['a', 'ä']), reducers: new Set<string>(), rowsMax: 3 };
const eve = { ...bob, rights: { ...strangerRights, ...narrow, previews: true, isReadOnly: true } };
const open = { kind: 'open', id: connectionNumber(2n ** 127n) } as const;
const temporary = { kind: 'temporary', id: connectionNumber(9n) } as const;
const call = { reducer: 'add', schemaVersion: 2 ** 40, confirmed: true };
const noVersion = { schemaVersion: undefined, args: Uint8Array.of() };
const permission = { policy: 'breakClients', token: '0x1' } as const;

const trialReport: TrialReport = {
  tables: [
    {
      ...{ before: 't', after: undefined, rowsBefore: 2, rowsAfter: 0 },
      samples: [{ before: Uint8Array.of(1), after: [{ table: 'u', row: Uint8Array.of(2) }] }],
    },
  ],
  conflicts: [],
  sampledTo: 1,
  assertions: [{ migration: '0001-a', text: 'b', holds: false }],
  ...{ failure: 'c', clients: 2, memoryBytes: 3, millis: 4, isOnline: true },
  back: {
    ...{ tables: [], conflicts: [], sampledTo: -1, assertions: [], millis: 5 },
    ...{
      isTried: true,
      migrations: ['0001-a'],
      failure: undefined,
      changed: [{ table: 't', rows: 2 }],
    },
  },
};

function requestsIn(batch: Batch): TicketedRequest[] {
  const reader = new RequestReader(batch);
  return Array.from({ length: reader.remaining }, () => reader.next());
}

describe('a batch of requests', () => {
  it('takes nothing away from them: they may be sent again', () => {
    // As HTTP request bodies arrive: the `slice` of such a buffer is not a copy.
    const bytes = Buffer.from(Uint8Array.of(7, 8, 9).buffer);
    const update = { kind: 'update', program: { kind: 'js', bytes }, permission } as const;
    const fresh: DatabaseRequest[] = [
      update,
      { kind: 'call', call: { ...call, caller: ada, connection: open, args: Buffer.from('a') } },
    ];
    const sent = fresh.map((request, at) => ({
      ticket: ticketNumber(at),
      request,
      acceptedMicros: 0n,
    }));
    for (const _ of Array(2)) {
      const batch = encodeRequests(sent);
      const taken = structuredClone(batch, { transfer: buffersOf(batch) });
      const [first, second] = requestsIn(taken).map(({ request }) => request);
      expect(first).toMatchObject({ program: { bytes: Uint8Array.of(7, 8, 9) } });
      expect(second).toMatchObject({ call: { args: Uint8Array.of(97) } });
    }
  });

  const requests: DatabaseRequest[] = [
    { kind: 'call', call: { ...call, caller: ada, connection: open, args: Uint8Array.of(1, 2) } },
    { kind: 'call', call: { ...call, caller: ada, connection: open, args: Uint8Array.of(3) } },
    {
      kind: 'call',
      call: { ...call, reducer: 'ädd', caller: ada, connection: open, args: Uint8Array.of() },
    },
    { kind: 'call', call: { ...call, caller: bob, connection: temporary, args: { fault: 'no' } } },
    { kind: 'call', call: { ...call, caller: bob, connection: open, args: { fault: 'no' } } },
    {
      kind: 'query',
      query: { caller: ada, connection: temporary, sql: 'SELECT 1', confirmed: false },
    },
    {
      kind: 'query',
      query: {
        caller: ada,
        connection: temporary,
        sql: 'SELECT $1',
        parameters: new Map([['1', 'ä']]),
        millisMax: 1.5,
        confirmed: true,
      },
    },
    { kind: 'tables', caller: eve },
    { kind: 'export', caller: eve, ask: { kind: 'begin', tables: ['ä'] } },
    { kind: 'export', caller: ada, ask: { kind: 'read', id: 7 } },
    {
      kind: 'import',
      batch: {
        ...{ caller: ada, table: 'ä', schemaVersion: 2 ** 40, mode: 'upsert', importId: 'one' },
        ...{ batch: 3, rows: Uint8Array.of(1, 2), count: 2, skippedMax: 10_000 },
      },
    },
    {
      kind: 'preview',
      preview: {
        work: { kind: 'call', call: { ...call, ...noVersion, caller: eve, connection: open } },
        rowsMax: 5,
      },
    },
    {
      kind: 'preview',
      preview: {
        work: {
          kind: 'query',
          query: { caller: ada, connection: temporary, sql: 'DELETE', confirmed: true },
        },
        apply: { entropy: Uint8Array.of(1), timestampMicros: -1n, digest: Uint8Array.of(2) },
      },
    },
    { kind: 'connect', caller: bob, connectionId: connectionNumber(3n) },
    {
      ...{ kind: 'connect', caller: bob, connectionId: connectionNumber(3n) },
      stays: 'announced',
    },
    { kind: 'connect', caller: bob, connectionId: connectionNumber(3n), stays: 'perhaps' },
    { kind: 'disconnect', connectionId: connectionNumber(3n) },
    { kind: 'call', call: { ...call, ...noVersion, caller: ada, connection: open } },
    {
      kind: 'subscribe',
      connection: { caller: bob, connectionId: connectionNumber(3n), dialect: 'subscription' },
      subscribe: {
        setId: querySetId(2 ** 32 + 1),
        queries: ['SELECT * FROM ä', ''],
        knowsEvents: false,
      },
    },
    {
      kind: 'resume',
      connection: { caller: bob, connectionId: connectionNumber(3n), dialect: 'full' },
      resume: {
        ...{ history: 2n ** 128n - 1n, offset: 2n ** 64n - 1n, confirmed: true },
        sets: [
          { setId: querySetId(2 ** 32 - 1), queries: ['SELECT * FROM ä', ''] },
          { setId: querySetId(0), queries: [] },
        ],
      },
    },
    {
      kind: 'unsubscribe',
      connectionId: connectionNumber(3n),
      unsubscribe: { setId: querySetId(0), withRows: true },
    },
    {
      kind: 'oneOff',
      connection: { caller: ada, connectionId: connectionNumber(3n), dialect: 'full' },
      oneOff: { sql: 'SELECT' },
    },
    { kind: 'schedules', caller: eve, ask: { kind: 'list' } },
    { kind: 'schedules', caller: ada, ask: { kind: 'run', name: 'jöbs', rowKey: 2n ** 64n - 1n } },
    { kind: 'schedules', caller: ada, ask: { kind: 'pause' } },
    {
      kind: 'procedure',
      procedure: {
        ...{ caller: ada, connection: temporary, procedure: 'näher', args: Uint8Array.of(1, 2) },
        ...{ schemaVersion: 2 ** 40, confirmed: true },
      },
    },
    {
      kind: 'procedure',
      procedure: {
        ...{ caller: eve, connection: open, procedure: '', args: { fault: 'ü' } },
        ...{ schemaVersion: undefined, confirmed: false },
      },
    },
    {
      kind: 'handler',
      handler: {
        ...{ caller: ada, handler: 'bräd', head: Uint8Array.of(1, 2), body: new Uint8Array(9_000) },
        ...{ params: [['id', 'ü'] as const, ['*', ''] as const], client: '2001:db8::/64' },
        ...{ schemaVersion: 2 ** 40, confirmed: true },
      },
    },
    {
      kind: 'handler',
      handler: {
        ...{ caller: eve, handler: '', head: new Uint8Array(0), body: new Uint8Array(0) },
        ...{ params: [], client: '', schemaVersion: 0, confirmed: false },
      },
    },
    { kind: 'cancel', of: ticketNumber(2 ** 40), why: 'gone' },
    { kind: 'cancel', of: ticketNumber(1), why: 'stop' },
    { kind: 'program' },
    { kind: 'update', program: { kind: 'js', bytes: Uint8Array.of(7) }, permission },
    { kind: 'update', program: { kind: 'js', bytes: Uint8Array.of(8) }, permission, isTrial: true },
  ];

  it('is the same on the other side, after its buffers changed hands', () => {
    const ticketed = requests.map((request, at) => ({
      ticket: ticketNumber(2 ** 33 + at),
      request,
      acceptedMicros: -5n + BigInt(at),
    }));
    const batch = encodeRequests(ticketed);
    const moved = structuredClone(batch, { transfer: buffersOf(batch) });
    expect(requestsIn(moved)).toEqual(ticketed);
  });

  it('leaves the sender its program, which it may send again', () => {
    const bytes = Uint8Array.of(7);
    const request = { kind: 'update', program: { kind: 'js', bytes }, permission } as const;
    const batch = encodeRequests([{ ticket: ticketNumber(1), request, acceptedMicros: 0n }]);
    structuredClone(batch, { transfer: buffersOf(batch) });
    expect(bytes).toEqual(Uint8Array.of(7));
  });
});

describe('the outcomes of a turn', () => {
  const offset = commitOffset(2 ** 40);
  const few: RowSet = { kind: 'fixedSize', rowBytes: 2, data: Uint8Array.of(1, 2, 3, 4) };
  const uneven: RowSet = {
    kind: 'offsets',
    starts: Uint32Array.of(0, 1),
    data: Uint8Array.of(1, 2, 3),
  };
  const manyRows = (): RowSet => ({
    kind: 'fixedSize',
    rowBytes: 4_500,
    data: new Uint8Array(9_000).fill(5),
  });
  const queries = (): QueryRows[] => [
    {
      query: 2 ** 34,
      table: 't',
      tableId: tableId(9),
      isEvent: false,
      fragments: [few, manyRows()],
    },
    {
      ...{ query: 2, table: 'u', tableId: tableId(10), isEvent: true },
      ...{ reads: ['u', 'v'], fragments: [] },
    },
  ];
  const commits = (): LiveCommit[] => [
    {
      kind: 'committed',
      offset,
      timestampMicros: -3n,
      caller: ticketNumber(2 ** 35),
      updates: [
        {
          query: 1,
          table: 't',
          tableId: tableId(9),
          changes: [
            { kind: 'persistent', inserts: uneven, deletes: emptyRowSet },
            { kind: 'event', events: manyRows() },
          ],
        },
      ],
      failures: [{ query: 7, error: 'gone' }],
      resultsBefore: 1,
    },
    {
      kind: 'committed',
      offset,
      timestampMicros: 0n,
      caller: undefined,
      updates: [],
      failures: [],
      resultsBefore: 2,
    },
  ];

  it('[ease 3.10] have changes that several queries share once, and share them again', () => {
    const [first] = commits();
    const update = first?.updates[0] ?? expect.fail('an update');
    const updates = [update, { ...update, query: 2 }, { ...update, changes: [...update.changes] }];
    const turn: TurnReport = {
      results: [],
      commits: [{ ...(first ?? expect.fail('a commit')), updates }],
      write: writeNumber(1),
      isDurable: false,
      offset,
      nextDueMicros: undefined,
    };
    const batch = encodeTurn(turn);
    const decoded = decodeTurn(structuredClone(batch, { transfer: buffersOf(batch) }));
    const [one, two, three] = decoded.commits[0]?.updates ?? [];
    expect(two?.changes).toBe(one?.changes);
    expect(three?.changes).not.toBe(one?.changes);
    expect([one, two, three].map((each) => each?.query)).toEqual([1, 2, 1]);
    expect(three?.changes).toEqual(one?.changes);
  });

  const result = {
    kind: 'result',
    columns: [{ name: 'a', type: { kind: 'u32' } }],
    types: { types: [{ kind: 'string' }] },
    rows: new Uint8Array(0),
    rowCount: 0,
    inserted: 1,
    deleted: 2,
    updated: 3,
    offset: commitOffset(2 ** 40),
    micros: 12,
  } as const;
  const listed: ListedSchedule = {
    name: 'jöbs',
    tableName: 'jöbs',
    functionName: 'run_job',
    target: 'reducer',
    catchUp: 'skip',
    expression: undefined,
    timeZone: undefined,
    state: 'retrying',
    rowKey: 2n ** 64n - 1n,
    armedRows: 3,
    nextDueMicros: -5n,
    lastDueMicros: 2n ** 53n,
    lastRunMicros: 2n ** 53n + 1n,
    lastOutcome: 'failed',
    lastError: 'ü',
    runs: 2 ** 40,
    failures: 1,
    latenessP50Micros: 7n,
    latenessP99Micros: undefined,
  };
  const ofCron = { tableName: undefined, expression: '0 3 * * *', timeZone: 'Europe/Berlin' };
  const replies = (): DatabaseReply[] => [
    { kind: 'called', outcome: { kind: 'committed', offset: commitOffset(8), micros: 3 } },
    {
      kind: 'called',
      outcome: { kind: 'aborted', error: { code: 'reducer.refused', message: 'ü' }, micros: 4 },
    },
    {
      kind: 'called',
      outcome: { kind: 'committed', offset, value: Uint8Array.of(1, 2, 3), micros: 5 },
    },
    {
      kind: 'called',
      outcome: { kind: 'committed', offset, value: new Uint8Array(0), rows: 2 ** 33, micros: 5 },
    },
    { kind: 'called', outcome: { kind: 'committed', offset, rows: 1, micros: 5 } },
    {
      kind: 'resumed',
      outcome: {
        ...{ kind: 'resumed', history: 2n ** 128n - 1n, offset, micros: 7 },
        sets: [{ setId: querySetId(3), queries: [1, 2 ** 40] }],
        missed: [missedCommit(4), missedCommit(6)],
      },
    },
    {
      kind: 'resumed',
      outcome: { kind: 'rewound', history: 0n, offset, sets: [], missed: [], micros: 0 },
    },
    {
      kind: 'called',
      outcome: {
        kind: 'aborted',
        error: { code: 'reducer.refusedWithValue', message: 'ü', value: Uint8Array.of(7) },
        micros: 6,
      },
    },
    { kind: 'queried', outcome: result },
    { kind: 'queried', outcome: { ...result, rows: Uint8Array.of(1), rowCount: 1 } },
    { kind: 'queried', outcome: { ...result, tables: ['a', 'ü'] } },
    { kind: 'queried', outcome: { ...result, rows: new Uint8Array(5_000).fill(3), rowCount: 2 } },
    {
      kind: 'queried',
      outcome: {
        kind: 'failed',
        error: { code: 'sql.noTable', table: 't', message: 'm' },
        micros: 1,
      },
    },
    {
      kind: 'procedure',
      outcome: {
        ...{ kind: 'returned', value: Uint8Array.of(1, 2), timestampMicros: 2n ** 60n },
        committed: { offset, rows: 3 },
        micros: 7,
      },
    },
    {
      kind: 'procedure',
      outcome: {
        kind: 'failed',
        error: { code: 'procedure.busy', message: 'ü', of: 'caller' },
        micros: 0,
      },
    },
    {
      kind: 'handler',
      outcome: {
        kind: 'answered',
        response: {
          headers: [{ name: 'x', value: Uint8Array.of(97) }],
          version: 'HTTP/1.1' as const,
          code: 404,
        },
        body: new Uint8Array(9_000).fill(5),
        micros: 8,
      },
    },
    {
      kind: 'handler',
      outcome: { kind: 'failed', error: { code: 'procedure.failed', message: 'ü' }, micros: 1 },
    },
    { kind: 'cancelled' },
    { kind: 'tables', tables: [] },
    {
      kind: 'schedules',
      outcome: { kind: 'listed', schedules: [listed, { ...listed, ...ofCron }] },
    },
    { kind: 'schedules', outcome: { kind: 'applied', names: ['jöbs', 'nightly'] } },
    { kind: 'schedules', outcome: { kind: 'unknown' } },
    { kind: 'exported', outcome: { kind: 'ended' } },
    {
      kind: 'exported',
      outcome: { kind: 'rows', table: 3, rows: Uint8Array.of(7), count: 1, isLast: true },
    },
    { kind: 'imported', outcome: { kind: 'there', offset } },
    { kind: 'previewed', outcome: { kind: 'overBudget', message: 'ü', micros: 2 } },
    {
      kind: 'previewed',
      outcome: {
        kind: 'applied',
        preview: {
          result: { kind: 'returned', value: Uint8Array.of(4) },
          changes: [],
          isComplete: false,
          lines: [{ level: 'info', message: 'ü' }],
          droppedLines: 2 ** 33,
          offset,
          key: { entropy: Uint8Array.of(1), timestampMicros: 5n, digest: Uint8Array.of(2) },
        },
        offset,
        micros: 3,
      },
    },
    { kind: 'connected', refusal: undefined },
    { kind: 'connected', refusal: 'no' },
    { kind: 'disconnected' },
    { kind: 'subscribed', outcome: { kind: 'applied', offset, queries: queries(), micros: 3 } },
    { kind: 'subscribed', outcome: { kind: 'refused', error: 'e', micros: 4 } },
    { kind: 'unsubscribed', outcome: { kind: 'removed', offset, queries: queries(), micros: 5 } },
    { kind: 'unsubscribed', outcome: { kind: 'removed', offset, queries: undefined, micros: 5 } },
    { kind: 'unsubscribed', outcome: { kind: 'refused', error: 'f', micros: 6 } },
    {
      kind: 'oneOff',
      outcome: {
        kind: 'rows',
        offset,
        table: 't',
        tableId: tableId(9),
        reads: ['t'],
        rows: manyRows(),
        micros: 7,
      },
    },
    { kind: 'oneOff', outcome: { kind: 'failed', error: 'g', micros: 8 } },
    { kind: 'program', program: { kind: 'wasm', bytes: Uint8Array.of(1) } },
    { kind: 'refused', body: { code: 'migration.failed', message: 'm' } },
    { kind: 'migrating', progress: { table: 't', done: 1, total: 2 } },
    { kind: 'tried', report: trialReport },
  ];

  it.each([undefined, 0n, -(2n ** 63n), 2n ** 63n - 1n])(
    'are the same on the other side, after their buffers changed hands (due %s)',
    (due) => {
      const turn = () => ({
        results: replies().map((reply, at) => ({ ticket: ticketNumber(2 ** 35 + at), reply })),
        commits: commits(),
        write: writeNumber(17),
        isDurable: true,
        offset: commitOffset(2 ** 41),
        nextDueMicros: due,
      });
      const batch = encodeTurn(turn());
      const moved = structuredClone(batch, { transfer: buffersOf(batch) });
      expect(decodeTurn(moved)).toEqual(turn());
    },
  );

  it('[ease 4.10] carry runs of schedules', () => {
    const turn = {
      ...{ results: [], commits: [], write: writeNumber(3), isDurable: true, offset },
      nextDueMicros: undefined,
      runs: [
        { functionName: 'jöb', hasFailed: false, startMicros: 5, count: 2, rows: 7, offset: 9 },
        {
          ...{ functionName: 'jöb', hasFailed: true, startMicros: -1, count: 1 },
          ...{ rows: undefined, offset: undefined },
        },
      ],
    };
    expect(decodeTurn(encodeTurn(turn))).toEqual(turn);
    for (const count of [-1, 0.5, Number.NaN]) {
      const runs = turn.runs.map((one) => ({ ...one, count }));
      expect(() => decodeTurn(encodeTurn({ ...turn, runs }))).toThrow('runs of a schedule have');
    }
  });

  it('carry rows that several have once', () => {
    const many = manyRows();
    const query = { query: 1, table: 't', tableId: tableId(9), isEvent: false, fragments: [many] };
    const outcome = { kind: 'applied', offset, queries: [query, query], micros: 0 } as const;
    const results = [1, 2].map((raw) => {
      return { ticket: ticketNumber(raw), reply: { kind: 'subscribed', outcome } as const };
    });
    const expected = structuredClone(results);
    const batch = encodeTurn({
      results,
      commits: [],
      write: writeNumber(1),
      isDurable: false,
      offset,
      nextDueMicros: undefined,
    });
    expect(batch.blobs).toHaveLength(1);
    const moved = structuredClone(batch, { transfer: buffersOf(batch) });
    expect(decodeTurn(moved).results).toEqual(expected);
  });

  it('keep the buffers that rows are a part of', () => {
    const rows = new Uint8Array(10_000).subarray(0, 5_000);
    const reply = { kind: 'queried', outcome: { ...result, rows } } as const;
    const results = [{ ticket: ticketNumber(1), reply }];
    const turn = {
      results,
      commits: [],
      write: writeNumber(1),
      isDurable: true,
      offset: commitOffset(1),
      nextDueMicros: undefined,
    };
    const batch = encodeTurn(turn);
    structuredClone(batch, { transfer: buffersOf(batch) });
    expect(rows).toHaveLength(5_000);
  });
});

/** What a client that comes back has missed: one row, too large for the buffer of the turn. */
function missedCommit(offset: number): LiveCommit {
  const inserts = { kind: 'fixedSize', rowBytes: 5_000, data: new Uint8Array(5_000) } as const;
  const deletes = { kind: 'offsets', starts: new Uint32Array(0), data: new Uint8Array(0) } as const;
  const changes = [{ kind: 'persistent', inserts, deletes }] as const;
  return {
    ...{ kind: 'committed', offset: commitOffset(offset), timestampMicros: 0n },
    ...{ caller: undefined, failures: [], resultsBefore: 0 },
    updates: [{ query: 1, table: 'missed', tableId: tableId(11), changes }],
  };
}

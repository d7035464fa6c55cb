/** Random messages of both protocols, for property tests. */
import fc from 'fast-check';
import { type RowList, rowListOf } from '../../src/protocol/row-list.ts';
import type * as v1Client from '../../src/protocol/v1/client-message.ts';
import type * as v1Server from '../../src/protocol/v1/server-message.ts';
import type * as v2Client from '../../src/protocol/v2/client-message.ts';
import type * as v2Server from '../../src/protocol/v2/server-message.ts';

const u32 = fc.oneof(fc.nat({ max: 0xffff_ffff }), fc.constantFrom(0, 1, 0xffff_ffff));
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const i64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const u128 = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
const u256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const bytes = fc.uint8Array({ maxLength: 12 });
const list = <Item>(item: fc.Arbitrary<Item>) => fc.array(item, { maxLength: 4 });
const optional = <Item>(item: fc.Arbitrary<Item>) => fc.option(item, { nil: undefined });
const kind = <Kind extends string>(name: Kind) => fc.constant(name);

const rows: fc.Arbitrary<RowList> = fc
  .oneof(
    list(bytes),
    fc.nat({ max: 9 }).chain((size) => list(fc.uint8Array({ minLength: size, maxLength: size }))),
  )
  .map(rowListOf);

export const v2ClientMessages: fc.Arbitrary<v2Client.ClientMessage> = fc.oneof(
  fc.record({
    kind: kind('subscribe'),
    requestId: u32,
    querySetId: u32,
    queries: list(text),
  }),
  fc.record({
    kind: kind('unsubscribe'),
    requestId: u32,
    querySetId: u32,
    sendDroppedRows: fc.boolean(),
  }),
  fc.record({ kind: kind('oneOffQuery'), requestId: u32, query: text }),
  fc.record({ kind: kind('callReducer'), requestId: u32, reducer: text, args: bytes }),
  fc.record({ kind: kind('callProcedure'), requestId: u32, procedure: text, args: bytes }),
);

export const v2Changes: fc.Arbitrary<v2Server.TableUpdateRows> = fc.oneof(
  fc.record({ kind: kind('persistent'), inserts: rows, deletes: rows }),
  fc.record({ kind: kind('event'), events: rows }),
);
const tables = list(fc.record({ table: text, rows }));

export const v2QuerySets: fc.Arbitrary<v2Server.QuerySetUpdate[]> = list(
  fc.record({
    querySetId: u32,
    tables: list(fc.record({ table: text, changes: list(v2Changes) })),
  }),
);

export const v2ServerMessages: fc.Arbitrary<v2Server.ServerMessage> = fc.oneof(
  fc.record({
    kind: kind('initialConnection'),
    identity: u256,
    connectionId: u128,
    token: text,
  }),
  fc.record({ kind: kind('subscribeApplied'), requestId: u32, querySetId: u32, tables }),
  fc.record({
    kind: kind('unsubscribeApplied'),
    requestId: u32,
    querySetId: u32,
    tables: optional(tables),
  }),
  fc.record({
    kind: kind('subscriptionError'),
    requestId: optional(u32),
    querySetId: u32,
    error: text,
  }),
  fc.record({ kind: kind('transactionUpdate'), querySets: v2QuerySets }),
  fc.record({
    kind: kind('oneOffQueryResult'),
    requestId: u32,
    result: fc.oneof(
      fc.record({ kind: kind('ok'), tables }),
      fc.record({ kind: kind('err'), error: text }),
    ),
  }),
  fc.record({
    kind: kind('reducerResult'),
    requestId: u32,
    timestamp: i64,
    outcome: fc.oneof(
      fc.record({ kind: kind('ok'), returned: bytes, querySets: v2QuerySets }),
      fc.record({ kind: kind('okEmpty') }),
      fc.record({ kind: kind('err'), error: bytes }),
      fc.record({ kind: kind('internalError'), message: text }),
    ),
  }),
  fc.record({
    kind: kind('procedureResult'),
    status: fc.oneof(
      fc.record({ kind: kind('returned'), value: bytes }),
      fc.record({ kind: kind('internalError'), message: text }),
    ),
    timestamp: i64,
    durationMicros: i64,
    requestId: u32,
  }),
);

const ids = { requestId: u32, queryId: u32 };

export const v1ClientMessages: fc.Arbitrary<v1Client.ClientMessage> = fc.oneof(
  fc.record({
    kind: kind('callReducer'),
    reducer: text,
    args: bytes,
    requestId: u32,
    notifySuccess: fc.boolean(),
  }),
  fc.record({ kind: kind('subscribe'), queries: list(text), requestId: u32 }),
  fc.record({ kind: kind('oneOffQuery'), messageId: bytes, query: text }),
  fc.record({ kind: kind('subscribeSingle'), query: text, ...ids }),
  fc.record({ kind: kind('subscribeMulti'), queries: list(text), ...ids }),
  fc.record({ kind: kind('unsubscribe'), ...ids }),
  fc.record({ kind: kind('unsubscribeMulti'), ...ids }),
  fc.record({ kind: kind('callProcedure'), procedure: text, args: bytes, requestId: u32 }),
);

const update: fc.Arbitrary<v1Server.ReceivedUpdate> = fc.oneof(
  fc.record({ kind: kind('plain'), deletes: rows, inserts: rows }),
  fc.record({
    kind: kind('compressed'),
    compression: fc.constantFrom('brotli' as const, 'gzip' as const),
    bytes,
  }),
);
const tableUpdate = fc.record({
  tableId: u32,
  table: text,
  rowCount: u64,
  updates: list(update),
});
const single = { ...ids, durationMicros: u64, rows: tableUpdate };
const multi = { ...ids, durationMicros: u64, tables: list(tableUpdate) };

export const v1ServerMessages: fc.Arbitrary<v1Server.ServerMessage> = fc.oneof(
  fc.record({
    kind: kind('initialSubscription'),
    tables: list(tableUpdate),
    requestId: u32,
    durationMicros: i64,
  }),
  fc.record({
    kind: kind('transactionUpdate'),
    status: fc.oneof(
      fc.record({ kind: kind('committed'), tables: list(tableUpdate) }),
      fc.record({ kind: kind('failed'), message: text }),
      fc.record({ kind: kind('outOfEnergy') }),
    ),
    timestamp: i64,
    callerIdentity: u256,
    callerConnectionId: u128,
    call: fc.record({ reducer: text, reducerId: u32, args: bytes, requestId: u32 }),
    energyUsed: u128,
    durationMicros: i64,
  }),
  fc.record({ kind: kind('transactionUpdateLight'), requestId: u32, tables: list(tableUpdate) }),
  fc.record({ kind: kind('identityToken'), identity: u256, token: text, connectionId: u128 }),
  fc.record({
    kind: kind('oneOffQueryResponse'),
    messageId: bytes,
    error: optional(text),
    tables,
    durationMicros: i64,
  }),
  fc.record({ kind: kind('subscribeApplied'), ...single }),
  fc.record({ kind: kind('unsubscribeApplied'), ...single }),
  fc.record({
    kind: kind('subscriptionError'),
    durationMicros: u64,
    requestId: optional(u32),
    queryId: optional(u32),
    tableId: optional(u32),
    error: text,
  }),
  fc.record({ kind: kind('subscribeMultiApplied'), ...multi }),
  fc.record({ kind: kind('unsubscribeMultiApplied'), ...multi }),
  fc.record({
    kind: kind('procedureResult'),
    status: fc.oneof(
      fc.record({ kind: kind('returned'), value: bytes }),
      fc.record({ kind: kind('outOfEnergy') }),
      fc.record({ kind: kind('internalError'), message: text }),
    ),
    timestamp: i64,
    durationMicros: i64,
    requestId: u32,
  }),
);

import {
  type ArrayColumnBuilder,
  type ConnectionId,
  type Identity,
  type IdentityBuilder,
  type Infer,
  type InferSchema,
  type InferTypeOfRow,
  type OptionColumnBuilder,
  type Random,
  type ReducerCtx,
  type RowObj,
  ScheduleAt,
  type StringBuilder,
  type StringColumnBuilder,
  SyncResponse,
  schema,
  TimeDuration,
  type Timestamp,
  t,
  table,
  type Uuid,
} from 'reducerdb/server';
import { type Equal, expectType } from './expect.ts';

// What the builders are read as.

const Effect = t.enum('Effect', { Heal: t.u16(), Stun: t.unit() });
expectType<Equal<Infer<typeof Effect>, { tag: 'Heal'; value: number } | { tag: 'Stun' }>>();
const heal: { tag: 'Heal'; value: number } = Effect.Heal(20);
const stun: { readonly tag: 'Stun' } = Effect.Stun;

const Mood = t.enum('Mood', ['Calm', 'Angry']);
expectType<Equal<Infer<typeof Mood>, { tag: 'Calm' } | { tag: 'Angry' }>>();
const calm: { readonly tag: 'Calm' } = Mood.Calm;

const Spot = t.object('Spot', { x: t.f32(), label: t.string().optional() });
expectType<Equal<Infer<typeof Spot>, { x: number; label: string | undefined }>>();

const Thread = t.object('Thread', {
  text: t.string(),
  // biome-ignore lint/suspicious/noExplicitAny: a type that contains itself needs an annotation.
  get replies(): any {
    return t.array(Thread);
  },
});
expectType<Equal<Infer<typeof Thread>['text'], string>>();

const everything = table(
  {},
  {
    bool: t.bool(),
    u8: t.u8(),
    i32: t.i32(),
    u64: t.u64(),
    i256: t.i256(),
    f64: t.number(),
    text: t.string(),
    bytes: t.byteArray(),
    list: t.array(t.string()),
    maybe: t.option(t.u32()),
    result: t.result(t.u32(), t.string()),
    unit: t.unit(),
    identity: t.identity(),
    connection: t.connectionId(),
    at: t.timestamp(),
    length: t.timeDuration(),
    id: t.uuid(),
    schedule: t.scheduleAt(),
    lazy: t.lazy(() => Spot),
    effect: Effect,
  },
);
type Row = Infer<typeof everything.rowType>;
expectType<
  Equal<
    Row,
    {
      bool: boolean;
      u8: number;
      i32: number;
      u64: bigint;
      i256: bigint;
      f64: number;
      text: string;
      bytes: Uint8Array;
      list: string[];
      maybe: number | undefined;
      result: { ok: number } | { err: string };
      unit: Record<never, never>;
      identity: Identity;
      connection: ConnectionId;
      at: Timestamp;
      length: TimeDuration;
      id: Uuid;
      schedule: ScheduleAt;
      lazy: { x: number; label: string | undefined };
      effect: { tag: 'Heal'; value: number } | { tag: 'Stun' };
    }
  >
>();
expectType<Equal<Infer<{ a: typeof Mood; b: ReturnType<typeof t.u8> }>['b'], number>>();
expectType<Equal<InferTypeOfRow<{ a: ReturnType<typeof t.bool> }>, { a: boolean }>>();
expectType<Equal<InferTypeOfRow<typeof everything.rowType.row>, Row>>();

// Annotations of columns.
const tags: ArrayColumnBuilder<StringBuilder> = t.array(t.string()).default([]).index('inverted');
const body: StringColumnBuilder = t.string().index('text', { language: 'german' }).index().unique();
const owner: OptionColumnBuilder<IdentityBuilder> = t.option(t.identity()).index();
const labelled: RowObj = { tags, owner, body };
expectType<Equal<Infer<{ tags: typeof tags }>, { tags: string[] }>>();
expectType<Equal<Infer<{ owner: typeof owner }>, { owner: Identity | undefined }>>();
export const labels: string[] = Object.keys(labelled);

// Options inside of objects can be left out where a value is written.
const lazyEntry = t.object('LazyEntry', { x: t.f32(), label: t.string().optional() });
export const filled = [lazyEntry.default({ x: 1 }), lazyEntry.default({ x: 1, label: 'b' })];

// Modifiers keep the value's type, in any order.
const columns = {
  a: t.u32().index().unique().default(3).name('x'),
  b: t.string().default('').index('hash'),
};
expectType<Equal<Infer<typeof columns>, { a: number; b: string }>>();

// Handles.

const line = table(
  {
    public: true,
    indexes: [
      { accessor: 'byRoomAt', algorithm: 'btree', columns: ['room', 'at'] },
      { accessor: 'bySlot', algorithm: 'hash', columns: ['room', 'slot'] },
      { accessor: 'place', algorithm: 'btree', columns: ['x', 'y'] },
      { accessor: 'direct', algorithm: 'direct', column: 'slot' },
    ],
    constraints: [{ constraint: 'unique', columns: ['y', 'x'] }],
  },
  {
    id: t.u64().primaryKey().autoInc(),
    nick: t.string().unique(),
    room: t.string().index(),
    tag: t.u8().index('hash'),
    at: t.timestamp(),
    slot: t.u16(),
    x: t.i32(),
    y: t.i32(),
    note: t.string().optional(),
  },
);
const db = schema({ line, everything });

type Ctx = ReducerCtx<InferSchema<typeof db>>;
expectType<Equal<Ctx, ReducerCtx<typeof db>>>();
type Line = Infer<typeof line.rowType>;

export function handles(ctx: Ctx): void {
  const full: Line = ctx.db.line.insert({
    id: 0n,
    nick: 'a',
    room: 'hall',
    tag: 1,
    at: ctx.timestamp,
    slot: 2,
    x: 1,
    y: 2,
  });
  expectType<Equal<typeof full.note, string | undefined>>();
  const found = ctx.db.line.id.find(1n);
  expectType<Equal<typeof found, Line | null>>();
  const updated: Line = ctx.db.line.id.update({ ...full, room: 'yard' });
  const gone: boolean = ctx.db.line.nick.delete(updated.nick);
  const removed: number = ctx.db.line.room.delete('hall');
  const count: bigint = ctx.db.line.count();
  const rooms: string[] = ctx.db.line
    .iter()
    .map((row) => row.room)
    .toArray();
  for (const row of ctx.db.line.tag.filter(1)) console.log(row.nick, gone, removed, count, rooms);
  ctx.db.line.byRoomAt.filter('hall');
  ctx.db.line.byRoomAt.filter(['hall']);
  ctx.db.line.byRoomAt.filter(['hall', ctx.timestamp]);
  ctx.db.line.bySlot.filter(['hall', 3]);
  ctx.db.line.direct.filter(3);
  const placed = ctx.db.line.place.find([1, 2]);
  expectType<Equal<typeof placed, Line | null>>();
  ctx.db.everything.insert({ ...row(), result: 5, list: ['a'] as const, maybe: undefined });
}

declare function row(): Row;

export function context(ctx: Ctx): void {
  expectType<Equal<typeof ctx.sender, Identity>>();
  expectType<Equal<typeof ctx.connectionId, ConnectionId | null>>();
  expectType<Equal<typeof ctx.random, Random>>();
  const roll: number = ctx.random.integerInRange(1, 20);
  const bytes: Uint8Array = ctx.random.fill(new Uint8Array(roll));
  const id: Uuid = ctx.newUuidV7();
  const issuer: string | undefined = ctx.senderAuth.jwt?.issuer;
  console.log(bytes, id, issuer, heal, stun, calm);
}

// Functions.

export const say = db.reducer({ text: t.string(), to: t.identity().optional() }, (ctx, args) => {
  expectType<Equal<typeof args, { text: string; to?: Identity | undefined }>>();
  console.log(ctx.sender, args.to);
});
export const both = db.reducer({ name: t.string() }, (ctx, { name }) => {
  say(ctx, { text: name });
  say(ctx, { text: name, to: ctx.sender });
});
export const named = db.reducer({ name: 'renamed' }, (ctx) => console.log(ctx.timestamp));
export const withRow = db.reducer({ name: 'x' }, { row: line.rowType }, (ctx, { row }) => {
  ctx.db.line.insert(row);
});
export const ofRow = db.reducer(t.row({ a: t.u8() }), (_ctx, { a }) => console.log(a + 1));
export const returning = db.reducer((ctx) => ctx.db.line.count());
export const group = db.exportGroup({ say, both });

// Schedules.

const job = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });
const scheduled = schema({ job });
const retry = { attempts: 3, backoff: TimeDuration.fromMillis(1_000) };
export const run = scheduled.reducer(
  { onSchedule: job, catchUp: 'all', retry },
  { row: job.rowType },
  (ctx, { row }) => {
    expectType<Equal<typeof row, { id: bigint; at: ScheduleAt }>>();
    ctx.db.job.id.delete(row.id);
    ctx.db.job.insert({ id: 0n, at: ScheduleAt.time(ctx.timestamp) });
    ctx.db.job.insert({ id: 0n, at: ScheduleAt.interval(TimeDuration.fromMillis(1)) });
    // @ts-expect-error: a duration is no time
    ScheduleAt.time(TimeDuration.fromMillis(1));
    // @ts-expect-error: nor is a time a duration
    ScheduleAt.interval(ctx.timestamp);
  },
);
export const errand = scheduled.procedure(
  { onSchedule: job, delivery: 'atLeastOnce', catchUp: 'once', retry },
  { row: job.rowType },
  t.unit(),
  (ctx, { row }) => {
    expectType<Equal<typeof row, { id: bigint; at: ScheduleAt }>>();
    ctx.withTx((tx) => tx.db.job.id.delete(row.id));
    return {};
  },
);
export const nightly = scheduled.cron(
  '0 3 * * *',
  { name: 'at_night', timeZone: 'Europe/Berlin', catchUp: 'once', retry },
  (ctx, { due }) => {
    expectType<Equal<typeof due, Timestamp>>();
    console.log(ctx.timestamp.since(due).millis, ctx.db.job.count());
  },
);
export const hourly = scheduled.cron('@hourly', (ctx) => nightly(ctx, { due: ctx.timestamp }));

// Configuration.

const configured = schema(
  { job },
  {
    env: {
      API_URL: t.string(),
      DEBUG: t.bool(),
      LIMIT: t.u64(),
      NOTE: t.option(t.string()),
      KEY: t.secret(),
      HOOK: t.secret().optional(),
    },
  },
);
interface Plain {
  readonly API_URL: string;
  readonly DEBUG: boolean;
  readonly LIMIT: bigint;
  readonly NOTE: string | undefined;
}
interface Whole extends Plain {
  readonly KEY: string;
  readonly HOOK: string | undefined;
}
export const plainly = configured.reducer((ctx) => {
  expectType<Equal<{ [Name in keyof typeof ctx.env]: (typeof ctx.env)[Name] }, Plain>>();
  ctx.db.job.count();
});
const urlOf = (ctx: ReducerCtx<typeof configured>) => ctx.env.API_URL.length;
export const wholly = configured.procedure(t.string(), (ctx) => {
  expectType<Equal<{ [Name in keyof typeof ctx.env]: (typeof ctx.env)[Name] }, Whole>>();
  ctx.withTx((tx) => urlOf(tx) + Number(tx.db.job.count()));
  return ctx.env.KEY;
});
export const handled = configured.httpHandler((ctx) => new SyncResponse(ctx.env.HOOK ?? ''));

const later = scheduled.env({ PORT: t.u16(), KEY: t.secret() });
export const readLater = scheduled.reducer((ctx) => {
  const { PORT: port } = later.of(ctx);
  expectType<Equal<typeof port, number>>();
});
export const secretLater = scheduled.procedure(t.string(), (ctx) => later.of(ctx).KEY);

import { Router, ScheduleAt, SyncResponse, schema, TimeDuration, t, table } from 'reducerdb/server';

// Each line below is a mistake that the compiler must find.

// Modifiers.

// @ts-expect-error: a column is not a type: the option comes first
t.u8().primaryKey().optional();
// @ts-expect-error
t.u8().unique().optional();
// @ts-expect-error: floats have no exact equality
t.f32().index();
// @ts-expect-error: only integers count up
t.string().autoInc();
// @ts-expect-error
t.array(t.u8()).unique();
// @ts-expect-error: lists are neither ordered nor hashed
t.array(t.u8()).index();
// @ts-expect-error
t.array(t.u8()).index('btree');
// @ts-expect-error: an index of elements is of a list
t.u8().index('inverted');
// @ts-expect-error: an index of words is of a string
t.u8().index('text');
// @ts-expect-error: not a language
t.string().index('text', { language: 'klingon' });
// @ts-expect-error: a column inside another type
t.array(t.u8().index());
// @ts-expect-error
t.object('Broken', { a: t.u8().unique() });
// @ts-expect-error
t.enum('Broken', { A: t.u8().unique() });
// @ts-expect-error: the name is missing
t.object({ a: t.u8() });
// @ts-expect-error: the default has another type
t.u8().default('7');
// @ts-expect-error: a 64-bit integer is a bigint
t.u64().default(7);
// @ts-expect-error
t.u8().index('tree');

// Tables.

// @ts-expect-error: existing rows could not all get the default
table({}, { id: t.u32().primaryKey().default(1) });
// @ts-expect-error
table({}, { nick: t.string().default('x').unique() });
// @ts-expect-error
table({}, { count: t.u32().autoInc().default(1) });
// @ts-expect-error: no such column
table({ indexes: [{ accessor: 'a', algorithm: 'btree', columns: ['b'] }] }, { a: t.u8() });
// @ts-expect-error: the accessor is missing
table({ indexes: [{ algorithm: 'btree', columns: ['a'] }] }, { a: t.u8() });
// @ts-expect-error: a direct index has one column
table({ indexes: [{ accessor: 'a', algorithm: 'direct', columns: ['a'] }] }, { a: t.u8() });
// @ts-expect-error: no such option
table({ publik: true }, { a: t.u8() });

const hero = table(
  {
    public: true,
    indexes: [{ accessor: 'byZoneLevel', algorithm: 'btree', columns: ['zone', 'level'] }],
  },
  {
    id: t.u64().primaryKey().autoInc(),
    nick: t.string().unique(),
    zone: t.u32(),
    level: t.u8(),
    guildId: t.u64().index(),
    open: t.bool(),
  },
);
const guild = table({ public: true }, { id: t.u64().primaryKey(), open: t.bool() });
const job = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });
const db = schema({ hero, guild, job });

// @ts-expect-error: tables go in an object
schema(hero);
// @ts-expect-error: neither a table nor a module
schema({ hero, other: 5 });

// Handles.

db.reducer((ctx) => {
  // @ts-expect-error: a column is missing
  ctx.db.hero.insert({ id: 0n, nick: 'a', zone: 1, level: 1, guildId: 0n });
  // @ts-expect-error: a column of another type
  ctx.db.guild.insert({ id: 0, open: true });
  // @ts-expect-error: a column too many
  ctx.db.guild.insert({ id: 0n, open: true, name: 'x' });
  ctx.db.job.insert({ at: ScheduleAt.interval(1n) });
  // @ts-expect-error: only an insert takes the next number
  ctx.db.job.id.update({ at: ScheduleAt.interval(1n) });
  // @ts-expect-error: no default
  ctx.db.job.insert({ id: 0n });
  // @ts-expect-error: not an index
  ctx.db.hero.zone.filter(1);
  // @ts-expect-error: only the key identifies a row that changes
  ctx.db.hero.nick.update({ id: 0n, nick: 'a', zone: 1, level: 1, guildId: 0n, open: true });
  // @ts-expect-error
  ctx.db.hero.guildId.update({ id: 0n, nick: 'a', zone: 1, level: 1, guildId: 0n, open: true });
  // @ts-expect-error: several rows may match
  ctx.db.hero.guildId.find(1n);
  // @ts-expect-error: one row at most
  ctx.db.hero.nick.filter('a');
  // @ts-expect-error: a key of another type
  ctx.db.hero.id.find(1);
  // @ts-expect-error: more values than columns
  ctx.db.hero.byZoneLevel.filter([1, 2, 3]);
  // @ts-expect-error: the second column is not the first
  ctx.db.hero.byZoneLevel.filter(['1']);
  // @ts-expect-error: no such table
  ctx.db.heroes.count();
  // @ts-expect-error: queries are for views
  console.log(ctx.from);
});

// Functions.

// @ts-expect-error: nothing awaits inside a transaction
db.reducer(async () => {});
// @ts-expect-error
db.reducer({ a: t.u8() }, async () => {});
// @ts-expect-error
db.init(async () => {});
// @ts-expect-error: a type is not a string
db.reducer({ a: 'u8' }, (_ctx, _args) => {});
// @ts-expect-error: no such parameter
db.reducer({ a: t.u8() }, (_ctx, { b }) => console.log(b));

// What they return.

const Failure = t.enum('Failure', { Late: t.u32() });
// @ts-expect-error: a value of another type
db.reducer({ returns: t.u64() }, {}, () => 5);
// @ts-expect-error: nothing, where a value is declared
db.reducer({ returns: t.u64(), throws: Failure }, {}, () => {});
// @ts-expect-error: nothing awaits inside a transaction
db.reducer({ returns: t.u64() }, {}, async () => 5n);
// @ts-expect-error: not a type
db.reducer({ throws: 'Failure' }, {}, () => {});
// @ts-expect-error: nobody waits for what a schedule runs
db.reducer({ onSchedule: job, returns: t.u64() }, { job: job.rowType }, () => 5n);
// @ts-expect-error: nor for what the host runs
db.init({ returns: t.u64() }, () => 5n);
db.reducer((ctx) => {
  // @ts-expect-error: what another reducer returns has its type
  const text: string = count(ctx);
  return text;
});
const count = db.reducer({ returns: t.u64() }, {}, (ctx) => ctx.db.hero.count());

const greet = db.reducer({ text: t.string() }, () => {});
db.reducer((ctx) => {
  // @ts-expect-error: the argument is missing
  greet(ctx);
  // @ts-expect-error
  greet(ctx, { text: 5 });
});

// Schedules.

// @ts-expect-error: two parameters
db.reducer({ onSchedule: job }, { job: job.rowType, more: t.u8() }, () => {});
// @ts-expect-error: another table's row
db.reducer({ onSchedule: job }, { job: hero.rowType }, () => {});
// @ts-expect-error: what happens to missed times is one of three
db.reducer({ onSchedule: job, catchUp: 'some' }, { job: job.rowType }, () => {});
const row = { job: job.rowType };
// @ts-expect-error: the delay is a duration
db.reducer({ onSchedule: job, retry: { attempts: 2, backoff: 5n } }, row, () => {});
// @ts-expect-error: a number of runs without a delay
db.reducer({ onSchedule: job, retry: { attempts: 2 } }, { job: job.rowType }, () => {});
// @ts-expect-error: nothing that is missed without a schedule
db.reducer({ name: 'a', catchUp: 'all' }, { a: t.u8() }, () => {});
// @ts-expect-error: a scheduled procedure has no result
db.procedure({ onSchedule: job }, { job: job.rowType }, t.u8(), () => 1);
// @ts-expect-error: a delivery is one of two
db.procedure({ onSchedule: job, delivery: 'once' }, row, t.unit(), () => ({}));
const fiveTimes = { attempts: 5, backoff: TimeDuration.fromMillis(1_000) };
// @ts-expect-error: what runs at most once is not repeated
db.procedure({ onSchedule: job, retry: fiveTimes }, row, t.unit(), () => ({}));
// @ts-expect-error: a reducer commits exactly once
db.reducer({ onSchedule: job, delivery: 'atLeastOnce' }, row, () => {});
// @ts-expect-error: no delivery without a schedule
db.procedure({ name: 'a', delivery: 'atLeastOnce' }, { a: t.u8() }, t.unit(), () => ({}));

// Crons.

// @ts-expect-error: the expression is a text
db.cron(5, () => {});
// @ts-expect-error: the function is missing
db.cron('@daily');
// @ts-expect-error: a transaction does not wait
db.cron('@daily', async () => {});
// @ts-expect-error: a cron has the argument `due`, and no other
db.cron('@daily', (_ctx, { at }) => at);
// @ts-expect-error: no such option
db.cron('@daily', { zone: 'UTC' }, () => {});
// @ts-expect-error: a cron needs no table
db.cron('@daily', { onSchedule: job }, () => {});
// @ts-expect-error: what happens to missed times is one of three
db.cron('@daily', { catchUp: true }, () => {});

// Views.

// @ts-expect-error: a private view
db.view({ public: false }, t.array(hero.rowType), () => []);
// @ts-expect-error
db.view({}, t.array(hero.rowType), () => []);
db.view({ public: true }, t.array(hero.rowType), (ctx) => {
  // @ts-expect-error: a view does not write
  ctx.db.guild.insert({ id: 0n, open: true });
  // @ts-expect-error
  ctx.db.guild.id.delete(1n);
  return [];
});
// @ts-expect-error: rows of another table
db.view({ public: true }, t.array(hero.rowType), (ctx) => ctx.from.guild);
// @ts-expect-error
db.view({ public: true }, t.array(hero.rowType), (ctx) => [...ctx.db.guild]);
// @ts-expect-error: an iterator is not an array
db.view({ public: true }, t.array(hero.rowType), (ctx) => ctx.db.hero.iter());
// @ts-expect-error: nobody is the sender of an anonymous view
db.anonymousView({ public: true }, t.array(hero.rowType), (ctx) => [ctx.sender]);
const twoKeys = t.row('TwoKeys', { a: t.u8().primaryKey(), b: t.u8().primaryKey() });
// @ts-expect-error: two keys
db.view({ public: true }, t.array(twoKeys), () => []);

// Queries.

db.view({ public: true }, t.array(hero.rowType), (ctx) => {
  // @ts-expect-error: compared with another type
  ctx.from.hero.where((row) => row.level.eq('3'));
  ctx.from.guild.where((g) => {
    // @ts-expect-error: a condition on another table
    ctx.from.hero.where(() => g.open.eq(true));
    return g.open;
  });
  // @ts-expect-error: `zone` starts an index, `level` does not
  ctx.from.hero.leftSemijoin(ctx.from.guild, (h, g) => h.level.eq(g.id));
  // @ts-expect-error: another type
  ctx.from.hero.leftSemijoin(ctx.from.guild, (h, g) => h.zone.eq(g.id));
  // @ts-expect-error: only equality
  ctx.from.hero.leftSemijoin(ctx.from.guild, (h, g) => h.guildId.lt(g.id));
  // @ts-expect-error: both columns of one table
  ctx.from.hero.leftSemijoin(ctx.from.guild, (h) => h.guildId.eq(h.id));
  const joined = ctx.from.hero.leftSemijoin(ctx.from.guild, (h, g) => h.guildId.eq(g.id));
  // @ts-expect-error: one join is enough
  joined.leftSemijoin(ctx.from.job, (h, j) => h.id.eq(j.id));
  return joined.where((row) => row.open);
});

// Handlers of HTTP requests.

db.httpHandler((ctx) => {
  // @ts-expect-error: nobody is known
  ctx.sender;
  // @ts-expect-error: no tables outside of a transaction
  ctx.db.hero.count();
  return new SyncResponse();
});
db.httpHandler({ auth: 'required' }, (ctx) => new SyncResponse(ctx.sender.toHexString()));
// @ts-expect-error: perhaps there is none
db.httpHandler({ auth: 'optional' }, (ctx) => new SyncResponse(ctx.sender.toHexString()));
// @ts-expect-error: another word
db.httpHandler({ auth: 'maybe' }, () => new SyncResponse());
// @ts-expect-error: another result
db.httpHandler(() => 'hello');
// @ts-expect-error: a promise of another result
db.httpHandler(async () => 'hello');
const page = db.httpHandler(async (_ctx, request) => new SyncResponse(request.params.id));
db.httpRouter(new Router().get('/:id', page));
db.httpHandler(async (ctx, request) => {
  // @ts-expect-error: it is a promise
  const status: number = page(ctx, request).status;
  return status === 200 ? page(ctx, request) : new SyncResponse();
});

// Procedures.

// @ts-expect-error: no tables outside of a transaction
db.procedure(t.u64(), (ctx) => ctx.db.hero.count());
// @ts-expect-error: another result
db.procedure(t.u64(), () => 'three');
db.procedure(t.u64(), async (ctx) => {
  await ctx.sleep(10);
  // @ts-expect-error: a read does not wait
  ctx.read(async ({ db: tables }) => tables.hero.count());
  // @ts-expect-error: no rows outside of a transaction
  await ctx.db.hero.count();
  return 3n;
});
const later = db.procedure(t.u64(), async () => 3n);
db.procedure(t.u64(), (ctx) => {
  // @ts-expect-error: it is a promise
  const value: bigint = later(ctx);
  return value;
});
db.procedure(t.u64(), async (ctx) => {
  const value: bigint = await later(ctx);
  return value;
});
// @ts-expect-error: a promise of another result
db.procedure(t.u64(), async () => 'three');
db.procedure(t.u64(), (ctx) => {
  // @ts-expect-error: a transaction does not wait
  ctx.withTx(async (tx) => tx.db.hero.count());
  return ctx.withTx((tx) => tx.db.hero.count());
});

// Configuration.

const configured = schema({ hero }, { env: { URL: t.string(), KEY: t.secret() } });
// @ts-expect-error: a secret, in a reducer
configured.reducer((ctx) => console.log(ctx.env.KEY));
configured.procedure(t.string(), (ctx) => {
  // @ts-expect-error: a secret, in a transaction
  ctx.withTx((tx) => tx.env.KEY);
  // @ts-expect-error: nothing sets it here
  ctx.env.URL = 'x';
  return ctx.env.KEY;
});
// @ts-expect-error: not declared
configured.reducer((ctx) => console.log(ctx.env.OTHER));
// @ts-expect-error: views have none
configured.view({ public: true }, t.array(hero.rowType), (ctx) => [ctx.env.URL]);
// @ts-expect-error: nothing is declared
db.reducer((ctx) => console.log(ctx.env.URL));
const late = db.env({ KEY: t.secret() });
// @ts-expect-error: a secret, in a reducer
db.reducer((ctx) => console.log(late.of(ctx).KEY));
// @ts-expect-error: not a type of values that are set
db.env({ AT: t.timestamp() });
// @ts-expect-error
schema({ hero }, { env: { LIST: t.array(t.string()) } });
// @ts-expect-error: a secret is no column
table({}, { key: t.secret() });
// @ts-expect-error: a secret is no parameter
db.reducer({ key: t.secret() }, () => undefined);

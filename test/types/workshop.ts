import {
  errors,
  HostError,
  type Infer,
  Range,
  type ReducerCtx,
  ScheduleAt,
  SenderError,
  schema,
  TimeDuration,
  Timestamp,
  t,
  table,
  Uuid,
} from 'reducerdb/server';

// A module that does everything once. `test/server-sdk.test.ts` runs it; here it is checked.

const Shape = t.enum('Shape', { Dot: t.unit(), Circle: t.f64(), Path: t.array(t.i32()) });
const Spot = t.object('Spot', { x: t.f32(), label: t.string().optional() });

const item = table(
  {
    public: true,
    indexes: [
      { accessor: 'byKindRank', algorithm: 'btree', columns: ['kind', 'rank'] },
      { accessor: 'byPair', algorithm: 'hash', columns: ['kind', 'slot'] },
      { accessor: 'place', algorithm: 'btree', columns: ['x', 'y'] },
      { accessor: 'keys', algorithm: 'btree', columns: ['id', 'name'] },
    ],
    constraints: [{ constraint: 'unique', columns: ['x', 'y'] }],
  },
  {
    id: t.u32().primaryKey().autoInc(),
    name: t.string().unique(),
    kind: t.string(),
    rank: t.i32(),
    slot: t.u8().index('direct'),
    x: t.i32(),
    y: t.i32(),
  },
);
type Item = Infer<typeof item.rowType>;

const everything = table(
  {},
  {
    bool: t.bool(),
    numbers: t.array(t.f32()),
    i8: t.i8(),
    u16: t.u16(),
    i64: t.i64(),
    u128: t.u128(),
    i256: t.i256(),
    text: t.string(),
    bytes: t.byteArray(),
    list: t.array(t.u8()),
    maybe: t.string().optional(),
    result: t.result(t.u32(), t.string()),
    shape: Shape,
    spot: Spot,
    identity: t.identity(),
    connection: t.connectionId(),
    at: t.timestamp(),
    span: t.timeDuration(),
    uuid: t.uuid(),
    due: t.scheduleAt(),
    nothing: t.unit(),
  },
);
const set = table({}, { a: t.u32(), b: t.string() });
const nickname = table({}, { who: t.string().optional().default(undefined), n: t.u64().index() });
const count = table({}, { count: t.u32().index(), id: t.u8().primaryKey() });
const badge = table(
  {
    indexes: [{ accessor: 'byOwner', algorithm: 'btree', columns: ['owner'] }],
    constraints: [{ constraint: 'unique', columns: ['owner'] }],
  },
  { id: t.u32().primaryKey(), owner: t.string().optional(), toString: t.u8().index() },
);
const signal = table({ event: true }, { n: t.u32() });

const stock = table(
  {},
  {
    id: t.u64().primaryKey().autoInc(),
    level: t.u8().default(3),
    tags: t.array(t.string()).default(['new']),
    note: t.string().optional(),
  },
);

const db = schema({ item, everything, set, nickname, count, badge, signal, stock });
export default db;

type Ctx = ReducerCtx<typeof db>;

function make(ctx: Ctx, name: string, more: Partial<Item> = {}): Item {
  const rank = name.length;
  return ctx.db.item.insert({
    ...{ id: 0, name, kind: 'a', rank, slot: rank, x: rank, y: Number(ctx.db.item.count()) },
    ...more,
  });
}

const names = (rows: Iterable<{ name: string }>): string => [...rows].map((row) => row.name).join();

export const fill = db.reducer((ctx) => {
  for (const name of ['a', 'bb', 'ccc', 'dddd'])
    make(ctx, name, { kind: name < 'c' ? 'lo' : 'hi' });
});

export const find = db.reducer((ctx) => {
  const { item } = ctx.db;
  console.log(item.id.find(2)?.name, item.name.find('ccc')?.id, item.id.find(99));
  console.log(item.place.find([1, 0])?.name, item.place.find([1, 9]));
  console.log(item.keys.find([2, 'bb'])?.rank, item.keys.find([2, 'a']));
  const { find: detached } = item.id;
  console.log(detached(1)?.name);
});

export const filters = db.reducer((ctx) => {
  const { item } = ctx.db;
  console.log(names(item.byKindRank.filter('lo')));
  console.log(names(item.byKindRank.filter(['hi', 4])), '|', names(item.byKindRank.filter(['hi'])));
  const from = new Range<number>({ tag: 'included', value: 2 });
  const to = new Range<number>(null, { tag: 'excluded', value: 2 });
  console.log(
    names(item.byKindRank.filter(['lo', from])),
    names(item.byKindRank.filter(['lo', to])),
  );
  const kinds = new Range<string>({ tag: 'excluded', value: 'hi' });
  console.log(names(item.byKindRank.filter(kinds)), '|', names(item.byKindRank.filter([kinds])));
  console.log(names(item.byPair.filter(['lo', 2])), '|', names(item.byPair.filter(['lo', 3])));
  console.log(names(item.slot.filter(3)), names(item.slot.filter(from)));
  const inverted = new Range<number>({ tag: 'included', value: 9 }, { tag: 'included', value: 1 });
  console.log(names(item.slot.filter(inverted)) === '');
});

export const wrongBounds = db.reducer((ctx) => {
  // biome-ignore lint/suspicious/noExplicitAny: what the compiler would refuse is the point here.
  const { item } = ctx.db as any;
  const attempts = [
    () => item.byKindRank.filter(['lo', 2, 3]),
    () => item.byPair.filter('lo'),
    () => item.place.find([1]),
    () => item.byKindRank.filter([1]),
    () => item.id.find('2'),
    () => item.byKindRank.filter(['lo', new Range({ tag: 'included', value: 'x' })]),
  ];
  for (const attempt of attempts) console.log(textOf(attempt));
  // A failed key leaves the next call as it is.
  console.log(item.id.find(1).name);
});

function textOf(run: () => unknown): string {
  try {
    return `no error: ${String(run())}`;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

export const removals = db.reducer((ctx) => {
  const { item } = ctx.db;
  const row = item.id.find(1);
  if (row === null) throw new Error('no row');
  console.log(item.delete(row), item.delete(row));
  console.log(item.name.delete('bb'), item.name.delete('bb'));
  console.log(item.byKindRank.delete('hi'), item.byPair.delete(['hi', 3]), item.count());
  make(ctx, 'x');
  make(ctx, 'y', { y: 9, slot: 7 });
  console.log(item.slot.delete(new Range<number>({ tag: 'included', value: 7 })), item.clear());
  console.log(item.count(), item.clear());
});

export const updates = db.reducer((ctx) => {
  const { item } = ctx.db;
  const row = make(ctx, 'first');
  const changed = { ...row, rank: 77 };
  console.log(item.id.update(changed) === changed, item.id.find(row.id)?.rank);
  console.log(textOf(() => item.id.update({ ...row, id: 4242 })));
  make(ctx, 'second');
  console.log(
    textOf(() => item.id.update({ ...row, name: 'second' })),
    item.id.find(row.id)?.name,
  );
  item.id.update(row);
});

export const noChange = db.reducer((ctx) => {
  const row = ctx.db.item.id.find(1);
  if (row !== null) ctx.db.item.id.update(row);
});

export const leaveOut = db.reducer((ctx) => {
  const { stock } = ctx.db;
  const given = {};
  const first = stock.insert(given);
  first.tags.push('changed');
  console.log(Object.keys(given).length, stock.insert({ level: 9, tags: undefined }));
  console.log([...stock.iter()].map(({ id, level, tags, note }) => [id, level, tags[0], note]));
  console.log(textOf(() => stock.insert(null as never)));
});

export const deleteAndPutBack = db.reducer((ctx) => {
  const row = ctx.db.item.id.find(1);
  if (row === null) return;
  ctx.db.item.delete(row);
  ctx.db.item.insert(row);
});

export const violations = db.reducer((ctx) => {
  make(ctx, 'one', { x: 50, y: 50 });
  try {
    make(ctx, 'one', { x: 51 });
  } catch (error) {
    if (!(error instanceof errors.UniqueAlreadyExists) || !(error instanceof HostError))
      throw error;
    console.log(error.name, error.message, error.table, error.index, error.columns);
  }
  try {
    make(ctx, 'two', { x: 50, y: 50 });
  } catch (error) {
    if (error instanceof HostError) console.log(error.columns);
  }
  make(ctx, 'three');
});

export const counting = db.reducer((ctx) => {
  const ids = (name: string, id = 0): unknown => {
    try {
      return make(ctx, name, { id }).id;
    } catch {
      return 'taken';
    }
  };
  console.log(ids('a'), ids('b'), ids('c'), ids('ten', 5), ids('d'), ids('e'), ids('f'), ids('g'));
});

export const sets = db.reducer((ctx) => {
  const { set } = ctx.db;
  set.insert({ a: 1, b: 'x' });
  set.insert({ a: 1, b: 'x' });
  set.insert({ a: 1, b: 'y' });
  console.log(set.count());
});

export const snapshot = db.reducer((ctx) => {
  const { set } = ctx.db;
  let seen = 0;
  for (const row of set) {
    seen += 1;
    set.insert({ a: row.a + 1, b: `${row.b}+` });
    set.delete(row);
  }
  console.log(
    seen,
    set.count(),
    set
      .iter()
      .map((row) => row.b)
      .toArray()
      .sort(),
  );
});

export const helpers = db.reducer((ctx) => {
  const { set } = ctx.db;
  set.clear();
  for (let a = 0; a < 3000; a += 1) set.insert({ a, b: 'x'.repeat(100) });
  const rows = () => set.iter();
  console.log(
    rows()
      .filter((row) => row.a % 1000 === 0)
      .map((row) => row.a)
      .toArray()
      .sort(),
    rows().take(2).toArray().length,
    rows().drop(2999).toArray().length,
    rows().reduce((sum, row) => sum + row.a, 0),
    rows().some((row) => row.a === 2999),
    rows().every((row) => row.a < 3000),
    rows().find((row) => row.a === 7)?.a,
    rows()
      .take(2)
      .flatMap((row) => [row.a, row.a])
      .toArray().length,
  );
  let visited = 0;
  rows().forEach(() => {
    visited += 1;
  });
  const [first] = rows();
  const huge = 'y'.repeat(300_000);
  set.insert({ a: 9, b: huge });
  const longest = rows().reduce((most, row) => Math.max(most, row.b.length), 0);
  console.log(visited, typeof first?.a, longest, set.delete({ a: 9, b: huge }));
});

export const everyType = db.reducer((ctx) => {
  const { everything } = ctx.db;
  everything.insert({
    bool: true,
    numbers: [0.5, -1],
    i8: -128,
    u16: 65_535,
    i64: -1n,
    u128: 2n ** 128n - 1n,
    i256: -(2n ** 255n),
    text: 'Zoë 🐈',
    bytes: new Uint8Array([1, 2]),
    list: [3, 4],
    result: { err: 'no' },
    shape: Shape.Path([1, -1]),
    spot: { x: 1.5, label: undefined },
    identity: ctx.sender,
    connection: ctx.connectionId ?? raise(),
    at: new Timestamp(5n),
    span: TimeDuration.fromMillis(2),
    uuid: Uuid.NIL,
    due: ScheduleAt.interval(7n),
    nothing: {},
  });
  const [row] = everything;
  console.log(row);
  if (row !== undefined) console.log(everything.delete(row));
});

function raise(): never {
  throw new SenderError('no connection');
}

export const misfits = db.reducer((ctx) => {
  // biome-ignore lint/suspicious/noExplicitAny: what the compiler would refuse is the point here.
  const { item, set } = ctx.db as any;
  const attempts = [
    () => set.insert({ a: -1, b: 'x' }),
    () => set.insert({ a: 1 }),
    () => set.insert(undefined),
    () => set.insert({ a: 1n, b: 'x' }),
    () => item.id.update({ ...make(ctx, 'misfit', { x: 900 }), rank: 'high' }),
    () => set.delete({ a: 'x', b: 'x' }),
  ];
  for (const attempt of attempts) console.log(textOf(attempt));
  set.clear();
  const nested = {
    a: 1,
    get b() {
      return String(set.count()) + String(textOf(() => set.insert({ a: 5, b: '' })));
    },
  };
  set.insert(nested);
  console.log(
    set
      .iter()
      .map((row: { b: string }) => row.b)
      .toArray(),
  );
});

export const options = db.reducer((ctx) => {
  const { nickname } = ctx.db;
  nickname.insert({ n: 1n });
  nickname.insert({ n: 2n, who: undefined });
  nickname.insert({ n: 2n, who: 'me' });
  console.log([...nickname.n.filter(2n)].map((row) => row.who));
  console.log(nickname.delete({ n: 1n }));
});

export const shared = db.reducer((ctx) => {
  const { count } = ctx.db;
  count.insert({ id: 1, count: 5 });
  console.log(count.count(), [...count.count.filter(5)].length, count.count.delete(5));
});

export const events = db.reducer((ctx) => {
  ctx.db.signal.insert({ n: 4 });
  console.log(ctx.db.signal.count(), [...ctx.db.signal]);
});

export const contexts = db.reducer({ note: t.string().optional() }, (ctx, { note }) => {
  const { sender, connectionId, timestamp, databaseIdentity, identity } = ctx;
  console.log(sender.toHexString().slice(-4), connectionId?.toHexString().slice(-2), note);
  console.log(timestamp.microsSinceUnixEpoch, databaseIdentity.equals(identity));
  const { isInternal, hasJWT, jwt } = ctx.senderAuth;
  console.log(isInternal, hasJWT, jwt?.issuer, jwt?.subject, jwt?.audience);
  console.log(jwt?.fullPayload.role, jwt?.identity.equals(sender));
});

let kept: Ctx | undefined;
export const fresh = db.reducer((ctx) => {
  console.log(kept === ctx, kept?.timestamp.microsSinceUnixEpoch);
  kept = ctx;
});

export const randomness = db.reducer((ctx) => {
  const { random } = ctx;
  const uuids = [ctx.newUuidV4(), ctx.newUuidV7(), ctx.newUuidV7()];
  console.log(random(), random.uint32(), random.integerInRange(1, 6), random.bigintInRange(1n, 9n));
  console.log(random.fill(new Uint8Array(5)), ctx.random === random);
  console.log(
    uuids.map((uuid) => uuid.getVersion()),
    uuids.join(' '),
  );
  const [, first, second] = uuids;
  console.log((first ?? Uuid.NIL).compareTo(second ?? Uuid.NIL) < 0);
});

export const refuse = db.reducer({ text: t.string() }, (_ctx, { text }) => {
  throw new SenderError(text);
});
export const crash = db.reducer(() => {
  throw new Error('boom');
});
export const writeAndThrow = db.reducer((ctx) => {
  ctx.db.set.insert({ a: 77, b: 'gone' });
  throw new SenderError('never mind');
});
export const expression = db.reducer((ctx) => ctx.db.set.insert({ a: 78, b: 'kept' }));
export const promised = db.reducer((() => Promise.resolve()) as () => void);
export const nestedCall = db.reducer((ctx) => {
  ctx.db.set.insert({ a: 79, b: 'outer' });
  try {
    refuse(ctx, { text: 'inner' });
  } catch {
    expression(ctx);
  }
});

export const lines = db.reducer(() => {
  console.error('an error', new Map([['k', { deep: [1n, 'x'] }]]));
  console.warn(null, undefined, true, Symbol('s'), -0);
  console.info({ a: 1, 'b c': "it's" }, [], {}, '%s', 'plain');
  console.debug(
    new Uint8Array([1, 2]),
    new Date(0),
    /x/g,
    () => {},
    new (class Point {
      x = 1;
    })(),
  );
  console.trace('a trace');
  console.assert(true, 'not shown');
  console.assert(false, 'shown');
  console.table([1]);
  const loop: { self?: unknown } = {};
  loop.self = loop;
  console.log(loop, { a: { b: { c: { d: { e: 1 } } } } });
  console.time('t');
  console.time('t');
  console.timeLog('t', 5);
  console.timeEnd('t');
  console.timeEnd('t');
  console.group('nothing');
});

export const badges = db.reducer((ctx) => {
  const { badge } = ctx.db;
  badge.insert({ id: 1, toString: 3 });
  badge.insert({ id: 2, toString: 5 });
  badge.insert({ id: 3, owner: 'me', toString: 4 });
  console.log(textOf(() => badge.insert({ id: 4, owner: 'me', toString: 6 })));
  const { byOwner } = badge;
  console.log(
    byOwner.find(undefined)?.id,
    byOwner.find('me')?.id,
    byOwner.delete(undefined),
    badge.count(),
  );
  console.log([...badge.toString.filter(3)].length);
});

/**
 * The module that the tests of the console look into: a table of a million rows is filled on
 * demand, one has a column of each kind, one is private, one points to another, and there is a view.
 */
export const marketModule = `
  import { ScheduleAt, SenderError, schema, TimeDuration, Timestamp, t, table } from 'reducerdb/server';

  const Status = t.enum('Status', ['open', 'paid', 'shipped']);
  const Shape = t.enum('Shape', { circle: t.f64(), text: t.string(), nothing: t.unit() });
  const Place = t.object('Place', { x: t.i32(), y: t.i32() });

  const customer = table(
    { public: true },
    { id: t.u32().primaryKey().autoInc(), name: t.string(), email: t.string().unique(), joined: t.timestamp() },
  );
  const purchase = table(
    { public: true },
    {
      id: t.u64().primaryKey(),
      customerId: t.u32().index('btree'),
      status: Status,
      cents: t.u32(),
      note: t.string(),
      buyer: t.identity(),
      at: t.timestamp().index('btree'),
    },
  );
  const oddity = table(
    { public: true },
    {
      id: t.u32().primaryKey(),
      big: t.u256(),
      small: t.i8(),
      ratio: t.f64(),
      isOn: t.bool(),
      shape: Shape,
      place: Place,
      maybe: t.option(t.string()),
      labels: t.array(t.string()),
      bytes: t.array(t.u8()),
      pause: t.timeDuration(),
      key: t.uuid(),
    },
  );
  const ledgerNote = table({}, { id: t.u32().primaryKey(), text: t.string() });
  const empty = table({ public: true }, { id: t.u32().primaryKey(), text: t.string() });

  const db = schema({ customer, purchase, oddity, ledgerNote, empty });
  export default db;

  export const open = db.view({ public: true }, t.array(purchase.rowType), (ctx) => {
    return [...ctx.db.purchase.customerId.filter(1)];
  });

  export const hire = db.reducer({ name: t.string(), email: t.string() }, (ctx, { name, email }) => {
    ctx.db.customer.insert({ id: 0, name, email, joined: ctx.timestamp });
  });

  /** Purchases from one number on, so many. */
  export const fill = db.reducer({ from: t.u32(), count: t.u32() }, (ctx, { from, count }) => {
    const kinds = ['open', 'paid', 'shipped'];
    for (let n = from; n < from + count; n += 1) {
      ctx.db.purchase.insert({
        id: BigInt(n),
        customerId: (n % 100) + 1,
        status: { tag: kinds[n % 3] },
        cents: (n * 37) % 10_000,
        note: n % 10 === 0 ? 'gift wrapped' : '',
        buyer: ctx.sender,
        at: new Timestamp(1_700_000_000_000_000n + BigInt(n) * 1_000_000n),
      });
    }
  });

  /** Changes some rows, each by one cent. */
  export const bump = db.reducer({ from: t.u32(), count: t.u32() }, (ctx, { from, count }) => {
    for (let n = from; n < from + count; n += 1) {
      const row = ctx.db.purchase.id.find(BigInt(n));
      if (row !== null) ctx.db.purchase.id.update({ ...row, cents: row.cents + 1 });
    }
  });

  export const addOddity = db.reducer({ id: t.u32(), text: t.string() }, (ctx, { id, text }) => {
    ctx.db.oddity.insert({
      id,
      big: 2n ** 200n,
      small: -5,
      ratio: 0.1,
      isOn: true,
      shape: { tag: 'text', value: text },
      place: { x: 3, y: -4 },
      maybe: text,
      labels: [text, 'second'],
      bytes: new TextEncoder().encode(text),
      pause: new TimeDuration(5_400_000_000n),
      key: ctx.newUuidV7(),
    });
  });

  export const noteDown = db.reducer({ id: t.u32(), text: t.string() }, (ctx, { id, text }) => {
    ctx.db.ledgerNote.insert({ id, text });
  });

  export const refuse = db.reducer({ why: t.string() }, (_ctx, { why }) => {
    throw new SenderError(why);
  });
`;

import { SenderError, schema, t, table } from 'reducerdb/server';

// The stock of a small shop. What came in and went out is written down as movements; how much of a
// product is on hand is kept beside them, so that nobody has to add them up. The two have to agree.

const product = table(
  { public: true },
  { sku: t.string().primaryKey(), name: t.string(), onHand: t.i64() },
);

const movement = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    sku: t.string().index(),
    /** Above zero came in, below zero went out. */
    quantity: t.i64(),
    reason: t.string(),
    at: t.timestamp(),
  },
);

/** Each time that somebody set a product right: nothing is mended in secret. */
const correction = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    sku: t.string(),
    before: t.i64(),
    after: t.i64(),
    by: t.identity(),
    at: t.timestamp(),
  },
);

const db = schema({ product, movement, correction });
export default db;

/**
 * Stock that was taken over from an older program. It had a fault: goods that customers sent back
 * were written down as movements, and their number on hand was forgotten.
 */
export const init = db.init((ctx) => {
  const takenOver = [
    { sku: 'mug', name: 'Mug, blue', onHand: 37n, movements: [40n, -3n] },
    { sku: 'pot', name: 'Tea pot', onHand: 8n, movements: [12n, -4n, 1n, 2n] },
    { sku: 'tray', name: 'Tray, oak', onHand: 0n, movements: [5n, -5n] },
  ];
  for (const { sku, name, onHand, movements } of takenOver) {
    ctx.db.product.insert({ sku, name, onHand });
    for (const quantity of movements) {
      const reason = quantity >= 5n ? 'delivery' : quantity > 0n ? 'sent back' : 'sold';
      ctx.db.movement.insert({ id: 0n, sku, quantity, reason, at: ctx.timestamp });
    }
  }
});

/** Writes down that goods came in, or went out when `quantity` is below zero. */
export const move = db.reducer(
  { sku: t.string(), quantity: t.i64(), reason: t.string() },
  (ctx, { sku, quantity, reason }) => {
    const found = ctx.db.product.sku.find(sku);
    if (!found) throw new SenderError(`there is no product ${sku}`);
    const onHand = found.onHand + quantity;
    if (onHand < 0n) throw new SenderError(`there are only ${found.onHand} of ${sku}`);
    ctx.db.product.sku.update({ ...found, onHand });
    ctx.db.movement.insert({ id: 0n, sku, quantity, reason, at: ctx.timestamp });
  },
);

/** Sets how much of a product is on hand to what its movements say; gives that number. */
export const recount = db.reducer({ returns: t.i64() }, { sku: t.string() }, (ctx, { sku }) => {
  const found = ctx.db.product.sku.find(sku);
  if (!found) throw new SenderError(`there is no product ${sku}`);
  let after = 0n;
  for (const { quantity } of ctx.db.movement.sku.filter(sku)) after += quantity;
  if (after === found.onHand) return after;
  ctx.db.product.sku.update({ ...found, onHand: after });
  const { sender: by, timestamp: at } = ctx;
  ctx.db.correction.insert({ id: 0n, sku, before: found.onHand, after, by, at });
  console.info(`${sku}: ${found.onHand} on hand, ${after} by its movements`);
  return after;
});

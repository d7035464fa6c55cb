import { type Infer, ScheduleAt, SenderError, schema, t, table } from 'reducerdb/server';

// What is in the arena moves here, 20 times a second; pages steer and draw.
const width = 1600;
const height = 900;
const stepsPerSecond = 20;
/** In units of the arena per second. */
const speed = 420;
/** How near a player has to come to a coin. */
const reach = 36;
const coinsMax = 40;

const player = table(
  { public: true },
  {
    identity: t.identity().primaryKey(),
    hue: t.u16(),
    x: t.f32(),
    y: t.f32(),
    /** Where it is headed: a direction of length 1 at most; 0, 0 when it stands. */
    dx: t.f32(),
    dy: t.f32(),
    score: t.u32(),
    online: t.bool(),
  },
);

const coin = table(
  { public: true },
  { id: t.u64().primaryKey().autoInc(), x: t.f32(), y: t.f32() },
);

/** One row for each open connection: a player may have several windows. */
const visitor = table(
  {},
  { connection: t.connectionId().primaryKey(), identity: t.identity().index() },
);

/** Has one row while somebody plays, whose interval is the beat of the game. */
const beat = table({}, { id: t.u64().primaryKey(), at: t.scheduleAt() });

const db = schema({ player, coin, visitor, beat });
export default db;

export const arrived = db.clientConnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.visitor.insert({ connection: ctx.connectionId, identity: ctx.sender });
});

export const left = db.clientDisconnected((ctx) => {
  if (ctx.connectionId) ctx.db.visitor.connection.delete(ctx.connectionId);
  const isThere = ctx.db.visitor.identity.filter(ctx.sender).take(1).toArray().length > 0;
  const mine = ctx.db.player.identity.find(ctx.sender);
  if (isThere || !mine) return;
  ctx.db.player.identity.update({ ...mine, dx: 0, dy: 0, online: false });
});

/** Lets the caller play, with the score of the last time. */
export const enter = db.reducer((ctx) => {
  const mine = ctx.db.player.identity.find(ctx.sender);
  if (mine) ctx.db.player.identity.update({ ...mine, online: true });
  else {
    const hue = ctx.random.integerInRange(0, 359);
    const x = ctx.random.integerInRange(100, width - 100);
    const y = ctx.random.integerInRange(100, height - 100);
    ctx.db.player.insert({
      ...{ identity: ctx.sender, hue, x, y },
      ...{ dx: 0, dy: 0, score: 0, online: true },
    });
  }
  if (ctx.db.beat.id.find(0n)) return;
  ctx.db.beat.insert({ id: 0n, at: ScheduleAt.interval(BigInt(1_000_000 / stepsPerSecond)) });
});

/** Turns the caller's player; 0, 0 stops it. */
export const steer = db.reducer({ dx: t.f32(), dy: t.f32() }, (ctx, { dx, dy }) => {
  const mine = ctx.db.player.identity.find(ctx.sender);
  if (!mine) throw new SenderError('enter the game first');
  const length = Math.hypot(dx, dy);
  if (!Number.isFinite(length)) throw new SenderError('a direction is two finite numbers');
  const factor = length > 1 ? 1 / length : 1;
  ctx.db.player.identity.update({ ...mine, dx: dx * factor, dy: dy * factor });
});

/** Lays a coin down. */
export const layCoin = db.reducer({ x: t.f32(), y: t.f32() }, (ctx, { x, y }) => {
  if (!(x >= 0 && x <= width && y >= 0 && y <= height)) {
    throw new SenderError(`the arena is ${width} by ${height}`);
  }
  if (ctx.db.coin.count() >= BigInt(coinsMax)) {
    throw new SenderError(`there are ${coinsMax} coins, and that is enough`);
  }
  ctx.db.coin.insert({ id: 0n, x, y });
});

/** One step of the game. The schedule runs it while there is a row in `beat`. */
export const step = db.reducer({ onSchedule: beat }, { row: beat.rowType }, (ctx) => {
  const coins = ctx.db.coin.iter().toArray();
  let onlineCount = 0;
  for (const one of ctx.db.player.iter()) {
    if (!one.online) continue;
    onlineCount += 1;
    if (one.dx === 0 && one.dy === 0) continue;
    const moved = movedOn(one);
    for (const { id, x, y } of coins) {
      if (Math.hypot(x - moved.x, y - moved.y) > reach || !ctx.db.coin.id.delete(id)) continue;
      moved.score += 1;
      ctx.db.coin.insert({
        id: 0n,
        x: ctx.random.integerInRange(40, width - 40),
        y: ctx.random.integerInRange(40, height - 40),
      });
    }
    ctx.db.player.identity.update(moved);
  }
  // Nobody is left: the beat ends until somebody enters.
  if (onlineCount === 0) ctx.db.beat.clear();
});

type Player = Infer<typeof player.rowType>;

/** The player one step further. Who leaves the arena on one side comes back on the other. */
function movedOn(one: Player): Player {
  const far = speed / stepsPerSecond;
  const x = (one.x + one.dx * far + width) % width;
  const y = (one.y + one.dy * far + height) % height;
  return { ...one, x, y };
}

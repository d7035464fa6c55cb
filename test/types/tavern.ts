import { ScheduleAt, TimeDuration } from 'reducerdb';
import {
  type Infer,
  type InferSchema,
  type ReducerCtx,
  Router,
  SenderError,
  SyncResponse,
  schema,
  t,
  table,
} from 'reducerdb/server';

// The complete example of the module library: it compiles, and `src/server/describe.test.ts` compares
// what it describes with the table that belongs to it.

const Mood = t.enum('Mood', { Calm: t.unit(), Angry: t.unit() });
const Spot = t.object('Spot', { x: t.f32(), y: t.f32() });

const hero = table(
  { public: true },
  {
    owner: t.identity().primaryKey(),
    nick: t.string().unique(),
    mood: Mood.default(Mood.Calm),
    spot: Spot,
    guildId: t.u64().optional(),
  },
);
const shout = table(
  {
    public: true,
    indexes: [{ accessor: 'byRoomTime', algorithm: 'btree', columns: ['room', 'sentAt'] }],
  },
  {
    id: t.u64().primaryKey().autoInc(),
    room: t.string(),
    author: t.identity().index(),
    text: t.string(),
    sentAt: t.timestamp(),
  },
);
const flash = table({ public: true, event: true }, { text: t.string() });
const sweep = table(
  {},
  {
    jobId: t.u64().primaryKey().autoInc(),
    at: t.scheduleAt(),
    maxAge: t.timeDuration(),
  },
);

const db = schema({ hero, shout, flash, sweep });
export default db;

type Ctx = ReducerCtx<InferSchema<typeof db>>;
type Hero = Infer<typeof hero.rowType>;

function me(ctx: Ctx): Hero {
  const found = ctx.db.hero.owner.find(ctx.sender);
  if (!found) throw new SenderError('join first');
  return found;
}

export const setup = db.init((ctx) => {
  const maxAge = TimeDuration.fromMillis(3_600_000);
  ctx.db.sweep.insert({ jobId: 0n, at: ScheduleAt.interval(60_000_000n), maxAge });
});

export const arrived = db.clientConnected((ctx) => console.log('hello', ctx.sender.toHexString()));

export const joinTavern = db.reducer({ nick: t.string() }, (ctx, { nick }) => {
  if (ctx.db.hero.nick.find(nick)) throw new SenderError('nick taken');
  ctx.db.hero.insert({
    owner: ctx.sender,
    nick,
    mood: Mood.Calm,
    spot: { x: 0, y: 0 },
    guildId: undefined,
  });
});

export const say = db.reducer({ room: t.string(), text: t.string() }, (ctx, { room, text }) => {
  const { owner } = me(ctx);
  ctx.db.shout.insert({ id: 0n, room, author: owner, text, sentAt: ctx.timestamp });
  if (text.endsWith('!')) ctx.db.flash.insert({ text });
});

export const sweepOld = db.reducer(
  { onSchedule: sweep },
  { job: sweep.rowType },
  (ctx, { job }) => {
    for (const line of ctx.db.shout) {
      if (ctx.timestamp.since(line.sentAt).micros > job.maxAge.micros)
        ctx.db.shout.id.delete(line.id);
    }
  },
);

export const myShouts = db.view({ public: true }, t.array(shout.rowType), (ctx) =>
  ctx.from.shout.where((line) => line.author.eq(ctx.sender)),
);

export const heroCount = db.procedure(t.u64(), (ctx) => ctx.withTx((tx) => tx.db.hero.count()));

export const board = db.httpHandler(
  (ctx) => new SyncResponse(`${ctx.withTx((tx) => tx.db.hero.count())} heroes`),
);
export const routes = db.httpRouter(new Router().get('/board', board));
export const ownHero = db.clientVisibilityFilter.sql('SELECT * FROM hero WHERE owner = :sender');

import { schemaJson } from '../../src/schema/schema-json.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { describeModule, type SchemaParts } from '../../src/server/describe.ts';
import { schema, t, table } from '../../src/server/index.ts';

const Mood = t.enum('Mood', ['Calm', 'Angry']);
const Spot = t.object('Spot', { x: t.f32(), y: t.f32() });

const hero = table(
  { public: true },
  {
    owner: t.identity(),
    id: t.u32().primaryKey(),
    nick: t.string().unique(),
    mood: Mood.index(),
    spot: Spot,
    guildId: t.u64().optional().unique(),
  },
);
const shout = table(
  {
    public: true,
    indexes: [{ accessor: 'byRoomTime', algorithm: 'btree', columns: ['room', 'sentAt'] }],
  },
  { room: t.string(), sentAt: t.timestamp(), text: t.string() },
);
const flash = table({ public: true, event: true }, { text: t.string() });
const sweep = table({}, { jobId: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });

const db = schema({ hero, shout, flash, sweep });
export default db;

export const arrived = db.clientConnected(() => {});
export const say = db.reducer({ room: t.string(), text: t.string() }, () => {});
export const joinTavern = db.reducer({ nick: t.string(), guildId: t.u64().optional() }, () => {});
export const ping = db.reducer(() => {});
export const sweepOld = db.reducer({ onSchedule: sweep }, { job: sweep.rowType }, () => {});
export const heroCount = db.procedure(t.u64(), () => 3n);
export const myShouts = db.view({ public: true }, t.array(shout.rowType), () => []);

/** What the schema endpoint answers for this module. */
export function tavernSchemaText(): string {
  const namespace = { arrived, say, joinTavern, ping, sweepOld, heroCount, myShouts };
  const parts = db as unknown as SchemaParts;
  const { raw } = describeModule(parts, { default: db, ...namespace }, () => undefined);
  return schemaJson(validateModule(raw), 10);
}

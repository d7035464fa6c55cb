import {
  type Infer,
  type InferSchema,
  type ReducerCtx,
  SenderError,
  schema,
  t,
  table,
} from 'reducerdb/server';

// A chat: people with names, rooms they talk in, and what they said.

/** Somebody who has done something here. The identity comes from their token: nobody can borrow it. */
const user = table(
  { public: true },
  {
    identity: t.identity().primaryKey(),
    name: t.string().optional(),
    room: t.string().index(),
    online: t.bool(),
  },
);

const room = table(
  { public: true },
  { name: t.string().primaryKey(), topic: t.string(), opened: t.timestamp() },
);

/** Messages are found by room, in the order they were sent. */
const message = table(
  {
    public: true,
    indexes: [{ accessor: 'byRoom', algorithm: 'btree', columns: ['room', 'sent'] }],
  },
  {
    id: t.u64().primaryKey().autoInc(),
    room: t.string(),
    sender: t.identity(),
    text: t.string(),
    sent: t.timestamp(),
  },
);

/** Who is connected right now. One person may be here twice; clients do not see this table. */
const connection = table({}, { id: t.connectionId().primaryKey(), identity: t.identity().index() });

const db = schema({ user, room, message, connection });
export default db;

type Ctx = ReducerCtx<InferSchema<typeof db>>;
type User = Infer<typeof user.rowType>;

const lobby = 'lobby';

/** Runs once, when the database is created. */
export const init = db.init((ctx) => {
  ctx.db.room.insert({ name: lobby, topic: 'Everything', opened: ctx.timestamp });
});

export const clientConnected = db.clientConnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.connection.insert({ id: ctx.connectionId, identity: ctx.sender });
  showPresence(ctx);
});

export const clientDisconnected = db.clientDisconnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.connection.id.delete(ctx.connectionId);
  showPresence(ctx);
});

// Clients call reducers as `set_name`, `open_room` …

/** Gives the caller a name that others see. */
export const setName = db.reducer({ name: t.string() }, (ctx, { name }) => {
  ctx.db.user.identity.update({ ...me(ctx), name: checked('name', name, 40) });
});

/** Opens a room, and takes the caller there. */
export const openRoom = db.reducer({ name: t.string(), topic: t.string() }, (ctx, args) => {
  const name = checked('room', args.name, 40);
  if (ctx.db.room.name.find(name)) throw new SenderError(`there is a room ${name} already`);
  ctx.db.room.insert({ name, topic: checked('topic', args.topic, 200), opened: ctx.timestamp });
  enter(ctx, name);
});

/** Takes the caller to a room that is open. */
export const joinRoom = db.reducer({ name: t.string() }, (ctx, { name }) => {
  if (!ctx.db.room.name.find(name)) throw new SenderError(`there is no room ${name}`);
  enter(ctx, name);
});

/** Says something in the room one is in. */
export const sendMessage = db.reducer({ text: t.string() }, (ctx, { text }) => {
  const line = ctx.db.message.insert({
    id: 0n, // 0 asks for the next number
    room: me(ctx).room,
    sender: ctx.sender,
    text: checked('message', text, 2000),
    sent: ctx.timestamp,
  });
  console.log(`message ${line.id} in ${line.room}`);
});

/** Takes back a message of the caller. */
export const deleteMessage = db.reducer({ id: t.u64() }, (ctx, { id }) => {
  const line = ctx.db.message.id.find(id);
  if (!line) throw new SenderError(`there is no message ${id}`);
  if (!line.sender.equals(ctx.sender)) throw new SenderError('that is not your message');
  ctx.db.message.id.delete(id);
});

/** Removes what was said in a room that nobody is in. */
export const closeRoom = db.reducer({ name: t.string() }, (ctx, { name }) => {
  if (name === lobby) throw new SenderError('the lobby stays open');
  if (ctx.db.user.room.filter(name).some((someone) => someone.online)) {
    throw new SenderError(`somebody is in ${name}`);
  }
  if (!ctx.db.room.name.delete(name)) throw new SenderError(`there is no room ${name}`);
  const removed = ctx.db.message.byRoom.delete(name);
  for (const someone of ctx.db.user.room.filter(name)) {
    ctx.db.user.identity.update({ ...someone, room: lobby });
  }
  console.log(`closed ${name} with ${removed} messages`);
});

/** The caller, who becomes a user with the first thing they do. */
function me(ctx: Ctx): User {
  const known = ctx.db.user.identity.find(ctx.sender);
  if (known) return known;
  return ctx.db.user.insert({ identity: ctx.sender, room: lobby, online: isConnected(ctx) });
}

function enter(ctx: Ctx, name: string): void {
  ctx.db.user.identity.update({ ...me(ctx), room: name });
}

function showPresence(ctx: Ctx): void {
  const known = ctx.db.user.identity.find(ctx.sender);
  if (known) ctx.db.user.identity.update({ ...known, online: isConnected(ctx) });
}

function isConnected(ctx: Ctx): boolean {
  return ctx.db.connection.identity.filter(ctx.sender).some(() => true);
}

/** The text without the blanks around it. What a caller sends is never trusted. */
function checked(what: string, text: string, lengthMax: number): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new SenderError(`the ${what} is empty`);
  if (trimmed.length > lengthMax) {
    throw new SenderError(`the ${what} has more than ${lengthMax} characters`);
  }
  return trimmed;
}
